// SPDX-License-Identifier: GPL-2.0
/* out.c - see out.h. */
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"

int xvt_out_open(struct xvt_out *o, const char *path)
{
	o->used = 0;
	o->less = 0;
	o->cut = false;
	o->err = 0;
	o->most = o->all = 0;
	o->is_made = o->old = false;
	o->fd = STDOUT_FILENO;
	if (strcmp(path, "-") == 0)
		return 0;
	o->fd = xvt_output_open(path, O_WRONLY, 0644, &o->made);
	o->is_made = o->made.folder >= 0;
	o->old = o->fd >= 0 && !o->is_made;
	return o->fd < 0 ? o->fd : 0;
}

static void take_old(struct xvt_out *o)
{
	int err = o->old ? xvt_output_empty(o->fd) : 0;

	if (!o->err)
		o->err = err;
	o->old = false;
}

static void forget_made(struct xvt_out *o)
{
	if (o->is_made)
		xvt_made_close(&o->made);
	o->is_made = false;
}

int xvt_out_flush(struct xvt_out *o)
{
	size_t done = 0;

	if (o->fd < 0)
		return o->err;
	if (o->used)
		take_old(o);
	o->all += o->used;
	if (o->most && o->all > o->most && !o->err)
		o->err = -EFBIG;
	while (!o->err && done < o->used) {
		ssize_t n = write(o->fd, o->buf + done, o->used - done);

		if (n < 0 && errno != EINTR)
			o->err = -errno;
		else if (n > 0)
			done += (size_t)n;
	}
	o->used = 0;
	return o->err;
}

int xvt_out_close(struct xvt_out *o)
{
	xvt_out_flush(o);
	if (o->fd >= 0)
		take_old(o);
	/* Some file systems report a full disk only at close(). */
	if (o->fd >= 0 && close(o->fd) && !o->err)
		o->err = -errno;
	o->fd = -1;
	forget_made(o);
	return o->err;
}

void xvt_out_drop(struct xvt_out *o)
{
	if (o->is_made)
		xvt_made_remove(&o->made, o->fd);
	forget_made(o);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	o->used = 0;
}

void xvt_out_full(struct xvt_out *o)
{
	if (o->less) {
		o->used = XVT_OUT_ROOM - o->less;
		o->cut = true;
	} else if (o->fd >= 0) {
		xvt_out_flush(o);
	} else {
		o->used = XVT_OUT_ROOM;
	}
}

void xvt_out_cut(struct xvt_out *o)
{
	const uint8_t *p = (const uint8_t *)o->buf;
	size_t back = 0;
	uint32_t code;

	o->cut = false;
	while (back < 4 && back < o->used && p[o->used - 1 - back] >> 6 == 2)
		back++;
	/* The first byte of the last character, if that has more than one. */
	if (back < o->used && p[o->used - 1 - back] >= 0xc0 &&
	    xvt_utf8_next(p + o->used - 1 - back, back + 1, &code) != back + 1)
		o->used -= back + 1;
}

void xvt_out_long(struct xvt_out *o, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		size_t n = XVT_OUT_ROOM - o->less - o->used;

		if (n > len)
			n = len;
		memcpy(o->buf + o->used, p, n);
		xvt_out_wrote(o, n);
		p += n;
		len -= n;
		if (len && (o->fd < 0 || o->less))
			return;
	}
}

/*
 * Eight decimal digits of v < 10^8, the first one in the lowest byte: v is halved into pairs of
 * four, two and one digits, all pairs at once in one word. x * 10486 >> 20 is x / 100 for x < 10^4,
 * x * 103 >> 10 is x / 10 for x < 100.
 */
static inline uint64_t digits8(uint32_t v)
{
	uint64_t n = v / 10000 | (uint64_t)(v % 10000) << 32;
	uint64_t high = (n * 10486 >> 20) & 0x7f0000007full;

	n = high + ((n - high * 100) << 16);
	high = (n * 103 >> 10) & 0x000f000f000f000full;
	return high + ((n - high * 10) << 8);
}

#define ASCII_ZEROS 0x3030303030303030ull

static inline size_t put_digits8(char *p, uint32_t v)
{
	uint64_t n = digits8(v) + ASCII_ZEROS;

	memcpy(p, &n, 8);
	return 8;
}

