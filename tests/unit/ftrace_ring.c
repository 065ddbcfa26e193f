// SPDX-License-Identifier: GPL-2.0
/* ftrace_ring.c - see ftrace_ring.h. */
#include "ftrace_ring.h"

#include <stdlib.h>
#include <string.h>

#define PAGE	    4096u
#define PAGE_HEAD   16u
#define SCRATCH	    4096u /* of layout 2 */

#define TIME_EXTEND 30u

static void put32(uint8_t *at, uint32_t v)
{
	__atomic_store_n((uint32_t *)at, v, __ATOMIC_RELEASE);
}

static void put64(uint8_t *at, uint64_t v)
{
	__atomic_store_n((uint64_t *)at, v, __ATOMIC_RELEASE);
}

static size_t words_len(int layout)
{
	return layout == 1 ? 56 : 32;
}

static size_t data_off(int layout, size_t part, uint32_t n)
{
	return (part + words_len(layout) + 4ull * n + PAGE - 1) / PAGE * PAGE;
}

size_t ftrace_ring_size(int layout, uint32_t n, unsigned int nr_cpus)
{
	size_t at = layout == 1 ? 0 : 24 + SCRATCH;

	while (nr_cpus--)
		at = data_off(layout, at, n) + (size_t)n * PAGE;
	return at;
}

static uint8_t *subbuf(const struct ftrace_ring_cpu *c, uint32_t slot)
{
	return c->data + (size_t)PAGE * (uint32_t)c->places[slot];
}

static uint64_t address_of(const struct ftrace_ring_cpu *c, uint32_t slot)
{
	return c->first + (uint64_t)PAGE * (uint32_t)c->places[slot];
}

static uint32_t after(const struct ftrace_ring *g, uint32_t slot)
{
	return slot + 1 < g->n ? slot + 1 : 1;
}

/* Where the parts of a CPU are. */
static void place(struct ftrace_ring *g)
{
	size_t at = g->layout == 1 ? 0 : 24 + SCRATCH;
	unsigned int i;

	for (i = 0; i < g->nr_cpus; i++) {
		struct ftrace_ring_cpu *c = &g->cpus[i];
		const size_t data = data_off(g->layout, at, g->n);

		c->part = g->mem + at;
		c->words = c->part + (g->layout == 1 ? 24 : 0);
		c->places = (int32_t *)(c->part + words_len(g->layout));
		c->data = g->mem + data;
		c->first = g->address + data;
		at = data + (size_t)g->n * PAGE;
	}
}

static void reset(struct ftrace_ring_cpu *c)
{
	c->tail = c->head = 1;
	c->write = c->stage = c->pending = 0;
}

void ftrace_ring_boot(struct ftrace_ring *g, uint64_t address)
{
	unsigned int i, k;

	g->address = address;
	place(g);
	memset(g->mem, 0, g->size);
	for (i = 0; i < g->nr_cpus; i++) {
		struct ftrace_ring_cpu *c = &g->cpus[i];

		reset(c);
		if (g->layout == 1) {
			put32(c->part, 0x0badfeed);
			put32(c->part + 4, 56);
		}
		put32(c->words + 28, g->n);
		put32(c->words + 24, PAGE);
		put64(c->words, c->first);
		for (k = 0; k < g->n; k++)
			c->places[k] = (int32_t)k;
		put64(c->words + 8, address_of(c, 1));
		put64(c->words + 16, address_of(c, 1));
		c->clock = 1000;
	}
	if (g->layout == 1)
		return;
	put64(g->mem + 8, g->size);
	put64(g->mem + 16, 24 + SCRATCH);
	put32(g->mem + 24, 9); /* x86-tsc */
	put32(g->mem + 4, 24u << 16 | 32);
	put32(g->mem, 0x0badfeed);
}

void ftrace_ring_boot_behind(struct ftrace_ring *g, uint64_t address, bool append)
{
	unsigned int i;

	g->address = address;
	place(g);
	for (i = 0; i < g->nr_cpus; i++) {
		struct ftrace_ring_cpu *c = &g->cpus[i];

		c->stage = c->pending = 0;
		c->write = append ? c->write : 0;
		put64(c->words, c->first);
		put64(c->words + 8, address_of(c, c->head));
		put64(c->words + 16, address_of(c, c->tail));
		c->clock = 500; /* another clock */
		c->serial = c->committed;
	}
}

void ftrace_ring_clear(struct ftrace_ring *g, unsigned int cpu)
{
	struct ftrace_ring_cpu *c = &g->cpus[cpu];
	uint32_t slot;

	for (slot = 0; slot < g->n; slot++)
		put64(subbuf(c, slot) + 8, 0);
	reset(c);
	c->begun++;
	put64(c->words + 8, address_of(c, c->head));
	put64(c->words + 16, address_of(c, c->head));
}

void ftrace_ring_take(struct ftrace_ring *g, unsigned int cpu)
{
	struct ftrace_ring_cpu *c = &g->cpus[cpu];
	const int32_t before = c->places[0];

	if (c->head == c->tail) /* the kernel could, and then writes into the reader's */
		return;
	put64(subbuf(c, 0) + 8, 0);
	__atomic_store_n(&c->places[0], c->places[c->head], __ATOMIC_RELEASE);
	__atomic_store_n(&c->places[c->head], before, __ATOMIC_RELEASE);
	c->head = after(g, c->head);
	put64(c->words + 8, address_of(c, c->head));
}

