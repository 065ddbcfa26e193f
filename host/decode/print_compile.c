// SPDX-License-Identifier: GPL-2.0
/*
 * print_compile.c - compile the text of a "print fmt" into a program for print.c. The text is C
 * after the kernel's macros: a string and expressions. The text comes from a guest, so recursion is
 * bounded, and names are looked up in the class only. An argument with anything unsupported is
 * refused alone: its fields are shown in its place.
 */
#include "decode/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/limits.h"

#define DEPTH_MAX   100u
#define SEEN_MAX    8u /* fields that are shown of an argument that cannot be followed */

#define ARENA_BLOCK 4096u

struct arena {
	struct arena *next;
	size_t used;
	size_t room;
	max_align_t bytes[];
};

void *xvt_class_alloc(struct xvt_event_class *c, size_t size)
{
	struct arena *a = c->arena;

	size = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	if (!a || size > a->room - a->used) {
		size_t room = size > ARENA_BLOCK ? size : ARENA_BLOCK;

		a = calloc(1, sizeof(*a) + room);
		if (!a)
			return NULL;
		a->room = room;
		a->next = c->arena;
		c->arena = a;
		c->arena_bytes += sizeof(*a) + room;
	}
	a->used += size;
	return (char *)a->bytes + a->used - size;
}

void xvt_class_free(struct xvt_event_class *c)
{
	struct arena *a = c->arena;

	while (a) {
		struct arena *next = a->next;

		free(a);
		a = next;
	}
	memset(c, 0, sizeof(*c));
}

struct parser {
	struct xvt_event_class *c;
	const char *p;
	unsigned int depth;
	unsigned int nodes;
	bool in_names; /* in a value of a list of names, which may be an unknown constant */
	int err;
};

static struct xvt_node *parse_expr(struct parser *k);

/* These two return NULL, so that `return refuse(k);` ends a function. */
static void *refuse(struct parser *k)
{
	if (!k->err)
		k->err = -EOPNOTSUPP;
	return NULL;
}

static void *no_memory(struct parser *k)
{
	k->err = -ENOMEM;
	return NULL;
}

static struct xvt_node *new_node(struct parser *k, enum xvt_node_op op, struct xvt_node *a,
				 struct xvt_node *b, struct xvt_node *c)
{
	struct xvt_node *n;
	unsigned int depth = 0;

	if (k->err || ++k->nodes > XVT_LIMIT_NODES)
		return refuse(k);
	if (a && a->depth > depth)
		depth = a->depth;
	if (b && b->depth > depth)
		depth = b->depth;
	if (c && c->depth > depth)
		depth = c->depth;
	if (depth >= DEPTH_MAX)
		return refuse(k);
	n = xvt_class_alloc(k->c, sizeof(*n));
	if (!n)
		return no_memory(k);
	n->op = (uint8_t)op;
	n->depth = (uint8_t)(depth + 1);
	n->a = a;
	n->b = b;
	n->c = c;
	return n;
}

/* -- tokens ------------------------------------------------------------------------- */

static void skip_space(struct parser *k)
{
	while (*k->p == ' ' || *k->p == '\t' || *k->p == '\n') /* old kernels keep line breaks */
		k->p++;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Consume `text` if it comes next. */
static bool take(struct parser *k, const char *text)
{
	size_t len = strlen(text);

	skip_space(k);
	if (strncmp(k->p, text, len) != 0)
		return false;
	k->p += len;
	return true;
}

static bool need(struct parser *k, const char *text)
{
	if (!k->err && take(k, text))
		return true;
	refuse(k);
	return false;
}

static bool peek_word(struct parser *k, char *word, size_t size)
{
	size_t n = 0;

	skip_space(k);
	if (!is_word(*k->p) || is_digit(*k->p))
		return false;
	while (is_word(k->p[n]) && n < size - 1)
		n++;
	memcpy(word, k->p, n);
	word[n] = '\0';
	return !is_word(k->p[n]);
}

static bool take_word(struct parser *k, char *word, size_t size)
{
	if (!peek_word(k, word, size))
		return false;
	k->p += strlen(word);
	return true;
}

static char escaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == '0' ? '\0' : c;
}

/* The end of the literal at p, which begins with a quote; NULL: it has no closing quote. */
static const char *skip_literal(const char *p)
{
	/* A newline inside is allowed: some formats of ext4 have it. */
	for (p++; *p && *p != '"'; p++)
		p += *p == '\\' && p[1];
	return *p ? p + 1 : NULL;
}

/* Parse one or more literals in a row and join them. Escapes stay; see parse_text(). */
static char *take_string(struct parser *k)
{
	struct parser ahead = *k;
	size_t len = 0, used = 0;
	char *text;

	skip_space(&ahead);
	if (*ahead.p != '"')
		return refuse(k);
	for (; *ahead.p == '"'; skip_space(&ahead)) {
		const char *end = skip_literal(ahead.p);

		if (!end)
			return refuse(k);
		len += (size_t)(end - ahead.p) - 2;
		ahead.p = end;
	}
	text = xvt_class_alloc(k->c, len + 1);
	if (!text)
		return no_memory(k);
	for (skip_space(k); *k->p == '"'; skip_space(k)) {
		const char *end = skip_literal(k->p);

		memcpy(text + used, k->p + 1, (size_t)(end - k->p) - 2);
		used += (size_t)(end - k->p) - 2;
		k->p = end;
	}
	return text;
}

