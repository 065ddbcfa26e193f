// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - events by the values of their fields, in the syntax of tracefs's filter files. A text
 * is parsed once, and looked up once in each type of event. A negation goes down to the comparisons
 * while it is parsed, so that a comparison with a field that the type does not have is false, with
 * "!" before it too.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/parts.h"

#define DEPTH_MAX    32 /* parentheses and "!" */
#define COMPARE_MAX  64
#define NODES_MAX    (3 * COMPARE_MAX)
#define NO_NODE	     UINT16_MAX
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

enum op { OP_EQ, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT, OP_LIKE, OP_BITS };

/* In order of matching: the longer ones first. */
static const char ops[][3] = { "==", "!=", "<=", ">=", "<", ">", "~", "&" };

struct compare {
	const char *field;
	const char *value;
	size_t value_len;
	uint8_t op;
	bool negated;
	bool is_number; /* and then: */
	bool minus;
	uint64_t number; /* without its sign */
	bool found;	 /* a type of event can be compared */
	struct xvt_near near;
	char why[160]; /* the first type with such a field that cannot be compared; empty: none */
};

enum kind { NODE_COMPARE, NODE_ALL, NODE_ANY };

/* ALL and ANY have a list of nodes. */
struct node {
	uint8_t kind;
	uint8_t compare;
	uint16_t first;
	uint16_t next;
};

struct xvt_filter {
	char *given; /* the text as it was given */
	char *text;  /* in pieces */
	uint16_t root;
	uint16_t node_count;
	uint8_t compare_count;
	uint32_t type_count; /* types of events that were looked at */
	const char *type;    /* the first of them */
	char fields[256];    /* its fields, as text */
	struct node nodes[NODES_MAX];
	struct compare compares[COMPARE_MAX];
};

/* -- parsing ------------------------------------------------------------------------ */

struct parser {
	struct xvt_filter *f;
	char *at;
	unsigned int depth;
	struct xvtrace_error *error;
};

__attribute__((format(printf, 2, 3))) static uint16_t wrong(struct parser *p, const char *format,
							    ...)
{
	char why[160];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	snprintf(p->error->text, sizeof(p->error->text), "character %zu%s%.24s%s: %s",
		 (size_t)(p->at - p->f->text) + 1, *p->at ? ", at '" : ", the end", p->at,
		 *p->at ? "'" : "", why);
	return NO_NODE;
}

static void skip_blanks(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
		p->at++;
}

static bool accept(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	skip_blanks(p);
	if (strncmp(p->at, word, len) != 0)
		return false;
	p->at += len;
	return true;
}

static uint16_t new_node(struct parser *p, enum kind kind)
{
	struct xvt_filter *f = p->f;

	if (f->node_count == NODES_MAX)
		return wrong(p, "the filter is too long");
	f->nodes[f->node_count] = (struct node){ .kind = kind, .first = NO_NODE, .next = NO_NODE };
	return f->node_count++;
}

/* A number as in C, with a sign: 12, -1, 0x1f, 017. */
static void read_number(struct compare *c)
{
	const char *digits = c->value;
	char *end;

	c->minus = *digits == '-';
	digits += c->minus;
	if (*digits < '0' || *digits > '9')
		return;
	errno = 0;
	c->number = strtoull(digits, &end, 0);
	c->is_number = !errno && end == c->value + c->value_len;
}

/* Cut out the value: in quotes, or up to a blank or what may follow a value. */
static bool parse_value(struct parser *p, struct compare *c)
{
	char quote, *end;

	skip_blanks(p);
	quote = *p->at == '"' || *p->at == '\'' ? *p->at : '\0';
	if (quote) {
		c->value = p->at + 1;
		end = strchr(c->value, quote);
		if (!end)
			return wrong(p, "this quote has no end"), false;
		p->at = end + 1;
	} else {
		c->value = p->at;
		p->at += strcspn(p->at, " \t\n()&|\"'");
		end = p->at;
		if (end == c->value)
			return wrong(p, "a value is missing"), false;
	}
	c->value_len = (size_t)(end - c->value);
	if (!quote)
		read_number(c);
	return true;
}

