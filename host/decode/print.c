// SPDX-License-Identifier: GPL-2.0
/*
 * print.c - run a compiled print fmt on one record. All reads go through xvt_field_get()
 * and xvt_field_extent(), so none leaves the record; see print.h for the other guarantees.
 */
#include "decode/print.h"

#include <string.h>

#include "decode/limits.h"

#define ERRNO_MOST 4095 /* pointers of higher addresses are errors, as in Linux */

struct run {
	struct xvt_out *o;
	struct xvt_decoder *d;
	const struct xvt_event *ev;
};

/* A number of C: is_signed decides how it is compared, divided and shifted. */
struct number {
	uint64_t v;
	bool is_signed;
};

static struct number eval_tree(const struct run *r, const struct xvt_node *n);

static struct number truncate_to(uint64_t v, uint32_t size, bool is_signed)
{
	struct number out = { v, is_signed || size < 8 };
	uint32_t drop = 64 - 8 * size;

	if (size < 8)
		out.v = is_signed ? (uint64_t)((int64_t)(v << drop) >> drop) : v << drop >> drop;
	return out;
}

static bool is_number(const struct xvt_field *f)
{
	return f->kind == XVT_FIELD_UINT || f->kind == XVT_FIELD_INT;
}

static struct number eval_field(const struct run *r, const struct xvt_field *f)
{
	if (!is_number(f))
		return (struct number){ 0, true };
	return (struct number){ xvt_field_number(f, r->ev),
				f->kind == XVT_FIELD_INT || f->size < 8 };
}

/* Most trees are one field. */
static inline struct number eval(const struct run *r, const struct xvt_node *n)
{
	return n->op == XVT_NODE_FIELD ? eval_field(r, n->field) : eval_tree(r, n);
}

/* All bytes of a field, including those after a text's end. */
static uint32_t field_bytes(const struct run *r, const struct xvt_field *f, const uint8_t **data)
{
	return xvt_field_extent(f, r->ev, data);
}

static uint64_t divide(struct number a, struct number b, bool want_rest)
{
	int64_t x = (int64_t)a.v, y = (int64_t)b.v;

	if (!b.v)
		return 0;
	if (!a.is_signed || !b.is_signed)
		return want_rest ? a.v % b.v : a.v / b.v;
	if (y == -1)
		return want_rest ? 0 : -a.v;
	return (uint64_t)(want_rest ? x % y : x / y);
}

static struct number arith(enum xvt_node_arith op, struct number a, struct number b)
{
	bool is_signed = a.is_signed && b.is_signed;
	bool less = is_signed ? (int64_t)a.v < (int64_t)b.v : a.v < b.v;
	bool more = is_signed ? (int64_t)a.v > (int64_t)b.v : a.v > b.v;
	uint64_t v = 0;

	switch (op) {
	case XVT_ARITH_ADD:
		v = a.v + b.v;
		break;
	case XVT_ARITH_SUB:
		v = a.v - b.v;
		break;
	case XVT_ARITH_MUL:
		v = a.v * b.v;
		break;
	case XVT_ARITH_DIV:
		v = divide(a, b, false);
		break;
	case XVT_ARITH_MOD:
		v = divide(a, b, true);
		break;
	case XVT_ARITH_SHL:
		v = b.v < 64 ? a.v << b.v : 0;
		break;
	case XVT_ARITH_SHR:
		if (b.v < 64)
			v = a.is_signed ? (uint64_t)((int64_t)a.v >> b.v) : a.v >> b.v;
		is_signed = a.is_signed;
		break;
	case XVT_ARITH_AND:
		v = a.v & b.v;
		break;
	case XVT_ARITH_OR:
		v = a.v | b.v;
		break;
	case XVT_ARITH_XOR:
		v = a.v ^ b.v;
		break;
	case XVT_ARITH_LAND:
		v = a.v && b.v;
		break;
	case XVT_ARITH_LOR:
		v = a.v || b.v;
		break;
	case XVT_ARITH_EQ:
		v = a.v == b.v;
		break;
	case XVT_ARITH_NE:
		v = a.v != b.v;
		break;
	case XVT_ARITH_LT:
		v = less;
		break;
	case XVT_ARITH_GT:
		v = more;
		break;
	case XVT_ARITH_LE:
		v = !more;
		break;
	case XVT_ARITH_GE:
		v = !less;
		break;
	case XVT_ARITH_NOT:
		v = !b.v;
		break;
	case XVT_ARITH_INV:
		v = ~b.v;
		break;
	}
	return (struct number){ v, is_signed };
}