static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++)
		*to++ = *p == '\\' && p[1] ? escaped(*++p) : *p;
	*to = '\0';
}

/* -- fields ------------------------------------------------------------------------- */

static const struct xvt_field *find_field(struct parser *k, const char *name)
{
	static const struct xvt_field common[] = {
		{ .name = "common_type", .kind = XVT_FIELD_UINT, .offset = 0, .size = 2 },
		{ .name = "common_flags", .kind = XVT_FIELD_UINT, .offset = 2, .size = 1 },
		{ .name = "common_preempt_count", .kind = XVT_FIELD_UINT, .offset = 3, .size = 1 },
		{ .name = "common_pid", .kind = XVT_FIELD_INT, .offset = 4, .size = 4 },
	};

	for (uint32_t i = 0; i < k->c->field_count; i++)
		if (strcmp(k->c->fields[i].name, name) == 0)
			return &k->c->fields[i];
	for (size_t i = 0; k->c->ftrace && i < sizeof(common) / sizeof(common[0]); i++)
		if (strcmp(common[i].name, name) == 0)
			return &common[i];
	return refuse(k);
}

static struct xvt_node *field_node(struct parser *k, enum xvt_node_op op, const char *name)
{
	struct xvt_node *n = new_node(k, op, NULL, NULL, NULL);

	if (!n)
		return NULL;
	n->field = find_field(k, name);
	return n->field ? n : NULL;
}

/* The field under any casts, or NULL. */
static const struct xvt_field *base_field(struct parser *k, const struct xvt_node *n)
{
	while (n && n->op == XVT_NODE_CAST)
		n = n->a;
	return n && n->op == XVT_NODE_FIELD ? n->field : refuse(k);
}

static struct xvt_node *number_node(struct parser *k, uint64_t value)
{
	struct xvt_node *n = new_node(k, XVT_NODE_NUMBER, NULL, NULL, NULL);

	if (n) {
		n->value = value;
		n->text = "";
	}
	return n;
}

/* -- the kernel's macros ------------------------------------------------------------ */

/* Parse any number of ", { VALUE, "NAME" }", then the closing parenthesis. */
static struct xvt_node *parse_names(struct parser *k, struct xvt_node *n)
{
	uint32_t room = 0;

	while (!k->err && take(k, ",")) {
		struct xvt_node *value;
		struct xvt_symbol *s;

		need(k, "{");
		if (take(k, "}")) /* an empty list */
			continue;
		k->in_names = true;
		value = parse_expr(k);
		k->in_names = false;
		need(k, ",");
		if (n->symbol_count == room) {
			uint32_t more = room ? room * 2 : 16;
			struct xvt_symbol *grown = xvt_class_alloc(k->c, more * sizeof(*grown));

			if (!grown)
				return no_memory(k);
			if (room)
				memcpy(grown, n->symbols, room * sizeof(*grown));
			n->symbols = grown;
			room = more;
		}
		s = &n->symbols[n->symbol_count];
		skip_space(k);
		if (*k->p != '"') { /* the end of a list in old kernels: { -1, NULL } */
			if (!parse_expr(k) || !need(k, "}"))
				return refuse(k);
			continue;
		}
		s->text = take_string(k);
		if (!value || !s->text || !need(k, "}"))
			return refuse(k);
		unescape((char *)s->text);
		n->symbol_count += xvt_node_constant(value, &s->value);
	}
	return need(k, ")") ? n : NULL;
}

static struct xvt_node *parse_flags(struct parser *k, bool symbols)
{
	struct xvt_node *n, *value = parse_expr(k);

	n = new_node(k, symbols ? XVT_NODE_SYMBOL : XVT_NODE_FLAGS, value, NULL, NULL);
	if (!n || !value)
		return refuse(k);
	n->text = "";
	if (!symbols) {
		need(k, ",");
		n->text = take_string(k);
		if (!n->text)
			return NULL;
		unescape((char *)n->text);
	}
	return parse_names(k, n);
}

/* (FIELD, A) or (FIELD, A, B) */
static struct xvt_node *parse_bytes(struct parser *k, enum xvt_node_op op)
{
	struct xvt_node *n, *base = parse_expr(k), *count, *size = NULL;
	const struct xvt_field *field = base_field(k, base);

	need(k, ",");
	count = parse_expr(k);
	if (op == XVT_NODE_INT_ARRAY) {
		need(k, ",");
		size = parse_expr(k);
	} else if (op == XVT_NODE_HEX && take(k, ",")) {
		parse_expr(k); /* "concatenate", in newer kernels */
	}
	n = new_node(k, op, NULL, count, size);
	if (!n || !field || !count || (op == XVT_NODE_INT_ARRAY && !size))
		return refuse(k);
	n->field = field;
	return need(k, ")") ? n : NULL;
}

