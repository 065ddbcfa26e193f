// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * xvt_user.c - the user-space writer: maps a region, gives each thread a ring, answers clock
 * requests. Knows nothing of the host's side but the words in shared memory.
 *
 * Two things decide which thread owns a ring. Where they differ, no thread uses it:
 *   - an OFD lock on the ring's first byte in the file, held by the owning process from
 *     claim to release, dropped by the kernel when its last thread is gone;
 *   - ctl->state and ctl->pid, for programs that only read the memory.
 * Inside the process `mutex` guards claims, releases and the helper's answers. The lock is held
 * with all signals blocked, so a handler never finds it held by its own thread.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "xvt.h"
#include "xvt_clock_page.h"
#include "xvt_region.h"

XVT_ASSERT(XVT_USER_ID == XVT_ID_USER, "xvt.h repeats the ABI's ids");
XVT_ASSERT(XVT_USER_ID_MAX == XVT_H_ID_MASK, "xvt.h repeats the ABI's ids");
XVT_ASSERT(XVT_USER_ID_U64 == XVT_ID_U64, "xvt.h repeats the ABI's ids");
XVT_ASSERT(XVT_USER_ID_TEXT == XVT_ID_TEXT, "xvt.h repeats the ABI's ids");
XVT_ASSERT(XVT_TIME_ACTIVE == XVT_CLOCK_F_ACTIVE, "xvt.h repeats the clock page's flags");
XVT_ASSERT(XVT_TIME_UNCONFIRMED == XVT_CLOCK_F_UNCONFIRMED, "xvt.h repeats the clock page's flags");
XVT_ASSERT(XVT_TIME_CLOSED == XVT_CLOCK_F_CLOSED, "xvt.h repeats the clock page's flags");

#define ANSWER_IDLE_NS	1000000l /* how often the helper looks when no host asks */
#define ANSWER_SPIN_MAX 200000u	 /* looks while the host says that more follow */
#define SEARCH_EVERY	256u	 /* events without a ring, before a thread looks for one again */
#define TEXT_MAX	1000
#define LOCK_NAP_NS	1000000l
#define OPEN_TRIES	1000u /* looks at the header's lock: a second */
#define ASK_LOOKS	200u /* at a claim, LOCK_NAP_NS apart; a helper answers within ANSWER_IDLE_NS */
#define NAME_TRIES	20u /* and at that of the names, with all signals blocked */

/* An entry for each ring of the region; the writer of those that this process owns. */
struct user_ring {
	struct xvt_writer w;
	bool owned;
	uint64_t attempted_before; /* by earlier owners */
	uint64_t lost_before;
};

static struct {
	bool open;
	uint64_t opens; /* tells a thread's ring of this region from one of the last */
	int fd;
	uint8_t *base;
	uint64_t mapped;
	struct xvt_geometry g;
	bool clock_pages; /* the region is of a version that has them */
	struct user_ring *ring;
	uint32_t ring_end; /* no ring from here on was ever ours */
	pthread_t helper;
	bool helper_runs;
	bool helper_stop;
	uint8_t boot[16]; /* the header's boot_uuid: while it is there, the region is this machine's
			   */
	bool gone; /* the file was shortened: zeros of this process are where the region was */
	uint64_t ringless;
} u = { .fd = -1 };

/* State that the handler of SIGBUS may look at. */
static struct {
	bool installed;
	struct sigaction old;
	uintptr_t start;
	size_t size; /* 0: no mapping is watched */
} bus;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_exit;
static char error_text[512];

/* Initial-exec: a handler's first look must not allocate. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL struct user_ring *my_ring;
THREAD_LOCAL uint64_t my_opens;
THREAD_LOCAL uint32_t my_wait; /* events to go without a ring before the next search */
THREAD_LOCAL bool my_lock;     /* this thread has the mutex */

static int failed(int err, const char *what, const char *why)
{
	snprintf(error_text, sizeof(error_text), "%.300s: %s", what, why);
	return err;
}

const char *xvt_error(void)
{
	return error_text;
}

/* All but SIGBUS: the kernel kills a process that cannot take the one of its own access. */
static void block_signals(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &all, saved);
}

