// SPDX-License-Identifier: GPL-2.0
/* exchange.c - see exchange.h. Collects marks, sorts them, pairs them. */
#include "view/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Receipts of one number that are tried for a send, at most. */
#define LOOK_MAX 64

/* "xvt-ping send 12", perhaps followed by more text. */
bool xvt_exchange_parse(const char *text, size_t len, struct xvt_exchange *x)
{
	static const char *const heads[] = { "xvt-ping send ", "xvt-ping recv ", "xvt-pong send ",
					     "xvt-pong recv " };
	const size_t head_len = 14;
	size_t i, at;

	for (i = 0; i < 4; i++)
		if (len > head_len && memcmp(text, heads[i], head_len) == 0)
			break;
	if (i == 4 || text[head_len] < '0' || text[head_len] > '9')
		return false;
	memset(x, 0, sizeof(*x));
	x->pong = i >= 2;
	x->sent = i % 2 == 0;
	x->received = !x->sent;
	for (at = head_len; at < len && text[at] >= '0' && text[at] <= '9'; at++)
		x->number = x->number * 10 + (uint64_t)(text[at] - '0');
	return true;
}

int xvt_exchange_add(struct xvt_exchanges *e, const char *text, size_t len, uint32_t vm,
		     uint64_t ns, uint64_t bound_ns)
{
	struct xvt_exchange x;

	if (!xvt_exchange_parse(text, len, &x))
		return 0;
	if (xvt_grow(&e->v, &e->room, e->count + 1, sizeof(*e->v)))
		return -ENOMEM;
	x.send_vm = x.recv_vm = vm;
	x.send_ns = x.recv_ns = ns;
	x.bound_ns = bound_ns;
	e->v[e->count++] = x;
	return 0;
}

/* The sum of two bounds; a guess if one of them is a guess. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > XVT_EXCHANGE_GUESS - b ? XVT_EXCHANGE_GUESS : a + b;
}

/* Order: number; sends by time, then receipts by time. */
static int compare(const void *pa, const void *pb)
{
	const struct xvt_exchange *a = pa, *b = pb;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->received != b->received)
		return a->received - b->received;
	return a->send_ns < b->send_ns ? -1 : a->send_ns > b->send_ns;
}

static int compare_ns(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static void add_way(struct xvt_exchanges *e, const struct xvt_exchange *x)
{
	struct xvt_transit *w = e->ways;
	size_t i;

	for (i = 0; i < e->way_count; i++, w++)
		if (w->send_vm == x->send_vm && w->recv_vm == x->recv_vm)
			break;
	if (i == XVT_WAYS_MAX)
		return;
	if (i == e->way_count) {
		e->way_count++;
		w->send_vm = x->send_vm;
		w->recv_vm = x->recv_vm;
	}
	if (xvt_grow(&w->ns, &w->room, w->count + 1, sizeof(*w->ns)))
		return; /* only the median suffers */
	w->ns[w->count++] = x->recv_ns > x->send_ns ? x->recv_ns - x->send_ns : 0;
}

static void undecided(struct xvt_exchanges *e, uint64_t back_ns)
{
	e->undecided++;
	if (back_ns > e->undecided_ns_most)
		e->undecided_ns_most = back_ns;
}

static void judge(struct xvt_exchanges *e, const struct xvt_exchange *x,
		  void (*bad)(void *arg, const struct xvt_exchange *x), void *arg)
{
	if (x->bound_ns == XVT_EXCHANGE_GUESS) {
		e->guesses++;
		return;
	}
	if (x->recv_ns <= x->send_ns) {
		uint64_t back_ns = x->send_ns - x->recv_ns;

		if (back_ns >= x->bound_ns)
			bad(arg, x);
		else
			undecided(e, back_ns);
	}
	add_way(e, x);
}

/* Pair the marks of one number: sends [sends, receipts), receipts [receipts, end). */
static void pair(struct xvt_exchanges *e, size_t sends, size_t receipts, size_t end,
		 void (*bad)(void *arg, const struct xvt_exchange *x), void *arg)
{
	size_t sends_end = receipts;

	for (; sends < sends_end; sends++) {
		struct xvt_exchange *from = &e->v[sends];
		size_t look = 0;

		while (end > receipts && e->v[receipts].paired)
			receipts++;
		for (size_t i = receipts; i < end && look < LOOK_MAX; i++, look++) {
			struct xvt_exchange x = *from;

			/* A receipt in the sender's own machine belongs to the answer. */
			if (e->v[i].paired || e->v[i].recv_vm == from->send_vm)
				continue;
			e->v[i].paired = true;
			x.received = true;
			x.recv_ns = e->v[i].recv_ns;
			x.recv_vm = e->v[i].recv_vm;
			x.bound_ns = sum(x.bound_ns, e->v[i].bound_ns);
			judge(e, &x, bad, arg);
			break;
		}
	}
}

void xvt_exchanges_check(struct xvt_exchanges *e,
			 void (*bad)(void *arg, const struct xvt_exchange *x), void *arg)
{
	size_t i = 0;

	if (e->count)
		qsort(e->v, e->count, sizeof(*e->v), compare);
	while (i < e->count) {
		size_t receipts = i, end;

		while (receipts < e->count && e->v[receipts].number == e->v[i].number &&
		       e->v[receipts].sent)
			receipts++;
		for (end = receipts; end < e->count && e->v[end].number == e->v[i].number;)
			end++;
		/* After a lost mark, some marks remain without a partner. */
		pair(e, i, receipts, end, bad, arg);
		i = end;
	}
	for (i = 0; i < e->way_count; i++)
		qsort(e->ways[i].ns, e->ways[i].count, sizeof(uint64_t), compare_ns);
}

size_t xvt_exchanges_pairs(const struct xvt_exchanges *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->way_count; i++)
		n += e->ways[i].count;
	return n;
}

uint64_t xvt_transit_median_ns(const struct xvt_transit *w)
{
	return w->count ? w->ns[w->count / 2] : 0;
}

void xvt_exchanges_fini(struct xvt_exchanges *e)
{
	for (size_t i = 0; i < e->way_count; i++)
		free(e->ways[i].ns);
	free(e->v);
	memset(e, 0, sizeof(*e));
}