static struct number eval_index(const struct run *r, const struct xvt_node *n)
{
	struct number at = eval(r, n->b);
	struct xvt_value v;

	if (is_number(n->field))
		return (struct number){ 0, true };
	xvt_field_get(n->field, r->ev, &v);
	if (at.v >= v.count)
		return (struct number){ 0, true };
	return (struct number){ xvt_field_element(n->field, &v, (uint32_t)at.v),
				n->field->kind == XVT_FIELD_INTS || n->field->elem_size < 8 };
}

static struct number eval_tree(const struct run *r, const struct xvt_node *n)
{
	const uint8_t *data;

	switch (n->op) {
	case XVT_NODE_NUMBER:
		return (struct number){ n->value, !n->is_unsigned };
	case XVT_NODE_CAST:
		return truncate_to(eval(r, n->a).v, n->size, n->is_signed);
	case XVT_NODE_FLAGS:
	case XVT_NODE_SYMBOL:
		return eval(r, n->a);
	case XVT_NODE_DYN_LEN:
		return (struct number){ field_bytes(r, n->field, &data), true };
	case XVT_NODE_INDEX:
		return eval_index(r, n);
	case XVT_NODE_UNARY:
		return arith((enum xvt_node_arith)n->arith, (struct number){ 0, true },
			     eval(r, n->b));
	case XVT_NODE_BINARY:
		return arith((enum xvt_node_arith)n->arith, eval(r, n->a), eval(r, n->b));
	case XVT_NODE_COND:
		return eval(r, n->a).v ? eval(r, n->b) : eval(r, n->c);
	default:
		return (struct number){ 0, true };
	}
}

bool xvt_node_constant(const struct xvt_node *n, uint64_t *value)
{
	const struct run nothing = { 0 };

	if (n->field || n->op == XVT_NODE_UNKNOWN || (n->a && !xvt_node_constant(n->a, value)) ||
	    (n->b && !xvt_node_constant(n->b, value)) || (n->c && !xvt_node_constant(n->c, value)))
		return false;
	*value = eval(&nothing, n).v;
	return true;
}

void xvt_node_fold(struct xvt_node *n)
{
	const struct run nothing = { 0 };
	uint64_t value;
	struct number v;

	if ((n->op != XVT_NODE_UNARY && n->op != XVT_NODE_BINARY && n->op != XVT_NODE_CAST) ||
	    (n->a && n->a->op != XVT_NODE_NUMBER) || (n->b && n->b->op != XVT_NODE_NUMBER) ||
	    (n->op == XVT_NODE_CAST && n->a->text) || !xvt_node_constant(n, &value))
		return;
	v = eval(&nothing, n);
	n->op = XVT_NODE_NUMBER;
	n->value = v.v;
	n->is_unsigned = !v.is_signed;
	n->text = NULL;
	n->a = n->b = NULL;
	n->depth = 1;
}

/* The length of a literal, up to the limit of what is shown. */
static size_t known_len(const char *text)
{
	return strnlen(text, XVT_LIMIT_TEXT + 1);
}

static int cut_width(int64_t width)
{
	return width < 0 ? -1 : width < XVT_PIECE_WIDTH_MAX ? (int)width : XVT_PIECE_WIDTH_MAX;
}

static void put_spaces(struct xvt_out *o, int count)
{
	for (; count > 0; count--)
		xvt_out_char(o, ' ');
}

/* Write a text with width and precision. */
static void put_text(const struct run *r, const struct xvt_print_piece *p, const void *text,
		     size_t len, int width, int precision)
{
	int fill;

	if (precision >= 0 && len > (size_t)precision)
		len = (size_t)precision;
	fill = width > 0 && (size_t)width > len ? width - (int)len : 0;
	if (!(p->flags & XVT_PIECE_F_LEFT))
		put_spaces(r->o, fill);
	xvt_out_text(r->o, text, len);
	if (p->flags & XVT_PIECE_F_LEFT)
		put_spaces(r->o, fill);
}

/* A number by Linux's %d, %i, %u, %x, %X or %o, with all flags. Unlike in printf, 0 has a digit and
 * its 0x always, and a precision leaves the zero flag in force. */
struct digits {
	char text[24];
	unsigned int from; /* text[from..24) */
	const char *sign;  /* sign or "0x", before the zeros */
	unsigned int zeros;
};

