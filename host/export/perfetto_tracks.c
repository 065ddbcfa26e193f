// SPDX-License-Identifier: GPL-2.0
/* perfetto_tracks.c - clocks, machines and tracks; see perfetto_parts.h. */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdio.h>

static void put_clock(struct xvt_proto *b, uint32_t id, uint64_t ns)
{
	size_t at = xvt_proto_open(b, CLOCK_SNAPSHOT_CLOCKS);

	xvt_proto_u64(b, CLOCK_CLOCK_ID, id);
	xvt_proto_u64(b, CLOCK_TIMESTAMP, ns);
	xvt_proto_close(b, at);
}

int xvt_pf_put_snapshot(struct xvt_pf *p, uint64_t ns)
{
	struct xvt_proto *b = &p->packet;
	size_t at;

	if (xvt_pf_begin_packet(p, p->sequence, &p->common_begun, 0, 16 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ns);
	at = xvt_proto_open(b, TRACE_PACKET_CLOCK_SNAPSHOT);
	put_clock(b, BUILTIN_CLOCK_BOOTTIME, ns);
	put_clock(b, BUILTIN_CLOCK_MONOTONIC, ns);
	put_clock(b, BUILTIN_CLOCK_REALTIME, xvtrace_wall_ns(p->x->trace, ns));
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

static void put_synced(struct xvt_proto *b, uint64_t ns)
{
	static const uint32_t sides[] = { SYNCED_CLOCKS_CLIENT_CLOCKS, SYNCED_CLOCKS_HOST_CLOCKS };
	size_t at = xvt_proto_open(b, REMOTE_CLOCK_SYNC_SYNCED_CLOCKS);

	for (int i = 0; i < 2; i++) {
		size_t side = xvt_proto_open(b, sides[i]);

		put_clock(b, BUILTIN_CLOCK_BOOTTIME, ns);
		put_clock(b, BUILTIN_CLOCK_MONOTONIC, ns);
		xvt_proto_close(b, side);
	}
	xvt_proto_close(b, at);
}

/* A guest's events are on the host's clocks: both sides read the same, twice as a relay does. */
static int put_clock_sync(struct xvt_pf *p, uint32_t machine, uint64_t ns)
{
	struct xvt_proto *b = &p->packet;
	size_t at;

	if (xvt_pf_begin_machine_packet(p, machine, 32 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_REMOTE_CLOCK_SYNC);
	put_synced(b, ns);
	put_synced(b, ns + 1);
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

/* A part of a kernel's text, without the blanks around it. */
static void put_part(struct xvt_proto *b, uint32_t number, const char *begin, const char *end)
{
	while (begin < end && *begin == ' ')
		begin++;
	while (end > begin && end[-1] == ' ')
		end--;
	if (begin < end)
		xvt_proto_string(b, number, begin, (size_t)(end - begin));
}

/* "SYSNAME RELEASE VERSION MACHINE", of which VERSION may have blanks. By the release Perfetto
 * knows the letters of prev_state, and by the machine the names of system calls. */
static void put_utsname(struct xvt_proto *b, const char *text)
{
	const char *end = text + strlen(text), *release = text, *version, *machine = end;
	size_t at = xvt_proto_open(b, SYSTEM_INFO_UTSNAME);

	release += strcspn(release, " ");
	version = release + strspn(release, " ");
	version += strcspn(version, " ");
	while (machine > version && machine[-1] != ' ')
		machine--;
	put_part(b, UTSNAME_SYSNAME, text, release);
	put_part(b, UTSNAME_RELEASE, release, version);
	put_part(b, UTSNAME_VERSION, version, machine);
	put_part(b, UTSNAME_MACHINE, machine, end);
	xvt_proto_close(b, at);
}

static int put_system(struct xvt_pf *p, uint32_t machine, const char *name)
{
	const char *kernel = xvtrace_reader_kernel(p->x->reader, machine);
	struct xvt_proto *b = &p->packet;
	uint32_t cpus = p->machines[machine].cpus;
	size_t at;

	if (!kernel)
		kernel = "Linux";
	if (xvt_pf_begin_machine_packet(p, machine,
					xvt_proto_text_room(strlen(name) + strlen(kernel)) +
						8 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_SYSTEM_INFO);
	put_utsname(b, kernel);
	if (cpus)
		xvt_proto_u64(b, SYSTEM_INFO_NUM_CPUS, cpus);
	xvt_proto_string(b, SYSTEM_INFO_MACHINE_NAME, name, strlen(name));
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

int xvt_pf_put_track(struct xvt_pf *p, uint32_t machine, uint64_t uuid, uint64_t parent_uuid,
		     const char *name, bool counter)
{
	struct xvt_proto *b = &p->packet;
	size_t at, unit;

	if (xvt_pf_begin_machine_packet(p, machine, xvt_proto_text_room(strlen(name))))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_TRACK_DESCRIPTOR);
	xvt_proto_u64(b, TRACK_DESCRIPTOR_UUID, uuid);
	xvt_proto_string(b, TRACK_DESCRIPTOR_NAME, name, strlen(name));
	if (parent_uuid)
		xvt_proto_u64(b, TRACK_DESCRIPTOR_PARENT_UUID, parent_uuid);
	if (counter) {
		unit = xvt_proto_open(b, TRACK_DESCRIPTOR_COUNTER);
		xvt_proto_u64(b, COUNTER_DESCRIPTOR_UNIT, UNIT_TIME_NS);
		xvt_proto_close(b, unit);
	}
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

int xvt_pf_begin_machine(struct xvt_pf *p, uint32_t machine, uint64_t ns)
{
	const char *name = xvt_pf_machine_name(p, machine);
	int err = put_system(p, machine, name);

	if (!err && xvt_pf_machine_id(p, machine))
		err = put_clock_sync(p, machine, ns);
	if (!err)
		err = xvt_pf_put_track(p, machine, xvt_pf_track_uuid(p, TRACK_MACHINE, machine), 0,
				       name, false);
	return err;
}

/* Two rings may have the same number: threads, and rings of an earlier boot. Perfetto puts tracks
 * of one name together. */
static void name_track(const struct xvt_pf *p, const struct xvt_pf_ring *r, const char *what,
		       char name[XVT_PF_NAME_MAX])
{
	uint32_t number = (uint32_t)(r - p->rings);
	const struct xvtrace_ring *of = xvtrace_ring(p->x->trace, number);
	int len = snprintf(name, XVT_PF_NAME_MAX, "%s:%s%u %s", xvt_pf_machine_name(p, r->machine),
			   of && of->thread ? "t" : "", r->cpu, what);

	if (len < (int)XVT_PF_NAME_MAX && r->twin)
		snprintf(name + len, XVT_PF_NAME_MAX - (size_t)len, " #%u", number);
}

/* Perfetto keeps the flows of each machine apart, so tracks of messages belong to none. */
int xvt_pf_need_track(struct xvt_pf *p, struct xvt_pf_ring *r, enum xvt_pf_track track)
{
	static const char *const what[] = { [TRACK_EVENTS] = "events",
					    [TRACK_LOST] = "lost",
					    [TRACK_BOUND] = "bound of times",
					    [TRACK_MESSAGES] = "messages",
					    [TRACK_EPOCHS] = "clock" };
	uint32_t number = (uint32_t)(r - p->rings);
	char name[XVT_PF_NAME_MAX];
	int err = 0;

	if (r->tracks & 1u << track)
		return 0;
	r->tracks |= (uint8_t)(1u << track);
	name_track(p, r, what[track], name);
	if (track != TRACK_MESSAGES)
		return xvt_pf_put_track(p, r->machine, xvt_pf_track_uuid(p, track, number),
					xvt_pf_track_uuid(p, TRACK_MACHINE, r->machine), name,
					track == TRACK_BOUND);
	if (!p->messages)
		err = xvt_pf_put_track(p, XVT_PF_NO_MACHINE,
				       xvt_pf_track_uuid(p, track, XVT_PF_NO_MACHINE), 0,
				       "messages", false);
	p->messages = true;
	return err ? err
		   : xvt_pf_put_track(p, XVT_PF_NO_MACHINE, xvt_pf_track_uuid(p, track, number),
				      xvt_pf_track_uuid(p, track, XVT_PF_NO_MACHINE), name, false);
}

int xvt_pf_begin_track_event(struct xvt_pf *p, struct xvt_pf_ring *r, enum xvt_pf_track track,
			     uint32_t type, uint64_t ns, size_t more, size_t *at)
{
	struct xvt_proto *b = &p->packet;
	int err = xvt_pf_need_track(p, r, track);

	if (!err && track == TRACK_MESSAGES)
		err = xvt_pf_begin_machine_packet(p, XVT_PF_NO_MACHINE,
						  more + 4 * XVT_PROTO_NUMBER);
	else if (!err)
		err = xvt_pf_begin_ring_packet(p, r, more + 4 * XVT_PROTO_NUMBER);
	if (err)
		return err;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ns);
	*at = xvt_proto_open(b, TRACE_PACKET_TRACK_EVENT);
	xvt_proto_u64(b, TRACK_EVENT_TYPE, type);
	xvt_proto_u64(b, TRACK_EVENT_TRACK_UUID,
		      xvt_pf_track_uuid(p, track, (uint32_t)(r - p->rings)));
	return 0;
}

int xvt_pf_put_bound(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev)
{
	uint64_t ns = ev->bound_ns;
	size_t at;
	int err;

	if (ev->flags & XVTRACE_UNCONFIRMED) {
		if (ns <= r->bound_ns && ns >= r->bound_ns - r->bound_ns / 4)
			return 0;
		ns += ns / 8;
	}
	r->bound_ns = ns;
	err = xvt_pf_begin_track_event(p, r, TRACK_BOUND, TYPE_COUNTER, ev->ns, 0, &at);
	if (err)
		return err;
	xvt_proto_u64(&p->packet, TRACK_EVENT_COUNTER_VALUE, ns);
	xvt_proto_close(&p->packet, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

int xvt_pf_put_slice_end(struct xvt_pf *p, uint32_t machine, uint64_t uuid, uint64_t ns,
			 uint32_t type, const char *name)
{
	struct xvt_proto *b = &p->packet;
	size_t at;

	if (xvt_pf_begin_machine_packet(p, machine, xvt_proto_text_room(strlen(name))))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, ns);
	at = xvt_proto_open(b, TRACE_PACKET_TRACK_EVENT);
	xvt_proto_u64(b, TRACK_EVENT_TYPE, type);
	xvt_proto_u64(b, TRACK_EVENT_TRACK_UUID, uuid);
	if (type == TYPE_SLICE_BEGIN)
		xvt_proto_string(b, TRACK_EVENT_NAME, name, strlen(name));
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}
