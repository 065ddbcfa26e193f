// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c - see decode.h. One decoder a VM: its formats (turned into classes when the first
 * event needs them), kernel symbols, texts and names of tasks.
 */
#include "decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode_print.h"
#include "decode_tep.h"

/* 16-bit keys in two levels: most guests use a few hundred of them. */
struct table {
	void **page[256];
};

struct format {
	const char *system;
	const char *text;
	size_t len;
	char *bytes; /* holds the two above */
	struct xvt_event_class *cls;
	bool failed;
};

/* What a guest said between two of its boots. Events after `first_seq` belong to it. */
struct generation {
	uint32_t generation;
	uint64_t first_seq;
	struct table formats;
	struct generation *older;
};

struct symbol {
	uint64_t addr;
	const char *name;
};

struct symbols {
	struct symbol *v;
	size_t count;
	size_t room;
};

#define COMM_LEN 16

struct comm {
	int32_t pid;
	bool used;
	char name[COMM_LEN];
};

struct xvt_decoder {
	struct xvt_tep *tep;
	struct generation *newest;
	struct table raw_types; /* ftrace records without a format */
	struct table raw_ids;	/* records of the programs' own ids */
	struct xvt_event_class *builtin[XVT_ID_U64 + 1];
	struct xvt_event_class **classes;
	uint32_t class_count;
	uint32_t class_room;
	struct symbols ksyms;
	struct symbols printks;
	char **texts; /* that the symbols point into */
	size_t text_count;
	struct comm *comms; /* open addressing, a power of two */
	uint32_t comm_count;
	uint32_t comm_room;
};

static void **table_slot(struct table *t, uint16_t key, bool make)
{
	void **page = t->page[key >> 8];

	if (!page && make)
		page = t->page[key >> 8] = calloc(256, sizeof(*page));
	return page ? &page[key & 255] : NULL;
}

static void *table_get(struct table *t, uint16_t key)
{
	void **slot = table_slot(t, key, false);

	return slot ? *slot : NULL;
}

static void table_fini(struct table *t)
{
	for (size_t i = 0; i < 256; i++)
		free(t->page[i]);
}

/* -- classes ------------------------------------------------------------------------ */

static int add_class(struct xvt_decoder *d, struct xvt_event_class *c)
{
	if (d->class_count == d->class_room) {
		uint32_t room = d->class_room ? d->class_room * 2 : 64;
		void *grown = realloc(d->classes, room * sizeof(*d->classes));

		if (!grown)
			return -ENOMEM;
		d->classes = grown;
		d->class_room = room;
	}
	d->classes[d->class_count++] = c;
	return 0;
}

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

/* The ring's own records, as if a guest had described them. */
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
};
static struct xvt_field raw_fields[] = {
	FIELD("data", XVT_FIELD_UINTS, XVT_PLACE_TAIL, 1, 0, 0, 0),
};

static const struct builtin {
	uint16_t id;
	const char *name;
	struct xvt_field *fields;
	uint32_t count;
	uint32_t min_len;
} builtins[] = {
	{ XVT_ID_TEXT, "text", text_fields, 1, 0 },
	{ XVT_ID_U64, "u64", u64_fields, 1, 0 },
	{ XVT_ID_CLOCK_SYNC, "clock_sync", sync_fields, 7, sizeof(struct xvt_clock_sync) },
	{ XVT_ID_LOST, "lost", lost_fields, 8, sizeof(struct xvt_lost) },
	{ XVT_ID_MARK, "mark", mark_fields, 2, sizeof(struct xvt_mark) },
};

static struct xvt_event_class *new_class(struct xvt_decoder *d)
{
	struct xvt_event_class *c = calloc(1, sizeof(*c));

	if (!c || add_class(d, c)) {
		free(c);
		return NULL;
	}
	c->system = "xvt";
	c->comm_field[0] = c->comm_field[1] = c->pid_field[0] = c->pid_field[1] = -1;
	return c;
}

