// SPDX-License-Identifier: GPL-2.0
/* scenario.c - see scenario.h. */
#include "scenario.h"

#include "oracle.h"
#include "xvt_ring.h"

#define EVENT             \
	{                 \
		.len = 16 \
	}
#define DISCARD                                        \
	{                                              \
		.len = 16, .flags = XVT_BARE_F_DISCARD \
	}
#define FULL                                            \
	{                                               \
		.len = 16, .flags = XVT_BARE_F_DISTRUST \
	}
#define STOP XVT_ENABLE_STOP
#define OVER XVT_ENABLE_OVERWRITE
#define NONE (-1)

/* A plain event of 16 bytes needs 24, with a full stamp 32. */
const struct scenario scenarios[] = {
	{ "plain", "three events in one sub-buffer", STOP, 0, 600, .thorough = true,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "real-clock", "the same by rdtsc", STOP, 0, 600, .real_clock = true, .thorough = true,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "real-clock-cross", "by rdtsc, crossing", STOP, 1, 16, .real_clock = true,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "nested-task", "the task has a record open, the event is its second", STOP, 0, 600,
	  .open = 1, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "nested-discard", "and the second is given back", STOP, 0, 600, .open = 1,
	  .op = { DISCARD, DISCARD, EVENT }, .lost = NONE },
	{ "odd-length", "payloads that leave part of a word", STOP, 0, 600, .thorough = true,
	  .op = { { 13, 0 }, { 9, 0 }, { 20, 0 } }, .lost = NONE },
	{ "long", "records larger than a sub-buffer's header", STOP, 0, 600, .thorough = true,
	  .op = { { 64, 0 }, { 80, 0 }, { 72, 0 } }, .lost = NONE },
	{ "full-stamp", "the event carries a full stamp", STOP, 0, 600,
	  .op = { FULL, EVENT, EVENT }, .lost = NONE },
	{ "gap", "more time than the low bits hold has passed", STOP, 0, 600, .gap = true,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "discard-task", "the interrupted event is given back", STOP, 0, 600,
	  .op = { DISCARD, EVENT, EVENT }, .lost = NONE },
	{ "discard-full", "and carries a full stamp", STOP, 0, 600,
	  .op = { { 16, XVT_BARE_F_DISCARD | XVT_BARE_F_DISTRUST }, EVENT, EVENT }, .lost = NONE },
	{ "discard-irq", "the interrupt's event is given back", STOP, 0, 600,
	  .op = { EVENT, DISCARD, EVENT }, .lost = NONE },
	{ "discard-irq-full", "and carries a full stamp", STOP, 0, 600, .thorough = true,
	  .op = { EVENT, { 16, XVT_BARE_F_DISCARD | XVT_BARE_F_DISTRUST }, EVENT }, .lost = NONE },
	{ "discard-all", "all three are given back", STOP, 0, 600,
	  .op = { DISCARD, DISCARD, DISCARD }, .lost = NONE },
	{ "cross", "the event opens the next sub-buffer", STOP, 1, 16, .thorough = true,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "cross-at-border", "the sub-buffer before it is exactly full", STOP, 1, 0,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "cross-fits-one", "room for one: the others cross", STOP, 1, 24,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "cross-fits-two", "room for two", STOP, 1, 48, .op = { EVENT, EVENT, EVENT },
	  .lost = NONE },
	{ "cross-straddle", "room for one and a rest: the second event lies across the border",
	  STOP, 1, 40, .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "real-clock-straddle", "the same by rdtsc", STOP, 1, 40, .real_clock = true,
	  .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "full-straddle", "room for one with a full stamp and a rest", STOP, 1, 48,
	  .thorough = true, .op = { FULL, EVENT, EVENT }, .lost = NONE },
	{ "cross-discard", "the last bytes are given back while others cross", STOP, 1, 24,
	  .op = { DISCARD, DISCARD, EVENT }, .lost = NONE },
	{ "cross-full-stamp", "fits without its full stamp only", STOP, 1, 24,
	  .op = { FULL, EVENT, EVENT }, .lost = NONE },
	{ "cross-wakes", "the host sleeps: crossing rings the doorbell", STOP, 1, 16, .wake = true,
	  .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "epoch-before", "the epoch has changed since the last event", STOP, 0, 600,
	  .old_epoch = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "epoch-during", "the epoch changes at that instruction", STOP, 0, 600,
	  .host = SCENE_HOST_EPOCH, .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "epoch-cross", "the epoch changes while crossing", STOP, 1, 16, .host = SCENE_HOST_EPOCH,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "epoch-twice", "it has changed, and changes again", STOP, 0, 600, .old_epoch = true,
	  .host = SCENE_HOST_EPOCH, .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "epoch-discard", "it changes, and the interrupt's event of the new one is given back",
	  STOP, 0, 600, .host = SCENE_HOST_EPOCH, .thorough = true,
	  .op = { EVENT, DISCARD, DISCARD }, .lost = NONE },
	{ "off-during", "recording is switched off at that instruction", STOP, 0, 600,
	  .host = SCENE_HOST_OFF, .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "epoch-before-cross", "it has changed, and the event crosses", STOP, 1, 16,
	  .old_epoch = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "cross-odd", "part of a word, crossing", STOP, 1, 16,
	  .op = { { 13, 0 }, { 9, 0 }, { 20, 0 } }, .lost = NONE },
	{ "full-odd", "part of a word, with a full stamp", STOP, 0, 600, .gap = true,
	  .op = { { 13, 0 }, { 9, 0 }, { 20, 0 } }, .lost = NONE },
	{ "off-nested", "the same, while a record of the task is open", STOP, 0, 600, .open = 1,
	  .host = SCENE_HOST_OFF, .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "full-ring", "the host has read nothing and the ring is full", STOP, 3, 16,
	  .op = { EVENT, EVENT, EVENT }, .lost = XVT_LOST_FULL },
	{ "full-at-border", "full to the last byte", STOP, 3, 0, .op = { EVENT, EVENT, EVENT },
	  .lost = XVT_LOST_FULL },
	{ "full-fits-one", "room for one event in the whole ring", STOP, 3, 24,
	  .op = { EVENT, EVENT, EVENT }, .lost = XVT_LOST_FULL },
	{ "overwrite", "flight recorder: the event opens over old ones", OVER, 5, 16,
	  .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "overwrite-discard", "room for one, and it is given back", OVER, 5, 24,
	  .op = { DISCARD, EVENT, EVENT }, .lost = NONE },
	{ "wrap", "flight recorder, and the oldest event is still open", OVER, 3, 16, .hold = true,
	  .op = { EVENT, EVENT, EVENT }, .lost = XVT_LOST_WRAP },
	{ "deep", "as many open records as the ring allows", STOP, 0, 904, .open = XVT_MAXNEST,
	  .op = { EVENT, EVENT, EVENT }, .lost = XVT_LOST_NEST },
	/* With the counted clock an event is 9 ticks after the one before it; 16 need a full stamp.
	 * So a time that was measured from the wrong event is seen. */
	{ "few-bits", "time runs over its bits all the time", STOP, 0, 600, .ts_bits = 4,
	  .thorough = true, .op = { EVENT, EVENT, EVENT }, .lost = NONE },
	{ "few-bits-task", "and the task's event is given back", STOP, 0, 600, .ts_bits = 4,
	  .op = { DISCARD, EVENT, EVENT }, .lost = NONE },
	{ "few-bits-irq", "and the interrupt's event is given back", STOP, 0, 600, .ts_bits = 4,
	  .thorough = true, .op = { EVENT, DISCARD, EVENT }, .lost = NONE },
	{ "few-bits-all", "and all are given back", STOP, 0, 600, .ts_bits = 4, .thorough = true,
	  .op = { DISCARD, DISCARD, DISCARD }, .lost = NONE },
	{ "few-bits-cross", "and one crosses", STOP, 1, 24, .ts_bits = 4,
	  .op = { EVENT, DISCARD, EVENT }, .lost = NONE },
	{ "big", "a payload that fits no sub-buffer", STOP, 0, 600,
	  .op = { { SCENE_SUBBUF_SIZE, 0 }, { SCENE_SUBBUF_SIZE, 0 }, EVENT },
	  .lost = XVT_LOST_BIG },
};
const unsigned int scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

