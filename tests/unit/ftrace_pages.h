/* SPDX-License-Identifier: GPL-2.0 */
/* ftrace_pages.h - pages of ftrace's ring buffer, as the kernel writes them. */
#ifndef XVT_TEST_FTRACE_PAGES_H
#define XVT_TEST_FTRACE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTRACE_PAGE	   4096u
#define FTRACE_PAGE_MISSED 0x80000000ull
#define FTRACE_PAGE_STORED 0x40000000ull /* how many, behind the events */

struct ftrace_page {
	uint64_t words[FTRACE_PAGE / 8];
	uint32_t len; /* of its events */
};

void ftrace_page_begin(struct ftrace_page *p, uint64_t clock);
/* Put a word: 5 bits of type, 27 of time since the event before. */
void ftrace_page_word(struct ftrace_page *p, uint32_t type, uint32_t delta);
void ftrace_page_put(struct ftrace_page *p, uint32_t word);
/* Put an event of `len` bytes, a multiple of 4: `type`, and `fill` in the rest. */
void ftrace_page_event(struct ftrace_page *p, uint32_t delta, uint16_t type, uint8_t fill,
		       uint32_t len);
/* Finish the page. flags: FTRACE_PAGE_*. */
void ftrace_page_end(struct ftrace_page *p, uint64_t flags);

#endif /* XVT_TEST_FTRACE_PAGES_H */
