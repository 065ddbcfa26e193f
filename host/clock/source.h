/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - the interface of a source that measures a ring's clock nodes: the handshake through
 * the region (handshake.c), or the host's own counter (own.c). Sources that know a formula have
 * their own interface (exact.h). A source never changes a map: it measures, and the ring's owner
 * adds the node and may refuse it.
 */
#ifndef XVT_CLOCK_SOURCE_H
#define XVT_CLOCK_SOURCE_H

#include "clock/rate.h"
#include "clock/map.h"

struct xvt_clock_source;

/*
 * How the caller's thread makes way for a guest. A guest whose vCPU has been running on the
 * thread's CPU answers only when the thread does not run.
 */
struct xvt_clock_way {
	/* Sleeps for some tens of microseconds. */
	void (*nap)(void *arg);
	/* The guest answers only during naps: moves the thread to another CPU. Returns false if the
	 * thread stays where it is. */
	bool (*leave)(void *arg);
	/* After leave() returned true: whether the guest then answered without a nap. Not called
	 * if it did not answer in the same poll(). */
	void (*left)(void *arg, bool helped);
	void *arg;
};

/* Parts of a ring that a source may use to measure it. */
struct xvt_clock_target {
	struct xvt_ring_ctl *ctl; /* through the mapping; load each word once */
	struct xvt_ring_host *host;
	const struct xvt_host_clock *host_clock;
	const uint64_t *guest_hz; /* nominal; may be corrected while measuring */
	uint32_t ring;		  /* number in the trace */
	/* Called at most once in a poll(), if not NULL, while the guest's writer polls its mailbox.
	 * May take 100 us. */
	void (*met)(void *arg);
	void *met_arg;
	/* Number of exchanges in a measurement; NULL or 0: as many as improve it. */
	const uint32_t *exchanges;
	/* Host clock at which the caller last looked for an answer (waits()); NULL: only poll()
	 * looks. */
	const uint64_t *looked;
	const struct xvt_clock_way *way; /* NULL: the source spins for an answer */
	const bool *rate_open; /* guest_hz is only what the guest claims; NULL: it is known */
	const uint64_t *rate_doubt_ppb;	   /* how far guest_hz may be off; NULL: it is exact */
	const struct xvt_clock_rate *rate; /* another explanation; NULL: none */
};

/* A measurement: a node, and the raw samples that define its bound (at most two). */
struct xvt_clock_measure {
	struct xvt_clock_node node;
	struct xvt_clock_sample samples[2];
	unsigned int nr_samples;
	uint64_t host_clock_lo; /* when its first question was asked */
	uint64_t host_clock_hi; /* the node's moment is proven to be no later */
	/* The longest gap between two exchanges of one short time; ticks 0: there is none. */
	struct xvt_rate_gap within;
	/* All answers so far differ by multiples of so many ticks; 0: all were one. The clock's
	 * step is no larger; it is that, if enough answers differ. */
	uint32_t clock_step_most;
	bool clock_step_known;
};

struct xvt_clock_wait {
	const uint64_t *word; /* through the mapping */
	uint64_t value;
	uint64_t until;
};

struct xvt_clock_source_ops {
	const char *name;
	enum xvt_clock_source_id id;
	/* Returns 0 or -errno (-ENODEV: not for this ring). */
	int (*open)(struct xvt_clock_source **out, const struct xvt_clock_target *target);
	/* Begins a measurement. No effect while one is under way, unless its question stays
	 * unanswered. */
	void (*start)(struct xvt_clock_source *s);
	/* Continues a measurement, for at most about a millisecond. Returns 1 and fills *m when it
	 * is complete, 0 while it is under way or idle. */
	int (*poll)(struct xvt_clock_source *s, struct xvt_clock_measure *m);
	/* True while poll() should be called again within about 100 us. */
	bool (*busy)(const struct xvt_clock_source *s);
	/* While busy: poll() has nothing to do until *word is `value` or the host's clock has
	 * reached `until`. Returns false if poll() has something to do now. May be NULL. */
	bool (*waits)(const struct xvt_clock_source *s, struct xvt_clock_wait *wait);
	/*
	 * Called when the answer has come: does only what must be done while the guest is in its
	 * mailbox, and takes at most as long as poll(). The next poll() does the rest. Only with
	 * waits().
	 */
	void (*exchange)(struct xvt_clock_source *s);
	void (*close)(struct xvt_clock_source *s);
};

extern const struct xvt_clock_source_ops xvt_clock_handshake;
/* Of a ring that is stamped with the host's own counter. */
extern const struct xvt_clock_source_ops xvt_clock_own;

#endif /* XVT_CLOCK_SOURCE_H */