const struct scenario storms[] = {
	{ "storm-irq", "an interrupt each time the event tries again", STOP, 0, 600,
	  .op = { EVENT, EVENT, EVENT }, .lost = XVT_LOST_RETRY },
	{ "storm-nmi", "an NMI each time the interrupt's event tries again", STOP, 0, 600,
	  .in_irq = true, .op = { EVENT, EVENT, EVENT }, .lost = XVT_LOST_RETRY },
	{ "storm-epoch-irq", "a new epoch each time the interrupt's event tries again", STOP, 0,
	  600, .in_irq = true, .host = SCENE_HOST_EPOCH, .op = { EVENT, EVENT, EVENT },
	  .lost = XVT_LOST_RETRY },
	{ "storm-epoch", "a new epoch each time it tries again", STOP, 0, 600,
	  .host = SCENE_HOST_EPOCH, .op = { EVENT, EVENT, EVENT }, .lost = XVT_LOST_RETRY },
};
const unsigned int storm_count = sizeof(storms) / sizeof(storms[0]);

static struct xvt_ring_host *host_of(void *region)
{
	struct xvt_geometry g;
	struct xvt_fault fault;
	struct xvt_region_hdr header;

	memcpy(&header, region, sizeof(header));
	if (xvt_check_header(&header, SCENE_REGION_SIZE, &g, &fault))
		return NULL;
	return (void *)((uint8_t *)region + xvt_ring_host_off(&g, 0));
}

