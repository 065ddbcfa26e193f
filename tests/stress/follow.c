// SPDX-License-Identifier: GPL-2.0
/*
 * follow.c - reads a trace from standard input as it is written, keeps nothing of it, and checks
 * all of what `xvtrace verify` checks of a file that can be checked on the way: chunks (checksum,
 * sequence, identity, padding, INDEX, END), the host's clock, clock nodes, the order of the main
 * lane, watermarks, each event's time by its ring's nodes, and the counters.
 *
 * And what only this test knows: the events are xvt-emit's, of a thread a ring, and numbered, so
 *each is the next one of its ring but for those that a LOST record before it counts, to the event.
 *
 *	follow < FILE.xvt
 *
 * Ends at the first thing that is wrong. Prints, when there is none:
 *
 *	ring N VM:INDEX events=N lost=N gaps=N unconfirmed=N low_wraps=N
 *	all events=N lost=N gaps=N chunks=N nodes=N bytes=N wraps=N seconds=N.N events_s=N bytes_s=N
 *
 * low_wraps: how often the low 32 bits of the ring's clock began anew.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/crc32c.h"
#include "trace/note.h"
#include "trace/read.h"

#define RINGS_MAX 64u
#define NODES_OLD 4096u /* nodes that are passed, before they are dropped */
#define PIPE_SIZE (1 << 20)

typedef unsigned __int128 u128;

#define RAWS 1024u /* RAW chunks that may still be named */

struct raw {
	struct xvt_raw raw;
	uint8_t *bytes;
	size_t room;
};

struct ring {
	bool known;
	bool begun;
	struct xvt_ring_info info;
	struct xvt_clock_node *nodes; /* those before `node` are passed */
	size_t node, node_count, node_room;
	uint64_t writer; /* thread that the events say they are of */
	uint64_t next;	 /* number */
	uint64_t first_clock;
	uint64_t last_clock;
	uint64_t gaps;
	uint64_t lost[XVT_LOST_CAUSES]; /* by LOST records */
	uint64_t events;
	uint64_t backlog;
	uint64_t unconfirmed;
	bool has_stats;
	struct xvt_ring_stats stats;
};

static struct {
	struct xvt_file_info file;
	struct xvt_timebase line; /* the last one */
	char names[RINGS_MAX][XVT_NAME_LEN];
	uint64_t vm_hz[RINGS_MAX];
	struct ring rings[RINGS_MAX];

	struct xvt_chunk_hdr hdr; /* of the chunk in hand */
	struct xvt_chunk_buf buf;
	uint64_t offset; /* of it */
	uint64_t next_offset;
	uint64_t chunks;

	struct xvt_index_entry index[XVT_INDEX_CHUNKS + 1]; /* as the next INDEX must be */
	size_t index_count;
	uint64_t index_offset;

	uint64_t last_ns;
	uint32_t last_vm;
	uint32_t last_ring;
	uint64_t watermark_ns;
	uint64_t nodes;
	uint64_t records[2]; /* of the main and the late lane */
	bool ended;

	struct raw raws[RAWS]; /* the newest RAW chunks */
	size_t nr_raws;
	struct xvt_events_iter it;
} f;

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *format, ...)
{
	va_list args;

	printf("wrong: chunk %" PRIu64 " at byte %" PRIu64 ": ", f.chunks, f.offset);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		perror("follow");
		exit(2);
	}
	return p;
}

/* -- RAW chunks --------------------------------------------------------------------- */

static void keep_raw(void)
{
	struct raw *r = &f.raws[f.nr_raws++ % RAWS];

	if (r->room < f.buf.len) {
		r->bytes = grow(r->bytes, f.buf.len);
		r->room = f.buf.len;
	}
	memcpy(r->bytes, f.buf.payload, f.buf.len);
	r->raw = (struct xvt_raw){ f.hdr.seq, r->bytes, f.buf.len };
}

static int get_raw(struct xvt_raws *raws, uint64_t seq, uint32_t count, const struct xvt_raw **raw)
{
	size_t i;

	(void)raws;
	(void)count;
	for (i = 0; i < RAWS && i < f.nr_raws; i++) {
		*raw = &f.raws[(f.nr_raws - 1 - i) % RAWS].raw;
		if ((*raw)->seq == seq)
			return 0;
	}
	wrong("it names chunk %" PRIu64 ", which is not one of the last %u RAW chunks", seq, RAWS);
}

