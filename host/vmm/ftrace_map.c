// SPDX-License-Identifier: GPL-2.0
/* ftrace_map.c - see ftrace_map.h. The formats are those of the kernel's ring_buffer.c. */
#include "vmm/ftrace_map.h"

#include <errno.h>
#include <string.h>

#include "xvt_port.h"

#define MAGIC	      0x0badfeedu

/* Layout 1: a CPU's part. Layout 2: the head before all parts. Offsets in bytes. */
#define SIZES_1	      56u /* the word after the magic number is the size of what follows */
#define TEXT_1	      8u
#define WORDS_1	      24u /* of the words that both layouts have */
#define PARTS_2	      16u /* of the word that says where the parts begin */
#define HEAD_2	      24u
#define CLOCK_2	      24u /* behind the head: the tracer's own, the number of its clock first */
#define TEXT_2	      32u
#define HEAD_CPU_2    32u /* of a CPU's words; */
#define HEAD_INJECT_2 40u /* with CONFIG_RING_BUFFER_PERSISTENT_INJECT */

/* The words of a CPU's part. */
enum { FIRST = 0, HEAD = 8, COMMIT = 16, SIZES = 24, WORDS_LEN = 32 };

#define SUBBUFS_LEAST 3u /* the reader's, and two to write in turn */
#define SUBBUFS_MOST  (1u << 24)
#define NO_SUBBUF     UINT32_MAX
#define EVENTS_MOST   (XVT_FTRACE_SUBBUF - XVT_FTRACE_PAGE_HEAD)
#define MISSED_BITS   (3ull << 30) /* of a commit word */
#define TURNS_MOST    8u	   /* of one look; a guest that lies could keep it for ever */

static uint64_t load(const struct xvt_ftrace_map *m, uint64_t at)
{
	return xvt_load_acquire((const uint64_t *)(m->map + at));
}

/* --- where the parts are --- */

static uint64_t words_of(const struct xvt_ftrace_map *m, uint64_t part)
{
	return part + (m->layout == 1 ? WORDS_1 : 0);
}

/* Where the sub-buffers of a part begin, and where it ends. */
static uint64_t data_of(const struct xvt_ftrace_map *m, uint64_t part)
{
	const uint64_t end = part + m->head + 4ull * m->nr_subbufs;

	return (end + XVT_FTRACE_SUBBUF - 1) & ~(XVT_FTRACE_SUBBUF - 1ull);
}

static uint64_t end_of(const struct xvt_ftrace_map *m, uint64_t part)
{
	return data_of(m, part) + (uint64_t)m->nr_subbufs * XVT_FTRACE_SUBBUF;
}

static uint64_t part_of(const struct xvt_ftrace_map *m, uint32_t cpu)
{
	return cpu ? m->part_1 + (cpu - 1) * m->stride : m->parts;
}

/* Meaning of the two words after the magic number. Returns 0 or -EPROTO. */
static int read_layout(struct xvt_ftrace_map *m, uint32_t sizes)
{
	uint64_t offset;

	m->parts = m->base;
	if (sizes == SIZES_1) {
		m->layout = 1;
		m->head = SIZES_1;
		return 0;
	}
	m->layout = 2;
	m->head = sizes & 0xffff;
	if (sizes >> 16 != HEAD_2 || (m->head != HEAD_CPU_2 && m->head != HEAD_INJECT_2))
		return -EPROTO;
	offset = load(m, m->base + PARTS_2);
	if (offset < HEAD_2 || offset % 8 || offset > m->size - m->base)
		return -EPROTO;
	m->parts += offset;
	return 0;
}

/* CPU 0's part has the sizes of all of them. */
static int read_sizes(struct xvt_ftrace_map *m)
{
	uint64_t sizes;

	if (m->size - m->parts < WORDS_1 + WORDS_LEN)
		return -EPROTO;
	sizes = load(m, words_of(m, m->parts) + SIZES);
	if (!sizes)
		return -ENODATA; /* the kernel has just begun */
	m->nr_subbufs = (uint32_t)(sizes >> 32);
	if ((uint32_t)sizes != XVT_FTRACE_SUBBUF || m->nr_subbufs < SUBBUFS_LEAST ||
	    m->nr_subbufs > SUBBUFS_MOST || end_of(m, m->parts) > m->size)
		return -EPROTO;
	m->part_1 = end_of(m, m->parts);
	m->stride = end_of(m, m->part_1) - m->part_1;
	m->nr_cpus = 1;
	if (m->size > m->part_1)
		m->nr_cpus += (uint32_t)((m->size - m->part_1) / m->stride < XVT_FTRACE_CPUS_MAX - 1
						 ? (m->size - m->part_1) / m->stride
						 : XVT_FTRACE_CPUS_MAX - 1);
	return 0;
}

