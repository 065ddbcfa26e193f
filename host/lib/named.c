// SPDX-License-Identifier: GPL-2.0
/*
 * named.c - see named.h. A file may be anybody's. What it says of its kernel is used for a name of
 * a file in the user's own cache, and for a comparison of lengths; the names are those of the
 * cache.
 */
#include "lib/named.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/cache.h"
#include "formats/fit.h"
#include "trace/set.h"

#define EVENTS_MOST (1u << 20) /* lengths of all machines that are kept */
#define LENT_MOST   (1u << 20) /* formats of all machines that are lent */
#define WHY_MAX	    512u

/* What one file of the trace says of a machine. */
struct part {
	uint64_t first_seq;
	uint64_t end_seq;
	size_t file;
	uint32_t state;
	bool named;
	char build_id[XVT_BUILD_ID_TEXT];
};

struct lent {
	uint64_t first_seq;
	uint64_t end_seq;
	const uint8_t *bytes;
	uint32_t len;
	uint16_t type;
};

struct machine {
	bool ftrace;
	bool too_long; /* more lengths than are kept */
	bool partly;   /* a part of it is not among `lent` */
	struct part *parts;
	size_t part_count, part_room;
	struct xvt_fit_lengths *events;
	size_t event_count, event_room;
	const struct xvt_formats *claim; /* NULL: none */
	const struct xvt_formats *of;	 /* the last that is lent; NULL: none is */
	struct lent *lent;
	size_t lent_count, lent_room;
	char why[WHY_MAX];
};

struct xvt_named {
	struct machine *v;
	uint32_t count;
	struct xvt_formats **kernels; /* that were read of the cache */
	size_t kernel_count, kernel_room;
	uint32_t events, lent; /* of all machines */
	struct part file;      /* that was looked at last; no end_seq: none was */
};

/* --- what the trace says --- */

/* The sequence numbers of the file that has the chunk. Chunks are looked at in order, so a trace is
 * walked once, however many machines it has. */
static const struct part *file_of(struct xvt_named *n, const struct xvt_trace *t, size_t chunk)
{
	const size_t file = xvt_set_part(t, chunk);
	size_t first = chunk, end = chunk;

	if (n->file.end_seq && n->file.file == file)
		return &n->file;
	while (first && xvt_set_part(t, first - 1) == file)
		first--;
	while (end < t->chunk_count && xvt_set_part(t, end) == file)
		end++;
	n->file = (struct part){ .first_seq = first ? t->chunks[first].seq : 0,
				 .end_seq = end < t->chunk_count ? t->chunks[end].seq : UINT64_MAX,
				 .file = file };
	return &n->file;
}

/* The part of a machine that the chunk is of. NULL: no memory. */
static struct part *part_of(struct xvt_named *n, struct xvt_trace *t, struct machine *m,
			    size_t chunk)
{
	const size_t file = xvt_set_part(t, chunk);
	struct part *p = m->part_count ? &m->parts[m->part_count - 1] : NULL;

	if (p && p->file == file)
		return p;
	if (xvt_grow(&m->parts, &m->part_room, m->part_count + 1, sizeof(*p)))
		return NULL;
	p = &m->parts[m->part_count++];
	*p = *file_of(n, t, chunk);
	return p;
}

static int take_events(struct xvt_named *n, struct machine *m, const uint8_t *bytes, size_t len)
{
	struct xvt_kernel_event e;

	for (; len >= sizeof(e); bytes += sizeof(e), len -= sizeof(e)) {
		memcpy(&e, bytes, sizeof(e));
		if (n->events == EVENTS_MOST) {
			m->too_long = true;
			return 0;
		}
		if (xvt_grow(&m->events, &m->event_room, m->event_count + 1, sizeof(*m->events)))
			return -ENOMEM;
		m->events[m->event_count++] = (struct xvt_fit_lengths){ e.id, e.least, e.most };
		n->events++;
	}
	return 0;
}