static void make_digits(struct digits *out, const struct xvt_print_piece *p, struct number n,
			int precision)
{
	const char *names = p->conv == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	bool is_signed = p->conv == 'd' || p->conv == 'i';
	bool negative = is_signed && (int64_t)n.v < 0;
	uint64_t v = negative ? -n.v : n.v;
	unsigned int base = is_signed || p->conv == 'u' ? 10 : p->conv == 'o' ? 8 : 16;
	unsigned int len;

	out->from = sizeof(out->text);
	do {
		out->text[--out->from] = names[v % base];
	} while (v /= base);
	len = (unsigned int)sizeof(out->text) - out->from;
	out->zeros = precision > (int)len ? (unsigned int)precision - len : 0;
	out->sign = "";
	if (negative)
		out->sign = "-";
	else if (is_signed && p->flags & XVT_PIECE_F_PLUS)
		out->sign = "+";
	else if (is_signed && p->flags & XVT_PIECE_F_SPACE)
		out->sign = " ";
	else if (base == 16 && p->flags & XVT_PIECE_F_ALT)
		out->sign = p->conv == 'X' ? "0X" : "0x";
	else if (base == 8 && p->flags & XVT_PIECE_F_ALT && n.v)
		out->sign = "0";
}

static void put_formatted(struct xvt_out *o, const struct xvt_print_piece *p, struct number n,
			  int width, int precision)
{
	struct digits d;
	unsigned int len, fill;

	make_digits(&d, p, n, precision);
	len = (unsigned int)(strlen(d.sign) + d.zeros + sizeof(d.text) - d.from);
	fill = width > 0 && (unsigned int)width > len ? (unsigned int)width - len : 0;
	if (p->flags & XVT_PIECE_F_ZERO && !(p->flags & XVT_PIECE_F_LEFT)) {
		d.zeros += fill;
		fill = 0;
	}
	if (!(p->flags & XVT_PIECE_F_LEFT))
		for (; fill; fill--)
			xvt_out_char(o, ' ');
	xvt_out_str(o, d.sign);
	for (; d.zeros; d.zeros--)
		xvt_out_char(o, '0');
	xvt_out_bytes(o, d.text + d.from, sizeof(d.text) - d.from);
	for (; fill; fill--)
		xvt_out_char(o, ' ');
}

static void put_number(const struct run *r, const struct xvt_print_piece *p, struct number n,
		       int width, int precision)
{
	bool is_signed = p->conv == 'd' || p->conv == 'i';

	n = truncate_to(n.v, xvt_piece_size(p), is_signed);
	if (xvt_likely(is_signed && !p->flags && width <= 0 && precision < 0))
		xvt_out_i64(r->o, (int64_t)n.v);
	else if (p->conv == 'u' && !p->flags && width <= 0 && precision < 0)
		xvt_out_u64(r->o, n.v);
	else if (p->conv == 'x' && !p->flags && width <= 0 && precision < 0)
		xvt_out_hex(r->o, n.v, 1);
	else
		put_formatted(r->o, p, n, width, precision);
}

static unsigned int hex_digits(uint64_t v)
{
	return v ? (67u - (unsigned int)__builtin_clzll(v)) / 4 : 1;
}

static void put_address(struct xvt_out *o, uint64_t v)
{
	xvt_out_bytes(o, "0x", 2);
	xvt_out_hex(o, v, 1);
}

/* The next of the names of v, from *i on; takes its bits from *v. NULL: no more. */
static const char *next_name(const struct xvt_node *n, uint32_t *i, uint64_t *v)
{
	const uint64_t left = *v;

	while (*i < n->symbol_count) {
		const struct xvt_symbol *s = &n->symbols[(*i)++];

		if (n->op == XVT_NODE_SYMBOL ? s->value == left
					     : left && (left & s->value) == s->value) {
			*v &= ~s->value;
			return s->text;
		}
	}
	return NULL;
}

/* Write the names of v into r->o; without it, only count their bytes. */
static size_t names_of(const struct run *r, const struct xvt_node *n, uint64_t v, bool write)
{
	const char *name;
	size_t len = 0;
	bool any = false;

	for (uint32_t i = 0; !r->o->cut && (name = next_name(n, &i, &v)); any = true) {
		const char *parts[] = { any ? n->text : "", name };

		for (int k = 0; k < 2; k++) {
			len += known_len(parts[k]);
			if (write)
				xvt_out_text(r->o, parts[k], known_len(parts[k]));
		}
		if (n->op == XVT_NODE_SYMBOL)
			return len;
	}
	if (!v && n->op != XVT_NODE_SYMBOL)
		return len;
	if (any && write)
		xvt_out_text(r->o, n->text, known_len(n->text));
	if (write)
		put_address(r->o, v);
	return len + (any ? known_len(n->text) : 0) + 2 + hex_digits(v);
}

