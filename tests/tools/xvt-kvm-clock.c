// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-kvm-clock.c - what KVM tells of a vCPU's clock, held against the vCPU itself: a micro-VM
 * whose offset is changed by the VMM's call, watched through the tracepoint, through debugfs and
 * by handshake. On some KVMs one of them lies; then the handshake must find the truth.
 *
 *   xvt-kvm-clock all SCRATCH-DIR   needs root, debugfs, tracefs, /dev/kvm
 *   xvt-kvm-clock denied            what happens without rights (drops them)
 *   xvt-kvm-clock absent            what happens where neither is mounted
 *
 * Prints "ok - ", "not ok - " and "skip - " lines. Exit 0, 1 or 77.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/kvm.h"
#include "vmm/kvm_events.h"
#include "doctor/testbed.h"

#define OFFSET	   (-50048753310ll) /* 19 s: no measuring error is near that */
#define MANY	   20000u
#define BURSTS	   100
#define NARROW_NS  2000
#define WALL_NS	   5000 /* measured in 50 ms; no error of a whole second or a rate is so small */
#define GIVE_UP_NS 20000000000ull

static int failures;

static bool check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool check(bool ok, const char *format, ...)
{
	va_list args;

	printf("%s - ", ok ? "ok" : "not ok");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	failures += !ok;
	return ok;
}

/* --- the tracepoint --- */

struct seen {
	struct xvt_ftrace_event last;
	uint64_t offsets; /* events of our thread */
	uint64_t entries, exits;
	uint64_t lost;
	uint64_t disordered;
	uint64_t clock; /* of the event before, same CPU */
	uint32_t cpu;
};

static void take(void *arg, const struct xvt_ftrace_event *e)
{
	struct seen *s = arg;

	if (e->kind == XVT_FTRACE_LOST) {
		s->lost += e->lost;
		return;
	}
	if (s->cpu == e->host_cpu && s->clock > e->host_clock)
		s->disordered++;
	s->cpu = e->host_cpu;
	s->clock = e->host_clock;
	if (e->pid != gettid())
		return;
	s->entries += e->kind == XVT_FTRACE_ENTRY;
	s->exits += e->kind == XVT_FTRACE_EXIT;
	if (e->kind != XVT_FTRACE_TSC_OFFSET)
		return;
	s->last = *e;
	s->offsets++;
}

static bool read_all(struct xvt_ftrace *t, struct seen *s)
{
	int64_t n;

	memset(s, 0, sizeof(*s));
	do
		n = xvt_ftrace_read(t, take, s);
	while (n > 0);
	return n == 0;
}

/* Each CPU has a ring of its own, and they are read one after the other: what is newest is read
 * last only where all of it is of one CPU. */
static void stay_on_one_cpu(cpu_set_t *before)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof(*before), before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void test_tracepoint(struct xvt_ftrace *t, struct xvt_microvm *vm)
{
	cpu_set_t cpus;
	uint64_t before, after;
	struct seen s;
	bool ok;
	int i, err = 0;

	read_all(t, &s);
	before = xvt_clock_read_ordered();
	err = xvt_microvm_set_tsc_offset(vm, OFFSET);
	after = xvt_clock_read_ordered();
	ok = !err && read_all(t, &s) && s.offsets == 1;
	check(ok, "a change of the offset is one event (%" PRIu64 ")", s.offsets);
	check(s.last.next == OFFSET && s.last.vcpu_id == 0,
	      "it says vCPU %u, before %" PRId64 ", now %" PRId64, s.last.vcpu_id, s.last.previous,
	      s.last.next);
	check(before <= s.last.host_clock && s.last.host_clock <= after,
	      "its time is the TSC's, between two readings %" PRIu64 " ticks apart",
	      after - before);
	ok = read_all(t, &s) && !s.offsets;
	check(ok, "what was read is not read again");
	/* As many as no ring of 64 KiB holds. Other VMs' events may be among the lost. */
	stay_on_one_cpu(&cpus);
	for (i = 0; i < (int)MANY; i++)
		err |= xvt_microvm_set_tsc_offset(vm, OFFSET + i);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	ok = !err && read_all(t, &s) && s.lost && s.offsets + s.lost >= MANY;
	check(ok, "of %u changes %" PRIu64 " are delivered and %" PRIu64 " counted as lost", MANY,
	      s.offsets, s.lost);
	check(s.last.next == OFFSET + MANY - 1 && !s.disordered,
	      "the newest is there, and all are in order");
}

