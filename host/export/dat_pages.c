// SPDX-License-Identifier: GPL-2.0
/* dat_pages.c - see dat.h. Pages as of ftrace's ring buffer, and the spool where they wait. */
#define _GNU_SOURCE /* copy_file_range() */
#include "export/dat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/vec.h"

/* Types of records above the short lengths, with a difference of time in 27 bits. */
#define TYPE_TIME_EXTEND 30u
#define DELTA_BITS	 27
#define DELTA_MASK	 ((1u << DELTA_BITS) - 1)
/* The longest difference of a time extend, ns: 18 years. */
#define DELTA_MAX_BITS	 59
#define SHORT_LEN_MAX	 112u

/* Flags in the page's length. */
#define MISSED_EVENTS	 (1ull << 31)
#define MISSED_STORED	 (1ull << 30) /* their number follows the records */
#define MISSED_LEN	 8u

#define BLOCK_LEN	 ((size_t)DAT_BLOCK_PAGES * DAT_PAGE)
#define OPEN_MAX	 (64u << 20) /* bytes of all open blocks */

static uint8_t *page_of(const struct dat_cpu *c)
{
	return c->block + (size_t)c->page * DAT_PAGE;
}

/* Append bytes of a CPU. */
static int spool_put(struct dat_spool *s, struct dat_cpu *c, const void *p, size_t len)
{
	struct dat_extent *last = c->extent_count ? &c->extents[c->extent_count - 1] : NULL;
	int err;

	if (!last || last->offset + last->len != s->len) {
		if (xvt_grow(&c->extents, &c->extent_room, c->extent_count + 1,
			     sizeof(*c->extents)))
			return -ENOMEM;
		last = &c->extents[c->extent_count++];
		*last = (struct dat_extent){ .offset = s->len };
	}
	err = xvt_write_all(s->fd, p, len);
	if (err)
		return err;
	last->len += len;
	s->len += len;
	return 0;
}

static int spool_pack(struct dat_spool *s, struct dat_cpu *c, const uint8_t *block, size_t len)
{
	const size_t bound = xvt_pack_bound(BLOCK_LEN);
	uint32_t lens[2] = { 0, (uint32_t)len };
	ssize_t n;

	if (!s->packed)
		s->packed = malloc(sizeof(lens) + bound);
	if (!s->packed)
		return -ENOMEM;
	n = xvt_pack(s->packer, s->packed + sizeof(lens), bound, block, len);
	if (n < 0)
		return (int)n;
	lens[0] = (uint32_t)n;
	memcpy(s->packed, lens, sizeof(lens));
	c->pieces++;
	return spool_put(s, c, s->packed, sizeof(lens) + (size_t)n);
}

static int spool_write(struct dat_spool *s, struct dat_cpu *c)
{
	const size_t len = (size_t)c->page * DAT_PAGE;

	c->page = 0;
	if (!len)
		return 0;
	if (s->thread)
		return dat_thread_give(s->thread, spool_pack, s, c, len);
	return s->packer ? spool_pack(s, c, c->block, len) : spool_put(s, c, c->block, len);
}

static void close_page(struct dat_cpu *c)
{
	uint8_t *page = page_of(c);
	uint64_t commit = c->used;

	memset(page + DAT_PAGE_HEAD + c->used, 0, DAT_PAGE_DATA - c->used);
	/* Without a number readers say that there is none. */
	if (c->missed_more) {
		commit |= MISSED_EVENTS;
	} else if (c->missed) {
		commit |= MISSED_EVENTS | MISSED_STORED;
		memcpy(page + DAT_PAGE_HEAD + c->used, &c->missed, MISSED_LEN);
	}
	c->missed = 0;
	c->missed_more = false;
	memcpy(page + 8, &commit, sizeof(commit));
	c->open = false;
	c->page++;
}

/* The CPU keeps a block. */
static int write_full(struct dat_spool *s, struct dat_cpu *c)
{
	const int err = spool_write(s, c);

	if (err)
		return err;
	if (!c->block)
		c->block = malloc(BLOCK_LEN);
	return c->block ? 0 : -ENOMEM;
}

