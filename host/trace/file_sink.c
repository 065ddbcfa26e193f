// SPDX-License-Identifier: GPL-2.0
/*
 * file_sink.c - a few buffers in turn: one is filled while others are being written. When all are
 * being written the sink waits in the loop, so memory is bounded; the rings then fill, and the
 * guests drop and count.
 *
 * Where the file system allows it, the buffers go to the disk without a copy in the page cache:
 * that copy costs more than drain and merge together, and a trace is read later, if at all. Then
 * only whole blocks can be written. A buffer that is written before it is full is padded with
 * zeros, and its last block is written again with the bytes that follow. At the end the file is
 * truncated to its length.
 *
 * A patient sink (xvt_file_sink_patient()) survives a full disk. The sink allocates the space of
 * the bytes that it accepts, and a reserve, so that these bytes, and the chunks that end a trace,
 * can always be written. A file whose size is known before (xvt_file_sink_expect()) is allocated at
 * once, and its reserve is a part of that size. Where a file system cannot allocate ahead, a write
 * that finds no space keeps its buffer and is tried again.
 */
#define _GNU_SOURCE
#include "trace/file_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/output.h"
#include "base/time.h"
#include "base/u64.h"

#define BUFFERS	       6
#define BUFFER_SIZE    (1u << 20)
#define BLOCK	       4096u /* no disk requires larger blocks */
#define WAIT_NS	       1000000000u

/* a trace shows what guests did: readable by its user only, as perf.data */
#define TRACE_MODE     0600
#define RESERVE_MOST   (2u << 20)
#define RESERVE_LEAST  (512u << 10) /* the chunk that is built, and those that end a trace */
#define RESERVE_PART   4u	    /* of the expected size */
#define AHEAD	       (8u << 20)   /* allocated at a time, where the disk has so much free */
#define SMALL_DISK     (16u << 20)
#define ALLOCATE_TRIES 100
#define RETRY_NS       100000000u /* interval between two checks for space */
#define HOLD_NS	       1000000u	  /* a write that ends within this time needs no hold */
/* Room for the chunk that is being built in the current buffer, and for the next one. */
#define ROOM_LEAST     (512u << 10)

struct buffer {
	struct xvt_op op;
	struct xvt_file_sink *fs;
	uint8_t *bytes;
	uint32_t len;	  /* bytes filled */
	uint32_t carried; /* the first bytes of `len`, which are in the file already */
	uint32_t whole;	  /* bytes to write: len, and zeros up to a block's end */
	uint32_t done;	  /* bytes written */
	uint64_t off;
	bool busy;
	bool parked; /* busy, but not being written: the disk was full */
	bool direct; /* the write bypasses the page cache */
};

struct xvt_file_sink {
	struct xvt_sink base;
	struct xvt_loop *loop;
	int fd;
	int err;
	bool direct;
	bool padded;	 /* zeros have been written behind the end */
	bool one_by_one; /* a file without offsets (pipe): writes must not overlap */
	bool begun;	 /* the file's earlier contents are gone */
	bool discarded;
	bool regular;	     /* a regular file */
	bool patient;	     /* a full disk is not an error */
	bool full;	     /* no space beyond that of accepted bytes */
	bool no_allocation;  /* the file system cannot allocate ahead */
	uint64_t expected;   /* bytes that the file will have; 0: any number */
	uint64_t reserve;    /* space beyond its bytes */
	uint64_t allocated;  /* space is allocated up to this offset */
	uint64_t retried_ns; /* when space was last checked */
	char *made;	     /* its path, if the sink created it */
	uint64_t good;	     /* lowest offset not known to be written, once err is set */
	uint64_t waited_ns;
	uint64_t since_ns; /* start of the present wait; 0: not waiting */
	unsigned int current;
	uint8_t *room; /* the writer builds the next bytes there */
	uint8_t *area;
	struct buffer buffers[BUFFERS];
};

static int submit(struct buffer *b)
{
	b->direct = b->fs->direct;
	return xvt_loop_write(b->fs->loop, &b->op, b->fs->fd, b->bytes + b->done,
			      b->whole - b->done, b->off + b->done);
}

/* Stops direct I/O: some file systems accept O_DIRECT at open() and refuse each write. Returns true
 * if the write may be tried again. */