static void lock(sigset_t *saved)
{
	block_signals(saved);
	pthread_mutex_lock(&mutex);
	my_lock = true;
}

static void unlock(const sigset_t *saved)
{
	my_lock = false;
	pthread_mutex_unlock(&mutex);
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

/*
 * `type` F_WRLCK or F_UNLCK, one byte at `off`. Another process holds a byte for microseconds; one
 * that keeps it stops no program: there are `tries`, a millisecond apart. Returns 0 or -errno
 * (-EAGAIN or -EACCES: the byte is another's).
 */
static int lock_byte(uint64_t off, short type, uint32_t tries)
{
	const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
	struct flock f = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)off, .l_len = 1
	};

	while (fcntl(u.fd, F_OFD_SETLK, &f)) {
		if (errno == EINTR)
			continue;
		if ((errno != EAGAIN && errno != EACCES) || !--tries)
			return -errno;
		nanosleep(&nap, NULL);
	}
	return 0;
}

/*
 * A file that is shortened while it is mapped. The access that finds no page gets SIGBUS; anonymous
 * zeros are put under the whole mapping, and the access is done again there. Whatever the writer
 * reads then is bounded by the geometry, which is not in the region.
 */

/* Another's SIGBUS: as if this handler did not exist. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	if (bus.old.sa_flags & SA_SIGINFO) {
		bus.old.sa_sigaction(sig, info, context);
	} else if (bus.old.sa_handler == SIG_DFL ||
		   (bus.old.sa_handler == SIG_IGN && info->si_code > 0)) {
		/* Blocked until the handler returns, which is when the process dies of it. */
		signal(sig, SIG_DFL);
		raise(sig);
	} else if (bus.old.sa_handler != SIG_IGN) {
		bus.old.sa_handler(sig);
	}
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	int saved = errno;

	/* A signal that was sent has no address. */
	if (info->si_code <= 0 || !bus.size || addr < bus.start || addr - bus.start >= bus.size ||
	    mmap((void *)bus.start, bus.size, PROT_READ | PROT_WRITE,
		 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
		pass_on(sig, info, context);
		return;
	}
	xvt_store(&u.gone, true);
	/* No thread has a ring any more; the next event of each finds out. */
	__atomic_fetch_add(&u.opens, 1, __ATOMIC_RELAXED);
	errno = saved;
}

/* `u.base` is mapped. Returns 0 or -errno. */
static int watch_mapping(void)
{
	struct sigaction sa;

	if (!bus.installed) {
		if (sigaction(SIGBUS, NULL, &bus.old))
			return -errno;
		sa = bus.old;
		sa.sa_sigaction = on_sigbus;
		sa.sa_flags = SA_SIGINFO | (bus.old.sa_flags & (SA_ONSTACK | SA_RESTART));
		if (sigaction(SIGBUS, &sa, NULL))
			return -errno;
		bus.installed = true;
	}
	bus.start = (uintptr_t)u.base;
	__atomic_signal_fence(__ATOMIC_RELEASE); /* size last: the handler tests it */
	xvt_store(&bus.size, u.mapped);
	return 0;
}

/* A handler that the program has installed since may call ours: then ours stays. */
static void unwatch_mapping(void)
{
	struct sigaction now;

	xvt_store(&bus.size, 0);
	if (!bus.installed || sigaction(SIGBUS, NULL, &now) || !(now.sa_flags & SA_SIGINFO) ||
	    now.sa_sigaction != on_sigbus)
		return;
	sigaction(SIGBUS, &bus.old, NULL);
	bus.installed = false;
}

/*
 * Claims and releases of rings.
 */

/* Can a writer of this library go on where the last one stopped? */
static bool at_rest(const struct xvt_ring_ctl *c)
{
	return xvt_load(&c->backend) == XVT_RING_BACKEND && !xvt_load(&c->nest) &&
	       xvt_load(&c->commit) ==
		       xvt_resv_pos(XVT_RING_BACKEND, u.g.subbuf_shift, xvt_load(&c->resv));
}