/* Every entry has its exit, where this KVM traces them. */
static void test_run_spans(struct xvt_place *p)
{
	struct xvt_error why = { "" };
	const struct xvt_ftrace_options options = { .run_spans = true, .why = &why };
	struct xvt_ftrace *t;
	struct seen s;
	int err = xvt_ftrace_open(&t, &options);

	if (!check(!err, "entries and exits can be traced (%s)", why.text))
		return;
	xvt_place_command(p, XVT_BARE_COST_CLOCK, 1000);
	read_all(t, &s);
	xvt_ftrace_close(t);
	if (!s.entries && !xvt_microvm_hardware())
		printf("skip - kvm_entry and kvm_exit: this KVM is software and does not trace "
		       "them\n");
	else
		check(s.entries && s.exits && s.entries + 1 >= s.exits && s.exits + 1 >= s.entries,
		      "%" PRIu64 " entries, %" PRIu64 " exits", s.entries, s.exits);
}

static bool is_there(const char *format, int pid)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), format, pid);
	return !stat(path, &st);
}

#define INSTANCE "/sys/kernel/tracing/instances/xvtrace-%d"

/* What a killed xvtrace leaves behind; and what belongs to a living process is left alone. */
static void test_instances(void)
{
	struct xvt_error why = { "" };
	char path[128];
	const struct xvt_ftrace_options options = { .why = &why };
	struct xvt_ftrace *t, *second;
	pid_t dead = fork();
	int err;

	if (!dead)
		_exit(0);
	waitpid(dead, NULL, 0);
	snprintf(path, sizeof(path), INSTANCE, (int)dead);
	err = mkdir(path, 0700);
	snprintf(path, sizeof(path), INSTANCE, (int)getppid());
	err |= mkdir(path, 0700);
	err |= xvt_ftrace_open(&t, &options);
	if (!check(!err, "an instance of our own (%s)", why.text))
		return;
	check(is_there(INSTANCE, getpid()), "it is called xvtrace-PID");
	check(!is_there(INSTANCE, dead), "one of a dead process is removed");
	check(is_there(INSTANCE, getppid()), "one of a living process is left alone");
	err = xvt_ftrace_open(&second, &options);
	check(err == -EBUSY && why.text[0], "a second one is refused: %s", why.text);
	xvt_ftrace_close(t);
	check(!is_there(INSTANCE, getpid()), "at the end it is gone");
	rmdir(path);
}

/* --- the truth, and its sources --- */

/* The guest's own clock, read between two readings of ours, as the guest's log has it. */
static bool offset_is(struct xvt_place *p, int64_t offset)
{
	struct xvt_bare_page *page = xvt_microvm_page(xvt_place_vm(p));
	uint64_t before, after, guest;

	page->op[XVT_BARE_TASK].len = 8;
	page->log_count = 0;
	before = xvt_clock_read_ordered();
	if (xvt_place_command(p, XVT_BARE_EVENT, 1))
		return false;
	after = xvt_clock_read_ordered();
	guest = page->log[0].entry - (uint64_t)offset;
	return guest - before <= after - before;
}

/* The best of many bursts. */
static bool handshake(struct xvt_place *p, const struct xvt_host_clock *clock,
		      struct xvt_clock_node *best)
{
	const struct xvt_clock_source_ops *ops = &xvt_clock_handshake;
	uint64_t begin = xvt_clock_read(), most = xvt_host_clock_ticks(clock, GIVE_UP_NS);
	struct xvt_clock_target target;
	struct xvt_clock_measure m;
	struct xvt_clock_source *s;
	int bursts = 0;

	xvt_place_target(p, clock, &target);
	if (xvt_place_answer(p) || ops->open(&s, &target))
		return false;
	best->bound_ns = UINT64_MAX;
	while ((bursts < BURSTS || best->bound_ns > NARROW_NS) && xvt_clock_read() - begin < most) {
		ops->start(s);
		if (!ops->poll(s, &m))
			continue;
		bursts++;
		if (m.node.bound_ns < best->bound_ns)
			*best = m.node;
	}
	ops->close(s);
	xvt_place_stop(p);
	return bursts;
}

