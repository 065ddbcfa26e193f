/* SPDX-License-Identifier: GPL-2.0 */
/*
 * read.h - reads a .xvt file. The file is untrusted: any bytes are legal input. Nothing is used
 * before the CRC of its chunk and every length in it were checked. Damaged parts are skipped and
 * listed in the trace; the caller reports them.
 *
 * Opening goes through the chunks' headers, or the file's own INDEX, and loads FILE, VM, RING,
 * TIMEBASE and END. Everything else is read when it is asked for. Memory: 48 bytes a chunk;
 * for a cursor one chunk of each lane, XVT_LATE_BUDGET, and twice struct xvt_trace_raws.
 */
#ifndef XVT_TRACE_READ_H
#define XVT_TRACE_READ_H

#include <sys/types.h>

#include "base/error.h"
#include "trace/order_read.h"

#define XVT_VM_NONE UINT32_MAX

/* A whole chunk, in file order. */
struct xvt_chunk_ref {
	uint64_t offset; /* of its header */
	uint64_t seq;
	uint64_t first_ns; /* ORDER and LATE: as the chunk says, unproven until it is loaded */
	uint64_t last_ns;
	uint32_t len;
	uint32_t count;
	uint16_t type;
	bool bad;     /* was loaded and did not pass */
	bool checked; /* was loaded and passed */
	bool noted;   /* its events do not fit it, and that was noted */
};

/* A stretch of the file that is not readable. `why` is a constant. */
struct xvt_damage {
	uint64_t offset;
	uint64_t len;
	const char *why;
	const char *file; /* name of the file in its folder; NULL: there is one file */
};

#define XVT_DAMAGE_MAX	64

/* A cursor holds that much of the late lane, and for moments twice as much. */
#define XVT_LATE_BUDGET (16u << 20)

/* And that much of RAW chunks for each lane, and one more chunk. */
#define XVT_RAW_BUDGET	(32u << 20)

struct xvt_trace_vm {
	bool known;
	struct xvt_vm_info info;
	char name[XVT_NAME_LEN]; /* printable, never empty */
};

struct xvt_trace_ring {
	bool known;
	struct xvt_ring_info info;
};

struct xvt_set_part;
struct xvt_trace;

/* How a trace of several files is read, see set.h: as the functions of these names. */
struct xvt_trace_ops {
	ssize_t (*read_at)(struct xvt_trace *t, void *bytes, size_t len, uint64_t offset);
	int (*load_at)(struct xvt_trace *t, uint64_t offset, uint32_t len, struct xvt_chunk_buf *b);
	int (*load)(struct xvt_trace *t, size_t chunk, struct xvt_chunk_buf *b);
	/* Makes offset and file of a damage those of a file. */
	void (*locate)(const struct xvt_trace *t, struct xvt_damage *damage);
	/* Frees the parts. */
	void (*close)(struct xvt_trace *t);
	/* See copy.h. Copies the parts. */
	int (*copy)(struct xvt_trace *copy, const struct xvt_trace *t);
	/* Takes what the copy's parts found into those of the trace. */
	void (*join)(struct xvt_trace *t, const struct xvt_trace *copy);
	/* The trace's own name of a file of it. */
	const char *(*name)(const struct xvt_trace *t, const char *file);
};

struct xvt_trace {
	const struct xvt_trace_ops *ops; /* NULL: it is one file */
	struct xvt_set_part *parts;
	size_t part_count;
	int fd;		 /* read at places, so several threads may use it */
	bool fd_is_lent; /* by the trace that this is a copy of, see copy.h */
	char *path;
	uint64_t size;
	uint64_t trace_id;
	struct xvt_file_info info;
	struct xvt_chunk_ref *chunks;
	size_t chunk_count;
	size_t chunk_room;
	size_t given;	/* chunks before it are not read for events and states, see
			 * xvt_trace_grow() */
	bool indexed;	/* chunks are as an INDEX says, unproven until they are loaded */
	uint64_t walks; /* how often `chunks` was made */
	uint64_t reads; /* system calls so far, and what they brought */
	uint64_t read_len;
	struct xvt_trace_vm *vms;
	uint32_t vm_count;
	struct xvt_trace_ring *rings;
	uint32_t ring_count;
	/* The host's clock: FILE's line, then those of the TIMEBASE chunks. base_clock increases,
	 * base_ns does not decrease. */
	struct xvt_timebase *timebase;
	size_t timebase_count;
	size_t timebase_room;
	bool ended; /* has an END chunk */
	struct xvt_end end;
	/* Bytes that the search for the next whole chunk may still sum up: a file full of
	 * false headers must not cost n^2. */
	uint64_t scan_budget;
	size_t late_budget;   /* XVT_LATE_BUDGET; less for tests */
	size_t raw_budget;    /* XVT_RAW_BUDGET; less for tests */
	uint64_t tail_offset; /* where the last whole chunk ends */
	uint64_t first_ns;    /* over all ORDER and LATE chunks; 0 if there are none */
	uint64_t last_ns;
	struct xvt_damage damage[XVT_DAMAGE_MAX];
	size_t damage_count; /* may exceed XVT_DAMAGE_MAX */
};

/*
 * Open a trace. On failure returns -errno and writes what is wrong and what to do into why.
 *   -ENOENT, -EACCES, ...  from the system
 *   -EBADMSG               not a trace, or its first chunk is unreadable
 *   -EPROTO                written in a newer format
 */
