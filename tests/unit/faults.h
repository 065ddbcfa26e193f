/* SPDX-License-Identifier: GPL-2.0 */
/*
 * faults.h - what seldom goes wrong goes wrong when a test wants it. The linker puts these between
 * the host's code and what it calls (rules.mk); all are off at first.
 */
#ifndef XVT_TEST_FAULTS_H
#define XVT_TEST_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct faults {
	/* Writes wait until the loop runs; then one ends, whichever rand() says. */
	bool any_order;
	/* And those that were begun with O_DIRECT end with -EINVAL. */
	bool refuse_direct;
	bool read_fails;    /* reads by the loop end with -EBADF, */
	bool read_short;    /* or with half of what they are to read */
	unsigned int reads; /* begun so far */
	int loop_err;	    /* of all runs of the loop; 0: none */
	size_t memory_max;  /* that malloc() and realloc() give at a time; 0: what they are asked */
	off_t space; /* writes beyond it end with -ENOSPC, any_order or not; 0: there is enough */
	bool no_fallocate; /* the file system cannot allocate ahead */
	int packer_err;	   /* of xvt_packer_new(); 0: its own */
	/* Is called before each run of the loop; NULL: nothing is. */
	void (*at_loop)(void);
};

extern struct faults faults;

/* Are there writes that any_order holds back? */
bool faults_waiting(void);
/* Bytes that malloc() and the like have given and not got back. */
size_t memory_in_use(void);

#endif /* XVT_TEST_FAULTS_H */
