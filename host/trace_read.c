// SPDX-License-Identifier: GPL-2.0
/*
 * trace_read.c - see trace_read.h. Knows chunks and events, nothing of what is inside an
 * event. Reads by pread, never by a mapping: a file may shrink while we read it.
 */
#define _GNU_SOURCE /* qsort_r */
#include "trace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"
#include "opt.h"

/* Numbers may have holes (a damaged chunk), but a file cannot make us allocate at will. */
#define VM_MAX	   4096u
#define RING_MAX   (XVT_EVENT_RING_MASK + 1)
#define RING_GAP   65536u
#define SCAN_BYTES (64u << 10)

static uint64_t pad8(uint64_t len)
{
	return (len + 7) & ~7ull;
}

/* Returns bytes read (short only at the end of the file) or -errno. */
static ssize_t read_at(const struct xvt_trace *t, void *bytes, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(t->fd, (char *)bytes + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
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

void xvt_chunk_buf_free(struct xvt_chunk_buf *b)
{
	free(b->bytes);
	memset(b, 0, sizeof(*b));
}

/* Read and check the chunk at `offset`, which lies inside the file. */
static int load_at(struct xvt_trace *t, uint64_t offset, uint32_t len, struct xvt_chunk_buf *b)
{
	size_t whole = sizeof(struct xvt_chunk_hdr) + len;
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
	n = read_at(t, b->bytes, whole, offset);
	if (n < 0)
		return (int)n;
	if ((size_t)n < whole)
		return -EBADMSG;
	h = (struct xvt_chunk_hdr *)b->bytes;
	crc = h->crc;
	h->crc = 0;
	if (h->magic != XVT_CHUNK_MAGIC || h->len != len || xvt_crc32c(0, b->bytes, whole) != crc)
		return -EBADMSG;
	b->payload = b->bytes + sizeof(*h);
	b->len = len;
	return 0;
}

int xvt_trace_load(struct xvt_trace *t, size_t chunk, struct xvt_chunk_buf *b)
{
	struct xvt_chunk_ref *ref = &t->chunks[chunk];
	int err = ref->bad ? -EBADMSG : load_at(t, ref->offset, ref->len, b);

	if (err == -EBADMSG && !ref->bad) {
		ref->bad = true;
		xvt_trace_note_damage(t, ref->offset, sizeof(struct xvt_chunk_hdr) + ref->len,
				      "checksum does not match");
	}
	return err;
}

/* What the open needs of a chunk's start. */
struct head {
	struct xvt_chunk_hdr h;
	struct xvt_events_hdr events;
};

/* 1: a header of this trace that fits the file. 0: not. Else -errno. */
static int read_head(const struct xvt_trace *t, uint64_t offset, struct head *head)
{
	ssize_t n;

	memset(head, 0, sizeof(*head));
	if (offset > t->size || t->size - offset < sizeof(head->h))
		return 0;
	n = read_at(t, head, sizeof(*head), offset);
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(head->h) || head->h.magic != XVT_CHUNK_MAGIC ||
	    head->h.trace_id != t->trace_id || head->h.len > XVT_CHUNK_LEN_MAX)
		return 0;
	return pad8(head->h.len) <= t->size - offset - sizeof(head->h);
}

/* Only these must be right before they are read. */
static bool wanted_at_open(uint16_t type)
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
	if (t->timebase_count == t->timebase_room) {
		size_t more = t->timebase_room ? t->timebase_room * 2 : 16;
		void *grown = realloc(t->timebase, more * sizeof(*t->timebase));

		if (!grown)
			return -ENOMEM;
		t->timebase = grown;
		t->timebase_room = more;
	}
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
	for (uint32_t at = 0; b->len - at >= sizeof(line); at += sizeof(line)) {
		const struct xvt_timebase *last = &t->timebase[t->timebase_count - 1];
		int err;

		memcpy(&line, b->payload + at, sizeof(line));
		/* In order, so that everybody can search in them. */
		if (line.base_clock <= last->base_clock || line.base_ns < last->base_ns ||
		    !line.mult || line.shift > 63)
			return -EBADMSG;
		err = add_line(t, &line);
		if (err)
			return err;
	}
	return 0;
}

