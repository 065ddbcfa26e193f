// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-spoil.c - makes one thing in a trace wrong, in place, to see who notices. In the middle of
 * the first chunk of EVENTS, where two events of one ring follow each other:
 *
 *   swap     the two change places
 *   order    their times and clocks do
 *   number   the second's number, its payload's second word, is one higher
 *   time     its time is one nanosecond later
 *   clock    its guest clock lies before the first's; its time with it
 *   byte     one bit of it is another; only here the chunk's checksum is left as it was
 *
 *   xvt-spoil FILE.xvt WHAT
 *
 * Or in the last chunk of a type, which is a number as in xvt-format(5):
 *
 *   chunk TYPE   one bit of the payload's middle is another; the checksum is left as it was
 *   flags TYPE   the header has a flag that no program knows; the checksum is right
 *   short TYPE   the payload is a byte shorter, where no such chunk can be; the checksum is right
 *   uuid 1       the trace's UUID is not what the chunks' headers say; the checksum is right
 *
 *   xvt-spoil FILE.xvt WHAT TYPE
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"
#include "trace_read.h"

#define EVENT 40u /* bytes: xvt-emit's, of 16 */

struct event {
	struct xvt_event_hdr hdr;
	uint64_t words[2];
};
XVT_ASSERT(sizeof(struct event) == EVENT, "an event of xvt-emit");

static void mend_sum(struct xvt_chunk_hdr *h)
{
	h->crc = 0;
	h->crc = xvt_crc32c(0, h, sizeof(*h) + h->len);
}

static struct xvt_chunk_hdr *last_of(uint8_t *at, const uint8_t *end, unsigned long type)
{
	struct xvt_chunk_hdr *last = NULL;

	while (at < end) {
		struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)at;

		if (h->type == type && h->len)
			last = h;
		at += sizeof(*h) + ((h->len + 7) & ~7u);
	}
	return last;
}

static int spoil_chunk(struct xvt_chunk_hdr *h, const char *what)
{
	uint8_t *payload = (uint8_t *)(h + 1);

	if (!strcmp(what, "chunk")) {
		payload[h->len / 2] ^= 1;
		return 0;
	}
	if (!strcmp(what, "flags"))
		h->flags |= 0x4000;
	else if (!strcmp(what, "short"))
		h->len--; /* so the next chunk begins where it did */
	else if (!strcmp(what, "uuid"))
		((struct xvt_file_info *)payload)->uuid[0] ^= 1;
	else
		return -1;
	mend_sum(h);
	return 0;
}

static struct xvt_chunk_hdr *first_events(uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)at;

		if (h->type == XVT_CHUNK_ORDER)
			return h;
		at += sizeof(*h) + ((h->len + 7) & ~7u);
	}
	return NULL;
}

/* The first of two neighbours in the chunk's second half. */
static struct event *neighbours(struct xvt_chunk_hdr *h)
{
	struct xvt_chunk_buf b = { .payload = (uint8_t *)(h + 1), .len = h->len };
	const struct xvt_event_hdr *last = NULL;
	struct xvt_events_iter it = { 0 };
	struct xvt_event ev;

	if (xvt_events_begin(&it, NULL, &b, h->seq))
		return NULL;
	while (xvt_events_next(&it, &ev) == 1) {
		bool plain = ev.hdr->id == XVT_ID_U64 && ev.hdr->len == sizeof(uint64_t[2]);

		if (plain && last && last->ring_flags == ev.hdr->ring_flags &&
		    last->host_ns < ev.hdr->host_ns &&
		    (const uint8_t *)ev.hdr - b.payload > b.len / 2)
			return (struct event *)last;
		last = plain ? ev.hdr : NULL;
	}
	return NULL;
}

static int spoil(struct event *e, const char *what)
{
	struct event first = e[0];

	if (!strcmp(what, "swap")) {
		e[0] = e[1];
		e[1] = first;
	} else if (!strcmp(what, "order")) {
		e[0].hdr = e[1].hdr;
		e[1].hdr = first.hdr;
	} else if (!strcmp(what, "number")) {
		e[1].words[1]++;
	} else if (!strcmp(what, "time")) {
		e[1].hdr.host_ns++;
	} else if (!strcmp(what, "clock")) {
		e[1].hdr.guest_clock = first.hdr.guest_clock - 1;
		e[1].hdr.host_ns = first.hdr.host_ns;
	} else if (!strcmp(what, "byte")) {
		e[1].words[1] ^= 1;
	} else {
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct xvt_chunk_hdr *h;
	struct event *e;
	struct stat st;
	uint8_t *map;
	int fd;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: xvt-spoil FILE.xvt WHAT [TYPE]\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		perror(argv[1]);
		return 1;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	if (argc == 4) {
		h = last_of(map, map + st.st_size, strtoul(argv[3], NULL, 10));
		if (h && !spoil_chunk(h, argv[2]))
			return 0;
		fprintf(stderr, "xvt-spoil: %s: %s\n", argv[1],
			h ? "no such thing" : "no chunk of this type");
		return 1;
	}
	h = first_events(map, map + st.st_size);
	e = h ? neighbours(h) : NULL;
	if (!e || spoil(e, argv[2])) {
		fprintf(stderr, "xvt-spoil: %s: %s\n", argv[1],
			e ? "no such thing" : "no two neighbours");
		return 1;
	}
	if (strcmp(argv[2], "byte") != 0)
		mend_sum(h);
	return 0;
}
