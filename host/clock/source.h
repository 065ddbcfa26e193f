/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - where clock nodes come from. One interface for all sources: handshake
 * through the region (handshake.c); KVM's own knowledge and a VMM that owns the vCPU
 * plug in beside it. A source never touches a map; it measures, the ring's owner adds the
 * node and may refuse it.
 */
#ifndef XVT_CLOCK_SOURCE_H
#define XVT_CLOCK_SOURCE_H

#include "clock/map.h"

struct xvt_clock_source;

/* What a source may know of the ring that it measures. */
struct xvt_clock_target {
	struct xvt_ring_ctl *ctl; /* through the mapping; load each word once */
	struct xvt_ring_host *host;
	const struct xvt_host_clock *host_clock;
	const uint64_t *guest_hz; /* nominal; may be corrected while measuring */
	uint32_t ring;		  /* number in the trace */
	/* Called at most once in a poll(), if not NULL, while the writer looks into its mailbox
	 * all the time. May take 100 us. */
	void (*met)(void *arg);
	void *met_arg;
	/* How many questions make a measurement; NULL or 0: as many as make it better. */
	const uint32_t *exchanges;
	/* Host clock at which the caller last looked for an answer (waits()); NULL: by poll()
	 * alone. */
	const uint64_t *looked;
};

/* One measurement: a node, and the raw samples that define its bound (at most two). */
struct xvt_clock_measure {
	struct xvt_clock_node node;
	struct xvt_clock_sample samples[2];
	unsigned int nr_samples;
	uint64_t host_clock_lo; /* the first of its questions was asked then */
	uint64_t host_clock_hi; /* the node's moment is proven to lie at or before this */
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
	/* Ask for a measurement; nothing if one is under way, unless nobody answers it. */
	void (*start)(struct xvt_clock_source *s);
	/*
	 * Go on with it; never takes longer than about a millisecond. Returns 1 and fills *m
	 * when a measurement is complete, 0 while under way or idle.
	 */
	int (*poll)(struct xvt_clock_source *s, struct xvt_clock_measure *m);
	/* True while poll() should be called again within about 100 us. */
	bool (*busy)(const struct xvt_clock_source *s);
	/*
	 * While it is busy: poll() has nothing to do until *word is `value`, or the host's clock
	 * has come to `until`. Returns false if it has something to do now. May be NULL.
	 */
	bool (*waits)(const struct xvt_clock_source *s, struct xvt_clock_wait *wait);
	/*
	 * The answer is there: what has to be done while the guest is, and nothing else; poll()
	 * does the rest when it is called next. Takes as long as poll() at most. Only if there is
	 * waits().
	 */
	void (*meet)(struct xvt_clock_source *s);
	void (*close)(struct xvt_clock_source *s);
};

extern const struct xvt_clock_source_ops xvt_clock_handshake;

#endif /* XVT_CLOCK_SOURCE_H */