int xvt_trace_open(struct xvt_trace **out, const char *path, struct xvt_error *why);
/*
 * The same for a caller that reads only a part: uses the INDEX chunks of the file, if it has them,
 * and takes a few reads for a file of any size. If an INDEX turns out to be wrong, that is noted as
 * damage, and the header of every chunk is read after all; see xvt_trace_load().
 */
int xvt_trace_open_indexed(struct xvt_trace **out, const char *path, struct xvt_error *why);
/*
 * For a trace that is being written: opens it without its chunks, which xvt_trace_grow() takes.
 * That takes the whole chunks that came since, up to one that is not whole yet, and sets `given` to
 * the first of them: cursors that begin then give their events alone. There must be no cursor.
 * Returns 1; 0: none came; -ENOMEM or a read error.
 */
int xvt_trace_open_growing(struct xvt_trace **out, const char *path, struct xvt_error *why);
int xvt_trace_grow(struct xvt_trace *t);
void xvt_trace_close(struct xvt_trace *t);

/* The contents of a STATS chunk, and of a LOST record, as this or an older recorder wrote them.
 * Return false if they are too short. */
bool xvt_stats_get(const struct xvt_chunk_buf *b, struct xvt_ring_stats *st);
/* Add the counters of earlier files of a set. */
void xvt_stats_add(struct xvt_ring_stats *to, const struct xvt_ring_stats *before);
bool xvt_lost_get(const struct xvt_event_hdr *h, const uint8_t *payload, struct xvt_lost *lost);

/*
 * Returns 0, -EBADMSG (the damage is noted, once), -ENOMEM or the read's error. -ESTALE: this chunk
 * is not what the index says, or damaged. t->chunks is a new list then, read from the file, and a
 * loop over it must begin again. That happens at most once, and only after
 * xvt_trace_open_indexed().
 */
int xvt_trace_load(struct xvt_trace *t, size_t chunk, struct xvt_chunk_buf *b);

#define XVT_CHUNKS_ALL UINT32_MAX

/*
 * Load the next chunk from *i on whose type is one of `types` (bits 1u << XVT_CHUNK_*), and skip
 * damaged ones. Returns 1, and chunk *i is in b; 0: there are no more; or as xvt_trace_load().
 */
int xvt_trace_next(struct xvt_trace *t, uint32_t types, size_t *i, struct xvt_chunk_buf *b);

/* Copy the element of `size` bytes at *at in the chunk's payload, and move *at behind it. Returns
 * false at the end. */
static inline bool xvt_chunk_take(const struct xvt_chunk_buf *b, uint32_t *at, void *element,
				  size_t size)
{
	if (b->len - *at < size)
		return false;
	memcpy(element, b->payload + *at, size);
	*at += (uint32_t)size;
	return true;
}

/* Returns bytes read (short only at the end of the file) or -errno. */
ssize_t xvt_trace_read_at(struct xvt_trace *t, void *bytes, size_t len, uint64_t offset);
/* Read and check the chunk at `offset`, which lies inside the file, of `len` payload bytes (or up
 * to seven less, then padding). Returns 0, -EBADMSG, -ENOMEM or the read's error. */
int xvt_trace_load_at(struct xvt_trace *t, uint64_t offset, uint32_t len, struct xvt_chunk_buf *b);

/*
 * Load every chunk that nothing has loaded yet, for its checksum alone: a command that says what is
 * in a trace says so only of a trace that is whole. Not after xvt_trace_open_indexed(). Returns 0,
 * -ENOMEM or a read error; damage is noted.
 */
int xvt_trace_check_rest(struct xvt_trace *t);

/* Bytes of the RAW chunks behind the last chunk of events. A recorder that was killed had not put
 * their records in order: no command reads them. 0 in a trace that was cleanly ended. */
uint64_t xvt_trace_unordered(const struct xvt_trace *t);

/* Number of the chunk that begins at that offset of the file; chunk_count if none does. */
size_t xvt_trace_chunk_at(const struct xvt_trace *t, uint64_t offset);
/* The same by its sequence number. */
size_t xvt_trace_chunk_of(const struct xvt_trace *t, uint64_t seq);

void xvt_trace_note_damage(struct xvt_trace *t, uint64_t offset, uint64_t len, const char *why);
/* The same of the events of the chunk that begins at `offset`, once for each chunk. */
void xvt_trace_note_chunk(struct xvt_trace *t, uint64_t offset, const char *why);

/* CLOCK_REALTIME of the host at a host_ns, as the host had it then: the clock may have been set
 * between two events. */
uint64_t xvt_trace_wall_ns(const struct xvt_trace *t, uint64_t host_ns);

static inline uint32_t xvt_event_ring(const struct xvt_event *ev)
{
	return ev->hdr->ring_flags & XVT_EVENT_RING_MASK;
}

/* Number of the VM that a ring belongs to, or XVT_VM_NONE. */
static inline uint32_t xvt_ring_vm(const struct xvt_trace *t, uint32_t ring)
{
	return ring < t->ring_count && t->rings[ring].known ? t->rings[ring].info.vm : XVT_VM_NONE;
}

/* Never NULL, printable. */
const char *xvt_vm_name(const struct xvt_trace *t, uint32_t vm);

/* Returns true for an event of the guest, false for a record about the ring or by the host. */
static inline bool xvt_is_event(const struct xvt_event_hdr *h)
{
	return h->id >= XVT_ID_FIRST_EVENT;
}

#endif /* XVT_TRACE_READ_H */
