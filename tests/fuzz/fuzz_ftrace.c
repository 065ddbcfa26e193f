// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_ftrace.c - a guest's ftrace ring, whose words and pages the guest changes between any two
 * loads of the reader. The input is the memory's first contents and the changes. The reader must
 * stay in the mapping, end, and parse nothing but its private copy.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The reader's loads and copies let the guest have its turn. */
static void guest_turn(const void *at, size_t len);
static void *guest_copy(void *to, const void *from, size_t len);
#undef xvt_load_acquire
#define xvt_load_acquire(p)                             \
	({                                              \
		guest_turn((p), sizeof(*(p)));          \
		__atomic_load_n((p), __ATOMIC_ACQUIRE); \
	})
#undef memcpy
#define memcpy(to, from, len) guest_copy((to), (from), (len))
#include "../../host/vmm/ftrace_map.c"
#undef memcpy

#define PAGES_MOST 24u
#define LOOKS_MOST 400u
#define LOADS_MOST 40000u /* of one look: two searches of all places, eight times */

static struct {
	uint8_t *map; /* ends where the mapping does, for AddressSanitizer */
	size_t size;
	struct fuzz_input in;
	uint32_t until; /* loads before the next change */
	uint32_t loads; /* of this look */
} guest;

/* Words that matter are small numbers, addresses near the first sub-buffer's, and stamps. */
static void change(void)
{
	const uint8_t how = fuzz_u8(&guest.in);
	size_t at = fuzz_u16(&guest.in) * 8ul % guest.size;
	uint64_t value = fuzz_u16(&guest.in);

	if (how & 1) /* the words in front */
		at %= 160;
	if (how & 2) /* the head of a page */
		at = at / 4096 * 4096 + at % 16;
	if (how & 4)
		value = 0xffffc90000000000ull + value * 4096;
	if (how & 8)
		value = value << 48 | fuzz_u32(&guest.in);
	at &= ~7ul;
	__atomic_store_n((uint64_t *)(guest.map + at), value, __ATOMIC_RELAXED);
	guest.until = how >> 4 ? how >> 4 : fuzz_u16(&guest.in);
}

static void guest_turn(const void *at, size_t len)
{
	const uint8_t *byte = at;

	if (byte < guest.map || byte + len > guest.map + guest.size || (uintptr_t)byte % len)
		fuzz_finding("a load outside of the mapping, or not aligned");
	if (++guest.loads > LOADS_MOST)
		fuzz_finding("a look that does not end");
	if (guest.in.left && guest.until-- == 0)
		change();
}

static void *guest_copy(void *to, const void *from, size_t len)
{
	const size_t half = len / 2;

	if (len > XVT_FTRACE_SUBBUF)
		fuzz_finding("a copy of %zu bytes", len);
	memcpy(to, from, half);
	if (guest.in.left)
		change();
	memcpy((uint8_t *)to + half, (const uint8_t *)from + half, len - half);
	return to;
}

static void take(struct xvt_ftrace_ring *r)
{
	const uint8_t *copy = (const uint8_t *)r->copy;
	struct xvt_ftrace_entry e;

	if (r->read > sizeof(r->copy) - XVT_FTRACE_PAGE_HEAD)
		fuzz_finding("%u bytes of a page", r->read);
	while (xvt_ftrace_page_next(&r->page, &e)) {
		if (e.data < copy + XVT_FTRACE_PAGE_HEAD || e.len > sizeof(r->copy) ||
		    e.data + e.len > copy + sizeof(r->copy))
			fuzz_finding("an entry outside of the copy");
	}
	r->happened = 0;
	r->missed = 0;
}

static void read_rings(const struct xvt_ftrace_map *m)
{
	static struct xvt_ftrace_ring rings[4];
	bool on[4] = { false };
	unsigned int i, k;

	if (m->nr_cpus > XVT_FTRACE_CPUS_MAX || m->nr_subbufs > PAGES_MOST)
		fuzz_finding("%u CPUs of %u pages", m->nr_cpus, m->nr_subbufs);
	for (i = 0; i < LOOKS_MOST; i++) {
		k = i % 4;
		guest.loads = 0;
		if (k == 0 && !xvt_ftrace_map_holds(m))
			return;
		if (!on[k])
			on[k] = xvt_ftrace_ring_init(&rings[k], m, k);
		else if (xvt_ftrace_ring_look(&rings[k]))
			take(&rings[k]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xvt_ftrace_map m;
	const uint8_t *bytes;
	size_t len, pages, first;

	memset(&guest, 0, sizeof(guest));
	guest.in = (struct fuzz_input){ data, size };
	pages = 2 + fuzz_u8(&guest.in) % (PAGES_MOST - 1);
	first = fuzz_u16(&guest.in);
	bytes = fuzz_bytes(&guest.in, first, &len);
	guest.size = pages * XVT_FTRACE_SUBBUF;
	if (posix_memalign((void **)&guest.map, XVT_FTRACE_SUBBUF, guest.size))
		return 0;
	memset(guest.map, 0, guest.size);
	memcpy(guest.map, bytes, len < guest.size ? len : guest.size);
	guest.until = 20;
	if (!xvt_ftrace_map_search(&m, guest.map, guest.size, 0, guest.size))
		read_rings(&m);
	free(guest.map);
	return 0;
}

void fuzz_guest_turn(void)
{
}

void fuzz_guest_stored(uint64_t off)
{
	(void)off;
}