static uint16_t parse_compare(struct parser *p, bool negated)
{
	struct xvt_filter *f = p->f;
	struct compare *c = &f->compares[f->compare_count];
	const char *name = p->at;
	uint16_t node;

	p->at += strspn(p->at, NAME_LETTERS);
	if (p->at == name)
		return wrong(p, "a field's name is missing");
	if (f->compare_count == COMPARE_MAX)
		return wrong(p, "there are more than %d comparisons", COMPARE_MAX);
	skip_blanks(p);
	while (c->op < sizeof(ops) / sizeof(ops[0]) &&
	       strncmp(p->at, ops[c->op], strlen(ops[c->op])) != 0)
		c->op++;
	if (c->op == sizeof(ops) / sizeof(ops[0]) || strncmp(p->at, "&&", 2) == 0)
		return wrong(p, "an operator is missing; there are == != < > <= >= & ~");
	p->at += strlen(ops[c->op]);
	if (*p->at == '=')
		return wrong(p, "there is no such operator; there are == != < > <= >= & ~");
	if (!parse_value(p, c))
		return NO_NODE;
	node = new_node(p, NODE_COMPARE);
	if (node == NO_NODE)
		return NO_NODE;
	c->field = name;
	c->negated = negated;
	f->nodes[node].compare = f->compare_count++;
	return node;
}

static uint16_t parse_list(struct parser *p, bool any, bool negated);

static uint16_t parse_one(struct parser *p, bool negated)
{
	uint16_t node;

	skip_blanks(p);
	if (*p->at != '!' && *p->at != '(')
		return parse_compare(p, negated);
	if (p->depth == DEPTH_MAX)
		return wrong(p, "it is nested more than %d deep", DEPTH_MAX);
	p->depth++;
	if (accept(p, "!")) {
		node = parse_one(p, !negated);
	} else {
		p->at++;
		node = parse_list(p, true, negated);
		if (node != NO_NODE && !accept(p, ")"))
			node = wrong(p, "&&, || or ) is missing");
	}
	p->depth--;
	return node;
}

/* Lists of || hold lists of &&, which hold the rest. A negation is turned round: !(a && b) is
 * !a || !b. */
static uint16_t parse_list(struct parser *p, bool any, bool negated)
{
	uint16_t list = new_node(p, any != negated ? NODE_ANY : NODE_ALL);
	uint16_t *link;

	if (list == NO_NODE)
		return NO_NODE;
	link = &p->f->nodes[list].first;
	do {
		*link = any ? parse_list(p, false, negated) : parse_one(p, negated);
		if (*link == NO_NODE)
			return NO_NODE;
		link = &p->f->nodes[*link].next;
	} while (accept(p, any ? "||" : "&&"));
	return list;
}

/* Names and values end with a zero byte in the filter's own text. The byte behind a value may begin
 * what follows, so this comes last. */
static void end_texts(struct xvt_filter *f)
{
	for (unsigned int i = 0; i < f->compare_count; i++) {
		struct compare *c = &f->compares[i];

		f->text[(size_t)(c->value - f->text) + c->value_len] = '\0';
		f->text[(size_t)(c->field - f->text) + strspn(c->field, NAME_LETTERS)] = '\0';
	}
}

int xvt_filter_new(struct xvt_filter **out, const char *text, struct xvtrace_error *error)
{
	struct xvt_filter *f = calloc(1, sizeof(*f));
	struct parser p = { .f = f, .error = error };

	*out = NULL;
	snprintf(error->text, sizeof(error->text), "%s", strerror(ENOMEM));
	if (f) {
		f->given = strdup(text);
		f->text = p.at = strdup(text);
	}
	if (!f || !f->text || !f->given) {
		xvt_filter_free(f);
		return -ENOMEM;
	}
	f->root = parse_list(&p, true, false);
	skip_blanks(&p);
	if (f->root != NO_NODE && *p.at)
		f->root = wrong(&p, "&& or || is missing");
	if (f->root == NO_NODE) {
		xvt_filter_free(f);
		return -EINVAL;
	}
	end_texts(f);
	error->text[0] = '\0';
	*out = f;
	return 0;
}

void xvt_filter_free(struct xvt_filter *f)
{
	if (!f)
		return;
	free(f->given);
	free(f->text);
	free(f);
}

const char *xvt_filter_text(const struct xvt_filter *f)
{
	return f->given;
}

bool xvt_filter_has_names(const struct xvt_filter *f)
{
	for (unsigned int i = 0; i < f->compare_count; i++)
		if (strcasecmp(f->compares[i].field, "comm") == 0)
			return true;
	return false;
}

/* -- in a type of event ------------------------------------------------------------- */

enum what {
	WHAT_NOTHING, /* the type has no such field */
	WHAT_FIELD,
	WHAT_PID,
	WHAT_FLAGS,
	WHAT_PREEMPT,
	WHAT_CPU,
	WHAT_COMM,
};