static struct xvt_event_class *builtin_class(struct xvt_decoder *d, const struct builtin *b)
{
	struct xvt_event_class *c = d->builtin[b->id];

	if (c)
		return c;
	c = new_class(d);
	if (!c)
		return NULL;
	c->name = b->name;
	c->fields = b->fields;
	c->field_count = b->count;
	c->min_len = b->min_len;
	c->marker = b->id == XVT_ID_TEXT;
	d->builtin[b->id] = c;
	return c;
}

/* Bytes without a description. `prefix` and number make the name. */
static struct xvt_event_class *raw_class(struct xvt_decoder *d, struct table *t, uint16_t key,
					 const char *prefix, bool ftrace)
{
	void **slot = table_slot(t, key, true);
	struct xvt_event_class *c;
	char *name;

	if (!slot)
		return NULL;
	if (*slot)
		return *slot;
	name = malloc(32);
	c = name ? new_class(d) : NULL;
	if (!c) {
		free(name);
		return NULL;
	}
	snprintf(name, 32, "%s%u", prefix, key);
	c->name = name;
	c->fields = raw_fields;
	c->field_count = 1;
	c->ftrace = ftrace;
	*slot = c;
	return c;
}

static bool fits(const struct xvt_event_class *c, const struct xvt_event *ev)
{
	uint32_t len = ev->hdr->len;

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
	}
	return true;
}

static struct xvt_event_class *format_class(struct xvt_decoder *d, struct format *f)
{
	struct xvt_event_class *c;
	int err;

	if (f->cls || f->failed)
		return f->cls;
	c = calloc(1, sizeof(*c));
	err = c ? xvt_tep_class(d->tep, f->system, f->text, f->len, c) : -ENOMEM;
	if (!err && add_class(d, c)) {
		xvt_tep_class_fini(c);
		err = -ENOMEM;
	}
	if (err) {
		free(c);
		f->failed = true;
		return NULL;
	}
	f->cls = c;
	return c;
}

static struct xvt_event_class *ftrace_class(struct xvt_decoder *d, const struct xvt_event *ev)
{
	uint16_t type = 0;

	if (ev->hdr->len < 2)
		return raw_class(d, &d->raw_ids, ev->hdr->id, "id", false);
	memcpy(&type, ev->payload, sizeof(type));
	for (struct generation *g = d->newest; g; g = g->older) {
		struct format *f;
		struct xvt_event_class *c;

		/* A record's own boot first; what it did not describe, an older one may have. */
		if (g->first_seq > ev->chunk_seq && g->older)
			continue;
		f = table_get(&g->formats, type);
		c = f ? format_class(d, f) : NULL;
		if (c && fits(c, ev))
			return c;
	}
	return raw_class(d, &d->raw_types, type, "type", true);
}

static void learn_comm(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len);

static void learn_switch(struct xvt_decoder *d, const struct xvt_event_class *c,
			 const struct xvt_event *ev)
{
	for (int i = 0; i < 2; i++) {
		struct xvt_value comm, pid;

		if (c->comm_field[i] < 0 || c->pid_field[i] < 0)
			continue;
		xvt_field_get(&c->fields[c->comm_field[i]], ev, &comm);
		xvt_field_get(&c->fields[c->pid_field[i]], ev, &pid);
		learn_comm(d, (int32_t)pid.u, comm.data, comm.count);
	}
}

struct xvt_event_class *xvt_classify(struct xvt_decoder *d, const struct xvt_event *ev)
{
	uint16_t id = ev->hdr->id;
	struct xvt_event_class *c;