/* How far from the node's moment a formula puts it. */
static uint64_t apart_ns(const struct xvt_host_clock *clock, const struct xvt_clock_node *n,
			 const struct xvt_clock_formula *f)
{
	uint64_t host, ns;

	if (xvt_formula_host(f, n->guest, &host))
		return UINT64_MAX;
	ns = xvt_host_clock_ns(clock, host);
	return ns > n->host_ns ? ns - n->host_ns : n->host_ns - ns;
}

static bool put(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool put(const char *text, const char *format, ...)
{
	char path[512], *at;
	va_list args;
	FILE *f;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	for (at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	f = fopen(path, "w");
	return f && fputs(text, f) >= 0 && !fclose(f);
}

/* Our VM's descriptor, which is in the name of its directory. */
static int vm_descriptor(void)
{
	char path[64], link[32];
	int fd;

	for (fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, link, sizeof(link)) == 17 &&
		    !memcmp(link, "anon_inode:kvm-vm", 17))
			return fd;
	}
	return -1;
}

/* A debugfs that tells `offset` of our VM: a KVM that lies, or one that does not. */
static bool told(struct xvt_place *p, const char *dir, int64_t offset, struct xvt_clock_formula *f)
{
	const struct xvt_kvm_paths paths = { .debugfs = dir };
	int fd = vm_descriptor(), pid = getpid(), err;
	struct xvt_clock_exact *s;
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64 "\n", offset);
	if (!put("0\n", "%s/kvm/%d-%d/vcpu0/guest_mode", dir, pid, fd) ||
	    !put(text, "%s/kvm/%d-%d/vcpu0/tsc-offset", dir, pid, fd) ||
	    xvt_clock_kvm.open(&s, xvt_place_region_fd(p), &paths))
		return false;
	err = xvt_clock_kvm.read(s, 0, f);
	xvt_clock_kvm.close(s);
	return !err;
}

