/* SPDX-License-Identifier: GPL-2.0 */
/* answers.h - what the recorders of this host say of themselves, asked over their control sockets.
 */
#ifndef XVT_ANSWERS_H
#define XVT_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/*
 * One recorder's answer: a line for the recorder, then the machines, then the end. The first line
 * of a machine has its name and some rings; the following lines have more of its rings.
 */
struct xvt_answer {
	struct xvt_json_value **lines;
	size_t n;
	bool ended;
	char why[256];
};

struct xvt_answers {
	struct xvt_answer *v;
	size_t n;
};

/*
 * Asks the recorder that listens at `control`, or with NULL all of this user. Returns 0, or the
 * last -errno after an error message; there may be answers of others then.
 */
int xvt_answers_gather(struct xvt_answers *all, const char *control);
void xvt_answers_forget(struct xvt_answers *all);

/* Members of a line; 0, false or "?" where there is none. */
uint64_t xvt_answer_number(const struct xvt_json_value *of, const char *key);
bool xvt_answer_true(const struct xvt_json_value *of, const char *key);
const char *xvt_answer_text(const struct xvt_json_value *of, const char *key);

/* The line after those of the machine that begins in line i. */
size_t xvt_answer_vm_end(const struct xvt_answer *a, size_t i);

#endif /* XVT_ANSWERS_H */