static bool spend(struct xvt_raws *raws, uint64_t bytes)
{
	(void)raws;
	(void)bytes;
	return true;
}

static struct xvt_raws raws = { .get = get_raw, .spend = spend };

/* -- chunks --------------------------------------------------------------------------- */

/* The next `len` bytes. False at the end of the input, which may only be between two chunks. */
static bool get(void *bytes, size_t len)
{
	size_t got = fread(bytes, 1, len, stdin);

	if (ferror(stdin)) {
		perror("follow");
		exit(2);
	}
	if (got && got < len)
		wrong("the trace ends inside it");
	return got == len;
}

static bool next_chunk(void)
{
	struct xvt_chunk_hdr *h = &f.hdr;
	size_t padded, i;
	uint32_t crc;

	f.offset = f.next_offset;
	if (!get(h, sizeof(*h)))
		return false;
	if (h->magic != XVT_CHUNK_MAGIC || h->len > XVT_CHUNK_LEN_MAX || h->flags)
		wrong("no header: magic %#x, %u bytes, flags %#x", h->magic, h->len, h->flags);
	if (h->seq != f.chunks)
		wrong("its number is %" PRIu64, h->seq);
	padded = ((size_t)h->len + 7) & ~(size_t)7;
	if (f.buf.room < padded) {
		f.buf.bytes = grow(f.buf.bytes, padded);
		f.buf.room = padded;
	}
	if (!get(f.buf.bytes, padded) && padded)
		wrong("the trace ends inside it");
	crc = h->crc;
	h->crc = 0;
	if (xvt_crc32c(xvt_crc32c(0, h, sizeof(*h)), f.buf.bytes, h->len) != crc)
		wrong("its checksum is wrong");
	for (i = h->len; i < padded; i++)
		if (f.buf.bytes[i])
			wrong("its padding is not zero");
	f.buf.payload = f.buf.bytes;
	f.buf.len = h->len;
	f.next_offset += sizeof(*h) + padded;
	return true;
}

static void payload(void *to, size_t size)
{
	if (f.buf.len < size)
		wrong("type %u of %u bytes is too short", f.hdr.type, f.buf.len);
	memcpy(to, f.buf.payload, size);
}

/* Element `i` of an array of these; false behind the last one. */
static bool element(void *to, size_t size, size_t i)
{
	if (f.buf.len % size)
		wrong("type %u of %u bytes: not a number of elements", f.hdr.type, f.buf.len);
	if (i >= f.buf.len / size)
		return false;
	memcpy(to, f.buf.payload + i * size, size);
	return true;
}

static void note_chunk(void)
{
	struct xvt_index_entry e = { .offset = f.offset, .type = f.hdr.type };
	struct xvt_order_hdr h;

	if (f.hdr.type == XVT_CHUNK_INDEX) {
		f.index_count = 0;
		f.index_offset = f.offset;
	}
	if (xvt_chunk_of_events(f.hdr.type)) {
		payload(&h, sizeof(h));
		e.first_ns = h.first_ns;
		e.last_ns = h.last_ns;
		e.count = h.count;
	}
	if (f.index_count > XVT_INDEX_CHUNKS)
		wrong("no INDEX since byte %" PRIu64, f.index_offset);
	f.index[f.index_count++] = e;
}

static void check_index(void)
{
	struct xvt_index_entry e;
	size_t i;

	for (i = 0; element(&e, sizeof(e), i); i++) {
		if (i >= f.index_count || memcmp(&e, &f.index[i], sizeof(e)) != 0)
			wrong("entry %zu of %zu of this INDEX is not what was there", i,
			      f.index_count);
	}
	if (i != f.index_count)
		wrong("an INDEX of %zu chunks, there were %zu", i, f.index_count);
}

/* -- which writer is which -----------------------------------------------------------------------
 */

static void take_file(void)
{
	payload(&f.file, sizeof(f.file));
	if (f.chunks || f.file.magic != XVT_FILE_MAGIC || f.file.major != XVT_FILE_MAJOR)
		wrong("FILE in the middle, or not of this format");
	f.line = (struct xvt_timebase){ .base_clock = f.file.base_clock,
					.base_ns = f.file.base_ns,
					.mult = f.file.mult,
					.shift = f.file.shift };
}