/* A dynamic field's name; "NAME[N]" is a text of a probe's list. */
static bool take_dynamic(struct parser *k, char *name, size_t size)
{
	size_t len, digits;

	if (!take_word(k, name, size - 8))
		return false;
	len = strlen(name);
	digits = *k->p == '[' ? strspn(k->p + 1, "0123456789") : 0;
	if (!digits || digits > 4 || k->p[digits + 1] != ']')
		return true;
	memcpy(name + len, k->p, digits + 2);
	name[len + digits + 2] = '\0';
	k->p += digits + 2;
	return true;
}

/* (NAME) of a dynamic field */
static struct xvt_node *parse_dynamic(struct parser *k, enum xvt_node_op op)
{
	char name[XVT_LIMIT_NAME_BYTES + 8];
	struct xvt_node *n;

	if (!take_dynamic(k, name, sizeof(name)))
		return refuse(k);
	n = field_node(k, op, name);
	k->c->names |= op == XVT_NODE_STACK;
	return need(k, ")") ? n : NULL;
}

/* (NAME, BYTES OF AN ELEMENT): all elements of a dynamic field */
static struct xvt_node *parse_dynamic_array(struct parser *k)
{
	char name[XVT_LIMIT_NAME_BYTES + 8];
	struct xvt_node *n;

	if (!take_dynamic(k, name, sizeof(name)) || !need(k, ","))
		return refuse(k);
	n = field_node(k, XVT_NODE_INT_ARRAY, name);
	if (n)
		n->c = parse_expr(k);
	if (!n || !n->c)
		return refuse(k);
	n->depth = (uint8_t)(n->c->depth + 1);
	return need(k, ")") ? n : NULL;
}

/* (NANOSECONDS): whole seconds, or what is left of them */
static struct xvt_node *parse_seconds(struct parser *k, enum xvt_node_arith arith)
{
	struct xvt_node *ns = parse_expr(k), *n;
	struct xvt_node *second = number_node(k, 1000000000);

	if (second)
		second->is_unsigned = true;
	n = new_node(k, XVT_NODE_BINARY, ns, second, NULL);
	if (!n || !ns)
		return refuse(k);
	n->arith = (uint8_t)arith;
	return need(k, ")") ? n : NULL;
}

static struct xvt_node *parse_expected(struct parser *k)
{
	struct xvt_node *n = parse_expr(k);

	need(k, ",");
	parse_expr(k);
	return need(k, ")") ? n : NULL;
}

/* Macros and functions that take expressions. */
static struct xvt_node *parse_other_call(struct parser *k, const char *name)
{
	if (strcmp(name, "__print_flags") == 0 || strcmp(name, "__print_flags_u64") == 0)
		return parse_flags(k, false);
	if (strcmp(name, "__print_symbolic") == 0 || strcmp(name, "__print_symbolic_u64") == 0)
		return parse_flags(k, true);
	if (strcmp(name, "__print_hex") == 0)
		return parse_bytes(k, XVT_NODE_HEX);
	if (strcmp(name, "__print_hex_str") == 0)
		return parse_bytes(k, XVT_NODE_HEX_STR);
	if (strcmp(name, "__print_array") == 0)
		return parse_bytes(k, XVT_NODE_INT_ARRAY);
	if (strcmp(name, "__print_dynamic_array") == 0)
		return parse_dynamic_array(k);
	if (strcmp(name, "__print_ns_to_secs") == 0)
		return parse_seconds(k, XVT_ARITH_DIV);
	if (strcmp(name, "__print_ns_without_secs") == 0)
		return parse_seconds(k, XVT_ARITH_MOD);
	if (strcmp(name, "__builtin_expect") == 0)
		return parse_expected(k);
	return refuse(k);
}

static struct xvt_node *parse_call(struct parser *k, const char *name)
{
	static const struct {
		const char *name;
		enum xvt_node_op op;
	} dynamic[] = {
		{ "__get_str", XVT_NODE_FIELD },
		{ "__get_rel_str", XVT_NODE_FIELD },
		{ "__get_dynamic_array", XVT_NODE_FIELD },
		{ "__get_rel_dynamic_array", XVT_NODE_FIELD },
		{ "__get_sockaddr", XVT_NODE_FIELD },
		{ "__get_rel_sockaddr", XVT_NODE_FIELD },
		{ "__get_dynamic_array_len", XVT_NODE_DYN_LEN },
		{ "__get_rel_dynamic_array_len", XVT_NODE_DYN_LEN },
		{ "__get_bitmask", XVT_NODE_BITMASK },
		{ "__get_rel_bitmask", XVT_NODE_BITMASK },
		{ "__get_cpumask", XVT_NODE_CPUMASK },
		{ "__get_rel_cpumask", XVT_NODE_CPUMASK },
		{ "__get_stacktrace", XVT_NODE_STACK },
		{ "__get_rel_stacktrace", XVT_NODE_STACK },
	};

