// SPDX-License-Identifier: GPL-2.0
/*
 * cost.c - see cost.h. The writer and its loops are the same source in the micro-VM and in the
 * process (shared/xvt_cost.h); the handshake is the recorder's own (clock_handshake.c).
 */
#define _GNU_SOURCE
#include "cost.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock_source.h"
#include "microvm.h"
#include "xvt_cost.h"
#include "xvt_region.h"

#define REGION_SIZE (256u << 10) /* stays in the cache: the ring's own cost, not memory's */
#define TURNS	    10000u
#define ROUNDS	    200
#define BURSTS	    40
#define NARROW_NS   1000	  /* with this and BURSTS, all is known */
#define BURSTS_NS   3000000000ull /* on a busy machine the two seldom run together */
#define GIVE_UP_MS  20000

/* Where the writer runs: one implementation in a micro-VM, one in this process. */
struct place {
	void *region;
	struct xvt_geometry g;
	struct xvt_writer writer; /* process only */
	struct xvt_microvm *vm;	  /* micro-VM only */
	pthread_t thread;	  /* answers the mailbox */
	uint32_t stop;
};

static int map_region(struct place *p)
{
	p->region = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return p->region == MAP_FAILED ? -errno : 0;
}

/* --- in a micro-VM --- */

/* Returns the command's result, or -EIO when the guest died. */
static int64_t vm_command(struct place *p, uint32_t command, uint32_t count)
{
	struct xvt_bare_page *page = xvt_microvm_page(p->vm);
	struct xvt_microvm_exit why;

	page->command = command;
	page->count = count;
	if (xvt_microvm_run(p->vm, &why) || why.signal != XVT_BARE_DONE)
		return -EIO;
	return (int64_t)why.value;
}

static int vm_start(struct place *p, uint64_t hz)
{
	struct xvt_microvm_config config = { .region = p->region, .region_size = REGION_SIZE };
	struct xvt_region_hdr header;
	struct xvt_bare_page *page;
	struct xvt_microvm_exit why;
	struct xvt_fault fault;
	int err = xvt_microvm_new(&p->vm, &config);

	if (err)
		return err;
	page = xvt_microvm_page(p->vm);
	page->region_size = REGION_SIZE;
	page->clock_hz = hz;
	page->enable = XVT_ENABLE_OVERWRITE;
	/* Its first signal says that it is there. Then to user level, as a program would be. */
	if (xvt_microvm_run(p->vm, &why) || vm_command(p, XVT_BARE_START, 0) ||
	    vm_command(p, XVT_BARE_USER, 0))
		return -EIO;
	memcpy(&header, p->region, sizeof(header));
	return xvt_check_header(&header, REGION_SIZE, &p->g, &fault);
}

static uint64_t vm_ticks(struct place *p, bool event)
{
	if (vm_command(p, event ? XVT_BARE_COST_EVENT : XVT_BARE_COST_CLOCK, TURNS))
		return 0;
	return xvt_microvm_page(p->vm)->ticks;
}

static void *vm_answer(void *arg)
{
	struct place *p = arg;

	vm_command(p, XVT_BARE_ANSWER, UINT32_MAX);
	return NULL;
}

static void vm_stop(struct place *p)
{
	xvt_store(&xvt_microvm_page(p->vm)->stop, 1);
}

/* --- in this process --- */

static int process_start(struct place *p, uint64_t hz)
{
	struct xvt_layout layout = {
		.region_size = REGION_SIZE,
		.ring_count = 1,
		.kind = XVT_KIND_USER,
		.clock_id = XVT_CLOCK_NATIVE,
		.clock_hz = hz,
		.enable = XVT_ENABLE_OVERWRITE,
	};
	int err = xvt_region_format(p->region, &layout, &p->g);

	if (!err)
		xvt_writer_init(&p->writer, p->region, &p->g, 0);
	return err;
}

static uint64_t process_ticks(struct place *p, bool event)
{
	return event ? xvt_cost_of_event(&p->writer, TURNS) : xvt_cost_of_clock(&p->writer, TURNS);
}

static void *process_answer(void *arg)
{
	struct place *p = arg;

	while (!xvt_load(&p->stop))
		xvt_writer_answer(&p->writer);
	return NULL;
}

static void process_stop(struct place *p)
{
	xvt_store(&p->stop, 1);
}