static void check_identity(void)
{
	uint64_t id;

	if (!f.file.magic)
		wrong("the first chunk is not FILE");
	memcpy(&id, f.file.uuid, sizeof(id));
	if (f.hdr.trace_id != id)
		wrong("it is of another trace");
}

static void take_vm(void)
{
	struct xvt_vm_info vm;

	payload(&vm, sizeof(vm));
	if (vm.vm >= RINGS_MAX)
		wrong("machine %u", vm.vm);
	memcpy(f.names[vm.vm], vm.name, XVT_NAME_LEN - 1);
	f.vm_hz[vm.vm] = vm.clock_hz;
}

static void take_ring(void)
{
	struct xvt_ring_info info;

	payload(&info, sizeof(info));
	if (info.ring >= RINGS_MAX || info.vm >= RINGS_MAX || !f.names[info.vm][0])
		wrong("ring %u of machine %u", info.ring, info.vm);
	f.rings[info.ring].known = true;
	f.rings[info.ring].info = info;
}

static struct ring *ring_of(uint32_t ring)
{
	if (ring >= RINGS_MAX || !f.rings[ring].known)
		wrong("it is about ring %u, which was not told", ring);
	return &f.rings[ring];
}

static uint64_t rate_of(const struct ring *r)
{
	uint64_t hz = r->info.clock_hz ? r->info.clock_hz : f.vm_hz[r->info.vm];

	if (!hz && f.file.mult)
		hz = (uint64_t)(((u128)1000000000u << (f.file.shift & 63)) / f.file.mult);
	return hz ? hz : 1000000000u;
}

/* -- clocks --------------------------------------------------------------------------- */

static void check_line(const struct xvt_timebase *l)
{
	const struct xvt_timebase *last = &f.line;

	if (l->base_clock <= last->base_clock || !l->mult)
		wrong("the host's clock goes back, or stands still");
	if (l->base_ns !=
	    last->base_ns + (uint64_t)((u128)(l->base_clock - last->base_clock) * last->mult >>
				       (last->shift & 63)))
		wrong("the host's clock steps to %" PRIu64 " ns", l->base_ns);
	f.line = *l;
}

static void take_node(const struct xvt_clock_node *n)
{
	struct ring *r = ring_of(n->ring);
	const struct xvt_clock_node *last = r->node_count ? &r->nodes[r->node_count - 1] : NULL;
	bool first = !last || n->epoch != last->epoch;

	if (last && (n->epoch < last->epoch ||
		     (!first && (n->guest <= last->guest || n->host_ns < last->host_ns))))
		wrong("ring %u: its clock goes back, from (%" PRIu64 ", %" PRIu64 ") to (%" PRIu64
		      ", %" PRIu64 ")",
		      n->ring, last->guest, last->host_ns, n->guest, n->host_ns);
	if (first != !!(n->flags & XVT_NODE_F_FIRST))
		wrong("ring %u: epoch %u begins without saying so, or says so inside", n->ring,
		      n->epoch);
	if (r->node > NODES_OLD) {
		r->node_count -= r->node;
		memmove(r->nodes, r->nodes + r->node, r->node_count * sizeof(*n));
		r->node = 0;
	}
	if (r->node_count == r->node_room) {
		r->node_room = r->node_room ? r->node_room * 2 : 2 * NODES_OLD;
		r->nodes = grow(r->nodes, r->node_room * sizeof(*n));
	}
	r->nodes[r->node_count++] = *n;
	f.nodes++;
}

/* Is ns what lies on the line through both nodes, rounded down? */
static bool on_line(const struct xvt_clock_node *a, const struct xvt_clock_node *b, uint64_t guest,
		    uint64_t ns)
{
	uint64_t run = b->guest - a->guest, up = ns - a->host_ns;
	u128 exact = (u128)(guest - a->guest) * (b->host_ns - a->host_ns);

	return ns >= a->host_ns && (u128)up * run <= exact && exact < ((u128)up + 1) * run;
}

