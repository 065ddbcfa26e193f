// SPDX-License-Identifier: GPL-2.0
/*
 * metadata.c - see parts.h. Reads the metadata of a trace's guests, and makes the classes of their
 * formats. This file makes and frees the decoders, which hold all of it.
 */
#include "decode/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "decode/print.h"
#include "decode/format.h"

/* -- formats ------------------------------------------------------------------------ */

static uint64_t hash_of(const uint8_t *p, size_t len)
{
	uint64_t h = len, w = 0;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, p, len);
	h = (h ^ w) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/* The parts of: system '\0' event '\0' text '\0'. */
struct format_text {
	const char *system;
	const char *text;
	uint16_t type; /* the ID in the text */
};

static bool read_format(const char *bytes, size_t len, struct format_text *f)
{
	size_t skip = strlen(bytes) + 1;
	unsigned long type;
	const char *id;

	if (skip < len)
		skip += strlen(bytes + skip) + 1;
	if (skip >= len)
		return false;
	f->system = bytes;
	f->text = bytes + skip;
	id = strncmp(f->text, "ID:", 3) == 0 ? f->text - 1 : strstr(f->text, "\nID:");
	type = id ? strtoul(id + 4, NULL, 10) : 0;
	f->type = (uint16_t)type;
	return type && type <= UINT16_MAX;
}

/* Note a format that is left out, once, by the names that its entry begins with. */
static void leave_out(struct xvt_decoder *d, const char *bytes, size_t len, const char *why)
{
	const size_t system = strnlen(bytes, len), rest = system < len ? len - system - 1 : 0;
	struct xvt_left_format f = { .vm = d->vm, .why = why };
	struct xvt_decoders *all = d->all;

	xvt_text_clean(f.system, sizeof(f.system), bytes, system);
	if (rest)
		xvt_text_clean(f.event, sizeof(f.event), bytes + system + 1,
			       strnlen(bytes + system + 1, rest));
	for (uint32_t i = 0; i < all->left_format_count; i++)
		if (all->left_formats[i].vm == f.vm &&
		    strcmp(all->left_formats[i].system, f.system) == 0 &&
		    strcmp(all->left_formats[i].event, f.event) == 0)
			return;
	if (all->left_format_count < XVT_LEFT_FORMATS)
		all->left_formats[all->left_format_count++] = f;
}

static struct xvt_formats *formats_of(struct xvt_decoder *d, uint16_t type)
{
	void **slot = xvt_table_slot(&d->formats, type, true);

	if (slot && !*slot && xvt_decoder_charge(d, sizeof(struct xvt_formats)))
		*slot = calloc(1, sizeof(struct xvt_formats));
	return slot ? *slot : NULL;
}

static int add_format(struct xvt_decoder *d, uint16_t type, struct xvt_format *f)
{
	struct xvt_formats *all = formats_of(d, type);
	struct xvt_format *last;
	int err;

	if (!all)
		return 0;
	last = all->count ? &all->v[all->count - 1] : NULL;
	/* Repeated in the same boot, or by another boot of the same kernel. */
	if (last && last->hash == f->hash)
		return 0;
	if (last && last->at.generation == f->at.generation && last->since_ns > f->since_ns)
		f->since_ns = last->since_ns;
	err = xvt_decoder_grow(d, &all->v, all->count, &all->room, sizeof(*all->v));
	if (!err)
		all->v[all->count++] = *f;
	return err == -ENOSPC ? 0 : err;
}

static int take_format(struct xvt_decoder *d, const uint8_t *p, size_t len,
		       const struct xvt_meta_place *at)
{
	struct xvt_format f = { .at = *at, .since_ns = d->next_since_ns, .hash = hash_of(p, len) };
	struct format_text text;
	char *bytes;
	int err = 0;

	d->next_since_ns = 0;
	if (len > XVT_LIMIT_FORMAT_BYTES) {
		d->all->left_out++;
		leave_out(d, (const char *)p, len, "it is longer than any of Linux");
		return 0;
	}
	bytes = xvt_decoder_text(p, len);
	if (!bytes)
		return -ENOMEM;
	if (read_format(bytes, len, &text))
		err = add_format(d, text.type, &f);
	else
		leave_out(d, bytes, len, "it has no number");
	free(bytes);
	return err;
}

