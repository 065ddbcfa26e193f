// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * xvt_check.c - validation of everything that the untrusted side wrote. Works on private
 * copies only; see xvt_check.h for the rule.
 */
#include "xvt_check.h"

static int fail(struct xvt_fault *fault, int err, const char *field, uint64_t value,
		const char *why)
{
	fault->field = field;
	fault->value = value;
	fault->why = why;
	return err;
}

static bool is_power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

static int check_version(const struct xvt_region_hdr *h, struct xvt_fault *fault)
{
	if (h->magic == 0)
		return fail(fault, -EAGAIN, "magic", 0, "nobody has formatted this region");
	if (h->magic != XVT_MAGIC)
		return fail(fault, -EBADMSG, "magic", h->magic, "not an xvtrace region");
	if (h->oldest > XVT_MAJOR)
		return fail(fault, -EPROTO, "oldest", h->oldest,
			    "needs a program of a newer major version");
	if (h->incompat & ~XVT_INCOMPAT_KNOWN)
		return fail(fault, -EPROTO, "incompat", h->incompat,
			    "uses features that this program does not know");
	if (h->hdr_size < sizeof(*h))
		return fail(fault, -EBADMSG, "hdr_size", h->hdr_size, "header is too short");
	return 0;
}

static int check_sizes(const struct xvt_region_hdr *h, struct xvt_fault *fault)
{
	if (!is_power_of_two(h->align) || h->align < XVT_ALIGN_MIN || h->align > XVT_ALIGN_MAX)
		return fail(fault, -EBADMSG, "align", h->align, "not a page size");
	if (!h->ring_count || h->ring_count > XVT_RING_COUNT_MAX)
		return fail(fault, -EBADMSG, "ring_count", h->ring_count, "out of range");
	if (!is_power_of_two(h->subbuf_size) || h->subbuf_size < XVT_SUBBUF_SIZE_MIN ||
	    h->subbuf_size > XVT_SUBBUF_SIZE_MAX)
		return fail(fault, -EBADMSG, "subbuf_size", h->subbuf_size, "out of range");
	if (!is_power_of_two(h->subbuf_count) || h->subbuf_count < XVT_SUBBUF_COUNT_MIN ||
	    h->subbuf_count > XVT_SUBBUF_COUNT_MAX)
		return fail(fault, -EBADMSG, "subbuf_count", h->subbuf_count, "out of range");
	if (h->ctl_stride != 2 * h->align)
		return fail(fault, -EBADMSG, "ctl_stride", h->ctl_stride, "not twice align");
	if (h->ts_bits < 3 || h->ts_bits > 32)
		return fail(fault, -EBADMSG, "ts_bits", h->ts_bits, "out of range");
	return 0;
}

/* An area's offset, against that of the area before it. */
static int check_offset(const struct xvt_region_hdr *h, const char *field, uint64_t off,
			uint64_t before, struct xvt_fault *fault)
{
	if (off & (h->align - 1))
		return fail(fault, -EBADMSG, field, off, "not a multiple of align");
	if (off >= h->region_size)
		return fail(fault, -ENOSPC, field, off, "outside the region");
	if (off <= before)
		return fail(fault, -ENOSPC, field, off, "not behind the area before it");
	return 0;
}

static int check_offsets(const struct xvt_region_hdr *h, struct xvt_fault *fault)
{
	int err = check_offset(h, "host_off", h->host_off, 0, fault);

	if (!err)
		err = check_offset(h, "meta_off", h->meta_off, h->host_off, fault);
	if (!err)
		err = check_offset(h, "ctl_off", h->ctl_off, h->meta_off, fault);
	if (!err)
		err = check_offset(h, "data_off", h->data_off, h->ctl_off, fault);
	return err;
}

/*
 * Does each area end before the next one begins? Their offsets are checked: multiples of align,
 * in order, and inside the region. So the header and the host's page, which take one align each,
 * always fit.
 */
static int check_areas(const struct xvt_region_hdr *h, struct xvt_fault *fault)
{
	const uint64_t ctl_room = h->data_off - h->ctl_off;

	if (h->meta_size < sizeof(struct xvt_meta_hdr))
		return fail(fault, -ENOSPC, "meta_size", h->meta_size,
			    "too small for the metadata's header");
	if (h->meta_size > h->ctl_off - h->meta_off)
		return fail(fault, -ENOSPC, "meta_size", h->meta_size,
			    "the metadata reaches into the control blocks");
	if (h->ctl_stride > ctl_room)
		return fail(fault, -ENOSPC, "data_off", h->data_off,
			    "no room for a control block before it");
	if ((uint64_t)h->ring_count * h->ctl_stride > ctl_room)
		return fail(fault, -ENOSPC, "ring_count", h->ring_count,
			    "so many control blocks do not fit before data_off");
	/* At most 2^24 * 2^16 * 2^16: no overflow. */
	if ((uint64_t)h->subbuf_size * h->subbuf_count * h->ring_count >
	    h->region_size - h->data_off)
		return fail(fault, -ENOSPC, "region_size", h->region_size,
			    "too small for the rings' sub-buffers");
	return 0;
}

