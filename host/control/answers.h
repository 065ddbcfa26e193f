/* SPDX-License-Identifier: GPL-2.0 */
/* answers.h - what the recorders of this host say of themselves, asked over their control sockets.
 */
#ifndef XVT_ANSWERS_H
#define XVT_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/out.h"

/*
 * The answer of a recorder: a line for the recorder, then the machines, then the end. The first
 * line of a machine has its name and some rings; the following lines have more of its rings.
 */
struct xvt_answer {
	struct xvt_json_value **lines;
	size_t n;
	bool ended;
	struct xvt_error why;
};

struct xvt_answers {
	struct xvt_answer *v;
	size_t n;
	bool quiet;    /* no message is printed */
	char why[512]; /* the last message, for one line of a terminal */
};

/*
 * Asks the recorder that listens at `control`, or with NULL all of this user. Returns 0, or the
 * last -errno after an error message; there may be answers of others then. -ENOENT: no recorder.
 */
int xvt_answers_gather(struct xvt_answers *all, const char *control);
void xvt_answers_forget(struct xvt_answers *all);
/* True for an error of xvt_answers_gather() that means: there is no recorder, or none any more. */
bool xvt_answers_ended(int err);

/* Members of a line; 0, false or "?" where there is none. */
uint64_t xvt_answer_number(const struct xvt_json_value *of, const char *key);
bool xvt_answer_true(const struct xvt_json_value *of, const char *key);
const char *xvt_answer_text(const struct xvt_json_value *of, const char *key);

/* The line after those of the machine that begins in line i. */
size_t xvt_answer_vm_end(const struct xvt_answer *a, size_t i);

/* Whether the host is one of its machines. Machines are counted without it. */
bool xvt_answer_has_host(const struct xvt_answer *a);

/* Sums over rings. */
struct xvt_answer_sums {
	uint64_t attempted;
	uint64_t events;
	uint64_t lost;
	uint64_t discarded;
	uint64_t late;
	uint64_t in_flight;
	uint64_t events_s;
	uint64_t lost_s;
	uint64_t rings;
	uint64_t live;	       /* rings in phase "live" */
	uint64_t clocks;       /* rings that have a clock */
	uint64_t bound_ns;     /* greatest error bound of these */
	uint64_t lag_ns;       /* greatest */
	uint64_t full_percent; /* of the fullest ring */
};

/* Of the rings in the lines from `first` to before `end`. */
struct xvt_answer_sums xvt_answer_sum(const struct xvt_answer *a, size_t first, size_t end);

/* Puts "recorder PID of FILE, since TIME, mode MODE", and whether it ends, of a recorder's line. */
void xvt_answer_recorder(const struct xvt_json_value *recorder, struct xvt_out *o);

/* Puts the state of a machine that a recorder keeps armed, an object of "flight_recorders". */
void xvt_answer_flight_recorder(const struct xvt_json_value *of, struct xvt_out *o);

/* How full a ring is, in percent. */
uint64_t xvt_answer_full(const struct xvt_json_value *ring);

#endif /* XVT_ANSWERS_H */