struct place_ops {
	int (*start)(struct place *p, uint64_t hz);
	uint64_t (*ticks)(struct place *p, bool event); /* 0: failed */
	void *(*answer)(void *p);			/* until stop() */
	void (*stop)(struct place *p);
};

static const struct place_ops in_vm = { vm_start, vm_ticks, vm_answer, vm_stop };
static const struct place_ops in_process = { process_start, process_ticks, process_answer,
					     process_stop };

/* --- the same for both --- */

/* The smallest of many short rounds: what others took of the machine is in the larger ones. */
static int measure_cost(const struct place_ops *ops, struct place *p, struct xvt_cost *cost)
{
	uint64_t clock = UINT64_MAX, event = UINT64_MAX;
	double ns_per_turn = 1e9 / (double)cost->tsc_hz / TURNS;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t c = ops->ticks(p, false), e = ops->ticks(p, true);

		if (!c || !e)
			return -EIO;
		clock = c < clock ? c : clock;
		event = e < event ? e : event;
	}
	cost->clock_ns = (double)clock * ns_per_turn;
	cost->event_ns = (double)event * ns_per_turn;
	return 0;
}

/* The best of several bursts; the node with the smallest bound goes to *best. */
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

static int measure_clock(const struct place_ops *ops, struct place *p,
			 const struct xvt_host_clock *host_clock, struct xvt_cost *cost)
{
	uint8_t *base = p->region;
	struct xvt_clock_target target = {
		.ctl = (void *)(base + xvt_ctl_off(&p->g, 0)),
		.host = (void *)(base + xvt_ring_host_off(&p->g, 0)),
		.host_clock = host_clock,
		.guest_hz = &host_clock->hz,
	};
	struct xvt_clock_node node = { 0 };
	uint64_t truth_ns;
	int err = pthread_create(&p->thread, NULL, ops->answer, p);

	if (err)
		return -err;
	cost->has_bound = handshake(&target, &node);
	ops->stop(p);
	pthread_join(p->thread, NULL);
	if (!cost->has_bound)
		return 0;
	cost->bound_ns = node.bound_ns;
	if (!cost->offset_known)
		return 0;
	truth_ns = xvt_host_clock_ns(host_clock, node.guest - (uint64_t)cost->offset_ticks);
	cost->true_error_ns =
		truth_ns > node.host_ns ? truth_ns - node.host_ns : node.host_ns - truth_ns;
	/* The bound is a proof; what lies outside of it is not the truth, whoever says so. */
	cost->offset_refuted = cost->true_error_ns > cost->bound_ns;
	return 0;
}

static int measure(const struct place_ops *ops, struct xvt_cost *cost)
{
	struct place place = { .region = MAP_FAILED };
	struct xvt_host_clock host_clock;
	int err = xvt_host_clock_init(&host_clock);

	if (!err)
		err = map_region(&place);
	if (err)
		return err;
	cost->tsc_hz = host_clock.hz;
	err = ops->start(&place, host_clock.hz);
	if (err)
		goto out;
	if (place.vm)
		cost->offset_known = !xvt_microvm_tsc_offset(place.vm, &cost->offset_ticks);
	err = measure_cost(ops, &place, cost);
	if (!err)
		err = measure_clock(ops, &place, &host_clock, cost);
out:
	if (place.vm && err)
		snprintf(cost->vm_why, sizeof(cost->vm_why), "%s", xvt_microvm_why(place.vm));
	xvt_microvm_free(place.vm);
	munmap(place.region, REGION_SIZE);
	return err;
}

/* In a process of its own, which can be killed when its guest hangs. */
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
		cost->vm_err = measure(&in_vm, cost);
		_exit(write(ends[1], cost, sizeof(*cost)) != sizeof(*cost));
	}
	close(ends[1]);
	ready.fd = ends[0];
	if (poll(&ready, 1, GIVE_UP_MS) == 0) {
		snprintf(cost->vm_why, sizeof(cost->vm_why), "it hung");
		kill(child, SIGKILL);
	} else if (read(ends[0], cost, sizeof(*cost)) == sizeof(*cost)) {
		err = cost->vm_err;
	}
	close(ends[0]);
	waitpid(child, NULL, 0);
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
	/* A process runs by the host's own clock. */
	cost->offset_known = true;
	cost->offset_ticks = 0;
	return measure(&in_process, cost);
}
