/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ftrace_page.h - the events in a page of ftrace's ring buffer, as trace_pipe_raw gives it:
 *
 *   u64 stamp, long commit, then events. An event is a word (length in 5 bits, time since the one
 *   before in 27), perhaps a word more, and its data.
 *
 * libtraceevent's kbuffer reads the same, but trusts every length in it and is not told how long
 * the page is. Here a length that leads out of the page ends it.
 */
#ifndef XVT_FTRACE_PAGE_H
#define XVT_FTRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XVT_FTRACE_PAGE_HEAD 16u

struct xvt_ftrace_page {
	const uint8_t *bytes; /* the page */
	const uint8_t *at;    /* the next event */
	const uint8_t *end;
	uint64_t clock; /* of the newest event */
	/* Events are missing before the first one: the kernel overwrote them. */
	bool missed;
	bool missed_known;	/* so many, as the page says: */
	uint64_t missed_events; /* any number, of a page that a guest wrote */
	bool filled;		/* the rest of it is no event */
	bool back;		/* as in the entry that comes next */
	bool late; /* the page had such a gap: its stamps do not show how late they are */
	bool bad;  /* a length led out of the page: the rest of it is not read */
};

struct xvt_ftrace_entry {
	uint64_t clock;
	const uint8_t *data; /* u16 type first; in the page */
	uint32_t len;
	/*
	 * The kernel's clock had gone back since the event before, by more than passed meanwhile.
	 * In a page the kernel has no stamp for that. This event has the stamp of the one before,
	 * and those behind it in the page go on from there. Also for the first event of the page
	 * behind such a one (vmm/ftrace_map.h), which has its own stamp again.
	 */
	bool back;
};

/* Begin a page of `size` bytes, aligned to 8. */
void xvt_ftrace_page_init(struct xvt_ftrace_page *p, const void *page, size_t size);

/* More of the page was written behind its end: it has now `commit` bytes of events, which the
 * caller has checked. */
void xvt_ftrace_page_more(struct xvt_ftrace_page *p, uint32_t commit);

/* The next event. Returns false at the end of the page; p->bad says whether it was a bad one. */
bool xvt_ftrace_page_next(struct xvt_ftrace_page *p, struct xvt_ftrace_entry *e);

#endif /* XVT_FTRACE_PAGE_H */
