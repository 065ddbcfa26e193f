// SPDX-License-Identifier: GPL-2.0
/* ftrace_page.c - see ftrace_page.h. The format is that of the kernel's ring_buffer.h. */
#include "vmm/ftrace_page.h"

#include <string.h>

#define COMMIT_SIZE   0x7ffffffull /* of the commit word: bytes of events */
#define COMMIT_MISSED 0x80000000ull
#define COMMIT_STORED 0x40000000ull /* with MISSED: the number follows the events */

/* Values of an event's 5 bits. Below them: the data's length in words of 4 bytes; 0: the next word
 * has the length, itself included. */
enum { PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31 };

#define DELTA_BITS 27
/* A TIME_STAMP has 59 bits; the bits above are those of the stamp before. */
#define STAMP_BITS 59

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

void xvt_ftrace_page_init(struct xvt_ftrace_page *p, const void *page, size_t size)
{
	const uint8_t *bytes = page;
	uint64_t commit;

	memset(p, 0, sizeof(*p));
	p->bytes = p->at = p->end = bytes;
	p->bad = size < XVT_FTRACE_PAGE_HEAD;
	if (p->bad)
		return;
	memcpy(&p->clock, bytes, sizeof(p->clock));
	memcpy(&commit, bytes + sizeof(p->clock), sizeof(commit));
	p->missed = commit & COMMIT_MISSED;
	p->missed_known = p->missed && commit & COMMIT_STORED;
	commit &= COMMIT_SIZE;
	p->bad = commit > size - XVT_FTRACE_PAGE_HEAD;
	if (p->bad)
		return;
	p->at += XVT_FTRACE_PAGE_HEAD;
	p->end = p->at + commit;
	p->missed_known &= size - XVT_FTRACE_PAGE_HEAD - commit >= sizeof(p->missed_events);
	if (p->missed_known)
		memcpy(&p->missed_events, p->end, sizeof(p->missed_events));
}

void xvt_ftrace_page_more(struct xvt_ftrace_page *p, uint32_t commit)
{
	/* Nothing is behind a length that led out of the page, or a PADDING that fills it. */
	if (p->bad || p->filled)
		return;
	p->end = p->bytes + XVT_FTRACE_PAGE_HEAD + commit;
}

static bool is_bad(struct xvt_ftrace_page *p)
{
	p->bad = true;
	p->at = p->end;
	return false;
}

static uint64_t full_stamp(uint64_t stamp, uint64_t before)
{
	const uint64_t high = before >> STAMP_BITS << STAMP_BITS;

	if (high) {
		stamp |= high;
		if (stamp < before)
			stamp += 1ull << STAMP_BITS;
	}
	return stamp;
}

bool xvt_ftrace_page_next(struct xvt_ftrace_page *p, struct xvt_ftrace_entry *e)
{
	while (p->at < p->end) {
		const size_t left = (size_t)(p->end - p->at);
		const uint32_t word = left < 4 ? 0 : word_at(p->at), type = word & 31;
		const bool more = type == 0 || type >= PADDING;
		const uint32_t delta = word >> (32 - DELTA_BITS);
		uint64_t second, len;

		/* A PADDING without a delta fills the page. */
		if (type == PADDING && !delta && left >= 4) {
			p->at = p->end;
			p->filled = true;
			return false;
		}
		if (left < (more ? 8 : 4))
			return is_bad(p);
		second = more ? word_at(p->at + 4) : 0;
		if (type >= TIME_EXTEND) {
			second = second << DELTA_BITS | delta;
			/* The kernel writes one of no time for a clock that went back; also for a
			 * page's first event, which has the page's stamp. */
			if (type == TIME_EXTEND && !second &&
			    p->at > p->bytes + XVT_FTRACE_PAGE_HEAD)
				p->back = p->late = true;
			p->clock = type == TIME_EXTEND ? p->clock + second
						       : full_stamp(second, p->clock);
			p->at += 8;
			continue;
		}
		len = more ? 4 + second
			   : 4 + type * 4ull; /* of the event, its first word included */
		if (len > left || (more && second < 4) || second & 3)
			return is_bad(p);
		p->clock += delta;
		e->clock = p->clock;
		e->data = p->at + (more ? 8 : 4);
		e->len = (uint32_t)(p->at + len - e->data);
		p->at += len;
		if (type == PADDING) /* one that was given back after it was reserved */
			continue;
		e->back = p->back;
		p->back = false;
		return true;
	}
	return false;
}