int xvt_decoder_add_class(struct xvt_decoder *d, struct xvt_event_class *c)
{
	if (xvt_grow(&d->classes, &d->class_room, d->class_count + 1, sizeof(c)))
		return -ENOMEM;
	d->classes[d->class_count++] = c;
	return 0;
}

/* Read a format's text. Returns NULL if it has changed since the trace was opened. */
static char *load_format(struct xvt_decoders *ds, const struct xvt_format *f,
			 struct format_text *text)
{
	const size_t head = sizeof(struct xvt_meta_info);
	struct xvt_chunk_buf *b = &ds->buf;
	char *bytes;

	if (f->bytes) {
		bytes = xvt_decoder_text(f->bytes, f->at.len);
		if (bytes && read_format(bytes, f->at.len, text))
			return bytes;
		free(bytes);
		return NULL;
	}
	if (xvt_trace_load_at(ds->t, f->at.offset, f->at.len, b) || b->len < head ||
	    hash_of(b->payload + head, b->len - head) != f->hash)
		return NULL;
	bytes = xvt_decoder_text(b->payload + head, b->len - head);
	if (bytes && read_format(bytes, b->len - head, text))
		return bytes;
	free(bytes);
	return NULL;
}

/* A recorder that finds out that a format does not hold puts this one behind it. */
static bool is_withdrawn(const struct format_text *f)
{
	return !strcmp(f->system, XVT_META_WITHDRAWN) &&
	       !strcmp(f->system + sizeof(XVT_META_WITHDRAWN), XVT_META_WITHDRAWN_EVENT);
}

struct xvt_event_class *xvt_decoder_format(struct xvt_decoder *d, struct xvt_format *f)
{
	struct format_text text;
	struct xvt_event_class *c;
	char *bytes;
	int err;

	if (xvt_likely(f->cls || f->failed))
		return f->cls;
	f->failed = true;
	bytes = load_format(d->all, f, &text);
	if (bytes && is_withdrawn(&text)) {
		f->withdrawn = true;
		free(bytes);
		return NULL;
	}
	c = bytes ? calloc(1, sizeof(*c)) : NULL;
	err = c ? xvt_format_class(text.system, text.text, c) : -ENOMEM;
	if (err == -EBADMSG)
		leave_out(d, bytes, (size_t)(text.text - bytes),
			  "it does not have the shape that Linux writes");
	free(bytes);
	if (!err &&
	    (!xvt_decoder_charge(d, sizeof(*c) + c->arena_bytes) || xvt_decoder_add_class(d, c))) {
		xvt_class_free(c);
		err = -ENOMEM;
	}
	if (err) {
		free(c);
		return NULL;
	}
	f->failed = false;
	f->cls = c;
	c->format = f;
	return c;
}

/* -- lent formats ------------------------------------------------------------------- */

#define LENT_PARTS 4095u /* of a machine; see xvt_format_next() */

static struct xvt_lent_formats *lent_part(struct xvt_decoder *d, uint64_t first_seq,
					  uint64_t end_seq)
{
	struct xvt_lent_formats *last = d->lent_count ? &d->lent[d->lent_count - 1] : NULL;

	if (last && last->first_seq == first_seq)
		return last;
	if (d->lent_count == LENT_PARTS) {
		d->all->left_out++;
		return NULL;
	}
	if (xvt_grow(&d->lent, &d->lent_room, d->lent_count + 1, sizeof(*d->lent)))
		return NULL;
	last = &d->lent[d->lent_count++];
	*last = (struct xvt_lent_formats){ .first_seq = first_seq, .end_seq = end_seq };
	return last;
}

int xvt_decoders_lend(struct xvt_decoders *ds, uint32_t vm, uint64_t first_seq, uint64_t end_seq,
		      uint16_t type, const uint8_t *bytes, uint32_t len)
{
	struct xvt_decoder *d = ds->vm[vm < ds->count - 1 ? vm : ds->count - 1];
	struct xvt_lent_formats *part = lent_part(d, first_seq, end_seq);
	void **slot = part ? xvt_table_slot(&part->of, type, true) : NULL;
	struct xvt_format *f;

	if (!slot)
		return d->lent_count == LENT_PARTS ? 0 : -ENOMEM;
	if (*slot || !xvt_decoder_charge(d, sizeof(*f)))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->bytes = bytes;
	f->at.len = len;
	*slot = f;
	ds->read_bytes = ds->bytes;
	ds->read_left_out = ds->left_out;
	return 0;
}