int xvt_ftrace_map_find(struct xvt_ftrace_map *m, const void *map, uint64_t size, uint64_t at)
{
	uint64_t word;
	int err;

	*m = (struct xvt_ftrace_map){ .map = map, .size = size, .base = at };
	if (at % XVT_FTRACE_SUBBUF || at > size || size - at < 2ull * XVT_FTRACE_SUBBUF)
		return -ENODATA;
	word = load(m, at);
	if ((uint32_t)word != MAGIC)
		return -ENODATA;
	err = read_layout(m, (uint32_t)(word >> 32));
	return err ? err : read_sizes(m);
}

int xvt_ftrace_map_search(struct xvt_ftrace_map *m, const void *map, uint64_t size, uint64_t from,
			  uint64_t to)
{
	uint64_t at;

	for (at = from & ~(XVT_FTRACE_SUBBUF - 1ull); at < to && at < size;
	     at += XVT_FTRACE_SUBBUF) {
		/* Memory may hold the magic number by chance; the sizes then tell. */
		if (!xvt_ftrace_map_find(m, map, size, at))
			return 0;
	}
	return -ENODATA;
}

bool xvt_ftrace_map_holds(const struct xvt_ftrace_map *m)
{
	struct xvt_ftrace_map now;

	return !xvt_ftrace_map_find(&now, m->map, m->size, m->base) && now.layout == m->layout &&
	       now.head == m->head && now.parts == m->parts && now.nr_subbufs == m->nr_subbufs;
}

bool xvt_ftrace_map_clock(const struct xvt_ftrace_map *m, uint32_t *clock)
{
	if (m->layout == 1 || m->parts - m->base < CLOCK_2 + 4)
		return false;
	*clock = (uint32_t)load(m, m->base + CLOCK_2);
	return true;
}

uint64_t xvt_ftrace_map_text(const struct xvt_ftrace_map *m)
{
	if (m->layout == 1)
		return load(m, m->base + TEXT_1);
	return m->parts - m->base < TEXT_2 + 8 ? 0 : load(m, m->base + TEXT_2);
}

/* --- a CPU's ring --- */

/* The sub-buffer at a guest's address, or NO_SUBBUF. */
static uint32_t subbuf_at(const struct xvt_ftrace_ring *r, uint64_t address)
{
	const uint64_t i = (address - r->first) / XVT_FTRACE_SUBBUF;

	return address < r->first || i >= r->map->nr_subbufs ? NO_SUBBUF : (uint32_t)i;
}

/* The sub-buffer that has a place in the ring, or NO_SUBBUF. Place 0 is the guest's readers', which
 * is not in the ring. */
static uint32_t subbuf_of(const struct xvt_ftrace_ring *r, uint32_t slot)
{
	const uint64_t at = r->places + 4ull * slot;
	const uint32_t i = xvt_load_acquire((const uint32_t *)(r->map->map + at));

	return i < r->map->nr_subbufs ? i : NO_SUBBUF;
}

/* The place of a sub-buffer in the ring; 0 if it has none. */
static uint32_t slot_of(const struct xvt_ftrace_ring *r, uint32_t subbuf)
{
	uint32_t slot;

	for (slot = 1; slot < r->map->nr_subbufs; slot++) {
		if (subbuf_of(r, slot) == subbuf)
			return slot;
	}
	return 0;
}

static uint32_t slot_after(const struct xvt_ftrace_ring *r, uint32_t slot)
{
	return slot + 1 < r->map->nr_subbufs ? slot + 1 : 1;
}

static uint32_t slots_between(const struct xvt_ftrace_ring *r, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + r->map->nr_subbufs - 1 - from;
}

static uint64_t stamp_of(const struct xvt_ftrace_ring *r, uint32_t subbuf)
{
	return load(r->map, r->data + (uint64_t)subbuf * XVT_FTRACE_SUBBUF);
}

static uint64_t commit_of(const struct xvt_ftrace_ring *r, uint32_t subbuf)
{
	return load(r->map, r->data + (uint64_t)subbuf * XVT_FTRACE_SUBBUF + 8) & ~MISSED_BITS;
}

bool xvt_ftrace_ring_init(struct xvt_ftrace_ring *r, const struct xvt_ftrace_map *m, uint32_t cpu)
{
	const uint64_t part = part_of(m, cpu);
	uint64_t first, sizes;

	memset(r, 0, offsetof(struct xvt_ftrace_ring, copy));
	if (cpu >= m->nr_cpus || (m->layout == 1 && load(m, part) != load(m, m->base)))
		return false;
	r->map = m;
	r->words = words_of(m, part);
	r->places = part + m->head;
	r->data = data_of(m, part);
	first = load(m, r->words + FIRST);
	sizes = load(m, r->words + SIZES);
	/* The kernel maps all parts in one piece, so its addresses are as far apart as ours. */
	return first && sizes == ((uint64_t)m->nr_subbufs << 32 | XVT_FTRACE_SUBBUF) &&
	       first - load(m, words_of(m, m->parts) + FIRST) == r->data - data_of(m, m->parts);
}