	if (id == XVT_ID_FTRACE) {
		c = ftrace_class(d, ev);
		if (c && c->comm_field[0] >= 0)
			learn_switch(d, c, ev);
		return c;
	}
	if (xvt_likely(id <= XVT_ID_U64)) {
		c = d->builtin[id];
		if (xvt_likely(c && ev->hdr->len >= c->min_len))
			return c;
	}
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (builtins[i].id == id && ev->hdr->len >= builtins[i].min_len)
			return builtin_class(d, &builtins[i]);
	return raw_class(d, &d->raw_ids, id, id >= XVT_ID_USER ? "user" : "id", false);
}

/* -- values ------------------------------------------------------------------------- */

uint32_t xvt_field_extent(const struct xvt_field *f, const struct xvt_event *ev,
			  const uint8_t **data)
{
	uint32_t from = f->offset, bytes = f->size, loc;

	if (f->place == XVT_PLACE_TAIL) {
		bytes = ev->hdr->len - from;
	} else if (f->place != XVT_PLACE_FIXED) {
		memcpy(&loc, ev->payload + from, sizeof(loc));
		bytes = loc >> 16;
		from = (loc & 0xffff) + (f->place == XVT_PLACE_REL_LOC ? f->offset + 4 : 0);
	}
	*data = ev->payload + from;
	return bytes;
}

void xvt_field_get(const struct xvt_field *f, const struct xvt_event *ev, struct xvt_value *v)
{
	uint32_t bytes = xvt_field_extent(f, ev, &v->data);

	v->u = 0;
	switch (f->kind) {
	case XVT_FIELD_UINT:
	case XVT_FIELD_INT:
		v->u = xvt_number(v->data, bytes, f->kind == XVT_FIELD_INT);
		v->count = 0;
		return;
	case XVT_FIELD_UINTS:
	case XVT_FIELD_INTS:
		v->count = bytes / f->elem_size;
		return;
	}
	if (f->flags & XVT_FIELD_F_NUL)
		while (bytes && !v->data[bytes - 1])
			bytes--;
	else
		bytes = (uint32_t)strnlen((const char *)v->data, bytes);
	if (f->flags & XVT_FIELD_F_CHOMP && bytes && v->data[bytes - 1] == '\n')
		bytes--;
	v->count = bytes;
}

uint64_t xvt_field_element(const struct xvt_field *f, const struct xvt_value *v, uint32_t i)
{
	return xvt_number(v->data + (size_t)i * f->elem_size, f->elem_size,
			  f->kind == XVT_FIELD_INTS);
}

void xvt_common_get(const struct xvt_event_class *c, const struct xvt_event *ev,
		    struct xvt_common *common)
{
	common->flags = 0;
	common->preempt_count = 0;
	common->pid = -1;
	if (!c->ftrace || ev->hdr->len < 8)
		return;
	common->flags = ev->payload[2];
	common->preempt_count = ev->payload[3];
	memcpy(&common->pid, ev->payload + 4, sizeof(common->pid));
}

/* -- printing ----------------------------------------------------------------------- */

static void print_hex(struct xvt_out *o, const uint8_t *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		if (i && i % 8 == 0)
			xvt_out_char(o, ' ');
		xvt_out_char(o, digits[p[i] >> 4]);
		xvt_out_char(o, digits[p[i] & 15]);
	}
}

static void print_array(struct xvt_out *o, const struct xvt_field *f, const struct xvt_value *v)
{
	xvt_out_char(o, '[');
	for (uint32_t i = 0; i < v->count; i++) {
		uint64_t e = xvt_field_element(f, v, i);

		if (i)
			xvt_out_char(o, ',');
		if (f->kind == XVT_FIELD_INTS)
			xvt_out_i64(o, (int64_t)e);
		else
			xvt_out_u64(o, e);
	}
	xvt_out_char(o, ']');
}

void xvt_field_put(struct xvt_out *o, const struct xvt_field *f, const struct xvt_event *ev)
{
	struct xvt_value v;

	xvt_field_get(f, ev, &v);
	switch (f->kind) {
	case XVT_FIELD_UINT:
		xvt_out_u64(o, v.u);
		break;
	case XVT_FIELD_INT:
		xvt_out_i64(o, (int64_t)v.u);
		break;
	case XVT_FIELD_STRING:
		xvt_out_quoted(o, v.data, v.count);
		break;
	default:
		print_array(o, f, &v);
	}
}