/* Without leading zeros. Always writes eight bytes; returns the number of digits. */
static inline size_t put_digits(char *p, uint32_t v)
{
	uint64_t n = digits8(v);
	unsigned int skip = n ? (unsigned int)__builtin_ctzll(n) / 8 : 7;

	n = (n + ASCII_ZEROS) >> 8 * skip;
	memcpy(p, &n, 8);
	return 8 - skip;
}

static size_t put_u64(char *p, uint64_t v)
{
	const uint64_t e8 = 100000000;
	size_t n;

	if (v < e8)
		return put_digits(p, (uint32_t)v);
	if (v < e8 * e8) {
		n = put_digits(p, (uint32_t)(v / e8));
		return n + put_digits8(p + n, (uint32_t)(v % e8));
	}
	n = put_digits(p, (uint32_t)(v / (e8 * e8)));
	v %= e8 * e8;
	n += put_digits8(p + n, (uint32_t)(v / e8));
	return n + put_digits8(p + n, (uint32_t)(v % e8));
}

void xvt_out_u64(struct xvt_out *o, uint64_t v)
{
	xvt_out_wrote(o, put_u64(o->buf + o->used, v));
}

void xvt_out_i64(struct xvt_out *o, int64_t v)
{
	char *p = o->buf + o->used;

	p[0] = '-';
	xvt_out_wrote(o, v < 0 ? 1 + put_u64(p + 1, -(uint64_t)v) : put_u64(p, (uint64_t)v));
}

void xvt_out_hex(struct xvt_out *o, uint64_t v, unsigned int digits)
{
	static const char names[] = "0123456789abcdef";
	unsigned int n = v ? (unsigned int)(67 - __builtin_clzll(v)) / 4 : 1;

	if (n < digits)
		n = digits;
	for (unsigned int i = n; i-- > 0; v >>= 4)
		o->buf[o->used + i] = names[v & 15];
	xvt_out_wrote(o, n);
}

void xvt_out_printf(struct xvt_out *o, const char *format, ...)
{
	char text[1024];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len > 0)
		xvt_out_bytes(o, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void xvt_out_time(struct xvt_out *o, uint64_t ns)
{
	uint32_t fraction = (uint32_t)(ns % 1000000000);
	char *p = o->buf + o->used;
	size_t n = put_u64(p, ns / 1000000000);

	p[n++] = '.';
	n += put_digits8(p + n, fraction / 10);
	p[n++] = (char)('0' + fraction % 10);
	xvt_out_wrote(o, n);
}

size_t xvt_utf8_next(const uint8_t *p, size_t len, uint32_t *code)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n, i;
	uint32_t c = p[0];

	if (c && c < 0x80) {
		*code = c;
		return 1;
	}
	*code = 0xfffd;
	n = c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
	if (!n || n > len)
		return 1;
	c &= 0x7fu >> n;
	for (i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 1;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 1;
	*code = c;
	return n;
}

bool xvt_text_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || /* C0, DEL, C1 */
	       c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) ||		    /* change the direction of text */
	       c == 0x2028 || c == 0x2029 ||		    /* line ends */
	       c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb); /* invisible, annotation */
}

/* JSON has no \\x. */
static size_t escape(char *to, uint32_t c, bool json)
{
	static const char names[] = "\b\f\n\r\tbfnrt", hex[] = "0123456789abcdef";
	const char *at = c < 0x20 ? memchr(names, (int)c, 5) : NULL;
	size_t n = 0;

	to[n++] = '\\';
	if (at) {
		to[n++] = at[5];
		return n;
	}
	to[n++] = json || c > 0xff ? 'u' : 'x';
	if (to[n - 1] == 'u') {
		to[n++] = hex[c >> 12 & 15];
		to[n++] = hex[c >> 8 & 15];
	}
	to[n++] = hex[c >> 4 & 15];
	to[n++] = hex[c & 15];
	return n;
}