static bool pid_exists(pid_t pid)
{
	return pid > 0 && (!kill(pid, 0) || errno != ESRCH);
}

/* The ring's last owner died inside an event, or wrote with the other back-end. */
static void take_over(struct xvt_ring_ctl *c)
{
	uint32_t generation = xvt_load(&c->generation) + 1;

	xvt_ring_new_generation(c, &u.g, generation ? generation : 1, XVT_CLOCK_NATIVE);
}

/* May this ring be ours? Called with the mutex; on true the ring's byte is locked. */
static bool try_ring(uint32_t i, bool dead_owners)
{
	struct xvt_ring_ctl *c = (void *)(u.base + xvt_ctl_off(&u.g, i));
	uint32_t state = xvt_load_acquire(&c->state), type = xvt_load(&c->type);
	uint32_t pid = xvt_load(&c->pid), claims = xvt_load(&c->claims);

	if (u.ring[i].owned || (state == XVT_RING_ONLINE) != dead_owners)
		return false;
	if (type != XVT_RING_UNUSED && type != XVT_RING_THREAD)
		return false;
	/* Our own PID and not ours: from before an exec(). */
	if (dead_owners && pid_exists((pid_t)pid) && (pid_t)pid != getpid())
		return false;
	if (lock_byte(xvt_ctl_off(&u.g, i), F_WRLCK, 1))
		return false;
	/* Another thread may have claimed it between the look and the lock, and have released
	 * it or died: then leave it. */
	if (__atomic_compare_exchange_n(&c->claims, &claims, claims + 1, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return true;
	lock_byte(xvt_ctl_off(&u.g, i), F_UNLCK, 1);
	return false;
}

/* The thread's name is worth a line in the trace. One that finds no way in is counted with those
 * that a full metadata area refuses. */
static void name_ring(uint32_t tid)
{
	struct xvt_meta_hdr *m = (void *)(u.base + u.g.meta_off);
	char name[17] = "";

	prctl(PR_GET_NAME, name);
	if (lock_byte(u.g.meta_off, F_WRLCK, NAME_TRIES)) {
		__atomic_fetch_add(&m->refused, 1, __ATOMIC_RELAXED);
		return;
	}
	xvt_meta_append(u.base, &u.g, XVT_META_COMM, tid, NULL, 0, name, (uint32_t)strlen(name));
	lock_byte(u.g.meta_off, F_UNLCK, 1);
}

static void own_ring(uint32_t i)
{
	struct user_ring *r = &u.ring[i];
	struct xvt_ring_ctl *c;
	uint32_t tid = (uint32_t)syscall(SYS_gettid), k;

	c = (void *)(u.base + xvt_ctl_off(&u.g, i));
	if (!at_rest(c))
		take_over(c);
	xvt_writer_init(&r->w, u.base, &u.g, i);
	/* The last owner may have run on a CPU whose clock is a little ahead. */
	xvt_writer_distrust(&r->w);
	xvt_store(&c->type, XVT_RING_THREAD);
	xvt_store(&c->clock_id, XVT_CLOCK_NATIVE);
	xvt_store(&c->cpu, (uint32_t)sched_getcpu());
	xvt_store(&c->pid, (uint32_t)getpid());
	xvt_store(&c->tid, tid);
	xvt_store_release(&c->state, XVT_RING_ONLINE);
	r->attempted_before = xvt_load(&c->attempted);
	r->lost_before = 0;
	for (k = 0; k < XVT_LOST_CAUSES; k++)
		r->lost_before += xvt_load(&c->lost[k]);
	r->owned = true;
	if (u.ring_end <= i)
		u.ring_end = i + 1;
	name_ring(tid);
}

static struct user_ring *claim(void)
{
	uint32_t pass, i;

	/* First rings without an owner, then those of the dead. */
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < u.g.ring_count; i++) {
			if (!try_ring(i, pass))
				continue;
			own_ring(i);
			return &u.ring[i];
		}
	return NULL;
}

/* With the mutex: the helper is then not about to answer for this ring. */
static void release(struct user_ring *r)
{
	/* Left inside an event (a handler that never returned): as if the owner had died. */
	xvt_store_release(&r->w.ctl->state, XVT_RING_OFFLINE);
	r->owned = false;
	lock_byte(xvt_ctl_off(&u.g, (uint32_t)(r - u.ring)), F_UNLCK, 1);
}

static void thread_exits(void *ring)
{
	sigset_t saved;

	lock(&saved);
	if (u.open && my_opens == u.opens)
		release(ring);
	my_ring = NULL;
	unlock(&saved);
}

/* Slow path of every function that needs a ring. */
static int attach(void)
{
	sigset_t saved;
	int err = 0;

	if (my_lock)
		return -EUSERS; /* the program's own handler of SIGBUS, inside lock() */
	lock(&saved);
	if (!u.open) {
		err = -ENOTCONN;
	} else if (u.gone) {
		err = -EIO;
	} else if (!my_ring || my_opens != u.opens) { /* else a handler came first */
		my_opens = u.opens;
		my_ring = claim();
		my_wait = my_ring ? 0 : SEARCH_EVERY;
		err = my_ring ? 0 : -EUSERS;
		pthread_setspecific(at_thread_exit, my_ring);
		if (u.gone) /* since this claim began */
			err = -EIO;
	}
	unlock(&saved);
	return err;
}

static inline struct user_ring *ring_of_thread(int *err)
{
	if (xvt_likely(my_ring && my_opens == xvt_load(&u.opens)))
		return my_ring;
	/* An untraced program and a thread without a ring shall not pay for system calls. */
	if (!xvt_load(&u.open)) {
		*err = -ENOTCONN;
		return NULL;
	}
	if (xvt_load(&u.gone)) {
		*err = -EIO;
		return NULL;
	}
	if (my_wait && my_opens == xvt_load(&u.opens)) {
		my_wait--;
		*err = -EUSERS;
		return NULL;
	}
	*err = attach();
	return *err ? NULL : my_ring;
}

/*
 * Events.
 */

int xvt_event(uint32_t id, const void *payload, uint32_t len)
{
	struct user_ring *r;
	int err = 0;

	if (xvt_unlikely(id > XVT_H_ID_MASK ||
			 (id < XVT_ID_USER && id != XVT_ID_U64 && id != XVT_ID_TEXT)))
		return -EINVAL;
	r = ring_of_thread(&err);
	if (xvt_unlikely(!r)) {
		if (err == -EUSERS || err == -EIO)
			__atomic_fetch_add(&u.ringless, 1, __ATOMIC_RELAXED);
		return err;
	}
	err = xvt_write(&r->w, id, payload, len);
	if (xvt_likely(!xvt_load(&u.gone)))
		return err;
	/* The event went to zeros that the host does not see. */
	__atomic_fetch_add(&u.ringless, 1, __ATOMIC_RELAXED);
	return -EIO;
}

int xvt_printf(const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0)
		return -EINVAL;
	return xvt_event(XVT_ID_TEXT, text, len < TEXT_MAX ? (uint32_t)len : TEXT_MAX - 1);
}