/* Fields of every event, and of every event of ftrace, where the type has no field of that name. */
static const struct {
	const char *name;
	uint8_t what;
	bool ftrace;
} common[] = {
	{ "CPU", WHAT_CPU, false },
	{ "cpu", WHAT_CPU, false },
	{ "COMM", WHAT_COMM, true },
	{ "comm", WHAT_COMM, true },
	{ "common_pid", WHAT_PID, true },
	{ "common_flags", WHAT_FLAGS, true },
	{ "common_preempt_count", WHAT_PREEMPT, true },
};

static void find_field(const char *name, const struct xvt_event_class *c,
		       struct xvt_filter_place *place)
{
	for (uint32_t i = 0; i < c->field_count; i++) {
		if (strcmp(c->fields[i].name, name) != 0)
			continue;
		place->what = WHAT_FIELD;
		place->field = (uint16_t)i;
		return;
	}
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (strcmp(common[i].name, name) == 0 && (c->ftrace || !common[i].ftrace))
			place->what = common[i].what;
}

__attribute__((format(printf, 2, 3))) static bool cannot(struct compare *c, const char *format, ...)
{
	va_list args;

	if (c->why[0])
		return false;
	va_start(args, format);
	vsnprintf(c->why, sizeof(c->why), format, args);
	va_end(args);
	return false;
}

/* Get the number as the field has it: as the kernel does, -1 is also the largest number of an
 * unsigned field. Returns false if no value of the field compares like that. */
static bool fit_number(struct compare *c, struct xvt_filter_place *place, unsigned int bits)
{
	const uint64_t most = UINT64_MAX >> (64 - bits), half = most / 2 + 1;
	const bool in_order = c->op >= OP_LE && c->op <= OP_GT;
	uint64_t v = c->minus ? -c->number : c->number;

	if (c->number > (c->minus ? half : most))
		return cannot(c, "%s%llu does not fit into the %u bits of %s", c->minus ? "-" : "",
			      (unsigned long long)c->number, bits, c->field);
	if (in_order && !place->is_signed && c->minus)
		return cannot(c, "%s has no sign", c->field);
	if (in_order && place->is_signed && !c->minus && c->number >= half)
		return cannot(c, "%s is at most %llu", c->field, (unsigned long long)half - 1);
	place->number = place->is_signed ? (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits))
					 : v & most;
	return true;
}

static bool look_up(struct compare *c, const struct xvt_event_class *class,
		    struct xvt_filter_place *place)
{
	const struct xvt_field *f = &class->fields[place->field];
	unsigned int bits = place->what == WHAT_FLAGS || place->what == WHAT_PREEMPT ? 8 : 32;
	bool text = place->what == WHAT_COMM;

	place->is_signed = place->what == WHAT_PID;
	if (place->what == WHAT_FIELD) {
		if (xvt_field_is_list(f))
			return cannot(c, "%s of %s is a list", c->field, class->name);
		text = f->kind == XVT_FIELD_STRING;
		place->is_signed = f->kind == XVT_FIELD_INT;
		bits = 8 * f->size;
	}
	if (text && c->op != OP_EQ && c->op != OP_NE && c->op != OP_LIKE)
		return cannot(c, "%s of %s is a text: there are == != ~ for it", c->field,
			      class->name);
	if (!text && c->op == OP_LIKE)
		return cannot(c, "%s of %s is a number: ~ is for texts", c->field, class->name);
	if (!text && !c->is_number)
		return cannot(c, "%s of %s is a number, and '%.32s' is none", c->field, class->name,
			      c->value);
	return text || fit_number(c, place, bits);
}

static void note_fields(struct xvt_filter *f, const struct xvt_event_class *class)
{
	size_t used = 0;

	if (f->type_count && strcmp(f->type, class->name) == 0)
		return; /* of another machine or boot */
	if (f->type_count++)
		return;
	f->type = class->name;
	for (uint32_t i = 0; i < class->field_count && used < sizeof(f->fields); i++)
		used += (size_t)snprintf(f->fields + used, sizeof(f->fields) - used, "%s%s",
					 i ? ", " : "", class->fields[i].name);
}

struct xvt_filter_place *xvt_filter_places(struct xvt_filter *f,
					   const struct xvt_event_class *class, bool near)
{
	struct xvt_filter_place *places = calloc(f->compare_count, sizeof(*places));

	for (unsigned int i = 0; places && i < f->compare_count; i++) {
		struct compare *c = &f->compares[i];

		find_field(c->field, class, &places[i]);
		if (places[i].what != WHAT_NOTHING && look_up(c, class, &places[i]))
			c->found = true;
		else
			places[i].what = WHAT_NOTHING;
		for (uint32_t k = 0; near && k < class->field_count && !c->found; k++)
			xvt_near_add(&c->near, c->field, class->fields[k].name,
				     class->fields[k].name);
	}
	if (near)
		note_fields(f, class);
	return places;
}

