// SPDX-License-Identifier: GPL-2.0
/* out.c - see out.h. */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int xvt_out_open(struct xvt_out *o, const char *path)
{
	o->used = 0;
	o->err = 0;
	o->fd = STDOUT_FILENO;
	if (strcmp(path, "-") != 0)
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return o->fd < 0 ? -errno : 0;
}

int xvt_out_flush(struct xvt_out *o)
{
	size_t done = 0;

	if (o->fd < 0)
		return o->err;
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
	/* Some file systems tell only here that the disk is full. */
	if (o->fd >= 0 && close(o->fd) && !o->err)
		o->err = -errno;
	o->fd = -1;
	return o->err;
}

void xvt_out_bytes(struct xvt_out *o, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		size_t n = XVT_OUT_ROOM - o->used;

		if (n > len)
			n = len;
		memcpy(o->buf + o->used, p, n);
		o->used += n;
		p += n;
		len -= n;
		if (len && o->fd < 0)
			return;
		if (len)
			xvt_out_flush(o);
	}
}

void xvt_out_str(struct xvt_out *o, const char *text)
{
	xvt_out_bytes(o, text, strlen(text));
}

void xvt_out_u64(struct xvt_out *o, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	xvt_out_bytes(o, digits + at, sizeof(digits) - at);
}

void xvt_out_i64(struct xvt_out *o, int64_t v)
{
	if (v < 0)
		xvt_out_char(o, '-');
	xvt_out_u64(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
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
	char digits[10];

	xvt_out_u64(o, ns / 1000000000);
	digits[0] = '.';
	for (int i = 9; i > 0; i--) {
		digits[i] = (char)('0' + fraction % 10);
		fraction /= 10;
	}
	xvt_out_bytes(o, digits, sizeof(digits));
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

enum text_style {
	STYLE_PEOPLE,
	STYLE_QUOTED,
	STYLE_UTF8,
};

static void put_control(struct xvt_out *o, uint32_t c, enum text_style style)
{
	static const char names[] = "\b\f\n\r\tbfnrt";
	const char *at = c < 0x20 ? memchr(names, (int)c, 5) : NULL;

	if (at) {
		xvt_out_char(o, '\\');
		xvt_out_char(o, at[5]);
	} else {
		xvt_out_printf(o, style == STYLE_QUOTED ? "\\u%04x" : "\\x%02x", (unsigned int)c);
	}
}

static void put_text(struct xvt_out *o, const uint8_t *p, size_t len, enum text_style style)
{
	size_t i = 0, plain = 0;

	while (i < len) {
		uint32_t c;
		size_t n = xvt_utf8_next(p + i, len - i, &c);
		bool bad = c == 0xfffd && n == 1;
		bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
		bool special = style == STYLE_QUOTED && (c == '"' || c == '\\');

		if (!bad && !special && (!control || style == STYLE_UTF8)) {
			i += n;
			continue;
		}
		xvt_out_bytes(o, p + plain, i - plain);
		if (bad)
			xvt_out_bytes(o, "\xef\xbf\xbd", 3);
		else if (control)
			put_control(o, c, style);
		else
			xvt_out_printf(o, "\\%c", (char)c);
		i += n;
		plain = i;
	}
	xvt_out_bytes(o, p + plain, i - plain);
}

void xvt_out_text(struct xvt_out *o, const void *text, size_t len)
{
	put_text(o, text, len, STYLE_PEOPLE);
}

void xvt_out_quoted(struct xvt_out *o, const void *text, size_t len)
{
	xvt_out_char(o, '"');
	put_text(o, text, len, STYLE_QUOTED);
	xvt_out_char(o, '"');
}

void xvt_out_utf8(struct xvt_out *o, const void *text, size_t len)
{
	put_text(o, text, len, STYLE_UTF8);
}