static int begin_page(struct dat_spool *s, struct dat_cpu *c, uint64_t ns)
{
	int err = 0;

	if (c->block && c->page == DAT_BLOCK_PAGES)
		err = write_full(s, c);
	if (!err && !c->block && s->open_bytes + BLOCK_LEN > OPEN_MAX)
		err = dat_spool_flush(s);
	if (err)
		return err;
	if (!c->block) {
		c->block = malloc(BLOCK_LEN);
		if (!c->block)
			return -ENOMEM;
		c->next = s->open;
		s->open = c;
		s->open_bytes += BLOCK_LEN;
	}
	memcpy(page_of(c), &ns, sizeof(ns));
	c->used = 0;
	c->room = DAT_PAGE_DATA - (c->missed ? MISSED_LEN : 0);
	c->last_ns = ns;
	c->open = true;
	return 0;
}

int dat_spool_flush(struct dat_spool *s)
{
	while (s->open) {
		struct dat_cpu *c = s->open;
		int err;

		if (c->open)
			close_page(c);
		err = spool_write(s, c);
		if (err)
			return err;
		free(c->block);
		c->block = NULL;
		s->open = c->next;
	}
	s->open_bytes = 0;
	return 0;
}

int dat_record(struct dat_spool *s, struct dat_cpu *c, uint64_t ns, size_t len, uint8_t **to)
{
	const uint32_t size = (uint32_t)(len + 3) & ~3u;
	const uint32_t head = size && size <= SHORT_LEN_MAX ? 4 : 8;
	uint64_t delta = ns - c->last_ns;
	uint32_t extend = delta >> DELTA_BITS ? 8 : 0;
	uint32_t words[2];
	uint8_t *at;
	int err;

	if (c->open && (c->used + extend + head + size > c->room || delta >> DELTA_MAX_BITS))
		close_page(c);
	if (!c->open) {
		err = begin_page(s, c, ns);
		if (err)
			return err;
		delta = 0;
		extend = 0;
	}
	at = page_of(c) + DAT_PAGE_HEAD + c->used;
	if (extend) {
		words[0] = TYPE_TIME_EXTEND | (uint32_t)(delta & DELTA_MASK) << 5;
		words[1] = (uint32_t)(delta >> DELTA_BITS);
		memcpy(at, words, sizeof(words));
		at += sizeof(words);
		delta = 0;
	}
	words[0] = (head == 4 ? size / 4 : 0) | (uint32_t)delta << 5;
	words[1] = size + 4;
	memcpy(at, words, head);
	if (size > len)
		memset(at + head + size - 4, 0, 4);
	c->used += extend + head + size;
	c->last_ns = ns;
	*to = at + head;
	return 0;
}

void dat_lost(struct dat_cpu *c, uint64_t lost, bool at_least)
{
	if (c->open)
		close_page(c);
	c->missed_more |= at_least;
	/* Readers take the number as an int. */
	c->missed = lost > INT32_MAX - c->missed ? INT32_MAX : c->missed + lost;
	c->lost += lost;
}

uint64_t dat_cpu_len(const struct dat_cpu *c)
{
	uint64_t len = 0;

	for (size_t i = 0; i < c->extent_count; i++)
		len += c->extents[i].len;
	return len;
}

/* For systems that cannot copy from one file to the other. */
static int copy_by_hand(int from, const struct dat_extent *e, int to)
{
	static uint8_t bytes[BLOCK_LEN];
	uint64_t done = 0;
	int err = 0;

	while (done < e->len && !err) {
		const size_t len = e->len - done < BLOCK_LEN ? (size_t)(e->len - done) : BLOCK_LEN;

		err = xvt_read_all_at(from, bytes, len, e->offset + done);
		if (!err)
			err = xvt_write_all(to, bytes, len);
		done += len;
	}
	return err;
}

static int copy_extent(int from, const struct dat_extent *e, int to)
{
	uint64_t len = e->len;
	off_t offset = (off_t)e->offset;

	while (len) {
		ssize_t n = copy_file_range(from, &offset, to, NULL, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == ENOSPC || errno == EIO || errno == EDQUOT || errno == EFBIG))
			return -errno;
		if (n <= 0)
			return copy_by_hand(from, &(struct dat_extent){ (uint64_t)offset, len },
					    to);
		len -= (uint64_t)n;
	}
	return 0;
}

int dat_spool_copy(struct dat_spool *s, const struct dat_cpu *c, int fd)
{
	int err = 0;

	for (size_t i = 0; i < c->extent_count && !err; i++)
		err = copy_extent(s->fd, &c->extents[i], fd);
	return err;
}

void dat_spool_fini(struct dat_spool *s)
{
	if (s->thread)
		dat_thread_wait(s->thread);
	xvt_packer_free(s->packer);
	free(s->packed);
	if (s->fd >= 0)
		close(s->fd);
}
