// SPDX-License-Identifier: GPL-2.0
/*
 * read.c - see read.h. Knows chunks and events, nothing of what is inside an
 * event. Reads by pread, never by a mapping: a file may shrink while we read it.
 */
#include "trace/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64.h"
#include "base/vec.h"
#include "trace/compress.h"
#include "trace/crc32c.h"
#include "trace/parts.h"

/* Numbers may have holes (a damaged chunk), but a file cannot make us allocate at will. */
#define VM_MAX	   4096u
#define RING_MAX   (XVT_EVENT_RING_MASK + 1)
#define RING_GAP   65536u
#define SCAN_BYTES (64u << 10)

#define NO_ZSTD	   "compressed; build xvtrace with libzstd-dev to read it"
#define NEW_FLAGS  "has flags that this xvtrace does not know; use a newer one"
#define BAD_SUM	   "checksum does not match"
#define BAD_SIZE   "its length is not one that its type can have"

ssize_t xvt_trace_read_at(struct xvt_trace *t, void *bytes, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(t->fd, (char *)bytes + done, len - done, (off_t)(offset + done));

		t->reads++;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
		t->read_len += (uint64_t)n;
	}
	return (ssize_t)done;
}

void xvt_trace_note_damage(struct xvt_trace *t, uint64_t offset, uint64_t len, const char *why)
{
	if (t->damage_count < XVT_DAMAGE_MAX)
		t->damage[t->damage_count] = (struct xvt_damage){ offset, len, why };
	t->damage_count++;
}

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

bool xvt_stats_get(const struct xvt_chunk_buf *b, struct xvt_ring_stats *st)
{
	memset(st, 0, sizeof(*st));
	if (b->len < XVT_RING_STATS_LEN_LEAST)
		return false;
	memcpy(st, b->payload, b->len < sizeof(*st) ? b->len : sizeof(*st));
	return true;
}

bool xvt_lost_get(const struct xvt_event_hdr *h, const uint8_t *payload, struct xvt_lost *lost)
{
	memset(lost, 0, sizeof(*lost));
	if (h->len < XVT_LOST_LEN_LEAST)
		return false;
	memcpy(lost, payload, h->len < sizeof(*lost) ? h->len : sizeof(*lost));
	return true;
}

/* The payload of a compressed chunk, which passed its checksum, as it was. */
static int unpack(struct xvt_chunk_buf *b)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)b->bytes;
	bool events = h->type == XVT_CHUNK_ORDER || h->type == XVT_CHUNK_LATE;
	size_t clear = events ? sizeof(struct xvt_order_hdr) : 0;
	uint64_t rest;
	int err;

	if (b->len < clear + sizeof(rest))
		return -EBADMSG;
	memcpy(&rest, b->payload + clear, sizeof(rest));
	if (rest > XVT_CHUNK_LEN_MAX - clear)
		return -EBADMSG;
	if (clear + rest > b->unpacked_room) {
		uint8_t *grown = malloc(clear + rest);

		if (!grown)
			return -ENOMEM;
		free(b->unpacked);
		b->unpacked = grown;
		b->unpacked_room = clear + rest;
	}
	/* Nothing to unpack is no frame's business. */
	err = rest ? xvt_unpack(b->unpacked + clear, rest, b->payload + clear + sizeof(rest),
				b->len - clear - sizeof(rest))
		   : -EBADMSG;
	if (err)
		return err;
	memcpy(b->unpacked, b->payload, clear);
	b->payload = b->unpacked;
	b->len = (uint32_t)(clear + rest);
	return 0;
}

