// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * event.c - numbered events from every context, and a private log of what each writer knows
 * about its own event. The log is what the ring is judged by, so it never looks at the ring.
 *
 * One compiled copy of the writer, event_write(), serves task, interrupt and NMI: its
 * instructions are those that the proof counts.
 */
#include "event.h"

/* Deeper than the ring allows, so that the refusal can be seen too. */
#define OPEN_MAX (XVT_MAXNEST + 4)

struct xvt_writer event_writer;

static struct xvt_geometry geometry;
static struct xvt_bare_log *current; /* of the innermost running event */
static struct open {
	struct xvt_bare_log *log;
	struct xvt_slot slot;
} open[OPEN_MAX];
static uint32_t opened;

void bare_signal(enum xvt_bare_signal signal, uint64_t value)
{
	*(volatile uint64_t *)(XVT_BARE_DOORBELL + 8ull * signal) = value;
}

static void kick(void *arg)
{
	(void)arg;
	bare_signal(XVT_BARE_KICK, 0);
}

/*
 * A clock in memory for runs that shall be the same each time. A single instruction, so that an
 * interrupt reads a later time; the value is noted for the event that asked.
 */
static uint64_t counted_clock(void *arg)
{
	uint64_t now =
		__atomic_add_fetch(&BARE_PAGE->clock_now, BARE_PAGE->clock_step, __ATOMIC_RELAXED);

	(void)arg;
	if (current)
		current->stamp = now;
	return now;
}

/* The time for the log, by the clock that the ring uses. */
static uint64_t log_time(void)
{
	if (BARE_PAGE->clock_step)
		return __atomic_add_fetch(&BARE_PAGE->clock_now, BARE_PAGE->clock_step,
					  __ATOMIC_RELAXED);
	return xvt_clock_read_ordered();
}

/* First boot on this memory: lay it out. Later ones: believe nothing before it is checked. */
static int prepare_region(void *region, const struct xvt_layout *layout)
{
	struct xvt_region_hdr header;
	struct xvt_fault fault;
	int err;

	memcpy(&header, region, sizeof(header));
	err = xvt_check_header(&header, layout->region_size, &geometry, &fault);
	return err == -EAGAIN ? xvt_region_format(region, layout, &geometry) : err;
}

int event_start(void)
{
	const struct xvt_bare_page *page = BARE_PAGE;
	struct xvt_layout layout = {
		.region_size = page->region_size,
		.ring_count = 1,
		.subbuf_size = page->subbuf_size,
		.ts_bits = page->ts_bits,
		.kind = XVT_KIND_BARE,
		.clock_id = XVT_CLOCK_NATIVE,
		.clock_hz = page->clock_hz,
		.enable = page->enable,
		.vm_name = "bare",
	};
	void *region = (void *)XVT_BARE_REGION;
	uint64_t uuid[2] = { xvt_clock_read(), page->clock_hz }; /* new at each boot */
	int err = prepare_region(region, &layout);

	if (err)
		return err;
	opened = 0;
	current = NULL;
	xvt_region_new_generation(region, &geometry, &layout, (const uint8_t *)uuid);
	xvt_writer_init(&event_writer, region, &geometry, 0);
	event_writer.kick = kick;
	if (page->clock_step)
		event_writer.clock = counted_clock;
	xvt_store(&event_writer.ctl->type, XVT_RING_BARE);
	xvt_store_release(&event_writer.ctl->state, XVT_RING_ONLINE);
	return 0;
}

/* The next number, taken by one instruction: an interrupt after it takes the next. */
static uint64_t take_number(void)
{
	uint64_t index = __atomic_fetch_add(&BARE_PAGE->log_count, 1, __ATOMIC_RELAXED);

	return BARE_PAGE->first + index;
}

static struct xvt_bare_log *log_of(uint64_t number)
{
	static struct xvt_bare_log nowhere;
	uint64_t index = number - BARE_PAGE->first;

	return index < XVT_BARE_LOG_MAX ? &BARE_PAGE->log[index] : &nowhere;
}

static void fill(void *payload, uint32_t len, uint64_t number)
{
	uint64_t *word = payload;
	uint32_t i;

	for (i = 0; i < len / 8; i++)
		word[i] = xvt_bare_word(number, i);
	if (len % 8) {
		uint64_t last = xvt_bare_word(number, i);

		memcpy(&word[i], &last, len % 8);
	}
}

static struct xvt_bare_log *log_begin(uint64_t number, enum xvt_bare_context context, uint64_t rip)
{
	const struct xvt_bare_op *op = &BARE_PAGE->op[context];
	struct xvt_bare_log *log = log_of(number);

	log->context = context;
	log->len = op->len;
	log->flags = op->flags;
	log->rip = rip;
	log->stamp = 0;
	log->exit = 0;
	return log;
}

/* Before and after xvt_reserve(). The epoch is read outside of the two times. */
static void log_entry(struct xvt_bare_log *log)
{
	log->epoch_entry = xvt_load(&event_writer.host->epoch);
	xvt_barrier();
	log->entry = log_time();
}

static void log_exit(struct xvt_bare_log *log)
{
	log->exit = log_time();
	xvt_barrier();
	log->epoch_exit = xvt_load(&event_writer.host->epoch);
}

int event_write(enum xvt_bare_context context, uint64_t rip)
{
	const struct xvt_bare_op op = BARE_PAGE->op[context];
	uint64_t number = take_number();
	struct xvt_bare_log *log = log_begin(number, context, rip), *outer = current;
	struct xvt_slot slot;
	int err;

	current = log;
	if (op.flags & XVT_BARE_F_DISTRUST)
		xvt_writer_distrust(&event_writer);
	log_entry(log);
	err = xvt_reserve(&event_writer, XVT_ID_U64, op.len, &slot);
	log_exit(log);
	log->result = err;
	current = outer;
	if (err)
		return err;
	fill(slot.payload, op.len, number);
	if (op.flags & XVT_BARE_F_DISCARD)
		xvt_discard(&event_writer, &slot);
	else
		xvt_commit(&event_writer, &slot);
	return 0;
}

int event_open(void)
{
	const struct xvt_bare_op op = BARE_PAGE->op[XVT_BARE_TASK];
	struct open *o = &open[opened];
	uint64_t number;

	if (opened == OPEN_MAX)
		return -ENOSPC;
	number = take_number();
	o->log = log_begin(number, XVT_BARE_TASK, 0);
	current = o->log;
	log_entry(o->log);
	o->log->result = xvt_reserve(&event_writer, XVT_ID_U64, op.len, &o->slot);
	log_exit(o->log);
	current = NULL;
	if (!o->log->result) {
		fill(o->slot.payload, op.len, number);
		opened++;
	}
	return o->log->result;
}

int event_close(void)
{
	struct open *o;

	if (!opened)
		return -EINVAL;
	o = &open[--opened];
	if (o->log->flags & XVT_BARE_F_DISCARD)
		xvt_discard(&event_writer, &o->slot);
	else
		xvt_commit(&event_writer, &o->slot);
	return 0;
}
