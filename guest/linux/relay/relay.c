// SPDX-License-Identifier: GPL-2.0
/*
 * relay.c - the way of a guest whose kernel may load no module: pages of its own ftrace go into the
 * rings of a region as they are, and the host unpacks them (shared/xvt_relay.h). A page is read
 * when its ring has room for it; what is not read stays with ftrace, which counts what it
 * overwrites.
 *
 * Two processes. The second one relays. The first one waits for it, and where that is killed it
 * says in the region that the rings have no writer any more. ftrace's instance stays then, with
 * what it has, and the next relay goes on there.
 *
 * What is complete: an event is visible in trace_pipe_raw when its writer has committed it, and
 * from its stamp until then it is not preempted. A grace period of RCU waits for all such writers.
 * So all events are relayed that were stamped before a clock value after which membarrier() has
 * returned before a CPU's buffer was found to be empty. No time would do: a vCPU may stand still.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "xvt_relay.h"

#define EVENTS	      "sched,irq"
#define BUFFER_KIB    1408u /* ftrace's own default */
#define PAGE	      XVT_RELAYED_PAGE_MAX
#define HEAD	      16u
#define COMMIT_SIZE   0x7ffffffull
#define COMMIT_MISSED 0x80000000ull
#define COMMIT_STORED 0x40000000ull
#define SHORT_NAP_NS  250000u  /* where more is left to read */
#define NAP_NS	      2000000u /* between two looks at ftrace and the mailbox, */
#define IDLE_NS	      5000000u /* and where no host records */
#define STAY	      20000u   /* looks at the mailbox while the host says that more follow */
#define PAGES_AT_ONCE 64u      /* of a CPU, before the others have their turn */
#define END_NAP_NS    1000000u
#define END_NAPS      2000u /* for the host to make room at the end */

struct cpu_ring {
	struct xvt_relay relay;
	unsigned int cpu;
	int fd;
	uint64_t lost_before; /* of instances before this one */
	uint64_t pages, bytes;
};

static struct relay_region region;
static struct relay_instance instance;
static struct cpu_ring *rings;
static uint8_t page[PAGE] __attribute__((aligned(8)));
static unsigned int nr_rings;
static bool tracing, followed; /* `followed`: the kernel does as `tracing` says */
static uint64_t written_to;    /* clock value: all that was stamped before is in ftrace's buffers */
static volatile sig_atomic_t ended;
static volatile pid_t child; /* of the process that waits; 0 in the other one */

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
	if (child > 0)
		kill(child, SIGTERM);
}

static void nap(uint64_t ns)
{
	const struct timespec t = { .tv_nsec = (long)ns };

	nanosleep(&t, NULL);
}

/* --- metadata --- */

struct formats {
	const char *tracefs;
	unsigned int refused;
};

static void put_format(void *arg, const char *system, const char *event)
{
	struct formats *f = arg;
	char path[1024], head[256], *text, *id;
	size_t len;
	int head_len;

	snprintf(path, sizeof(path), "%s/events/%s/%s/format", f->tracefs, system, event);
	text = relay_read_file(path, &len);
	if (!text)
		return;
	head_len = snprintf(head, sizeof(head), "%s%c%s", system, 0, event) + 1;
	id = strstr(text, "\nID: ");
	if (head_len <= (int)sizeof(head) &&
	    xvt_meta_append(region.base, &region.g, XVT_META_FORMAT,
			    id ? (uint32_t)strtoul(id + 5, NULL, 10) : 0, head, (uint32_t)head_len,
			    text, (uint32_t)len))
		f->refused++;
	free(text);
}

static void put_file(struct formats *f, uint32_t type, const char *file)
{
	char path[1024], *text;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", f->tracefs, file);
	text = relay_read_file(path, &len);
	if (text && len &&
	    xvt_meta_append(region.base, &region.g, type, 0, NULL, 0, text, (uint32_t)len))
		f->refused++;
	free(text);
}

static void put_metadata(const char *tracefs)
{
	static const char *const own[] = { "print", "bprint", "bputs", "raw_data", "kernel_stack" };
	struct formats f = { .tracefs = tracefs };

	put_file(&f, XVT_META_HEADER_PAGE, "events/header_page");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		put_format(&f, "ftrace", own[i]);
	relay_instance_each(&instance, put_format, &f);
	put_file(&f, XVT_META_PRINTK_FORMATS, "printk_formats");
	if (f.refused)
		fprintf(stderr,
			"xvt-guest: relay: %u formats have no room in the region: their events "
			"have no names; use a larger region, or fewer events\n",
			f.refused);
}

/* --- rings --- */

/* What the VMM calls the vCPU of Linux's CPU; its own number where /proc/cpuinfo does not say. */
static uint32_t apic_id(const char *cpuinfo, unsigned int cpu)
{
	char key[40];
	const char *at;

	snprintf(key, sizeof(key), "processor\t: %u\n", cpu);
	at = cpuinfo ? strstr(cpuinfo, key) : NULL;
	at = at ? strstr(at, "\napicid\t\t: ") : NULL;
	return at ? (uint32_t)strtoul(at + strlen("\napicid\t\t: "), NULL, 10) : cpu;
}

