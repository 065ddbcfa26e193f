/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt.h - events from a user-space program into an xvtrace region.
 *
 *	#include <xvt.h>
 *
 *	if (xvt_open(NULL, 0))
 *		fprintf(stderr, "%s\n", xvt_error());	(the program runs on, untraced)
 *	...
 *	xvt_event(XVT_USER_ID + 3, &request, sizeof(request));
 *	xvt_printf("cache miss for %s", name);
 *	...
 *	xvt_close();
 *
 * What happens. A process has one region open. Each thread that records owns one ring of
 * it, claimed at its first event (or by xvt_thread_attach()) and released when the thread
 * ends; rings of dead processes are taken over, and what they left stays readable for the
 * host. A helper thread answers the host's clock requests. Events go to memory and nowhere
 * else: no system call, no lock, no waiting. When the ring is full the event is dropped and
 * counted where the host sees it.
 *
 * Signals. xvt_event() may be called in a signal handler, also in one that interrupts
 * xvt_event(): the handler's event nests in the ring. The one exception is a thread's very
 * first event, which makes system calls (all of them async-signal-safe): a thread whose
 * handlers record should call xvt_thread_attach() first. A handler must not longjmp() out of
 * an interrupted xvt_event(): the ring would publish nothing any more.
 *
 * fork(). The child's events return -ENOTCONN until it calls xvt_open() itself, because its
 * threads would write the parent's rings. exec() needs nothing.
 *
 * What the region is. A file made by `xvtrace region create`, or in a guest the resource2
 * file of the ivshmem device (needs root; once a region was made in it). The PCI file is
 * mapped as the kernel maps device memory: on Intel with KVM that is ordinary memory, but on
 * AMD it really is uncached, and an event then costs some microseconds instead of some tens
 * of nanoseconds. `xvt-emit --cost` measures it. With the kernel module loaded, use
 * the module's device instead.
 *
 * The file's locks (fcntl OFD locks, one byte for each ring) tell live owners from dead ones,
 * across PID namespaces too. A program that closes all its file descriptors keeps its rings
 * as long as its PID exists. Another process that keeps a lock stops no program: xvt_open() gives
 *up after a second, and a thread takes its ring without leaving its name.
 *
 * SIGBUS. The kernel sends it to a program that touches the mapping of a file after another process
 * has shortened that file. xvt_open() installs a handler that handles the addresses of the region
 * only: it puts zeros of this process there, and the program runs on untraced; its events return
 * -EIO and are counted by xvt_ringless(). All other SIGBUS go to the handler that was there
 * before, or end the program as without the library. xvt_close() puts the old handler back. A
 * program that installs its own handler later shall call the one that it replaces; one that wants
 * none passes XVT_NO_SIGBUS. A thread that blocks SIGBUS is not protected.
 */
#ifndef XVT_H
#define XVT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ids of a program's own events start here; up to XVT_USER_ID_MAX. */
#define XVT_USER_ID	 1024u
#define XVT_USER_ID_MAX	 0x7fffu
/* Payload is an array of u64. Payload is text. */
#define XVT_USER_ID_U64	 18u
#define XVT_USER_ID_TEXT 17u

/* xvt_open(): start no helper thread. The host then gets no clock samples from here. */
#define XVT_NO_HELPER	 1u
/* xvt_open(): install no handler of SIGBUS. A file that is shortened then ends the program. */
#define XVT_NO_SIGBUS	 2u

/*
 * Map a region and start the helper thread. `path` NULL: $XVT_REGION, else the first ivshmem
 * device. The first program to open a blank region begins its first generation; all others
 * join. Where rings are in use by programs of another boot, it asks for up to 0.2 s whether another
 * machine writes them, and then begins the next. Not thread-safe against itself and xvt_close().
 * Returns 0, or
 *   -EALREADY   this process has a region open
 *   -ENOENT     no such file, or no device found
 *   -EACCES     and other errors of open(2), mmap(2), pthread_create(3)
 *   -EAGAIN     it is not formatted: run `xvtrace region create`
 *   -EBADMSG    not a region
 *   -EPROTO     a region of a newer version
 *   -ENOSPC     the file is shorter than its region
 *   -EBUSY      it belongs to a kernel or a bare-metal writer, a driver has its device, or programs
 *               of another machine write to it
 *   -ENOLCK     its file system has no locks
 *   -ETIMEDOUT  another process holds the header's lock for more than a second
 *   -EIO        the file was shortened meanwhile
 * and xvt_error() says more.
 */
