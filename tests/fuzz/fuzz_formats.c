// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_formats.c - what a guest says about its events, and events as it says. The input is text
 * in sections, parted by lines "%%":
 *
 *   the text of a tracefs "format" file
 *   kernel symbols, lines of /proc/kallsyms
 *   printk_formats
 *   bytes of a record; its first two become the ID that the format names
 *
 * They go into a trace by the real writer, and the trace through report (by print fmt and
 * raw), JSON lines and CTF.
 */
#include "fuzz.h"

#include <stdlib.h>

#define SECTIONS 4
#define BORDER	 "\n%%\n"

struct section {
	const uint8_t *at;
	size_t len;
};

static void split(const uint8_t *data, size_t size, struct section s[SECTIONS])
{
	size_t i;

	for (i = 0; i < SECTIONS; i++) {
		const uint8_t *end = size ? memmem(data, size, BORDER, strlen(BORDER)) : NULL;

		if (i == SECTIONS - 1)
			end = NULL; /* a record may hold anything */
		s[i] = (struct section){ data, end ? (size_t)(end - data) : size };
		if (!end) {
			data += size;
			size = 0;
			continue;
		}
		size -= s[i].len + strlen(BORDER);
		data = end + strlen(BORDER);
	}
}

/* The number after "ID: ", or 1. */
static uint16_t id_of(const struct section *format)
{
	const uint8_t *p = format->len ? memmem(format->at, format->len, "ID: ", 4) : NULL;
	uint16_t id = 0;

	if (!p)
		return 1;
	for (p += 4; p < format->at + format->len && *p >= '0' && *p <= '9'; p++)
		id = (uint16_t)(10 * id + (*p - '0'));
	return id;
}

static void put_meta(struct xvt_trace_writer *w, uint32_t type, uint32_t id, const char *head,
		     size_t head_len, const struct section *s)
{
	struct xvt_meta_info info = { .type = type, .id = id };
	uint8_t *whole = malloc(head_len + s->len + 1);

	if (!whole)
		return;
	memcpy(whole, head, head_len);
	memcpy(whole + head_len, s->at, s->len);
	xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), whole, head_len + s->len);
	free(whole);
}

static void put_events(struct xvt_trace_writer *w, uint16_t type, const struct section *s)
{
	/* Whole, cut short in the middle, and shortest: a format must fit what is there. */
	const size_t cuts[] = { s->len, s->len / 2, s->len > 8 ? 8 : s->len, 0 };
	uint8_t *record = malloc(s->len + 2);
	struct xvt_event_hdr h = { .id = XVT_ID_FTRACE };
	size_t i, len;

	if (!record)
		return;
	memset(record, 0, s->len + 2);
	memcpy(record, s->at, s->len);
	memcpy(record, &type, sizeof(type));
	for (i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		len = cuts[i] < UINT16_MAX - 8 ? cuts[i] : UINT16_MAX - 8;
		h.host_ns = 1000 + i;
		h.guest_clock = 1000 + i;
		h.len = (uint16_t)len;
		xvt_trace_event(w, &h, record);
	}
	free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char names[] = "sched\0sched_switch"; /* and its final zero */
	static struct fuzz_sink sink;
	static struct fuzz_file f;
	const struct xvt_file_info info = { .mult = 1, .host_clock_id = XVT_CLOCK_NATIVE };
	struct xvt_vm_info vm = { .name = "g1" };
	struct xvt_ring_info ring = { .type = XVT_RING_VCPU };
	struct section s[SECTIONS];
	struct xvt_trace_writer *w;

	if (!f.path[0])
		fuzz_file_new(&f, "trace");
	fuzz_memory_reset();
	split(data, size, s);
	fuzz_sink_reset(&sink, SIZE_MAX);
	if (xvt_trace_writer_new(&w, &sink.sink, &info))
		return 0;
	xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0);
	xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0);
	put_meta(w, XVT_META_FORMAT, 0, names, sizeof(names), &s[0]);
	put_meta(w, XVT_META_KSYMS, 0, "", 0, &s[1]);
	put_meta(w, XVT_META_PRINTK_FORMATS, 0, "", 0, &s[2]);
	put_meta(w, XVT_META_COMM, 42, "", 0, &s[1]);
	put_events(w, id_of(&s[0]), &s[3]);
	if (xvt_trace_writer_finish(w))
		return 0;
	fuzz_file_set(&f, sink.bytes, sink.len);
	fuzz_check_trace(&f, true);
	fuzz_read_trace(&f, FUZZ_REPORT | FUZZ_RAW | FUZZ_JSONL |
				    (size && data[size - 1] % 8 == 0 ? FUZZ_CTF : 0));
	return 0;
}

void fuzz_guest_turn(void)
{
}

void fuzz_guest_stored(uint64_t off)
{
	(void)off;
}
