/* SPDX-License-Identifier: GPL-2.0 */
/* passive.h - a machine of which the ring of its guest's kernel is read; see passive.c. */
#ifndef XVT_SESSION_PASSIVE_H
#define XVT_SESSION_PASSIVE_H

#include "formats/cache.h"
#include "formats/fit.h"
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
	bool another;		      /* the line before is not that of the clock that is tried */
	uint64_t trial_guest;	      /* and had this value, or one a little before, */
	uint64_t trial_clock;	      /* at this host clock; 0: no event since */
	uint64_t end_clock;    /* its newest look that came to its end was begun then; 0: none */
	uint64_t newest_guest; /* the newest stamp, */
	uint64_t newest_clock; /* and when it was read */
	uint64_t scout_clock;  /* as end_clock, of the scout, */
	uint64_t scout_guest;  /* its newest stamp, */
	uint64_t scout_seen;   /* and when it was read */
	uint32_t scout_happened;
	uint32_t scout_gap; /* of that, since its newest stamp */
	bool scouted;	    /* its newest look gave events */
	uint32_t told;	    /* XVT_FTRACE_*, of what goes on: since told_clock there was a note */
	uint64_t told_clock;
	uint32_t restarts; /* another kernel has the ring */
	bool bad_reported;
	bool settled; /* nothing follows: it was read to its end after the recording was ended */
};

/* What a guest's memory says of its kernel. */
struct xvt_kernel_found {
	char build_id[XVT_BUILD_ID_TEXT]; /* "": nothing */
};

/* Private to passive_kernel.c, but `claim`. */
struct xvt_passive_kernel {
	char claim[XVT_BUILD_ID_TEXT + 64]; /* the user's word; "": none */
	const struct xvt_formats *claimed;
	struct xvt_fit *fit;
	struct xvt_kernel_found now;  /* since the newest boot, */
	bool several;		      /* or more than one */
	struct xvt_kernel_found file; /* of the boots of this file before that */
	bool mixed;		      /* they are not known to be of one build */
	uint64_t boot_clock;	      /* when the newest boot was noticed; 0: none */
	uint64_t address;	      /* of the ring buffer in the guest; 0: no boot yet */
	uint32_t restarts;	      /* most that a CPU has told of */
	uint64_t next_clock;	      /* when the next search begins */
	uint32_t in_vain;	      /* searches of the whole memory since the boot */
	char told[XVT_BUILD_ID_TEXT];
	bool told_several;
	struct {
		uint64_t begun; /* 0: none goes on */
		uint64_t at;
		struct xvt_kernel_found found;
		bool several;
	} search;
};

struct xvt_passive {
	struct xvt_passive_kernel kernel;
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

/* The kernels that this host knows. */
struct xvt_session_formats {
	struct xvt_formats_cache cache;
	char why[512]; /* why it could not be read */
};

/* --- passive_kernel.c --- */

/* Read the cache of formats, once for all machines, and find the kernel that the user states.
 * Returns 0, or -errno with the reason in `why`. */
int xvt_passive_kernel_begin(struct xvt_session *s, struct xvt_passive *p, char *why,
			     size_t why_size);
void xvt_passive_kernel_end(struct xvt_passive *p);
/* Once a pass: go on with the search of the machine's memory. */
void xvt_passive_kernel_pass(struct xvt_session *s, struct xvt_vm *vm);
/* Another boot of the guest has the ring. */
void xvt_passive_kernel_boots(struct xvt_vm *vm, struct xvt_passive_cpu *c);
/* A record was read. */
void xvt_passive_kernel_record(struct xvt_vm *vm, const uint8_t *record, uint32_t len);

#endif /* XVT_SESSION_PASSIVE_H */
