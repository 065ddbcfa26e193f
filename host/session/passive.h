/* SPDX-License-Identifier: GPL-2.0 */
/* passive.h - a machine of which the ring of its guest's kernel is read; see passive.c. */
#ifndef XVT_SESSION_PASSIVE_H
#define XVT_SESSION_PASSIVE_H

#include "session/own.h"
#include "vmm/ftrace_map.h"

#define XVT_FTRACE_CLOCK_TSC 9u /* x86-tsc, in the kernel's list of clocks */

struct xvt_passive_cpu {
	struct xvt_own_ring own;
	struct xvt_ftrace_ring ring;
	struct xvt_ftrace_ring scout; /* for the clock, before it is known */
	uint32_t part;		      /* its number in the guest's kernel */
	bool begun;		      /* `ring` is read */
	bool trial;		      /* its clock is not known yet, */
	uint64_t trial_guest;	      /* and had this value, or one a little before, */
	uint64_t trial_clock;	      /* at this host clock; 0: no event since */
	uint64_t end_clock;    /* its newest look that came to its end was begun then; 0: none */
	uint64_t newest_guest; /* the newest stamp, */
	uint64_t newest_clock; /* and when it was read */
	uint64_t scout_clock;  /* as end_clock, of the scout, */
	uint64_t scout_guest;  /* its newest stamp, */
	uint64_t scout_seen;   /* and when it was read */
	uint32_t scout_happened;
	bool scouted;  /* its newest look gave events */
	uint32_t told; /* XVT_FTRACE_*, of what goes on: since told_clock there was a note */
	uint64_t told_clock;
	bool bad_reported;
	bool settled; /* nothing follows: it was read to its end after the recording was ended */
};

struct xvt_passive {
	struct xvt_host_region file; /* that is mapped; its region's words are none */
	bool anywhere;		     /* no offset was given */
	uint64_t offset;
	char spec[sizeof(((struct xvt_vm *)0)->path) + 32]; /* as the user gave it */
	uint64_t searched;				    /* the next attempt goes on here */
	uint32_t parts;					    /* that the attempt before found */
	struct xvt_ftrace_map map;
	struct xvt_passive_cpu *cpus;
	uint32_t clock;	      /* of the kernel's list; UINT32_MAX: not known */
	uint64_t lacks_clock; /* since then the memory has no such ring buffer; 0: it has */
};

#endif /* XVT_SESSION_PASSIVE_H */
