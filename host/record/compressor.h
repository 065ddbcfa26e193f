/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compressor.h - the process of a recorder that compresses finished files of its folder
 * (trace/repack.h), one at a time, when the host's CPUs have nothing else to do. The process makes
 * a copy beside the file, XVT_SET_COPY; the recorder alone gives that the file's name.
 */
#ifndef XVT_COMPRESSOR_H
#define XVT_COMPRESSOR_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "rights/helper.h"

struct xvt_compressor;

/* The result for a file. */
struct xvt_compressed {
	/* 0: the copy is complete and was compared. As xvt_repack(); -EMLINK: the file has several
	 * names; -EPERM: it is of another user; -ECHILD: the process that reads was killed;
	 * -ETIMEDOUT: it stood still, and was killed; or -errno. Without a copy, then. */
	int err;
	struct stat st; /* of the file */
	uint64_t bytes; /* of the copy */
};

/* Returns 0 or -errno. `folder` and `level` are for all files. */
int xvt_compressor_new(struct xvt_compressor **out, const char *folder, unsigned int level);
/* For xvt_recording_needs_helper(). */
struct xvt_helper *xvt_compressor_helper(struct xvt_compressor *c);
/* Ends the process. NULL: no effect. */
void xvt_compressor_free(struct xvt_compressor *c);

/* Have a file compressed. Returns 0, or -EPIPE: the process has died. */
int xvt_compressor_ask(struct xvt_compressor *c, uint32_t number);
/* Returns 0 with the answer; -EAGAIN: there is none yet; -EPIPE. */
int xvt_compressor_answer(struct xvt_compressor *c, struct xvt_compressed *done);

#endif /* XVT_COMPRESSOR_H */