static uint64_t beyond(const struct ring *r, const struct xvt_clock_node *n, uint64_t guest)
{
	bool after = guest >= n->guest;
	u128 ns = (u128)(after ? guest - n->guest : n->guest - guest) * 1000000000u / rate_of(r);

	if (after)
		return n->host_ns + (uint64_t)ns;
	return ns < n->host_ns ? n->host_ns - (uint64_t)ns : 0;
}

/* By the nodes told so far, of this epoch or of one after it; goes on to the node before it. */
static bool time_is_right(struct ring *r, const struct xvt_event_hdr *h)
{
	while (r->node < r->node_count) {
		const struct xvt_clock_node *n = &r->nodes[r->node], *next = n + 1;
		bool more = r->node + 1 < r->node_count, same = more && next->epoch == n->epoch;
		uint64_t ns;

		if (same && next->guest <= h->guest_clock) {
			r->node++;
			continue;
		}
		if (same && n->guest <= h->guest_clock) {
			if (on_line(n, next, h->guest_clock, h->host_ns))
				return true;
		} else {
			ns = beyond(r, n, h->guest_clock);
			if (more && !same && ns > next->host_ns)
				ns = next->host_ns;
			if (ns == h->host_ns)
				return true;
		}
		/* Not of this epoch, then. */
		while (r->node + 1 < r->node_count && r->nodes[r->node + 1].epoch == n->epoch)
			r->node++;
		r->node++;
	}
	return false;
}

static void check_time(struct ring *r, const struct xvt_event_hdr *h)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	uint32_t epoch = r->node < r->node_count ? r->nodes[r->node].epoch : 0;

	if (h->ring_flags & XVT_EVENT_F_CLOCK)
		wrong("ring %u: guest clock %" PRIu64 " contradicts its map, says the recorder",
		      ring, h->guest_clock);
	/* What no node confirms has its time from one that may be passed here. */
	if (!(h->ring_flags & XVT_EVENT_F_UNCONFIRMED) && !time_is_right(r, h))
		wrong("ring %u: guest clock %" PRIu64 " is not %" PRIu64 " ns by its nodes", ring,
		      h->guest_clock, h->host_ns);
	if (h->guest_clock < r->last_clock && r->nodes[r->node].epoch == epoch)
		wrong("ring %u: guest clock %" PRIu64 " after %" PRIu64, ring, h->guest_clock,
		      r->last_clock);
	r->last_clock = h->guest_clock;
}

/* -- events --------------------------------------------------------------------------- */

static void check_order(const struct xvt_event_hdr *h)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK, vm = f.rings[ring].info.vm;

	if (h->host_ns < f.last_ns)
		wrong("ring %u: %" PRIu64 " ns after %" PRIu64 " ns", ring, h->host_ns, f.last_ns);
	/* What was lost at the very end is told after all events, whatever its ring. */
	if (h->id != XVT_ID_LOST) {
		if (h->host_ns == f.last_ns &&
		    (vm < f.last_vm || (vm == f.last_vm && ring < f.last_ring)))
			wrong("ring %u after ring %u of equal time", ring, f.last_ring);
		if (h->host_ns < f.watermark_ns)
			wrong("ring %u: %" PRIu64 " ns is below the watermark %" PRIu64, ring,
			      h->host_ns, f.watermark_ns);
	}
	f.last_ns = h->host_ns;
	f.last_vm = vm;
	f.last_ring = ring;
}

static void take_lost(struct ring *r, const struct xvt_event *ev)
{
	struct xvt_lost lost;
	unsigned int i;

	if (ev->hdr->len != sizeof(lost))
		wrong("a LOST of %u bytes", ev->hdr->len);
	memcpy(&lost, ev->payload, sizeof(lost));
	if (lost.overwritten || lost.bad_bytes || lost.rolled_back || lost.dropped)
		wrong("ring %u: %" PRIu64 " overwritten, %" PRIu64 " bytes unreadable",
		      xvt_event_ring(ev), lost.overwritten, lost.bad_bytes);
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		r->lost[i] += lost.lost[i];
		r->next += lost.lost[i];
	}
	r->gaps++;
}

