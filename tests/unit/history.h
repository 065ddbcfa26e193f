/* SPDX-License-Identifier: GPL-2.0 */
/*
 * history.h - what some guests did, moment by moment, made from a seed; and a host that looks at
 * it as another seed says. One history gives the same bytes in the rings and the same measured
 * nodes in each schedule, so it must give the same trace.
 *
 * A history is a list of operations in order of host time. Some happen while a writer is between
 * its clock read and what follows: those are the next `hold` operations of the list.
 */
#ifndef XVT_TEST_HISTORY_H
#define XVT_TEST_HISTORY_H

#include "engine.h"

enum op_kind {
	OP_WRITE,
	OP_OPEN, /* reserve; events nest inside until it is closed */
	OP_COMMIT,
	OP_DISCARD,
	OP_MARK,
	OP_BIG,	    /* does not fit: lost */
	OP_FILL,    /* no drain, and the ring is written until `size` events are lost */
	OP_RESTART, /* the writer dies, wherever it is, and a new generation begins */
	OP_NODE,    /* the host measures the ring's clock */
	OP_STOP,    /* the VMM stops machine `ring`, and says so */
	OP_RESUME,  /* it goes on, and its clock has moved by `jump` against the host's */
	OP_JOIN,
	OP_DRAIN, /* the host drains the ring to its end, before it is full */
};

struct op {
	uint64_t ns;
	int64_t jump;
	uint64_t bound_ns;
	enum op_kind kind;
	uint32_t ring; /* or machine */
	uint32_t hold;
	uint32_t size; /* words of payload */
};

struct history {
	struct engine_shape shape;
	uint64_t seed;
	uint32_t vm[ENGINE_RINGS_MAX];
	uint64_t offset[ENGINE_RINGS_MAX]; /* guest clock - host time, of each machine */
	uint32_t creep;			   /* ticks that a guest's clock gains in 1024 ns */
	uint32_t bound_ns;		   /* largest of a measurement */
	bool reported;			   /* a VMM reports stops; else sides may be unprovable */
	struct op *ops;
	size_t nr_ops;
	size_t room;
};

void history_make(struct history *h, uint64_t seed);
/* Machines stand still, their clocks too, without a report: sides of borders may be unprovable.
 */
void history_make_untold(struct history *h, uint64_t seed);
void history_add(struct history *h, const struct op *op);
void history_free(struct history *h);
/* Are all measurements exact, so that each event's true time can be demanded? */
bool history_is_exact(const struct history *h);

/* What a look may do, in 1/256. */
struct schedule {
	uint64_t seed;
	uint32_t look, more, take,
		merge;	       /* that a pass begins, goes on, ends; then that it merges */
	uint32_t learn;	       /* that a measured node becomes known */
	uint32_t prove, early; /* that a pass has a proof, and one as new as can be */
	uint32_t tight;	       /* that memory is short */
	uint32_t hide;	       /* that nest reads 0 in a moment in which it may */
};

/* The host looks only where the history says so, and at the end. */
extern const struct schedule schedule_none;
struct schedule schedule_make(uint64_t seed);

struct played {
	struct engine_event *out;
	size_t nr_out;
	size_t before_end; /* of them were out when everything was known, but nothing closed */
	size_t while_on;   /* and these before the guests had ended */
	uint64_t late;
	size_t loose;	   /* of nr_out: emitted in the loose lane, and put in order here */
	uint64_t bound_ns; /* largest that a map tells */
};

/* Gets what was copied in a pass before it is merged; `whole`: over all rings. May be NULL. */
typedef void (*history_pass_fn)(void *arg, struct engine *e, bool whole);

void history_play(const struct history *h, const struct schedule *s, struct played *p,
		  history_pass_fn pass, void *arg);
void played_free(struct played *p);

/* Random numbers, the same everywhere. */
uint64_t history_random(uint64_t *state);

#endif /* XVT_TEST_HISTORY_H */