static void print_numbers(struct xvt_out *o, const struct xvt_field *f, const struct xvt_event *ev)
{
	struct xvt_value v;

	xvt_field_get(f, ev, &v);
	for (uint32_t i = 0; i < v.count; i++) {
		if (i)
			xvt_out_char(o, ' ');
		xvt_out_u64(o, xvt_field_element(f, &v, i));
	}
}

void xvt_print_fields(struct xvt_out *o, const struct xvt_decoder *d,
		      const struct xvt_event_class *c, const struct xvt_event *ev, bool raw)
{
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
	if (!raw && c->fields == raw_fields) {
		print_hex(o, ev->payload, ev->hdr->len);
		return;
	}
	if (!raw && c->print) {
		xvt_print_run(o, d, c->print, ev);
		return;
	}
	for (uint32_t i = 0; i < c->field_count; i++) {
		if (i)
			xvt_out_char(o, ' ');
		xvt_out_text(o, c->fields[i].name, strlen(c->fields[i].name));
		xvt_out_char(o, '=');
		xvt_field_put(o, &c->fields[i], ev);
	}
}

/* -- names of tasks ----------------------------------------------------------------- */

static struct comm *find_comm(const struct xvt_decoder *d, int32_t pid)
{
	uint32_t at = (uint32_t)pid * 0x9e3779b1u;

	if (!d->comm_room)
		return NULL;
	for (;; at++) {
		struct comm *c = &d->comms[at & (d->comm_room - 1)];

		if (!c->used || c->pid == pid)
			return c;
	}
}

static int grow_comms(struct xvt_decoder *d)
{
	struct comm *old = d->comms;
	uint32_t old_room = d->comm_room;
	uint32_t room = old_room ? old_room * 2 : 256;
	struct comm *grown = calloc(room, sizeof(*grown));

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

static void learn_comm(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len)
{
	struct comm *c;

	if (d->comm_count * 2 >= d->comm_room && grow_comms(d))
		return; /* no memory: a name less */
	c = find_comm(d, pid);
	if (!c->used) {
		c->used = true;
		c->pid = pid;
		d->comm_count++;
	}
	if (len > COMM_LEN - 1)
		len = COMM_LEN - 1;
	memset(c->name, 0, COMM_LEN);
	memcpy(c->name, name, len);
}

const char *xvt_comm(const struct xvt_decoder *d, int32_t pid)
{
	struct comm *c;

	if (pid == 0)
		return "<idle>";
	c = find_comm(d, pid);
	return c && c->used ? c->name : NULL;
}

/* -- symbols ------------------------------------------------------------------------ */

static void add_symbol(struct symbols *s, uint64_t addr, const char *name)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 1024;
		void *grown = realloc(s->v, room * sizeof(*s->v));

		if (!grown)
			return;
		s->v = grown;
		s->room = room;
	}
	s->v[s->count++] = (struct symbol){ addr, name };
}

static int compare_symbols(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* The last symbol at or below addr. */
static const struct symbol *find_symbol(const struct symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &s->v[lo - 1] : NULL;
}

const char *xvt_ksym(const struct xvt_decoder *d, uint64_t addr, uint64_t *base)
{
	const struct symbol *s = find_symbol(&d->ksyms, addr);

	/* Far behind the last symbol is no function any more. */
	if (!s || addr - s->addr > 1u << 20)
		return NULL;
	*base = s->addr;
	return s->name;
}

const char *xvt_printk_text(const struct xvt_decoder *d, uint64_t addr)
{
	const struct symbol *s = find_symbol(&d->printks, addr);

	return s && s->addr == addr ? s->name : NULL;
}

/* Lines "ADDR TYPE NAME [MODULE]"; text is cut into names in place. */
static void take_ksyms(struct xvt_decoder *d, char *text)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end;
		uint64_t addr = strtoull(line, &end, 16);

		if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
			continue;
		end[3 + strcspn(end + 3, " \t")] = '\0';
		add_symbol(&d->ksyms, addr, end + 3);
	}
}

