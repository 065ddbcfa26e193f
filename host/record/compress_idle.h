/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compress_idle.h - `--compress idle`: a recorder writes its files as they are, and has the
 * finished ones replaced by compressed copies, the oldest first, within the limits of the set.
 */
#ifndef XVT_COMPRESS_IDLE_H
#define XVT_COMPRESS_IDLE_H

#include "record/recording.h"

struct xvt_compress_idle;

/* Sums of the files that were replaced. */
struct xvt_compress_idle_sums {
	uint64_t files;
	uint64_t before; /* bytes of these files */
	uint64_t after;
};

/* Starts the process that compresses: before the recorder gives up its rights. Works by a timer
 * after the passes of the recording, which must outlive it, and waits for nothing then. Returns 0
 * or -errno. */
int xvt_compress_idle_new(struct xvt_compress_idle **out, struct xvt_recording *rec,
			  const char *folder, unsigned int level);
/* While the recorder has the folder, and may remove files. NULL: no effect. */
void xvt_compress_idle_free(struct xvt_compress_idle *c);

struct xvt_compress_idle_sums xvt_compress_idle_sums(const struct xvt_compress_idle *c);

#endif /* XVT_COMPRESS_IDLE_H */