int xvt_trace_load_at(struct xvt_trace *t, uint64_t offset, uint32_t len, struct xvt_chunk_buf *b)
{
	size_t whole = sizeof(struct xvt_chunk_hdr) + xvt_pad8(len);
	struct xvt_chunk_hdr *h;
	uint32_t crc;
	ssize_t n;

	if (whole > b->room) {
		uint8_t *grown = malloc(whole);

		if (!grown)
			return -ENOMEM;
		free(b->bytes);
		b->bytes = grown;
		b->room = whole;
	}
	n = xvt_trace_read_at(t, b->bytes, whole, offset);
	if (n < 0)
		return (int)n;
	if ((size_t)n < whole)
		return -EBADMSG;
	h = (struct xvt_chunk_hdr *)b->bytes;
	crc = h->crc;
	h->crc = 0;
	if (h->magic != XVT_CHUNK_MAGIC || xvt_pad8(h->len) != xvt_pad8(len) || h->len > len ||
	    xvt_crc32c(0, b->bytes, sizeof(*h) + h->len) != crc)
		return -EBADMSG;
	b->payload = b->bytes + sizeof(*h);
	b->len = h->len;
	return h->flags == XVT_CHUNK_F_ZSTD ? unpack(b) : 0;
}

static bool is_known_type(uint16_t type)
{
	return type >= XVT_CHUNK_FILE && type <= XVT_CHUNK_RAW;
}

/* Can a chunk of that type have a payload of that length? */
static bool length_fits(uint16_t type, uint32_t len)
{
	static const struct {
		uint32_t least;
		uint32_t each; /* an array of these; 0: none */
	} known[] = {
		[XVT_CHUNK_FILE] = { sizeof(struct xvt_file_info), 0 },
		[XVT_CHUNK_VM] = { sizeof(struct xvt_vm_info), 0 },
		[XVT_CHUNK_RING] = { sizeof(struct xvt_ring_info), 0 },
		[XVT_CHUNK_META] = { sizeof(struct xvt_meta_info), 0 },
		[XVT_CHUNK_SAMPLES] = { 0, sizeof(struct xvt_clock_sample) },
		[XVT_CHUNK_NODE] = { 0, sizeof(struct xvt_clock_node) },
		[XVT_CHUNK_ORDER] = { sizeof(struct xvt_order_hdr), 0 },
		[XVT_CHUNK_LATE] = { sizeof(struct xvt_order_hdr), 0 },
		[XVT_CHUNK_ROUND] = { offsetof(struct xvt_round, written_ns), 0 },
		[XVT_CHUNK_STATS] = { XVT_RING_STATS_LEN_LEAST, 0 },
		[XVT_CHUNK_NOTE] = { sizeof(struct xvt_note), 0 },
		[XVT_CHUNK_INDEX] = { 0, 0 },
		[XVT_CHUNK_END] = { sizeof(struct xvt_end), 0 },
		[XVT_CHUNK_TIMEBASE] = { 0, sizeof(struct xvt_timebase) },
		[XVT_CHUNK_MARKS] = { 0, sizeof(struct xvt_mark_seen) },
		[XVT_CHUNK_RUNS] = { 0, sizeof(struct xvt_run_span) },
		[XVT_CHUNK_RAW] = { 0, sizeof(uint64_t) },
	};

	if (!is_known_type(type))
		return true;
	return len >= known[type].least && (!known[type].each || len % known[type].each == 0);
}

/* Is what was loaded what the index said? */
static bool as_indexed(const struct xvt_trace *t, const struct xvt_chunk_ref *ref,
		       const struct xvt_chunk_buf *b)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)b->bytes;
	struct xvt_order_hdr events;

	if (h->type != ref->type || h->seq != ref->seq || h->trace_id != t->trace_id)
		return false;
	if ((ref->type != XVT_CHUNK_ORDER && ref->type != XVT_CHUNK_LATE) ||
	    b->len < sizeof(events))
		return true;
	memcpy(&events, b->payload, sizeof(events));
	return events.first_ns == ref->first_ns && events.last_ns == ref->last_ns &&
	       events.count == ref->count;
}

static int walk_again(struct xvt_trace *t, uint64_t index_offset);

