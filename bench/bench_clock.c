// SPDX-License-Identifier: GPL-2.0
/*
 * bench_clock.c - how tight is a guest's clock by handshake, beside the tightest that there is on
 * this machine: the same handshake between two threads of this process. Both take turns, so
 * that what else the machine does hits both. The guest is a micro-VM at user level whose VMM
 * asked for an offset; whether it got it, the guest's own clock says.
 *
 *   bench_clock [JSON]       exit 0, or 1: a node's true error was outside of its bound
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"
#include "doctor/testbed.h"

#define OFFSET	    (-50048753310ll)
#define ROUNDS	    40
#define BURSTS	    50 /* of each in one round */
#define NODES	    (ROUNDS * BURSTS)
#define TURN_MAX_NS 2000000000ull

struct side {
	const char *name;
	struct xvt_place *place;
	int64_t offset; /* the truth */
	uint64_t bounds[NODES];
	unsigned int nodes;
	unsigned int outside; /* the truth was not within the bound */
	uint64_t worst_ns;    /* true error */
	int64_t lo, hi;	      /* the hull: all bounds, around the truth */
};

static int cpus[2];

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* refused: the times are worse, still true */
}

/* The first two that we may use. */
static void choose_cpus(void)
{
	cpu_set_t set;
	int i, n = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (i = 0; i < CPU_SETSIZE && n < 2; i++) {
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	}
	if (n < 2)
		cpus[1] = cpus[0];
}

static void add(struct side *s, const struct xvt_host_clock *clock, const struct xvt_clock_node *n)
{
	int64_t error =
		(int64_t)(n->host_ns - xvt_host_clock_ns(clock, n->guest - (uint64_t)s->offset));
	int64_t bound = (int64_t)n->bound_ns;

	s->bounds[s->nodes++] = n->bound_ns;
	s->outside += llabs(error) > bound;
	if ((uint64_t)llabs(error) > s->worst_ns)
		s->worst_ns = (uint64_t)llabs(error);
	if (error - bound > s->lo)
		s->lo = error - bound;
	if (error + bound < s->hi)
		s->hi = error + bound;
}

