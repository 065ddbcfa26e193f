/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_port.h - the one place with environment #ifdefs: integer types, the named memory
 * operations, the clock. Everything else in shared/ is plain C11 on top of this file, so
 * the same source is a kernel module, a user-space library, a bare-metal image and a
 * test with a hook at every access to shared memory.
 *
 * The vocabulary. Two sides exist and they need different strength:
 *
 *   same CPU      a writer and whatever interrupts it (softirq, irq, NMI, signal). The
 *                 interrupter runs to completion, so single instructions suffice and
 *                 only the compiler must be held: xvt_barrier(), xvt_local_cas(),
 *                 xvt_local_fetch_add(), xvt_local_inc().
 *   other machine the host reads while the guest writes. Order matters there, even when
 *                 the guest kernel was built for one CPU: xvt_load_acquire(),
 *                 xvt_store_release(), xvt_wmb(), xvt_rmb(), xvt_mb().
 */
#ifndef XVT_PORT_H
#define XVT_PORT_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/errno.h>
#include <asm-generic/kprobes.h>
#else
#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>
#if __STDC_HOSTED__
#include <string.h>
#include <errno.h>
#else
/* A bare-metal port supplies these four: compilers call them even when freestanding. */
void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memset(void *dst, int c, size_t n);
void *memmove(void *dst, const void *src, size_t n);
int memcmp(const void *a, const void *b, size_t n);
#define EPERM	1
#define EAGAIN	11
#define EINVAL	22
#define ENOSPC	28
#define ENODATA 61
#define EBADMSG 74
#define EPROTO	71
#define ESTALE	116
#endif
#endif

#ifdef __cplusplus
#define XVT_ASSERT(cond, why) static_assert(cond, why)
#else
#define XVT_ASSERT(cond, why) _Static_assert(cond, why)
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the region is little-endian and xvtrace runs on little-endian machines only"
#endif

/*
 * A test may define XVT_POINT(tag) before the first include: it then runs at every access
 * to memory that a nested context or the host can see.
 */
#ifndef XVT_POINT
#define XVT_POINT(tag) ((void)0)
#endif

#define xvt_likely(x)	__builtin_expect(!!(x), 1)
#define xvt_unlikely(x) __builtin_expect(!!(x), 0)
/*
 * The hot path is inlined whole; what an event seldom needs stays out of it, in functions. In a
 * kernel neither may be traced or probed: a probe's event would come here again.
 */
#ifdef __KERNEL__
#define xvt_inline static __always_inline
#define xvt_seldom static noinline __maybe_unused notrace __kprobes
#else
#define xvt_inline static inline __attribute__((always_inline, unused))
#define xvt_seldom static __attribute__((noinline, cold, unused))
#endif

/* Here the compiler forgets how a word was computed: it does not compute it again, and of a pointer
 * it does not keep members' addresses, each in a register of its own. */
#define xvt_hide(p)   __asm__("" : "+r"(p))

#define xvt_barrier() __asm__ __volatile__("" ::: "memory")

/* An access of the full width, never torn, never repeated by the compiler. */
#define xvt_load(p)                                     \
	({                                              \
		XVT_POINT("load");                      \
		__atomic_load_n((p), __ATOMIC_RELAXED); \
	})
#define xvt_store(p, v)                                       \
	do {                                                  \
		XVT_POINT("store");                           \
		__atomic_store_n((p), (v), __ATOMIC_RELAXED); \
	} while (0)

/*
 * The compiler's own atomics order against another machine whatever the guest kernel was
 * configured for; the kernel's smp_*() would shrink to compiler barriers on a kernel for
 * one CPU, and the host is another CPU.
 */
#define xvt_load_acquire(p)                             \
	({                                              \
		XVT_POINT("load_acquire");              \
		__atomic_load_n((p), __ATOMIC_ACQUIRE); \
	})
#define xvt_store_release(p, v)                               \
	do {                                                  \
		XVT_POINT("store_release");                   \
		__atomic_store_n((p), (v), __ATOMIC_RELEASE); \
	} while (0)

#if defined(__x86_64__)

/* Unlocked: atomic against interrupts of this CPU, which is all that the writer needs. */
xvt_inline bool xvt_local_cas_(uint64_t *p, uint64_t old, uint64_t new_)
{
	bool ok;

	__asm__ __volatile__("cmpxchgq %3, %1"
			     : "=@ccz"(ok), "+m"(*p), "+a"(old)
			     : "r"(new_)
			     : "memory");
	return ok;
}

