// SPDX-License-Identifier: GPL-2.0
/*
 * host_symbols.c - names of the host kernel's functions that its events show. The addresses of
 * those events whose formats print functions are collected while they are fed. At the end the
 * symbols that hold them go into the trace, each with the one behind it: a reader takes the last
 * symbol at or below an address.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

#define SLOTS	   8192u /* a power of two; half of them are used at most */
#define TYPES	   65536u
#define FIELDS_AT  8u			 /* behind the common fields */
#define TEXT_BEGIN 0xffffffff80000000ull /* x86: the kernel's and its modules' text lies above */

struct xvt_session_symbols {
	uint8_t wanted[TYPES / 8]; /* types of events that print functions */
	uint64_t addresses[SLOTS]; /* hash set; 0: free */
	uint32_t count;
	bool all; /* more than fit: all symbols are put */
};

struct symbol {
	uint64_t address;
	size_t name; /* in the text; "\t[MODULE]" may follow it */
	bool needed;
};

struct symbols {
	struct symbol *v;
	size_t count, room;
	char *text;
	size_t len, text_room;
};

void xvt_session_symbols_want(struct xvt_session *s, uint16_t type)
{
	if (!s->sources.symbols)
		s->sources.symbols = calloc(1, sizeof(*s->sources.symbols));
	if (s->sources.symbols)
		s->sources.symbols->wanted[type >> 3] |= (uint8_t)(1u << (type & 7));
}

static void add(struct xvt_session_symbols *y, uint64_t address)
{
	uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 51) & (SLOTS - 1);

	while (y->addresses[at] && y->addresses[at] != address)
		at = (at + 1) & (SLOTS - 1);
	if (y->addresses[at])
		return;
	y->all = y->count == SLOTS / 2;
	if (y->all)
		return;
	y->addresses[at] = address;
	y->count++;
}

void xvt_session_symbols_event(struct xvt_session *s, const uint8_t *data, uint32_t len)
{
	struct xvt_session_symbols *y = s->sources.symbols;
	uint64_t word;
	uint16_t type;
	uint32_t at;

	if (!y || y->all || len < FIELDS_AT)
		return;
	memcpy(&type, data, sizeof(type));
	if (!(y->wanted[type >> 3] >> (type & 7) & 1))
		return;
	for (at = FIELDS_AT; at + sizeof(word) <= len && !y->all; at += sizeof(word)) {
		memcpy(&word, data + at, sizeof(word));
		if (word >= TEXT_BEGIN)
			add(y, word);
	}
}

static int by_address(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Add a line "ADDRESS TYPE NAME\t[MODULE]" of a function; its module stays behind the name. Returns
 * false without memory. */
static bool add_line(struct symbols *all, char *line)
{
	uint64_t address;
	size_t len;
	char type, *name, *end;

	address = strtoull(line, &end, 16);
	type = *end == ' ' ? end[1] : 0;
	if (!address || !strchr("tTwW", type) || !type || end[2] != ' ')
		return true;
	name = end + 3;
	len = strcspn(name, "\n");
	name[len] = 0;
	if (xvt_grow(&all->v, &all->room, all->count + 1, sizeof(*all->v)) ||
	    xvt_grow(&all->text, &all->text_room, all->len + len + 1, 1))
		return false;
	all->v[all->count++] = (struct symbol){ .address = address, .name = all->len };
	memcpy(all->text + all->len, name, len + 1);
	all->len += len + 1;
	return true;
}

/* Read the kernel's functions. None if it hides their addresses. */
static void read_symbols(struct symbols *all)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	size_t room = 0;
	char *line = NULL;

	while (f && getline(&line, &room, f) > 0) {
		if (!add_line(all, line))
			break;
	}
	free(line);
	if (f)
		fclose(f);
	if (all->count)
		qsort(all->v, all->count, sizeof(*all->v), by_address);
}

/* Mark the symbol that holds an address, with those of equal address, and the one behind it. */
static void mark(struct symbols *all, uint64_t address)
{
	size_t i = XVT_COUNT_TO(all->v, all->count, address, address);
	uint64_t base;

	if (i < all->count)
		all->v[i].needed = true;
	base = i ? all->v[i - 1].address : 0;
	while (i && all->v[i - 1].address == base)
		all->v[--i].needed = true;
}

char *xvt_session_symbols_text(struct xvt_session *s, size_t *size)
{
	struct xvt_session_symbols *y = s->sources.symbols;
	struct symbols all = { 0 };
	char *text = NULL;
	FILE *f;
	size_t i;

	*size = 0;
	if (!y || !y->count)
		return NULL;
	read_symbols(&all);
	for (i = 0; i < SLOTS && all.count; i++) {
		if (y->addresses[i])
			mark(&all, y->addresses[i]);
	}
	f = all.count ? open_memstream(&text, size) : NULL;
	for (i = 0; f && i < all.count; i++) {
		if (all.v[i].needed || y->all)
			fprintf(f, "%016llx t %s\n", (unsigned long long)all.v[i].address,
				all.text + all.v[i].name);
	}
	if (f && fclose(f)) {
		free(text);
		text = NULL;
		*size = 0;
	}
	free(all.v);
	free(all.text);
	return text;
}

void xvt_session_symbols_free(struct xvt_session *s)
{
	free(s->sources.symbols);
	s->sources.symbols = NULL;
}
