/* SPDX-License-Identifier: GPL-2.0 */
/*
 * print.h - a "print fmt" as a small checked program: pieces of text and conversions,
 * each with a tree of nodes for its value. Made by print_compile.c, run by print.c.
 * With any tree, running it reads only inside the record, does not divide by zero, and
 * prints a bounded amount.
 */
#ifndef XVT_DECODE_PRINT_H
#define XVT_DECODE_PRINT_H

#include "decode/decode.h"

enum xvt_node_op {
	XVT_NODE_NUMBER,  /* value; text: of a string literal, "" for a number, NULL: folded */
	XVT_NODE_UNKNOWN, /* an unknown constant of the kernel, only in a list of names */
	XVT_NODE_REFUSED, /* an argument that cannot be followed; it has the fields `seen` */
	XVT_NODE_FIELD,
	XVT_NODE_CAST,	 /* a, to `size` bytes, `is_signed` */
	XVT_NODE_FLAGS,	 /* names of the bits of a, joined by text */
	XVT_NODE_SYMBOL, /* name of the value a */
	XVT_NODE_HEX,	 /* field, b bytes */
	XVT_NODE_HEX_STR,
	XVT_NODE_INT_ARRAY, /* field, b elements of c bytes; without b: all */
	XVT_NODE_BITMASK,
	XVT_NODE_CPUMASK,
	XVT_NODE_STACK,	  /* addresses in field */
	XVT_NODE_DYN_LEN, /* bytes of a dynamic field */
	XVT_NODE_INDEX,	  /* field[b] */
	XVT_NODE_UNARY,	  /* c_op b */
	XVT_NODE_BINARY,  /* a c_op b */
	XVT_NODE_COND,	  /* a ? b : c */
};

enum xvt_node_arith {
	XVT_ARITH_ADD,
	XVT_ARITH_SUB,
	XVT_ARITH_MUL,
	XVT_ARITH_DIV,
	XVT_ARITH_MOD,
	XVT_ARITH_SHL,
	XVT_ARITH_SHR,
	XVT_ARITH_AND,
	XVT_ARITH_OR,
	XVT_ARITH_XOR,
	XVT_ARITH_LAND,
	XVT_ARITH_LOR,
	XVT_ARITH_EQ,
	XVT_ARITH_NE,
	XVT_ARITH_LT,
	XVT_ARITH_GT,
	XVT_ARITH_LE,
	XVT_ARITH_GE,
	XVT_ARITH_NOT,
	XVT_ARITH_INV,
};

struct xvt_symbol {
	uint64_t value;
	const char *text;
};

struct xvt_node {
	uint8_t op;
	uint8_t arith;
	uint8_t size;
	bool is_signed;	  /* CAST */
	bool is_unsigned; /* NUMBER */
	bool is_address;  /* FIELD: with an & before it */
	uint8_t depth;	  /* levels of the tree from here, which bounds the recursion */
	uint64_t value;
	const char *text;
	const struct xvt_field *field;
	struct xvt_node *a;
	struct xvt_node *b;
	struct xvt_node *c;
	struct xvt_symbol *symbols;
	uint32_t symbol_count;
	uint32_t seen_count;
	const struct xvt_field **seen;
};

#define XVT_PIECE_F_LEFT    1u
#define XVT_PIECE_F_ZERO    2u
#define XVT_PIECE_F_ALT	    4u
#define XVT_PIECE_F_PLUS    8u
#define XVT_PIECE_F_SPACE   16u

#define XVT_PIECE_WIDTH_MAX 255	  /* greater widths and precisions are cut to it */
#define XVT_PIECE_BITS_MAX  32767 /* a width that counts the bits of a mask */
#define XVT_PIECE_STAR	    (-2)  /* a width or precision of "*" */

/* Meanings of the letters after %p. */
enum xvt_pointer {
	XVT_POINTER_ADDRESS,  /* a number */
	XVT_POINTER_SYMBOL,   /* a function, the offset in it, and its module */
	XVT_POINTER_NAME,     /* a function and its module */
	XVT_POINTER_FUNCTION, /* a function alone */
	XVT_POINTER_ERROR,    /* an error's number, or an address */
	XVT_POINTER_MEMORY,   /* a text of the memory there, which must be in the record */
	XVT_POINTER_UNKNOWN,
};