static void take_number(struct ring *r, const struct xvt_event *ev)
{
	uint64_t words[2];

	if (ev->hdr->id != XVT_ID_U64 || ev->hdr->len != sizeof(words))
		wrong("an event that no writer wrote: id %u, %u bytes", ev->hdr->id, ev->hdr->len);
	memcpy(words, ev->payload, sizeof(words));
	if (!r->begun) {
		r->begun = true;
		r->writer = words[0];
		r->first_clock = ev->hdr->guest_clock;
	}
	if (words[0] != r->writer || words[1] != r->next)
		wrong("ring %u: number %" PRIu64 " of thread %" PRIu64 " where %" PRIu64
		      " of %" PRIu64 " is due",
		      xvt_event_ring(ev), words[1], words[0], r->next, r->writer);
	r->next++;
	r->events++;
	r->backlog += !!(ev->hdr->ring_flags & XVT_EVENT_F_BACKLOG);
	r->unconfirmed += !!(ev->hdr->ring_flags & XVT_EVENT_F_UNCONFIRMED);
	if (ev->hdr->ring_flags & XVT_EVENT_F_RECOVERED)
		wrong("ring %u: an event of a dead writer", xvt_event_ring(ev));
}

static void take_events(void)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct xvt_events_iter *it = &f.it;
	struct xvt_order_hdr h;
	struct xvt_event ev;
	int got;

	payload(&h, sizeof(h));
	if (xvt_events_begin(it, &raws, &f.buf, f.hdr.seq))
		wrong("its tables do not fit it");
	while ((got = xvt_events_next(it, &ev)) == 1) {
		struct ring *r = ring_of(xvt_event_ring(&ev));

		if (ev.hdr->ring_flags & XVT_EVENT_F_LATE)
			wrong("a late event that is not in the late lane");
		if (f.hdr.type == XVT_CHUNK_ORDER)
			check_order(ev.hdr);
		if (ev.hdr->id == XVT_ID_LOST)
			take_lost(r, &ev);
		else
			check_time(r, ev.hdr);
		if (xvt_is_event(ev.hdr))
			take_number(r, &ev);
		if (ev.hdr->host_ns < first)
			first = ev.hdr->host_ns;
		if (ev.hdr->host_ns > last)
			last = ev.hdr->host_ns;
		f.records[0]++;
	}
	if (got || it->at != it->end)
		wrong("its events do not fit it");
	if (h.count && (first != h.first_ns || last != h.last_ns))
		wrong("its first or last time is not that of its events");
}

static void take_round(void)
{
	struct xvt_round round;

	payload(&round, sizeof(round));
	if (round.watermark_ns < f.watermark_ns)
		wrong("the watermark goes back");
	f.watermark_ns = round.watermark_ns;
}

static void take_stats(void)
{
	struct xvt_ring_stats st;
	struct ring *r;

	payload(&st, sizeof(st));
	r = ring_of(st.ring);
	if (r->has_stats && (st.attempted < r->stats.attempted || st.events < r->stats.events))
		wrong("ring %u: its counters go back", st.ring);
	r->stats = st;
	r->has_stats = true;
}

static void show_note(void)
{
	struct xvt_note_parts p;

	if (xvt_note_get(&f.buf, &p) && p.note.level)
		printf("note: %.*s\n", (int)p.len, (const char *)p.text);
}

/* -- the end -------------------------------------------------------------------------- */

static void take_end(void)
{
	struct xvt_end end;

	payload(&end, sizeof(end));
	if (end.chunks != f.chunks || end.events != f.records[0] || end.late != f.records[1] ||
	    end.index_offset != f.index_offset)
		wrong("the end does not say what was there");
	f.ended = true;
}

static void check_counts(uint32_t ring)
{
	const struct ring *r = ring_of(ring);
	const struct xvt_ring_stats *s = &r->stats;
	uint64_t sum = s->events + s->discarded + s->overwritten + s->in_flight;
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		sum += s->lost[i];
		if (s->lost[i] != r->lost[i])
			wrong("ring %u: its counters say %" PRIu64
			      " lost of cause %u, its LOST records %" PRIu64,
			      ring, s->lost[i], i, r->lost[i]);
	}
	if (s->attempted != sum)
		wrong("ring %u: attempted %" PRIu64 " is not the sum %" PRIu64, ring, s->attempted,
		      sum);
	if (s->events != r->events || s->late || s->recovered || s->backlog != r->backlog ||
	    s->unconfirmed != r->unconfirmed || s->clock_violations || s->bad_bytes)
		wrong("ring %u: its counters say %" PRIu64 " events, %" PRIu64
		      " unconfirmed, %" PRIu64 " backlog, there were %" PRIu64 ", %" PRIu64
		      ", %" PRIu64,
		      ring, s->events, s->unconfirmed, s->backlog, r->events, r->unconfirmed,
		      r->backlog);
	if (s->discarded || s->overwritten || s->in_flight || r->next != s->attempted)
		wrong("ring %u: %" PRIu64 " numbers are accounted for, %" PRIu64
		      " were attempted, and no writer discards or dies",
		      ring, r->next, s->attempted);
}

