// SPDX-License-Identifier: GPL-2.0
/*
 * metadata.c - copies a guest's metadata from its region into the trace. A guest that boots again
 * sends the same formats again; they are not written twice. A guest that sends new metadata without
 * end is cut off, with a note.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PASS_BYTES    (1u << 20)
#define TURNS_MAX     64u /* whole metadata areas copied from one machine */
#define WRITTEN_AREAS 16u /* whole areas written, or */
#define WRITTEN_LEAST (64u << 20)
/* Of a chunk besides its payload: header, struct xvt_meta_info, padding, entry in the INDEX. */
#define CHUNK_BYTES   88u

/* Formats in the trace: the newest of each number. Those that share a slot replace each other. */
#define SEEN_SLOTS    4096u

struct xvt_meta_seen {
	uint32_t number[SEEN_SLOTS];
	uint32_t len[SEEN_SLOTS]; /* 0: none */
	uint32_t generation[SEEN_SLOTS];
	uint64_t hash[SEEN_SLOTS];
};

enum seen {
	SEEN_NEW,
	SEEN_SAME,  /* the trace has this text */
	SEEN_OTHER, /* the number had another format in this boot */
};

static void copy_words(void *to, const uint8_t *from, size_t len)
{
	/* The guest may change the bytes during the copy: any mixture is legal input, because only
	 * the copy is read from here on. */
	memcpy(to, from, len);
	xvt_barrier();
}

/* Skip a too long entry: a guest must not choose how much memory the recorder uses. */
static void skip_long(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_meta_tlv *tlv)
{
	if (!vm->metadata.too_long)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "metadata of type %u is %u bytes long; what is longer than %u is "
				 "left out",
				 tlv->type, tlv->len, XVT_META_LEN_MAX);
	vm->metadata.too_long = true;
}

static uint64_t hash_of(const uint8_t *p, size_t len)
{
	uint64_t h = len, w;

	for (; len; p += 8) {
		size_t n = len < 8 ? len : 8;

		w = 0;
		memcpy(&w, p, n);
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
		len -= n;
	}
	return h;
}

/* Compare a format with the newest of its number, and remember it. */
static enum seen look_up(struct xvt_vm *vm, const struct xvt_meta_tlv *tlv, const uint8_t *bytes)
{
	struct xvt_meta_seen *seen;
	uint32_t number, at;
	bool is_same, is_other;
	uint64_t hash;

	if (tlv->type != XVT_META_FORMAT || !tlv->len)
		return SEEN_NEW;
	if (!vm->metadata.seen)
		vm->metadata.seen = calloc(1, sizeof(*vm->metadata.seen));
	seen = vm->metadata.seen;
	if (!seen)
		return SEEN_NEW;
	number = xvt_format_number(bytes, tlv->len, tlv->id);
	at = number % SEEN_SLOTS;
	hash = hash_of(bytes, tlv->len);
	is_same = seen->len[at] == tlv->len && seen->number[at] == number && seen->hash[at] == hash;
	is_other = !is_same && seen->len[at] && seen->number[at] == number &&
		   seen->generation[at] == tlv->generation;
	seen->len[at] = tlv->len;
	seen->number[at] = number;
	seen->generation[at] = tlv->generation;
	seen->hash[at] = hash;
	return is_same ? SEEN_SAME : is_other ? SEEN_OTHER : SEEN_NEW;
}

/* Say from when on the next format holds: from the last look at which it was not there. */
static void put_since(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_meta_tlv *tlv)
{
	const struct xvt_meta_info info = { vm->id, XVT_META_SINCE, 0, tlv->generation };

	xvt_session_put_meta(s, &info, &vm->metadata.looked_ns, sizeof(vm->metadata.looked_ns));
	vm->metadata.written += sizeof(vm->metadata.looked_ns) + CHUNK_BYTES;
}

static uint64_t most_written(const struct xvt_vm *vm)
{
	const uint64_t areas = WRITTEN_AREAS * vm->region.g.meta_size;

	return areas > WRITTEN_LEAST ? areas : WRITTEN_LEAST;
}

/* Note that a guest refuses to name functions: its entry has no text. */
static void note_unnamed(struct xvt_session *s, struct xvt_vm *vm)
{
	if (!vm->metadata.unnamed)
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "the guest's module names no functions (symbols=0): their "
				 "addresses are shown, unless xvt-guest ksyms sends names");
	vm->metadata.unnamed = true;
}