	for (size_t i = 0; i < sizeof(dynamic) / sizeof(dynamic[0]); i++)
		if (strcmp(dynamic[i].name, name) == 0)
			return parse_dynamic(k, dynamic[i].op);
	return parse_other_call(k, name);
}

/* -- expressions -------------------------------------------------------------------- */

static struct xvt_node *parse_number(struct parser *k)
{
	char *end;
	uint64_t v = strtoull(k->p, &end, 0);

	k->p = end;
	while (*k->p && strchr("uUlL", *k->p))
		k->p++;
	return number_node(k, v);
}

static struct xvt_node *parse_char(struct parser *k)
{
	char c = k->p[1];

	k->p += 2;
	if (c == '\\')
		c = escaped(*k->p++);
	if (!c || !need(k, "'"))
		return refuse(k);
	return number_node(k, (uint8_t)c);
}

static bool word_is_type(const char *w)
{
	static const char *const types[] = {
		"unsigned", "signed", "long",	"int",	 "short",  "char",   "void",   "const",
		"bool",	    "_Bool",  "struct", "enum",	 "union",  "u8",     "u16",    "u32",
		"u64",	    "s8",     "s16",	"s32",	 "s64",	   "__u8",   "__u16",  "__u32",
		"__u64",    "__s8",   "__s16",	"__s32", "__s64",  "__le16", "__le32", "__le64",
		"__be16",   "__be32", "__be64", "uint",	 "ushort", "ulong"
	};
	size_t len = strlen(w);

	if (len > 2 && strcmp(w + len - 2, "_t") == 0)
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i], w) == 0)
			return true;
	return false;
}

struct type {
	uint8_t size;
	bool is_unsigned;
	bool is_pointer;
};

static void add_to_type(struct type *t, const char *w)
{
	const char *digits = w + strcspn(w, "123456789");

	if (strcmp(w, "unsigned") == 0 || strcmp(w, "bool") == 0 || strcmp(w, "_Bool") == 0 ||
	    strcmp(w, "size_t") == 0 || w[0] == 'u' || strncmp(w, "__u", 3) == 0 ||
	    strncmp(w, "__le", 4) == 0 || strncmp(w, "__be", 4) == 0)
		t->is_unsigned = true;
	if (strcmp(w, "uint") == 0)
		t->size = 4;
	else if (strcmp(w, "char") == 0 || strcmp(w, "bool") == 0 || strcmp(w, "_Bool") == 0)
		t->size = 1;
	else if (strcmp(w, "short") == 0 || strcmp(w, "ushort") == 0)
		t->size = 2;
	else if (strcmp(w, "long") == 0 || strcmp(w, "ulong") == 0)
		t->size = 8;
	else if ((strcmp(w, "int") == 0 || strcmp(w, "unsigned") == 0 || strcmp(w, "signed") == 0 ||
		  strcmp(w, "pid_t") == 0) &&
		 !t->size)
		t->size = 4;
	else if (strcmp(digits, "8") == 0 || strcmp(digits, "8_t") == 0)
		t->size = 1;
	else if (strncmp(digits, "16", 2) == 0)
		t->size = 2;
	else if (strncmp(digits, "32", 2) == 0)
		t->size = 4;
	else if (strncmp(digits, "64", 2) == 0)
		t->size = 8;
}

/* Consume a type in parentheses, such as "(unsigned long)", if it comes next. */
static bool take_type(struct parser *k, struct type *t)
{
	const char *begin = k->p;
	char word[64];
	bool tag = false, any = false;

	memset(t, 0, sizeof(*t));
	if (!take(k, "("))
		return false;
	while (peek_word(k, word, sizeof(word)) && (tag || word_is_type(word))) {
		tag = strcmp(word, "struct") == 0 || strcmp(word, "enum") == 0 ||
		      strcmp(word, "union") == 0;
		if (!tag)
			add_to_type(t, word);
		k->p += strlen(word);
		any = true;
	}
	while (any && take(k, "*"))
		t->is_pointer = true;
	if (any && take(k, ")"))
		return true;
	k->p = begin;
	return false;
}

static struct xvt_node *parse_sizeof(struct parser *k)
{
	struct type t;

	if (!take_type(k, &t) || (!t.size && !t.is_pointer))
		return refuse(k);
	return number_node(k, t.is_pointer ? 8 : t.size);
}

/* Consume "REC->", or the same with REC in parentheses, if it comes next. */
static bool take_record(struct parser *k)
{
	const char *begin = k->p;
	unsigned int open = 0;
	char word[8];

	while (take(k, "("))
		open++;
	if (take_word(k, word, sizeof(word)) && strcmp(word, "REC") == 0) {
		while (open && take(k, ")"))
			open--;
		if (!open && take(k, "->"))
			return true;
	}
	k->p = begin;
	return false;
}

