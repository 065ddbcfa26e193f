// SPDX-License-Identifier: GPL-2.0
/* symbols.c - see parts.h. Symbols of a guest's kernel, and the texts of its printk formats. */
#include "decode/parts.h"

#include <stdlib.h>
#include <string.h>
#include <errno.h>

#define SYMBOL_LOADS_MAX 64u /* loads for one machine while switching generations */

static bool add_symbol(struct xvt_decoder *d, struct xvt_symbols *s,
		       const struct xvt_ksymbol *symbol)
{
	const size_t charged = d->bytes;

	if (xvt_decoder_grow(d, &s->v, s->count, &s->room, sizeof(*s->v)))
		return false;
	s->bytes += d->bytes - charged;
	s->v[s->count++] = *symbol;
	return true;
}

static int compare_symbols(const void *pa, const void *pb)
{
	const struct xvt_ksymbol *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Cut a text in place and mark the cut by "...". */
static void limit_text(char *text, size_t most)
{
	if (strnlen(text, most + 1) > most)
		memcpy(text + most - 3, "...", 4);
}

/* The name in "\t[MODULE]", cut there in place; NULL: none. */
static const char *take_module(char *text)
{
	char *open = strstr(text, "\t["), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return NULL;
	*close = '\0';
	limit_text(open + 2, XVT_LIMIT_SYMBOL_BYTES);
	return open[2] ? open + 2 : NULL;
}

/* Add a line "ADDR TYPE NAME", with " SIZE" and "\t[MODULE]" behind it perhaps; it is cut after the
 * name in place. */
static bool take_ksym(struct xvt_decoder *d, struct xvt_symbols *s, char *line)
{
	char *end, *behind;
	struct xvt_ksymbol symbol = { .addr = strtoull(line, &end, 16) };

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return true;
	behind = end + 3 + strcspn(end + 3, " \t");
	symbol.module = take_module(behind);
	if (*behind == ' ')
		symbol.size = strtoull(behind + 1, NULL, 16);
	*behind = '\0';
	limit_text(end + 3, XVT_LIMIT_SYMBOL_BYTES);
	symbol.name = end + 3;
	return add_symbol(d, s, &symbol);
}

/* Add a line '0xADDR : "TEXT"'; the text is unescaped in place. */
static bool take_printk(struct xvt_decoder *d, struct xvt_symbols *s, char *line)
{
	char *open = strchr(line, '"'), *close = strrchr(line, '"');
	char *to = open, *end;
	uint64_t addr = strtoull(line, &end, 0);

	if (end == line || !open || close == open)
		return true;
	*close = '\0';
	for (const char *p = open + 1; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
			*to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
	limit_text(open, XVT_LIMIT_PRINTK_BYTES);
	return add_symbol(d, s, &(struct xvt_ksymbol){ .addr = addr, .name = open });
}

static bool take_lines(struct xvt_decoder *d, struct xvt_symbols *s, char *text)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!(s->type == XVT_META_KSYMS ? take_ksym(d, s, line) : take_printk(d, s, line)))
			return false;
	return true;
}

void xvt_symbols_unload(struct xvt_decoder *d, struct xvt_symbols *s)
{
	for (size_t i = 0; i < s->text_count; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->v);
	s->texts = NULL;
	s->v = NULL;
	s->text_count = s->count = s->room = 0;
	xvt_decoder_give_back(d, s->bytes);
	s->bytes = 0;
}

static bool load_place(struct xvt_decoder *d, struct xvt_symbols *s,
		       const struct xvt_meta_place *at)
{
	const size_t head = sizeof(struct xvt_meta_info);
	struct xvt_chunk_buf *b = &d->all->buf;
	void *grown;
	char *text;

	if (xvt_trace_load_at(d->all->t, at->offset, at->len, b) || b->len < head)
		return true; /* the file has changed */
	if (!xvt_decoder_charge(d, b->len))
		return false;
	s->bytes += b->len;
	grown = realloc(s->texts, (s->text_count + 1) * sizeof(*s->texts));
	if (!grown)
		return false;
	s->texts = grown;
	text = xvt_decoder_text(b->payload + head, b->len - head);
	if (!text)
		return false;
	s->texts[s->text_count++] = text;
	return take_lines(d, s, text);
}

