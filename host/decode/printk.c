// SPDX-License-Identifier: GPL-2.0
/*
 * printk.c - ftrace's own records whose print fmt does not describe them fully: trace_printk(),
 * whose arguments follow the address of its format (bprint), trace_puts() (bputs), and stacks. The
 * arguments are read as by the kernel's bstr_printf(). They and the format come from a guest, so
 * each read is checked against the record's end.
 */
#include "decode/print.h"
#include "decode/limits.h"

#include <string.h>

enum { FIELD_IP, FIELD_FORMAT, FIELD_ARGS };

struct args {
	const uint8_t *from;
	uint32_t len;
	uint32_t at;
	bool missing; /* the format has more conversions than the record has arguments */
};

/* Read the next number, which is aligned to its size, but at most to 4 bytes. */
static uint64_t next_number(struct args *a, uint32_t size, bool is_signed)
{
	uint32_t align = size < 4 ? size : 4, at = (a->at + align - 1) & ~(align - 1);

	if (at > a->len || size > a->len - at) {
		a->missing = true;
		return 0;
	}
	a->at = at + size;
	return xvt_number(a->from + at, size, is_signed);
}

static const char *next_text(struct args *a, uint32_t *len)
{
	const char *text = (const char *)a->from + a->at;

	*len = (uint32_t)strnlen(text, a->len - a->at);
	if (*len == a->len - a->at)
		a->missing = true;
	else
		a->at += *len + 1;
	return text;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The argument of a width or precision of "*". */
static int16_t next_count(struct args *a)
{
	const int v = (int)next_number(a, 4, true);

	return (int16_t)(v < 0 ? -1 : v > XVT_PIECE_WIDTH_MAX ? XVT_PIECE_WIDTH_MAX : v);
}

/* p is after "%p". Where %p prints memory, the kernel recorded the printed text. */
static const char *put_pointer(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
			       const char *p, const struct xvt_print_piece *piece, struct args *a)
{
	const char *text;
	uint32_t len;
	uint64_t v;

	if (!*p || strchr("SsxKe", *p) || !is_alnum(*p)) {
		v = next_number(a, 8, false);
		if (a->missing)
			return p;
		if (*p == 'S' || *p == 's')
			xvt_print_symbol(o, d, ev, v,
					 XVT_SYMBOL_MODULE | (*p == 'S' ? XVT_SYMBOL_OFFSET : 0));
		else
			xvt_out_printf(o, "0x%llx", (unsigned long long)v);
	} else {
		text = next_text(a, &len);
		if (a->missing)
			return p;
		xvt_piece_text(o, piece, text, len);
	}
	while (is_alnum(*p))
		p++;
	return p;
}

/* Write one conversion; p is after the '%'. Returns its end, or NULL: not supported. */
static const char *put_conversion(struct xvt_out *o, struct xvt_decoder *d,
				  const struct xvt_event *ev, const char *p, struct args *a)
{
	struct xvt_print_piece piece = { .conv = 0 };
	const char *text;
	uint32_t len;
	uint64_t v;
	uint8_t c;

	p = xvt_piece_parse(p, &piece);
	if (!p)
		return NULL;
	if (piece.width == XVT_PIECE_STAR)
		piece.width = next_count(a);
	if (piece.precision == XVT_PIECE_STAR)
		piece.precision = next_count(a);
	if (piece.conv == 'p')
		return put_pointer(o, d, ev, p, &piece, a);
	if (piece.conv == 's') {
		text = next_text(a, &len);
		if (!a->missing)
			xvt_piece_text(o, &piece, text, len);
		return p;
	}
	v = next_number(a, piece.conv == 'c' ? 1 : xvt_piece_size(&piece),
			piece.conv == 'd' || piece.conv == 'i');
	c = (uint8_t)v;
	if (!a->missing && piece.conv == 'c')
		xvt_piece_text(o, &piece, &c, 1);
	else if (!a->missing)
		xvt_piece_number(o, &piece, v);
	return p;
}

static void put_format(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
		       const char *p, struct args *a)
{
	while (*p && !a->missing && !o->cut) {
		size_t len = strcspn(p, "%");

		/* Leave out the newline at the end. */
		if (len && !p[len] && p[len - 1] == '\n')
			xvt_out_text(o, p, len - 1);
		else
			xvt_out_text(o, p, len);
		p += len;
		if (p[0] == '%' && p[1] == '%') {
			xvt_out_char(o, '%');
			p += 2;
		} else if (p[0] == '%') {
			p = put_conversion(o, d, ev, p + 1, a);
			if (!p)
				a->missing = true;
		}
		if (!p)
			break;
	}
	if (a->missing)
		xvt_out_str(o, "...[the record's arguments end here]");
}

static void put_place(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
		      const struct xvt_event_class *c)
{
	xvt_print_symbol(o, d, ev, xvt_field_number(&c->fields[FIELD_IP], ev), 0);
	xvt_out_bytes(o, ": ", 2);
}

static void put_bprint(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
		       const struct xvt_event_class *c)
{
	const uint64_t addr = xvt_field_number(&c->fields[FIELD_FORMAT], ev);
	const char *format = xvt_printk_text(d, ev->chunk_seq, addr);
	struct args a = { 0 };

	put_place(o, d, ev, c);
	if (format && c->special == XVT_SPECIAL_BPUTS) {
		size_t len = strlen(format);

		xvt_out_text(o, format, len - (len && format[len - 1] == '\n'));
		return;
	}
	a.len = c->special == XVT_SPECIAL_BPRINT
			? xvt_field_extent(&c->fields[FIELD_ARGS], ev, &a.from)
			: 0;
	if (format) {
		put_format(o, d, ev, format, &a);
		return;
	}
	xvt_out_printf(o, "unknown format 0x%llx", (unsigned long long)addr);
	for (uint32_t i = 0; i < a.len && !o->cut; i++) {
		if (i % 4 == 0)
			xvt_out_char(o, ' ');
		xvt_out_hex(o, a.from[i], 2);
	}
}

/* A stack ends at a mark, or after the number of entries in the record's first field. */
static void put_stack(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
		      const struct xvt_event_class *c)
{
	const struct xvt_field *caller = &c->fields[c->text];
	struct xvt_value v;

	xvt_field_get(caller, ev, &v);
	if (c->special == XVT_SPECIAL_KERNEL_STACK && xvt_field_number(&c->fields[0], ev) < v.count)
		v.count = (uint32_t)xvt_field_number(&c->fields[0], ev);
	for (uint32_t i = 0; i < v.count && !o->cut; i++) {
		uint64_t addr = xvt_field_element(caller, &v, i);

		if (addr == UINT64_MAX || (!addr && c->special == XVT_SPECIAL_USER_STACK))
			break;
		xvt_out_str(o, i ? " <- " : "");
		if (c->special == XVT_SPECIAL_KERNEL_STACK)
			xvt_print_symbol(o, d, ev, addr, XVT_SYMBOL_OFFSET);
		else
			xvt_out_printf(o, "0x%llx", (unsigned long long)addr);
	}
}

void xvt_print_special(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event_class *c,
		       const struct xvt_event *ev)
{
	if (c->special == XVT_SPECIAL_KERNEL_STACK || c->special == XVT_SPECIAL_USER_STACK)
		put_stack(o, d, ev, c);
	else
		put_bprint(o, d, ev, c);
}

static bool is(const struct xvt_event_class *c, uint32_t i, const char *name, uint32_t size)
{
	return i < c->field_count && strcmp(c->fields[i].name, name) == 0 &&
	       (!size || (c->fields[i].kind == XVT_FIELD_UINT && c->fields[i].size == size));
}

/* The format of 6.1 has eight callers, that of newer kernels 0. The number in a record varies, so
 * make `caller` the tail of the record. */
static void make_stack(struct xvt_event_class *c, enum xvt_special special)
{
	struct xvt_field *caller = &c->fields[1];
	const struct xvt_field *first = &c->fields[0];

	if (!is(c, 1, "caller", 0) || c->field_count != 2 || first->place != XVT_PLACE_FIXED ||
	    (first->kind != XVT_FIELD_INT && first->kind != XVT_FIELD_UINT) ||
	    caller->place == XVT_PLACE_DATA_LOC || caller->place == XVT_PLACE_REL_LOC ||
	    caller->offset < first->offset + first->size)
		return;
	caller->kind = XVT_FIELD_UINTS;
	caller->place = XVT_PLACE_TAIL;
	caller->elem_size = 8;
	caller->size = 0;
	c->min_len = caller->offset;
	c->text = 1;
	c->special = special;
}

void xvt_make_special(struct xvt_event_class *c)
{
	if (strcmp(c->system, "ftrace") != 0)
		return;
	if (strcmp(c->name, "kernel_stack") == 0)
		make_stack(c, XVT_SPECIAL_KERNEL_STACK);
	else if (strcmp(c->name, "user_stack") == 0)
		make_stack(c, XVT_SPECIAL_USER_STACK);
	else if (strcmp(c->name, "bprint") == 0 && is(c, FIELD_IP, "ip", 8) &&
		 is(c, FIELD_FORMAT, "fmt", 8) && is(c, FIELD_ARGS, "buf", 0) &&
		 c->fields[FIELD_ARGS].place == XVT_PLACE_TAIL)
		c->special = XVT_SPECIAL_BPRINT;
	else if (strcmp(c->name, "bputs") == 0 && is(c, FIELD_IP, "ip", 8) &&
		 is(c, FIELD_FORMAT, "str", 8))
		c->special = XVT_SPECIAL_BPUTS;
}
