/* SPDX-License-Identifier: GPL-2.0 */
/* find.h - what this host has to record: the files of regions, and what each holds. */
#ifndef XVT_FIND_H
#define XVT_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "xvt_abi.h"

/* Files that are taken for regions: those of xvt_host_region_dir() with this prefix. */
#define XVT_REGION_PREFIX "xvtrace-"

/* Returns whether `text` is a pattern of glob(7). */
bool xvt_is_glob(const char *text);

/*
 * Call fn for each regular file that matches a pattern of glob(7), by name. Links are left out: in
 * a folder that all users may write, a link may lead to any file. Returns the number of calls, or
 * -errno.
 */
int xvt_find_files(const char *pattern, void (*fn)(void *arg, const char *path), void *arg);

/* The same for all regions in xvt_host_region_dir(). */
int xvt_find_regions(void (*fn)(void *arg, const char *path), void *arg);

/* The name of a machine whose region is the file at `path`: that of the file without the prefix. */
void xvt_region_machine(const char *path, char name[XVT_NAME_LEN]);

/* Returns whether two paths lead to one file. */
bool xvt_same_file(const char *a, const char *b);

struct xvt_region_look {
	int err;	      /* 0: formatted; -EAGAIN: not formatted; else -errno, with `why` */
	struct xvt_error why; /* of err */
	uint64_t size;	      /* bytes */
	/* of a formatted region: */
	uint32_t kind; /* enum xvt_region_kind */
	bool relayed;  /* its rings have pages of ftrace, which a program relays */
	uint32_t rings;
	uint32_t generation;
	uint64_t ring_bytes; /* of a ring's sub-buffers */
	uint32_t clock_id;
	uint64_t clock_hz;    /* 0: unknown */
	uint32_t host_events; /* enum xvt_host_events, or what a guest wrote */
	bool refused_other;   /* another machine has this memory, and was refused */
	/* of any file: */
	int has_writer; /* as xvt_file_has_writer() */
	pid_t recorder; /* the process that records it; 0: none */
};

/* Look at a region, and change nothing of it. */
void xvt_region_look(const char *path, struct xvt_region_look *look);

/* Short names, also in JSON: of enum xvt_region_kind, and of enum xvt_clock_id. "?": unknown. */
const char *xvt_region_kind_text(uint32_t kind);
const char *xvt_clock_id_text(uint32_t clock_id);

#endif /* XVT_FIND_H */
