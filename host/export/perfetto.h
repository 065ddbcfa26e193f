/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perfetto.h - private to the Perfetto export: numbers of perfetto.proto, and the encoding of
 * protobuf. Messages are written as they are read, so a message's length gets one byte in front of
 * it, and a longer message is moved when it ends.
 */
#ifndef XVT_EXPORT_PERFETTO_H
#define XVT_EXPORT_PERFETTO_H

#include "base/vec.h"
#include "export/export.h"

/* -- numbers: MESSAGE_FIELD of perfetto.proto ----------------------------------------- */

enum {
	TRACE_PACKET = 1,

	TRACE_PACKET_FTRACE_EVENTS = 1,
	TRACE_PACKET_PROCESS_TREE = 2,
	TRACE_PACKET_CLOCK_SNAPSHOT = 6,
	TRACE_PACKET_TIMESTAMP = 8,
	TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID = 10,
	TRACE_PACKET_TRACK_EVENT = 11,
	TRACE_PACKET_INTERNED_DATA = 12,
	TRACE_PACKET_SEQUENCE_FLAGS = 13,
	TRACE_PACKET_FTRACE_STATS = 34,
	TRACE_PACKET_SYSTEM_INFO = 45,
	TRACE_PACKET_TRACK_DESCRIPTOR = 60,
	TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE = 87,
	TRACE_PACKET_MACHINE_ID = 98,
	TRACE_PACKET_REMOTE_CLOCK_SYNC = 107,

	CLOCK_SNAPSHOT_CLOCKS = 1,
	CLOCK_CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,

	REMOTE_CLOCK_SYNC_SYNCED_CLOCKS = 1,
	SYNCED_CLOCKS_CLIENT_CLOCKS = 2,
	SYNCED_CLOCKS_HOST_CLOCKS = 3,

	FTRACE_STATS_PHASE = 1,
	FTRACE_STATS_CPU_STATS = 2,
	FTRACE_CPU_STATS_CPU = 1,
	FTRACE_CPU_STATS_OVERRUN = 3,
	FTRACE_CPU_STATS_DROPPED_EVENTS = 8,
	FTRACE_CPU_STATS_READ_EVENTS = 9,

	INTERNED_DATA_KERNEL_SYMBOLS = 26,
	INTERNED_STRING_IID = 1,
	INTERNED_STRING_STR = 2,

	UTSNAME_SYSNAME = 1,
	UTSNAME_VERSION = 2,
	UTSNAME_RELEASE = 3,
	UTSNAME_MACHINE = 4,
	SYSTEM_INFO_UTSNAME = 1,
	SYSTEM_INFO_NUM_CPUS = 8,
	SYSTEM_INFO_MACHINE_NAME = 17,

	PROCESS_TREE_PROCESSES = 1,
	PROCESS_TREE_THREADS = 2,
	PROCESS_PID = 1,
	PROCESS_PPID = 2,
	PROCESS_CMDLINE = 3,
	PROCESS_CMDLINE_IS_COMM = 9,
	THREAD_TID = 1,
	THREAD_NAME = 2,
	THREAD_TGID = 3,

	TRACK_DESCRIPTOR_UUID = 1,
	TRACK_DESCRIPTOR_NAME = 2,
	TRACK_DESCRIPTOR_PARENT_UUID = 5,
	TRACK_DESCRIPTOR_COUNTER = 8,
	COUNTER_DESCRIPTOR_UNIT = 3,

	TRACK_EVENT_DEBUG_ANNOTATIONS = 4,
	TRACK_EVENT_TYPE = 9,
	TRACK_EVENT_TRACK_UUID = 11,
	TRACK_EVENT_NAME = 23,
	TRACK_EVENT_COUNTER_VALUE = 30,
	TRACK_EVENT_FLOW_IDS = 47,
	DEBUG_ANNOTATION_UINT_VALUE = 3,
	DEBUG_ANNOTATION_INT_VALUE = 4,
	DEBUG_ANNOTATION_STRING_VALUE = 6,
	DEBUG_ANNOTATION_NAME = 10,