bool xvt_enabled(void)
{
	int err = 0;
	struct user_ring *r = ring_of_thread(&err);

	return r && xvt_load(&r->w.host->enable) != XVT_ENABLE_OFF;
}

int xvt_thread_attach(void)
{
	int err = 0;

	my_wait = 0;
	ring_of_thread(&err);
	return err;
}

int xvt_thread_stat(struct xvt_thread_stat *stat)
{
	const struct xvt_ring_ctl *c;
	uint32_t i;

	if (!my_ring || my_opens != xvt_load(&u.opens))
		return -ENOTCONN;
	c = my_ring->w.ctl;
	stat->ring = (uint32_t)(my_ring - u.ring);
	stat->attempted = xvt_load(&c->attempted) - my_ring->attempted_before;
	stat->lost = 0;
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		stat->lost += xvt_load(&c->lost[i]);
	stat->lost -= my_ring->lost_before;
	return 0;
}

int xvt_clock_now(struct xvt_time *now)
{
	int err = 0;
	const struct user_ring *r = ring_of_thread(&err);
	struct xvt_clock_now n;

	if (xvt_unlikely(!r))
		return err;
	if (!u.clock_pages)
		return -ENODATA;
	err = xvt_clock_page_read(&r->w.host->clock_page, NULL, NULL, &n);
	if (err)
		return err;
	now->clock = n.clock;
	now->host_ns = n.host_ns;
	now->bound_ns = n.bound_ns;
	now->age_ns = n.age_ns;
	now->active_ns = n.active_ns;
	now->session = n.session;
	now->epoch = n.epoch;
	now->flags = n.flags;
	return 0;
}

