// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c - see decode.h. The class of a record, and its text. metadata.c reads the guest's
 * descriptions, field.c the values of fields.
 */
#include "decode/decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/parts.h"
#include "decode/print.h"

/* -- classes ------------------------------------------------------------------------ */

#define FIELD(name_, kind_, place_, elem_, flags_, offset_, size_)                 \
	{                                                                          \
		.name = name_, .kind = kind_, .place = place_, .elem_size = elem_, \
		.flags = flags_, .offset = offset_, .size = size_                  \
	}
#define NUMBER(struct_, field_)                                                          \
	FIELD(#field_, XVT_FIELD_UINT, XVT_PLACE_FIXED, 0, 0, offsetof(struct_, field_), \
	      sizeof(((struct_ *)0)->field_))
#define LOST(name_, cause_)                                 \
	FIELD(name_, XVT_FIELD_UINT, XVT_PLACE_FIXED, 0, 0, \
	      offsetof(struct xvt_lost, lost) + 8 * (cause_), 8)

/* Fields of the ring's own records. */
static struct xvt_field text_fields[] = {
	FIELD("text", XVT_FIELD_STRING, XVT_PLACE_TAIL, 1, XVT_FIELD_F_NUL, 0, 0),
};
static struct xvt_field u64_fields[] = {
	FIELD("values", XVT_FIELD_UINTS, XVT_PLACE_TAIL, 8, 0, 0, 0),
};
static struct xvt_field sync_fields[] = {
	NUMBER(struct xvt_clock_sync, clock),	     NUMBER(struct xvt_clock_sync, hz),
	NUMBER(struct xvt_clock_sync, monotonic_ns), NUMBER(struct xvt_clock_sync, boottime_ns),
	NUMBER(struct xvt_clock_sync, realtime_ns),  NUMBER(struct xvt_clock_sync, reason),
	NUMBER(struct xvt_clock_sync, epoch),
};
static struct xvt_field mark_fields[] = {
	NUMBER(struct xvt_mark, number),
	NUMBER(struct xvt_mark, clock),
};
static struct xvt_field lost_fields[] = {
	LOST("full", XVT_LOST_FULL),	    LOST("wrap", XVT_LOST_WRAP),
	LOST("big", XVT_LOST_BIG),	    LOST("nest", XVT_LOST_NEST),
	LOST("retry", XVT_LOST_RETRY),	    NUMBER(struct xvt_lost, overwritten),
	NUMBER(struct xvt_lost, bad_bytes), NUMBER(struct xvt_lost, rolled_back),
	NUMBER(struct xvt_lost, dropped), /* last, since older recorders did not write it */
};
static struct xvt_field raw_fields[] = {
	FIELD("data", XVT_FIELD_UINTS, XVT_PLACE_TAIL, 1, 0, 0, 0),
};
/* Of records that do not fit their format: shorter than it, or with a text that lies outside. */
static struct xvt_field unfit_fields[2][1] = {
	{ FIELD("unfit", XVT_FIELD_UINTS, XVT_PLACE_TAIL, 1, 0, 0, 0) },
	{ FIELD("short", XVT_FIELD_UINTS, XVT_PLACE_TAIL, 1, 0, 0, 0) },
};

static const struct builtin {
	uint16_t id;
	const char *name;
	struct xvt_field *fields;
	uint32_t count;
	uint32_t min_len;
	uint32_t slot; /* in xvt_decoder.builtin; 0: the id */
} builtins[] = {
	{ XVT_ID_TEXT, "text", text_fields, 1, 0, 0 },
	{ XVT_ID_U64, "u64", u64_fields, 1, 0, 0 },
	{ XVT_ID_PANIC, "panic", text_fields, 1, 0, 0 },
	{ XVT_ID_CLOCK_SYNC, "clock_sync", sync_fields, 7, sizeof(struct xvt_clock_sync), 0 },
	{ XVT_ID_LOST, "lost", lost_fields, 9, sizeof(struct xvt_lost), 0 },
	{ XVT_ID_LOST, "lost", lost_fields, 8, XVT_LOST_LEN_LEAST, XVT_BUILTIN_LOST_SHORT },
	{ XVT_ID_MARK, "mark", mark_fields, 2, sizeof(struct xvt_mark), 0 },
};

