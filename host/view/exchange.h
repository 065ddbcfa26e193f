/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange.h - check the clocks by messages between machines: a message is not received before it
 * was sent. The programs mark both with the texts "xvt-ping send N", "xvt-ping recv N", "xvt-pong
 * send N" and "xvt-pong recv N". A send is paired with the receipt of the same number in another
 * machine, so "ping" may name the message or the program.
 */
#ifndef XVT_EXCHANGE_H
#define XVT_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_exchange {
	uint64_t number;
	uint64_t send_ns;
	uint64_t recv_ns;
	uint64_t bound_ns; /* sum of the error bounds of both times */
	uint32_t send_vm;
	uint32_t recv_vm;
	bool pong;
	bool sent;
	bool received;
	bool paired;
};

/* bound_ns of a time that is flagged as a guess. */
#define XVT_EXCHANGE_GUESS UINT64_MAX

/* Transit times of all paired messages from one machine to another. */
struct xvt_transit {
	uint32_t send_vm;
	uint32_t recv_vm;
	uint64_t *ns;
	size_t count;
	size_t room;
};

#define XVT_WAYS_MAX 64

struct xvt_exchanges {
	struct xvt_exchange *v;
	size_t count;
	size_t room;
	struct xvt_transit ways[XVT_WAYS_MAX];
	size_t way_count;
	size_t guesses;		    /* pairs with a guessed time; ways[] leaves them out */
	size_t undecided;	    /* pairs received too early by less than bound_ns */
	uint64_t undecided_ns_most; /* the most by which an undecided receipt is too early */
};

/* Read a mark: its number, and sent or received. Returns false for another text. */
bool xvt_exchange_parse(const char *text, size_t len, struct xvt_exchange *x);

/*
 * Add a text; other texts than marks are ignored. bound_ns: error bound of `ns` by the clock's map;
 * XVT_EXCHANGE_GUESS: the recorder flagged the time as unproven, so it proves nothing about the
 * clocks. Returns 0 or -ENOMEM.
 */
int xvt_exchange_add(struct xvt_exchanges *e, const char *text, size_t len, uint32_t vm,
		     uint64_t ns, uint64_t bound_ns);

/*
 * Pair sends and receipts. Calls `bad` for each receipt that is too early by at least bound_ns: it
 * precedes its send for all errors within the bounds. Marks of a number that is used again are
 * paired in order of time.
 */
void xvt_exchanges_check(struct xvt_exchanges *e,
			 void (*bad)(void *arg, const struct xvt_exchange *x), void *arg);

/* Number of pairs and median transit time; after xvt_exchanges_check(). */
size_t xvt_exchanges_pairs(const struct xvt_exchanges *e);
uint64_t xvt_transit_median_ns(const struct xvt_transit *w);

void xvt_exchanges_fini(struct xvt_exchanges *e);

#endif /* XVT_EXCHANGE_H */