static bool give_up_direct(struct xvt_file_sink *fs)
{
	int flags = fcntl(fs->fd, F_GETFL);

	fs->direct = false;
	return flags >= 0 && fcntl(fs->fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

static void failed(struct buffer *b, int err)
{
	struct xvt_file_sink *fs = b->fs;
	uint64_t good;

	b->busy = b->parked = false;
	if (!fs->err)
		fs->err = err;
	/* Carried bytes are in the file already, even if all of this write failed. */
	good = b->off + (b->done > b->carried ? b->done : b->carried);
	if (good < fs->good)
		fs->good = good;
}

static bool no_space(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

static void written(struct xvt_op *op, int res)
{
	struct buffer *b = (struct buffer *)op;

	if (no_space(res) && b->fs->patient) {
		b->parked = b->fs->full = true;
		return;
	}
	if (res == -EINTR || res == -EAGAIN ||
	    (res == -EINVAL && b->direct && give_up_direct(b->fs)))
		res = 0;
	else if (res == 0)
		res = -EIO;
	if (res > 0) {
		b->done += (uint32_t)res;
		if (b->done < b->whole && b->fs->direct)
			b->done &= ~(BLOCK - 1);
		res = 0;
	}
	if (res == 0 && b->done < b->whole)
		res = submit(b);
	else
		b->busy = false;
	if (res < 0)
		failed(b, res);
}

/* ------------------------------------------------------------------ space */

static uint64_t current_off(const struct xvt_file_sink *fs)
{
	return fs->buffers[fs->current].off;
}

/* Allocates the file's space up to `end`. Returns 0, or -errno where there is no space. */
static int allocate(struct xvt_file_sink *fs, uint64_t end)
{
	int tries = 0, err;

	do {
		err = fallocate(fs->fd, FALLOC_FL_KEEP_SIZE, (off_t)fs->allocated,
				(off_t)(end - fs->allocated));
		err = err ? -errno : 0;
		/* The loop's completions interrupt like signals. */
	} while (err == -EINTR && ++tries < ALLOCATE_TRIES);
	if (!err)
		fs->allocated = end;
	else if (!no_space(err) && err != -EINTR)
		/* not possible or not permitted: the write reports an error, if any */
		fs->no_allocation = true;
	return fs->no_allocation ? 0 : err;
}

/* Space of the accepted bytes and the reserve. */
static uint64_t needed(const struct xvt_file_sink *fs)
{
	return current_off(fs) + fs->buffers[fs->current].len + fs->reserve;
}

/* Allocates that space. Without it the sink is full. */
static void look_for_space(struct xvt_file_sink *fs)
{
	const uint64_t need = needed(fs), all = fs->expected + fs->reserve;

	fs->full = false;
	if (fs->err || !fs->patient || !fs->begun || fs->no_allocation || fs->allocated >= need)
		return;
	if (allocate(fs, !fs->expected ? need + AHEAD : all > need ? all : need))
		fs->full = allocate(fs, need) != 0;
}

/* Submits parked writes again, in any order, at most every RETRY_NS. */
static void try_again(struct xvt_file_sink *fs)
{
	uint64_t now = xvt_monotonic_ns();
	unsigned int i;

	if (now - fs->retried_ns < RETRY_NS)
		return;
	fs->retried_ns = now;
	look_for_space(fs);
	for (i = 0; i < BUFFERS; i++) {
		struct buffer *b = &fs->buffers[i];
		int err;

		if (!b->parked)
			continue;
		fs->full = true; /* until it has been written */
		b->parked = false;
		err = submit(b);
		if (err)
			failed(b, err);
	}
}

static bool any_parked(const struct xvt_file_sink *fs)
{
	bool parked = false;
	unsigned int i;

	for (i = 0; i < BUFFERS; i++)
		parked |= fs->buffers[i].parked;
	return parked;
}

/* Fails the parked writes: their space is not waited for any more. */
static void give_up_parked(struct xvt_file_sink *fs)
{
	unsigned int i;

	for (i = 0; i < BUFFERS; i++) {
		if (fs->buffers[i].parked)
			failed(&fs->buffers[i], -ENOSPC);
	}
}

/* ------------------------------------------------------------------ waiting */

/* Returns true if the wait begins here. */
static bool wait_begins(struct xvt_file_sink *fs)
{
	if (fs->since_ns)
		return false;
	fs->since_ns = xvt_monotonic_ns();
	return true;
}

static void wait_ends(struct xvt_file_sink *fs)
{
	if (fs->since_ns)
		fs->waited_ns += xvt_monotonic_ns() - fs->since_ns;
	fs->since_ns = 0;
}

/*
 * Waits for a buffer's write. The caller may be in the middle of any work, so only operations that
 * change nothing of other modules (any_time) are served meanwhile. Another operation could write a
 * note into a buffer that is being written, or change rings that the merge works on.
 */
static int wait_for(struct buffer *b)
{
	struct xvt_file_sink *fs = b->fs;
	bool begins;
	int n = 0;

	if (!b->busy)
		return fs->err;
	begins = wait_begins(fs);
	if (b->parked) {
		fs->retried_ns = 0;
		try_again(fs);
	}
	while (b->busy && !b->parked && n >= 0)
		n = xvt_loop_run_only(fs->loop, WAIT_NS, written);
	if (b->parked) /* all buffers are in use, so no more can be kept */
		give_up_parked(fs);
	if (n < 0 && !fs->err)
		fs->err = n;
	if (begins)
		wait_ends(fs);
	return fs->err;
}

/*
 * Copies the incomplete last block of `b` into the next buffer, which writes it again with the
 * bytes that follow. This also applies after direct I/O was given up: the zeros of `b` may still be
 * being written.
 */
static void carry_on(const struct buffer *b, struct buffer *next)
{
	uint32_t tail = b->whole > b->len ? b->len & (BLOCK - 1) : 0;

	next->off = b->off + b->len - tail;
	next->len = tail;
	next->carried = tail;
	memcpy(next->bytes, b->bytes + b->len - tail, tail);
}

/* True if `b` must wait for the write before it: two writes of one block must not overtake each
 * other, nor any two writes into a pipe. */
static bool waits_for(const struct xvt_file_sink *fs, const struct buffer *b,
		      const struct buffer *before)
{
	return (b->carried || fs->one_by_one) && before->busy;
}

bool xvt_file_sink_would_wait(const struct xvt_file_sink *fs)
{
	return waits_for(fs, &fs->buffers[fs->current],
			 &fs->buffers[(fs->current + BUFFERS - 1) % BUFFERS]) ||
	       fs->buffers[(fs->current + 1) % BUFFERS].busy;
}

/* On a file system where the reserve would be most of the space, there is no reserve. */
static bool is_small(const struct xvt_file_sink *fs)
{
	struct statvfs st;

	return fstatvfs(fs->fd, &st) == 0 && st.f_blocks &&
	       (uint64_t)st.f_blocks * st.f_frsize < SMALL_DISK;
}

/* Prepares the file at the first write only: a recording that fails before it leaves the file as it
 * was. */
static int begin(struct xvt_file_sink *fs)
{
	struct stat st;

	if (fs->begun)
		return 0;
	fs->begun = true;
	if (fstat(fs->fd, &st) || (S_ISREG(st.st_mode) && ftruncate(fs->fd, 0)))
		fs->err = -errno;
	fs->regular = S_ISREG(st.st_mode);
	fs->no_allocation = !fs->regular || is_small(fs);
	return fs->err;
}

int xvt_file_sink_push(struct xvt_file_sink *fs)
{
	struct buffer *b = &fs->buffers[fs->current];
	struct buffer *before = &fs->buffers[(fs->current + BUFFERS - 1) % BUFFERS];
	struct buffer *next = &fs->buffers[(fs->current + 1) % BUFFERS];
	int err;

	if (b->len == b->carried || fs->room || fs->err)
		return fs->err;
	if (begin(fs) || (waits_for(fs, b, before) && wait_for(before)))
		return fs->err;
	b->done = 0;
	b->whole = b->len;
	if (fs->direct) {
		b->whole = (b->len + BLOCK - 1) & ~(BLOCK - 1);
		memset(b->bytes + b->len, 0, b->whole - b->len);
		fs->padded |= b->whole > b->len;
	}
	if (fs->base.before)
		fs->base.before(fs->base.before_arg);
	b->busy = true;
	err = submit(b);
	if (err) {
		failed(b, err);
		return err;
	}
	if (wait_for(next))
		return fs->err;
	carry_on(b, next);
	fs->current = (fs->current + 1) % BUFFERS;
	if (!fs->full)
		look_for_space(fs);
	return fs->err;
}

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	const uint8_t *from = bytes;

	if (from == fs->room && !fs->err) {
		fs->buffers[fs->current].len += (uint32_t)len;
		len = 0;
	}
	fs->room = NULL;
	while (len && !fs->err) {
		struct buffer *b = &fs->buffers[fs->current];
		size_t part = BUFFER_SIZE - b->len;

		if (part > len)
			part = len;
		memcpy(b->bytes + b->len, from, part);
		b->len += (uint32_t)part;
		from += part;
		len -= part;
		if (b->len == BUFFER_SIZE)
			xvt_file_sink_push(fs);
	}
	if (fs->allocated && fs->allocated < needed(fs) && !fs->full)
		look_for_space(fs);
	return fs->err;
}

static uint8_t *sink_room(struct xvt_sink *sink, size_t len)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	struct buffer *b = &fs->buffers[fs->current];

	/* After an error the current buffer may still be being written. */
	if (fs->err || (BUFFER_SIZE - b->len < len && xvt_file_sink_push(fs)))
		return NULL;
	b = &fs->buffers[fs->current];
	fs->room = BUFFER_SIZE - b->len < len ? NULL : b->bytes + b->len;
	return fs->room;
}

static uint64_t sink_written(const struct xvt_sink *sink)
{
	const struct xvt_file_sink *fs = (const struct xvt_file_sink *)sink;
	const struct buffer *b = &fs->buffers[fs->current];
	uint64_t end = b->off + b->carried;
	unsigned int i;

	/* Writes end in any order; the file is complete up to the first that has not ended. */
	for (i = 0; i < BUFFERS; i++) {
		b = &fs->buffers[i];
		if (b->busy && b->off + b->done < end)
			end = b->off + b->done;
	}
	return fs->err && fs->good < end ? fs->good : end;
}

static bool any_busy(const struct xvt_file_sink *fs)
{
	bool busy = false;
	unsigned int i;

	for (i = 0; i < BUFFERS; i++)
		busy |= fs->buffers[i].busy;
	return busy;
}

/* Tries parked writes once more, and fails those that still find no space. */
static int sink_settle(struct xvt_sink *sink)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	int n = 0;

	xvt_file_sink_push(fs);
	fs->retried_ns = 0;
	try_again(fs);
	while (any_busy(fs) && n >= 0) {
		n = xvt_loop_run(fs->loop, WAIT_NS);
		if (any_parked(fs))
			give_up_parked(fs);
	}
	if (n < 0 && !fs->err)
		fs->err = n;
	return fs->err;
}