/* Make a class with `extra` bytes behind it. */
static struct xvt_event_class *new_class(struct xvt_decoder *d, size_t extra)
{
	struct xvt_event_class *c = calloc(1, sizeof(*c) + extra);

	if (!c || xvt_decoder_add_class(d, c)) {
		free(c);
		return NULL;
	}
	c->system = "xvt";
	c->comm_field[0] = c->comm_field[1] = c->pid_field[0] = c->pid_field[1] = -1;
	return c;
}

static struct xvt_event_class *builtin_class(struct xvt_decoder *d, const struct builtin *b)
{
	const uint32_t slot = b->slot ? b->slot : b->id;
	struct xvt_event_class *c = d->builtin[slot];

	if (c)
		return c;
	c = new_class(d, 0);
	if (!c)
		return NULL;
	c->name = b->name;
	c->fields = b->fields;
	c->field_count = b->count;
	c->min_len = b->min_len;
	c->marker = b->fields == text_fields;
	d->builtin[slot] = c;
	return c;
}

#define RAW_NAME 32

static struct xvt_event_class *new_raw(struct xvt_decoder *d, const char *name, bool ftrace)
{
	struct xvt_event_class *c = new_class(d, RAW_NAME);

	if (!c)
		return NULL;
	c->name = strcpy((char *)(c + 1), name);
	c->fields = raw_fields;
	c->field_count = 1;
	c->ftrace = c->nameless = ftrace;
	return c;
}

/* The class of records without a description, shown as bytes. Its name is `prefix` and the key. */
static struct xvt_event_class *raw_class(struct xvt_decoder *d, struct xvt_table *t, uint16_t key,
					 const char *prefix, bool ftrace)
{
	void **slot = xvt_table_slot(t, key, true);
	char name[RAW_NAME];

	if (!slot)
		return NULL;
	if (*slot)
		return *slot;
	if (!xvt_decoder_charge(d, sizeof(struct xvt_event_class) + RAW_NAME)) {
		if (!d->other)
			d->other = new_raw(d, "other", false);
		return d->other;
	}
	snprintf(name, sizeof(name), "%s%u", prefix, key);
	return *slot = new_raw(d, name, ftrace);
}

/* Returns whether the record is long enough and its dynamic fields lie in it without sharing bytes.
 * Shared bytes would let a record be shown many times over. */
static bool fits(const struct xvt_event_class *c, const struct xvt_event *ev)
{
	uint32_t len = ev->hdr->len, sum = 0;

	if (len < c->min_len)
		return false;
	if (!c->has_dynamic)
		return true;
	for (uint32_t i = 0; i < c->field_count; i++) {
		const struct xvt_field *f = &c->fields[i];
		uint32_t loc, from, bytes;

		if (f->place != XVT_PLACE_DATA_LOC && f->place != XVT_PLACE_REL_LOC)
			continue;
		memcpy(&loc, ev->payload + f->offset, sizeof(loc));
		bytes = loc >> 16;
		from = loc & 0xffff;
		if (f->place == XVT_PLACE_REL_LOC)
			from += f->offset + 4;
		if (from > len || bytes > len - from)
			return false;
		sum += bytes;
	}
	return sum <= len;
}