uint64_t xvt_ringless(void)
{
	return xvt_load(&u.ringless);
}

/*
 * The helper. The thread answers for rings whose events other threads stamp, on other CPUs. That is
 * right because the kernel hands out a user-readable clock only when it is one clock for all CPUs
 * (TSC synchronised, or CNTVCT); where it is not, these samples are wrong by the CPUs' difference,
 * and so would be those of an owner that the scheduler moves about.
 *
 * The thread writes nothing: a ring has one writer. Marks (xvt_writer_mark()) are therefore not
 * acknowledged here.
 */

/* A look at every ring of ours, and at a claim; returns whether the host wants more at once. */
static bool answer_all(void)
{
	struct xvt_region_hdr *h = (void *)u.base;
	bool more = false;
	uint32_t i;

	pthread_mutex_lock(&mutex); /* signals are blocked on this thread */
	for (i = 0; i < u.ring_end; i++)
		if (u.ring[i].owned && xvt_writer_answer(&u.ring[i].w) > 0)
			more = true;
	if (!memcmp(h->boot_uuid, u.boot, sizeof(u.boot)))
		xvt_claim_answer(u.base);
	pthread_mutex_unlock(&mutex);
	return more;
}

static void *help(void *arg)
{
	const struct timespec idle = { .tv_nsec = ANSWER_IDLE_NS };
	uint32_t spins = 0;

	(void)arg;
	prctl(PR_SET_NAME, "xvt-helper");
	while (!__atomic_load_n(&u.helper_stop, __ATOMIC_ACQUIRE) && !xvt_load(&u.gone)) {
		/* Each request that promises more buys a bounded stay. */
		if (answer_all())
			spins = ANSWER_SPIN_MAX;
		if (spins) {
			spins--;
			xvt_relax();
			continue;
		}
		nanosleep(&idle, NULL);
	}
	return NULL;
}

static int start_helper(void)
{
	sigset_t saved;
	int err;

	/* The program's handlers shall not run on a thread that it does not know. */
	u.helper_stop = false;
	block_signals(&saved);
	err = pthread_create(&u.helper, NULL, help, NULL);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (err)
		return failed(-err, "helper thread", strerror(err));
	u.helper_runs = true;
	return 0;
}

/*
 * Open and close.
 */

/* The first ivshmem device's memory, for programs in a guest. */
static int find_device(char *path, size_t size)
{
	glob_t found;
	size_t i;
	int err = -ENOENT;

	if (glob("/sys/bus/pci/devices/*/vendor", 0, NULL, &found))
		return -ENOENT;
	for (i = 0; i < found.gl_pathc && err; i++) {
		int len = (int)strlen(found.gl_pathv[i]) - (int)strlen("vendor");
		char id[2][8] = { "", "" };
		int k;

		for (k = 0; k < 2; k++) {
			FILE *f;

			snprintf(path, size, "%.*s%s", len, found.gl_pathv[i],
				 k ? "device" : "vendor");
			f = fopen(path, "re");
			if (f && !fgets(id[k], sizeof(id[k]), f))
				id[k][0] = 0;
			if (f)
				fclose(f);
		}
		if (strcmp(id[0], "0x1af4\n") || strcmp(id[1], "0x1110\n"))
			continue;
		snprintf(path, size, "%.*sresource2", len, found.gl_pathv[i]);
		err = 0;
	}
	globfree(&found);
	return err;
}

