// SPDX-License-Identifier: GPL-2.0
/* open.c - find all chunks of a file: by its index, or by their headers one after the other. */
#define _GNU_SOURCE
#include "trace/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64.h"
#include "base/vec.h"

#define SCAN_BYTES   (64u << 10)
#define PADDING_MOST 4096u /* a block, see file_sink.c */

/* A false header must not cost a system call: is there none of this trace in these bytes? */
static bool is_other(const struct xvt_trace *t, const uint8_t *at, size_t len)
{
	const size_t id = offsetof(struct xvt_chunk_hdr, trace_id);

	return len >= id + sizeof(t->trace_id) &&
	       memcmp(at + id, &t->trace_id, sizeof(t->trace_id));
}

/* Is there a whole chunk at `at`, by its checksum? Returns 1, 0 or -errno. */
static int is_whole(struct xvt_trace *t, uint64_t at, struct xvt_chunk_buf *b)
{
	struct xvt_chunk_head head;
	int is = xvt_trace_read_head(t, at, &head);

	if (is <= 0 || t->scan_budget < head.h.len)
		return is < 0 ? is : 0;
	t->scan_budget -= head.h.len;
	is = xvt_trace_load_at(t, at, head.h.len, b);
	return is == -ENOMEM ? is : !is;
}

/*
 * Find the next whole chunk at or after `from`: at any byte, because any number of bytes may have
 * come in or gone missing. Returns its offset, or the file's size.
 */
