/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracing.h - an ftrace instance of xvtrace's own in the host's kernel: its events, its threads,
 * and the pages of each CPU. Only tracing.c includes libtracefs. The stamps are the raw TSC, which
 * is also the recorder's clock.
 */
#ifndef XVT_TRACING_H
#define XVT_TRACING_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct xvt_tracing;

/*
 * Find the host's tracefs: /sys/kernel/tracing, or where it is mounted else. The answer stays the
 * same, once it was found. The first call reads the list of mounts. Returns NULL: not mounted.
 */
const char *xvt_tracing_dir(void);

enum xvt_tracing_use {
	XVT_TRACING_KVM,  /* instance xvtrace-PID */
	XVT_TRACING_HOST, /* instance xvtrace-host-PID-START; START: the process's start time */
};

struct xvt_tracing_options {
	enum xvt_tracing_use use;
	uint32_t buffer_kib;   /* of each CPU */
	struct xvt_error *why; /* receives the reason of an error; may be NULL */
};

/*
 * Make the instance, without events. Removes instances whose process is dead. Returns 0; -ENODEV:
 * no tracefs; -EACCES: only root may; -EOPNOTSUPP: no such clock; -EBUSY: this process has one for
 * that use already; or another -errno. The texts of -ENODEV and -EACCES say what to do.
 */
int xvt_tracing_open(struct xvt_tracing **out, const struct xvt_tracing_options *options);

/* Remove the instance. NULL is allowed. */
void xvt_tracing_close(struct xvt_tracing *t);

/* Write `text` to a file of the instance; `append` keeps what it holds. Returns 0 or -errno. */
int xvt_tracing_write(struct xvt_tracing *t, const char *file, const char *text, bool append);

/* Read a file of the instance, or with t == NULL of the top of tracefs. Returns text for free(), or
 * NULL. */
char *xvt_tracing_read(struct xvt_tracing *t, const char *file, size_t *size);

/* Read the format of an event. Returns text for free(), or NULL: no such event. */
char *xvt_tracing_format(const char *system, const char *event, size_t *size);

/* Switch one event on. Returns 0 or -errno. */
int xvt_tracing_enable(struct xvt_tracing *t, const char *system, const char *event);

/* Call fn for each event of the kernel that matches "SYSTEM:EVENT", both with wildcards as in
 * fnmatch(3). Returns the number of events; stops at the first error of fn and returns it. */
int xvt_tracing_match(const char *pattern,
		      int (*fn)(void *arg, const char *system, const char *event), void *arg);

/* CPUs with a buffer, counted from 0 in ascending order of their numbers. */
size_t xvt_tracing_cpus(const struct xvt_tracing *t);
uint32_t xvt_tracing_cpu(const struct xvt_tracing *t, size_t at);

/* Read one page of a CPU, without waiting; clears what the kernel leaves unused of it. Returns the
 * number of bytes read, 0 if there is no event now, or -errno. */
ssize_t xvt_tracing_page(struct xvt_tracing *t, size_t at, void *page, size_t size);

/* A CPU's events that the kernel lost so far: overwritten, or dropped because its buffer was busy.
 * Returns 0 or -errno. */
int xvt_tracing_lost(struct xvt_tracing *t, size_t at, uint64_t *lost);

#endif /* XVT_TRACING_H */