/* -- of one event ------------------------------------------------------------------- */

static bool text_holds(const struct compare *c, const uint8_t *data, size_t len)
{
	bool same;

	if (c->op == OP_LIKE)
		return xvt_like(c->value, data, len);
	same = len == c->value_len && memcmp(data, c->value, len) == 0;
	return same == (c->op == OP_EQ);
}

static bool number_holds(const struct compare *c, const struct xvt_filter_place *place, uint64_t v)
{
	/* With the sign's bit turned round, signed numbers are in order as unsigned ones. */
	const uint64_t turn = place->is_signed ? 1ull << 63 : 0;
	const uint64_t a = v ^ turn, b = place->number ^ turn;

	switch ((enum op)c->op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LE:
		return a <= b;
	case OP_GE:
		return a >= b;
	case OP_LT:
		return a < b;
	case OP_GT:
		return a > b;
	case OP_BITS:
		return v & place->number;
	case OP_LIKE:
		break;
	}
	return false;
}

static bool compare_holds(const struct compare *c, const struct xvt_filter_place *place,
			  const struct xvt_lib_event *e)
{
	const struct xvt_event_class *class = e->type->c;
	struct xvt_value v = { 0 };
	const char *comm;

	switch ((enum what)place->what) {
	case WHAT_NOTHING:
		return false;
	case WHAT_FIELD:
		xvt_field_get(&class->fields[place->field], &e->ev, &v);
		if (class->fields[place->field].kind == XVT_FIELD_STRING)
			return text_holds(c, v.data, v.count) != c->negated;
		break;
	case WHAT_COMM:
		comm = xvtrace_event_comm(&e->pub);
		comm = comm ? comm : XVT_COMM_UNKNOWN;
		return text_holds(c, (const uint8_t *)comm, strlen(comm)) != c->negated;
	case WHAT_PID:
		v.u = (uint64_t)(int64_t)e->pub.pid;
		break;
	case WHAT_FLAGS:
		v.u = e->pub.irq_flags;
		break;
	case WHAT_PREEMPT:
		v.u = e->pub.preempt_count;
		break;
	case WHAT_CPU:
		if (!e->pub.ring)
			return false;
		v.u = e->pub.ring->cpu;
		break;
	}
	return number_holds(c, place, v.u) != c->negated;
}

static bool node_holds(const struct xvt_filter *f, uint16_t node, const struct xvt_lib_event *e)
{
	const struct node *n = &f->nodes[node];

	if (n->kind == NODE_COMPARE)
		return compare_holds(&f->compares[n->compare], &e->type->places[n->compare], e);
	for (uint16_t i = n->first; i != NO_NODE; i = f->nodes[i].next)
		if (node_holds(f, i, e) == (n->kind == NODE_ANY))
			return n->kind == NODE_ANY;
	return n->kind == NODE_ALL;
}

bool xvt_filter_holds(const struct xvt_filter *f, const struct xvt_lib_event *e)
{
	return node_holds(f, f->root, e);
}

/* -- what was found ----------------------------------------------------------------- */

bool xvt_filter_unmatched(const struct xvt_filter *f, size_t number, struct xvtrace_error *error)
{
	const struct compare *c = NULL;
	size_t used;

	for (unsigned int i = 0; i < f->compare_count && !c; i++)
		if (!f->compares[i].found && !number--)
			c = &f->compares[i];
	if (!c || !f->type_count)
		return false;
	if (c->why[0]) {
		snprintf(error->text, sizeof(error->text), "%s", c->why);
		return true;
	}
	used = (size_t)snprintf(error->text, sizeof(error->text), "no event has a field '%.64s'",
				c->field);
	if (f->type_count == 1) {
		snprintf(error->text + used, sizeof(error->text) - used, "; %s has: %s", f->type,
			 f->fields[0] ? f->fields : "none");
		return true;
	}
	for (unsigned int i = 0; i < c->near.count && used < sizeof(error->text); i++)
		used += (size_t)snprintf(
			error->text + used, sizeof(error->text) - used, "%s%s",
			i ? ", " : "; the nearest that there are: ", c->near.name[i].shown);
	return true;
}