static int take_kernel(struct xvt_named *n, struct xvt_trace *t, size_t chunk,
		       const struct xvt_chunk_buf *b)
{
	const size_t head = sizeof(struct xvt_meta_info) + sizeof(struct xvt_meta_kernel);
	struct xvt_meta_info info;
	struct xvt_meta_kernel k;
	struct machine *m;
	struct part *p;

	if (b->len < head)
		return 0;
	memcpy(&info, b->payload, sizeof(info));
	memcpy(&k, b->payload + sizeof(info), sizeof(k));
	if (info.type != XVT_META_KERNEL || info.vm >= n->count || !n->v[info.vm].ftrace)
		return 0;
	m = &n->v[info.vm];
	p = part_of(n, t, m, chunk);
	if (!p)
		return -ENOMEM;
	p->state = k.state;
	p->named = k.flags & XVT_KERNEL_F_NAMED;
	memcpy(p->build_id, k.build_id, sizeof(k.build_id));
	p->build_id[sizeof(k.build_id)] = '\0';
	if (p->state != XVT_KERNEL_MIXED && !xvt_build_id_is(p->build_id))
		p->state = XVT_KERNEL_UNKNOWN;
	return take_events(n, m, b->payload + head, b->len - head);
}

/* Whether the chunk may be an XVT_META_KERNEL: the checksum is not compared. */
static bool is_kernel(struct xvt_trace *t, const struct xvt_chunk_ref *ref)
{
	struct {
		struct xvt_chunk_hdr h;
		struct xvt_meta_info info;
	} head;

	return ref->type == XVT_CHUNK_META && !ref->bad &&
	       ref->len >= sizeof(head.info) + sizeof(struct xvt_meta_kernel) &&
	       xvt_trace_read_at(t, &head, sizeof(head), ref->offset) == sizeof(head) &&
	       !head.h.flags && head.info.type == XVT_META_KERNEL;
}

static int read_kernels(struct xvt_named *n, struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	int err = 0;

	for (size_t i = 0; i < t->chunk_count && !err; i++) {
		if (!is_kernel(t, &t->chunks[i]))
			continue;
		err = xvt_trace_load(t, i, &b);
		if (!err)
			err = take_kernel(n, t, i, &b);
		else if (err == -EBADMSG)
			err = 0;
	}
	xvt_chunk_buf_free(&b);
	return err;
}

/* --- formats of the cache --- */

static const struct xvt_formats *loaded(const struct xvt_named *n, const char *build_id)
{
	for (size_t i = 0; i < n->kernel_count; i++) {
		if (!strcmp(n->kernels[i]->build_id, build_id))
			return n->kernels[i];
	}
	return NULL;
}

/* Keep a kernel, which is taken over. NULL: no memory. */
static const struct xvt_formats *keep(struct xvt_named *n, struct xvt_formats *f)
{
	struct xvt_formats *own = malloc(sizeof(*own));

	if (!own || xvt_grow(&n->kernels, &n->kernel_room, n->kernel_count + 1, sizeof(own))) {
		free(own);
		xvt_formats_free(f);
		return NULL;
	}
	*own = *f;
	memset(f, 0, sizeof(*f));
	n->kernels[n->kernel_count++] = own;
	return own;
}

static const struct xvt_formats *load(struct xvt_named *n, struct machine *m, const char *build_id)
{
	const struct xvt_formats *f = loaded(n, build_id);
	struct xvt_formats of;
	struct xvt_error reason;
	int err;

	if (f)
		return f;
	err = xvt_formats_cache_load(&of, build_id, &reason);
	if (!err)
		return keep(n, &of);
	if (err == -ENOENT)
		snprintf(m->why, sizeof(m->why),
			 "its memory says that its kernel is build %s, whose formats are not known "
			 "here: `xvtrace formats --kernel VMLINUZ` of that kernel stores them",
			 build_id);
	else
		snprintf(m->why, sizeof(m->why), "%s", reason.text);
	return NULL;
}

/* --- what is lent --- */

