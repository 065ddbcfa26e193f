/* SPDX-License-Identifier: GPL-2.0 */
/* passive.h - a machine of which the ring of its guest's kernel is read; see passive.c. */
#ifndef XVT_SESSION_PASSIVE_H
#define XVT_SESSION_PASSIVE_H

#include "base/error.h"
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

/* A page in a guest's memory that says which kernel wrote it. */
struct xvt_kernel_found {
	char build_id[XVT_BUILD_ID_TEXT]; /* "": nothing */
	uint64_t place; /* address of a variable of that kernel's; 0: the page has none */
	bool unproven;	/* a boot before the newest one may have left it */
};

#define XVT_KERNEL_PAGES 8u

struct xvt_kernel_pages {
	struct xvt_kernel_found v[XVT_KERNEL_PAGES];
	uint32_t n;
	bool more;
};

/* Private to passive_kernel.c and passive_names.c, but `claim`. */
struct xvt_passive_kernel {
	char claim[XVT_BUILD_ID_TEXT + 64]; /* the user's word; "": none */
	const struct xvt_formats *claimed;
	struct xvt_fit *fit;
	struct xvt_kernel_found now;  /* since the newest boot, */
	bool several;		      /* or more than one */
	struct xvt_kernel_found file; /* of the boots of this file before that */
	bool file_unproven;	      /* of one of them */
	bool mixed;		      /* they are not known to be of one build, */
	bool two_builds;	      /* and are known to be of two */
	uint64_t boot_clock;	      /* when the newest boot was noticed; 0: none */
	uint64_t address;	      /* of the ring buffer in the guest; 0: no boot yet */
	uint64_t text_now;	      /* address in the kernel's code; 0: not known, */
	uint64_t text;		      /* and before the newest boot */
	uint32_t restarts;	      /* most that a CPU has told of */
	uint64_t next_clock;	      /* when the next search begins */
	uint32_t in_vain;	      /* searches of the whole memory since the boot */
	uint32_t evidence;	      /* grows with each change of what is known */
	char told[XVT_BUILD_ID_TEXT];
	bool told_several;
	struct xvt_kernel_pages latest; /* of the newest search that came to its end, */
	struct xvt_kernel_pages before; /* and of that before the newest boot: */
	bool before_known;		/* all that kernels before had written */
	struct {
		uint64_t begun; /* 0: none goes on */
		uint64_t at;
		struct xvt_kernel_pages pages;
	} search;
	struct {
		const struct xvt_formats *of;	  /* whose names the file has; NULL: none */
		bool unproven;			  /* and a note says that they are no proven ones */
		const struct xvt_formats *before; /* and the file before */
		uint8_t *has;			  /* by number of the event: its name is there */
		uint64_t changes;		  /* of `fit`, and */
		uint32_t evidence;		  /* what was known, when that was looked at last */
		uint64_t next_clock;		  /* it is looked at again, */
		uint32_t withdrawn;		  /* times in this file */
		uint32_t generation;
		struct xvt_meta_kernel known; /* as the file says it, */
		bool said;		      /* if it does */
	} names;
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
	struct xvt_error why; /* why it could not be read */
};

/* --- passive_kernel.c --- */

/* Read the cache of formats, once for all machines, and find the kernel that the user states.
 * Returns 0, or -errno with the reason in `why`. */
int xvt_passive_kernel_begin(struct xvt_session *s, struct xvt_passive *p, struct xvt_error *why);
void xvt_passive_kernel_end(struct xvt_passive *p);
/* Once a pass: go on with the search of the machine's memory. */
void xvt_passive_kernel_pass(struct xvt_session *s, struct xvt_vm *vm);
/* Another boot of the guest has the ring. */
void xvt_passive_kernel_boots(struct xvt_vm *vm, struct xvt_passive_cpu *c);
/* A record was read. */
void xvt_passive_kernel_record(struct xvt_vm *vm, const uint8_t *record, uint32_t len);
/* Search the whole memory once more, at the end of the recording. */
void xvt_passive_kernel_last(struct xvt_session *s, struct xvt_vm *vm);

/* --- passive_names.c --- */

/* Once a pass: names that are known now go into the file. */
void xvt_passive_names_pass(struct xvt_session *s, struct xvt_vm *vm);

#endif /* XVT_SESSION_PASSIVE_H */
