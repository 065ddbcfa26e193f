/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xvtrace.h - what the files of the module know of each other. A guest has one region, so there is
 * one struct xvt_guest and one writer per CPU.
 *
 *   xvt_pci.c      finds the device, maps the region, order of start and stop
 *   xvt_core.c     rings: generation, CPU hot-plug, timers, clock answers, suspend
 *   xvt_request.c  what the host asks for
 *   xvt_sysfs.c    /sys/class/misc/xvtrace/
 *   xvt_panic.c    a panic of the kernel -> ring
 *   xvt_export.c   ftrace -> ring
 *   xvt_hooks.c    what ftrace does not export: trace_printk, kernel stacks -> ring
 *   xvt_probes.c   hottest tracepoints -> ring, without ftrace's own ring
 *   xvt_symbols.c  work for the metadata; names of the functions whose addresses events hold
 *   xvt_format.c   formats of events as text, sent when a type is met
 *   xvt_meta.c     metadata area and /dev/xvtrace
 *   xvt_types.c    types of events that were met
 *   xvt_doorbell.c wakes the host
 *   xvt_guest.c    the region, the writers and the guest's clocks
 *
 * A file calls files further down in this list only; tests/check-layers.sh finds loops.
 *
 * The event path is xvt_event() and what it calls: any context, no locks, not traced, not
 * probed, no exit to the hypervisor, except to wake a host that sleeps.
 */
#ifndef XVTRACE_H
#define XVTRACE_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/kprobes.h>
#include <linux/pci.h>
#include <linux/uuid.h>

#include "xvt_compat.h"
#include "xvt_region.h"

struct xvt_cpu {
	struct xvt_writer writer;
	struct hrtimer timer;
	u64 sync_due_ns;  /* next periodic CLOCK_SYNC */
	u32 sync_pending; /* enum xvt_sync_reason of one that must be written, 0 = none */
	u32 enable_seen;
	u64 paired;    /* number of the mark that the last clock pair came with */
	bool ringless; /* it came when all rings were given, and that is told */
};

struct xvt_guest {
	struct pci_dev *pdev;
	void *base;
	struct xvt_geometry geo;
	u64 access_ps; /* cost of one cached read, as measured at load */
	u32 generation;
	uuid_t uuid;	 /* of this boot, as the header has it */
	bool may_format; /* no other device could be the one that is meant */
	bool formatted;	 /* it held no region before */
	bool displaced;	 /* another machine began a generation here: no access any more */
	int pair_error;	 /* 0: the hypervisor gives clock pairs; else what it said */
	bool cached;	 /* page table says write-back */
	bool vmapped;
	void __iomem *registers; /* of a device with doorbells; NULL: it has none */
};

extern struct xvt_guest xvt_guest;
DECLARE_PER_CPU(struct xvt_cpu, xvt_cpus);

/*
 * May the region be touched? Cleared before the mapping goes, and while the machine sleeps:
 * the device then answers no access.
 */
extern bool xvt_open;

static inline struct xvt_host_page *xvt_host_page(void)
{
	return xvt_guest.base + xvt_guest.geo.host_off;
}

/* A hash table of the functions' addresses that events held, 0: free; NULL: they are not kept. */
extern unsigned long *xvt_addresses;
#define XVT_ADDRESS_BITS  14
#define XVT_ADDRESS_SLOTS (1u << XVT_ADDRESS_BITS)

void xvt_symbols_add(unsigned long *table, unsigned long address);

static __always_inline u32 xvt_address_slot(unsigned long address)
{
	return address * 0x9e3779b97f4a7c15ull >> (64 - XVT_ADDRESS_BITS);
}

/* Keep the words, `step` bytes apart, that may be addresses of functions. Context: any. */
static __always_inline void xvt_keep_addresses(const void *words, u32 len, u32 step)
{
	unsigned long *table = READ_ONCE(xvt_addresses);
	u32 at;

	if (!table)
		return;
	for (at = 0; at + sizeof(long) <= len; at += step) {
		unsigned long word;

		memcpy(&word, words + at, sizeof(word));
		if (likely(word - XVT_TEXT_BEGIN >= XVT_TEXT_SPAN))
			continue;
		if (unlikely(READ_ONCE(table[xvt_address_slot(word)]) != word))
			xvt_symbols_add(table, word);
	}
}

