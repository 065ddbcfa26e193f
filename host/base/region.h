/* SPDX-License-Identifier: GPL-2.0 */
/*
 * region.h - a region as the host holds it: an open file, a mapping, and a private, checked
 * geometry. Control words are only read and written as aligned atomics through the mapping. A file
 * that shrinks under the mapping does not kill the process: the mapping is replaced by zeros and
 * `gone` is set. A user of the mapping checks `gone` afterwards.
 */
#ifndef XVT_REGION_HOST_H
#define XVT_REGION_HOST_H

#include "xvt_check.h"

struct xvt_host_region {
	int fd;
	uint8_t *map;
	uint64_t size;
	struct xvt_geometry g;
	struct xvt_region_hdr hdr; /* private copy, as checked */
	struct xvt_fault fault;
	uint32_t gone; /* set by the SIGBUS handler, by an atomic store */
};

/* The longest TLV of the metadata that goes into a trace, where it is one chunk; longer ones are
 * left out. A format takes some KiB, and guests send their symbols in pieces. */
#define XVT_META_LEN_MAX (16u << 20)

/* The word for what writes the events of a region of that kind, XVT_KIND_*; NULL: an unknown one.
 */
const char *xvt_host_region_way(uint32_t kind);
/* The folder in which QEMU makes the regions of its machines: /dev/shm, or $XVTRACE_SHM_DIR. */
const char *xvt_host_region_dir(void);

/*
 * Opens and maps a file. Returns 0, -errno of open() or mmap(), -ENODATA for a file that is empty
 * or too small, -EISDIR for a directory, -EMEDIUMTYPE for anything else that is not a regular file.
 * The open does not wait for the other side of a FIFO. The header is not checked.
 */
int xvt_host_region_open(struct xvt_host_region *r, const char *path, bool writable);

/* The same to read what others write there. Nothing can be written by the mapping. */
int xvt_host_region_watch(struct xvt_host_region *r, const char *path);

/* Makes a region of `size` zeros that only this process has. Returns 0 or -errno. */
int xvt_host_region_own(struct xvt_host_region *r, uint64_t size);

/* Explains the error of xvt_host_region_open(). The text may be that of strerror(). */
const char *xvt_host_region_open_why(int err);

/* Copies the header and checks it. Returns as xvt_check_header(), or -ENODATA for a truncated file;
 * r->fault has the reason. */
int xvt_host_region_check(struct xvt_host_region *r);

/* Claims the host's words, which have one writer, for this process, until the region is closed or
 * the process ends in any way. wait_ms: as of xvt_lock_take(). Returns 0, or -EBUSY when another
 * process holds the claim. */
int xvt_host_region_claim(struct xvt_host_region *r, unsigned int wait_ms);

/*
 * Ask the guest to switch events: a line of at most XVT_REQUEST_LEN bytes, by a region that is
 * claimed. The guest has one word for its answer, so a request for each event shows which one the
 * answer is about. Returns the number that its request_ack has once it has answered.
 */
uint32_t xvt_host_region_ask(struct xvt_host_region *r, const char *line, size_t len);

/* Explains what the guest answered, if that is not 0. */
const char *xvt_host_region_refusal(int32_t result);

void xvt_host_region_close(struct xvt_host_region *r);

/* Reads a word of the file, as --drain io_uring reads its data. Returns 0 or -errno: some files can
 * only be mapped. */
int xvt_host_region_readable(const struct xvt_host_region *r);

/* To be called when a read of the file came short. Sets `gone` and returns true if it shrank. */
bool xvt_host_region_shrank(struct xvt_host_region *r);

/* True after the file shrank under the mapping. */
static inline bool xvt_host_region_gone(const struct xvt_host_region *r)
{
	return __atomic_load_n(&r->gone, __ATOMIC_ACQUIRE);
}

static inline struct xvt_ring_ctl *xvt_host_ring_ctl(const struct xvt_host_region *r, uint32_t ring)
{
	return (struct xvt_ring_ctl *)(r->map + xvt_ctl_off(&r->g, ring));
}

static inline struct xvt_ring_host *xvt_host_ring_host(const struct xvt_host_region *r,
						       uint32_t ring)
{
	return (struct xvt_ring_host *)(r->map + xvt_ring_host_off(&r->g, ring));
}

static inline struct xvt_host_page *xvt_host_region_page(const struct xvt_host_region *r)
{
	return (struct xvt_host_page *)(r->map + r->g.host_off);
}

/* Writes one line that explains the fault. */
void xvt_fault_text(const struct xvt_fault *fault, char *text, size_t size);

#endif /* XVT_REGION_HOST_H */