static int turn(struct side *s, const struct xvt_host_clock *clock)
{
	const struct xvt_clock_source_ops *ops = &xvt_clock_handshake;
	uint64_t begin, most = xvt_host_clock_ticks(clock, TURN_MAX_NS);
	struct xvt_clock_target target;
	struct xvt_clock_source *source;
	struct xvt_clock_measure m;
	int bursts = 0, err;

	pin(cpus[1]); /* what is started now stays there */
	err = xvt_place_answer(s->place);
	pin(cpus[0]);
	xvt_place_target(s->place, clock, &target);
	if (!err)
		err = ops->open(&source, &target);
	if (err)
		return err;
	for (begin = xvt_clock_read(); bursts < BURSTS && xvt_clock_read() - begin < most;) {
		ops->start(source);
		if (!ops->poll(source, &m))
			continue;
		add(s, clock, &m.node);
		bursts++;
	}
	ops->close(source);
	xvt_place_stop(s->place);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Of the nodes from that one on; they are in order of their bounds then. */
static uint64_t median_from(struct side *s, unsigned int first)
{
	qsort(s->bounds + first, s->nodes - first, sizeof(s->bounds[0]), compare);
	return s->bounds[first + (s->nodes - first) / 2];
}

/*
 * One round: a turn of each, which have the same machine to themselves. (Where the CPUs' caches
 * lie apart, what two of them need to talk depends on the other load, and changes by the
 * second.) Returns 0 or -errno; *ratio: 0 if one of them had no answers.
 */
static int one_round(struct side *vm, struct side *threads, const struct xvt_host_clock *clock,
		     double *ratio)
{
	unsigned int vm_first = vm->nodes, threads_first = threads->nodes;
	int err = vm->place ? turn(vm, clock) : 0;

	if (!err)
		err = turn(threads, clock);
	*ratio = 0;
	if (!err && vm->nodes > vm_first && threads->nodes > threads_first)
		*ratio = (double)median_from(vm, vm_first) /
			 (double)median_from(threads, threads_first);
	return err;
}

static int compare_ratio(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t quantile(const struct side *s, unsigned int percent)
{
	return s->nodes ? s->bounds[(s->nodes - 1) * percent / 100] : 0;
}

/* What the guest has of the offset that was asked for. */
static int64_t true_offset(struct xvt_place *p)
{
	struct xvt_bare_page *page = xvt_microvm_page(xvt_place_vm(p));
	uint64_t before, after;

	page->op[XVT_BARE_TASK].len = 8;
	page->log_count = 0;
	before = xvt_clock_read_ordered();
	xvt_place_command(p, XVT_BARE_EVENT, 1);
	after = xvt_clock_read_ordered();
	return page->log[0].entry - before <= after - before ? 0 : OFFSET;
}

static void print(const struct side *s)
{
	printf("%-28s %6u %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %11" PRIu64 " %9u   [%" PRId64
	       ", %+" PRId64 "]\n",
	       s->name, s->nodes, quantile(s, 0), quantile(s, 50), quantile(s, 90), s->worst_ns,
	       s->outside, s->lo, s->hi);
}

static void print_json(FILE *f, const char *key, const struct side *s)
{
	fprintf(f,
		"\"%s\":{\"nodes\":%u,\"bound_ns_min\":%" PRIu64 ",\"bound_ns_median\":%" PRIu64
		",\"bound_ns_p90\":%" PRIu64 ",\"true_error_ns_max\":%" PRIu64
		",\"outside\":%u,\"hull_ns\":[%" PRId64 ",%" PRId64 "]}",
		key, s->nodes, quantile(s, 0), quantile(s, 50), quantile(s, 90), s->worst_ns,
		s->outside, s->lo, s->hi);
}

static int write_json(const char *path, const struct side *vm, const struct side *threads,
		      double ratio)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return 1;
	fprintf(f, "{\"cpu\":\"%s\",", bench_cpu());
	if (vm->nodes) {
		print_json(f, "micro_vm", vm);
		fputc(',', f);
	}
	print_json(f, "threads", threads);
	if (vm->nodes)
		fprintf(f,
			",\"ratio\":%.3f,\"ratio_min\":%.3f,\"offset_asked\":%lld,"
			"\"offset_true\":%" PRId64,
			ratio, (double)quantile(vm, 0) / (double)quantile(threads, 0), OFFSET,
			vm->offset);
	fputs("}\n", f);
	return fclose(f) ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct side vm = { .name = "micro-VM, at user level",
				  .lo = INT64_MIN,
				  .hi = INT64_MAX };
	static struct side threads = { .name = "two threads of this process",
				       .lo = INT64_MIN,
				       .hi = INT64_MAX };
	struct xvt_host_clock clock;
	struct xvt_error why = { "" };
	double ratios[ROUNDS], ratio = 0;
	int i, n = 0, err;

	choose_cpus();
	err = xvt_host_clock_init(&clock);
	if (!err)
		err = xvt_place_new(&threads.place, false, clock.hz, &why);
	if (err) {
		fprintf(stderr, "cannot measure: %s\n", strerror(-err));
		return 1;
	}
	err = xvt_place_new(&vm.place, true, clock.hz, &why);
	if (err)
		printf("skip - the clock of a micro-VM: %s %s\n", strerror(-err), why.text);
	else if (!xvt_microvm_set_tsc_offset(xvt_place_vm(vm.place), OFFSET))
		vm.offset = true_offset(vm.place);
	for (i = 0, err = 0; i < ROUNDS && !err; i++) {
		err = one_round(&vm, &threads, &clock, &ratios[n]);
		n += ratios[n] > 0;
	}
	xvt_place_free(vm.place);
	xvt_place_free(threads.place);
	qsort(ratios, (size_t)n, sizeof(ratios[0]), compare_ratio);
	ratio = n ? ratios[n / 2] : 0;
	qsort(vm.bounds, vm.nodes, sizeof(vm.bounds[0]), compare);
	qsort(threads.bounds, threads.nodes, sizeof(threads.bounds[0]), compare);
	if (err || !threads.nodes) {
		fprintf(stderr, "cannot measure: %s\n", err ? strerror(-err) : "no answers");
		return 1;
	}

	printf("clocks on %s\n", bench_cpu());
	printf("%-28s %6s %8s %8s %8s %11s %9s   %s\n", "a guest's clock by handshake", "nodes",
	       "min ns", "median", "90 %", "true error", "outside", "all together");
	if (vm.nodes)
		print(&vm);
	print(&threads);
	if (vm.nodes) {
		printf("the guest's bound is %.2f of the threads' (aim: 1.25 at most); asked for "
		       "%lld ticks, it has %" PRId64 "\n",
		       ratio, OFFSET, vm.offset);
	}
	err = argc > 1 ? write_json(argv[1], &vm, &threads, ratio) : 0;
	return err || vm.outside || threads.outside;
}
