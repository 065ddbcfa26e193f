/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scenario.h - the situations in which an event is interrupted: where the ring stands when the
 * task's event begins, and what task, interrupt and NMI write.
 */
#ifndef BARE_SCENARIO_H
#define BARE_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"

/* Smallest region of one ring: 4 sub-buffers of 1 KiB, so that borders and laps are near. */
#define SCENE_REGION_SIZE 24576u
#define SCENE_SUBBUF_SIZE 1024u

/* What the host does between two instructions of the task, besides interrupting. */
enum scene_host {
	SCENE_HOST_QUIET,
	SCENE_HOST_EPOCH, /* a new epoch begins */
	SCENE_HOST_OFF,	  /* recording is switched off */
};

struct scenario {
	const char *name;
	const char *what;
	uint32_t enable;  /* enum xvt_enable */
	uint32_t subbufs; /* used before the one in which the event begins */
	uint32_t left;	  /* bytes left in that one; 0: the event begins at its border */
	uint32_t open;	  /* records of the task that are open meanwhile */
	bool hold;	  /* one more is open since the ring was empty */
	bool real_clock;  /* rdtsc, else the counted clock (same run each time) */
	bool gap;	  /* a long time passes before the event */
	uint32_t ts_bits; /* of a time in a record, 0: all 32 */
	bool wake;	  /* the host sleeps and wants to be woken */
	bool old_epoch;	  /* the epoch changed before the event */
	enum scene_host host;
	bool thorough; /* also in a quick run, every way on is followed from everywhere */
	bool in_irq;   /* storms: NMIs into an interrupt, not interrupts into the task */
	struct xvt_bare_op op[XVT_BARE_CONTEXTS];
	int lost; /* enum xvt_loss that must occur, -1 = none may */
};

extern const struct scenario scenarios[];
extern const unsigned int scenario_count;

/* To be interrupted over and over again, until the writer gives up (XVT_LOST_RETRY). */
extern const struct scenario storms[];
extern const unsigned int storm_count;

/* Give the guest one command and let it finish. Returns its result, or INT32_MIN: it died. */
int64_t scene_command(struct xvt_microvm *vm, uint32_t command, uint32_t count);

/*
 * Start the guest on the blank region and bring everything to where the task's event is about
 * to begin: the guest is at its doorbell, the command is written. Returns false if it died.
 */
bool scene_set(struct xvt_microvm *vm, const struct scenario *s, void *region);

/* After the event: finish what is open, write one plain event more. */
bool scene_end(struct xvt_microvm *vm, const struct scenario *s, void *region);

/* Do what s->host says, now. */
void scene_host_acts(const struct scenario *s, void *region);

#endif /* BARE_SCENARIO_H */
