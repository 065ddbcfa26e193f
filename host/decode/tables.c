// SPDX-License-Identifier: GPL-2.0
/*
 * tables.c - see parts.h. State of a decoder: memory charged to its machine, tables by key, names
 * of tasks, and the generations of its guest.
 */
#include "decode/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void **xvt_table_slot(struct xvt_table *t, uint16_t key, bool make)
{
	void **page = t->page[key >> 8];

	if (!page && make)
		page = t->page[key >> 8] = calloc(256, sizeof(*page));
	return page ? &page[key & 255] : NULL;
}

void xvt_table_fini(struct xvt_table *t)
{
	for (size_t i = 0; i < 256; i++)
		free(t->page[i]);
}

/* -- memory ------------------------------------------------------------------------- */

bool xvt_decoder_charge(struct xvt_decoder *d, size_t bytes)
{
	struct xvt_decoders *all = d->all;

	if (bytes > all->machine_bytes - d->bytes || bytes > XVT_LIMIT_DECODE_BYTES - all->bytes) {
		all->left_out++;
		return false;
	}
	d->bytes += bytes;
	all->bytes += bytes;
	return true;
}

void xvt_decoder_give_back(struct xvt_decoder *d, size_t bytes)
{
	d->bytes -= bytes;
	d->all->bytes -= bytes;
}

int xvt_decoder_grow(struct xvt_decoder *d, void *array, size_t count, size_t *room, size_t size)
{
	const size_t more = *room ? 2 * *room : 1;

	if (count < *room)
		return 0;
	if (!xvt_decoder_charge(d, (more - *room) * size))
		return -ENOSPC;
	return xvt_grow(array, room, more, size);
}

/* -- names of tasks ----------------------------------------------------------------- */

/* A seeded hash, because a guest that chooses its pids could otherwise make them collide. */
static uint32_t comm_slot(const struct xvt_decoder *d, int32_t pid)
{
	uint64_t h = ((uint32_t)pid ^ d->all->seed) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 30 ^ d->all->seed >> 7) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

static struct xvt_comm *find_comm(const struct xvt_decoder *d, int32_t pid)
{
	uint32_t at;

	if (!d->comm_room)
		return NULL;
	for (at = comm_slot(d, pid);; at++) {
		struct xvt_comm *c = &d->comms[at & (d->comm_room - 1)];

		if (!c->used || c->pid == pid)
			return c;
	}
}