/* Lines '0xADDR : "TEXT"'. */
static void take_printks(struct xvt_decoder *d, char *text)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *open = strchr(line, '"'), *close = strrchr(line, '"');
		char *to = open, *end;
		uint64_t addr = strtoull(line, &end, 0);

		if (end == line || !open || close == open)
			continue;
		*close = '\0';
		for (const char *p = open + 1; *p; p++) {
			if (*p == '\\' && p[1]) {
				p++;
				*to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
			} else {
				*to++ = *p;
			}
		}
		*to = '\0';
		add_symbol(&d->printks, addr, open);
	}
}

/* -- metadata ----------------------------------------------------------------------- */

static char *copy_text(const uint8_t *p, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		return NULL;
	memcpy(text, p, len);
	text[len] = '\0';
	return text;
}

static struct generation *generation_of(struct xvt_decoder *d, uint32_t number, uint64_t seq)
{
	struct generation *g = d->newest;

	if (g && g->generation == number)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->generation = number;
	g->first_seq = seq;
	g->older = d->newest;
	d->newest = g;
	return g;
}

/* system '\0' event '\0' text; the type's number is in the text. */
static int take_format(struct xvt_decoder *d, const struct xvt_meta_info *info, const uint8_t *p,
		       size_t len, uint64_t seq)
{
	struct generation *g = generation_of(d, info->generation, seq);
	char *bytes = copy_text(p, len);
	const char *text, *id;
	struct format *f;
	unsigned long type;
	size_t skip;
	void **slot;

	if (!g || !bytes)
		goto err_memory;
	skip = strlen(bytes) + 1;
	if (skip < len)
		skip += strlen(bytes + skip) + 1;
	if (skip >= len)
		goto out_ignore;
	text = bytes + skip;
	id = strncmp(text, "ID:", 3) == 0 ? text - 1 : strstr(text, "\nID:");
	type = id ? strtoul(id + 4, NULL, 10) : 0;
	if (!type || type > UINT16_MAX)
		goto out_ignore;
	slot = table_slot(&g->formats, (uint16_t)type, true);
	if (!slot)
		goto err_memory;
	if (*slot)
		goto out_ignore; /* said again */
	f = calloc(1, sizeof(*f));
	if (!f)
		goto err_memory;
	f->bytes = bytes;
	f->system = bytes;
	f->text = text;
	f->len = strlen(text);
	*slot = f;
	return 0;

out_ignore:
	free(bytes);
	return 0;
err_memory:
	free(bytes);
	return -ENOMEM;
}

static int take_symbols(struct xvt_decoder *d, uint32_t type, const uint8_t *p, size_t len)
{
	char *text = copy_text(p, len);
	void *grown = realloc(d->texts, (d->text_count + 1) * sizeof(*d->texts));

	if (grown)
		d->texts = grown;
	if (!text || !grown) {
		free(text);
		return -ENOMEM;
	}
	d->texts[d->text_count++] = text;
	if (type == XVT_META_KSYMS)
		take_ksyms(d, text);
	else
		take_printks(d, text);
	return 0;
}

static int take_meta(struct xvt_decoders *ds, const struct xvt_chunk_buf *b, uint64_t seq)
{
	struct xvt_meta_info info;
	const uint8_t *p = b->payload + sizeof(info);
	struct xvt_decoder *d;
	size_t len;

	if (b->len < sizeof(info))
		return 0;
	memcpy(&info, b->payload, sizeof(info));
	len = b->len - sizeof(info);
	d = ds->vm[info.vm < ds->count - 1 ? info.vm : ds->count - 1];
	switch (info.type) {
	case XVT_META_FORMAT:
		return take_format(d, &info, p, len, seq);
	case XVT_META_COMM:
		learn_comm(d, (int32_t)info.id, p, strnlen((const char *)p, len));
		return 0;
	case XVT_META_KSYMS:
	case XVT_META_PRINTK_FORMATS:
		return take_symbols(d, info.type, p, len);
	default:
		return 0;
	}
}