bool xvt_file_sink_idle(const struct xvt_file_sink *fs)
{
	const struct buffer *b = &fs->buffers[fs->current];

	return !any_busy(fs) && (fs->err || b->len == b->carried);
}

static uint64_t sink_waited_ns(const struct xvt_sink *sink)
{
	const struct xvt_file_sink *fs = (const struct xvt_file_sink *)sink;

	return fs->waited_ns + (fs->since_ns ? xvt_monotonic_ns() - fs->since_ns : 0);
}

/* True if the next chunks would have to wait for a write; `full` holds whether they have space. */
static bool crowded(const struct xvt_file_sink *fs)
{
	return BUFFER_SIZE - fs->buffers[fs->current].len < ROOM_LEAST &&
	       xvt_file_sink_would_wait(fs);
}

static bool sink_hold(struct xvt_sink *sink)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	bool hold;

	if (fs->err)
		return false; /* the next write returns the error */
	if (fs->full)
		try_again(fs);
	if (!fs->full && crowded(fs)) {
		int n = xvt_loop_run_only(fs->loop, HOLD_NS, written);

		if (n < 0)
			fs->err = n;
	}
	hold = !fs->err && (fs->full || crowded(fs));
	if (hold)
		wait_begins(fs);
	else
		wait_ends(fs);
	return hold;
}

