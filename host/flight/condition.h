/* SPDX-License-Identifier: GPL-2.0 */
/*
 * condition.h - the text of a condition, on which a snapshot is kept:
 *
 *   event [MACHINE:][SYSTEM:]EVENT [FILTER]
 *   loss [MACHINE]
 *   crash [MACHINE]
 *   still SECONDS [MACHINE]
 *
 * The names are globs.
 */
#ifndef XVT_CONDITION_H
#define XVT_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_vm_changes;

enum xvt_condition_kind {
	XVT_CONDITION_EVENT,
	XVT_CONDITION_LOSS,  /* a machine lost events */
	XVT_CONDITION_CRASH, /* the kernel of one panicked, or its VMM was killed */
	XVT_CONDITION_STILL, /* a machine wrote no event for `ns` */
};

struct xvt_condition {
	enum xvt_condition_kind kind;
	char *text;	     /* the others point into it */
	const char *machine; /* NULL: all */
	const char *event;   /* EVENT: glob of SYSTEM:EVENT or EVENT */
	const char *filter;  /* EVENT: NULL: all events like it */
	uint64_t ns;	     /* STILL */
};

struct xvt_opt_value;

/* Returns 0, or -ENOMEM or -EINVAL after an error message. value: of an option. */
int xvt_condition_parse(struct xvt_condition *c, const struct xvt_opt_value *value);
void xvt_condition_free(struct xvt_condition *c);

/* Returns whether the condition is about the machine of this name. */
bool xvt_condition_is_for(const struct xvt_condition *c, const char *machine);

/* Returns the word of its kind: "event", ... */
const char *xvt_condition_word(const struct xvt_condition *c);

/*
 * Returns whether a condition that is not about events holds by what has happened to the machine.
 * Then `what` says it, and *ago_ns is how long ago its moment was: when the machine came to a
 * standstill; 0: now.
 */
bool xvt_condition_holds(const struct xvt_condition *c, const char *machine,
			 const struct xvt_vm_changes *changes, char *what, size_t what_size,
			 uint64_t *ago_ns);

#endif /* XVT_CONDITION_H */