/*
 * Write an event into this CPU's ring; `addresses`: its fields may hold addresses of functions.
 * Context: any, with preemption off (a writer that is preempted or migrates between reserve and
 * commit would break the nesting). len <= XVT_LEN8_MAX * 8. Events that do not fit are counted in
 * the ring.
 */
static __always_inline void xvt_event(const void *payload, u32 len, bool addresses)
{
	struct xvt_writer *w = &raw_cpu_ptr(&xvt_cpus)->writer;
	struct xvt_slot slot;

	if (unlikely(!READ_ONCE(xvt_open)))
		return;
	if (xvt_reserve(w, XVT_ID_FTRACE, len, &slot))
		return;
	memcpy(slot.payload, payload, len);
	if (addresses)
		xvt_keep_addresses(payload, len, sizeof(long));
	xvt_commit(w, &slot);
}

/* Types of ftrace's events; the probes' own lie among them. */
#define XVT_TYPES	 65536u
/* As many events as there are probes. */
#define XVT_LEFT_OUT_MAX 4

/* Bit of a type: its events are recorded without a further look. */
extern unsigned long xvt_types_plain[];

bool xvt_types_meet(u16 type);
void xvt_types_leave_out(unsigned int slot, u16 type);
void xvt_types_forget(void);

/* Is an event of this type recorded? Context: as xvt_event(). */
static __always_inline bool xvt_types_wanted(u16 type)
{
	return likely(test_bit(type, xvt_types_plain)) || xvt_types_meet(type);
}

/* xvt_guest.c */
void xvt_clock_sample(struct xvt_clock_sync *s, u32 reason);

/* xvt_core.c */
int xvt_core_start(struct xvt_guest *g);
void xvt_core_stop(struct xvt_guest *g);
void xvt_core_suspend(struct xvt_guest *g);
void xvt_core_resume(struct xvt_guest *g);
void xvt_core_restore(struct xvt_guest *g);

/* xvt_doorbell.c */
void xvt_doorbell_map(struct xvt_guest *g);
void xvt_doorbell_unmap(struct xvt_guest *g);
void xvt_doorbell_kick(void *unused);
void xvt_doorbell_poll(void);

/* xvt_panic.c */
void xvt_panic_start(void);
void xvt_panic_stop(void);

/* xvt_export.c */
int xvt_export_start(void);
void xvt_export_stop(void);

/* xvt_hooks.c */
void xvt_hooks_start(void);
void xvt_hooks_stop(void);
void xvt_hooks_poll(struct xvt_writer *w);
int xvt_hooks_show(char *buf);

/* xvt_probes.c */
int xvt_probes_start(void);
void xvt_probes_stop(void);

/* xvt_symbols.c */
void xvt_symbols_start(void);
void xvt_symbols_flush(void);
void xvt_symbols_stop(void);
void xvt_symbols_poll(void);
int xvt_symbols_show(char *buf);

/* xvt_meta.c */
int xvt_meta_start(struct xvt_guest *g, const struct attribute_group **groups);
void xvt_meta_stop(void);
int xvt_meta_put(u32 type, u32 id, const void *head, u32 head_len, const void *body, u32 body_len);
void xvt_meta_usage(u64 *used, u64 *size, u64 *refused);

/* A field in the syntax of tracefs' "format" files, for libtraceevent. */
#define XVT_FIELD(decl, offset, size, sign) \
	"\tfield:" decl ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"

/* xvt_format.c */
void xvt_formats_start(void);
void xvt_formats_forget(void);
void xvt_formats_poll(void);
bool xvt_formats_send(void);
int xvt_format_put(const char *system, const char *event);

/* xvt_request.c */
void xvt_request_start(void);
void xvt_request_poll(void);
void xvt_request_stop(void);

/* xvt_sysfs.c */
extern const struct attribute_group *xvt_sysfs_groups[];

#endif /* XVTRACE_H */