uint64_t xvt_trace_wall_ns(const struct xvt_trace *t, uint64_t host_ns)
{
	size_t lo = 1, hi = t->timebase_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->timebase[mid].base_ns <= host_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return t->timebase[lo - 1].realtime_ns + (host_ns - t->timebase[lo - 1].base_ns);
}

static int add_chunk(struct xvt_trace *t, size_t *room, uint64_t offset, const struct head *head)
{
	struct xvt_chunk_ref *ref;

	if (t->chunk_count == *room) {
		size_t more = *room ? *room * 2 : 256;
		void *grown = realloc(t->chunks, more * sizeof(*t->chunks));

		if (!grown)
			return -ENOMEM;
		t->chunks = grown;
		*room = more;
	}
	ref = &t->chunks[t->chunk_count++];
	*ref = (struct xvt_chunk_ref){
		.offset = offset,
		.seq = head->h.seq,
		.len = head->h.len,
		.type = head->h.type,
	};
	if ((ref->type == XVT_CHUNK_EVENTS || ref->type == XVT_CHUNK_LATE) &&
	    ref->len >= sizeof(head->events)) {
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
	uint64_t at = pad8(from);

	if (!scan)
		return -ENOMEM;
	while (at < t->size) {
		ssize_t n = read_at(t, scan, SCAN_BYTES, at);

		if (n < (ssize_t)sizeof(struct xvt_chunk_hdr)) {
			if (n < 0)
				found = n;
			goto out;
		}
		for (ssize_t i = 0; i + 8 <= n; i += 8) {
			struct head head;
			uint32_t magic;
			int is;

			memcpy(&magic, scan + i, sizeof(magic));
			if (magic != XVT_CHUNK_MAGIC)
				continue;
			is = read_head(t, at + (uint64_t)i, &head);
			if (is <= 0 || t->scan_budget < head.h.len)
				continue;
			t->scan_budget -= head.h.len;
			if (!load_at(t, at + (uint64_t)i, head.h.len, b)) {
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

/*
 * Take the chunk at `offset`, whose header fits. Returns 0, -EBADMSG if it turned out to be
 * damaged (*why says how), or another error.
 */
static int take_chunk(struct xvt_trace *t, size_t *room, uint64_t offset, const struct head *head,
		      uint64_t next_seq, struct xvt_chunk_buf *b, const char **why)
{
	uint64_t next = offset + sizeof(head->h) + pad8(head->h.len);
	struct head after;
	int follows, err = 0;

	*why = "checksum does not match";
	/* A wrong length shows in what follows. Where the next header is the expected one,
	 * the payload's own check can wait until somebody reads it. */
	follows = next == t->size ? 1 : read_head(t, next, &after);
	if (follows < 0)
		return follows;
	if (follows && next != t->size && after.h.seq != head->h.seq + 1)
		follows = 0;
	if (!follows || wanted_at_open(head->h.type) || head->h.seq != next_seq)
		err = load_at(t, offset, head->h.len, b);
	if (err)
		return err;
	if (head->h.seq < next_seq) {
		*why = "a chunk that was there before";
		return -EBADMSG;
	}
	if (head->h.seq > next_seq)
		xvt_trace_note_damage(t, offset, 0, "chunks are missing before this place");
	if (head->h.flags)
		return 0; /* an encoding that we do not know: skipped as the format says */
	if (head->h.type == XVT_CHUNK_VM)
		err = take_vm(t, b, why);
	else if (head->h.type == XVT_CHUNK_RING)
		err = take_ring(t, b, why);
	else if (head->h.type == XVT_CHUNK_TIMEBASE)
		err = take_timebase(t, b, why);
	if (head->h.type == XVT_CHUNK_END && head->h.len >= sizeof(t->end)) {
		memcpy(&t->end, b->payload, sizeof(t->end));
		t->ended = true;
	}
	if (err == -EBADMSG)
		xvt_trace_note_damage(t, offset, sizeof(head->h) + head->h.len, *why);
	else if (err)
		return err;
	return add_chunk(t, room, offset, head);
}

static int walk(struct xvt_trace *t, struct xvt_chunk_buf *b)
{
	uint64_t offset = 0, next_seq = 0;
	size_t room = 0;

	t->first_ns = UINT64_MAX;
	t->scan_budget = 4 * t->size + (1u << 20);
	while (offset < t->size) {
		const char *why = "no chunk begins here";
		struct head head;
		int64_t found;
		int err = read_head(t, offset, &head);

		if (err < 0)
			return err;
		err = err ? take_chunk(t, &room, offset, &head, next_seq, b, &why) : -EBADMSG;
		if (!err) {
			next_seq = head.h.seq + 1;
			offset += sizeof(head.h) + pad8(head.h.len);
			t->tail_offset = offset;
			continue;
		}
		if (err != -EBADMSG)
			return err;
		found = resync(t, offset + 8, b);
		if (found < 0)
			return (int)found;
		/* Nothing readable follows: that is how a killed recorder leaves a file. */
		if ((uint64_t)found >= t->size && !t->ended)
			break;
		xvt_trace_note_damage(t, offset, (uint64_t)found - offset, why);
		offset = (uint64_t)found;
	}
	if (t->first_ns == UINT64_MAX)
		t->first_ns = 0;
	return 0;
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
	n = read_at(t, &first, sizeof(first), 0);
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
	err = load_at(t, 0, first.h.len, b);
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
	if (first.info.incompat) {
		snprintf(why, why_size,
			 "uses features (bits 0x%x) that this xvtrace does not know; use a newer "
			 "one",
			 first.info.incompat);
		return -EPROTO;
	}
	t->info = first.info;
	memcpy(&t->trace_id, t->info.uuid, sizeof(t->trace_id));
	return 0;
}

static int open_file(struct xvt_trace *t, const char *path, char *why, size_t why_size)
{
	struct stat st;

	t->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0 || fstat(t->fd, &st)) {
		int err = -errno;

		return refuse(why, why_size, err, strerror(-err));
	}
	if (S_ISDIR(st.st_mode))
		return refuse(why, why_size, -EISDIR, "is a directory; give a .xvt file");
	if (!S_ISREG(st.st_mode))
		return refuse(why, why_size, -EINVAL, "is not a regular file; give a .xvt file");
	t->size = (uint64_t)st.st_size;
	return 0;
}

int xvt_trace_open(struct xvt_trace **out, const char *path, char *why, size_t why_size)
{
	struct xvt_trace *t = calloc(1, sizeof(*t));
	struct xvt_chunk_buf b = { 0 };
	int err = -ENOMEM;

	*out = NULL;
	snprintf(why, why_size, "out of memory");
	if (!t)
		return err;
	t->fd = -1;
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
		err = walk(t, &b);
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

int xvt_trace_complain(const struct xvt_trace *t, bool quiet)
{
	const char *end = t->ended ? "" : "; not cleanly ended either";

	if (t->damage_count) {
		if (!quiet)
			xvt_error(
				t->path,
				"damaged in %zu place%s, the first at byte %llu (%s); the rest was "
				"read%s; 'xvtrace verify' lists them",
				t->damage_count, t->damage_count == 1 ? "" : "s",
				(unsigned long long)t->damage[0].offset, t->damage[0].why, end);
		return 1;
	}
	if (!t->ended && !quiet) {
		unsigned long long tail = t->size - t->tail_offset;

		if (tail)
			xvt_warn(t->path,
				 "not cleanly ended: the last %llu bytes are no whole chunk and "
				 "were "
				 "left out (recorder killed, or file cut)",
				 tail);
		else
			xvt_warn(t->path,
				 "not cleanly ended: the recorder was killed, or still runs");
	}
	return 0;
}

const char *xvt_vm_name(const struct xvt_trace *t, uint32_t vm)
{
	return vm < t->vm_count && t->vms[vm].known ? t->vms[vm].name : "?";
}

int xvt_events_begin(struct xvt_events_iter *it, const struct xvt_chunk_buf *b, uint64_t chunk_seq)
{
	struct xvt_events_hdr h;

	if (b->len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, b->payload, sizeof(h));
	it->at = b->payload + sizeof(h);
	it->end = b->payload + b->len;
	it->left = h.count;
	it->chunk_seq = chunk_seq;
	return 0;
}

static void note_bad_events(struct xvt_trace *t, size_t chunk)
{
	struct xvt_chunk_ref *ref = &t->chunks[chunk];

	if (!ref->bad)
		xvt_trace_note_damage(t, ref->offset, sizeof(struct xvt_chunk_hdr) + ref->len,
				      "an event reaches past its chunk");
	ref->bad = true;
}

/* For qsort_r: by time, then VM, then ring, then the ring's own clock, then the file. */
static int compare_events(const void *pa, const void *pb, void *arg)
{
	const struct xvt_event *a = pa, *b = pb;
	const struct xvt_trace *t = arg;
	uint32_t ring_a = xvt_event_ring(a), ring_b = xvt_event_ring(b);
	uint32_t vm_a = xvt_ring_vm(t, ring_a), vm_b = xvt_ring_vm(t, ring_b);

	if (a->hdr->host_ns != b->hdr->host_ns)
		return a->hdr->host_ns < b->hdr->host_ns ? -1 : 1;
	if (vm_a != vm_b)
		return vm_a < vm_b ? -1 : 1;
	if (ring_a != ring_b)
		return ring_a < ring_b ? -1 : 1;
	if (a->hdr->guest_clock != b->hdr->guest_clock)
		return a->hdr->guest_clock < b->hdr->guest_clock ? -1 : 1;
	if (a->chunk_seq != b->chunk_seq)
		return a->chunk_seq < b->chunk_seq ? -1 : 1;
	return a->payload < b->payload ? -1 : a->payload > b->payload;
}

static bool in_range(const struct xvt_cursor *c, uint64_t ns)
{
	return ns >= c->from_ns && ns <= c->to_ns;
}

static int keep_late(struct xvt_cursor *c, const struct xvt_event *ev, size_t *room)
{
	if (c->late_count == *room) {
		size_t more = *room ? *room * 2 : 256;
		void *grown = realloc(c->late, more * sizeof(*c->late));

		if (!grown)
			return -ENOMEM;
		c->late = grown;
		*room = more;
	}
	c->late[c->late_count++] = *ev;
	return 0;
}

/* The late lane is read whole: it has no order of its own. */
static int load_late_chunk(struct xvt_cursor *c, size_t chunk, size_t *room)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_events_iter it;
	struct xvt_event ev;
	void *grown;
	int err = xvt_trace_load(c->t, chunk, &b);

	if (err) {
		xvt_chunk_buf_free(&b);
		return err == -EBADMSG ? 0 : err;
	}
	grown = realloc(c->late_bytes, (c->late_chunks + 1) * sizeof(*c->late_bytes));
	if (!grown) {
		xvt_chunk_buf_free(&b);
		return -ENOMEM;
	}
	c->late_bytes = grown;
	c->late_bytes[c->late_chunks++] = b.bytes;
	err = xvt_events_begin(&it, &b, c->t->chunks[chunk].seq);
	while (!err) {
		int got = xvt_events_next(&it, &ev);

		if (got == 0)
			return 0;
		if (got < 0)
			err = got;
		else if (in_range(c, ev.hdr->host_ns))
			err = keep_late(c, &ev, room);
	}
	if (err != -EBADMSG)
		return err;
	note_bad_events(c->t, chunk);
	return 0;
}

int xvt_cursor_init(struct xvt_cursor *c, struct xvt_trace *t, uint64_t from_ns, uint64_t to_ns)
{
	size_t room = 0;
	int err = 0;

	memset(c, 0, sizeof(*c));
	c->t = t;
	c->from_ns = from_ns;
	c->to_ns = to_ns;
	for (size_t i = 0; i < t->chunk_count && !err; i++)
		if (t->chunks[i].type == XVT_CHUNK_LATE && t->chunks[i].last_ns >= from_ns &&
		    t->chunks[i].first_ns <= to_ns)
			err = load_late_chunk(c, i, &room);
	if (err) {
		xvt_cursor_fini(c);
		return err;
	}
	if (c->late_count)
		qsort_r(c->late, c->late_count, sizeof(*c->late), compare_events, t);
	return 0;
}

void xvt_cursor_fini(struct xvt_cursor *c)
{
	for (size_t i = 0; i < c->late_chunks; i++)
		free(c->late_bytes[i]);
	free(c->late_bytes);
	free(c->late);
	xvt_chunk_buf_free(&c->buf);
	memset(c, 0, sizeof(*c));
}

/* 1: it is ready for the next chunk's events. 0: no more chunks. */
static int next_chunk(struct xvt_cursor *c)
{
	struct xvt_trace *t = c->t;

	for (; c->chunk < t->chunk_count; c->chunk++) {
		struct xvt_chunk_ref *ref = &t->chunks[c->chunk];
		int err;

		if (ref->type != XVT_CHUNK_EVENTS || ref->last_ns < c->from_ns ||
		    ref->first_ns > c->to_ns)
			continue;
		err = xvt_trace_load(t, c->chunk, &c->buf);
		if (err == -EBADMSG)
			continue;
		if (err)
			return err;
		if (xvt_events_begin(&c->it, &c->buf, ref->seq)) {
			note_bad_events(t, c->chunk);
			continue;
		}
		c->chunk++;
		return 1;
	}
	return 0;
}

static int next_main(struct xvt_cursor *c, struct xvt_event *ev)
{
	for (;;) {
		int got = xvt_events_next(&c->it, ev);

		if (xvt_likely(got > 0)) {
			if (xvt_likely(in_range(c, ev->hdr->host_ns)))
				return 1;
			continue;
		}
		if (got < 0)
			note_bad_events(c->t, c->chunk - 1);
		got = next_chunk(c);
		if (got <= 0)
			return got;
	}
}

int xvt_cursor_next(struct xvt_cursor *c, struct xvt_event *ev)
{
	int got;

	if (xvt_likely(c->late_at == c->late_count) && !c->ahead.hdr)
		return c->main_done ? 0 : next_main(c, ev);
	if (!c->ahead.hdr && !c->main_done) {
		got = next_main(c, &c->ahead);
		if (got < 0)
			return got;
		if (got == 0) {
			c->ahead.hdr = NULL;
			c->main_done = true;
		}
	}
	if (c->late_at < c->late_count &&
	    (!c->ahead.hdr || compare_events(&c->late[c->late_at], &c->ahead, c->t) < 0)) {
		*ev = c->late[c->late_at++];
		return 1;
	}
	if (!c->ahead.hdr)
		return 0;
	*ev = c->ahead;
	c->ahead.hdr = NULL;
	return 1;
}

size_t xvt_nodes_seen(const struct xvt_clock_node *nodes, size_t i)
{
	size_t n = 0;

	if (!(nodes[i].flags & XVT_NODE_F_SINCE) || nodes[i].source == XVT_SOURCE_DRAIN)
		return 0;
	while (n < i && nodes[i - n - 1].source == XVT_SOURCE_DRAIN &&
	       nodes[i - n - 1].epoch == nodes[i].epoch)
		n++;
	return n;
}

void xvt_nodes_settle(struct xvt_clock_node *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t n = xvt_nodes_seen(nodes, i); n; n--) {
			struct xvt_clock_node *seen = &nodes[i - n];

			if (seen->segment_bound_ns > nodes[i].segment_bound_ns)
				seen->segment_bound_ns = nodes[i].segment_bound_ns;
		}
	}
}