xvt_inline uint64_t xvt_local_fetch_add_(uint64_t *p, uint64_t v)
{
	__asm__ __volatile__("xaddq %0, %1" : "+r"(v), "+m"(*p) : : "memory", "cc");
	return v;
}

/* A single instruction, so that a nested context never sees half of it. */
xvt_inline void xvt_local_inc_(uint64_t *p)
{
	__asm__ __volatile__("incq %0" : "+m"(*p) : : "memory", "cc");
}

/* A single instruction with its operand in memory; compilers do not fold an atomic load into it. */
#define xvt_differs_(p, v)                                                     \
	({                                                                     \
		bool differs_;                                                 \
		__asm__ __volatile__("cmp %2, %1"                              \
				     : "=@ccne"(differs_)                      \
				     : "m"(*(p)), "r"((__typeof__(*(p)))(v))); \
		differs_;                                                      \
	})

#define xvt_mb()    __asm__ __volatile__("mfence" ::: "memory")
#define xvt_wmb()   xvt_barrier() /* x86 keeps stores in order */
#define xvt_rmb()   xvt_barrier() /* and loads */
#define xvt_relax() __asm__ __volatile__("pause" ::: "memory")

/*
 * Unordered: may be read some tens of ns early with respect to neighbouring loads. That
 * slack is part of the clock's error budget; an ordered read costs as much again.
 */
xvt_inline uint64_t xvt_clock_read(void)
{
	uint64_t lo, hi; /* the upper halves are cleared */

	__asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
	return hi << 32 | lo;
}

/* Ordered against everything before and after: what a clock handshake needs as proof. */
xvt_inline uint64_t xvt_clock_read_ordered(void)
{
	uint32_t lo, hi;

	__asm__ __volatile__("lfence; rdtsc; lfence" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

#define XVT_CLOCK_NATIVE XVT_CLOCK_TSC

#elif defined(__aarch64__)

xvt_inline bool xvt_local_cas_(uint64_t *p, uint64_t old, uint64_t new_)
{
	return __atomic_compare_exchange_n(p, &old, new_, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

xvt_inline uint64_t xvt_local_fetch_add_(uint64_t *p, uint64_t v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

xvt_inline void xvt_local_inc_(uint64_t *p)
{
	__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
}

#define xvt_differs_(p, v) (__atomic_load_n((p), __ATOMIC_RELAXED) != (v))

#define xvt_mb()	   __asm__ __volatile__("dmb ish" ::: "memory")
#define xvt_wmb()	   __asm__ __volatile__("dmb ishst" ::: "memory")
#define xvt_rmb()	   __asm__ __volatile__("dmb ishld" ::: "memory")
#define xvt_relax()	   __asm__ __volatile__("yield" ::: "memory")

xvt_inline uint64_t xvt_clock_read(void)
{
	uint64_t t;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}

xvt_inline uint64_t xvt_clock_read_ordered(void)
{
	uint64_t t;

	__asm__ __volatile__("isb; mrs %0, cntvct_el0; isb" : "=r"(t) : : "memory");
	return t;
}

#define XVT_CLOCK_NATIVE   XVT_CLOCK_CNTVCT

#else
#error "xvtrace knows x86-64 and arm64; add the operations and the clock for yours here"
#endif

/* xvt_load(p) != v. */
#define xvt_differs(p, v)               \
	({                              \
		XVT_POINT("compare");   \
		xvt_differs_((p), (v)); \
	})

xvt_inline bool xvt_local_cas(uint64_t *p, uint64_t old, uint64_t new_)
{
	XVT_POINT("cas");
	return xvt_local_cas_(p, old, new_);
}

/* Returns what was there before. */
xvt_inline uint64_t xvt_local_fetch_add(uint64_t *p, uint64_t v)
{
	XVT_POINT("xadd");
	return xvt_local_fetch_add_(p, v);
}

xvt_inline void xvt_local_inc(uint64_t *p)
{
	XVT_POINT("inc");
	xvt_local_inc_(p);
}

/* The clock that stamps events where the ring's owner gave no clock. Benchmarks put a counter here.
 */
#ifndef XVT_CLOCK_READ
#define XVT_CLOCK_READ() xvt_clock_read()
#endif

#endif /* XVT_PORT_H */