	FTRACE_EVENT_BUNDLE_CPU = 1,
	FTRACE_EVENT_BUNDLE_EVENT = 2,
	FTRACE_EVENT_BUNDLE_LOST_EVENTS = 3,
	FTRACE_EVENT_BUNDLE_COMPACT_SCHED = 4,
	COMPACT_SCHED_INTERN_TABLE = 5,
	COMPACT_SCHED_WAKING_TIMESTAMP = 7,
	COMPACT_SCHED_WAKING_PID = 8,
	COMPACT_SCHED_WAKING_TARGET_CPU = 9,
	COMPACT_SCHED_WAKING_PRIO = 10,
	COMPACT_SCHED_WAKING_COMM_INDEX = 11,
	COMPACT_SCHED_WAKING_COMMON_FLAGS = 12,
	FTRACE_EVENT_TIMESTAMP = 1,
	FTRACE_EVENT_PID = 2,
	FTRACE_EVENT_COMMON_FLAGS = 5,
	FTRACE_EVENT_GENERIC = 327,
	GENERIC_FTRACE_EVENT_EVENT_NAME = 1,
	GENERIC_FTRACE_EVENT_FIELD = 2,
	FIELD_NAME = 1,
	FIELD_STR_VALUE = 3,
	FIELD_INT_VALUE = 4,
	FIELD_UINT_VALUE = 5,
};

/* Values of enums. */
enum {
	BUILTIN_CLOCK_REALTIME = 1,
	BUILTIN_CLOCK_MONOTONIC = 3,
	BUILTIN_CLOCK_BOOTTIME = 6,

	SEQ_INCREMENTAL_STATE_CLEARED = 1, /* the packet needs none before it */

	START_OF_TRACE = 1,
	END_OF_TRACE = 2,

	UNIT_TIME_NS = 1,

	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
};

/* -- events with messages of their own ------------------------------------------------ */

#define XVT_PERFETTO_FIELDS  12u
#define XVT_PERFETTO_SWITCH  4u /* numbers of messages */
#define XVT_PERFETTO_WAKING  20u
#define XVT_PERFETTO_NEWTASK 235u
#define XVT_PERFETTO_FORK    239u

enum xvt_perfetto_kind {
	NO_KIND,
	STR,
	I32,
	I64,
	U32,
	U64,
	U64S, /* repeated */
};

struct xvt_perfetto_field {
	const char *name;
	uint8_t number; /* below 16 */
	uint8_t kind;	/* enum xvt_perfetto_kind */
};

struct xvt_perfetto_event {
	const char *system;
	const char *name;
	uint32_t number; /* in FtraceEvent */
	struct xvt_perfetto_field fields[XVT_PERFETTO_FIELDS];
};

#define XVT_PERFETTO_EVENTS_MAX 128u

/* Whether it is the address of a function. */
bool xvt_perfetto_is_function(const struct xvt_perfetto_field *field);
/* Whether a value is one that the message can hold: of a field of 64 bits it may have 32. */
bool xvt_perfetto_holds(const struct xvt_perfetto_field *field, const struct xvtrace_field *f,
			uint64_t value);

/* The event's place in the list of all. */
unsigned int xvt_perfetto_number(const struct xvt_perfetto_event *event);
/* That of the event which ends the slice that Perfetto begins at this one;
 * XVT_PERFETTO_EVENTS_MAX: it begins none. */
unsigned int xvt_perfetto_exit(const struct xvt_perfetto_event *event);

/* The message that has all fields of the type; NULL: there is none. */
const struct xvt_perfetto_event *xvt_perfetto_event(const struct xvtrace_type *type);
/* NULL: the message lacks it, or cannot hold its values. */
const struct xvt_perfetto_field *xvt_perfetto_field(const struct xvt_perfetto_event *event,
						    const struct xvtrace_field *f);

/* -- encoding ------------------------------------------------------------------------- */