/* Go on at another place, of which nothing was read. */
static void go_to(struct xvt_ftrace_ring *r, uint32_t slot, uint32_t subbuf, bool follows)
{
	r->before_known = r->follows = follows;
	r->before = r->subbuf;
	r->before_slot = r->slot;
	r->before_stamp = r->stamp;
	r->before_read = r->read;
	r->slot = slot;
	r->subbuf = subbuf;
	r->stamp = 0;
	r->read = 0;
}

/* The oldest sub-buffer that the ring has. Returns its place; 0: the words do not say now. */
static uint32_t oldest(const struct xvt_ftrace_ring *r, bool *full)
{
	const uint64_t head = load(r->map, r->words + HEAD);
	const uint32_t commit = subbuf_at(r, load(r->map, r->words + COMMIT));
	uint32_t slot, end;

	/* A writer that went on between the two loads makes a full ring look empty. */
	if (load(r->map, r->words + HEAD) != head || commit == NO_SUBBUF)
		return 0;
	slot = slot_of(r, subbuf_at(r, head));
	end = slot_of(r, commit);
	/* Full: the writer's place is just before the oldest one. The kernel commits a little
	 * later. */
	*full = slot && end && slots_between(r, slot, end) >= (r->map->nr_subbufs - 1) * 3ull / 4;
	return slot;
}

/* The kernel may have begun to write before this recorder looks. Events that it overwrote are not
 * missing in the recording. */
static bool begin(struct xvt_ftrace_ring *r)
{
	uint32_t slot, subbuf, reader;
	bool full;

	r->first = load(r->map, r->words + FIRST);
	slot = oldest(r, &full);
	reader = subbuf_of(r, 0);
	subbuf = slot ? subbuf_of(r, slot) : NO_SUBBUF;
	if (subbuf == NO_SUBBUF || reader == NO_SUBBUF)
		return false;
	r->reader_page = reader;
	go_to(r, slot, subbuf, false);
	r->begun = true;
	return true;
}

/* The words that tell of another kernel, and of a reader in the guest. Returns false if there is
 * no ring now. */
static bool look_around(struct xvt_ftrace_ring *r)
{
	const uint64_t first = load(r->map, r->words + FIRST);
	const uint32_t reader = subbuf_of(r, 0);

	if (!first || reader == NO_SUBBUF)
		return false;
	if (first != r->first)
		r->happened |= XVT_FTRACE_BOOTED;
	else if (reader != r->reader_page)
		r->happened |= XVT_FTRACE_READ;
	r->first = first;
	r->reader_page = reader;
	return true;
}

/*
 * Whole sub-buffers of a full ring that are missing before `slot`, at least. How often the writer
 * came around is not known. Nor is whether the ring was emptied meanwhile: the kernel then begins
 * at place 1. What is left out from the oldest on is missing in any case.
 */
static uint32_t least_missed(const struct xvt_ftrace_ring *r, uint32_t from, uint32_t slot)
{
	const uint32_t left_out = slots_between(r, from, slot);
	const uint32_t most = slot - 1 > left_out ? slot - 1 : left_out;
	uint32_t missed = slots_between(r, r->slot, slot);

	if (!missed)
		missed = r->map->nr_subbufs - 1;
	if (r->read)
		missed--; /* only its rest is missing */
	return missed < most ? missed : most;
}

/*
 * The events that were to be read are gone. Go on at the oldest sub-buffer of a ring that was
 * emptied; of one that is full, two behind it, so that the copy is not overtaken at once. Returns
 * false if the words do not say where that is; the next look comes here again.
 */
static bool lose(struct xvt_ftrace_ring *r, uint32_t what)
{
	bool full = false;
	const uint32_t from = look_around(r) ? oldest(r, &full) : 0;
	uint32_t slot = from, subbuf;

	if (slot && full)
		slot = slot_after(r, slot_after(r, slot));
	subbuf = slot ? subbuf_of(r, slot) : NO_SUBBUF;
	if (subbuf == NO_SUBBUF)
		return false;
	if (!full && !(r->happened & XVT_FTRACE_READ) && what == XVT_FTRACE_OVERTAKEN)
		what = XVT_FTRACE_CLEARED;
	r->happened |= what;
	/* Events that the guest's readers took may have been read here. */
	if (full && !(r->happened & XVT_FTRACE_READ))
		r->missed += least_missed(r, from, slot);
	go_to(r, slot, subbuf, false);
	return true;
}