int xvt_check_header(const struct xvt_region_hdr *h, uint64_t object_size, struct xvt_geometry *g,
		     struct xvt_fault *fault)
{
	int err;

	memset(g, 0, sizeof(*g));
	memset(fault, 0, sizeof(*fault));
	err = check_version(h, fault);
	if (!err)
		err = check_sizes(h, fault);
	if (err)
		return err;
	if (h->region_size > object_size)
		return fail(fault, -ENOSPC, "region_size", h->region_size, "larger than the file");
	if (h->region_size < 2ull * h->align)
		return fail(fault, -ENOSPC, "region_size", h->region_size,
			    "too small for a header and the host's page");
	err = check_offsets(h, fault);
	if (!err)
		err = check_areas(h, fault);
	if (err)
		return err;

	g->region_size = h->region_size;
	g->host_off = h->host_off;
	g->meta_off = h->meta_off;
	g->meta_size = h->meta_size;
	g->ctl_off = h->ctl_off;
	g->data_off = h->data_off;
	g->align = h->align;
	g->ctl_stride = h->ctl_stride;
	g->ring_count = h->ring_count;
	g->subbuf_size = h->subbuf_size;
	g->subbuf_count = h->subbuf_count;
	g->ts_bits = h->ts_bits;
	g->ring_size = (uint64_t)h->subbuf_size * h->subbuf_count;
	g->subbuf_shift = (uint32_t)__builtin_ctz(h->subbuf_size);
	g->ring_shift = g->subbuf_shift + (uint32_t)__builtin_ctz(h->subbuf_count);
	return 0;
}

void xvt_ring_words(const struct xvt_ring_ctl *c, const struct xvt_geometry *g,
		    struct xvt_ring_words *s)
{
	uint32_t i, tries = 0;

	/* Acquire on each, because the rule needs their order: see xvt_check.h. Once more when a
	 * generation began meanwhile, which may have changed what resv means; a guest that does
	 * that all the time gets what it gets. */
	do {
		s->generation = xvt_load_acquire(&c->generation);
		s->backend = xvt_load_acquire(&c->backend);
		s->nest = xvt_load_acquire(&c->nest);
		s->resv_word = xvt_load_acquire(&c->resv);
		s->commit = xvt_load_acquire(&c->commit);
	} while ((xvt_load(&c->generation) != s->generation ||
		  xvt_load(&c->backend) != s->backend || s->backend == XVT_BACKEND_NONE) &&
		 ++tries < 3);
	s->resv = xvt_resv_pos(s->backend, g->subbuf_shift, s->resv_word);
	if (s->backend == XVT_BACKEND_NONE) {
		s->resv = s->commit; /* died there: nothing is known to be reserved, */
		s->nest = 1;	     /* and nothing is idle */
	}
	s->state = xvt_load(&c->state);
	s->attempted = xvt_load(&c->attempted);
	s->discarded = xvt_load(&c->discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		s->lost[i] = xvt_load(&c->lost[i]);
}

int xvt_check_words(const struct xvt_geometry *g, const struct xvt_ring_words *s, uint64_t read_pos,
		    bool overwrite, struct xvt_fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	if (s->commit & 7)
		return fail(fault, -EBADMSG, "commit", s->commit, "not a multiple of 8");
	if (xvt_pos_before(s->commit, read_pos))
		return fail(fault, -EBADMSG, "commit", s->commit, "went backwards");
	if (!overwrite && s->commit - xvt_pos_trunc(g, read_pos) > g->ring_size)
		return fail(fault, -EBADMSG, "commit", s->commit,
			    "further ahead than the ring is long");
	return 0;
}

int64_t xvt_check_tlv(const struct xvt_meta_tlv *copy, uint64_t room, struct xvt_fault *fault)
{
	uint64_t whole = sizeof(*copy) + (((uint64_t)copy->len + 7) & ~7ull);

	memset(fault, 0, sizeof(*fault));
	if (whole > room)
		return fail(fault, -EBADMSG, "tlv.len", copy->len,
			    "reaches past the committed metadata");
	return (int64_t)whole;
}