static void take_chunk(void)
{
	struct xvt_clock_node node;
	struct xvt_timebase line;
	size_t i;

	if (f.ended)
		wrong("there is something behind the end");
	if (f.hdr.type == XVT_CHUNK_FILE)
		take_file();
	check_identity();
	if (f.hdr.type == XVT_CHUNK_INDEX)
		check_index();
	note_chunk();
	switch (f.hdr.type) {
	case XVT_CHUNK_VM:
		take_vm();
		break;
	case XVT_CHUNK_RING:
		take_ring();
		break;
	case XVT_CHUNK_NODE:
		for (i = 0; element(&node, sizeof(node), i); i++)
			take_node(&node);
		break;
	case XVT_CHUNK_TIMEBASE:
		for (i = 0; element(&line, sizeof(line), i); i++)
			check_line(&line);
		break;
	case XVT_CHUNK_RAW:
		keep_raw();
		break;
	case XVT_CHUNK_ORDER:
	case XVT_CHUNK_LOOSE:
		take_events();
		break;
	case XVT_CHUNK_LATE:
		wrong("events came late, and no writer stood still for so long");
	case XVT_CHUNK_ROUND:
		take_round();
		break;
	case XVT_CHUNK_STATS:
		take_stats();
		break;
	case XVT_CHUNK_NOTE:
		show_note();
		break;
	case XVT_CHUNK_END:
		take_end();
		break;
	}
	f.chunks++;
}

static uint64_t low_wraps(const struct ring *r)
{
	return (r->last_clock >> 32) - (r->first_clock >> 32);
}

static void show(double seconds)
{
	uint64_t events = 0, lost = 0, gaps = 0, wraps = 0;
	unsigned int i, k;

	for (i = 0; i < RINGS_MAX; i++) {
		const struct ring *r = &f.rings[i];
		uint64_t sum = 0;

		if (!r->known)
			continue;
		check_counts(i);
		for (k = 0; k < XVT_LOST_CAUSES; k++)
			sum += r->lost[k];
		printf("ring %u %s:%u events=%" PRIu64 " lost=%" PRIu64 " gaps=%" PRIu64
		       " unconfirmed=%" PRIu64 " low_wraps=%" PRIu64 "\n",
		       i, f.names[r->info.vm], r->info.index, r->events, sum, r->gaps,
		       r->unconfirmed, low_wraps(r));
		events += r->events;
		lost += sum;
		gaps += r->gaps;
		wraps += low_wraps(r);
	}
	printf("all events=%" PRIu64 " lost=%" PRIu64 " gaps=%" PRIu64 " chunks=%" PRIu64
	       " nodes=%" PRIu64 " bytes=%" PRIu64 " low_wraps=%" PRIu64
	       " seconds=%.1f events_s=%.0f bytes_s=%.0f\n",
	       events, lost, gaps, f.chunks, f.nodes, f.next_offset, wraps, seconds,
	       (double)events / seconds, (double)f.next_offset / seconds);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double start = 0;

	if (argc != 1) {
		fprintf(stderr, "usage: %s < FILE.xvt\n", argv[0]);
		return 2;
	}
	setvbuf(stdin, NULL, _IOFBF, PIPE_SIZE);
	fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_SIZE); /* a file has none */
	while (next_chunk()) {
		take_chunk();
		/* The rate is that of the flow, not of waiting for the first event. */
		if (!start && f.records[0])
			start = now();
	}
	if (!f.ended)
		wrong("the trace ends without an end");
	show(start ? now() - start : 1);
	return 0;
}