/* The formats of a part, or NULL with m->why. */
static const struct xvt_formats *choose(struct xvt_named *n, struct machine *m,
					const struct part *p)
{
	if (p->state == XVT_KERNEL_MIXED) {
		snprintf(m->why, sizeof(m->why), "kernels of two builds wrote them");
		return NULL;
	}
	if (m->claim && p->state == XVT_KERNEL_PROVEN &&
	    strcmp(m->claim->build_id, p->build_id) != 0) {
		snprintf(m->why, sizeof(m->why),
			 "--formats states build %s, but its memory says that it is build %s",
			 m->claim->build_id, p->build_id);
		return NULL;
	}
	if (m->claim)
		return m->claim;
	if (p->state == XVT_KERNEL_PROVEN)
		return load(n, m, p->build_id);
	if (p->state == XVT_KERNEL_UNPROVEN)
		snprintf(m->why, sizeof(m->why),
			 "its memory names build %s, but a boot before may have left that there; "
			 "--formats NAME=%s states it, see xvtrace-formats(1)",
			 p->build_id, p->build_id);
	else
		snprintf(m->why, sizeof(m->why),
			 "the trace does not say which kernel wrote them; --formats NAME=BUILDID "
			 "states it, where `xvtrace formats --kernel VMLINUZ` has stored that "
			 "kernel's, see xvtrace-formats(1)");
	return NULL;
}

static int lend_part(struct xvt_named *n, struct machine *m, const struct part *p,
		     const struct xvt_formats *f, const struct xvt_fit *fit)
{
	struct xvt_formats_event e;
	size_t at = 0;

	while (xvt_formats_next(f, &at, &e)) {
		if (!xvt_fit_has(fit, e.id))
			continue;
		if (n->lent == LENT_MOST) {
			m->partly = true;
			snprintf(m->why, sizeof(m->why), "the trace has more than are named");
			return 0;
		}
		if (xvt_grow(&m->lent, &m->lent_room, m->lent_count + 1, sizeof(*m->lent)))
			return -ENOMEM;
		m->lent[m->lent_count++] =
			(struct lent){ p->first_seq, p->end_seq, e.payload, e.payload_len, e.id };
		n->lent++;
	}
	m->of = f;
	return 0;
}

/* Neighbours with the same formats are lent as one part. */
static bool is_one(const struct part *p, const struct part *q)
{
	return p->end_seq == q->first_seq && !q->named && p->state == q->state &&
	       !strcmp(p->build_id, q->build_id);
}

static int lend_parts(struct xvt_named *n, struct machine *m, const struct xvt_fit *fit)
{
	int err = 0;

	for (size_t i = 0; i < m->part_count && !err; i++) {
		const struct xvt_formats *f;
		struct part p = m->parts[i];
		struct xvt_error reason;
		uint32_t unknown;

		if (p.named)
			continue;
		while (i + 1 < m->part_count && is_one(&p, &m->parts[i + 1]))
			p.end_seq = m->parts[++i].end_seq;
		f = choose(n, m, &p);
		if (f && !xvt_fit_check(fit, f, &unknown, &reason)) {
			snprintf(m->why, sizeof(m->why),
				 "they are not of kernel %s, build %s: %.300s", f->release,
				 f->build_id, reason.text);
			f = NULL;
		}
		m->partly |= !f;
		if (f)
			err = lend_part(n, m, &p, f, fit);
	}
	return err;
}

static bool has_nameless_part(const struct machine *m)
{
	for (size_t i = 0; i < m->part_count; i++) {
		if (!m->parts[i].named)
			return true;
	}
	return false;
}

/* Find what is lent to a machine. Returns 0 or -ENOMEM. */
static int find(struct xvt_named *n, struct machine *m)
{
	struct xvt_fit *fit;
	int err;

	n->lent -= (uint32_t)m->lent_count;
	m->lent_count = 0;
	m->of = NULL;
	m->partly = false;
	m->why[0] = '\0';
	if (!m->part_count)
		snprintf(m->why, sizeof(m->why),
			 "the trace does not say which kernel wrote them, nor how long they are: "
			 "an older recorder wrote it");
	if (m->too_long)
		snprintf(m->why, sizeof(m->why),
			 "the trace has more lengths of events than are "
			 "compared");
	if (!has_nameless_part(m) || m->too_long)
		return 0;
	fit = xvt_fit_new();
	if (!fit)
		return -ENOMEM;
	for (size_t i = 0; i < m->event_count; i++)
		xvt_fit_add(fit, &m->events[i]);
	err = lend_parts(n, m, fit);
	xvt_fit_free(fit);
	return err;
}

/* --- the face --- */

static bool is_ftrace(const struct xvt_trace_vm *vm)
{
	return vm->known && vm->info.region_kind == XVT_REGION_FTRACE;
}

