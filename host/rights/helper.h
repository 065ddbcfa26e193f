/* SPDX-License-Identifier: GPL-2.0 */
/*
 * helper.h - a process that a recorder starts before it gives up its rights, and asks over a socket
 * of messages (SOCK_SEQPACKET). It ends with the recorder, whatever ends that.
 *
 * No request waits for its answer. A helper that has a question, and for XVT_HELPER_STILL_NS
 * neither answers nor uses CPU time, stands still: it was stopped, or a disk holds it up. A helper
 * that waits for a child of its own does that by base/child.h, which uses CPU time.
 */
#ifndef XVT_HELPER_H
#define XVT_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define XVT_HELPER_STILL_NS 30000000000ull

/* Words of the messages; strings that stay. */
struct xvt_helper_name {
	const char *does;  /* "reads flight recorders" */
	const char *until; /* what there is not until it answers: "no event makes a snapshot" */
};

enum xvt_helper_news { XVT_HELPER_NO_NEWS, XVT_HELPER_STILL, XVT_HELPER_ANSWERS };

struct xvt_helper {
	struct xvt_helper_name name;
	int fd;
	int pidfd;    /* of base/child.h */
	pid_t pid;    /* 0: somebody else has waited for it */
	bool asked;   /* and no answer has come */
	bool told;    /* that it stands still */
	bool watched; /* the two that follow are of the present question */
	uint64_t worked_ns;
	uint64_t cpu_ns; /* that it had used then */
};

/* Starts a process that keeps these capabilities, if it has them, and that to end processes of
 * other users; no group but its own, if rights/own_user.h chose a user; no descriptor but standard
 * ones and its end of the socket, and calls serve(). It ends when that returns. Returns 0 or
 * -errno. */
int xvt_helper_start(struct xvt_helper *h, const struct xvt_helper_name *name,
		     uint64_t capabilities, void (*serve)(int fd, void *arg), void *arg);
/* Ends it. A process that cannot be ended is left, after a warning. */
void xvt_helper_end(struct xvt_helper *h);

/* Send a question. Returns 0, or -EPIPE: it has died. */
int xvt_helper_ask(struct xvt_helper *h, const void *question, size_t size);
/* Returns 0 with the answer; -EAGAIN: there is none yet; -EPIPE. */
int xvt_helper_answer(struct xvt_helper *h, void *answer, size_t size);

/* Look whether it stands still, at now_ns of any clock; to be called about once a second. Returns
 * what there is to tell: STILL once, *still_s: for how long; ANSWERS once after that. */
enum xvt_helper_news xvt_helper_watch(struct xvt_helper *h, uint64_t now_ns, unsigned int *still_s);

#endif /* XVT_HELPER_H */
