// SPDX-License-Identifier: GPL-2.0
/*
 * print.c - run a compiled print fmt on one record. All reads go through xvt_field_get()
 * and xvt_field_extent(), so none leaves the record; see print.h for the other guarantees.
 */
#include "decode/print.h"

#include <string.h>

#include "decode/limits.h"

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

/* Write a text with width and precision. */
static void put_text(const struct run *r, const struct xvt_print_piece *p, const void *text,
		     size_t len, int width, int precision)
{
	size_t fill;

	if (precision >= 0 && len > (size_t)precision)
		len = (size_t)precision;
	fill = width > 0 && (size_t)width > len ? (size_t)width - len : 0;
	if (!(p->flags & XVT_PIECE_F_LEFT))
		for (; fill; fill--)
			xvt_out_char(r->o, ' ');
	xvt_out_text(r->o, text, len);
	for (; fill; fill--)
		xvt_out_char(r->o, ' ');
}

/* A number by printf's %d, %i, %u, %x, %X or %o, with all flags. */
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
	for (; v; v /= base)
		out->text[--out->from] = names[v % base];
	len = (unsigned int)sizeof(out->text) - out->from;
	/* The number 0 has one digit without a precision, and may have none with one. */
	if (precision < 0)
		precision = 1;
	out->zeros = (unsigned int)precision > len ? (unsigned int)precision - len : 0;
	if (base == 8 && p->flags & XVT_PIECE_F_ALT && !out->zeros)
		out->zeros = 1;
	out->sign = "";
	if (negative)
		out->sign = "-";
	else if (is_signed && p->flags & XVT_PIECE_F_PLUS)
		out->sign = "+";
	else if (is_signed && p->flags & XVT_PIECE_F_SPACE)
		out->sign = " ";
	else if (base == 16 && p->flags & XVT_PIECE_F_ALT && n.v)
		out->sign = p->conv == 'X' ? "0X" : "0x";
}