int xvt_open(const char *path, unsigned int flags);

/*
 * Release all rings of this process and unmap. No other thread may be inside any function of
 * this header. A program that ends without it leaves its rings to be taken over.
 */
void xvt_close(void);

/* Why the last xvt_open() failed, one line. Static memory. */
const char *xvt_error(void);

/*
 * Record one event. `id` is XVT_USER_ID..XVT_USER_ID_MAX, XVT_USER_ID_U64 or
 * XVT_USER_ID_TEXT. The host sees `len` rounded up to 8, the rest zero. Any thread, any
 * signal handler. Returns
 *   0           recorded
 *   -EAGAIN     recording is off
 *   -ENOSPC     dropped and counted in the ring (full, too long, nested too deep)
 *   -EUSERS     dropped: every ring has an owner; counted by xvt_ringless()
 *   -EINVAL     not an id for programs
 *   -ENOTCONN   no region is open in this process
 *   -EIO        dropped: the region's file was shortened; counted by xvt_ringless()
 */
int xvt_event(uint32_t id, const void *payload, uint32_t len);

/*
 * Format and record text, cut at 1000 bytes. As safe in signal handlers as the platform's
 * vsnprintf(): glibc's is for everything but floating point.
 */
int xvt_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Is the host recording? A hint for programs whose payload is costly to collect. */
bool xvt_enabled(void);

/* Claim this thread's ring now. Returns 0, -EUSERS, -ENOTCONN or -EIO. */
int xvt_thread_attach(void);

/* Counters of this thread's events since it claimed its ring. */
struct xvt_thread_stat {
	uint32_t ring;
	uint64_t attempted;
	uint64_t lost;
};

/* Returns 0, or -ENOTCONN when this thread has no ring, or none any more (-EIO of its events). */
int xvt_thread_stat(struct xvt_thread_stat *stat);

/* xvt_clock_now(): host time and the VM's active time, and how good they are. */
struct xvt_time {
	uint64_t clock;	    /* the CPU's counter, as it was read */
	uint64_t host_ns;   /* the host's CLOCK_MONOTONIC, */
	uint64_t bound_ns;  /* off by at most this; ~0: it may be off by anything */
	uint64_t age_ns;    /* since the host's newest look at our clock */
	uint64_t active_ns; /* how long the VM ran since the recorder came; stands while paused */
	uint64_t session;   /* the recorder that says so, */
	uint64_t epoch;	    /* and its epoch of our clock: times of two do not compare */
	uint64_t flags;	    /* XVT_TIME_* */
};

#define XVT_TIME_ACTIVE	     2u /* the VM runs; cleared, the host does not know yet that it does */
#define XVT_TIME_UNCONFIRMED 4u /* a pause lies between: the host has not looked again yet */
#define XVT_TIME_CLOSED	     8u /* the recorder has ended; host_ns goes on, less and less exact */

/*
 * What time is it on the host? From the clock page of this thread's ring: no system call, no lock,
 * no waiting, some 30 ns; in signal handlers too. Within a session and an epoch a later call
 * of this thread never returns less, of host_ns or of active_ns. Two threads have two pages, each
 * as good as its bound_ns. Returns 0, or
 *   -ENODATA   no recorder, or it has not measured this ring's clock yet
 *   -EAGAIN    the page was being written: call again. For long: the recorder died writing it
 *   -ESTALE    our clock went back, and the recorder does not know yet
 *   -EUSERS, -ENOTCONN, -EIO  as xvt_event()
 */
int xvt_clock_now(struct xvt_time *now);

/* Events of this process since xvt_open() that found no free ring, or no region any more. */
uint64_t xvt_ringless(void);

#ifdef __cplusplus
}
#endif

#endif /* XVT_H */