static int64_t resync(struct xvt_trace *t, uint64_t from, struct xvt_chunk_buf *b)
{
	const uint32_t magic = XVT_CHUNK_MAGIC;
	uint8_t *scan = malloc(SCAN_BYTES);
	int64_t found = (int64_t)t->size;

	if (!scan)
		return -ENOMEM;
	while (found == (int64_t)t->size) {
		ssize_t n = xvt_trace_read_at(t, scan, SCAN_BYTES, from);
		const uint8_t *at = scan, *end = scan + n;

		if (n < (ssize_t)sizeof(struct xvt_chunk_hdr)) {
			found = n < 0 ? n : found;
			break;
		}
		while ((at = memmem(at, (size_t)(end - at), &magic, sizeof(magic)))) {
			const uint64_t offset = from + (uint64_t)(at - scan);
			int is = is_other(t, at, (size_t)(end - at)) ? 0 : is_whole(t, offset, b);

			if (is) {
				found = is < 0 ? is : (int64_t)offset;
				break;
			}
			at++;
		}
		from += (uint64_t)n - (sizeof(magic) - 1);
	}
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
	const char *why; /* the fault at offset */
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

	w->why = XVT_BAD_SUM;
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
		w->why = XVT_NO_ZSTD;
	if (err)
		return err == -ENOTSUP ? -EBADMSG : err;
	if (h->seq < w->next_seq) {
		w->why = "a chunk that was there before";
		return -EBADMSG;
	}
	if (h->seq > w->next_seq)
		xvt_trace_note_damage(t, w->offset, 0, "chunks are missing before this place");
	/* An unknown encoding: skipped as the format says, and noted where it leaves a gap. */
	if (h->flags & ~XVT_CHUNK_F_ZSTD) {
		err = xvt_trace_add_chunk(t, w->offset, &w->head);
		if (!err && xvt_trace_wants(h->type)) {
			t->chunks[t->chunk_count - 1].bad = true;
			xvt_trace_note_damage(t, w->offset, sizeof(*h) + h->len, XVT_NEW_FLAGS);
		}
		return err;
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

/* Is this the rest of the END chunk's block? A recorder that is killed before it cuts its file to
 * its length leaves zeros there. */
static bool is_padding(struct xvt_trace *t, uint64_t offset)
{
	uint8_t rest[PADDING_MOST];
	const uint64_t len = t->size - offset;

	if (!t->ended || len >= sizeof(rest) || offset != t->tail_offset ||
	    xvt_trace_read_at(t, rest, len, offset) != (ssize_t)len)
		return false;
	for (uint64_t i = 0; i < len; i++) {
		if (rest[i])
			return false;
	}
	return true;
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
		found = resync(t, w.offset + 1, b);
		if (found < 0)
			return (int)found;
		/* Nothing readable follows: that is how a killed recorder leaves a file. */
		if ((uint64_t)found >= t->size && (!t->ended || is_padding(t, w.offset)))
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
		const struct xvt_chunk_ref *ref = &t->chunks[i];

		if (ref->type == XVT_CHUNK_LATE)
			late += ref->count;
		else if (xvt_chunk_of_events(ref->type))
			events += ref->count;
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
		return xvt_trace_walk_again(t, offset);
	if (err < 0)
		return err;
	t->indexed = err;
	offset = err ? offset : 0;
	/* A page here and a page there: what lies between is not wanted. */
	posix_fadvise(t->fd, 0, 0, POSIX_FADV_RANDOM);
	err = walk(t, b, offset);
	posix_fadvise(t->fd, 0, 0, POSIX_FADV_NORMAL);
	if (!err && t->indexed && !has_all_events(t))
		return xvt_trace_walk_again(t, offset);
	if (t->first_ns == UINT64_MAX)
		t->first_ns = 0;
	return err;
}

int xvt_trace_walk_again(struct xvt_trace *t, uint64_t index_offset)
{
	struct xvt_chunk_buf b = { 0 };
	int err = find_chunks(t, &b, false);

	xvt_chunk_buf_free(&b);
	/* Where the walk found other damage, that is why. */
	if (!err && !t->damage_count)
		xvt_trace_note_damage(t, index_offset, 0, "the index says something else");
	return err;
}

/* The first chunk must be whole: it says what all of this is. */
static int check_first(struct xvt_trace *t, struct xvt_chunk_buf *b, struct xvt_error *why)
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
		return xvt_fail(why, (int)n, "%s", strerror((int)-n));
	if (n == 0)
		return xvt_fail(why, -EBADMSG, "is empty; was it ever recorded?");
	if (n >= 8 && memcmp(&first, &(uint64_t){ XVT_MAGIC }, 8) == 0)
		return xvt_fail(why, -EBADMSG,
				"is a region, not a trace; look at it with 'xvtrace region show', "
				"or make a trace of it with 'xvtrace salvage'");
	if (n < 4 || first.h.magic != XVT_CHUNK_MAGIC)
		return xvt_fail(why, -EBADMSG,
				"is not an xvtrace trace (wrong magic); give a .xvt file");
	if ((size_t)n < sizeof(first) || first.h.len > XVT_CHUNK_LEN_MAX ||
	    first.h.len > t->size - sizeof(first.h))
		return xvt_fail(why, -EBADMSG,
				"is cut off inside its first chunk; nothing can be read from it");
	if (first.h.type != XVT_CHUNK_FILE || first.h.len < sizeof(first.info) ||
	    first.info.magic != XVT_FILE_MAGIC)
		return xvt_fail(why, -EBADMSG,
				"does not begin as an xvtrace trace does; its start is damaged");
	err = xvt_trace_load_at(t, 0, first.h.len, b);
	if (err == -EBADMSG)
		return xvt_fail(
			why, err,
			"first chunk is damaged (checksum does not match); nothing can be read");
	if (err)
		return xvt_fail(why, err, "%s", strerror(-err));
	if (first.info.oldest > XVT_FILE_MAJOR)
		return xvt_fail(
			why, -EPROTO,
			"written in format %u.%u, this xvtrace reads %u.x; use a newer xvtrace",
			first.info.major, first.info.minor, XVT_FILE_MAJOR);
	if (first.info.major < XVT_FILE_OLDEST ||
	    (first.info.major == XVT_FILE_OLDEST && first.info.minor < XVT_FILE_MINOR_RAWS))
		return xvt_fail(why, -EPROTO,
				"written in format %u.%u by a development version; record it anew",
				first.info.major, first.info.minor);
	if (first.info.incompat)
		return xvt_fail(
			why, -EPROTO,
			"uses features (bits 0x%x) that this xvtrace does not know; use a newer "
			"one",
			first.info.incompat);
	if (first.h.flags)
		return xvt_fail(
			why, -EPROTO,
			"first chunk has flags (0x%x) that this xvtrace does not know; use a newer "
			"one",
			first.h.flags);
	/* No other chunk could be told to be of this trace. */
	if (memcmp(first.info.uuid, &first.h.trace_id, sizeof(first.h.trace_id)) != 0)
		return xvt_fail(why, -EBADMSG,
				"first chunk says two identities of this trace (uuid and trace_id "
				"differ); nothing can be read");
	t->info = first.info;
	memcpy(&t->trace_id, t->info.uuid, sizeof(t->trace_id));
	return 0;
}

static int open_file(struct xvt_trace *t, const char *path, struct xvt_error *why)
{
	struct stat st;

	/* Without O_NONBLOCK, opening a FIFO would block until it has a writer. */
	t->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0 || fstat(t->fd, &st)) {
		int err = -errno;

		return xvt_fail(why, err, "%s",
				err == -ENXIO ? "is not a regular file; give a .xvt file"
					      : strerror(-err));
	}
	if (S_ISDIR(st.st_mode))
		return xvt_fail(why, -EISDIR, "is a directory; give a .xvt file");
	if (!S_ISREG(st.st_mode))
		return xvt_fail(why, -EINVAL, "is not a regular file; give a .xvt file");
	t->size = (uint64_t)st.st_size;
	return 0;
}

