/* SPDX-License-Identifier: GPL-2.0 */
/* out.h - buffered output of text. The first error is kept, so a caller may check once at the end.
 * Text of a guest never reaches a terminal unescaped: see xvt_out_text(). */
#ifndef XVT_OUT_H
#define XVT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/made.h"

#define XVT_OUT_ROOM  (64u << 10)
/*
 * Room behind the buffer: a number, a time or a step of text is written before the room is checked.
 */
#define XVT_OUT_SLACK 64u

struct xvt_out {
	int fd;	     /* -1: bytes stay in buf, excess bytes are dropped (tests) */
	int err;     /* first error, -errno */
	size_t used; /* at most XVT_OUT_ROOM between two calls */
	/* not 0: this many bytes of the room are closed to text since xvt_out_begin() */
	size_t less;
	bool cut;      /* something was dropped since xvt_out_begin() */
	bool is_made;  /* xvt_out_open() made the file, at `made` */
	bool old;      /* the file has its old content */
	uint64_t most; /* bytes after which -EFBIG is an error; 0: any number */
	uint64_t all;  /* so far */
	struct xvt_made made;
	char buf[XVT_OUT_ROOM + XVT_OUT_SLACK];
};

/* Opens PATH for writing ("-": standard output). The file keeps what it holds until the first bytes
 * are written to it, or it is closed. Returns 0, -errno or an error of base/output.h. */
int xvt_out_open(struct xvt_out *o, const char *path);

/* Flushes and closes. Returns the first error since xvt_out_open(), or 0. */
int xvt_out_close(struct xvt_out *o);

/* Closes it without what is in the buffer. A file that xvt_out_open() made is removed, and another
 * one is as it was if nothing was written. */
void xvt_out_drop(struct xvt_out *o);

int xvt_out_flush(struct xvt_out *o);

/* The slow paths of xvt_out_bytes() and xvt_out_wrote(), for a full buffer. */
void xvt_out_long(struct xvt_out *o, const void *bytes, size_t len);
void xvt_out_full(struct xvt_out *o);

/* The caller has written `len` bytes, at most XVT_OUT_SLACK, at buf[used]. */
static inline void xvt_out_wrote(struct xvt_out *o, size_t len)
{
	o->used += len;
	if (o->used >= XVT_OUT_ROOM - o->less)
		xvt_out_full(o);
}

static inline void xvt_out_bytes(struct xvt_out *o, const void *bytes, size_t len)
{
	if (len >= XVT_OUT_ROOM - o->less - o->used) {
		xvt_out_long(o, bytes, len);
		return;
	}
	memcpy(o->buf + o->used, bytes, len);
	o->used += len;
}

static inline void xvt_out_str(struct xvt_out *o, const char *text)
{
	xvt_out_bytes(o, text, strlen(text));
}

void xvt_out_u64(struct xvt_out *o, uint64_t v);
void xvt_out_i64(struct xvt_out *o, int64_t v);
/* Lower case, no 0x, at least `digits` of them (1 to 16). */
void xvt_out_hex(struct xvt_out *o, uint64_t v, unsigned int digits);
void xvt_out_printf(struct xvt_out *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline void xvt_out_char(struct xvt_out *o, char c)
{
	o->buf[o->used] = c;
	xvt_out_wrote(o, 1);
}

/* Limits the text that follows to `most` bytes (less than half of XVT_OUT_ROOM); excess bytes are
 * dropped and set o->cut. The text stays in buf, so setting `used` back withdraws it. */
static inline void xvt_out_begin(struct xvt_out *o, size_t most)
{
	if (XVT_OUT_ROOM - o->used <= most && o->fd >= 0)
		xvt_out_flush(o);
	o->cut = false;
	o->less = XVT_OUT_ROOM - o->used > most ? XVT_OUT_ROOM - o->used - most : 1;
}

/* The slow path of xvt_out_end(): ends the text behind a whole character. */
void xvt_out_cut(struct xvt_out *o);
/* Ends the limit of xvt_out_begin(). Returns true if bytes were dropped; then the text is cut
 * behind a whole character. */
static inline bool xvt_out_end(struct xvt_out *o)
{
	bool cut = o->cut;

	o->less = 0;
	if (cut)
		xvt_out_cut(o);
	return cut;
}

/* seconds.nanoseconds */
void xvt_out_time(struct xvt_out *o, uint64_t ns);
/* A duration of three digits with its unit: "9 ns", "34.5 us", "2.01 ms", "16.6 s", "1234 s". */
void xvt_out_duration(struct xvt_out *o, uint64_t ns);
/* The same of a bound, which is rounded up. between: what stands before the unit. */
void xvt_out_bound(struct xvt_out *o, uint64_t ns, const char *between);
#define XVT_DIGITS_LEN 32
/* "615,360". Returns the text, which is in the caller's buffer. */
const char *xvt_digits(char text[XVT_DIGITS_LEN], uint64_t n);
void xvt_out_count(struct xvt_out *o, uint64_t n);
/* A time of the wall clock in the time zone of the process: "2026-11-26 11:13:34.535". between:
 * what stands between date and time; digits: of the fraction, 1 to 9. */
void xvt_out_date(struct xvt_out *o, uint64_t wall_ns, char between, unsigned int digits);
/* "within 12.3 us", rounded up, or "no bound" from 2^63 - 1 on. */
void xvt_out_within(struct xvt_out *o, uint64_t ns);

/* Decodes one character of untrusted text. Returns its length in bytes, 1 to 4, and its code point.
 * A byte that is not UTF-8, and a zero byte, are each one U+FFFD. */
size_t xvt_utf8_next(const uint8_t *p, size_t len, uint32_t *code);

/* True for a character with an effect beyond its own cell: control characters (C0, DEL, C1), line
 * ends, controls of direction and annotation, the byte order mark. */
bool xvt_text_unsafe(uint32_t code);

/* Writes the escape sequence of an unsafe character. Returns its length in bytes. */
#define XVT_ESCAPE_MOST 6u
size_t xvt_text_escape(char to[XVT_ESCAPE_MOST], uint32_t code);

/* Writes untrusted text in one line. Unsafe characters become \n, \t, \x1b, \u202e. */
void xvt_out_text(struct xvt_out *o, const void *text, size_t len);

/* Like xvt_out_text(), in double quotes and escaped by JSON's rules. */
void xvt_out_quoted(struct xvt_out *o, const void *text, size_t len);

/*
 * Writes a piece of a JSON document, whole characters; unsafe ones above ASCII become \u escapes.
 */
void xvt_out_json(struct xvt_out *o, const void *json, size_t len);

/* Copies untrusted text, escaped as by xvt_out_text(), as a string into to[room], cut between two
 * characters. Returns the number of bytes of `text` that were copied. */
size_t xvt_text_clean(char *to, size_t room, const void *text, size_t len);

/* A UUID with its dashes, and a zero byte. */
#define XVT_UUID_TEXT 37u
void xvt_uuid_text(const uint8_t uuid[16], char text[XVT_UUID_TEXT]);
/* Returns whether all its bytes are zeros: then it is none. */
bool xvt_uuid_is_none(const uint8_t uuid[16]);

#endif /* XVT_OUT_H */