/*
 * Returns true if the sub-buffer before is as it was when its end was read. A writer that came
 * around was there first, a reset empties all, and of what a reader in the guest took out of the
 * ring no writer comes by. To be called after the next one's stamp was loaded.
 */
static bool is_before_intact(const struct xvt_ftrace_ring *r)
{
	/* In this order: a commit word is of the stamp that is loaded after it. */
	return commit_of(r, r->before) == r->before_read &&
	       stamp_of(r, r->before) == r->before_stamp &&
	       subbuf_of(r, r->before_slot) == r->before;
}

/*
 * The events that were to be read are not there any more. If the sub-buffer before it is, no writer
 * came around: this one was begun anew.
 */
static int gone(struct xvt_ftrace_ring *r)
{
	if (!r->before_known || !is_before_intact(r))
		return lose(r, XVT_FTRACE_OVERTAKEN) ? 0 : -EAGAIN;
	r->happened |= XVT_FTRACE_RESTARTED;
	r->follows = true;
	r->stamp = 0;
	r->read = 0;
	return 0;
}

/* Parse what was copied. */
static void parse(struct xvt_ftrace_ring *r, uint64_t stamp, uint32_t commit)
{
	const bool late = r->page.late || r->page.back;

	if (r->read) {
		xvt_ftrace_page_more(&r->page, commit);
	} else {
		r->copy[0] = r->stamp = stamp;
		r->copy[1] = commit;
		xvt_ftrace_page_init(&r->page, r->copy, sizeof(r->copy));
		r->page.back = late;
	}
	r->read = commit;
}

/* Copy a sub-buffer up to `commit`. Returns 1, or 0: go on with another one, or -EAGAIN. */
static int copy(struct xvt_ftrace_ring *r, uint64_t stamp, uint64_t commit)
{
	const uint64_t from = XVT_FTRACE_PAGE_HEAD + r->read;
	const uint64_t at = r->data + (uint64_t)r->subbuf * XVT_FTRACE_SUBBUF;

	if (commit > EVENTS_MOST)
		return lose(r, XVT_FTRACE_INVALID) ? 0 : -EAGAIN;
	memcpy((uint8_t *)r->copy + from, r->map->map + at + from, commit - r->read);
	xvt_rmb();
	if (commit_of(r, r->subbuf) < commit || stamp_of(r, r->subbuf) != stamp) {
		r->torn++;
		return gone(r);
	}
	if (r->follows && !is_before_intact(r))
		return lose(r, XVT_FTRACE_OVERTAKEN) ? 0 : -EAGAIN;
	r->follows = false;
	parse(r, stamp, (uint32_t)commit);
	return 1;
}

/* A sub-buffer was read to its end, and the writer has left it. */
static int next(struct xvt_ftrace_ring *r)
{
	const uint32_t slot = slot_after(r, r->slot), subbuf = subbuf_of(r, slot);

	if (subbuf == NO_SUBBUF)
		return lose(r, XVT_FTRACE_INVALID) ? 0 : -EAGAIN;
	go_to(r, slot, subbuf, true);
	return 0;
}

/* Returns 1: there are entries; 0: look again, at another sub-buffer; -EAGAIN: nothing for now. */
static int step(struct xvt_ftrace_ring *r)
{
	/* In this order: if the writer had left the sub-buffer, the commit word is final. */
	const uint32_t writers = subbuf_at(r, load(r->map, r->words + COMMIT));
	const uint64_t stamp = stamp_of(r, r->subbuf);
	const uint64_t commit = commit_of(r, r->subbuf);

	/* The commit word is of this stamp only if the stamp is the same before and after. A writer
	 * that just came sets it with its first event. */
	if (!r->read && stamp_of(r, r->subbuf) != stamp)
		return 0;
	if (r->read && (stamp != r->stamp || commit < r->read)) {
		/* The length is the older one's until the first event of the new one is committed.
		 */
		return commit == r->read && writers == r->subbuf ? -EAGAIN : gone(r);
	}
	if (commit > r->read)
		return copy(r, stamp, commit);
	if (writers == NO_SUBBUF || writers == r->subbuf)
		return -EAGAIN;
	/* A writer leaves none empty. */
	if (!commit)
		return lose(r, XVT_FTRACE_OVERTAKEN) ? 0 : -EAGAIN;
	return next(r);
}

int xvt_ftrace_ring_look(struct xvt_ftrace_ring *r)
{
	unsigned int turn;
	int got = 0;

	if (r->begun ? !look_around(r) : !begin(r))
		return 0;
	for (turn = 0; turn < TURNS_MOST && !got; turn++)
		got = step(r);
	return got > 0;
}