/* How the chunks of a trace are found when it is opened. */
enum find {
	FIND_ALL,
	FIND_BY_INDEX,
	FIND_LATER,
};

static int open_trace(struct xvt_trace **out, const char *path, enum find how,
		      struct xvt_error *why)
{
	struct xvt_trace *t = calloc(1, sizeof(*t));
	struct xvt_chunk_buf b = { 0 };
	int err = -ENOMEM;

	*out = NULL;
	xvt_fail(why, 0, "out of memory");
	if (!t)
		return err;
	t->fd = -1;
	t->late_budget = XVT_LATE_BUDGET;
	t->raw_budget = XVT_RAW_BUDGET;
	t->path = strdup(path);
	if (!t->path)
		goto err_close;
	err = open_file(t, path, why);
	if (!err)
		err = check_first(t, &b, why);
	if (err)
		goto err_close;
	err = xvt_trace_take_file_line(t);
	if (!err && how != FIND_LATER)
		err = find_chunks(t, &b, how == FIND_BY_INDEX);
	if (err) {
		xvt_fail(why, 0, "%s", strerror(-err));
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

int xvt_trace_open(struct xvt_trace **out, const char *path, struct xvt_error *why)
{
	return open_trace(out, path, FIND_ALL, why);
}

int xvt_trace_open_indexed(struct xvt_trace **out, const char *path, struct xvt_error *why)
{
	return open_trace(out, path, FIND_BY_INDEX, why);
}

int xvt_trace_open_growing(struct xvt_trace **out, const char *path, struct xvt_error *why)
{
	return open_trace(out, path, FIND_LATER, why);
}

/* Takes the next chunk if all of it is in the file. A writer may write parts of its file in any
 * order, so all of it is read. Returns 1, 0 or -errno. */
static int take_next(struct xvt_trace *t, struct walk *w)
{
	int err = xvt_trace_read_head(t, w->offset, &w->head);

	if (err <= 0)
		return err;
	err = xvt_trace_load_at(t, w->offset, w->head.h.len, w->b);
	if (err)
		return err == -EBADMSG ? 0 : err;
	w->have_head = true;
	err = step(t, w);
	w->have_head = false;
	return err == -EBADMSG ? 0 : err ? err : 1;
}

int xvt_trace_grow(struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	struct walk w = { .b = &b, .offset = t->tail_offset };
	struct stat st;
	int got = 1;

	if (fstat(t->fd, &st))
		return -errno;
	t->size = (uint64_t)st.st_size;
	t->given = t->chunk_count;
	if (t->chunk_count)
		w.next_seq = t->chunks[t->chunk_count - 1].seq + 1;
	if (!t->last_ns)
		t->first_ns = UINT64_MAX;
	while (got == 1 && w.offset < t->size && !t->ended)
		got = take_next(t, &w);
	if (t->first_ns == UINT64_MAX)
		t->first_ns = 0;
	xvt_chunk_buf_free(&b);
	return got < 0 ? got : t->chunk_count > t->given;
}

void xvt_trace_close(struct xvt_trace *t)
{
	if (!t)
		return;
	if (t->ops)
		t->ops->close(t);
	if (t->fd >= 0 && !t->fd_is_lent)
		close(t->fd);
	free(t->path);
	free(t->chunks);
	free(t->vms);
	free(t->rings);
	free(t->timebase);
	free(t);
}