static int grow_comms(struct xvt_decoder *d)
{
	struct xvt_comm *old = d->comms;
	uint32_t old_room = d->comm_room;
	uint32_t room = old_room ? old_room * 2 : 256;
	struct xvt_comm *grown;

	if (!xvt_decoder_charge(d, (room - old_room) * sizeof(*grown)))
		return -ENOSPC;
	grown = calloc(room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	d->comms = grown;
	d->comm_room = room;
	for (uint32_t i = 0; i < old_room; i++)
		if (old[i].used)
			*find_comm(d, old[i].pid) = old[i];
	free(old);
	return 0;
}

static bool is_named(const struct xvt_comm *c, const uint8_t *name, size_t len)
{
	return memcmp(c->name, name, len) == 0 && !c->name[len];
}

void xvt_decoder_comm(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len,
		      uint64_t ns)
{
	struct xvt_comm *c = find_comm(d, pid);

	if (len > XVT_COMM_LEN - 1)
		len = XVT_COMM_LEN - 1;
	/* Most events tell the name that the task has. */
	if (xvt_likely(c && c->used && (c->fixed || is_named(c, name, len))))
		return;
	if (!c || !c->used) {
		if (d->comm_count == XVT_LIMIT_COMMS ||
		    (d->comm_count * 2 >= d->comm_room && grow_comms(d)))
			return; /* leave this name out */
		c = find_comm(d, pid);
		c->used = true;
		c->pid = pid;
		d->comm_count++;
	}
	c->since_ns = ns;
	c->has_field = false;
	memset(c->name, 0, XVT_COMM_LEN);
	memcpy(c->name, name, len);
}

void xvt_decoder_task(struct xvt_decoder *d, int32_t pid, const uint8_t *field, uint64_t ns)
{
	struct xvt_comm *c = find_comm(d, pid);

	/* Mostly the field is, byte by byte, that of the task's last event. */
	if (xvt_likely(
		    c && c->used &&
		    (c->fixed || (c->has_field && memcmp(c->field, field, XVT_COMM_FIELD) == 0))))
		return;
	xvt_decoder_comm(d, pid, field, strnlen((const char *)field, XVT_COMM_FIELD), ns);
	c = find_comm(d, pid);
	if (!c || !c->used)
		return;
	memcpy(c->field, field, XVT_COMM_FIELD);
	c->has_field = true;
}

void xvt_decoder_thread(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len)
{
	struct xvt_comm *c = find_comm(d, pid);

	if (c && c->used)
		c->fixed = false; /* the last one counts */
	xvt_decoder_comm(d, pid, name, len, 0);
	c = find_comm(d, pid);
	if (c && c->used)
		c->fixed = d->has_threads = true;
}

void xvt_decoder_process(struct xvt_decoder *d, int32_t tid, int32_t tgid, bool kernel)
{
	struct xvt_comm *c = find_comm(d, tid);

	if (!c || !c->used)
		return;
	c->tgid = tgid;
	c->kernel = kernel;
}

int32_t xvt_process(const struct xvt_decoder *d, int32_t tid, bool *kernel)
{
	const struct xvt_comm *c = find_comm(d, tid);

	*kernel = c && c->used && c->kernel;
	return c && c->used ? c->tgid : 0;
}

const char *xvt_comm(const struct xvt_decoder *d, int32_t pid)
{
	struct xvt_comm *c;

	if (pid == 0)
		return "<idle>";
	c = find_comm(d, pid);
	return c && c->used ? c->name : NULL;
}

const char *xvt_comm_since(const struct xvt_decoder *d, int32_t pid, uint64_t *since_ns)
{
	const struct xvt_comm *c = pid ? find_comm(d, pid) : NULL;

	*since_ns = c && c->used ? c->since_ns : 0;
	return xvt_comm(d, pid);
}

const char *xvt_thread(const struct xvt_decoder *d, int32_t tid)
{
	const struct xvt_comm *c = find_comm(d, tid);

	return c && c->used && c->fixed ? c->name : NULL;
}

const char *xvt_field_thread(const struct xvt_decoder *d, const struct xvt_field *f,
			     const struct xvt_event *ev)
{
	if (!f->pid || !d->has_threads)
		return NULL;
	return xvt_thread(d, (int32_t)xvt_field_number(f->pid, ev));
}

bool xvt_comm_next(const struct xvt_decoder *d, size_t *at, int32_t *pid, const char **name)
{
	for (; *at < d->comm_room; ++*at) {
		const struct xvt_comm *c = &d->comms[*at];

		if (!c->used)
			continue;
		*pid = c->pid;
		*name = c->name;
		++*at;
		return true;
	}
	return false;
}

bool xvt_thread_next(const struct xvt_decoder *d, size_t *at, int32_t *pid, const char **name)
{
	while (*at < d->comm_room) {
		const struct xvt_comm *c = &d->comms[(*at)++];

		if (!c->used || !c->fixed)
			continue;
		*pid = c->pid;
		*name = c->name;
		return true;
	}
	return false;
}

/* -- generations -------------------------------------------------------------------- */

uint32_t xvt_decoder_generation(const struct xvt_decoder *d, uint64_t chunk_seq)
{
	const size_t n = XVT_COUNT_TO(d->generations, d->generation_count, first_seq, chunk_seq);

	return n ? (uint32_t)n - 1 : 0;
}

int xvt_decoder_take_generation(struct xvt_decoder *d, uint32_t number, uint64_t seq, uint32_t *at)
{
	uint32_t n = d->generation_count;
	int err;

	if (!n || d->generations[n - 1].number != number) {
		err = xvt_decoder_grow(d, &d->generations, n, &d->generation_room,
				       sizeof(*d->generations));
		if (err)
			return err;
		d->generations[d->generation_count++] = (struct xvt_generation){ number, seq };
	}
	*at = d->generation_count - 1;
	return 0;
}

char *xvt_decoder_text(const uint8_t *p, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		return NULL;
	memcpy(text, p, len);
	text[len] = '\0';
	return text;
}