/* Three digits of a time, or more of seconds, and its unit. up: the next larger one. */
static void put_three(struct xvt_out *o, uint64_t ns, bool up, const char *between)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	static const uint64_t tens[] = { 1, 10, 100 };
	uint64_t unit = 1, n = ns;
	unsigned int i = 0, digits = 0;

	while (n >= 1000 && (i < 3 || digits)) {
		uint64_t step, rest;

		if (digits) {
			digits--;
		} else {
			unit *= 1000;
			digits = 2;
			i++;
		}
		step = unit / tens[digits];
		rest = ns % step;
		n = ns / step + (up ? rest > 0 : rest >= step - rest);
	}
	if (digits)
		xvt_out_printf(o, "%llu.%0*llu", (unsigned long long)(n / tens[digits]),
			       (int)digits, (unsigned long long)(n % tens[digits]));
	else
		xvt_out_u64(o, n);
	xvt_out_str(o, between);
	xvt_out_str(o, units[i]);
}

void xvt_out_duration(struct xvt_out *o, uint64_t ns)
{
	put_three(o, ns, false, " ");
}

void xvt_out_bound(struct xvt_out *o, uint64_t ns, const char *between)
{
	put_three(o, ns, true, between);
}

const char *xvt_digits(char text[XVT_DIGITS_LEN], uint64_t n)
{
	char plain[XVT_DIGITS_LEN];
	const int len = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)n);
	int to = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[to++] = ',';
		text[to++] = plain[i];
	}
	text[to] = '\0';
	return text;
}

void xvt_out_count(struct xvt_out *o, uint64_t n)
{
	char text[XVT_DIGITS_LEN];

	xvt_out_str(o, xvt_digits(text, n));
}

void xvt_out_date(struct xvt_out *o, uint64_t wall_ns, char between, unsigned int digits)
{
	/* Many times in a row are of one second. */
	static _Thread_local char text[64];
	static _Thread_local uint64_t text_s = UINT64_MAX;
	const uint64_t second = wall_ns / 1000000000;
	const time_t t = (time_t)second;
	char fraction[16];
	struct tm tm;

	if (second != text_s && !localtime_r(&t, &tm)) {
		xvt_out_time(o, wall_ns);
		return;
	}
	if (second != text_s)
		snprintf(text, sizeof(text), "%04d-%02d-%02d%c%02d:%02d:%02d", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday, between, tm.tm_hour, tm.tm_min, tm.tm_sec);
	text_s = second;
	text[10] = between;
	xvt_out_str(o, text);
	snprintf(fraction, sizeof(fraction), "%09u", (unsigned int)(wall_ns % 1000000000));
	xvt_out_char(o, '.');
	xvt_out_bytes(o, fraction, digits);
}

void xvt_out_within(struct xvt_out *o, uint64_t ns)
{
	if (ns >= INT64_MAX) {
		xvt_out_str(o, "no bound");
		return;
	}
	xvt_out_str(o, "within ");
	xvt_out_bound(o, ns, " ");
}

/* Loads 1 to 7 bytes as a word; the other bytes are set to a letter. */
static uint64_t load_tail(const uint8_t *p, size_t len)
{
	uint64_t v = p[0];
	uint32_t a, b;
	uint16_t c, d;

	if (len >= 4) {
		memcpy(&a, p, 4);
		memcpy(&b, p + len - 4, 4);
		v = a | (uint64_t)b << 8 * (len - 4);
	} else if (len >= 2) {
		memcpy(&c, p, 2);
		memcpy(&d, p + len - 2, 2);
		v = c | (uint64_t)d << 8 * (len - 2);
	}
	return v | 0x6161616161616161ull << 8 * len;
}

/*
 * True if every byte is written unchanged in every style: printable ASCII but for quotes and
 * backslashes. A high bit is set where a byte is below 0x20, a quote, a backslash, DEL, or above
 * ASCII. A borrow can set one more, which only costs time.
 */
static inline bool plain8(uint64_t v)
{
	const uint64_t ones = ~0ull / 255, highs = ones << 7;
	uint64_t quote = v ^ ones * '"', slash = v ^ ones * '\\', del = v ^ ones * 0x7f;

	return !(((v - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones) | v) & highs);
}

/* Writes the plain prefix of the text, in steps of eight bytes. Returns its length; put_text()
 * writes the rest. */
