/* SPDX-License-Identifier: GPL-2.0 */
/* write.h - writes the chunks of a .xvt file. The writer knows the format; the bytes go to a sink
 * (io_uring, plain write, a test's memory). */
#ifndef XVT_TRACE_WRITE_H
#define XVT_TRACE_WRITE_H

#include <stdbool.h>

#include "trace/order_write.h"

/*
 * The destination of whole chunks, in order. `write` takes `len` bytes (it copies or writes them
 * before it returns, because the caller reuses the buffer) and returns 0 or -errno. After an error
 * the writer writes nothing more, so that the file ends with a whole chunk.
 */
struct xvt_sink {
	/* Called, if set, before bytes that were written go to the file: a reader may see them from
	 * then on. Set by the user of the sink. */
	void (*before)(void *arg);
	void *before_arg;
	int (*write)(struct xvt_sink *sink, const void *bytes, size_t len);
	/* Returns room for the next `len` bytes, so that they need not be copied, or NULL. The
	 * pointer is valid until the next write(), which may get that address. May be NULL. */
	uint8_t *(*room)(struct xvt_sink *sink, size_t len);
	/* Returns how many bytes are in the file for good, even if this process dies. NULL: all. */
	uint64_t (*written)(const struct xvt_sink *sink);
	/* Waits until all bytes are in the file. Returns the first error so far. May be NULL. */
	int (*settle)(struct xvt_sink *sink);
	/* Returns how long, in ns, write() and room() have waited for the disk since the start,
	 * with a wait in progress. May be NULL. */
	uint64_t (*waited_ns)(const struct xvt_sink *sink);
	/*
	 * Returns true if a write of many events would have to wait, for a write in progress or for
	 * space on the disk. The caller then does other work first, and asks again. This time
	 * counts as waited, up to the call that returns false. May be NULL.
	 */
	bool (*hold)(struct xvt_sink *sink);
	/* Returns true if there is no space. May be NULL. */
	bool (*full)(const struct xvt_sink *sink);
	/*
	 * Prepares a next file, to which next() then switches: bytes from there on go to it.
	 * Returns 0, -EAGAIN if it would have to wait, or -errno. NULL, both: there is one file.
	 * written() counts the bytes of all files; what room() gave last is not in use at next().
	 */
	int (*prepare)(struct xvt_sink *sink);
	void (*next)(struct xvt_sink *sink);
	/* Gives the bytes that the trace may still take of its file system, and the file system's
	 * size. Returns 0, or -errno if they are unknown. May be NULL. */
	int (*space)(const struct xvt_sink *sink, uint64_t *left, uint64_t *whole);
};

struct xvt_trace_writer;

/* Starts a trace: writes the FILE chunk. `info` needs only its clock fields and host_name. Returns
 * 0, -ENOMEM or the sink's error. */
int xvt_trace_writer_new(struct xvt_trace_writer **out, struct xvt_sink *sink,
			 const struct xvt_file_info *info);

/* Compresses RAW, ORDER, LATE, LOOSE and large META chunks from here on, where that makes them
 * smaller. `level` as for xvt_packer_new(). Returns 0, -ENOTSUP (built without zstd) or -ENOMEM. */
int xvt_trace_compress(struct xvt_trace_writer *w, unsigned int level);

/*
 * Writes one chunk of any type from two parts; flushes gathered events first, so that order is
 * kept. Returns 0, the sink's error, -ENOMEM or -EMSGSIZE (longer than XVT_CHUNK_LEN_MAX). Every
 * error ends the trace: nothing more is written after it.
 */
int xvt_trace_put(struct xvt_trace_writer *w, uint16_t type, const void *head, size_t head_len,
		  const void *body, size_t body_len);

/* Adds a piece to the current RAW chunk. *chunk: the chunk's sequence number. *at: the offset of
 * the piece's bytes in its payload; places of the piece's records are relative to it. */
int xvt_trace_piece(struct xvt_trace_writer *w, const struct xvt_raw_piece *p, const void *bytes,
		    uint64_t *chunk, uint32_t *at);

/* Returns a lane, for callers that add many events, see order_write.h; NULL after an error. */
struct xvt_order *xvt_trace_lane(struct xvt_trace_writer *w, enum xvt_lane lane);

/* The lane of events with these flags that the caller has in order of time. */
static inline enum xvt_lane xvt_trace_lane_of(uint32_t ring_flags)
{
	return ring_flags & XVT_EVENT_F_LATE ? XVT_LANE_LATE : XVT_LANE_MAIN;
}

/* While on, adding an event does not write a lane's chunk. */
void xvt_trace_together(struct xvt_trace_writer *w, bool on);

/* Adds an event of the host's own, which is in no piece, to a lane. */
int xvt_trace_lane_event(struct xvt_trace_writer *w, enum xvt_lane lane,
			 const struct xvt_event_hdr *hdr, const void *payload);
/* The same to the lane that its flags say. */
int xvt_trace_event(struct xvt_trace_writer *w, const struct xvt_event_hdr *hdr,
		    const void *payload);

/* Writes the gathered chunks. */
int xvt_trace_flush(struct xvt_trace_writer *w);

/* Nothing is written from here on, as after an error of its own. The first error counts. */
void xvt_trace_fail(struct xvt_trace_writer *w, int err);
/* The first error so far, or 0. */
int xvt_trace_error(const struct xvt_trace_writer *w);

/*
 * Ends the file with INDEX and END, switches the sink to the file that its prepare() made, and
 * begins that with `info`, as xvt_trace_writer_new() does. Places of pieces are not valid after it.
 * Returns 0, or an error, which ends the trace.
 */
int xvt_trace_writer_next(struct xvt_trace_writer *w, const struct xvt_file_info *info);

/* Sequence number of the next chunk that is handed to the sink. */
uint64_t xvt_trace_next_seq(const struct xvt_trace_writer *w);

/* Bytes handed to the sink so far; and of them, those of the present file. */
uint64_t xvt_trace_bytes(const struct xvt_trace_writer *w);
uint64_t xvt_trace_file_bytes(const struct xvt_trace_writer *w);

/* Bytes of gathered events that were not handed to the sink yet. */
uint64_t xvt_trace_gathered(const struct xvt_trace_writer *w);

/* Bytes of all chunks of events handed over, before and after compression. */
void xvt_trace_event_bytes(const struct xvt_trace_writer *w, uint64_t *raw, uint64_t *stored);

/* Bytes that are in the file for good. */
uint64_t xvt_trace_written(const struct xvt_trace_writer *w);

/* Flushes, writes INDEX and END. Returns the first error of the writer's life. Frees w. */
int xvt_trace_writer_finish(struct xvt_trace_writer *w);
/* The same in two steps; in between the writer may still be queried. */
int xvt_trace_writer_end(struct xvt_trace_writer *w);
void xvt_trace_writer_free(struct xvt_trace_writer *w);

#endif /* XVT_TRACE_WRITE_H */