static int open_rings(void)
{
	char *cpuinfo = relay_read_file("/proc/cpuinfo", NULL);
	char path[1024];

	rings = calloc(nr_rings, sizeof(*rings));
	if (!rings)
		return -1;
	for (unsigned int i = 0; i < nr_rings; i++) {
		struct cpu_ring *r = &rings[i];
		struct xvt_ring_ctl *c;

		r->cpu = i;
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", instance.dir, i);
		r->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (r->fd < 0) {
			fprintf(stderr, "xvt-guest: relay: %s: %s\n", path, strerror(errno));
			return -1;
		}
		xvt_writer_init(&r->relay.w, region.base, &region.g, i);
		xvt_writer_distrust(&r->relay.w);
		c = r->relay.w.ctl;
		xvt_store(&c->type, (uint32_t)XVT_RING_VCPU);
		xvt_store(&c->clock_id, (uint32_t)XVT_CLOCK_NATIVE);
		xvt_store(&c->cpu, i);
		xvt_store(&c->hw_id, apic_id(cpuinfo, i));
		xvt_store(&c->pid, (uint32_t)getpid());
		/* An instance that was found has counted on meanwhile. In a new region its
		 * losses until now are another region's. */
		if (!instance.found || region.formatted)
			xvt_store(&c->relayed_base,
				  xvt_load(&c->relayed_lost) - relay_instance_lost(&instance, i));
		r->lost_before = xvt_load(&c->relayed_base);
	}
	free(cpuinfo);
	return 0;
}

static void set_state(enum xvt_ring_state state)
{
	for (unsigned int i = 0; i < nr_rings; i++)
		xvt_store_release(&rings[i].relay.w.ctl->state, (uint32_t)state);
}

/* Answer the host where it asks. Returns whether it says that it asks again at once. */
static bool answer(void)
{
	bool more = false;

	for (unsigned int i = 0; i < nr_rings; i++)
		more |= xvt_writer_answer(&rings[i].relay.w) > 0;
	xvt_claim_answer(region.base);
	return more;
}

static void stay_for_host(void)
{
	for (unsigned int left = answer() ? STAY : 0; left; left--) {
		if (answer())
			left = STAY;
		xvt_relax();
	}
}

/* Relay a page that was read. */
static void relay_page(struct cpu_ring *r)
{
	uint64_t commit;
	uint32_t len;

	memcpy(&commit, page + 8, sizeof(commit));
	len = HEAD + (uint32_t)(commit & COMMIT_SIZE);
	if (commit & COMMIT_MISSED) {
		if (commit & COMMIT_STORED)
			len += sizeof(uint64_t);
		xvt_relay_lost(&r->relay, r->lost_before + relay_instance_lost(&instance, r->cpu));
	}
	if (xvt_relay_put(&r->relay, page, len) == -EMSGSIZE)
		fprintf(stderr, "xvt-guest: relay: cpu%u: a page of %u bytes is left out\n", r->cpu,
			len);
	r->pages++;
	r->bytes += len;
}

/* Relay what a CPU has, as far as there is room. Returns true if it was read to its end. */
static bool relay_cpu(struct cpu_ring *r)
{
	for (unsigned int i = 0; i < PAGES_AT_ONCE; i++) {
		ssize_t n;

		if (!xvt_relay_has_room(&r->relay))
			return false;
		n = read(r->fd, page, sizeof(page));
		if (n < (ssize_t)HEAD)
			return true;
		relay_page(r);
		if (i % 8 == 7)
			answer();
	}
	return false;
}

static int wait_for_writers(void)
{
	const uint64_t clock = xvt_clock_read_ordered();

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return -errno;
	xvt_store_release(&written_to, clock);
	return 0;
}

/* A grace period lasts some ticks, which the host does not wait for an answer. */
static void *prove(void *arg)
{
	while (!ended && !wait_for_writers())
		nap(NAP_NS);
	return arg;
}

/* Read what ftrace has, and forget it: to empty it would set its counters back. */
static void drop_all(void)
{
	for (unsigned int i = 0; i < nr_rings; i++) {
		while (read(rings[i].fd, page, sizeof(page)) >= (ssize_t)HEAD)
			;
		xvt_relay_lost(&rings[i].relay,
			       rings[i].lost_before + relay_instance_lost(&instance, i));
	}
}

/* ftrace records while a host does. What it has when that ends is no part of a recording. */
static void follow_host(void)
{
	bool on = false;

	for (unsigned int i = 0; i < nr_rings; i++)
		on |= xvt_load(&rings[i].relay.w.host->enable) != XVT_ENABLE_OFF;
	/* An instance that was found may trace for a recorder that is gone. */
	if (followed && on == tracing)
		return;
	followed = true;
	tracing = on;
	relay_instance_write(&instance, "tracing_on", on ? "1" : "0");
	if (!on)
		drop_all();
}