static void put_names(const struct run *r, const struct xvt_node *n,
		      const struct xvt_print_piece *p, int width)
{
	const uint64_t v = eval(r, n->a).v;
	const size_t len = width > 0 ? names_of(r, n, v, false) : 0;
	const int fill = width > 0 && (size_t)width > len ? width - (int)len : 0;

	if (!(p->flags & XVT_PIECE_F_LEFT))
		put_spaces(r->o, fill);
	names_of(r, n, v, true);
	if (p->flags & XVT_PIECE_F_LEFT)
		put_spaces(r->o, fill);
}

static void put_hex(const struct run *r, const struct xvt_node *n)
{
	const uint8_t *data;
	uint64_t len = field_bytes(r, n->field, &data);
	uint64_t want = eval(r, n->b).v;

	if (want < len)
		len = want;
	for (uint64_t i = 0; i < len && !r->o->cut; i++) {
		if (i && n->op == XVT_NODE_HEX)
			xvt_out_char(r->o, ' ');
		xvt_out_hex(r->o, data[i], 2);
	}
}

static void put_int_array(const struct run *r, const struct xvt_node *n)
{
	const uint8_t *data;
	uint64_t bytes = field_bytes(r, n->field, &data);
	uint64_t count = n->b ? eval(r, n->b).v : UINT64_MAX, size = eval(r, n->c).v;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		size = 1;
	if (count > bytes / size)
		count = bytes / size;
	xvt_out_char(r->o, '{');
	for (uint64_t i = 0; i < count && !r->o->cut; i++) {
		uint64_t v = 0;

		memcpy(&v, data + i * size, size);
		if (i)
			xvt_out_char(r->o, ',');
		put_address(r->o, v);
	}
	xvt_out_char(r->o, '}');
}

static void put_bits(const struct run *r, const struct xvt_field *f, uint64_t bits, bool as_list)
{
	const uint8_t *data;
	uint32_t len = field_bytes(r, f, &data);

	if (bits > 8 * (uint64_t)len)
		bits = 8 * (uint64_t)len;
	if (!as_list) {
		xvt_put_mask(r->o, data, (uint32_t)bits);
		return;
	}
	xvt_put_mask_list(r->o, data,
			  bits < 8 * XVT_LIMIT_CPUMASK_BYTES ? (uint32_t)bits
							     : 8 * XVT_LIMIT_CPUMASK_BYTES);
	if (bits > 8 * XVT_LIMIT_CPUMASK_BYTES)
		xvt_out_str(r->o, "...[cut]");
}

/* What cannot be followed: its fields, so that nothing of the record is hidden. */
static void put_refused(const struct run *r, const struct xvt_node *n)
{
	xvt_out_char(r->o, '?');
	for (uint32_t i = 0; i < n->seen_count && !r->o->cut; i++) {
		xvt_out_char(r->o, i ? ' ' : '{');
		xvt_out_text(r->o, n->seen[i]->name, strlen(n->seen[i]->name));
		xvt_out_char(r->o, '=');
		xvt_field_put(r->o, n->seen[i], r->ev);
	}
	if (n->seen_count)
		xvt_out_char(r->o, '}');
}

static void put_ksym(const struct run *r, uint64_t addr, unsigned int parts)
{
	const char *name, *module;
	uint64_t base;

	name = xvt_ksym(r->d, r->ev->chunk_seq, addr, &base, &module);

	if (!name) {
		put_address(r->o, addr);
		return;
	}
	xvt_out_text(r->o, name, strlen(name));
	if (parts & XVT_SYMBOL_OFFSET) {
		xvt_out_char(r->o, '+');
		put_address(r->o, addr - base);
	}
	if (parts & XVT_SYMBOL_MODULE && module) {
		xvt_out_bytes(r->o, " [", 2);
		xvt_out_text(r->o, module, strlen(module));
		xvt_out_char(r->o, ']');
	}
}