static void sort_symbols(struct symbols *s)
{
	if (s->count)
		qsort(s->v, s->count, sizeof(*s->v), compare_symbols);
}

static void free_generation(struct generation *g)
{
	for (size_t page = 0; page < 256; page++) {
		struct format **f = (struct format **)g->formats.page[page];

		for (size_t i = 0; f && i < 256; i++) {
			if (!f[i])
				continue;
			free(f[i]->bytes);
			free(f[i]);
		}
	}
	table_fini(&g->formats);
	free(g);
}

static void free_decoder(struct xvt_decoder *d)
{
	struct generation *g;

	if (!d)
		return;
	for (uint32_t i = 0; i < d->class_count; i++) {
		struct xvt_event_class *c = d->classes[i];

		if (c->fields == raw_fields)
			free((char *)c->name);
		if (c->arena)
			xvt_tep_class_fini(c);
		free(c);
	}
	while ((g = d->newest)) {
		d->newest = g->older;
		free_generation(g);
	}
	table_fini(&d->raw_types);
	table_fini(&d->raw_ids);
	for (size_t i = 0; i < d->text_count; i++)
		free(d->texts[i]);
	free(d->texts);
	free(d->classes);
	free(d->ksyms.v);
	free(d->printks.v);
	free(d->comms);
	xvt_tep_free(d->tep);
	free(d);
}

void xvt_decoders_fini(struct xvt_decoders *ds)
{
	for (uint32_t i = 0; ds->vm && i < ds->count; i++)
		free_decoder(ds->vm[i]);
	free(ds->vm);
	memset(ds, 0, sizeof(*ds));
}

static int load_decoders(struct xvt_decoders *ds, struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	int err = 0;

	memset(ds, 0, sizeof(*ds));
	ds->t = t;
	ds->count = t->vm_count + 1;
	ds->vm = calloc(ds->count, sizeof(*ds->vm));
	if (!ds->vm)
		return -ENOMEM;
	for (uint32_t i = 0; i < ds->count; i++) {
		ds->vm[i] = calloc(1, sizeof(*ds->vm[i]));
		if (ds->vm[i])
			ds->vm[i]->tep = xvt_tep_new();
		if (!ds->vm[i] || !ds->vm[i]->tep)
			err = -ENOMEM;
	}
	for (size_t i = 0; i < t->chunk_count && !err; i++) {
		if (t->chunks[i].type != XVT_CHUNK_META)
			continue;
		err = xvt_trace_load(t, i, &b);
		if (!err)
			err = take_meta(ds, &b, t->chunks[i].seq);
		else if (err == -EBADMSG)
			err = 0;
	}
	xvt_chunk_buf_free(&b);
	for (uint32_t i = 0; i < ds->count && !err; i++) {
		sort_symbols(&ds->vm[i]->ksyms);
		sort_symbols(&ds->vm[i]->printks);
	}
	if (err)
		xvt_decoders_fini(ds);
	return err;
}

int xvt_decoders_new(struct xvt_decoders *ds, struct xvt_trace *t)
{
	int err = load_decoders(ds, t);

	return err == -ESTALE ? load_decoders(ds, t) : err; /* the index was wrong: once */
}

struct xvt_decoder *xvt_decoder_of(struct xvt_decoders *ds, const struct xvt_event *ev)
{
	uint32_t vm = xvt_ring_vm(ds->t, xvt_event_ring(ev));

	return ds->vm[vm < ds->count - 1 ? vm : ds->count - 1];
}