/* A field's name may have dots. */
static struct xvt_node *parse_member(struct parser *k)
{
	char name[XVT_LIMIT_NAME_BYTES + 1];
	const char *begin;
	size_t len;

	skip_space(k);
	begin = k->p;
	for (len = 0; is_word(begin[len]) || (begin[len] == '.' && is_word(begin[len + 1]));)
		len++;
	if (!len || len >= sizeof(name))
		return refuse(k);
	memcpy(name, begin, len);
	name[len] = '\0';
	k->p += len;
	return field_node(k, XVT_NODE_FIELD, name);
}

static struct xvt_node *parse_primary(struct parser *k)
{
	struct xvt_node *n;
	char word[64];
	uint64_t value;

	skip_space(k);
	if (is_digit(*k->p))
		return parse_number(k);
	if (*k->p == '\'')
		return parse_char(k);
	if (*k->p == '"') {
		n = number_node(k, 0);
		if (!n)
			return NULL;
		n->text = take_string(k);
		if (n->text)
			unescape((char *)n->text);
		return n->text ? n : NULL;
	}
	if (take_record(k))
		return parse_member(k);
	if (take(k, "(")) {
		n = parse_expr(k);
		return need(k, ")") ? n : NULL;
	}
	if (!take_word(k, word, sizeof(word)))
		return refuse(k);
	if (strcmp(word, "sizeof") == 0)
		return parse_sizeof(k);
	if (take(k, "("))
		return parse_call(k, word);
	if (xvt_known_constant(word, &value))
		return number_node(k, value);
	return k->in_names ? new_node(k, XVT_NODE_UNKNOWN, NULL, NULL, NULL) : refuse(k);
}

static struct xvt_node *parse_postfix(struct parser *k)
{
	struct xvt_node *n = parse_primary(k), *at;

	while (!k->err && take(k, "[")) {
		const struct xvt_field *field = base_field(k, n);

		at = parse_expr(k);
		if (!field || !need(k, "]"))
			return refuse(k);
		n = new_node(k, XVT_NODE_INDEX, NULL, at, NULL);
		if (n)
			n->field = field;
	}
	/* A format does not describe the members of structures. */
	skip_space(k);
	if (*k->p == '.' || (k->p[0] == '-' && k->p[1] == '>'))
		return refuse(k);
	return n;
}

static struct xvt_node *unary_node(struct parser *k, enum xvt_node_arith arith, struct xvt_node *b)
{
	struct xvt_node *n = new_node(k, XVT_NODE_UNARY, NULL, b, NULL);

	if (!n || !b)
		return refuse(k);
	n->arith = (uint8_t)arith;
	xvt_node_fold(n);
	return n;
}

/* The address of a field is the field; what %p makes of it differs. */
static struct xvt_node *address_node(struct xvt_node *n)
{
	if (n && n->op == XVT_NODE_FIELD)
		n->is_address = true;
	return n;
}

static struct xvt_node *parse_unary(struct parser *k);

static struct xvt_node *parse_cast(struct parser *k, const struct type *t)
{
	struct xvt_node *n, *a = parse_unary(k);

	n = new_node(k, XVT_NODE_CAST, a, NULL, NULL);
	if (!n || !a)
		return refuse(k);
	n->size = t->is_pointer || !t->size ? 8 : t->size;
	n->is_signed = !t->is_unsigned && !t->is_pointer;
	xvt_node_fold(n);
	return n;
}

static struct xvt_node *parse_unary(struct parser *k)
{
	struct xvt_node *n;
	struct type t;

	if (k->err || k->depth >= DEPTH_MAX)
		return refuse(k);
	k->depth++;
	skip_space(k);
	if (take(k, "!"))
		n = unary_node(k, XVT_ARITH_NOT, parse_unary(k));
	else if (take(k, "~"))
		n = unary_node(k, XVT_ARITH_INV, parse_unary(k));
	else if (take(k, "-"))
		n = unary_node(k, XVT_ARITH_SUB, parse_unary(k));
	else if (take(k, "+"))
		n = parse_unary(k);
	else if (take(k, "&"))
		n = address_node(parse_unary(k));
	else if (take_type(k, &t))
		n = parse_cast(k, &t);
	else
		n = parse_postfix(k);
	k->depth--;
	return n;
}

/* Longer operators first: "<" is also the start of "<<" and "<=". */
static const struct {
	const char *text;
	uint8_t level; /* precedence, 0 is the lowest */
	uint8_t arith;
} operators[] = {
	{ "||", 0, XVT_ARITH_LOR }, { "&&", 1, XVT_ARITH_LAND }, { "==", 5, XVT_ARITH_EQ },
	{ "!=", 5, XVT_ARITH_NE },  { "<<", 7, XVT_ARITH_SHL },	 { ">>", 7, XVT_ARITH_SHR },
	{ "<=", 6, XVT_ARITH_LE },  { ">=", 6, XVT_ARITH_GE },	 { "<", 6, XVT_ARITH_LT },
	{ ">", 6, XVT_ARITH_GT },   { "|", 2, XVT_ARITH_OR },	 { "^", 3, XVT_ARITH_XOR },
	{ "&", 4, XVT_ARITH_AND },  { "+", 8, XVT_ARITH_ADD },	 { "-", 8, XVT_ARITH_SUB },
	{ "*", 9, XVT_ARITH_MUL },  { "/", 9, XVT_ARITH_DIV },	 { "%", 9, XVT_ARITH_MOD },
};