#define XVT_PROTO_VARINT 10u /* the most bytes of one */
/* The most bytes of a field with a number, and of the frame of a message. */
#define XVT_PROTO_NUMBER (2 * XVT_PROTO_VARINT)

enum {
	XVT_PROTO_WIRE_VARINT = 0,
	XVT_PROTO_WIRE_FIXED64 = 1,
	XVT_PROTO_WIRE_BYTES = 2,
};

/* A message that grows. xvt_proto_room() first, then what fits in that room. */
struct xvt_proto {
	uint8_t *p;
	size_t used;
	size_t room;
};

/* Returns 0 or -ENOMEM. */
static inline int xvt_proto_room(struct xvt_proto *b, size_t more)
{
	return xvt_grow(&b->p, &b->room, b->used + more, 1);
}

static inline size_t xvt_proto_varint_len(uint64_t v)
{
	return v ? (63 - (size_t)__builtin_clzll(v)) / 7 + 1 : 1;
}

static inline void xvt_proto_varint(struct xvt_proto *b, uint64_t v)
{
	while (v >= 0x80) {
		b->p[b->used++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	b->p[b->used++] = (uint8_t)v;
}

static inline void xvt_proto_tag(struct xvt_proto *b, uint32_t number, unsigned int wire)
{
	xvt_proto_varint(b, number << 3 | wire);
}

/* Any integer but the sint and fixed ones; negative ones sign-extended to 64 bits. */
static inline void xvt_proto_u64(struct xvt_proto *b, uint32_t number, uint64_t v)
{
	xvt_proto_tag(b, number, XVT_PROTO_WIRE_VARINT);
	xvt_proto_varint(b, v);
}

static inline void xvt_proto_fixed64(struct xvt_proto *b, uint32_t number, uint64_t v)
{
	xvt_proto_tag(b, number, XVT_PROTO_WIRE_FIXED64);
	for (int i = 0; i < 8; i++)
		b->p[b->used++] = (uint8_t)(v >> 8 * i);
}

static inline void xvt_proto_bytes(struct xvt_proto *b, const void *p, size_t len)
{
	if (len)
		memcpy(b->p + b->used, p, len);
	b->used += len;
}

/* Begin a message, or text, in a field; returns its place for xvt_proto_close(). */
static inline size_t xvt_proto_open(struct xvt_proto *b, uint32_t number)
{
	xvt_proto_tag(b, number, XVT_PROTO_WIRE_BYTES);
	return b->used++;
}

static inline void xvt_proto_close(struct xvt_proto *b, size_t at)
{
	size_t len = b->used - at - 1, extra = xvt_proto_varint_len(len) - 1;

	if (__builtin_expect(extra != 0, 0))
		memmove(b->p + at + 1 + extra, b->p + at + 1, len);
	b->used = at;
	xvt_proto_varint(b, len);
	b->used += len;
}

/* Write text as valid UTF-8, a bad byte as U+FFFD: at most 3 * len bytes. */
static inline void xvt_proto_text(struct xvt_proto *b, const void *text, size_t len)
{
	const uint8_t *p = text;
	size_t i = 0;

	while (i < len) {
		uint32_t code;
		size_t n;

		if (p[i] && p[i] < 0x80) {
			b->p[b->used++] = p[i++];
			continue;
		}
		n = xvt_utf8_next(p + i, len - i, &code);
		if (code == 0xfffd && n == 1)
			xvt_proto_bytes(b, "\xef\xbf\xbd", 3);
		else
			xvt_proto_bytes(b, p + i, n);
		i += n;
	}
}

/* The room that a text in a field takes, at most. */
static inline size_t xvt_proto_text_room(size_t len)
{
	return XVT_PROTO_NUMBER + 3 * len;
}

static inline void xvt_proto_string(struct xvt_proto *b, uint32_t number, const void *text,
				    size_t len)
{
	size_t at = xvt_proto_open(b, number);

	xvt_proto_text(b, text, len);
	xvt_proto_close(b, at);
}

#endif /* XVT_EXPORT_PERFETTO_H */