/* Search the latest format of generation g or an earlier one that holds at this time. */
static void search_format(struct xvt_formats *all, uint32_t g, uint64_t ns)
{
	uint32_t lo = 0, hi = all->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct xvt_format *f = &all->v[mid];

		if (f->at.generation < g || (f->at.generation == g && f->since_ns <= ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	all->last = lo ? &all->v[lo - 1] : NULL;
	all->generation = g;
	all->since_ns = lo && all->last->at.generation == g ? all->last->since_ns : 0;
	all->until_ns =
		lo < all->count && all->v[lo].at.generation == g ? all->v[lo].since_ns : UINT64_MAX;
}

/* Set `last` to the format that holds for the record. */
static __attribute__((noinline)) void find_format(struct xvt_decoder *d, struct xvt_formats *all,
						  const struct xvt_event *ev)
{
	const uint64_t ns = ev->hdr->host_ns;

	if (ev->chunk_seq != d->last_seq) {
		d->last_generation = xvt_decoder_generation(d, ev->chunk_seq);
		d->last_seq = ev->chunk_seq;
	}
	if (all->generation != d->last_generation || ns < all->since_ns || ns >= all->until_ns)
		search_format(all, d->last_generation, ns);
}

/* The formats of a record's type, with the one in `last` that holds at its time; NULL: none. */
static inline struct xvt_formats *formats_at(struct xvt_decoder *d, uint16_t type,
					     const struct xvt_event *ev)
{
	struct xvt_formats *all = xvt_table_get(&d->formats, type);
	const uint64_t ns = ev->hdr->host_ns;

	if (!all)
		return NULL;
	if (xvt_unlikely(ev->chunk_seq != d->last_seq || all->generation != d->last_generation ||
			 ns < all->since_ns || ns >= all->until_ns))
		find_format(d, all, ev);
	return all;
}

static inline struct xvt_event_class *class_of(struct xvt_decoder *d, struct xvt_format *f)
{
	return xvt_likely(f->cls) ? f->cls : xvt_decoder_format(d, f);
}

/* The class of records of this format's event that do not fit it: the name, and their bytes. */
static struct xvt_event_class *unfit_class(struct xvt_decoder *d, struct xvt_format *f,
					   const struct xvt_event *ev)
{
	const bool is_short = ev->hdr->len < f->cls->min_len;
	struct xvt_event_class **c = &f->unfit[is_short];

	if (*c || !xvt_decoder_charge(d, sizeof(**c)))
		return *c;
	*c = new_class(d, 0);
	if (!*c)
		return NULL;
	(*c)->system = f->cls->system;
	(*c)->name = f->cls->name;
	(*c)->fields = unfit_fields[is_short];
	(*c)->field_count = 1;
	(*c)->ftrace = f->cls->ftrace;
	return *c;
}

/* all: the formats of the record's type; NULL: there are none, or it has no type. */
static __attribute__((noinline)) struct xvt_event_class *
search_class(struct xvt_decoder *d, const struct xvt_formats *all, const struct xvt_event *ev)
{
	struct xvt_event_class *unfit = NULL;
	struct xvt_format *f = all ? all->last : NULL;
	uint16_t type = 0;

	if (ev->hdr->len < sizeof(type))
		return raw_class(d, &d->raw_ids, ev->hdr->id, "id", false);
	/* The format of the record's own boot and time first, then older ones. */
	for (unsigned int i = 0; f && i <= XVT_LIMIT_OLDER; i++, f--) {
		struct xvt_event_class *c = class_of(d, f);

		if (c && fits(c, ev))
			return c;
		if (c && !unfit)
			unfit = unfit_class(d, f, ev);
		if (f == all->v || f->withdrawn)
			break;
	}
	if (unfit)
		return unfit;
	memcpy(&type, ev->payload, sizeof(type));
	f = xvt_decoder_lent(d, ev->chunk_seq, type);
	if (f && class_of(d, f)) {
		unfit = fits(f->cls, ev) ? f->cls : unfit_class(d, f, ev);
		if (unfit)
			return unfit;
	}
	return raw_class(d, &d->raw_types, type, "type", true);
}

static inline struct xvt_event_class *ftrace_class(struct xvt_decoder *d,
						   const struct xvt_event *ev)
{
	const struct xvt_formats *all = NULL;
	struct xvt_event_class *c = NULL;
	uint16_t type;

	if (xvt_likely(ev->hdr->len >= sizeof(type))) {
		memcpy(&type, ev->payload, sizeof(type));
		all = formats_at(d, type, ev);
	}
	if (xvt_likely(all && all->last))
		c = all->last->cls;
	if (xvt_likely(c && !c->has_dynamic && ev->hdr->len >= c->min_len))
		return c;
	return search_class(d, all, ev);
}

bool xvt_is_nameless(struct xvt_decoder *d, const struct xvt_event *ev)
{
	const struct xvt_formats *all;
	struct xvt_format *f;
	uint16_t type;

	if (ev->hdr->id != XVT_ID_FTRACE || ev->hdr->len < sizeof(type))
		return false;
	memcpy(&type, ev->payload, sizeof(type));
	all = formats_at(d, type, ev);
	f = all ? all->last : NULL;
	for (unsigned int i = 0; f && i <= XVT_LIMIT_OLDER; i++, f--) {
		if (class_of(d, f))
			return false;
		if (f == all->v || f->withdrawn)
			break;
	}
	f = xvt_decoder_lent(d, ev->chunk_seq, type);
	return !f || !class_of(d, f);
}

static __attribute__((noinline)) void
learn_switch(struct xvt_decoder *d, const struct xvt_event_class *c, const struct xvt_event *ev)
{
	const uint64_t ns = ev->hdr->host_ns;

	for (int i = 0; i < 2; i++) {
		const struct xvt_field *comm;
		struct xvt_value name;
		int32_t pid;

		if (c->comm_field[i] < 0 || c->pid_field[i] < 0)
			continue;
		comm = &c->fields[c->comm_field[i]];
		pid = (int32_t)xvt_field_number(&c->fields[c->pid_field[i]], ev);
		if (xvt_likely(comm->place == XVT_PLACE_FIXED && comm->size == XVT_COMM_FIELD &&
			       !comm->flags)) {
			xvt_decoder_task(d, pid, ev->payload + comm->offset, ns);
			continue;
		}
		xvt_field_get(comm, ev, &name);
		xvt_decoder_comm(d, pid, name.data, name.count, ns);
	}
}

static __attribute__((noinline)) struct xvt_event_class *own_class(struct xvt_decoder *d,
								   const struct xvt_event *ev)
{
	uint16_t id = ev->hdr->id;

	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (builtins[i].id == id && ev->hdr->len >= builtins[i].min_len)
			return builtin_class(d, &builtins[i]);
	return raw_class(d, &d->raw_ids, id, id >= XVT_ID_USER ? "user" : "id", false);
}

struct xvt_event_class *xvt_classify(struct xvt_decoder *d, const struct xvt_event *ev)
{
	uint16_t id = ev->hdr->id;
	struct xvt_event_class *c;

	if (xvt_likely(id == XVT_ID_FTRACE)) {
		c = ftrace_class(d, ev);
		if (c && c->comm_field[0] >= 0)
			learn_switch(d, c, ev);
		return c;
	}
	if (xvt_likely(id <= XVT_ID_PANIC)) {
		c = d->builtin[id];
		if (xvt_likely(c && ev->hdr->len >= c->min_len))
			return c;
	}
	return own_class(d, ev);
}

/* -- printing ----------------------------------------------------------------------- */

static void print_hex(struct xvt_out *o, const uint8_t *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len && !o->cut; i++) {
		if (i && i % 8 == 0)
			xvt_out_char(o, ' ');
		xvt_out_char(o, digits[p[i] >> 4]);
		xvt_out_char(o, digits[p[i] & 15]);
	}
}

static void print_numbers(struct xvt_out *o, const struct xvt_field *f, const struct xvt_event *ev)
{
	struct xvt_value v;

	xvt_field_get(f, ev, &v);
	for (uint32_t i = 0; i < v.count && !o->cut; i++) {
		if (i)
			xvt_out_char(o, ' ');
		xvt_out_u64(o, xvt_field_element(f, &v, i));
	}
}

void xvt_print_fields(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event_class *c,
		      const struct xvt_event *ev, bool raw)
{
	const char *thread;
	struct xvt_value v;

	if (!raw && c->marker) {
		xvt_field_get(&c->fields[c->text], ev, &v);
		xvt_out_text(o, v.data, v.count);
		return;
	}
	if (!raw && c->fields == u64_fields) {
		print_numbers(o, &c->fields[0], ev);
		return;
	}
	if (!raw && (c->fields == unfit_fields[0] || c->fields == unfit_fields[1])) {
		xvt_out_char(o, '[');
		xvt_out_str(o, c->fields[0].name);
		xvt_out_str(o, "] ");
		print_hex(o, ev->payload, ev->hdr->len);
		return;
	}
	if (!raw && c->fields == raw_fields) {
		print_hex(o, ev->payload, ev->hdr->len);
		return;
	}
	if (!raw && c->special) {
		xvt_print_special(o, d, c, ev);
		return;
	}
	if (!raw && c->print) {
		xvt_print_run(o, d, c->print, ev);
		return;
	}
	for (uint32_t i = 0; i < c->field_count && !o->cut; i++) {
		if (i)
			xvt_out_char(o, ' ');
		xvt_out_text(o, c->fields[i].name, strlen(c->fields[i].name));
		xvt_out_char(o, '=');
		thread = raw ? NULL : xvt_field_thread(d, &c->fields[i], ev);
		if (thread)
			xvt_out_text(o, thread, strlen(thread));
		else
			xvt_field_put(o, &c->fields[i], ev);
	}
}