#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static struct xvt_node *parse_binary(struct parser *k, unsigned int level)
{
	struct xvt_node *a = parse_unary(k), *b, *n;

	for (;;) {
		size_t i;

		skip_space(k);
		for (i = 0; i < OPERATORS; i++)
			if (strncmp(k->p, operators[i].text, strlen(operators[i].text)) == 0)
				break;
		if (k->err || i == OPERATORS || operators[i].level < level)
			return a;
		k->p += strlen(operators[i].text);
		b = parse_binary(k, operators[i].level + 1u);
		n = new_node(k, XVT_NODE_BINARY, a, b, NULL);
		if (!n || !a || !b)
			return refuse(k);
		n->arith = operators[i].arith;
		xvt_node_fold(n);
		a = n;
	}
}

static struct xvt_node *parse_expr(struct parser *k)
{
	struct xvt_node *a, *b, *c;

	if (k->err || k->depth >= DEPTH_MAX)
		return refuse(k);
	k->depth++;
	a = parse_binary(k, 0);
	if (take(k, "?")) {
		b = parse_expr(k);
		need(k, ":");
		c = parse_expr(k);
		a = a && b && c ? new_node(k, XVT_NODE_COND, a, b, c) : refuse(k);
	}
	k->depth--;
	return k->err ? NULL : a;
}

/* -- the string --------------------------------------------------------------------- */

/* A node for an argument that cannot be followed, beyond the limit of nodes. */
static struct xvt_node *refused_node(struct parser *k)
{
	struct xvt_node *n = xvt_class_alloc(k->c, sizeof(*n));

	if (!n)
		return no_memory(k);
	n->op = XVT_NODE_REFUSED;
	n->depth = 1;
	n->seen = xvt_class_alloc(k->c, SEEN_MAX * sizeof(*n->seen));
	return n->seen ? n : no_memory(k);
}

static void add_seen(struct xvt_node *n, const struct xvt_field *f)
{
	for (uint32_t i = 0; i < n->seen_count; i++)
		if (n->seen[i] == f)
			return;
	if (n->seen_count < SEEN_MAX)
		n->seen[n->seen_count++] = f;
}

static void add_seen_in(struct parser *k, struct xvt_node *n, const struct xvt_node *tree)
{
	if (!tree)
		return;
	for (uint32_t i = 0; i < k->c->field_count; i++)
		if (tree->field == &k->c->fields[i])
			add_seen(n, tree->field);
	for (uint32_t i = 0; i < tree->seen_count; i++)
		add_seen(n, tree->seen[i]);
	add_seen_in(k, n, tree->a);
	add_seen_in(k, n, tree->b);
	add_seen_in(k, n, tree->c);
}

/* The end of an argument: its comma, or the end of the text. */
static const char *skip_argument(const char *p)
{
	unsigned int open = 0;

	for (; *p && (open || *p != ','); p++) {
		if (*p == '"') {
			const char *end = skip_literal(p);

			if (!end)
				return p + strlen(p);
			p = end - 1;
		} else if (strchr("([{", *p)) {
			open++;
		} else if (strchr(")]}", *p) && open) {
			open--;
		}
	}
	return p;
}

/* Note the fields that are named in this text. */
static void see_names(struct parser *k, struct xvt_node *n, const char *p, const char *end)
{
	while (p < end && n->seen_count < SEEN_MAX) {
		size_t len = 0;

		while (p + len < end && is_word(p[len]))
			len++;
		for (uint32_t i = 0; len && i < k->c->field_count; i++)
			if (strlen(k->c->fields[i].name) == len &&
			    memcmp(k->c->fields[i].name, p, len) == 0)
				add_seen(n, &k->c->fields[i]);
		p += len ? len : 1;
	}
}

/* Parse one argument. An expression that cannot be followed costs itself alone. */
static struct xvt_node *parse_argument(struct parser *k)
{
	const char *begin = k->p, *end;
	struct xvt_node *n = parse_expr(k);

	skip_space(k);
	if (k->err == -ENOMEM || (n && (!*k->p || *k->p == ',')))
		return n;
	k->err = 0;
	k->depth = 0;
	k->in_names = false;
	end = skip_argument(begin);
	n = refused_node(k);
	if (n)
		see_names(k, n, begin, end);
	k->p = end;
	return n;
}

static bool is_plain(const char *text, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] >= 0x7f)
			return false;
	return true;
}

struct args {
	struct xvt_node *v[64];
	size_t count;
	size_t at;
};

static struct xvt_node *next_arg(struct parser *k, struct args *args)
{
	return args->at < args->count ? args->v[args->at++] : refuse(k);
}