void xvt_decoders_lend_kernel(struct xvt_decoders *ds, uint32_t vm, const char *text)
{
	struct xvt_decoder *d = ds->vm[vm < ds->count - 1 ? vm : ds->count - 1];

	if (!d->kernel[0])
		snprintf(d->kernel, sizeof(d->kernel), "%s", text);
}

struct xvt_format *xvt_decoder_lent(const struct xvt_decoder *d, uint64_t chunk_seq, uint16_t type)
{
	const size_t n = XVT_COUNT_TO(d->lent, d->lent_count, first_seq, chunk_seq);

	if (!n || chunk_seq >= d->lent[n - 1].end_seq)
		return NULL;
	return xvt_table_get(&d->lent[n - 1].of, type);
}

/* Bits of *at that are the number of a version; those above it are the type. Behind the types of
 * the trace's formats come those of each part with lent ones. */
#define VERSION_BITS 20u
XVT_ASSERT(XVT_LIMIT_MACHINE_BYTES / sizeof(struct xvt_format) < 1u << VERSION_BITS,
	   "the versions of a format have numbers");

static struct xvt_event_class *lent_next(struct xvt_decoder *d, size_t *at)
{
	size_t n = *at >> VERSION_BITS;

	if (n <= UINT16_MAX)
		n = UINT16_MAX + 1;
	for (; n < ((size_t)d->lent_count + 1) << 16; n++) {
		struct xvt_format *f = xvt_table_get(&d->lent[(n >> 16) - 1].of, (uint16_t)n);
		struct xvt_event_class *c = f ? xvt_decoder_format(d, f) : NULL;

		*at = (n + 1) << VERSION_BITS;
		if (c)
			return c;
	}
	return NULL;
}

struct xvt_event_class *xvt_format_next(struct xvt_decoder *d, size_t *at)
{
	for (size_t type = *at >> VERSION_BITS; type <= UINT16_MAX; type++) {
		const struct xvt_formats *all = xvt_table_get(&d->formats, (uint16_t)type);
		size_t version = 0;

		if (type == *at >> VERSION_BITS)
			version = *at & ((1u << VERSION_BITS) - 1);
		while (all && version < all->count) {
			struct xvt_event_class *c = xvt_decoder_format(d, &all->v[version++]);

			*at = type << VERSION_BITS | version;
			if (c)
				return c;
		}
	}
	return lent_next(d, at);
}

char *xvt_class_format(struct xvt_decoders *ds, const struct xvt_event_class *c)
{
	char *bytes = c->format ? load_format(ds, c->format, &(struct format_text){ 0 }) : NULL;
	size_t head;

	if (!bytes)
		return NULL;
	head = strlen(bytes) + 1;
	head += strlen(bytes + head) + 1;
	memmove(bytes, bytes + head, strlen(bytes + head) + 1);
	return bytes;
}

/* -- the trace's metadata ----------------------------------------------------------- */

static void take_process(struct xvt_decoder *d, int32_t tid, const uint8_t *bytes, size_t len)
{
	struct xvt_meta_process p = { 0 };

	if (len < XVT_META_PROCESS_OLD)
		return;
	memcpy(&p, bytes, len < sizeof(p) ? len : sizeof(p));
	if (p.tgid > INT32_MAX)
		return;
	if (p.tgid)
		xvt_decoder_process(d, tid, (int32_t)p.tgid, p.flags & XVT_PROCESS_F_KERNEL);
	if (len >= sizeof(p))
		xvt_decoder_thread_role(d, &(struct xvt_thread_role_at){ tid, (int32_t)p.tgid,
									 p.since_ns, p.role, p.vm,
									 p.vcpu });
}

static void take_kernel(struct xvt_decoder *d, const char *text, size_t len)
{
	len = strnlen(text, len);
	if (len >= sizeof(d->kernel))
		len = sizeof(d->kernel) - 1;
	memcpy(d->kernel, text, len);
	d->kernel[len] = '\0';
}