static size_t put_plain(struct xvt_out *o, const uint8_t *p, size_t len)
{
	size_t done = 0, n = 8;

	for (; done < len; done += n) {
		uint64_t v;

		if (len - done >= 8)
			memcpy(&v, p + done, 8);
		else
			v = load_tail(p + done, n = len - done);
		if (!plain8(v))
			break;
		memcpy(o->buf + o->used, &v, 8);
		xvt_out_wrote(o, n);
	}
	return done;
}

size_t xvt_text_escape(char to[XVT_ESCAPE_MOST], uint32_t code)
{
	return escape(to, code, false);
}

/* True if a character of n bytes must be replaced. */
static bool needs_stand_in(uint32_t c, size_t n, bool json)
{
	return (c == 0xfffd && n == 1) || xvt_text_unsafe(c) || (json && (c == '"' || c == '\\'));
}

/*
 * Writes the replacement of a character. Returns its length; 0: the character is written unchanged.
 */
static size_t stand_in(char to[XVT_ESCAPE_MOST], uint32_t c, size_t n, bool json)
{
	if (c == 0xfffd && n == 1) {
		memcpy(to, "\xef\xbf\xbd", 3);
		return 3;
	}
	if (xvt_text_unsafe(c))
		return escape(to, c, json);
	if (!json || (c != '"' && c != '\\'))
		return 0;
	to[0] = '\\';
	to[1] = (char)c;
	return 2;
}

static void put_text(struct xvt_out *o, const uint8_t *p, size_t len, bool json)
{
	bool clipped = false;
	size_t i, plain;

	/* A replacement is never shorter than its character, so longer text cannot fit. */
	if (o->less && len > XVT_OUT_ROOM - o->less - o->used) {
		len = XVT_OUT_ROOM - o->less - o->used;
		clipped = true;
	}
	i = plain = put_plain(o, p, len);

	while (i < len && !o->cut) {
		uint32_t c;
		size_t n = xvt_utf8_next(p + i, len - i, &c), m;

		if (i > plain && needs_stand_in(c, n, json)) {
			xvt_out_bytes(o, p + plain, i - plain);
			plain = i;
		}
		m = i > plain ? 0 : stand_in(o->buf + o->used, c, n, json);
		i += n;
		if (m) {
			xvt_out_wrote(o, m);
			plain = i;
		}
	}
	xvt_out_bytes(o, p + plain, i - plain);
	o->cut |= clipped;
}

void xvt_out_text(struct xvt_out *o, const void *text, size_t len)
{
	put_text(o, text, len, false);
}

void xvt_out_quoted(struct xvt_out *o, const void *text, size_t len)
{
	xvt_out_char(o, '"');
	put_text(o, text, len, true);
	xvt_out_char(o, '"');
}

void xvt_out_json(struct xvt_out *o, const void *json, size_t len)
{
	const uint8_t *p = json;
	size_t i = 0, plain = 0;

	while (i < len) {
		char other[XVT_ESCAPE_MOST];
		uint32_t c;
		size_t n = xvt_utf8_next(p + i, len - i, &c);

		if (c >= 0x7f && xvt_text_unsafe(c)) {
			xvt_out_bytes(o, p + plain, i - plain);
			xvt_out_bytes(o, other, escape(other, c, true));
			plain = i + n;
		}
		i += n;
	}
	xvt_out_bytes(o, p + plain, i - plain);
}

size_t xvt_text_clean(char *to, size_t room, const void *text, size_t len)
{
	const uint8_t *p = text;
	size_t i = 0, used = 0;

	while (i < len) {
		char other[XVT_ESCAPE_MOST];
		uint32_t c;
		size_t n = xvt_utf8_next(p + i, len - i, &c), m = stand_in(other, c, n, false);

		if (used + (m ? m : n) >= room)
			break;
		memcpy(to + used, m ? other : (const char *)p + i, m ? m : n);
		used += m ? m : n;
		i += n;
	}
	to[used] = '\0';
	return i;
}

void xvt_uuid_text(const uint8_t uuid[16], char text[XVT_UUID_TEXT])
{
	int at = 0, i;

	for (i = 0; i < 16; i++)
		at += snprintf(text + at, XVT_UUID_TEXT - (unsigned int)at,
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

bool xvt_uuid_is_none(const uint8_t uuid[16])
{
	static const uint8_t none[16];

	return !memcmp(uuid, none, sizeof(none));
}