static void put_formatted(struct xvt_out *o, const struct xvt_print_piece *p, struct number n,
			  int width, int precision)
{
	struct digits d;
	unsigned int len, fill;

	make_digits(&d, p, n, precision);
	len = (unsigned int)(strlen(d.sign) + d.zeros + sizeof(d.text) - d.from);
	fill = width > 0 && (unsigned int)width > len ? (unsigned int)width - len : 0;
	/* As in printf, a precision or left alignment overrides the zero flag. */
	if (p->flags & XVT_PIECE_F_ZERO && !(p->flags & XVT_PIECE_F_LEFT) && precision < 0) {
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

static void put_address(struct xvt_out *o, uint64_t v)
{
	xvt_out_bytes(o, "0x", 2);
	xvt_out_hex(o, v, 1);
}

static void put_names(const struct run *r, const struct xvt_node *n,
		      const struct xvt_print_piece *p, int width, int precision)
{
	uint64_t v = eval(r, n->a).v;
	bool any = false;

	for (uint32_t i = 0; i < n->symbol_count && !r->o->cut; i++) {
		const struct xvt_symbol *s = &n->symbols[i];
		bool hit = n->op == XVT_NODE_SYMBOL
				   ? s->value == v
				   : s->value == v || (s->value && s->value != UINT64_MAX &&
						       (v & s->value) == s->value);

		if (!hit)
			continue;
		if (any)
			xvt_out_text(r->o, n->text, known_len(n->text));
		put_text(r, p, s->text, known_len(s->text), any ? 0 : width, precision);
		any = true;
		v &= ~s->value;
		if (n->op == XVT_NODE_SYMBOL || !v)
			return;
	}
	if (v || n->op == XVT_NODE_SYMBOL) {
		if (any)
			xvt_out_text(r->o, n->text, known_len(n->text));
		put_address(r->o, v);
	}
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
	uint64_t count = eval(r, n->b).v, size = eval(r, n->c).v;

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

/* As in the kernel: hexadecimal words of 32 bits, the highest first. */
static void put_bitmask(const struct run *r, const struct xvt_node *n)
{
	const uint8_t *data;
	uint32_t len = field_bytes(r, n->field, &data);

	for (uint32_t i = len; i-- > 0 && !r->o->cut;) {
		xvt_out_hex(r->o, data[i], 2);
		if (i && i % 4 == 0)
			xvt_out_char(r->o, ',');
	}
}

/* As in the kernel: a list of ranges. */
static void put_cpumask(const struct run *r, const struct xvt_node *n)
{
	const uint8_t *data;
	uint32_t len = field_bytes(r, n->field, &data), bits, from;
	bool any = false;

	bits = 8 * (len < XVT_LIMIT_CPUMASK_BYTES ? len : XVT_LIMIT_CPUMASK_BYTES);
	for (uint32_t i = 0; i < bits && !r->o->cut; i++) {
		if (!(data[i / 8] >> i % 8 & 1))
			continue;
		for (from = i; i + 1 < bits && data[(i + 1) / 8] >> (i + 1) % 8 & 1;)
			i++;
		if (any)
			xvt_out_char(r->o, ',');
		xvt_out_u64(r->o, from);
		if (i > from) {
			xvt_out_char(r->o, '-');
			xvt_out_u64(r->o, i);
		}
		any = true;
	}
	if (len > XVT_LIMIT_CPUMASK_BYTES)
		xvt_out_str(r->o, "...[cut]");
}

static void put_ksym(const struct run *r, uint64_t addr, bool with_offset)
{
	uint64_t base;
	const char *name = xvt_ksym(r->d, r->ev->chunk_seq, addr, &base);

	if (!name) {
		put_address(r->o, addr);
		return;
	}
	xvt_out_text(r->o, name, strlen(name));
	if (with_offset) {
		xvt_out_char(r->o, '+');
		put_address(r->o, addr - base);
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
		put_names(r, n, p, width, precision);
		return;
	case XVT_NODE_HEX:
	case XVT_NODE_HEX_STR:
		put_hex(r, n);
		return;
	case XVT_NODE_INT_ARRAY:
		put_int_array(r, n);
		return;
	case XVT_NODE_BITMASK:
		put_bitmask(r, n);
		return;
	case XVT_NODE_CPUMASK:
		put_cpumask(r, n);
		return;
	case XVT_NODE_COND:
		put_string(r, eval(r, n->a).v ? n->b : n->c, p, width, precision);
		return;
	case XVT_NODE_FIELD:
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

/* An address whose bytes lie in the record: %pM, %pI4, %pI6, %pU, %ph. */
static void put_bytes_of(const struct run *r, const struct xvt_field *f, const char *how)
{
	const uint8_t *b;
	uint32_t len = field_bytes(r, f, &b);
	char kind = how[0];

	if ((kind == 'I' || kind == 'i') && how[1] == '4' && len == 4) {
		xvt_out_printf(r->o, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
		return;
	}
	for (uint32_t i = 0; i < len && i < 64; i++) {
		bool colon = i && ((kind == 'M' && len == 6) ||
				   (kind == 'I' && len == 16 && i % 2 == 0));
		bool dash = kind == 'U' && (i == 4 || i == 6 || i == 8 || i == 10);

		if (colon || dash)
			xvt_out_char(r->o, dash ? '-' : ':');
		else if (kind == 'h' && i)
			xvt_out_char(r->o, how[1] == 'C' ? ':' : how[1] == 'D' ? '-' : ' ');
		xvt_out_hex(r->o, b[i], 2);
	}
}

static void put_pointer(const struct run *r, const struct xvt_print_piece *p)
{
	const struct xvt_node *n = p->node;

	if (p->pointer[0] && strchr("MmIiUh", p->pointer[0])) {
		while (n->op == XVT_NODE_CAST)
			n = n->a;
		if (n->op == XVT_NODE_FIELD) {
			put_bytes_of(r, n->field, p->pointer);
			return;
		}
	}
	if (xvt_piece_is_function(p))
		put_ksym(r, eval(r, p->node).v, p->pointer[0] == 'S' || p->pointer[0] == 'F');
	else
		put_address(r->o, eval(r, p->node).v);
}

static int star(const struct run *r, const struct xvt_node *n, int fixed)
{
	int64_t v;

	if (!n)
		return fixed;
	v = (int64_t)eval(r, n).v;
	return v < 0 ? -1 : v > 255 ? 255 : (int)v;
}

void xvt_print_run(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_print *print,
		   const struct xvt_event *ev)
{
	struct run r = { o, d, ev };

	for (uint32_t i = 0; i < print->piece_count && !o->cut; i++) {
		const struct xvt_print_piece *p = &print->pieces[i];
		int width, precision;
		uint8_t c;

		if (!p->conv) {
			if (p->plain)
				xvt_out_bytes(o, p->text, p->text_len);
			else
				xvt_out_text(o, p->text, p->text_len);
			continue;
		}
		width = star(&r, p->width_node, p->width);
		precision = star(&r, p->precision_node, p->precision);
		switch (p->conv) {
		case 's':
			put_string(&r, p->node, p, width, precision);
			break;
		case 'p':
			put_pointer(&r, p);
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
		if (v <= XVT_PIECE_WIDTH_MAX)
			v = v * 10 + (*p - '0');
	*count = (int16_t)(v > XVT_PIECE_WIDTH_MAX ? XVT_PIECE_WIDTH_MAX : v);
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

	put_number(&r, p, (struct number){ v, true }, p->width, p->precision);
}

void xvt_piece_text(struct xvt_out *o, const struct xvt_print_piece *p, const void *text,
		    size_t len)
{
	struct run r = { .o = o };

	put_text(&r, p, text, len, p->width, p->precision);
}

void xvt_print_symbol(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
		      uint64_t addr, bool with_offset)
{
	struct run r = { o, d, ev };

	put_ksym(&r, addr, with_offset);
}