static bool sink_full(const struct xvt_sink *sink)
{
	return ((const struct xvt_file_sink *)sink)->full;
}

static int sink_space(const struct xvt_sink *sink, uint64_t *left, uint64_t *whole)
{
	const struct xvt_file_sink *fs = (const struct xvt_file_sink *)sink;
	const uint64_t taken = fs->buffers[fs->current].len + fs->reserve;
	struct statvfs st;
	uint64_t ahead;

	if (!fs->regular || fstatvfs(fs->fd, &st))
		return fs->regular ? -errno : -ENOTSUP;
	if (!st.f_blocks)
		return -ENOTSUP;
	ahead = fs->allocated > current_off(fs) ? fs->allocated - current_off(fs) : 0;
	*left = (uint64_t)st.f_bavail * st.f_frsize + ahead;
	*left -= *left < taken ? *left : taken;
	*whole = (uint64_t)st.f_blocks * st.f_frsize;
	return 0;
}

static bool has_offsets(int fd)
{
	return lseek(fd, 0, SEEK_CUR) >= 0;
}

/* A pipe also accepts O_DIRECT, with another meaning. */
static bool try_direct(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
}

/* Opens or creates the file, and notes in `made` if it was created under this path. */
static int open_file(struct xvt_file_sink *fs, const char *path)
{
	struct xvt_output o;
	bool made;
	int err = xvt_output_find(&o, path);

	if (err)
		return err;
	fs->fd = xvt_output_open_at(&o, O_WRONLY, TRACE_MODE, &made);
	xvt_output_close(&o);
	if (made && !o.linked)
		fs->made = strdup(path);
	return fs->fd < 0 ? fs->fd : 0;
}

