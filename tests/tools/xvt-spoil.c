// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-spoil.c - makes one thing in a trace wrong, in place, to see what notices. In the first ORDER
 * chunk with a source of some records, where two of them follow each other:
 *
 *   swap     their payloads change places
 *   number   the second's number, its payload's second word, is one higher
 *   byte     one bit of that is another; only here the chunk's checksum is left as it was
 *
 * Of the line that they lie on:
 *
 *   order    it is 10 ms earlier
 *   time     it is one nanosecond later
 *
 * And of the first source of its ring in a later ORDER chunk:
 *
 *   clock    it lies one turn of the short stamps before the ring's records in earlier ones
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

#include "trace/crc32c.h"
#include "trace/read.h"
#include "xvt_ring.h"

#define RECORD 24u /* bytes: a header and xvt-emit's 16 */

static void mend_sum(struct xvt_chunk_hdr *h)
{
	h->crc = 0;
	h->crc = xvt_crc32c(0, h, sizeof(*h) + h->len);
}

static uint8_t *behind(struct xvt_chunk_hdr *h)
{
	return (uint8_t *)(h + 1) + ((h->len + 7) & ~7u);
}

static struct xvt_chunk_hdr *last_of(uint8_t *at, const uint8_t *end, unsigned long type)
{
	struct xvt_chunk_hdr *last = NULL;

	while (at < end) {
		struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)at;

		if (h->type == type && h->len)
			last = h;
		at = behind(h);
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

/* The next ORDER chunk at or behind `at`, or NULL. */
static struct xvt_chunk_hdr *order_chunk(uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)at;

		if (h->type == XVT_CHUNK_ORDER && h->len)
			return h;
		at = behind(h);
	}
	return NULL;
}

/* The tables of an ORDER chunk. */
struct tables {
	struct xvt_order_hdr *hdr;
	uint64_t *raws;
	struct xvt_order_line *lines;
	struct xvt_order_source *sources;
};

static struct tables tables_of(struct xvt_chunk_hdr *h)
{
	struct tables t = { .hdr = (struct xvt_order_hdr *)(h + 1) };

	t.raws = (uint64_t *)((uint8_t *)(t.hdr + 1) + t.hdr->own_len);
	t.lines = (struct xvt_order_line *)(t.raws + t.hdr->nr_raws);
	t.sources = (struct xvt_order_source *)(t.lines + t.hdr->nr_lines);
	return t;
}

/* A source of some plain records of xvt-emit's, in the second half of them. */
static struct xvt_order_source *middle(const struct tables *t)
{
	uint32_t i;

	for (i = t->hdr->nr_sources / 2; i < t->hdr->nr_sources; i++) {
		if (t->sources[i].count >= 4)
			return &t->sources[i];
	}
	return NULL;
}

/* The chunk with that sequence number. */
static struct xvt_chunk_hdr *chunk_of(uint8_t *map, uint64_t seq)
{
	struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)map;

	while (h->seq != seq)
		h = (struct xvt_chunk_hdr *)behind(h);
	return h;
}

/* The payloads of a source's last two records. */
static int spoil_records(uint8_t *map, const struct tables *t, const struct xvt_order_source *s,
			 const char *what)
{
	struct xvt_chunk_hdr *raw = chunk_of(map, t->raws[s->raw]);
	uint64_t *first, *second, word;
	uint8_t *at = (uint8_t *)(raw + 1) + s->at;
	uint32_t i;

	/* The first one may have a full stamp. */
	at += xvt_header_len(*(uint64_t *)at);
	for (i = 1; i < s->skip + 2u; i++)
		at += RECORD;
	first = (uint64_t *)at + 1;
	second = (uint64_t *)(at + RECORD) + 1;
	if (!strcmp(what, "swap")) {
		word = first[1];
		first[1] = second[1];
		second[1] = word;
	} else if (!strcmp(what, "number")) {
		second[1]++;
	} else {
		second[1] ^= 1;
		return 0;
	}
	mend_sum(raw);
	return 0;
}

static int spoil(uint8_t *map, struct xvt_chunk_hdr *h, const char *what)
{
	struct tables t = tables_of(h);
	struct xvt_order_source *s = middle(&t);

	if (!s)
		return -1;
	if (!strcmp(what, "swap") || !strcmp(what, "number") || !strcmp(what, "byte"))
		return spoil_records(map, &t, s, what);
	if (!strcmp(what, "order"))
		t.lines[s->line].host_ns -= 10000000;
	else if (!strcmp(what, "time"))
		t.lines[s->line].host_ns++;
	else
		return -1;
	mend_sum(h);
	return 0;
}

static int spoil_clock(struct xvt_chunk_hdr *h)
{
	struct tables t = tables_of(h);
	const uint64_t turn = t.hdr->nr_sources ? 1ull << t.sources[0].ts_bits : 0;

	if (!turn)
		return -1;
	t.sources[0].ts -= turn;
	t.lines[t.sources[0].line].guest -= turn;
	mend_sum(h);
	return 0;
}

int main(int argc, char **argv)
{
	struct xvt_chunk_hdr *h;
	bool clock;
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
	clock = !strcmp(argv[2], "clock");
	h = order_chunk(map, map + st.st_size);
	if (h && clock)
		h = order_chunk(behind(h), map + st.st_size);
	/* The first ones of a recorder that was slow to start may have too few records of a source.
	 */
	while (h && (clock ? spoil_clock(h) : spoil(map, h, argv[2])))
		h = order_chunk(behind(h), map + st.st_size);
	if (!h) {
		fprintf(stderr, "xvt-spoil: %s: no such thing\n", argv[1]);
		return 1;
	}
	return 0;
}