/* Its checksum is right. Returns 0, or -EBADMSG and *why; NULL: that is nothing to speak of. */
static int take_loaded(const struct xvt_chunk_ref *ref, const struct xvt_chunk_buf *b,
		       const char **why)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)b->bytes;

	/* What is skipped of a type that we know is missing from what we say; else nothing is. */
	*why = is_known_type(ref->type) ? NEW_FLAGS : NULL;
	if (h->flags & ~XVT_CHUNK_F_ZSTD)
		return -EBADMSG;
	*why = BAD_SIZE;
	return length_fits(ref->type, b->len) ? 0 : -EBADMSG;
}

int xvt_trace_load(struct xvt_trace *t, size_t chunk, struct xvt_chunk_buf *b)
{
	struct xvt_chunk_ref *ref = &t->chunks[chunk];
	int err = ref->bad ? -EBADMSG : xvt_trace_load_at(t, ref->offset, ref->len, b);
	const char *why = BAD_SUM;

	if (t->indexed && (err == -EBADMSG || (!err && !as_indexed(t, ref, b)))) {
		uint32_t rings = t->ring_count, vms = t->vm_count;

		err = walk_again(t, ref->offset);
		/* Callers keep arrays of this size; machines that the index hid stay unknown.
		 */
		if (t->ring_count > rings)
			t->ring_count = rings;
		if (t->vm_count > vms)
			t->vm_count = vms;
		return err ? err : -ESTALE;
	}
	if (!err)
		err = take_loaded(ref, b, &why);
	else if (err == -ENOTSUP)
		why = NO_ZSTD;
	if ((err == -EBADMSG || err == -ENOTSUP) && !ref->bad && why)
		xvt_trace_note_damage(t, ref->offset, sizeof(struct xvt_chunk_hdr) + ref->len, why);
	ref->bad = err == -EBADMSG || err == -ENOTSUP;
	ref->checked = !err;
	return err == -ENOTSUP ? -EBADMSG : err;
}

int xvt_trace_next(struct xvt_trace *t, uint32_t types, size_t *i, struct xvt_chunk_buf *b)
{
	for (; *i < t->chunk_count; ++*i) {
		const uint16_t type = t->chunks[*i].type;
		int err;

		if (types != XVT_CHUNKS_ALL && (type > 31 || !(types >> type & 1)))
			continue;
		err = xvt_trace_load(t, *i, b);
		if (err != -EBADMSG)
			return err ? err : 1;
	}
	return 0;
}

int xvt_trace_check_rest(struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	int err = 0;

	for (size_t i = 0; i < t->chunk_count && !err; i++) {
		if (t->chunks[i].checked || t->chunks[i].bad)
			continue;
		err = xvt_trace_load(t, i, &b);
		if (err == -EBADMSG)
			err = 0;
	}
	xvt_chunk_buf_free(&b);
	return err;
}

int xvt_trace_read_head(struct xvt_trace *t, uint64_t offset, struct xvt_chunk_head *head)
{
	ssize_t n;

	memset(head, 0, sizeof(*head));
	if (offset > t->size || t->size - offset < sizeof(head->h))
		return 0;
	n = xvt_trace_read_at(t, head, sizeof(*head), offset);
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(head->h) || head->h.magic != XVT_CHUNK_MAGIC ||
	    head->h.trace_id != t->trace_id || head->h.len > XVT_CHUNK_LEN_MAX)
		return 0;
	return xvt_pad8(head->h.len) <= t->size - offset - sizeof(head->h);
}

bool xvt_trace_wants(uint16_t type)
{
	return type == XVT_CHUNK_FILE || type == XVT_CHUNK_VM || type == XVT_CHUNK_RING ||
	       type == XVT_CHUNK_TIMEBASE || type == XVT_CHUNK_END;
}

