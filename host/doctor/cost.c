// SPDX-License-Identifier: GPL-2.0
/*
 * cost.c - see cost.h. The writer and its loops are the same source in the micro-VM and in the
 * process (shared/xvt_cost.h); the handshake is the recorder's own (clock/handshake.c).
 */
#define _GNU_SOURCE
#include "doctor/cost.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "doctor/testbed.h"

#define TURNS	   10000u
#define ROUNDS	   200
#define BURSTS	   40
#define NARROW_NS  1000		 /* BURSTS bursts with a best bound of this are enough */
#define BURSTS_NS  3000000000ull /* limit: on a busy machine both sides seldom run together */
#define GIVE_UP_MS 20000

/* Take the smallest of many short rounds: interruptions by other tasks are in the larger ones. */
static int measure_cost(struct xvt_place *p, struct xvt_cost *cost)
{
	uint64_t clock = UINT64_MAX, event = UINT64_MAX;
	double ns_per_turn = 1e9 / (double)cost->tsc_hz / TURNS;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t c = xvt_place_ticks(p, false, TURNS);
		uint64_t e = xvt_place_ticks(p, true, TURNS);

		if (!c || !e)
			return -EIO;
		clock = c < clock ? c : clock;
		event = e < event ? e : event;
	}
	cost->clock_ns = (double)clock * ns_per_turn;
	cost->event_ns = (double)event * ns_per_turn;
	return 0;
}

/* Run several bursts. *best: the node with the smallest bound. Returns false if there is none. */
static bool handshake(const struct xvt_clock_target *target, struct xvt_clock_node *best)
{
	const struct xvt_clock_source_ops *ops = &xvt_clock_handshake;
	uint64_t begin = xvt_clock_read(), most;
	struct xvt_clock_measure m;
	struct xvt_clock_source *s;
	bool any = false;
	int bursts = 0;

	if (ops->open(&s, target))
		return false;
	most = xvt_host_clock_ticks(target->host_clock, BURSTS_NS);
	while ((bursts < BURSTS || best->bound_ns > NARROW_NS) && xvt_clock_read() - begin < most) {
		ops->start(s);
		if (!ops->poll(s, &m))
			continue;
		bursts++;
		if (!any || m.node.bound_ns < best->bound_ns)
			*best = m.node;
		any = true;
	}
	ops->close(s);
	return any;
}

static int measure_clock(struct xvt_place *p, const struct xvt_host_clock *host_clock,
			 struct xvt_cost *cost)
{
	struct xvt_clock_target target;
	struct xvt_clock_node node = { 0 };
	uint64_t truth_ns;
	int err = xvt_place_answer(p);

	if (err)
		return err;
	xvt_place_target(p, host_clock, &target);
	cost->has_bound = handshake(&target, &node);
	xvt_place_stop(p);
	if (!cost->has_bound)
		return 0;
	cost->bound_ns = node.bound_ns;
	if (!cost->offset_known)
		return 0;
	truth_ns = xvt_host_clock_ns(host_clock, node.guest - (uint64_t)cost->offset_ticks);
	cost->true_error_ns =
		truth_ns > node.host_ns ? truth_ns - node.host_ns : node.host_ns - truth_ns;
	/* The bound is a proof: an offset that contradicts it is wrong. */
	cost->offset_refuted = cost->true_error_ns > cost->bound_ns;
	return 0;
}

static int measure(bool in_vm, struct xvt_cost *cost)
{
	struct xvt_host_clock host_clock;
	struct xvt_place *p;
	int err = xvt_host_clock_init(&host_clock);

	if (err)
		return err;
	cost->tsc_hz = host_clock.hz;
	err = xvt_place_new(&p, in_vm, host_clock.hz, &cost->vm_why);
	if (err)
		return err;
	if (in_vm)
		cost->offset_known = !xvt_microvm_tsc_offset(xvt_place_vm(p), &cost->offset_ticks);
	err = measure_cost(p, cost);
	if (!err)
		err = measure_clock(p, &host_clock, cost);
	if (in_vm && err)
		xvt_fail(&cost->vm_why, 0, "%s", xvt_microvm_why(xvt_place_vm(p)));
	xvt_place_free(p);
	return err;
}

/* Measure in a child process, which can be killed when its guest hangs. */
static int measure_in_vm(struct xvt_cost *cost)
{
	struct pollfd ready = { .events = POLLIN };
	int ends[2], err = -EIO;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child < 0) {
		err = -errno;
		close(ends[0]);
		close(ends[1]);
		return err;
	}
	if (!child) {
		cost->vm_err = measure(true, cost);
		_exit(write(ends[1], cost, sizeof(*cost)) != sizeof(*cost));
	}
	close(ends[1]);
	ready.fd = ends[0];
	if (poll(&ready, 1, GIVE_UP_MS) == 0) {
		xvt_fail(&cost->vm_why, 0, "it hung");
	} else if (read(ends[0], cost, sizeof(*cost)) == sizeof(*cost)) {
		err = cost->vm_err;
	}
	close(ends[0]);
	xvt_child_kill(-1, child); /* it has nothing else to do */
	return err;
}

int xvt_cost_measure(struct xvt_cost *cost)
{
	int err = xvt_microvm_probe();

	memset(cost, 0, sizeof(*cost));
	if (!err)
		err = measure_in_vm(cost);
	cost->vm_err = err;
	cost->in_vm = !err;
	if (!err)
		return 0;
	cost->has_bound = cost->offset_refuted = false;
	/* A process uses the host's clock: its offset is 0. */
	cost->offset_known = true;
	cost->offset_ticks = 0;
	return measure(false, cost);
}