/* Returns 0 or -errno; -ESTALE: the list of chunks is another one now. */
static int make(struct xvt_named **out, struct xvt_trace *t)
{
	struct xvt_named *n = calloc(1, sizeof(*n));
	int err;

	*out = n;
	if (n)
		n->v = calloc(t->vm_count, sizeof(*n->v));
	if (!n || !n->v)
		return -ENOMEM;
	n->count = t->vm_count;
	for (uint32_t i = 0; i < n->count; i++)
		n->v[i].ftrace = is_ftrace(&t->vms[i]);
	err = read_kernels(n, t);
	for (uint32_t i = 0; i < n->count && !err; i++)
		err = n->v[i].ftrace ? find(n, &n->v[i]) : 0;
	return err;
}

int xvt_named_new(struct xvt_named **out, struct xvt_trace *t)
{
	bool any = false;
	int err;

	*out = NULL;
	for (uint32_t i = 0; i < t->vm_count && !any; i++)
		any = is_ftrace(&t->vms[i]);
	if (!any)
		return 0;
	err = make(out, t);
	if (err == -ESTALE) {
		xvt_named_free(*out);
		err = make(out, t);
	}
	if (!err)
		return 0;
	xvt_named_free(*out);
	*out = NULL;
	/* What cannot be read, the reader meets again. */
	return err == -ENOMEM ? err : 0;
}

void xvt_named_free(struct xvt_named *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; n->v && i < n->count; i++) {
		free(n->v[i].parts);
		free(n->v[i].events);
		free(n->v[i].lent);
	}
	for (size_t i = 0; i < n->kernel_count; i++) {
		xvt_formats_free(n->kernels[i]);
		free(n->kernels[i]);
	}
	free(n->kernels);
	free(n->v);
	free(n);
}

int xvt_named_claim(struct xvt_named *n, uint32_t vm, const char *kernel, struct xvt_error *why)
{
	struct xvt_formats_cache cache;
	const struct xvt_formats *found;
	struct machine *m;
	int err;

	if (!n || vm >= n->count || !n->v[vm].ftrace)
		return xvt_fail(why, -EINVAL,
				"its guest sends its formats: they are taken of no other "
				"kernel");
	m = &n->v[vm];
	if (!m->part_count)
		return xvt_fail(why, -EINVAL, "%s", m->why);
	if (!has_nameless_part(m))
		return xvt_fail(why, -EEXIST, "its events have names in the trace");
	err = xvt_formats_cache_read(&cache, why);
	if (err)
		return err;
	found = xvt_formats_cache_find(&cache, kernel, why);
	err = found ? 0 : -ENOENT;
	if (found) {
		m->claim = loaded(n, found->build_id);
		if (!m->claim)
			m->claim = keep(n, &cache.v[found - cache.v]);
		err = m->claim ? find(n, m) : -ENOMEM;
	}
	if (err == -ENOMEM)
		xvt_fail(why, 0, "%s", strerror(ENOMEM));
	xvt_formats_cache_free(&cache);
	return err;
}

bool xvt_named_get(const struct xvt_named *n, uint32_t vm, struct xvtrace_names *names)
{
	const struct machine *m = n && vm < n->count ? &n->v[vm] : NULL;

	memset(names, 0, sizeof(*names));
	if (!m || !m->ftrace)
		return false;
	if (m->of) {
		names->release = m->of->release;
		names->build_id = m->of->build_id;
		names->claimed = m->claim == m->of;
	}
	names->why = m->why[0] ? m->why : NULL;
	return m->of;
}

int xvt_named_lend(const struct xvt_named *n, struct xvt_decoders *ds)
{
	int err = 0;

	for (uint32_t i = 0; n && i < n->count && !err; i++) {
		const struct machine *m = &n->v[i];

		for (size_t k = 0; k < m->lent_count && !err; k++) {
			const struct lent *l = &m->lent[k];

			err = xvt_decoders_lend(ds, i, l->first_seq, l->end_seq, l->type, l->bytes,
						l->len);
		}
		if (!err && m->of)
			xvt_decoders_lend_kernel(ds, i, m->of->kernel);
	}
	return err;
}
