// SPDX-License-Identifier: GPL-2.0
/* lookout.c - see lookout.h. */
#define _GNU_SOURCE
#include "flight/lookout.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/time.h"
#include "rights/helper.h"

#define NICE 5 /* events that are recorded come first */

struct question {
	uint64_t from_ns;
	char path[PATH_MAX];
};

struct xvt_lookout {
	struct xvt_helper helper;
	struct xvt_trigger *trigger;
	struct xvt_lookout_source source;
};

static void look(const struct xvt_lookout *l, int sock, struct question *q,
		 struct xvt_lookout_answer *answer)
{
	const struct xvt_lookout_source *source = &l->source;

	if (source->begin)
		answer->err = source->begin(source->arg, sock, q->path, &answer->why);
	if (answer->err)
		return;
	answer->err =
		xvt_trigger_look(l->trigger, q->path, q->from_ns, &answer->look, &answer->why);
	if (source->end)
		source->end(source->arg);
}

static void answer_all(int fd, void *arg)
{
	struct xvt_lookout_answer answer;
	struct question question;
	uint64_t before_ns;

	setpriority(PRIO_PROCESS, 0, NICE);
	while (recv(fd, &question, sizeof(question), 0) == sizeof(question)) {
		memset(&answer, 0, sizeof(answer));
		before_ns = xvt_cpu_ns(RUSAGE_CHILDREN);
		look(arg, fd, &question, &answer);
		answer.cpu_ns = xvt_cpu_ns(RUSAGE_CHILDREN) - before_ns;
		if (send(fd, &answer, sizeof(answer), 0) != sizeof(answer))
			return;
	}
}

int xvt_lookout_new(struct xvt_lookout **out, struct xvt_trigger *trigger,
		    const struct xvt_lookout_source *source, const char *does)
{
	const struct xvt_helper_name name = { does, "no event makes a snapshot" };
	/* Files of a folder may belong to another user. */
	const struct xvt_lookout_source there = { .capabilities = 1ull << CAP_DAC_READ_SEARCH };
	struct xvt_lookout *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->trigger = trigger;
	l->source = source ? *source : there;
	err = xvt_helper_start(&l->helper, &name, l->source.capabilities, answer_all, l);
	if (err)
		free(l);
	else
		*out = l;
	return err;
}

struct xvt_helper *xvt_lookout_helper(struct xvt_lookout *l)
{
	return &l->helper;
}

void xvt_lookout_free(struct xvt_lookout *l)
{
	if (!l)
		return;
	/* The sandboxed child ends by itself, or by its limit of CPU time. */
	xvt_helper_end(&l->helper);
	free(l);
}

int xvt_lookout_ask(struct xvt_lookout *l, const char *path, uint64_t from_ns)
{
	struct question question = { .from_ns = from_ns };

	if (l->helper.asked)
		return -EBUSY;
	if ((size_t)snprintf(question.path, sizeof(question.path), "%s", path) >=
	    sizeof(question.path))
		return -ENAMETOOLONG;
	return xvt_helper_ask(&l->helper, &question, sizeof(question));
}

int xvt_lookout_answer(struct xvt_lookout *l, struct xvt_lookout_answer *answer)
{
	int err =
		l->helper.asked ? xvt_helper_answer(&l->helper, answer, sizeof(*answer)) : -EAGAIN;

	if (err)
		return err;
	/* A guest's data may have made a process write these. */
	answer->why.text[sizeof(answer->why.text) - 1] = '\0';
	answer->look.first[sizeof(answer->look.first) - 1] = '\0';
	answer->look.machine[sizeof(answer->look.machine) - 1] = '\0';
	answer->look.note[sizeof(answer->look.note) - 1] = '\0';
	return 0;
}

bool xvt_lookout_is_busy(const struct xvt_lookout *l)
{
	return l && l->helper.asked;
}