const char *xvt_kernel_text(const struct xvt_decoder *d)
{
	return d->kernel[0] ? d->kernel : NULL;
}

static int take_meta(struct xvt_decoder *d, const struct xvt_meta_info *info,
		     const struct xvt_chunk_ref *ref, const uint8_t *p, size_t len)
{
	struct xvt_meta_place at = { .offset = ref->offset, .len = ref->len };
	int err;

	if (info->type == XVT_META_COMM) {
		xvt_decoder_comm(d, (int32_t)info->id, p, strnlen((const char *)p, len), 0);
		return 0;
	}
	if (info->type == XVT_META_THREAD) {
		xvt_decoder_thread(d, (int32_t)info->id, p, strnlen((const char *)p, len));
		return 0;
	}
	if (info->type == XVT_META_PROCESS) {
		take_process(d, (int32_t)info->id, p, len);
		return 0;
	}
	if (info->type == XVT_META_TEXT) {
		take_kernel(d, (const char *)p, len);
		return 0;
	}
	if (info->type == XVT_META_SINCE && len == sizeof(d->next_since_ns)) {
		memcpy(&d->next_since_ns, p, len);
		return 0;
	}
	if (info->type != XVT_META_FORMAT && info->type != XVT_META_KSYMS &&
	    info->type != XVT_META_PRINTK_FORMATS)
		return 0;
	err = xvt_decoder_take_generation(d, info->generation, ref->seq, &at.generation);
	if (err)
		return err == -ENOSPC ? 0 : err;
	if (info->type == XVT_META_FORMAT)
		return take_format(d, p, len, &at);
	return xvt_symbols_take(d, info->type == XVT_META_KSYMS ? &d->ksyms : &d->printks,
				info->type, &at);
}

/* Returns whether the chunk belongs to an unwanted machine. Reads only the chunk's begin, so a
 * compressed chunk counts as wanted here. */
static bool unwanted(const struct xvt_decoders *ds, const struct xvt_chunk_ref *ref)
{
	struct {
		struct xvt_chunk_hdr h;
		struct xvt_meta_info info;
	} head;

	return ds->wanted && ref->len >= sizeof(head.info) &&
	       xvt_trace_read_at(ds->t, &head, sizeof(head), ref->offset) == sizeof(head) &&
	       !head.h.flags && !ds->wanted(ds->wanted_arg, head.info.vm);
}

static int take_chunk(struct xvt_decoders *ds, size_t i)
{
	const struct xvt_chunk_ref ref = ds->t->chunks[i];
	struct xvt_chunk_buf *b = &ds->buf;
	struct xvt_meta_info info;
	uint32_t vm;
	int err;

	if (ref.type != XVT_CHUNK_META || unwanted(ds, &ref))
		return 0;
	err = xvt_trace_load(ds->t, i, b);
	if (err || b->len < sizeof(info))
		return err == -EBADMSG ? 0 : err;
	memcpy(&info, b->payload, sizeof(info));
	vm = info.vm < ds->count - 1 ? info.vm : ds->count - 1;
	if (ds->wanted && !ds->wanted(ds->wanted_arg, info.vm))
		return 0;
	return take_meta(ds->vm[vm], &info, &ref, b->payload + sizeof(info), b->len - sizeof(info));
}

static void free_formats(struct xvt_formats **page)
{
	for (size_t i = 0; page && i < 256; i++) {
		if (page[i])
			free(page[i]->v);
		free(page[i]);
	}
}

static void free_lent(struct xvt_lent_formats *part)
{
	for (size_t i = 0; i < 256; i++) {
		for (size_t k = 0; part->of.page[i] && k < 256; k++)
			free(part->of.page[i][k]);
	}
	xvt_table_fini(&part->of);
}

static void free_meta(struct xvt_decoder *d)
{
	for (uint32_t i = 0; i < d->lent_count; i++)
		free_lent(&d->lent[i]);
	free(d->lent);
	for (size_t i = 0; i < 256; i++)
		free_formats((struct xvt_formats **)d->formats.page[i]);
	xvt_table_fini(&d->formats);
	xvt_symbols_unload(d, &d->ksyms);
	xvt_symbols_unload(d, &d->printks);
	free(d->ksyms.places);
	free(d->printks.places);
	free(d->generations);
	free(d->comms);
	free(d->threads);
}