/* Callers in one line; zero ends them. */
static void put_stack(const struct run *r, const struct xvt_field *f)
{
	const uint8_t *data;
	uint32_t count = field_bytes(r, f, &data) / 8;

	for (uint32_t i = 0; i < count && !r->o->cut; i++) {
		uint64_t addr = xvt_number(data + 8u * i, 8, false);

		if (!addr)
			break;
		xvt_out_str(r->o, i ? " <- " : "");
		put_ksym(r, addr, XVT_SYMBOL_OFFSET | XVT_SYMBOL_MODULE);
	}
}

static void put_string(const struct run *r, const struct xvt_node *n,
		       const struct xvt_print_piece *p, int width, int precision)
{
	struct xvt_value v;
	const char *text;

	switch (n->op) {
	case XVT_NODE_NUMBER:
		if (n->text)
			put_text(r, p, n->text, known_len(n->text), width, precision);
		else
			xvt_out_i64(r->o, (int64_t)n->value);
		return;
	case XVT_NODE_CAST:
		put_string(r, n->a, p, width, precision);
		return;
	case XVT_NODE_FLAGS:
	case XVT_NODE_SYMBOL:
		put_names(r, n, p, width);
		return;
	case XVT_NODE_HEX:
	case XVT_NODE_HEX_STR:
		put_hex(r, n);
		return;
	case XVT_NODE_INT_ARRAY:
		put_int_array(r, n);
		return;
	case XVT_NODE_BITMASK:
	case XVT_NODE_CPUMASK:
		put_bits(r, n->field, UINT64_MAX, n->op == XVT_NODE_CPUMASK);
		return;
	case XVT_NODE_STACK:
		put_stack(r, n->field);
		return;
	case XVT_NODE_REFUSED:
		put_refused(r, n);
		return;
	case XVT_NODE_COND:
		put_string(r, eval(r, n->a).v ? n->b : n->c, p, width, precision);
		return;
	case XVT_NODE_FIELD:
		text = xvt_field_thread(r->d, n->field, r->ev);
		if (text) {
			put_text(r, p, text, strlen(text), width, precision);
			return;
		}
		xvt_field_get(n->field, r->ev, &v);
		if (n->field->kind == XVT_FIELD_STRING) {
			put_text(r, p, v.data, v.count, width, precision);
		} else if (!is_number(n->field)) {
			const uint8_t *data;
			uint32_t len = field_bytes(r, n->field, &data);

			put_text(r, p, data, strnlen((const char *)data, len), width, precision);
		} else {
			/* A pointer: only texts from printk_formats are known. */
			text = xvt_printk_text(r->d, r->ev->chunk_seq, v.u);
			if (text)
				put_text(r, p, text, strlen(text), width, precision);
			else
				put_address(r->o, v.u);
		}
		return;
	default:
		xvt_out_i64(r->o, (int64_t)eval(r, n).v);
	}
}

/* A text of memory in the record; see in_record() of print_compile.c. */
static void put_memory(const struct run *r, const struct xvt_print_piece *p, int64_t width)
{
	const struct xvt_node *n = p->node;
	const bool counts = p->pointer[0] == 'h' || p->pointer[0] == 'b';
	char text[XVT_POINTER_TEXT];
	const uint8_t *bytes;
	uint32_t len;

	while (n->op == XVT_NODE_CAST)
		n = n->a;
	if (p->pointer[0] == 'b') {
		put_bits(r, n->field, width > 0 ? (uint64_t)width : 0, p->pointer[1] == 'l');
		return;
	}
	len = field_bytes(r, n->field, &bytes);
	if (xvt_pointer_text(text, p->pointer, bytes, len, cut_width(width)))
		put_text(r, p, text, strlen(text), counts ? -1 : cut_width(width), -1);
	else
		put_refused(r, &(struct xvt_node){ .seen = (const struct xvt_field *[]){ n->field },
						   .seen_count = 1 });
}

static unsigned int symbol_parts(const struct xvt_print_piece *p)
{
	return p->pointer_kind == XVT_POINTER_SYMBOL ? XVT_SYMBOL_OFFSET | XVT_SYMBOL_MODULE
	       : p->pointer_kind == XVT_POINTER_NAME ? XVT_SYMBOL_MODULE
						     : 0;
}

