/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange.h - messages between machines that left marks on both sides: nothing is received
 * before it was sent. Marks are the texts "xvt-ping send N", "xvt-ping recv N", "xvt-pong send
 * N" and "xvt-pong recv N". A send is paired with the receipt of the same number in another
 * machine, so it does not matter whether ping names the message or the program.
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
	uint64_t bound_ns; /* of both times together, by which they may be apart more or less */
	uint32_t send_vm;
	uint32_t recv_vm;
	bool pong;
	bool sent;
	bool received;
	bool paired;
};

/* The bound of a time that is flagged as a guess. */
#define XVT_EXCHANGE_GUESS UINT64_MAX

/* One direction: times under way of all whole exchanges. */
struct xvt_way {
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
	struct xvt_way ways[XVT_WAYS_MAX];
	size_t way_count;
	size_t guesses;		    /* pairs with a time that is one; they are in no way */
	size_t undecided;	    /* seem to be received before they were sent, but */
	uint64_t undecided_ns_most; /* by less than both clocks' bounds: this much at most */
};

/*
 * Look at a text. Not a mark: ignored. bound_ns: by how much the clock's map says that `ns` may be
 * wrong; XVT_EXCHANGE_GUESS: who wrote the time says itself that it is not proven, so it proves
 * nothing about the clocks either. Returns 0 or -ENOMEM.
 */
int xvt_exchange_add(struct xvt_exchanges *e, const char *text, size_t len, uint32_t vm,
		     uint64_t ns, uint64_t bound_ns);

/*
 * Pair sends and receipts; call `bad` for each receipt that cannot have come after its send,
 * wherever within their bounds the two times lie. A number that is used again pairs in order of
 * time.
 */
void xvt_exchanges_check(struct xvt_exchanges *e,
			 void (*bad)(void *arg, const struct xvt_exchange *x), void *arg);

/* After the check. */
size_t xvt_exchanges_pairs(const struct xvt_exchanges *e);
uint64_t xvt_way_median_ns(const struct xvt_way *w);

void xvt_exchanges_fini(struct xvt_exchanges *e);

#endif /* XVT_EXCHANGE_H */
