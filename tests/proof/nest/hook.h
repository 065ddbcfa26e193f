/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hook.h - the memory operations of xvt_port.h, each with a hook before it. To be included
 * before the code under test, which then is the real source, unchanged.
 *
 * The hook learns what is about to happen: which operation, on what (the source text), where.
 * An operation that this file does not know still has the port's own XVT_POINT.
 */
#ifndef NEST_HOOK_H
#define NEST_HOOK_H

#include "site.h"

/* One constant description for each place in the source. */
#define NEST_SITE(kind, text)                                                           \
	({                                                                              \
		static const struct nest_site site_ = { kind, text, __func__, __FILE__, \
							__LINE__ };                     \
		&site_;                                                                 \
	})

#define XVT_POINT(tag) nest_point(NEST_SITE(SITE_OTHER, tag), NULL)
#include "xvt_port.h"

#undef xvt_load
#define xvt_load(p)                                                \
	({                                                         \
		nest_point(NEST_SITE(SITE_LOAD, "load " #p), (p)); \
		__atomic_load_n((p), __ATOMIC_RELAXED);            \
	})

#undef xvt_differs
#define xvt_differs(p, v)                                             \
	({                                                            \
		nest_point(NEST_SITE(SITE_LOAD, "compare " #p), (p)); \
		xvt_differs_((p), (v));                               \
	})

#undef xvt_load_acquire
#define xvt_load_acquire(p)                                                \
	({                                                                 \
		nest_point(NEST_SITE(SITE_LOAD, "load_acquire " #p), (p)); \
		__atomic_load_n((p), __ATOMIC_ACQUIRE);                    \
	})

#undef xvt_store
#define xvt_store(p, v)                                                       \
	do {                                                                  \
		nest_point(NEST_SITE(SITE_STORE, "store " #p " = " #v), (p)); \
		__atomic_store_n((p), (v), __ATOMIC_RELAXED);                 \
	} while (0)

#undef xvt_store_release
#define xvt_store_release(p, v)                                                       \
	do {                                                                          \
		nest_point(NEST_SITE(SITE_STORE, "store_release " #p " = " #v), (p)); \
		__atomic_store_n((p), (v), __ATOMIC_RELEASE);                         \
	} while (0)

#define xvt_local_cas(p, old, new_)                                                       \
	({                                                                                \
		nest_point(NEST_SITE(SITE_STORE, "cas " #p ": " #old " -> " #new_), (p)); \
		xvt_local_cas_((p), (old), (new_));                                       \
	})

#define xvt_local_fetch_add(p, v)                                             \
	({                                                                    \
		nest_point(NEST_SITE(SITE_STORE, "xadd " #p " += " #v), (p)); \
		xvt_local_fetch_add_((p), (v));                               \
	})

#define xvt_local_inc(p)                                           \
	({                                                         \
		nest_point(NEST_SITE(SITE_STORE, "inc " #p), (p)); \
		xvt_local_inc_(p);                                 \
	})

/* Longer stores go word by word, upwards; see nest_copy(). */
#undef memcpy
#define memcpy(dst, src, n) nest_copy(NEST_SITE(SITE_STORE, "memcpy " #dst), dst, src, n)
#undef memset
#define memset(dst, c, n) nest_fill(NEST_SITE(SITE_STORE, "memset " #dst), dst, c, n)

#endif /* NEST_HOOK_H */