static void put_pointer(const struct run *r, const struct xvt_print_piece *p, int64_t width)
{
	uint64_t v;

	if (p->pointer_kind == XVT_POINTER_MEMORY) {
		put_memory(r, p, width);
		return;
	}
	v = eval(r, p->node).v;
	if (xvt_piece_is_function(p))
		put_ksym(r, v, symbol_parts(p));
	else if (p->pointer_kind == XVT_POINTER_ERROR && v >= -(uint64_t)ERRNO_MOST)
		xvt_out_i64(r->o, (int64_t)v);
	else
		put_address(r->o, v);
}

/* The kernel fetched no text where the place has no bytes, not even the zero at a text's end. */
static void put_quoted(const struct run *r, const struct xvt_print_piece *p)
{
	const struct xvt_field *f = p->node->op == XVT_NODE_FIELD ? p->node->field : NULL;
	const uint8_t *data;

	if (f && f->kind == XVT_FIELD_STRING && !field_bytes(r, f, &data)) {
		xvt_out_str(r->o, "(fault)");
		return;
	}
	xvt_out_char(r->o, '"');
	put_string(r, p->node, p, -1, -1);
	xvt_out_char(r->o, '"');
}

static int64_t star(const struct run *r, const struct xvt_node *n, int fixed)
{
	return n ? (int64_t)eval(r, n).v : fixed;
}

void xvt_print_run(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_print *print,
		   const struct xvt_event *ev)
{
	struct run r = { o, d, ev };

	for (uint32_t i = 0; i < print->piece_count && !o->cut; i++) {
		const struct xvt_print_piece *p = &print->pieces[i];
		int64_t full_width;
		int width, precision;
		uint8_t c;

		if (!p->conv) {
			if (p->plain)
				xvt_out_bytes(o, p->text, p->text_len);
			else
				xvt_out_text(o, p->text, p->text_len);
			continue;
		}
		if (p->by_format && !xvt_has_ksyms(d))
			p = p->by_format;
		full_width = star(&r, p->width_node, p->width);
		width = cut_width(full_width);
		precision = cut_width(star(&r, p->precision_node, p->precision));
		switch (p->conv) {
		case 's':
			if (p->quoted)
				put_quoted(&r, p);
			else
				put_string(&r, p->node, p, width, precision);
			break;
		case 'p':
			put_pointer(&r, p, full_width);
			break;
		case 'c':
			c = (uint8_t)eval(&r, p->node).v;
			put_text(&r, p, &c, 1, width, -1);
			break;
		default:
			put_number(&r, p, eval(&r, p->node), width, precision);
		}
	}
}

/* A width or precision: digits or "*". */
static const char *parse_count(const char *p, int16_t *count)
{
	int v = 0;

	if (*p == '*') {
		*count = XVT_PIECE_STAR;
		return p + 1;
	}
	for (; *p >= '0' && *p <= '9'; p++)
		if (v <= XVT_PIECE_BITS_MAX)
			v = v * 10 + (*p - '0');
	*count = (int16_t)(v > XVT_PIECE_BITS_MAX ? XVT_PIECE_BITS_MAX : v);
	return p;
}

const char *xvt_piece_parse(const char *p, struct xvt_print_piece *piece)
{
	static const char flag_chars[] = "-0#+ ";
	const char *at;

	piece->width = piece->precision = -1;
	for (; *p && (at = strchr(flag_chars, *p)); p++)
		piece->flags |= (uint8_t)(1u << (at - flag_chars));
	if (*p == '*' || (*p >= '0' && *p <= '9'))
		p = parse_count(p, &piece->width);
	if (*p == '.')
		p = parse_count(p + 1, &piece->precision);
	for (; *p && strchr("hlLzZqjt", *p); p++)
		piece->length = (int8_t)(*p != 'h'	      ? 2
					 : piece->length > -2 ? piece->length - 1
							      : -2);
	if (!*p || !strchr("diuxXocsp", *p))
		return NULL;
	piece->conv = *p++;
	return p;
}

void xvt_piece_number(struct xvt_out *o, const struct xvt_print_piece *p, uint64_t v)
{
	struct run r = { .o = o };

	put_number(&r, p, (struct number){ v, true }, cut_width(p->width), cut_width(p->precision));
}

void xvt_piece_text(struct xvt_out *o, const struct xvt_print_piece *p, const void *text,
		    size_t len)
{
	struct run r = { .o = o };

	put_text(&r, p, text, len, cut_width(p->width), cut_width(p->precision));
}

void xvt_print_symbol(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
		      uint64_t addr, unsigned int parts)
{
	struct run r = { o, d, ev };

	put_ksym(&r, addr, parts);
}