/* Write an entry. Returns false without memory, or without space in the file: retry later. */
static bool take(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_meta_tlv *tlv,
		 const uint8_t *payload)
{
	const struct xvt_meta_info info = { vm->id, tlv->type, tlv->id, tlv->generation };
	const uint64_t bytes = tlv->len + CHUNK_BYTES;
	const bool limited = xvt_session_space_limited(s);
	enum seen seen;
	uint8_t *copy;

	if (tlv->type == XVT_META_SINCE || tlv->type == XVT_META_KERNEL) /* a recorder's own */
		return true;
	if (limited && !xvt_session_may_write(s, vm, bytes))
		return false;
	copy = malloc(tlv->len ? tlv->len : 1);
	if (!copy)
		return false;
	copy_words(copy, payload, tlv->len);
	seen = look_up(vm, tlv, copy);
	if (seen == SEEN_SAME) {
		if (limited)
			xvt_session_not_written(s, vm, bytes);
	} else {
		if (seen == SEEN_OTHER)
			put_since(s, vm, tlv);
		xvt_session_put_meta(s, &info, copy, tlv->len);
		vm->metadata.written += tlv->len + CHUNK_BYTES;
	}
	free(copy);
	return true;
}

/* Returns true if the machine has used up its limit; no more of its metadata is taken. */
static bool is_over(struct xvt_session *s, struct xvt_vm *vm)
{
	const bool turns = vm->metadata.bytes > TURNS_MAX * vm->region.g.meta_size;

	if (!turns && vm->metadata.written <= most_written(vm))
		return false;
	if (vm->metadata.bytes != UINT64_MAX)
		xvt_session_note(
			s, 1, vm, UINT32_MAX,
			turns ? "metadata began again too often, ignored from here on"
			      : "the trace has all metadata that one machine may put there "
				"(%" PRIu64 " KiB); what comes from here on is left out",
			most_written(vm) >> 10);
	vm->metadata.bytes = UINT64_MAX;
	return true;
}

/* Read the entry at vm->metadata.pos. Returns its length; 0: no more can be read now. */
static uint64_t read_one(struct xvt_session *s, struct xvt_vm *vm, const uint8_t *area,
			 uint64_t committed)
{
	const uint64_t left = committed - vm->metadata.pos;
	struct xvt_meta_tlv tlv;
	struct xvt_fault fault;
	char text[200];
	int64_t whole;

	if (left < sizeof(tlv))
		return left;
	copy_words(&tlv, area + vm->metadata.pos, sizeof(tlv));
	whole = xvt_check_tlv(&tlv, left, &fault);
	if (whole < 0) {
		xvt_fault_text(&fault, text, sizeof(text));
		xvt_session_note(s, 1, vm, UINT32_MAX, "metadata: %s", text);
		return left;
	}
	if (tlv.len > XVT_META_LEN_MAX)
		skip_long(s, vm, &tlv);
	else if (tlv.type == XVT_META_KSYMS && !tlv.len)
		note_unnamed(s, vm);
	else if (!take(s, vm, &tlv, area + vm->metadata.pos + sizeof(tlv)))
		return 0;
	return (uint64_t)whole;
}

bool xvt_vm_names_due(const struct xvt_vm *vm)
{
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)vm->region.map;

	/* done before wanted: a name that comes in between is due. The acquire pairs with the
	 * guest's release behind the metadata. */
	const uint32_t done = xvt_load_acquire(&h->symbols_done);

	return done != xvt_load(&h->symbols_wanted);
}

void xvt_vm_read_metadata(struct xvt_session *s, struct xvt_vm *vm)
{
	const struct xvt_geometry *g = &vm->region.g;
	struct xvt_meta_hdr *h = (struct xvt_meta_hdr *)(vm->region.map + g->meta_off);
	uint64_t room = g->meta_size - sizeof(*h), committed, done = 0;
	const uint64_t now_ns = xvt_host_clock_ns(&s->clock, xvt_clock_read());
	const uint8_t *area = (const uint8_t *)(h + 1);

	committed = xvt_load_acquire(&h->committed); /* pairs with xvt_meta_append() */
	if (committed > room || committed & 7) {
		if (vm->metadata.pos != UINT64_MAX)
			xvt_session_note(s, 1, vm, UINT32_MAX,
					 "metadata length %" PRIu64 " is nonsense, ignored",
					 committed);
		vm->metadata.pos = UINT64_MAX;
		return;
	}
	if (vm->metadata.pos > committed)
		vm->metadata.pos = 0; /* a new generation began again */
	while (vm->metadata.pos < committed && done < PASS_BYTES && !is_over(s, vm)) {
		const uint64_t n = read_one(s, vm, area, committed);

		if (!n)
			return;
		vm->metadata.pos += n;
		vm->metadata.bytes += n;
		done += n;
	}
	if (vm->metadata.pos == committed)
		vm->metadata.looked_ns = now_ns;
}