/* Returns whether something is left to read. */
static bool relay_all(void)
{
	bool more = false;

	for (unsigned int i = 0; i < nr_rings; i++) {
		struct cpu_ring *r = &rings[i];
		const uint64_t clock = xvt_load_acquire(&written_to);
		const bool all = !tracing || relay_cpu(r);

		if (all && clock)
			xvt_relay_is_complete(&r->relay, clock);
		more |= !all;
		answer();
	}
	return more;
}

/* Nothing follows: the rest is relayed, as far as the host makes room for it. */
static void end(void)
{
	relay_instance_write(&instance, "tracing_on", "0");
	wait_for_writers();
	for (unsigned int i = 0; i < END_NAPS && relay_all(); i++)
		nap(END_NAP_NS);
	for (unsigned int i = 0; i < nr_rings; i++) {
		if (tracing)
			xvt_relay_lost(&rings[i].relay,
				       rings[i].lost_before + relay_instance_lost(&instance, i));
		xvt_relay_end(&rings[i].relay);
	}
	/* The last records have a time when the host has asked once more. */
	for (unsigned int i = 0; tracing && i < 500; i++) {
		stay_for_host();
		nap(END_NAP_NS);
	}
	set_state(XVT_RING_OFFLINE);
}

static int relay(void)
{
	uint64_t pages = 0, bytes = 0;
	pthread_t prover;
	int err = -wait_for_writers();

	if (!err)
		err = pthread_create(&prover, NULL, prove, NULL);
	if (err) {
		fprintf(stderr, "xvt-guest: relay: membarrier: %s\n", strerror(err));
		return 1;
	}
	set_state(XVT_RING_ONLINE);
	while (!ended) {
		bool more;

		follow_host();
		more = relay_all();
		stay_for_host();
		if (!more || !tracing)
			nap(tracing ? NAP_NS : IDLE_NS);
		else
			nap(SHORT_NAP_NS);
	}
	pthread_join(prover, NULL);
	end();
	for (unsigned int i = 0; i < nr_rings; i++) {
		pages += rings[i].pages;
		bytes += rings[i].bytes;
	}
	fprintf(stderr, "xvt-guest: relay: %llu pages, %llu bytes\n", (unsigned long long)pages,
		(unsigned long long)bytes);
	return 0;
}

/* --- the process that waits --- */

static int wait_for_child(void)
{
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return 1;
	}
	for (unsigned int i = 0; i < nr_rings; i++)
		close(rings[i].fd);
	if (WIFEXITED(status)) {
		relay_instance_remove(&instance);
		return WEXITSTATUS(status);
	}
	set_state(XVT_RING_OFFLINE);
	fprintf(stderr,
		"xvt-guest: relay: it was killed by signal %d; ftrace's instance stays, and the "
		"next relay goes on with what it has\n",
		WTERMSIG(status));
	return 1;
}

static int run(void)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	const pid_t parent = getpid();
	sigset_t both, before;

	sigemptyset(&both);
	sigaddset(&both, SIGTERM);
	sigaddset(&both, SIGINT);
	sigprocmask(SIG_BLOCK, &both, &before); /* until `child` is set */
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	signal(SIGHUP, SIG_IGN);
	child = fork();
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0) {
		fprintf(stderr, "xvt-guest: relay: %s\n", strerror(errno));
		return 1;
	}
	if (child)
		return wait_for_child();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		ended = 1;
	_exit(relay());
}

static int bad_option(const char *what, const char *option)
{
	fprintf(stderr, "xvt-guest: relay: %s: %s\nusage: xvt-guest relay " RELAY_OPTIONS "\n",
		option, what);
	return 2;
}

int relay_main(const char *tracefs, int argc, char **argv)
{
	const char *events = EVENTS, *spec = NULL;
	unsigned long kib = BUFFER_KIB;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (int i = 0; i < argc; i += 2) {
		char *stop;

		if (strcmp(argv[i], "--events") && strcmp(argv[i], "--region") &&
		    strcmp(argv[i], "--buffer"))
			return bad_option("no such option", argv[i]);
		if (i + 1 == argc)
			return bad_option("it needs a value", argv[i]);
		if (!strcmp(argv[i], "--events")) {
			events = argv[i + 1];
		} else if (!strcmp(argv[i], "--region")) {
			spec = argv[i + 1];
		} else {
			kib = strtoul(argv[i + 1], &stop, 10);
			if (*stop || kib < 8 || kib > 1u << 20)
				return bad_option("a number of KiB from 8 to 1048576", argv[i]);
		}
	}
	nr_rings = cpus > 0 ? (unsigned int)cpus : 1;
	if (relay_region_open(&region, spec, nr_rings) ||
	    relay_instance_open(&instance, tracefs, (unsigned int)kib) ||
	    relay_instance_events(&instance, events) < 0 || open_rings())
		return 1;
	put_metadata(tracefs);
	printf("relaying %s of %u CPUs%s\n", events, nr_rings,
	       instance.found ? ", with what a relay before left" : "");
	fflush(stdout);
	return run();
}
