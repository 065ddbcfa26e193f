// SPDX-License-Identifier: GPL-2.0
/*
 * keep.c - copies of events, which other threads may use; see xvtrace.h. What an event says depends
 * on what the reader has read where it names its task, and on symbols that are loaded when they are
 * first needed: both are taken with the copy. All else is fixed once the event's type is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "lib/parts.h"

#define NO_TEXT UINT32_MAX

/* A copy. Behind it lie the payload, the task's name and the text, each with a zero byte but the
 * payload. */
struct copy {
	struct xvtrace_event pub;
	struct xvt_lib_type *type;
	struct xvt_decoder *decoder;
	const struct xvt_state *state;
	struct xvt_event_hdr hdr;
	uint64_t chunk_seq;
	uint32_t left;
	uint32_t comm_len; /* NO_TEXT: there is none */
	uint32_t text_len; /* NO_TEXT: the text depends on the record alone */
	uint32_t size;	   /* with all that is behind it, in steps of 8 bytes */
};
XVT_ASSERT(sizeof(struct copy) % 8 == 0, "payloads are aligned");

struct xvtrace_kept {
	uint8_t *bytes;
	size_t used, room;
	size_t at; /* of the next copy */
	struct xvt_lib_kept kept;
	struct xvt_lib_event event; /* the copy that was given last */
};

int xvtrace_kept_new(struct xvtrace_kept **out)
{
	struct xvtrace_kept *k = calloc(1, sizeof(*k));

	*out = k;
	if (!k)
		return -ENOMEM;
	k->kept.out = calloc(1, sizeof(*k->kept.out));
	if (!k->kept.out) {
		free(k);
		*out = NULL;
		return -ENOMEM;
	}
	k->kept.out->fd = -1;
	return 0;
}

void xvtrace_kept_free(struct xvtrace_kept *k)
{
	if (!k)
		return;
	free(k->kept.out);
	free(k->bytes);
	free(k);
}

void xvtrace_kept_clear(struct xvtrace_kept *k)
{
	k->used = k->at = 0;
}

size_t xvtrace_kept_bytes(const struct xvtrace_kept *k)
{
	return k->used;
}

/* Whether the text takes symbols, of which a decoder has those of one boot at a time. */
static bool takes_symbols(const struct xvt_event_class *c)
{
	return c->special != XVT_SPECIAL_NONE || (c->print && (c->names || c->printks));
}

static void put_text(uint8_t **to, const char *text, uint32_t len)
{
	if (len == NO_TEXT)
		return;
	memcpy(*to, text, len);
	(*to)[len] = '\0';
	*to += len + 1;
}

static size_t room_of(uint32_t text_len)
{
	return text_len == NO_TEXT ? 0 : (size_t)text_len + 1;
}

int xvtrace_keep(struct xvtrace_kept *k, const struct xvtrace_event *event)
{
	const struct xvt_lib_event *e = xvt_lib_event(event);
	const char *comm = event->pid < 0 ? NULL : xvtrace_event_comm(event), *text = NULL;
	struct copy c = { .pub = *event,
			  .type = e->type,
			  .decoder = e->decoder,
			  .state = event->kind == XVTRACE_STATE ? e->state : NULL,
			  .hdr = *e->ev.hdr,
			  .chunk_seq = e->ev.chunk_seq,
			  .left = e->ev.left,
			  .comm_len = comm ? (uint32_t)strlen(comm) : NO_TEXT,
			  .text_len = NO_TEXT };
	size_t size, text_len;
	uint8_t *to;

	if (takes_symbols(e->type->c)) {
		text = xvtrace_event_text(event, 0, &text_len);
		c.text_len = (uint32_t)text_len;
	}
	size = sizeof(c) + c.hdr.len + room_of(c.comm_len) + room_of(c.text_len);
	size = (size + 7) & ~(size_t)7;
	c.size = (uint32_t)size;
	if (xvt_grow(&k->bytes, &k->room, k->used + size, 1))
		return -ENOMEM;
	to = k->bytes + k->used;
	memcpy(to, &c, sizeof(c));
	to += sizeof(c);
	memcpy(to, e->ev.payload, c.hdr.len);
	to += c.hdr.len;
	put_text(&to, comm, c.comm_len);
	put_text(&to, text, c.text_len);
	k->used += size;
	return 0;
}

const struct xvtrace_event *xvtrace_kept_next(struct xvtrace_kept *k)
{
	struct xvt_lib_event *e = &k->event;
	const struct copy *c;
	const char *behind;

	if (k->at == k->used)
		return NULL;
	c = (const struct copy *)(k->bytes + k->at);
	behind = (const char *)(c + 1) + c->hdr.len;
	k->at += c->size;
	k->kept.comm = c->comm_len == NO_TEXT ? NULL : behind;
	behind += room_of(c->comm_len);
	k->kept.text = c->text_len == NO_TEXT ? NULL : behind;
	k->kept.text_len = c->text_len;
	*e = (struct xvt_lib_event){
		.pub = c->pub,
		.reader = c->type->reader,
		.type = c->type,
		.decoder = c->decoder,
		.ev = { .hdr = &c->hdr,
			.payload = (const uint8_t *)(c + 1),
			.chunk_seq = c->chunk_seq,
			.left = c->left },
		.state = c->state,
		.kept = &k->kept,
	};
	e->pub.data = e->ev.payload;
	return &e->pub;
}
