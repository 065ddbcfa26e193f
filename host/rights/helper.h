/* SPDX-License-Identifier: GPL-2.0 */
/*
 * helper.h - a process that a recorder starts before it gives up its rights, and asks over a socket
 * of messages (SOCK_SEQPACKET). It ends with the recorder, whatever ends that.
 */
#ifndef XVT_HELPER_H
#define XVT_HELPER_H

#include <stdint.h>
#include <sys/types.h>

struct xvt_helper {
	int fd;
	int pidfd; /* of base/child.h */
	pid_t pid; /* 0: somebody else has waited for it */
};

/* Starts a process that keeps these capabilities, if it has them, no descriptor but standard ones
 * and its end of the socket, and calls serve(). It ends when that returns. Returns 0 or -errno. */
int xvt_helper_start(struct xvt_helper *h, uint64_t capabilities, void (*serve)(int fd, void *arg),
		     void *arg);
/* Ends it. */
void xvt_helper_end(struct xvt_helper *h);

/* Send a question. Returns 0, or -EPIPE: it has died. */
int xvt_helper_ask(const struct xvt_helper *h, const void *question, size_t size);
/* Returns 0 with the answer; -EAGAIN: there is none yet; -EPIPE. */
int xvt_helper_answer(const struct xvt_helper *h, void *answer, size_t size);

#endif /* XVT_HELPER_H */