static void read_boot_uuid(uint8_t uuid[16])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	unsigned int byte, n = 0;
	char text[40] = "", *p;

	memset(uuid, 0, 16);
	if (f && fgets(text, sizeof(text), f))
		for (p = text; n < 16 && sscanf(p, "%2x", &byte) == 1; p += 2 + (p[2] == '-'))
			uuid[n++] = (uint8_t)byte;
	if (f)
		fclose(f);
}

/*
 * The region's programs ran on another machine, or before this one's boot. Locks and PIDs do not
 * tell which; a claim does. Returns 0, or -EBUSY: another machine's helper has answered.
 */
static int ask_for_rival(struct xvt_region_hdr *h, const uint8_t uuid[16])
{
	const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
	uint32_t claim, i;

	if (!xvt_region_in_use(h, u.mapped, uuid))
		return 0;
	if (getrandom(&claim, sizeof(claim), GRND_NONBLOCK) != sizeof(claim))
		claim = (uint32_t)xvt_clock_read();
	claim = xvt_claim_put(h, claim);
	for (i = 0; i < ASK_LOOKS && xvt_claim_stands(h, claim); i++)
		nanosleep(&nap, NULL);
	return xvt_claim_stands(h, claim) ? 0 : -EBUSY;
}

/* Begin a generation, or join one. Under the lock of the header's first byte. */
static int begin_or_join(struct xvt_region_hdr *h)
{
	static const uint8_t unknown[16];
	struct xvt_layout layout = { .kind = XVT_KIND_USER, .clock_id = XVT_CLOCK_NATIVE };
	char name[XVT_NAME_LEN] = "";
	uint32_t kind = xvt_load(&h->kind);
	uint8_t uuid[16];

	if (kind != XVT_KIND_USER && kind != XVT_KIND_BLANK)
		return failed(-EBUSY, "region", "it has a kernel or a bare-metal writer");
	read_boot_uuid(uuid);
	memcpy(u.boot, h->boot_uuid, sizeof(u.boot));
	if (kind == XVT_KIND_USER &&
	    (!memcmp(u.boot, uuid, sizeof(uuid)) || !memcmp(u.boot, unknown, sizeof(unknown)) ||
	     !memcmp(uuid, unknown, sizeof(unknown))))
		return 0;
	if (kind == XVT_KIND_USER && ask_for_rival(h, uuid))
		return failed(-EBUSY, "region",
			      "another machine writes to it; give each machine a memory of its own "
			      "(a cloned domain has the <shmem> of its origin)");
	if (h->vm_name[0])
		memcpy(name, h->vm_name, sizeof(name) - 1);
	else
		gethostname(name, sizeof(name) - 1);
	layout.vm_name = name;
	layout.clock_hz = h->clock_hz;
	xvt_region_new_generation(u.base, &u.g, &layout, uuid);
	memcpy(u.boot, uuid, sizeof(u.boot));
	return 0;
}

/* Has a driver the PCI device whose resource this is? The kernel does not map its memory twice, and
 * refuses that with -EINVAL before the region's header can be seen. */
static bool has_driver(const char *path)
{
	const char *slash = strrchr(path, '/');
	char driver[300];

	if (!slash || strncmp(slash, "/resource", 9))
		return false;
	snprintf(driver, sizeof(driver), "%.*s/driver", (int)(slash - path), path);
	return !access(driver, F_OK);
}

/* The region is mapped. Returns 0, or -errno with the reason for xvt_error(). */
static int check_region(const char *path)
{
	struct xvt_region_hdr copy;
	struct xvt_fault fault;
	int err = lock_byte(0, F_WRLCK, OPEN_TRIES);

	if (err == -EAGAIN || err == -EACCES)
		return failed(-ETIMEDOUT, path,
			      "another process holds the lock of its header (F_OFD_GETLK, "
			      "/proc/locks)");
	if (err)
		return failed(err == -EINVAL ? -ENOLCK : err, path, "its file system has no locks");
	memcpy(&copy, u.base, sizeof(copy));
	err = xvt_check_header(&copy, u.mapped, &u.g, &fault);
	u.clock_pages = xvt_has_clock_pages(&copy);
	if (err)
		snprintf(error_text, sizeof(error_text), "%.300s: %s = %#llx: %s", path,
			 fault.field, (unsigned long long)fault.value, fault.why);
	else
		err = begin_or_join((void *)u.base);
	lock_byte(0, F_UNLCK, 1);
	return u.gone ? failed(-EIO, path, "the file was shortened") : err;
}