int64_t scene_command(struct xvt_microvm *vm, uint32_t command, uint32_t count)
{
	struct xvt_microvm_exit why;

	xvt_microvm_page(vm)->command = command;
	xvt_microvm_page(vm)->count = count;
	do {
		if (xvt_microvm_go(vm, &why))
			return INT32_MIN;
	} while (why.signal == XVT_BARE_KICK);
	return why.signal == XVT_BARE_DONE ? (int64_t)why.value : INT32_MIN;
}

/* One plain event that takes `bytes` of the ring, 16 or more. */
static bool fill(struct xvt_microvm *vm, uint32_t bytes)
{
	xvt_microvm_page(vm)->op[XVT_BARE_TASK] = (struct xvt_bare_op){ .len = bytes - 8 };
	return scene_command(vm, XVT_BARE_EVENT, 1) == 0;
}

/* Write events until exactly `target` bytes of the ring are used. */
static bool fill_up_to(struct xvt_microvm *vm, void *region, uint64_t target)
{
	const uint64_t header = sizeof(struct xvt_subbuf_hdr);

	for (;;) {
		uint64_t at = oracle_position(region, SCENE_REGION_SIZE), border, room;

		if (at == target)
			return true;
		border = (at | (SCENE_SUBBUF_SIZE - 1)) + 1;
		if (!(at & (SCENE_SUBBUF_SIZE - 1)))
			at += header; /* comes with the first record */
		room = (target < border ? target : border) - at;
		if (at > target || room < 16 || !fill(vm, room > 64 ? 48 : room > 48 ? 32 : room))
			return false;
	}
}

static bool start(struct xvt_microvm *vm, const struct scenario *s, void *region)
{
	struct xvt_bare_page *page = xvt_microvm_page(vm);
	struct xvt_microvm_exit why;

	memset(region, 0, SCENE_REGION_SIZE);
	memset(page, 0, sizeof(*page));
	page->region_size = SCENE_REGION_SIZE;
	page->subbuf_size = SCENE_SUBBUF_SIZE;
	page->enable = s->enable;
	page->ts_bits = s->ts_bits;
	page->clock_hz = 1000000000;
	page->clock_step = s->real_clock ? 0 : 3;
	page->clock_now = 1ull << 40;
	/* The guest's first signal says that it is there. */
	return !xvt_microvm_go(vm, &why) && why.signal == XVT_BARE_DONE &&
	       scene_command(vm, XVT_BARE_START, 0) == 0;
}

bool scene_set(struct xvt_microvm *vm, const struct scenario *s, void *region)
{
	struct xvt_bare_page *page = xvt_microvm_page(vm);
	struct xvt_ring_host *host;
	unsigned int i;

	if (!start(vm, s, region))
		return false;
	page->op[XVT_BARE_TASK] = (struct xvt_bare_op)EVENT;
	if (s->hold && scene_command(vm, XVT_BARE_OPEN, 1))
		return false;
	if (!fill_up_to(vm, region, (s->subbufs + 1) * SCENE_SUBBUF_SIZE - s->left))
		return false;
	page->op[XVT_BARE_TASK] = (struct xvt_bare_op)EVENT;
	if (s->open && scene_command(vm, XVT_BARE_OPEN, s->open))
		return false;
	for (i = 0; i < XVT_BARE_CONTEXTS; i++)
		page->op[i] = s->op[i];
	host = host_of(region);
	if (s->gap)
		page->clock_now += 5ull << 32;
	if (s->wake)
		xvt_store(&host->need_wake, 1);
	if (s->old_epoch)
		xvt_store(&host->epoch, xvt_load(&host->epoch) + 1);
	page->command = XVT_BARE_EVENT;
	page->count = 1;
	return true;
}

bool scene_end(struct xvt_microvm *vm, const struct scenario *s, void *region)
{
	struct xvt_ring_host *host = host_of(region);
	uint32_t open = s->open + s->hold;
	int64_t result;

	if (open && scene_command(vm, XVT_BARE_CLOSE, open))
		return false;
	if (s->host == SCENE_HOST_OFF)
		xvt_store(&host->enable, s->enable);
	xvt_microvm_page(vm)->op[XVT_BARE_TASK] = (struct xvt_bare_op)EVENT;
	result = scene_command(vm, XVT_BARE_EVENT, 1);
	return result == 0 || (result == -ENOSPC && s->lost == XVT_LOST_FULL);
}

void scene_host_acts(const struct scenario *s, void *region)
{
	struct xvt_ring_host *host = host_of(region);

	if (s->host == SCENE_HOST_EPOCH)
		xvt_store(&host->epoch, xvt_load(&host->epoch) + 1);
	else if (s->host == SCENE_HOST_OFF)
		xvt_store(&host->enable, XVT_ENABLE_OFF);
}