static void test_sources(struct xvt_place *p, const struct xvt_host_clock *clock, const char *dir)
{
	struct xvt_clock_formula f = { 0 }, liar = { 0 }, real;
	struct xvt_clock_node node;
	struct xvt_clock_exact *s;
	int64_t set = -1, truth;
	uint64_t off;
	bool ok;
	struct xvt_error why = { "" };
	const struct xvt_kvm_paths paths = { .why = &why };
	int err = xvt_clock_kvm.open(&s, xvt_place_region_fd(p), &paths);

	if (!check(!err, "debugfs: the VM that maps the region is found (%s)", why.text))
		return;
	err = xvt_microvm_set_tsc_offset(xvt_place_vm(p), OFFSET);
	if (!err)
		err = xvt_clock_kvm.read(s, 0, &f);
	check(!err, "debugfs tells the offset %" PRId64, f.offset);
	err = xvt_microvm_tsc_offset(xvt_place_vm(p), &set);
	check(!err && set == f.offset, "the VMM's own call tells the same, %" PRId64, set);
	check(xvt_clock_kvm.read(s, 1, &liar) == -ENODEV, "a vCPU that is not there is not known");
	xvt_clock_kvm.close(s);

	/* The guest's own instruction says which source is right. */
	truth = offset_is(p, 0) ? 0 : OFFSET;
	if (!check(offset_is(p, truth), "asked for %lld, the guest reads the host's TSC + %" PRId64,
		   OFFSET, truth))
		return;
	if (!check(handshake(p, clock, &node), "handshake: a node"))
		return;
	real = f; /* it never scales */
	real.offset = truth;
	off = apart_ns(clock, &node, &real);
	check(off <= node.bound_ns,
	      "handshake: the true offset is %" PRIu64 " ns off, within %" PRIu64, off,
	      node.bound_ns);
	off = apart_ns(clock, &node, &f);
	check((off <= node.bound_ns) == (f.offset == truth),
	      "KVM's debugfs tells %s, and the handshake knows",
	      f.offset == truth ? "the truth" : "a lie");

	/* This KVM or another: one that tells of an offset what the guest does not have. */
	ok = told(p, dir, truth, &f);
	off = apart_ns(clock, &node, &f);
	check(ok && off <= node.bound_ns,
	      "a source that tells the truth is inside the bound, %" PRIu64 " ns off", off);
	ok = told(p, dir, truth ? 0 : OFFSET, &liar);
	off = apart_ns(clock, &node, &liar);
	check(ok && off > node.bound_ns, "a source that lies is refuted, %" PRIu64 " ns off", off);
	ok = told(p, dir, truth - (int64_t)xvt_host_clock_ticks(clock, 3 * node.bound_ns), &liar);
	off = apart_ns(clock, &node, &liar);
	check(ok && off > node.bound_ns, "and one that lies by three bounds, %" PRIu64 " ns off",
	      off);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* KVM_GET_CLOCK: three clocks of one moment, two of which this host knows as well. */
static void test_get_clock(struct xvt_microvm *vm)
{
	struct xvt_microvm_clock first, second;
	uint64_t before, after, ns, passed_ns, off;
	struct xvt_host_clock clock;
	int err = xvt_microvm_get_clock(vm, &first);

	if (err == -EOPNOTSUPP) {
		printf("skip - KVM_GET_CLOCK: it tells no TSC (is the host's clock source tsc?)\n");
		return;
	}
	err |= xvt_host_clock_init(&clock); /* fresh: its rate has no time to go wrong */
	before = xvt_clock_read_ordered();
	err |= xvt_microvm_get_clock(vm, &second);
	after = xvt_clock_read_ordered();
	if (!check(!err, "KVM_GET_CLOCK answers"))
		return;
	check(before <= second.host_tsc && second.host_tsc <= after,
	      "its TSC is of the moment, between two readings %" PRIu64 " ticks apart",
	      after - before);
	ns = xvt_host_clock_ns(&clock, second.host_tsc);
	off = apart(clock.realtime_ns + (ns - clock.base_ns), second.realtime_ns);
	check(off <= WALL_NS + clock.wall_error_ns,
	      "its wall clock at that TSC is ours, %" PRIu64 " ns off", off);
	/* kvm-clock runs by the TSC's nominal rate, ours by what NTP makes of it. */
	passed_ns = ns - xvt_host_clock_ns(&clock, first.host_tsc);
	off = apart(second.kvmclock_ns - first.kvmclock_ns, passed_ns);
	check(off <= passed_ns / 1000 + WALL_NS,
	      "kvm-clock went on by %" PRIu64 " ns, the TSC's time less than 0.1%% beside it",
	      second.kvmclock_ns - first.kvmclock_ns);
}

static int all(const char *dir)
{
	struct xvt_error why = { "" };
	const struct xvt_ftrace_options options = { .why = &why };
	struct xvt_host_clock clock;
	struct xvt_ftrace *t = NULL;
	struct xvt_place *p;
	struct seen s;
	bool seen;
	int err;

	test_instances();
	err = xvt_ftrace_open(&t, &options);
	if (!check(!err, "changes of offsets can be traced (%s)", why.text))
		return 1;
	err = xvt_host_clock_init(&clock);
	if (!err)
		err = xvt_place_new(&p, true, clock.hz, &why);
	if (err) {
		printf("skip - a micro-VM: %s %s\n", strerror(-err), why.text);
		xvt_ftrace_close(t);
		return 77;
	}
	seen = read_all(t, &s) && s.offsets;
	check(seen, "a new vCPU's first offset is seen, %" PRId64, s.last.next);
	test_tracepoint(t, xvt_place_vm(p));
	xvt_ftrace_close(t);
	test_run_spans(p);
	test_get_clock(xvt_place_vm(p));
	test_sources(p, &clock, dir);
	xvt_place_free(p);
	return failures != 0;
}

/* Neither source may do more than say no. */
static int refused(int want)
{
	struct xvt_error why = { "" }, kvm_why = { "" };
	const struct xvt_ftrace_options options = { .why = &why };
	const struct xvt_kvm_paths paths = { .why = &kvm_why };
	struct xvt_clock_exact *s;
	struct xvt_ftrace *t;
	bool ok;

	ok = xvt_ftrace_open(&t, &options) == want && why.text[0];
	check(ok, "ftrace: %s", why.text);
	ok = xvt_clock_kvm.open(&s, 0, &paths) == want && kvm_why.text[0];
	check(ok, "debugfs: %s", kvm_why.text);
	return failures != 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && !strcmp(argv[1], "all"))
		return all(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "absent"))
		return refused(-ENODEV);
	if (argc > 1 && !strcmp(argv[1], "denied"))
		return seteuid(65534) ? 1 : refused(-EACCES);
	fprintf(stderr, "usage: xvt-kvm-clock all SCRATCH-DIR | denied | absent\n");
	return 2;
}