/* Never 0, 1 or 2, also where the program was started without them: what it prints there would go
 * into the region. */
static int open_region(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), low = fd, err;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = errno;
	close(low);
	errno = err;
	return fd;
}

static int map_region(const char *path, unsigned int flags)
{
	struct stat st;
	int err;

	u.gone = false;
	u.fd = open_region(path);
	if (u.fd < 0 || fstat(u.fd, &st))
		return failed(-errno, path, strerror(errno));
	if (st.st_size < (off_t)XVT_ALIGN_MIN)
		return failed(-ENOSPC, path, "too short for a region");
	u.mapped = (uint64_t)st.st_size;
	u.base = mmap(NULL, u.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, u.fd, 0);
	if (u.base == MAP_FAILED) {
		err = -errno;
		u.base = NULL;
		if (has_driver(path))
			return failed(
				-EBUSY, path,
				"a driver has the device (the kernel module?); programs write "
				"to trace_marker then");
		return failed(err, path, strerror(-err));
	}
	err = flags & XVT_NO_SIGBUS ? 0 : watch_mapping();
	if (err)
		return failed(err, "SIGBUS", strerror(-err));
	return check_region(path);
}

static void unmap_region(void)
{
	unwatch_mapping();
	if (u.base)
		munmap(u.base, u.mapped);
	if (u.fd >= 0)
		close(u.fd); /* and with it all locks */
	free(u.ring);
	u.base = NULL;
	u.ring = NULL;
	u.fd = -1;
}

/* In the child of a fork: the rings are the parent's, and so is the helper. */
static void forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	my_ring = NULL;
	if (!u.open)
		return;
	xvt_store(&u.open, false);
	u.helper_runs = false;
	u.opens++;
	/* Our copy of the descriptor shares the parent's locks; with it gone, they end with
	 * the parent. */
	unmap_region();
}

static void set_up_once(void)
{
	pthread_key_create(&at_thread_exit, thread_exits);
	pthread_atfork(NULL, NULL, forget);
}

int xvt_open(const char *path, unsigned int flags)
{
	char device[256];
	sigset_t saved;
	int err;

	pthread_once(&once, set_up_once);
	if (u.open)
		return failed(-EALREADY, "xvt_open", "this process has a region open");
	if (!path)
		path = getenv("XVT_REGION");
	if (!path) {
		if (find_device(device, sizeof(device)))
			return failed(-ENOENT, "xvt_open",
				      "no path, no XVT_REGION and no ivshmem device");
		path = device;
	}
	err = map_region(path, flags);
	if (err)
		goto err_unmap;
	u.ring = calloc(u.g.ring_count, sizeof(*u.ring));
	if (!u.ring) {
		err = failed(-ENOMEM, path, strerror(ENOMEM));
		goto err_unmap;
	}
	lock(&saved);
	u.ringless = 0;
	xvt_store(&u.opens, u.opens + 1);
	u.ring_end = 0;
	xvt_store(&u.open, true);
	unlock(&saved);
	if (!(flags & XVT_NO_HELPER))
		err = start_helper();
	if (err)
		xvt_close();
	return err;

err_unmap:
	unmap_region();
	return err;
}

void xvt_close(void)
{
	sigset_t saved;
	uint32_t i;

	if (!u.open)
		return;
	if (u.helper_runs) {
		__atomic_store_n(&u.helper_stop, true, __ATOMIC_RELEASE);
		pthread_join(u.helper, NULL);
		u.helper_runs = false;
	}
	lock(&saved);
	for (i = 0; i < u.g.ring_count; i++)
		if (u.ring[i].owned)
			release(&u.ring[i]);
	xvt_store(&u.open, false);
	xvt_store(&u.opens, u.opens + 1);
	unmap_region();
	unlock(&saved);
}
