// SPDX-License-Identifier: GPL-2.0
/*
 * chunk.c - one chunk of a file: its header, checksum and compression; and the contents of those
 * that older recorders wrote shorter. Reads by pread(), never by a mapping: a file may shrink while
 * it is read.
 */
#include "trace/parts.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "trace/crc32c.h"

ssize_t xvt_trace_read_at(struct xvt_trace *t, void *bytes, size_t len, uint64_t offset)
{
	size_t done = 0;

	if (t->ops)
		return t->ops->read_at(t, bytes, len, offset);
	while (done < len) {
		ssize_t n = pread(t->fd, (char *)bytes + done, len - done, (off_t)(offset + done));

		t->reads++;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
		t->read_len += (uint64_t)n;
	}
	return (ssize_t)done;
}

void xvt_trace_note_damage(struct xvt_trace *t, uint64_t offset, uint64_t len, const char *why)
{
	struct xvt_damage d = { offset, len, why, NULL };

	if (t->ops)
		t->ops->locate(t, &d);
	if (t->damage_count < XVT_DAMAGE_MAX)
		t->damage[t->damage_count] = d;
	t->damage_count++;
}

bool xvt_stats_get(const struct xvt_chunk_buf *b, struct xvt_ring_stats *st)
{
	memset(st, 0, sizeof(*st));
	if (b->len < XVT_RING_STATS_LEN_LEAST)
		return false;
	memcpy(st, b->payload, b->len < sizeof(*st) ? b->len : sizeof(*st));
	return true;
}

void xvt_stats_add(struct xvt_ring_stats *to, const struct xvt_ring_stats *before)
{
	to->attempted += before->attempted;
	to->events += before->events;
	to->discarded += before->discarded;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		to->lost[i] += before->lost[i];
	to->overwritten += before->overwritten;
	to->overwritten_doubt += before->overwritten_doubt;
	to->late += before->late;
	to->backlog += before->backlog;
	to->unconfirmed += before->unconfirmed;
	to->recovered += before->recovered;
	to->clock_violations += before->clock_violations;
	to->bad_bytes += before->bad_bytes;
	to->paused_ns += before->paused_ns;
	to->samples += before->samples;
	to->dropped += before->dropped;
	to->rejected |= before->rejected;
	to->bound_ns_max =
		before->bound_ns_max > to->bound_ns_max ? before->bound_ns_max : to->bound_ns_max;
}

bool xvt_lost_get(const struct xvt_event_hdr *h, const uint8_t *payload, struct xvt_lost *lost)
{
	memset(lost, 0, sizeof(*lost));
	if (h->len < XVT_LOST_LEN_LEAST)
		return false;
	memcpy(lost, payload, h->len < sizeof(*lost) ? h->len : sizeof(*lost));
	return true;
}

/* The payload of a compressed chunk, which passed its checksum, as it was. */
static int unpack(struct xvt_chunk_buf *b)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)b->bytes;
	bool events = xvt_chunk_of_events(h->type);
	size_t clear = events ? sizeof(struct xvt_order_hdr) : 0;
	uint64_t rest;
	int err;

	if (b->len < clear + sizeof(rest))
		return -EBADMSG;
	memcpy(&rest, b->payload + clear, sizeof(rest));
	if (rest > XVT_CHUNK_LEN_MAX - clear)
		return -EBADMSG;
	if (clear + rest > b->unpacked_room) {
		uint8_t *grown = malloc(clear + rest);

		if (!grown)
			return -ENOMEM;
		free(b->unpacked);
		b->unpacked = grown;
		b->unpacked_room = clear + rest;
	}
	/* Nothing to unpack is no frame's business. */
	err = rest ? xvt_unpack(b->unpacked + clear, rest, b->payload + clear + sizeof(rest),
				b->len - clear - sizeof(rest))
		   : -EBADMSG;
	if (err)
		return err;
	memcpy(b->unpacked, b->payload, clear);
	b->payload = b->unpacked;
	b->len = (uint32_t)(clear + rest);
	return 0;
}

int xvt_trace_load_at(struct xvt_trace *t, uint64_t offset, uint32_t len, struct xvt_chunk_buf *b)
{
	size_t whole = sizeof(struct xvt_chunk_hdr) + xvt_pad8(len);
	struct xvt_chunk_hdr *h;
	uint32_t crc;
	ssize_t n;

	if (t->ops)
		return t->ops->load_at(t, offset, len, b);
	if (whole > b->room) {
		uint8_t *grown = malloc(whole);

		if (!grown)
			return -ENOMEM;
		free(b->bytes);
		b->bytes = grown;
		b->room = whole;
	}
	n = xvt_trace_read_at(t, b->bytes, whole, offset);
	if (n < 0)
		return (int)n;
	if ((size_t)n < whole)
		return -EBADMSG;
	h = (struct xvt_chunk_hdr *)b->bytes;
	crc = h->crc;
	h->crc = 0;
	if (h->magic != XVT_CHUNK_MAGIC || xvt_pad8(h->len) != xvt_pad8(len) || h->len > len ||
	    xvt_crc32c(0, b->bytes, sizeof(*h) + h->len) != crc)
		return -EBADMSG;
	b->payload = b->bytes + sizeof(*h);
	b->len = h->len;
	return h->flags == XVT_CHUNK_F_ZSTD ? unpack(b) : 0;
}

int xvt_trace_read_head(struct xvt_trace *t, uint64_t offset, struct xvt_chunk_head *head)
{
	ssize_t n;

	memset(head, 0, sizeof(*head));
	if (offset > t->size || t->size - offset < sizeof(head->h))
		return 0;
	n = xvt_trace_read_at(t, head, sizeof(*head), offset);
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(head->h) || head->h.magic != XVT_CHUNK_MAGIC ||
	    head->h.trace_id != t->trace_id || head->h.len > XVT_CHUNK_LEN_MAX)
		return 0;
	return xvt_pad8(head->h.len) <= t->size - offset - sizeof(head->h);
}
