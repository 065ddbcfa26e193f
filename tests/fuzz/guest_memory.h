/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest_memory.h - included before everything else in every source that the fuzz targets are
 * made of. It puts a hand between the host's code and a mapped region:
 *
 *   - A mapping of a file gets no access rights at all. What the code does with it goes through
 *     the macros below, to a second mapping of the same file. An access that is not one of
 *     them, a plain `*p` of shared memory, faults.
 *   - Each access is counted by byte. A second fetch of the same byte in one pass of the host is
 *     a finding, except for the words in the table of guest_memory.c, each with its reason.
 *   - Before each access a guest may act: fuzz_guest_turn().
 *
 * Time is made up too, so that a run is a function of its input.
 */
#ifndef XVT_FUZZ_GUEST_MEMORY_H
#define XVT_FUZZ_GUEST_MEMORY_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "xvt_port.h"

struct xvt_geometry;

/* Where to do an access of `size` bytes at p: p itself, or its place in the other mapping. */
void *fuzz_fetch(const volatile void *p, size_t size);
void *fuzz_place(volatile void *p, size_t size);
/* After a store: a guest that polls sees it at once. */
void fuzz_stored(volatile void *p);

void *fuzz_memcpy(void *to, const void *from, size_t len);
void *fuzz_memset(void *to, int byte, size_t len);
void *fuzz_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
int fuzz_munmap(void *at, size_t len);

uint64_t fuzz_clock(void);
void fuzz_clock_advance(uint64_t ns);
int fuzz_clock_gettime(clockid_t id, struct timespec *ts);
int fuzz_nanosleep(const struct timespec *wait, struct timespec *left);
ssize_t fuzz_getrandom(void *to, size_t len, unsigned int flags);

/* --- for the target and the loop --- */

/* Mappings of that file alone are guarded: what the recorder has of its own is not the guest's. */
void fuzz_memory_file(int fd);
/* Returns whether p is in a mapping of it. */
bool fuzz_memory_is_guests(const void *p);
/* A new run: nothing is mapped, the clock is at its start. */
void fuzz_memory_reset(void);
/* The host begins a new pass: everything may be fetched again. */
void fuzz_pass(void);
/* The host's geometry, once it has checked the header. */
void fuzz_memory_geometry(const struct xvt_geometry *g);
/* `ring`'s control words may be looked at again in this pass. */
void fuzz_look_again(uint32_t ring);
/* Begin and end of finding out what a snapshot takes of a ring. */
void fuzz_memory_cutting(bool yes);
/* The region's file got shorter: accesses behind its end fault from now on. */
void fuzz_memory_cut(uint64_t size);

/* Of the target: what the guest does before the host's next access, and when a word changed. */
void fuzz_guest_turn(void);
void fuzz_guest_stored(uint64_t off);

#ifndef XVT_FUZZ_PLAIN /* guest_memory.c itself */
#undef xvt_load
#undef xvt_load_acquire
#undef xvt_store
#undef xvt_store_release
#define xvt_load(p) __atomic_load_n((__typeof__(p))fuzz_fetch((p), sizeof(*(p))), __ATOMIC_RELAXED)
#define xvt_load_acquire(p) \
	__atomic_load_n((__typeof__(p))fuzz_fetch((p), sizeof(*(p))), __ATOMIC_ACQUIRE)
#define xvt_store_order_(p, v, order)                                                       \
	do {                                                                                \
		__typeof__(p) p_ = (p);                                                     \
		__typeof__(*p_) v_ = (__typeof__(*p_))(v);                                  \
		__atomic_store_n((__typeof__(p_))fuzz_place(p_, sizeof(*p_)), v_, (order)); \
		fuzz_stored(p_);                                                            \
	} while (0)
#define xvt_store(p, v)			    xvt_store_order_(p, v, __ATOMIC_RELAXED)
#define xvt_store_release(p, v)		    xvt_store_order_(p, v, __ATOMIC_RELEASE)
#define xvt_clock_read()		    fuzz_clock()
#define xvt_clock_read_ordered()	    fuzz_clock()
#define memcpy(to, from, len)		    fuzz_memcpy((to), (from), (len))
#define memset(to, byte, len)		    fuzz_memset((to), (byte), (len))
#define mmap(at, len, prot, flags, fd, off) fuzz_mmap(at, len, prot, flags, fd, off)
#define munmap(at, len)			    fuzz_munmap(at, len)
#define clock_gettime(id, ts)		    fuzz_clock_gettime(id, ts)
#define nanosleep(wait, left)		    fuzz_nanosleep(wait, left)
#define getrandom(to, len, flags)	    fuzz_getrandom(to, len, flags)
#endif

#endif /* XVT_FUZZ_GUEST_MEMORY_H */