static int create_file(struct xvt_file_sink *fs, const char *path)
{
	fs->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, TRACE_MODE);
	if (fs->fd < 0)
		return -errno;
	fs->made = strdup(path);
	return 0;
}

int xvt_file_sink_new(struct xvt_file_sink **out, struct xvt_loop *loop, const char *path,
		      bool only_new)
{
	struct xvt_file_sink *fs = calloc(1, sizeof(*fs));
	struct iovec area;
	unsigned int i;
	int err;

	if (!fs)
		return -ENOMEM;
	fs->area = aligned_alloc(BLOCK, (size_t)BUFFERS * BUFFER_SIZE);
	if (!fs->area) {
		free(fs);
		return -ENOMEM;
	}
	err = only_new ? create_file(fs, path) : open_file(fs, path);
	if (err) {
		free(fs->area);
		free(fs);
		return err;
	}
	flock(fs->fd, LOCK_EX | LOCK_NB);
	fs->direct = try_direct(fs->fd);
	fs->one_by_one = !has_offsets(fs->fd);
	area.iov_base = fs->area;
	area.iov_len = (size_t)BUFFERS * BUFFER_SIZE;
	xvt_loop_register(loop, &area);
	fs->base.write = sink_write;
	fs->base.room = sink_room;
	fs->base.written = sink_written;
	fs->base.settle = sink_settle;
	fs->base.waited_ns = sink_waited_ns;
	fs->base.hold = sink_hold;
	fs->base.full = sink_full;
	fs->base.space = sink_space;
	fs->loop = loop;
	fs->good = UINT64_MAX;
	fs->reserve = RESERVE_MOST;
	for (i = 0; i < BUFFERS; i++) {
		fs->buffers[i].op.done = written;
		fs->buffers[i].fs = fs;
		fs->buffers[i].bytes = fs->area + (size_t)i * BUFFER_SIZE;
	}
	*out = fs;
	return 0;
}

const char *xvt_file_sink_why(int err)
{
	return err == -ENOENT ? "the folder does not exist; make it first" : xvt_output_why(err);
}

void xvt_file_sink_patient(struct xvt_file_sink *fs)
{
	fs->patient = true;
}

uint64_t xvt_file_sink_reserve(uint64_t expected)
{
	const uint64_t part = xvt_u64_larger(expected / RESERVE_PART, RESERVE_LEAST);

	return expected && part < RESERVE_MOST ? part : RESERVE_MOST;
}

void xvt_file_sink_expect(struct xvt_file_sink *fs, uint64_t bytes)
{
	fs->expected = bytes;
	fs->reserve = xvt_file_sink_reserve(bytes);
}

struct xvt_sink *xvt_file_sink_base(struct xvt_file_sink *fs)
{
	return &fs->base;
}

/* The file's true end: without the last block's zeros; after an error, without unwritten bytes. */
static uint64_t true_end(const struct xvt_file_sink *fs)
{
	const struct buffer *b = &fs->buffers[fs->current];
	uint64_t end = b->off + b->carried;

	if (!fs->err)
		return b->off + b->len;
	return fs->good < end ? fs->good : end;
}

void xvt_file_sink_discard(struct xvt_file_sink *fs)
{
	fs->discarded = true;
	fs->err = fs->err ? fs->err : -ECANCELED;
}

int xvt_file_sink_close(struct xvt_file_sink *fs)
{
	int err = sink_settle(&fs->base);

	/* The loop has failed. The kernel may still read these buffers and write the file, and a
	 * later run of the loop may call written(). The buffers are kept as long as the process. */
	if (any_busy(fs))
		return err;
	if (!fs->discarded && begin(fs) && !err)
		err = fs->err;
	if (fs->discarded && fs->made)
		unlink(fs->made);
	if ((err ? fs->good != UINT64_MAX || fs->allocated : fs->padded || fs->allocated) &&
	    ftruncate(fs->fd, (off_t)true_end(fs)) && !err)
		err = -errno;
	if (close(fs->fd) && !err)
		err = -errno;
	xvt_loop_unregister(fs->loop, &(struct iovec){ fs->area, (size_t)BUFFERS * BUFFER_SIZE });
	free(fs->made);
	free(fs->area);
	free(fs);
	return err;
}
