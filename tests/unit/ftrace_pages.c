// SPDX-License-Identifier: GPL-2.0
/* ftrace_pages.c - see ftrace_pages.h. */
#include "ftrace_pages.h"

#include <string.h>

#define HEAD	  16u
#define SMALL_MAX 112u /* longer data has a word for its length */

void ftrace_page_begin(struct ftrace_page *p, uint64_t clock)
{
	memset(p, 0, sizeof(*p));
	p->words[0] = clock;
}

void ftrace_page_put(struct ftrace_page *p, uint32_t word)
{
	memcpy((uint8_t *)p->words + HEAD + p->len, &word, sizeof(word));
	p->len += sizeof(word);
}

void ftrace_page_word(struct ftrace_page *p, uint32_t type, uint32_t delta)
{
	ftrace_page_put(p, delta << 5 | type);
}

void ftrace_page_event(struct ftrace_page *p, uint32_t delta, uint16_t type, uint8_t fill,
		       uint32_t len)
{
	uint8_t *data;

	ftrace_page_word(p, len > SMALL_MAX ? 0 : len / 4, delta);
	if (len > SMALL_MAX)
		ftrace_page_put(p, len + 4);
	data = (uint8_t *)p->words + HEAD + p->len;
	memset(data, fill, len);
	memcpy(data, &type, sizeof(type));
	p->len += len;
}

void ftrace_page_end(struct ftrace_page *p, uint64_t flags)
{
	p->words[1] = p->len | flags;
}