static void printable_name(char *name, const char *from, uint32_t vm)
{
	size_t n = 0;

	while (n < XVT_NAME_LEN - 1 && from[n]) {
		uint8_t c = (uint8_t)from[n];

		name[n++] = c <= ' ' || c == ':' || c >= 0x7f ? '_' : (char)c;
	}
	name[n] = '\0';
	if (!n)
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
static int take_file_line(struct xvt_trace *t)
{
	const struct xvt_file_info *f = &t->info;
	const struct xvt_timebase line = {
		.base_clock = f->base_clock,
		.base_ns = f->base_ns,
		.mult = f->mult,
		.shift = f->shift & 63,
		.realtime_ns = f->realtime_ns,
		.boottime_ns = f->boottime_ns,
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

uint64_t xvt_trace_wall_ns(const struct xvt_trace *t, uint64_t host_ns)
{
	const size_t n = XVT_COUNT_TO(t->timebase, t->timebase_count, base_ns, host_ns);
	const struct xvt_timebase *line = &t->timebase[n ? n - 1 : 0];

	return line->realtime_ns + (host_ns - line->base_ns);
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
	if (ref->type != XVT_CHUNK_ORDER && ref->type != XVT_CHUNK_LATE)
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

/* Find the next whole chunk at or after `from`. Returns its offset, or the file's size. */
static int64_t resync(struct xvt_trace *t, uint64_t from, struct xvt_chunk_buf *b)
{
	uint8_t *scan = malloc(SCAN_BYTES);
	int64_t found = (int64_t)t->size;
	uint64_t at = xvt_pad8(from);

	if (!scan)
		return -ENOMEM;
	while (at < t->size) {
		ssize_t n = xvt_trace_read_at(t, scan, SCAN_BYTES, at);

		if (n < (ssize_t)sizeof(struct xvt_chunk_hdr)) {
			if (n < 0)
				found = n;
			goto out;
		}
		for (ssize_t i = 0; i + 8 <= n; i += 8) {
			struct xvt_chunk_head head;
			uint32_t magic;
			int is;

			memcpy(&magic, scan + i, sizeof(magic));
			if (magic != XVT_CHUNK_MAGIC)
				continue;
			is = xvt_trace_read_head(t, at + (uint64_t)i, &head);
			if (is <= 0 || t->scan_budget < head.h.len)
				continue;
			t->scan_budget -= head.h.len;
			if (!xvt_trace_load_at(t, at + (uint64_t)i, head.h.len, b)) {
				found = (int64_t)(at + (uint64_t)i);
				goto out;
			}
		}
		at += (uint64_t)n & ~7ull;
	}
out:
	free(scan);
	return found;
}

/* Where the walk over the chunks stands. */
struct walk {
	struct xvt_chunk_buf *b;
	uint64_t offset;
	uint64_t next_seq;
	struct xvt_chunk_head head; /* at offset, if have_head */
	struct xvt_chunk_head after;
	bool have_head;
	bool have_after; /* the header that follows was looked at, and is one */
	const char *why; /* what is wrong at offset */
};

/* How does it go on behind this chunk: 1 as it should, 0 not so, or -errno. */
static int look_after(struct xvt_trace *t, struct walk *w)
{
	uint64_t next = w->offset + sizeof(w->head.h) + xvt_pad8(w->head.h.len);
	int is;

	if (next == t->size)
		return 1;
	is = xvt_trace_read_head(t, next, &w->after);
	w->have_after = is > 0;
	return is > 0 ? w->after.h.seq == w->head.h.seq + 1 : is;
}

/*
 * Take the chunk whose header is w->head. Returns 0, -EBADMSG if it turned out to be
 * damaged (w->why says how), or another error.
 */
static int take_chunk(struct xvt_trace *t, struct walk *w)
{
	const struct xvt_chunk_hdr *h = &w->head.h;
	int follows, err = 0;

	w->why = BAD_SUM;
	/* A wrong length shows in what follows. Where the next header is the expected one,
	 * the payload's own check is made when it is read. */
	follows = look_after(t, w);
	if (follows < 0)
		return follows;
	if (!follows || xvt_trace_wants(h->type) || h->seq != w->next_seq)
		err = xvt_trace_load_at(t, w->offset, h->len, w->b);
	/* Whole, but this build cannot unpack it: reading it reports that. */
	if (err == -ENOTSUP && !xvt_trace_wants(h->type))
		err = 0;
	if (err == -ENOTSUP)
		w->why = NO_ZSTD;
	if (err)
		return err == -ENOTSUP ? -EBADMSG : err;
	if (h->seq < w->next_seq) {
		w->why = "a chunk that was there before";
		return -EBADMSG;
	}
	if (h->seq > w->next_seq)
		xvt_trace_note_damage(t, w->offset, 0, "chunks are missing before this place");
	/* An encoding that we do not know: skipped as the format says. Loading it tells that. */
	if (h->flags & ~XVT_CHUNK_F_ZSTD) {
		err = xvt_trace_add_chunk(t, w->offset, &w->head);
		if (!err && xvt_trace_wants(h->type))
			err = xvt_trace_load(t, t->chunk_count - 1, w->b);
		return err == -EBADMSG ? 0 : err;
	}
	err = xvt_trace_take(t, h->type, w->b, &w->why);
	if (h->type == XVT_CHUNK_END && w->b->len >= sizeof(t->end)) {
		memcpy(&t->end, w->b->payload, sizeof(t->end));
		t->ended = true;
	}
	if (err == -EBADMSG)
		xvt_trace_note_damage(t, w->offset, sizeof(*h) + h->len, w->why);
	else if (err)
		return err;
	return xvt_trace_add_chunk(t, w->offset, &w->head);
}

/* The chunk at w->offset, if there is one; w->offset is behind it then. As take_chunk(). */
static int step(struct xvt_trace *t, struct walk *w)
{
	int err = w->have_head ? 1 : xvt_trace_read_head(t, w->offset, &w->head);

	w->have_after = false;
	w->why = "no chunk begins here";
	if (err <= 0)
		return err < 0 ? err : -EBADMSG;
	err = take_chunk(t, w);
	if (err)
		return err;
	w->next_seq = w->head.h.seq + 1;
	w->offset += sizeof(w->head.h) + xvt_pad8(w->head.h.len);
	t->tail_offset = w->offset;
	w->head = w->after;
	w->have_head = w->have_after;
	return 0;
}

/* From `offset` on; what is before it was taken. */
static int walk(struct xvt_trace *t, struct xvt_chunk_buf *b, uint64_t offset)
{
	struct walk w = { .b = b, .offset = offset, .next_seq = t->chunk_count };

	while (w.offset < t->size) {
		int64_t found;
		int err = step(t, &w);

		if (!err)
			continue;
		if (err != -EBADMSG)
			return err;
		found = resync(t, w.offset + 8, b);
		if (found < 0)
			return (int)found;
		/* Nothing readable follows: that is how a killed recorder leaves a file. */
		if ((uint64_t)found >= t->size && !t->ended)
			break;
		xvt_trace_note_damage(t, w.offset, (uint64_t)found - w.offset, w.why);
		w.offset = (uint64_t)found;
		w.have_head = false;
	}
	return 0;
}

/* Nothing is known of the chunks any more. */
static void forget_chunks(struct xvt_trace *t)
{
	t->chunk_count = 0;
	t->walks++;
	t->timebase_count = 1; /* FILE's */
	t->damage_count = 0;
	t->ended = false;
	t->indexed = false;
	t->first_ns = UINT64_MAX;
	t->last_ns = 0;
	t->tail_offset = 0;
	t->scan_budget = 4 * t->size + (1u << 20);
}

/* An index that hides events does not fit the end. */
static bool has_all_events(const struct xvt_trace *t)
{
	uint64_t events = 0, late = 0;

	for (size_t i = 0; i < t->chunk_count; i++) {
		events += t->chunks[i].type == XVT_CHUNK_ORDER ? t->chunks[i].count : 0;
		late += t->chunks[i].type == XVT_CHUNK_LATE ? t->chunks[i].count : 0;
	}
	return !t->ended || (events == t->end.events && late == t->end.late);
}

/* Each chunk's header, one after the other; or what the INDEX chunks say, where wanted. */
static int find_chunks(struct xvt_trace *t, struct xvt_chunk_buf *b, bool by_index)
{
	uint64_t offset = 0;
	int err;

	forget_chunks(t);
	err = by_index ? xvt_trace_take_index(t, b, &offset) : 0;
	if (err == -EBADMSG)
		return walk_again(t, offset);
	if (err < 0)
		return err;
	t->indexed = err;
	offset = err ? offset : 0;
	/* A page here and a page there: what lies between is not wanted. */
	posix_fadvise(t->fd, 0, 0, POSIX_FADV_RANDOM);
	err = walk(t, b, offset);
	posix_fadvise(t->fd, 0, 0, POSIX_FADV_NORMAL);
	if (!err && t->indexed && !has_all_events(t))
		return walk_again(t, offset);
	if (t->first_ns == UINT64_MAX)
		t->first_ns = 0;
	return err;
}

static int walk_again(struct xvt_trace *t, uint64_t index_offset)
{
	struct xvt_chunk_buf b = { 0 };
	int err = find_chunks(t, &b, false);

	xvt_chunk_buf_free(&b);
	/* Where the walk found other damage, that is why. */
	if (!err && !t->damage_count)
		xvt_trace_note_damage(t, index_offset, 0, "the index says something else");
	return err;
}

static int refuse(char *why, size_t why_size, int err, const char *text)
{
	snprintf(why, why_size, "%s", text);
	return err;
}

/* The first chunk must be whole: it says what all of this is. */
static int check_first(struct xvt_trace *t, struct xvt_chunk_buf *b, char *why, size_t why_size)
{
	struct {
		struct xvt_chunk_hdr h;
		struct xvt_file_info info;
	} first;
	ssize_t n;
	int err;

	memset(&first, 0, sizeof(first));
	n = xvt_trace_read_at(t, &first, sizeof(first), 0);
	if (n < 0)
		return refuse(why, why_size, (int)n, strerror((int)-n));
	if (n == 0)
		return refuse(why, why_size, -EBADMSG, "is empty; was it ever recorded?");
	if (n >= 8 && memcmp(&first, &(uint64_t){ XVT_MAGIC }, 8) == 0)
		return refuse(why, why_size, -EBADMSG,
			      "is a region, not a trace; look at it with 'xvtrace region show', "
			      "or make a trace of it with 'xvtrace salvage'");
	if (n < 4 || first.h.magic != XVT_CHUNK_MAGIC)
		return refuse(why, why_size, -EBADMSG,
			      "is not an xvtrace trace (wrong magic); give a .xvt file");
	if ((size_t)n < sizeof(first) || first.h.len > XVT_CHUNK_LEN_MAX ||
	    first.h.len > t->size - sizeof(first.h))
		return refuse(why, why_size, -EBADMSG,
			      "is cut off inside its first chunk; nothing can be read from it");
	if (first.h.type != XVT_CHUNK_FILE || first.h.len < sizeof(first.info) ||
	    first.info.magic != XVT_FILE_MAGIC)
		return refuse(why, why_size, -EBADMSG,
			      "does not begin as an xvtrace trace does; its start is damaged");
	err = xvt_trace_load_at(t, 0, first.h.len, b);
	if (err == -EBADMSG)
		return refuse(
			why, why_size, err,
			"first chunk is damaged (checksum does not match); nothing can be read");
	if (err)
		return refuse(why, why_size, err, strerror(-err));
	if (first.info.oldest > XVT_FILE_MAJOR) {
		snprintf(why, why_size,
			 "written in format %u.%u, this xvtrace reads %u.x; use a newer xvtrace",
			 first.info.major, first.info.minor, XVT_FILE_MAJOR);
		return -EPROTO;
	}
	if (first.info.major < XVT_FILE_OLDEST) {
		snprintf(why, why_size,
			 "written in format %u.%u by a development version; record it anew",
			 first.info.major, first.info.minor);
		return -EPROTO;
	}
	if (first.info.incompat) {
		snprintf(why, why_size,
			 "uses features (bits 0x%x) that this xvtrace does not know; use a newer "
			 "one",
			 first.info.incompat);
		return -EPROTO;
	}
	if (first.h.flags) {
		snprintf(
			why, why_size,
			"first chunk has flags (0x%x) that this xvtrace does not know; use a newer "
			"one",
			first.h.flags);
		return -EPROTO;
	}
	/* No other chunk could be told to be of this trace. */
	if (memcmp(first.info.uuid, &first.h.trace_id, sizeof(first.h.trace_id)) != 0)
		return refuse(why, why_size, -EBADMSG,
			      "first chunk says two identities of this trace (uuid and trace_id "
			      "differ); nothing can be read");
	t->info = first.info;
	memcpy(&t->trace_id, t->info.uuid, sizeof(t->trace_id));
	return 0;
}

static int open_file(struct xvt_trace *t, const char *path, char *why, size_t why_size)
{
	struct stat st;

	/* Without O_NONBLOCK, opening a FIFO would block until it has a writer. */
	t->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0 || fstat(t->fd, &st)) {
		int err = -errno;

		return refuse(why, why_size, err,
			      err == -ENXIO ? "is not a regular file; give a .xvt file"
					    : strerror(-err));
	}
	if (S_ISDIR(st.st_mode))
		return refuse(why, why_size, -EISDIR, "is a directory; give a .xvt file");
	if (!S_ISREG(st.st_mode))
		return refuse(why, why_size, -EINVAL, "is not a regular file; give a .xvt file");
	t->size = (uint64_t)st.st_size;
	return 0;
}

static int open_trace(struct xvt_trace **out, const char *path, bool by_index, char *why,
		      size_t why_size)
{
	struct xvt_trace *t = calloc(1, sizeof(*t));
	struct xvt_chunk_buf b = { 0 };
	int err = -ENOMEM;

	*out = NULL;
	snprintf(why, why_size, "out of memory");
	if (!t)
		return err;
	t->fd = -1;
	t->late_budget = XVT_LATE_BUDGET;
	t->raw_budget = XVT_RAW_BUDGET;
	t->path = strdup(path);
	if (!t->path)
		goto err_close;
	err = open_file(t, path, why, why_size);
	if (!err)
		err = check_first(t, &b, why, why_size);
	if (err)
		goto err_close;
	err = take_file_line(t);
	if (!err)
		err = find_chunks(t, &b, by_index);
	if (err) {
		snprintf(why, why_size, "%s", strerror(-err));
		goto err_close;
	}
	xvt_chunk_buf_free(&b);
	*out = t;
	return 0;

err_close:
	xvt_chunk_buf_free(&b);
	xvt_trace_close(t);
	return err;
}

int xvt_trace_open(struct xvt_trace **out, const char *path, char *why, size_t why_size)
{
	return open_trace(out, path, false, why, why_size);
}

int xvt_trace_open_indexed(struct xvt_trace **out, const char *path, char *why, size_t why_size)
{
	return open_trace(out, path, true, why, why_size);
}

void xvt_trace_close(struct xvt_trace *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
	free(t->chunks);
	free(t->vms);
	free(t->rings);
	free(t->timebase);
	free(t);
}

const char *xvt_vm_name(const struct xvt_trace *t, uint32_t vm)
{
	return vm < t->vm_count && t->vms[vm].known ? t->vms[vm].name : "?";
}

size_t xvt_trace_chunk_at(const struct xvt_trace *t, uint64_t offset)
{
	const size_t n = XVT_COUNT_TO(t->chunks, t->chunk_count, offset, offset);

	return n && t->chunks[n - 1].offset == offset ? n - 1 : t->chunk_count;
}