/* -- what the kernel prints otherwise than its formats say ---------------------------- */

/* Returns whether the class is of a probe of the kernel or of a program. */
static bool is_probe(const struct xvt_event_class *c)
{
	return c->field_count && (strcmp(c->fields[0].name, "__probe_ip") == 0 ||
				  strcmp(c->fields[0].name, "__probe_func") == 0);
}

/* The kernel names the places of its probes, which its formats show as numbers. */
static void name_place(struct parser *k, struct xvt_print_piece *piece)
{
	const struct xvt_node *n = piece->node;
	struct xvt_print_piece *by_format;

	if (!n || n->op != XVT_NODE_FIELD || piece->conv != 'x' || !is_probe(k->c) ||
	    strncmp(n->field->name, "__probe_", 8) != 0)
		return;
	by_format = xvt_class_alloc(k->c, sizeof(*by_format));
	if (!by_format) {
		no_memory(k);
		return;
	}
	*by_format = *piece;
	piece->by_format = by_format;
	piece->conv = 'p';
	piece->pointer_kind = strcmp(n->field->name, "__probe_func") == 0 ? XVT_POINTER_FUNCTION
									  : XVT_POINTER_SYMBOL;
}

/* The kernel shows no modules in entries of ftrace, as those of the function tracer. */
static void drop_module(const struct xvt_event_class *c, struct xvt_print_piece *piece)
{
	if (piece->pointer_kind == XVT_POINTER_NAME && strcmp(c->system, "ftrace") == 0)
		piece->pointer_kind = XVT_POINTER_FUNCTION;
}

/* The kernel shows where a function returns to before the function. */
static void turn_places(const struct xvt_event_class *c, struct xvt_print *print)
{
	struct xvt_print_piece *places[2] = { 0 }, turned;
	uint32_t count = 0;

	if (!c->field_count || strcmp(c->fields[0].name, "__probe_func") != 0)
		return;
	for (uint32_t i = 0; i < print->piece_count && count < 2; i++)
		if (print->pieces[i].by_format)
			places[count++] = &print->pieces[i];
	if (count < 2)
		return;
	turned = *places[0];
	*places[0] = *places[1];
	*places[1] = turned;
	places[1]->by_format = places[0]->by_format;
	places[0]->by_format = turned.by_format;
}

/* Some formats end a line that the kernel ends anyway. */
static void drop_line_end(const struct xvt_print *print)
{
	struct xvt_print_piece *last =
		print->piece_count ? &print->pieces[print->piece_count - 1] : NULL;

	if (!last || last->conv)
		return;
	while (last->text_len && last->text[last->text_len - 1] == '\n')
		last->text_len--;
	last->plain = is_plain(last->text, last->text_len);
}

/* -- conversions ---------------------------------------------------------------------- */

/* Parse the letters after %p; Linux takes all letters and digits there as its own. */
static const char *parse_pointer(const char *p, struct xvt_print_piece *piece)
{
	size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

	piece->pointer_kind = XVT_POINTER_UNKNOWN;
	if (len < sizeof(piece->pointer)) {
		memcpy(piece->pointer, p, len);
		piece->pointer_kind = xvt_pointer_kind(piece->pointer);
	}
	return p + len;
}

/* Returns whether a pointer's memory is in the record: that of a list, a text, or an address. */
static bool in_record(const struct xvt_node *n)
{
	while (n->op == XVT_NODE_CAST)
		n = n->a;
	return n->op == XVT_NODE_FIELD && (n->is_address || (n->field->kind != XVT_FIELD_UINT &&
							     n->field->kind != XVT_FIELD_INT));
}

/* Refuse the argument of a %p whose text is in no record. */
static void check_pointer(struct parser *k, struct xvt_print_piece *piece)
{
	struct xvt_node *n;

	if (!piece->node || (piece->pointer_kind != XVT_POINTER_UNKNOWN &&
			     (piece->pointer_kind != XVT_POINTER_MEMORY || in_record(piece->node))))
		return;
	n = refused_node(k);
	if (n)
		add_seen_in(k, n, piece->node);
	piece->node = n;
	piece->conv = 's';
	piece->width = piece->precision = -1;
	piece->width_node = piece->precision_node = NULL;
	piece->pointer_kind = XVT_POINTER_ADDRESS;
}

/* Whether the node's text may be that of an address, as print.c looks it up. */
static bool is_address(const struct xvt_node *n)
{
	while (n && n->op == XVT_NODE_CAST)
		n = n->a;
	if (n && n->op == XVT_NODE_COND)
		return is_address(n->b) || is_address(n->c);
	return n && n->op == XVT_NODE_FIELD &&
	       (n->field->kind == XVT_FIELD_UINT || n->field->kind == XVT_FIELD_INT);
}

