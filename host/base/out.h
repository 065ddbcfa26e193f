/* SPDX-License-Identifier: GPL-2.0 */
/*
 * out.h - buffered output of text. Errors stick: write as much as you like, look at the end.
 * Nothing that a guest wrote reaches a terminal raw: see xvt_out_text().
 */
#ifndef XVT_OUT_H
#define XVT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XVT_OUT_ROOM  (64u << 10)
/* What a number, a time or a step of text may write before anybody looks how much room is left. */
#define XVT_OUT_SLACK 64u

struct xvt_out {
	int fd;	     /* -1: bytes stay in buf, what does not fit is dropped (tests) */
	int err;     /* first error, -errno */
	size_t used; /* at most XVT_OUT_ROOM between two calls */
	size_t less; /* not 0: so much of the room is not for the text that was begun */
	bool cut;    /* it did not fit */
	char buf[XVT_OUT_ROOM + XVT_OUT_SLACK];
};

/* Open PATH for writing ("-": standard output). Returns 0 or -errno. */
int xvt_out_open(struct xvt_out *o, const char *path);

/* Flush, close. Returns the first error of its life. */
int xvt_out_close(struct xvt_out *o);

int xvt_out_flush(struct xvt_out *o);

/* What xvt_out_bytes() and xvt_out_wrote() leave to it: the buffer is full. */
void xvt_out_long(struct xvt_out *o, const void *bytes, size_t len);
void xvt_out_full(struct xvt_out *o);

/* `len` bytes, at most XVT_OUT_SLACK, were written at buf[used]. */
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

/*
 * From here on at most `most` bytes (less than half of XVT_OUT_ROOM); what does not fit is dropped,
 * and o->cut is set. It stays in buf, so that it can be withdrawn by setting `used` back.
 */
void xvt_out_begin(struct xvt_out *o, size_t most);
/* Back to any length. Returns whether something was dropped; the text ends with a whole character.
 */
bool xvt_out_end(struct xvt_out *o);

/* seconds.nanoseconds */
void xvt_out_time(struct xvt_out *o, uint64_t ns);
/* How long something took: "12.3 us" */
void xvt_out_duration(struct xvt_out *o, uint64_t ns);

/*
 * One character of untrusted text: returns its length in bytes, 1 to 4, and its code point;
 * a byte that is no UTF-8 and a zero byte are one U+FFFD each.
 */
size_t xvt_utf8_next(const uint8_t *p, size_t len, uint32_t *code);

/*
 * Does this character do more than stand in its line: control characters (C0, DEL, C1), ends of
 * lines, controls of direction and annotation, the byte order mark?
 */
bool xvt_text_unsafe(uint32_t code);

/* What stands for an unsafe character. Returns how many bytes. */
#define XVT_ESCAPE_MOST 6u
size_t xvt_text_escape(char to[XVT_ESCAPE_MOST], uint32_t code);

/* Untrusted text for people: one line. Unsafe characters as \n, \t, \x1b, \u202e. */
void xvt_out_text(struct xvt_out *o, const void *text, size_t len);

/* The same in double quotes, by JSON's rules. */
void xvt_out_quoted(struct xvt_out *o, const void *text, size_t len);

/* A piece of a JSON document, whole characters: unsafe ones above ASCII become \u escapes. */
void xvt_out_json(struct xvt_out *o, const void *json, size_t len);

/*
 * Untrusted text as xvt_out_text() shows it, for printf(): a string in to[room], cut between two
 * characters. Returns how many bytes of `text` are in it.
 */
size_t xvt_text_clean(char *to, size_t room, const void *text, size_t len);

#endif /* XVT_OUT_H */