/* Load the symbols that hold in generation g: its own, or those of the last generation before g
 * that has any, else of the first. */
static void load_symbols(struct xvt_decoder *d, struct xvt_symbols *s, uint32_t g)
{
	uint32_t end = s->place_count, from;

	while (end && s->places[end - 1].generation > g)
		end--;
	if (!end) { /* g is older than the first generation with symbols */
		while (end < s->place_count && s->places[end].generation == s->places[0].generation)
			end++;
		if (!end)
			return;
	}
	g = s->places[end - 1].generation;
	if (s->loads && s->generation == g)
		return;
	if (s->loads == SYMBOL_LOADS_MAX)
		return;
	s->loads++;
	s->generation = g;
	xvt_symbols_unload(d, s);
	for (from = end; from && s->places[from - 1].generation == g;)
		from--;
	for (; from < end; from++)
		if (!load_place(d, s, &s->places[from]))
			break;
	if (from < end) /* all or none: with a part, the nearest symbol could be wrong */
		xvt_symbols_unload(d, s);
	if (s->count)
		qsort(s->v, s->count, sizeof(*s->v), compare_symbols);
}

/* The last symbol at or below addr. */
static const struct xvt_ksymbol *find_symbol(struct xvt_decoder *d, struct xvt_symbols *s,
					     uint64_t seq, uint64_t addr)
{
	size_t n;

	if (!s->place_count)
		return NULL;
	load_symbols(d, s, xvt_decoder_generation(d, seq));
	n = XVT_COUNT_TO(s->v, s->count, addr, addr);
	return n ? &s->v[n - 1] : NULL;
}

int xvt_symbols_piece(struct xvt_decoder *d, uint32_t type, size_t number, const char **text,
		      size_t *len)
{
	const struct xvt_symbols *s = type == XVT_META_KSYMS ? &d->ksyms : &d->printks;
	const size_t head = sizeof(struct xvt_meta_info);
	struct xvt_chunk_buf *b = &d->all->buf;
	const struct xvt_meta_place *at;
	uint32_t from = s->place_count;
	int err;

	while (from && s->places[from - 1].generation == s->places[s->place_count - 1].generation)
		from--;
	if (number >= s->place_count - from)
		return -ENOENT;
	at = &s->places[from + number];
	err = xvt_trace_load_at(d->all->t, at->offset, at->len, b);
	if (err)
		return err;
	*text = (const char *)b->payload + (b->len < head ? b->len : head);
	*len = b->len < head ? 0 : b->len - head;
	return 0;
}

bool xvt_has_ksyms(const struct xvt_decoder *d)
{
	return d->ksyms.place_count > 0;
}

const char *xvt_ksym(struct xvt_decoder *d, uint64_t seq, uint64_t addr, uint64_t *base,
		     const char **module)
{
	const struct xvt_ksymbol *s = find_symbol(d, &d->ksyms, seq, addr);

	/* An address far behind a symbol, or behind its end, is not in its function. */
	if (!s || addr - s->addr > 1u << 20 || (s->size && addr - s->addr >= s->size))
		return NULL;
	*base = s->addr;
	*module = s->module;
	return s->name;
}

const char *xvt_printk_text(struct xvt_decoder *d, uint64_t seq, uint64_t addr)
{
	const struct xvt_ksymbol *s = find_symbol(d, &d->printks, seq, addr);

	return s && s->addr == addr ? s->name : NULL;
}

int xvt_symbols_take(struct xvt_decoder *d, struct xvt_symbols *s, uint32_t type,
		     const struct xvt_meta_place *at)
{
	int err =
		xvt_decoder_grow(d, &s->places, s->place_count, &s->place_room, sizeof(*s->places));

	s->type = type;
	if (!err)
		s->places[s->place_count++] = *at;
	return err == -ENOSPC ? 0 : err;
}