/* Parse one conversion; p is after the '%'. Returns its end, or NULL. */
static const char *parse_conversion(struct parser *k, const char *p, struct xvt_print_piece *piece,
				    struct args *args)
{
	p = xvt_piece_parse(p, piece);
	if (!p)
		return refuse(k);
	if (piece->width == XVT_PIECE_STAR)
		piece->width_node = next_arg(k, args);
	if (piece->precision == XVT_PIECE_STAR)
		piece->precision_node = next_arg(k, args);
	if (piece->conv == 'p')
		p = parse_pointer(p, piece);
	piece->node = next_arg(k, args);
	name_place(k, piece);
	drop_module(k->c, piece);
	k->c->names |= xvt_piece_is_function(piece);
	k->c->printks |= piece->conv == 's' && is_address(piece->node);
	if (piece->conv == 'p')
		check_pointer(k, piece);
	if (piece->node && piece->node->op == XVT_NODE_REFUSED)
		piece->conv = 's';
	return k->err ? NULL : p;
}

/* Parse text up to the next conversion and undo its escapes. */
static const char *parse_text(struct parser *k, const char *p, struct xvt_print_piece *piece)
{
	const char *end = p;
	uint32_t n = 0;
	char *text;

	while (*end && (*end != '%' || end[1] == '%'))
		end += *end == '%' || (*end == '\\' && end[1]) ? 2 : 1;
	text = xvt_class_alloc(k->c, (size_t)(end - p) + 1);
	if (!text)
		return no_memory(k);
	for (; *p && (*p != '%' || p[1] == '%'); p++) {
		if (*p == '%')
			text[n++] = *++p;
		else
			text[n++] = *p == '\\' && p[1] ? escaped(*++p) : *p;
	}
	piece->text = text;
	piece->text_len = n;
	piece->plain = is_plain(piece->text, piece->text_len);
	return p;
}

/* Upper limit of what printing one event visits in a tree. */
struct cost {
	uint64_t nodes;
	uint64_t names;
};

static void add_cost(struct cost *cost, const struct xvt_node *n)
{
	if (!n)
		return;
	cost->nodes++;
	cost->names += n->symbol_count + n->seen_count;
	add_cost(cost, n->a);
	add_cost(cost, n->b);
	add_cost(cost, n->c);
}

static bool costs_too_much(const struct xvt_print *print)
{
	struct cost cost = { 0 };

	for (uint32_t i = 0; i < print->piece_count; i++) {
		add_cost(&cost, print->pieces[i].node);
		add_cost(&cost, print->pieces[i].width_node);
		add_cost(&cost, print->pieces[i].precision_node);
	}
	return cost.nodes > XVT_LIMIT_NODES_EVENT || cost.names > XVT_LIMIT_NAMES_EVENT;
}

/* The kernel prints a probe's text in quotes, or (fault) without them: its format cannot say so. If
 * `before` and p are at such a text, take the quotes away and return p behind the conversion. */
static const char *take_quoted(struct parser *k, const char *p, struct xvt_print_piece *before,
			       struct xvt_print_piece *piece, struct args *args)
{
	if (!is_probe(k->c) || strncmp(p, "%s\\\"", 4) != 0 || before->conv || !before->text_len ||
	    before->text[before->text_len - 1] != '"')
		return NULL;
	if (!parse_conversion(k, p + 1, piece, args))
		return NULL;
	before->text_len--;
	piece->quoted = true;
	return p + 4;
}

static int make_pieces(struct parser *k, const char *p, struct args *args)
{
	struct xvt_print *print = xvt_class_alloc(k->c, sizeof(*print));
	size_t room = 1;

	for (const char *q = p; *q; q++)
		if (*q == '%')
			room += 2;
	if (room > 256) /* more '%' than 64 arguments need */
		return -EOPNOTSUPP;
	if (!print)
		return -ENOMEM;
	print->pieces = xvt_class_alloc(k->c, room * sizeof(*print->pieces));
	if (!print->pieces)
		return -ENOMEM;
	while (*p) {
		struct xvt_print_piece *piece = &print->pieces[print->piece_count++];

		const char *quoted =
			piece > print->pieces ? take_quoted(k, p, piece - 1, piece, args) : NULL;

		if (quoted)
			p = quoted;
		else if (*p == '%' && p[1] != '%')
			p = parse_conversion(k, p + 1, piece, args);
		else
			p = parse_text(k, p, piece);
		if (!p || k->err)
			return k->err;
	}
	drop_line_end(print);
	turn_places(k->c, print);
	if (costs_too_much(print))
		return -EOPNOTSUPP;
	k->c->print = print;
	return 0;
}

int xvt_print_compile(struct xvt_event_class *c, const char *text)
{
	struct parser k = { .c = c, .p = text };
	struct args args = { .count = 0 };
	char *format = take_string(&k);

	while (!k.err && take(&k, ",")) {
		if (args.count == sizeof(args.v) / sizeof(args.v[0]))
			return -EOPNOTSUPP;
		args.v[args.count++] = parse_argument(&k);
	}
	skip_space(&k);
	if (!k.err && *k.p)
		refuse(&k);
	return k.err ? k.err : make_pieces(&k, format, &args);
}
