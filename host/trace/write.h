/* SPDX-License-Identifier: GPL-2.0 */
/*
 * write.h - makes the chunks of a .xvt file. Knows the format; does not know where
 * bytes go: they leave through a sink (io_uring, plain write, a test's memory).
 */
#ifndef XVT_TRACE_WRITE_H
#define XVT_TRACE_WRITE_H

#include <stdbool.h>

#include "trace/order_write.h"

/*
 * Where whole chunks go, in order. `write` takes `len` bytes (copied or written before it
 * returns, the caller reuses the buffer) and returns 0 or -errno. After an error the writer
 * writes nothing more, so that the file ends with a whole chunk.
 */
struct xvt_sink {
	int (*write)(struct xvt_sink *sink, const void *bytes, size_t len);
	/*
	 * May be NULL, and may return NULL: room for the next `len` bytes, so that they need not be
	 * copied. It stays until the next write(), which may be told that very address.
	 */
	uint8_t *(*room)(struct xvt_sink *sink, size_t len);
	/* May be NULL: how many of the bytes are in the file for good, whatever becomes of this
	 * process. Without it: all. */
	uint64_t (*written)(const struct xvt_sink *sink);
	/* May be NULL: wait until all of them are. Returns the first error so far. */
	int (*settle)(struct xvt_sink *sink);
	/* May be NULL: for how long write() and room() have waited for the disk, ever. Also while
	 * one of them does. */
	uint64_t (*waited_ns)(const struct xvt_sink *sink);
	/*
	 * May be NULL. True: a write of many events would have to wait, for a write that is under
	 * way or for space on the disk. A caller that has other work does it first, and asks again.
	 * Such times count as waited, up to the call that returns false.
	 */
	bool (*hold)(struct xvt_sink *sink);
	/* May be NULL. True: it is for want of space. */
	bool (*full)(const struct xvt_sink *sink);
	/* May be NULL. How many bytes the trace may still take of its file system, and how many
	 * that has in all. Returns 0 or -errno: it cannot be known. */
	int (*space)(const struct xvt_sink *sink, uint64_t *left, uint64_t *whole);
};

struct xvt_trace_writer;

/* Starts a trace: writes the FILE chunk. `info` needs clock fields and host_name only.
 * Returns 0, -ENOMEM or the sink's error. */
int xvt_trace_writer_new(struct xvt_trace_writer **out, struct xvt_sink *sink,
			 const struct xvt_file_info *info);

/* From here on RAW, ORDER, LATE and large META chunks are compressed, where that makes them
 * smaller. `level` as for xvt_packer_new(). Returns 0, -ENOTSUP (built without zstd) or -ENOMEM. */
int xvt_trace_compress(struct xvt_trace_writer *w, unsigned int level);

/* One chunk of any type from two parts; flushes gathered events first, so order is kept. Returns 0,
 * the sink's error, -ENOMEM or -EMSGSIZE (longer than XVT_CHUNK_LEN_MAX). All of them end the trace
 * there: after any error nothing more is written. */
int xvt_trace_put(struct xvt_trace_writer *w, uint16_t type, const void *head, size_t head_len,
		  const void *body, size_t body_len);

/*
 * Gathers a piece into the current RAW chunk. *chunk is where that begins in the file, *at where
 * the bytes begin in its payload: places of its records are counted from there.
 */
int xvt_trace_piece(struct xvt_trace_writer *w, const struct xvt_raw_piece *p, const void *bytes,
		    uint64_t *chunk, uint32_t *at);

/* The lane of such flags, with room for an event: for those who add many, see order_write.h.
 * Returns NULL after an error. */
struct xvt_order *xvt_trace_order(struct xvt_trace_writer *w, uint32_t ring_flags);

/* While it is on, no chunk of a lane leaves because of an event that is added. */
void xvt_trace_together(struct xvt_trace_writer *w, bool on);

/* Gathers a record of such a piece into the current ORDER (or LATE, by its flag) chunk; `line` as
 * for xvt_order_record(). Of hdr neither id nor len are needed. */
int xvt_trace_record(struct xvt_trace_writer *w, const struct xvt_event_hdr *hdr,
		     const struct xvt_raw_place *place, const struct xvt_clock_segment *line);

/* The same of an event of the host's own, which is in no piece. */
int xvt_trace_event(struct xvt_trace_writer *w, const struct xvt_event_hdr *hdr,
		    const void *payload);

/* Writes what is gathered. */
int xvt_trace_flush(struct xvt_trace_writer *w);

/* The first error so far, or 0. */
int xvt_trace_error(const struct xvt_trace_writer *w);

/* Bytes handed to the sink so far. */
uint64_t xvt_trace_bytes(const struct xvt_trace_writer *w);

/* Bytes of events that are gathered and not handed over yet. */
uint64_t xvt_trace_gathered(const struct xvt_trace_writer *w);

/* Bytes of all RAW, ORDER and LATE chunks handed over, before and after compression. */
void xvt_trace_event_bytes(const struct xvt_trace_writer *w, uint64_t *raw, uint64_t *stored);

/* How many of them are in the file for good. */
uint64_t xvt_trace_written(const struct xvt_trace_writer *w);

/* Flush, INDEX, END. Returns the first error of the writer's life. Frees w. */
int xvt_trace_writer_finish(struct xvt_trace_writer *w);
/* The same in two steps: in between it may still be asked. */
int xvt_trace_writer_end(struct xvt_trace_writer *w);
void xvt_trace_writer_free(struct xvt_trace_writer *w);

#endif /* XVT_TRACE_WRITE_H */
