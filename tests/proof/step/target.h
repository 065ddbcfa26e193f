/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * target.h - the code that is stepped: the writer inlined into plain functions, in an object
 * file of its own, so that it is compiled by any compiler at any level while the harness stays
 * as it is. All have the same shape, so that one table can name them.
 */
#ifndef STEP_TARGET_H
#define STEP_TARGET_H

#include "xvt_writer.h"

/* How an event is written. */
enum target_how {
	TARGET_NONE = 0,
	TARGET_WRITE16, /* xvt_write() of 16 bytes, a size that the compiler knows */
	TARGET_COMMIT,	/* xvt_reserve(), fill, xvt_commit() of any size */
	TARGET_DISCARD, /* xvt_reserve(), fill, xvt_discard() */
	TARGET_HOWS,
};

/* *reserved becomes true between xvt_reserve() and what follows it, where there is a between. */
typedef int target_fn(struct xvt_writer *w, const void *payload, uint32_t len, bool *reserved);

target_fn target_write16;
target_fn target_commit;
target_fn target_discard;

/* The two halves of an event that stays open; never stepped, but the same compiled code. */
int target_open(struct xvt_writer *w, const void *payload, uint32_t len, struct xvt_slot *slot);
void target_close(struct xvt_writer *w, struct xvt_slot *slot);

#endif /* STEP_TARGET_H */
