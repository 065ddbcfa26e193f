/* SPDX-License-Identifier: GPL-2.0 */
/*
 * armed.h - machines that a recorder does not record but keeps armed as flight recorders: their
 * rings overwrite what is old, and are read around a moment only (flight/flight.h).
 */
#ifndef XVT_ARMED_H
#define XVT_ARMED_H

#include "base/error.h"
#include "flight/armed_vmm.h"
#include "options/opt.h"
#include "record/machines.h"
#include "session/session.h"
#include "xvt_abi.h"

#define XVT_ARMED_MOST 256u

struct xvt_armed;
struct xvt_json;

/* Counters of the machine's rings at the newest look. */
struct xvt_armed_counts {
	bool begun;
	uint64_t attempted, lost;
	uint64_t more_lost; /* since xvt_armed_changes() */
	uint64_t moved_ns;  /* when `attempted` was seen to change; 0: never */
	uint64_t read;	    /* `attempted` at the newest xvt_armed_is_fresh() */
	uint64_t fresh_ns;  /* when that found another number */
	uint64_t still_ns;  /* by xvt_armed_changes() */
	uint32_t panics;    /* by the region's header */
	uint32_t generation;
	bool panicked; /* since xvt_armed_changes() */
	struct xvt_panic_told told;
};

struct xvt_armed_machine {
	char name[XVT_NAME_LEN];
	char *path;
	uint32_t rings_most; /* of its region, so many are kept armed and read */
	uint32_t rings;	     /* that the newest look saw */
	uint32_t armed;	     /* of them */
	uint32_t used;	     /* rings that have had an event */
	uint64_t bytes;	     /* that these hold at most */
	char why[160];	     /* why not all are; "": they are */
	uint64_t told_ns;    /* the newest message; 0: none */
	uint8_t uuid[16];    /* of its domain; zeros: it is none */
	struct xvt_armed_vmm *vmm;
	struct xvt_armed_counts counts;
};

/* Of machines whose names match a pattern. Copies the patterns. Returns 0 or -ENOMEM. */
int xvt_armed_new(struct xvt_armed **out, const struct xvt_opt_list *patterns, bool follow);
void xvt_armed_free(struct xvt_armed *a);

/*
 * A machine was found. Returns 1 if its name matches: it is kept armed from now on, and is not to
 * be recorded; 0: it is to be recorded; or -errno with the reason in `why`: neither can be done.
 * a may be NULL: 0. uuid: of a domain; NULL: it is none.
 */
int xvt_armed_takes(struct xvt_armed *a, const char *name, const char *path, const uint8_t *uuid,
		    uint32_t rings, struct xvt_error *why);
/* For struct xvt_machine_options; it lasts as long as `a`. */
const struct xvt_keeper *xvt_armed_keeper(struct xvt_armed *a);
/* Returns whether it has this path, or a machine of this name. NULL: false. */
bool xvt_armed_has(const struct xvt_armed *a, const char *path);
bool xvt_armed_has_name(const struct xvt_armed *a, const char *name);

/* To be called after each pass of the session, but not while the machines are being read: looks at
 * some machines, at each of them once a second, and arms what is not armed. */
void xvt_armed_pass(struct xvt_armed *a, uint64_t now_ns);

/* Listen to the VMMs of the machines, and try those again that cannot be reached. To be called once
 * a second, and when there is a machine, or a domain of one, that it has not seen. NULL: no effect.
 */
bool xvt_armed_has_new(const struct xvt_armed *a);
void xvt_armed_listen(struct xvt_armed *a, const struct xvt_armed_vmm_how *how, uint64_t now_ns);
/* Listen no more; before the loop ends, and not from a callback of it. NULL: no effect. */
void xvt_armed_unlisten(struct xvt_armed *a);

/* Change nothing in the regions from now on: look at the counters only. */
void xvt_armed_look_only(struct xvt_armed *a);
/* Look at each machine so often from now on; a second otherwise. */
void xvt_armed_look_each(struct xvt_armed *a, uint64_t ns);
/* Returns whether machine i has had an event within the second before the newest look, or since the
 * call before. */
bool xvt_armed_is_fresh(struct xvt_armed *a, size_t i, uint64_t now_ns);

/* Changes of machine i since the call before, by the looks at its counters. */
void xvt_armed_changes(struct xvt_armed *a, size_t i, uint64_t now_ns, struct xvt_vm_changes *c);

/* Use other patterns. Returns 0 or -ENOMEM. */
int xvt_armed_use(struct xvt_armed *a, const struct xvt_opt_list *patterns);
/*
 * Forget a machine whose name matches no pattern and which `may` allows, and store it; free() its
 * path. The call closes the listener of its VMM: not for a callback of the loop. Returns false if
 * there is none.
 */
bool xvt_armed_release(struct xvt_armed *a, bool (*may)(void *arg, const char *path), void *arg,
		       struct xvt_armed_machine *m);
/* Take a machine back that was released, with its path. */
void xvt_armed_take_back(struct xvt_armed *a, const struct xvt_armed_machine *m);

size_t xvt_armed_count(const struct xvt_armed *a); /* NULL: 0 */
size_t xvt_armed_ready(const struct xvt_armed *a); /* of them, without a `why`; NULL: 0 */
const struct xvt_armed_machine *xvt_armed_at(const struct xvt_armed *a, size_t i);
/* Bytes that the rings hold at most which have had an event, of all machines that are armed;
 * *rings: how many these are. */
uint64_t xvt_armed_held(const struct xvt_armed *a, uint64_t *rings);
/* Add their state to the status of a recorder. */
void xvt_armed_status(const struct xvt_armed *a, struct xvt_json *to);

#endif /* XVT_ARMED_H */
