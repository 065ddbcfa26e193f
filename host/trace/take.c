// SPDX-License-Identifier: GPL-2.0
/* take.c - the chunks that opening a trace loads: FILE, VM, RING, TIMEBASE, END; and the list of
 * all. */
#include "trace/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_name.h"
#include "base/u64.h"
#include "base/vec.h"

/* Numbers may have holes (a damaged chunk), but a file cannot make us allocate at will. */
#define VM_MAX	 4096u
#define RING_MAX (XVT_EVENT_RING_MASK + 1)
#define RING_GAP 65536u

/* Grow an array to hold index `at`, new parts zeroed. */
static int grow(void **array, uint32_t *count, size_t size, uint32_t at)
{
	uint32_t room = at + 1;
	void *grown;

	if (at < *count)
		return 0;
	grown = realloc(*array, room * size);
	if (!grown)
		return -ENOMEM;
	memset((char *)grown + *count * size, 0, (room - *count) * size);
	*array = grown;
	*count = room;
	return 0;
}

bool xvt_trace_wants(uint16_t type)
{
	return type == XVT_CHUNK_FILE || type == XVT_CHUNK_VM || type == XVT_CHUNK_RING ||
	       type == XVT_CHUNK_TIMEBASE || type == XVT_CHUNK_END;
}

static void printable_name(char *name, const char *from, uint32_t vm)
{
	char whole[XVT_NAME_LEN];

	snprintf(whole, sizeof(whole), "%.*s", XVT_NAME_LEN - 1, from);
	xvt_machine_shown(name, XVT_NAME_LEN, whole);
	if (!name[0])
		snprintf(name, XVT_NAME_LEN, "vm%u", vm);
}

static int take_vm(struct xvt_trace *t, const struct xvt_chunk_buf *b, const char **why)
{
	struct xvt_vm_info info;
	int err;

	*why = "VM chunk makes no sense";
	if (b->len < sizeof(info))
		return -EBADMSG;
	memcpy(&info, b->payload, sizeof(info));
	if (info.vm >= VM_MAX)
		return -EBADMSG;
	err = grow((void **)&t->vms, &t->vm_count, sizeof(*t->vms), info.vm);
	if (err)
		return err;
	t->vms[info.vm].known = true;
	t->vms[info.vm].info = info;
	printable_name(t->vms[info.vm].name, info.name, info.vm);
	return 0;
}

static int take_ring(struct xvt_trace *t, const struct xvt_chunk_buf *b, const char **why)
{
	struct xvt_ring_info info;
	int err;

	*why = "RING chunk makes no sense";
	if (b->len < sizeof(info))
		return -EBADMSG;
	memcpy(&info, b->payload, sizeof(info));
	if (info.ring >= RING_MAX || info.ring > t->ring_count + RING_GAP || info.vm >= VM_MAX)
		return -EBADMSG;
	err = grow((void **)&t->rings, &t->ring_count, sizeof(*t->rings), info.ring);
	if (err)
		return err;
	t->rings[info.ring].known = true;
	t->rings[info.ring].info = info;
	return 0;
}

static int add_line(struct xvt_trace *t, const struct xvt_timebase *line)
{
	if (xvt_grow(&t->timebase, &t->timebase_room, t->timebase_count + 1, sizeof(*t->timebase)))
		return -ENOMEM;
	t->timebase[t->timebase_count++] = *line;
	return 0;
}

/* The first line; it is there before any other chunk is taken. */
int xvt_trace_take_file_line(struct xvt_trace *t)
{
	const struct xvt_file_info *f = &t->info;
	const struct xvt_timebase line = {
		.base_clock = f->base_clock,
		.base_ns = f->base_ns,
		.mult = f->mult,
		.shift = f->shift & 63,
		.realtime_ns = f->realtime_ns,
		.boottime_ns = f->boottime_ns,
		.apart_ns = f->apart_ns,
	};

	return add_line(t, &line);
}

static int take_timebase(struct xvt_trace *t, const struct xvt_chunk_buf *b, const char **why)
{
	struct xvt_timebase line;

	*why = "TIMEBASE chunk makes no sense";
	for (uint32_t at = 0; xvt_chunk_take(b, &at, &line, sizeof(line));) {
		const struct xvt_timebase *last = &t->timebase[t->timebase_count - 1];
		int err;

		/* In order, because they are searched by halves. */
		if (line.base_clock <= last->base_clock || line.base_ns < last->base_ns ||
		    !line.mult || line.shift > 63)
			return -EBADMSG;
		err = add_line(t, &line);
		if (err)
			return err;
	}
	return 0;
}

int xvt_trace_take(struct xvt_trace *t, uint16_t type, const struct xvt_chunk_buf *b,
		   const char **why)
{
	switch (type) {
	case XVT_CHUNK_VM:
		return take_vm(t, b, why);
	case XVT_CHUNK_RING:
		return take_ring(t, b, why);
	case XVT_CHUNK_TIMEBASE:
		return take_timebase(t, b, why);
	default:
		return 0;
	}
}

int xvt_trace_add_chunk(struct xvt_trace *t, uint64_t offset, const struct xvt_chunk_head *head)
{
	struct xvt_chunk_ref *ref;

	if (xvt_grow(&t->chunks, &t->chunk_room, t->chunk_count + 1, sizeof(*t->chunks)))
		return -ENOMEM;
	ref = &t->chunks[t->chunk_count++];
	*ref = (struct xvt_chunk_ref){
		.offset = offset,
		.seq = head->h.seq,
		.len = head->h.len,
		.type = head->h.type,
	};
	if (!xvt_chunk_of_events(ref->type))
		return 0;
	/* Where a newer program keeps its times is not known: any part of the trace may have it. */
	if (head->h.flags & ~XVT_CHUNK_F_ZSTD) {
		ref->last_ns = UINT64_MAX;
	} else if (ref->len >= sizeof(head->events)) {
		ref->first_ns = head->events.first_ns;
		ref->last_ns = head->events.last_ns;
		ref->count = head->events.count;
		if (ref->count && ref->first_ns < t->first_ns)
			t->first_ns = ref->first_ns;
		if (ref->count && ref->last_ns > t->last_ns)
			t->last_ns = ref->last_ns;
	}
	return 0;
}