/* -- decoders ----------------------------------------------------------------------- */

static void free_decoder(struct xvt_decoder *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->class_count; i++) {
		xvt_class_free(d->classes[i]);
		free(d->classes[i]);
	}
	free_meta(d);
	xvt_table_fini(&d->raw_types);
	xvt_table_fini(&d->raw_ids);
	free(d->classes);
	free(d);
}

void xvt_decoders_fini(struct xvt_decoders *ds)
{
	for (uint32_t i = 0; ds->vm && i < ds->count; i++)
		free_decoder(ds->vm[i]);
	free(ds->vm);
	xvt_chunk_buf_free(&ds->buf);
	memset(ds, 0, sizeof(*ds));
}

static int new_decoders(struct xvt_decoders *ds)
{
	const uint32_t n = ds->t->vm_count;

	ds->count = n + 1;
	/* A part for each machine, so that one cannot use up the memory of the others. */
	ds->machine_bytes = XVT_LIMIT_DECODE_BYTES / (n ? n : 1);
	if (ds->machine_bytes > XVT_LIMIT_MACHINE_BYTES)
		ds->machine_bytes = XVT_LIMIT_MACHINE_BYTES;
	if (ds->machine_bytes < XVT_LIMIT_MACHINE_LEAST)
		ds->machine_bytes = XVT_LIMIT_MACHINE_LEAST;
	ds->vm = calloc(ds->count, sizeof(*ds->vm));
	if (!ds->vm)
		return -ENOMEM;
	for (uint32_t i = 0; i < ds->count; i++) {
		struct xvt_decoder *d = ds->vm[i] = calloc(1, sizeof(*d));

		if (!d)
			return -ENOMEM;
		d->all = ds;
		d->vm = i;
	}
	return 0;
}

static int load_decoders(struct xvt_decoders *ds, struct xvt_trace *t, xvt_wanted_fn wanted,
			 void *arg)
{
	int err;

	memset(ds, 0, sizeof(*ds));
	ds->t = t;
	ds->wanted = wanted;
	ds->wanted_arg = arg;
	if (getrandom(&ds->seed, sizeof(ds->seed), GRND_NONBLOCK) != sizeof(ds->seed))
		ds->seed = (uintptr_t)ds;
	err = new_decoders(ds);
	for (size_t i = 0; i < t->chunk_count && !err; i++)
		err = take_chunk(ds, i);
	ds->read_bytes = ds->bytes;
	ds->read_left_out = ds->left_out;
	if (err)
		xvt_decoders_fini(ds);
	return err;
}

int xvt_decoders_new_for(struct xvt_decoders *ds, struct xvt_trace *t, xvt_wanted_fn wanted,
			 void *arg)
{
	int err = load_decoders(ds, t, wanted, arg);

	/* -ESTALE: the index was wrong, and the list of chunks is new. Repeat once. */
	return err == -ESTALE ? load_decoders(ds, t, wanted, arg) : err;
}

int xvt_decoders_new(struct xvt_decoders *ds, struct xvt_trace *t)
{
	return xvt_decoders_new_for(ds, t, NULL, NULL);
}

/* Returns whether each decoder has room for so many bytes more. */
static bool has_room(const struct xvt_decoders *ds, size_t bytes)
{
	if (bytes > XVT_LIMIT_DECODE_BYTES - ds->bytes)
		return false;
	for (uint32_t i = 0; i < ds->count; i++)
		if (bytes > ds->machine_bytes - ds->vm[i]->bytes)
			return false;
	return true;
}

bool xvt_decoders_fit_in_one(const struct xvt_decoders *const *parts, size_t count)
{
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		if (parts[i]->left_out != parts[i]->read_left_out)
			return false;
		made += parts[i]->bytes - parts[i]->read_bytes;
	}
	/* Each has all metadata, and what it made itself. */
	for (size_t i = 0; i < count; i++)
		if (!has_room(parts[i], made))
			return false;
	return true;
}
