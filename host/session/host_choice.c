// SPDX-License-Identifier: GPL-2.0
/*
 * host_choice.c - which events of the host's kernel are recorded, where the kernel gives those of
 * all threads: every sched_switch, since it says which thread had a CPU that a vCPU waited for, and
 * of the others those that a VMM's thread gives or is the object of, as a wake-up or a migration.
 *
 * The recorder chooses, not the kernel (set_event_pid): that filter counts for all events of an
 * instance, so there would have to be two, and a task switch beside a filter takes longer than one
 * whose wake-up is written and thrown away here. And the kernel's filter misses a migration of a
 * thread by another one.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <stdlib.h>

#define TYPES	 65536u
#define TID_BITS 16u
#define TID_AT	 4u /* common_pid, in each event */
#define KEEP_ALL UINT8_MAX

struct xvt_host_choice {
	uint8_t pid_at[TYPES]; /* of the other thread in words of 4 bytes; 0: none; KEEP_ALL */
	uint8_t threads[1u << (TID_BITS - 3)]; /* of VMMs, by the low bits of their numbers */
	uint16_t new_thread;		       /* type of sched_wakeup_new; 0: not known */
};

struct xvt_host_choice *xvt_host_choice_new(void)
{
	return calloc(1, sizeof(struct xvt_host_choice));
}

void xvt_host_choice_format(struct xvt_host_choice *c, uint16_t type, const char *system,
			    const char *event, const char *text)
{
	const char *field;

	if (strcmp(system, "sched") != 0)
		return;
	if (!strcmp(event, "sched_switch")) {
		c->pid_at[type] = KEEP_ALL;
		return;
	}
	field = strstr(text, "field:pid_t pid;\toffset:");
	if (field) {
		const unsigned long at = strtoul(strchr(field, '\t') + 8, NULL, 10) / 4;

		c->pid_at[type] = at < KEEP_ALL ? (uint8_t)at : 0;
	}
	if (!strcmp(event, "sched_wakeup_new"))
		c->new_thread = type;
}

void xvt_host_choice_none(struct xvt_host_choice *c)
{
	memset(c->threads, 0, sizeof(c->threads));
}

void xvt_host_choice_thread(struct xvt_host_choice *c, int32_t tid)
{
	c->threads[(uint16_t)tid >> 3] |= (uint8_t)(1u << (tid & 7));
}

static bool is_chosen(const struct xvt_host_choice *c, const uint8_t *data, uint32_t len,
		      uint32_t at)
{
	uint16_t tid;

	if (len < at + sizeof(uint32_t))
		return false;
	memcpy(&tid, data + at, sizeof(tid)); /* the low bits of a little-endian number */
	return c->threads[tid >> 3] >> (tid & 7) & 1;
}

bool xvt_host_choice_keeps(struct xvt_host_choice *c, const uint8_t *data, uint32_t len)
{
	uint32_t at;
	uint16_t type;
	bool own;

	if (len < TID_AT + sizeof(uint32_t))
		return true; /* no event of ftrace: the readers say so */
	memcpy(&type, data, sizeof(type));
	at = c->pid_at[type];
	if (at == KEEP_ALL)
		return true;
	own = is_chosen(c, data, len, TID_AT);
	/* A thread that a VMM's thread makes is one of the VMM until the next look at /proc. */
	if (own && type == c->new_thread && at && len >= 4 * at + sizeof(int32_t)) {
		int32_t tid;

		memcpy(&tid, data + 4 * (size_t)at, sizeof(tid));
		xvt_host_choice_thread(c, tid);
	}
	return own || (at && is_chosen(c, data, len, 4 * at));
}