static unsigned int chance(struct ftrace_ring *g, unsigned int of)
{
	return (unsigned int)rand_r(&g->seed) % of;
}

static void begin_event(struct ftrace_ring *g, struct ftrace_ring_cpu *c)
{
	c->len = 16 + 4 * chance(g, 28);
	if (c->len > 112)
		c->len += 4; /* a word for its length */
	c->delta = g->now ? g->now() - c->clock : chance(g, 1000);
	c->back = c->delta >> 63;
	if (!c->pending)
		c->pending = 1 + chance(g, 3);
}

/* A time of 0 before the event, because the clock went back. */
static bool extends(const struct ftrace_ring_cpu *c)
{
	return c->back && c->write;
}

/* Bytes of the event in the ring, the word of its length and time included. */
static uint32_t whole(const struct ftrace_ring_cpu *c)
{
	return 4 + c->len + (extends(c) ? 8 : 0);
}

static void put_data(struct ftrace_ring_cpu *c, unsigned int half)
{
	uint8_t *at = subbuf(c, c->tail) + PAGE_HEAD + c->write;
	const uint32_t data = c->len > 112 ? c->len - 4 : c->len;
	const uint32_t delta = c->write && !c->back ? (uint32_t)c->delta : 0;

	if (extends(c)) {
		put32(at, TIME_EXTEND);
		put32(at + 4, 0);
		at += 8;
	}
	if (half == 0) {
		put32(at, delta << 5 | (c->len > 112 ? 0 : data / 4));
		if (c->len > 112)
			put32(at + 4, c->len);
		at += c->len > 112 ? 8 : 4;
		put32(at, FTRACE_RING_TYPE);
		memset(at + 4, 0x11, data - 4);
	} else {
		at += c->len > 112 ? 8 : 4;
		memcpy(at + 8, &c->serial, sizeof(c->serial));
	}
}

/* The stages of a page that is full, in the kernel's order. Returns true when it is done. */
static bool leave_page(struct ftrace_ring *g, struct ftrace_ring_cpu *c)
{
	const uint32_t next = after(g, c->tail), room = PAGE - PAGE_HEAD - c->write;

	switch (c->stage++) {
	case 10: /* the oldest is given up */
		if (next != c->head)
			break;
		c->pages++;
		c->head = after(g, c->head);
		put64(c->words + 8, address_of(c, c->head));
		break;
	case 11:
		put64(subbuf(c, next) + 8, 0);
		break;
	case 12:
		if (room >= 8) {
			put32(subbuf(c, c->tail) + PAGE_HEAD + c->write + 4, room - 4);
			put32(subbuf(c, c->tail) + PAGE_HEAD + c->write, 1u << 5 | 29);
			c->write += room;
		}
		break;
	case 13:
		put64(subbuf(c, c->tail) + 8, c->write);
		c->committed = c->serial;
		break;
	default:
		c->tail = next;
		c->write = 0;
		c->begun++;
		put64(c->words + 16, address_of(c, c->tail));
		return true;
	}
	return false;
}

void ftrace_ring_step(struct ftrace_ring *g, unsigned int cpu)
{
	struct ftrace_ring_cpu *c = &g->cpus[cpu];

	if (c->stage >= 10) {
		if (leave_page(g, c))
			c->stage = 1;
		return;
	}
	switch (c->stage) {
	case 0:
		begin_event(g, c);
		/* The kernel has a word more for a long time; here such an event begins a page. */
		if (c->write + whole(c) > PAGE - PAGE_HEAD ||
		    (c->write && (c->back ? g->back_begins : c->delta >> 27))) {
			c->stage = 10;
			return;
		}
		c->stage = 1;
		/* fall through */
	case 1:
		c->clock += c->delta;
		c->shown = !c->write ? c->clock : c->back ? c->shown : c->shown + c->delta;
		if (!c->write)
			put64(subbuf(c, c->tail), c->clock);
		break;
	case 2:
		put_data(c, 0);
		break;
	case 3:
		put_data(c, 1);
		c->stamps[c->serial % FTRACE_RING_EVENTS] = c->shown;
		c->clocks[c->serial % FTRACE_RING_EVENTS] = c->clock;
		c->subbufs[c->serial % FTRACE_RING_EVENTS] = c->begun;
		c->serial++;
		c->write += whole(c);
		if (--c->pending) {
			c->stage = 0;
			return;
		}
		break;
	default:
		put64(subbuf(c, c->tail) + 8, c->write);
		c->committed = c->serial;
		c->stage = 0;
		return;
	}
	c->stage++;
}

void ftrace_ring_write(struct ftrace_ring *g, unsigned int cpu, unsigned int events)
{
	struct ftrace_ring_cpu *c = &g->cpus[cpu];
	const uint64_t until = c->serial + events;

	while (c->serial < until || c->committed != c->serial || c->stage)
		ftrace_ring_step(g, cpu);
}