struct xvt_print_piece {
	char conv;	      /* 0: text */
	char pointer[8];      /* the letters after %p */
	uint8_t pointer_kind; /* enum xvt_pointer */
	uint8_t flags;
	int8_t length; /* -2 char, -1 short, 0 int, 1 and more: 64 bits */
	int16_t width; /* -1: none; or XVT_PIECE_STAR */
	int16_t precision;
	struct xvt_node *width_node; /* for XVT_PIECE_STAR */
	struct xvt_node *precision_node;
	struct xvt_node *node;
	const char *text;
	uint32_t text_len;
	bool plain;  /* the text is printable ASCII */
	bool quoted; /* a probe's text: in quotes, or "(fault)" */
	/* A place of a probe: what the format has there, for a machine without symbols. */
	const struct xvt_print_piece *by_format;
};

struct xvt_print {
	uint32_t piece_count;
	struct xvt_print_piece *pieces;
};

/*
 * Compile the text of a print fmt, which a zero byte or a newline ends, for a class whose
 * fields are known. Returns 0 and sets c->print; -EOPNOTSUPP: the text has something that is
 * not supported (c->print stays NULL, and fields are shown instead); or -ENOMEM.
 */
int xvt_print_compile(struct xvt_event_class *c, const char *text);

/* Allocate zeroed memory that lives as long as the class. NULL: out of memory. */
void *xvt_class_alloc(struct xvt_event_class *c, size_t size);
/* Free this memory and clear the class. */
void xvt_class_free(struct xvt_event_class *c);

/* Get the value of a constant tree. Returns false if the tree has fields or unknown names. */
bool xvt_node_constant(const struct xvt_node *n, uint64_t *value);

/* Replace an operator or a cast on numbers by its result. */
void xvt_node_fold(struct xvt_node *n);

void xvt_print_run(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_print *p,
		   const struct xvt_event *ev);

/* Parse one conversion of printf up to its letter; p is after the '%'. Returns the end, or NULL:
 * not supported. */
const char *xvt_piece_parse(const char *p, struct xvt_print_piece *piece);

/* Returns true for a conversion that shows a function by its name. */
static inline bool xvt_piece_is_function(const struct xvt_print_piece *p)
{
	return p->pointer_kind == XVT_POINTER_SYMBOL || p->pointer_kind == XVT_POINTER_NAME ||
	       p->pointer_kind == XVT_POINTER_FUNCTION;
}

/* Bytes of a number of this length. */
static inline uint32_t xvt_piece_size(const struct xvt_print_piece *p)
{
	return p->length <= -2 ? 1 : p->length == -1 ? 2 : p->length == 0 ? 4 : 8;
}

/* Parts that Linux shows of a symbol beside its name. */
#define XVT_SYMBOL_OFFSET 1u
#define XVT_SYMBOL_MODULE 2u

/* Parts of xvt_print_run() for printk.c: write a number or a text by the conversion `p`, and the
 * symbol at an address with these parts. */
void xvt_piece_number(struct xvt_out *o, const struct xvt_print_piece *p, uint64_t v);
void xvt_piece_text(struct xvt_out *o, const struct xvt_print_piece *p, const void *text,
		    size_t len);
void xvt_print_symbol(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event *ev,
		      uint64_t addr, unsigned int parts);

/* --- constants.c --- */

/* Get a constant of every Linux. Returns false: not known. */
bool xvt_known_constant(const char *name, uint64_t *value);

/* --- pointer.c --- */

enum xvt_pointer xvt_pointer_kind(const char *letters);

#define XVT_POINTER_HEX_MOST 64	 /* bytes that %ph shows, as in Linux */
#define XVT_POINTER_TEXT     256 /* longer than any text of memory but that of a mask */

/*
 * Make the text of a record's memory for letters of XVT_POINTER_MEMORY other than 'b', which take
 * a width only for the number of bytes (-1: none). Returns false: there are too few bytes.
 */
bool xvt_pointer_text(char to[XVT_POINTER_TEXT], const char *letters, const uint8_t *bytes,
		      uint32_t len, int width);

/* Write a mask's bits, of which `data` has all: as %pb and as %pbl do. */
void xvt_put_mask(struct xvt_out *o, const uint8_t *data, uint32_t bits);
void xvt_put_mask_list(struct xvt_out *o, const uint8_t *data, uint32_t bits);

/* --- printk.c --- */

/* Set c->special, and the fields of a stack, if the class is one of enum xvt_special. */
void xvt_make_special(struct xvt_event_class *c);
void xvt_print_special(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event_class *c,
		       const struct xvt_event *ev);

#endif /* XVT_DECODE_PRINT_H */
