// SPDX-License-Identifier: GPL-2.0
/* order_read.c - see order_read.h. */
#include "trace/order_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xvt_ring.h"

#define KEPT_BYTES (32u << 20)

void xvt_chunk_buf_free(struct xvt_chunk_buf *b)
{
	free(b->bytes);
	free(b->unpacked);
	memset(b, 0, sizeof(*b));
}

void xvt_events_end(struct xvt_events_iter *it)
{
	free(it->sources);
	free(it->lines);
	free(it->kept);
	free(it->kept_bytes);
	memset(it, 0, sizeof(*it));
}

/* ------------------------------------------------------------------ tables */

/* Takes the next `count` elements of `size` bytes. Returns NULL if they reach past `end`. */
static const uint8_t *take(const uint8_t **at, const uint8_t *end, uint64_t count, size_t size)
{
	const uint8_t *from = *at;

	if (count > (uint64_t)(end - from) / size)
		return NULL;
	*at += count * size;
	return from;
}

static int make_room(void **array, uint32_t *room, uint32_t count, size_t size)
{
	if (count <= *room)
		return 0;
	free(*array);
	*array = malloc(count * size);
	*room = *array ? count : 0;
	return *array ? 0 : -ENOMEM;
}

/* Takes the lines. A line is prepared when its first event comes; `changes` is 0 until then. */
static int take_lines(struct xvt_events_iter *it, const uint8_t *from)
{
	uint32_t i;

	if (make_room((void **)&it->lines, &it->lines_room, it->nr_lines, sizeof(*it->lines)))
		return -ENOMEM;
	for (i = 0; i < it->nr_lines; i++) {
		struct xvt_order_line l;

		memcpy(&l, from + i * sizeof(l), sizeof(l));
		if (l.run >> 63)
			return -EBADMSG;
		it->lines[i] = (struct xvt_clock_segment){
			.guest = l.guest, .host_ns = l.host_ns, .rise = l.rise, .run = l.run
		};
	}
	return 0;
}

static int take_sources(struct xvt_events_iter *it, const uint8_t *from, const uint8_t *raws,
			uint32_t nr_raws)
{
	uint32_t i;

	if (make_room((void **)&it->sources, &it->sources_room, it->nr_sources,
		      sizeof(*it->sources)))
		return -ENOMEM;
	for (i = 0; i < it->nr_sources; i++) {
		struct xvt_events_source *to = &it->sources[i];
		struct xvt_order_source s;

		memcpy(&s, from + i * sizeof(s), sizeof(s));
		if (s.raw >= nr_raws || s.line >= it->nr_lines || s.at % 8 || !s.ts_bits ||
		    s.ts_bits > 32)
			return -EBADMSG;
		*to = (struct xvt_events_source){ .at = s.at,
						  .left = s.count,
						  .ring_flags = s.ring_flags,
						  .line = s.line,
						  .skip = s.skip,
						  .ts_bits = s.ts_bits,
						  .ts = s.ts };
		memcpy(&to->raw_seq, raws + s.raw * sizeof(to->raw_seq), sizeof(to->raw_seq));
	}
	return 0;
}

/* Takes the numbers, and the lengths of runs. At least one word lies behind the numbers. */
static int take_sequence(struct xvt_events_iter *it, const uint8_t *at, const uint8_t *end)
{
	const uint64_t count = it->nr_runs ? it->nr_runs : it->left;

	if (it->width > 32 || (uint64_t)(end - at) < sizeof(uint64_t))
		return -EBADMSG;
	end -= sizeof(uint64_t);
	it->numbers = take(&at, end, (count * it->width + 63) / 64, sizeof(uint64_t));
	it->runs = it->numbers && it->nr_runs ? take(&at, end, count, 1) : NULL;
	return it->numbers && (it->runs || !it->nr_runs) ? 0 : -EBADMSG;
}

/* ------------------------------------------------------------------ records */

xvt_inline uint64_t word_at(const struct xvt_raw *raw, uint32_t at)
{
	uint64_t word;

	memcpy(&word, raw->payload + at, sizeof(word));
	return word;
}

/* True for a record that was finished and not discarded. */
xvt_inline bool counts(uint64_t header)
{
	return header & XVT_H_DONE && xvt_header_id(header) != XVT_ID_DISCARDED;
}

/* Sets s->ts to the time of the record at s->at, whose whole header is in the chunk. */
xvt_inline void take_time(struct xvt_events_source *s, uint64_t header)
{
	if (xvt_likely(!(header & (XVT_H_SAME | XVT_H_FULL))))
		s->ts = xvt_time_extend(s->ts, header, s->ts_bits);
	else if (!(header & XVT_H_SAME))
		s->ts = word_at(s->raw, s->at + 8) << 32 | (uint32_t)header;
}

/* Goes to the source's next record that counts. Then its header and length lie within the chunk,
 * and its time is s->ts. Returns 0 or -EBADMSG. */
xvt_inline int find_record(struct xvt_events_source *s, uint64_t *header, uint32_t *head)
{
	uint32_t len;

	for (;;) {
		if (s->at > s->raw->len || s->raw->len - s->at < sizeof(*header))
			return -EBADMSG;
		*header = word_at(s->raw, s->at);
		len = xvt_header_len(*header);
		*head = *header & XVT_H_FULL ? 2 * sizeof(*header) : sizeof(*header);
		if (xvt_unlikely(xvt_header_id(*header) == XVT_ID_INVALID)) {
			s->at += sizeof(*header);
			continue;
		}
		if (len < *head || len > s->raw->len - s->at)
			return -EBADMSG;
		take_time(s, *header);
		if (xvt_likely(counts(*header)))
			return 0;
		s->at += len;
	}
}

/* Gets the source's RAW chunk, of which `count` more records will be taken. An unreadable chunk
 * only sets `unreadable`. Returns 0, -ENOMEM or a read error. */
static int get_raw(struct xvt_events_iter *it, struct xvt_events_source *s, uint32_t count)
{
	int err = it->raws ? it->raws->get(it->raws, s->raw_seq, count, &s->raw) : -EBADMSG;

	s->unreadable = err == -EBADMSG;
	return s->unreadable ? 0 : err;
}

/* Offset behind the source's last record, as far as its records can be read. */
static uint32_t end_of(const struct xvt_events_source *s)
{
	struct xvt_events_source at = *s;
	uint64_t header, n = (uint64_t)s->skip + s->left;
	uint32_t head;

	for (; n && !find_record(&at, &header, &head); n--)
		at.at += xvt_header_len(header);
	return at.at < s->raw->len ? at.at : s->raw->len;
}

static int by_raw(const void *pa, const void *pb)
{
	const struct xvt_events_source *const *a = pa, *const *b = pb;

	return (*a)->raw_seq < (*b)->raw_seq ? -1 : (*a)->raw_seq > (*b)->raw_seq;
}

/*
 * Copies the part of the RAW chunk that the source needs. Returns false beyond KEPT_BYTES in all.
 */
static bool keep_source(struct xvt_events_iter *it, struct xvt_events_source *s, size_t *used)
{
	struct xvt_raw *kept = &it->kept[s - it->sources];
	uint32_t len;

	if (s->at > s->raw->len)
		return true;
	len = end_of(s) - s->at;
	if (len > KEPT_BYTES - *used)
		return false;
	memcpy(it->kept_bytes + *used, s->raw->payload + s->at, len);
	*kept = (struct xvt_raw){ s->raw_seq, it->kept_bytes + *used, len };
	*used += len;
	s->base = s->at;
	s->at = 0;
	s->raw = kept;
	return true;
}

/*
 * Copies the records that the sources need, with each RAW chunk loaded once. Many rings with long
 * pieces use more RAW chunks than can be held; without the copies each event would load another
 * chunk.
 */
static int keep_records(struct xvt_events_iter *it)
{
	struct xvt_events_source **sorted = malloc(it->nr_sources * sizeof(*sorted));
	size_t used = 0;
	uint32_t i;
	int err = 0;

	free(it->kept);
	it->kept = malloc(it->nr_sources * sizeof(*it->kept));
	if (!it->kept_bytes)
		it->kept_bytes = malloc(KEPT_BYTES);
	if (!sorted || !it->kept || !it->kept_bytes)
		err = -ENOMEM;
	for (i = 0; i < it->nr_sources && !err; i++)
		sorted[i] = &it->sources[i];
	if (!err && it->nr_sources)
		qsort(sorted, it->nr_sources, sizeof(*sorted), by_raw);
	for (i = 0; i < it->nr_sources && !err; i++) {
		err = get_raw(it, sorted[i], sorted[i]->left);
		if (!err && !sorted[i]->unreadable && !keep_source(it, sorted[i], &used))
			break;
	}
	free(sorted);
	return err;
}

int xvt_events_begin(struct xvt_events_iter *it, struct xvt_raws *raws,
		     const struct xvt_chunk_buf *b, uint64_t chunk_seq)
{
	const uint8_t *at = b->payload, *end = b->payload + b->len, *names, *lines, *sources;
	struct xvt_order_hdr h;
	int err;

	if (raws)
		raws->events += it->given;
	it->left = it->given = it->at_decoded = it->nr_decoded = 0;
	if (b->len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, at, sizeof(h));
	if (h.count > XVT_ORDER_COUNT_MAX || h.nr_sources > XVT_ORDER_SOURCES_MAX ||
	    h.nr_lines > XVT_ORDER_SOURCES_MAX)
		return -EBADMSG;
	at += sizeof(h);
	it->raws = raws;
	it->chunk_seq = chunk_seq;
	it->nr_sources = h.nr_sources;
	it->nr_lines = h.nr_lines;
	it->nr_runs = h.nr_runs;
	it->width = h.width;
	it->number = it->run_left = 0;
	it->at = take(&at, end, h.own_len, 1);
	it->end = at;
	names = take(&at, end, h.nr_raws, sizeof(uint64_t));
	lines = take(&at, end, h.nr_lines, sizeof(struct xvt_order_line));
	sources = take(&at, end, h.nr_sources, sizeof(struct xvt_order_source));
	if (!it->at || !names || !lines || !sources || h.own_len % 8)
		return -EBADMSG;
	err = take_lines(it, lines);
	if (!err)
		err = take_sources(it, sources, names, h.nr_raws);
	it->left = h.count;
	if (!err && it->nr_sources)
		err = take_sequence(it, at, end);
	if (!err && raws && raws->crowded && raws->crowded(raws, names, h.nr_raws))
		err = keep_records(it);
	if (err)
		it->left = 0;
	return err;
}

/* ------------------------------------------------------------------ events */

xvt_inline uint32_t next_number(struct xvt_events_iter *it)
{
	const uint64_t bit = it->number++ * it->width;
	uint64_t word;

	memcpy(&word, it->numbers + bit / 8, sizeof(word));
	return (uint32_t)(word >> bit % 8 & ((1ull << it->width) - 1));
}

/* The next number, which the next call gives again. There is a word behind the last one. */
static uint32_t peek_number(struct xvt_events_iter *it)
{
	const uint32_t number = next_number(it);

	it->number--;
	return number;
}

/* Number of the next event's source. */
xvt_inline uint32_t next_source(struct xvt_events_iter *it)
{
	if (!it->runs)
		return next_number(it);
	if (!it->run_left) {
		/* More events than the runs hold: UINT32_MAX is the number of no source. */
		if (it->number == it->nr_runs)
			return UINT32_MAX;
		it->run_left = 1u + it->runs[it->number];
		it->current = next_number(it);
	}
	it->run_left--;
	return it->current;
}

static int next_own(struct xvt_events_iter *it, struct xvt_event *ev)
{
	const struct xvt_event_hdr *h = (const struct xvt_event_hdr *)it->at;
	const size_t room = (size_t)(it->end - it->at);

	if (room < sizeof(*h) || xvt_pad8(h->len) > room - sizeof(*h))
		return -EBADMSG;
	ev->hdr = h;
	ev->payload = it->at + sizeof(*h);
	ev->chunk_seq = it->chunk_seq;
	ev->left = it->left;
	it->at += sizeof(*h) + xvt_pad8(h->len);
	return 1;
}

static void prepare_line(struct xvt_clock_segment *s)
{
	if (s->run)
		xvt_clock_segment_make(s);
	else
		s->changes = UINT64_MAX;
}

/* Host time, ns, of a clock value on a line. */
xvt_inline uint64_t line_ns(struct xvt_events_iter *it, uint32_t number, uint64_t guest)
{
	struct xvt_clock_segment *s = &it->lines[number];

	if (xvt_unlikely(!s->changes))
		prepare_line(s);
	return s->run ? xvt_clock_segment_ns(s, guest) : s->host_ns;
}

/* Skips the records before the source's first one. */
static int skip_records(struct xvt_events_source *s)
{
	uint64_t header;
	uint32_t head;

	for (; s->skip; s->skip--) {
		if (find_record(s, &header, &head))
			return -EBADMSG;
		s->at += xvt_header_len(header);
	}
	return 0;
}

/* Goes to the source's next record, in its RAW chunk. */
xvt_inline int go_to_record(struct xvt_events_iter *it, struct xvt_events_source *s,
			    uint64_t *header, uint32_t *head)
{
	const uint32_t from = s->at;

	if ((xvt_unlikely(s->skip) && skip_records(s)) || find_record(s, header, head))
		return -EBADMSG;
	if (xvt_unlikely(s->at != from) && !it->raws->spend(it->raws, s->at - from))
		return -EBADMSG;
	return 0;
}

/* Gives the record that go_to_record() found, and steps behind it. */
xvt_inline void give_record(struct xvt_events_iter *it, struct xvt_events_source *s,
			    uint64_t header, uint32_t head, uint64_t host_ns, struct xvt_event *ev)
{
	struct xvt_events_decoded *d = &it->decoded[0];

	*d = (struct xvt_events_decoded){
		.hdr = { .host_ns = host_ns,
			 .guest_clock = s->ts,
			 .ring_flags = s->ring_flags,
			 .id = (uint16_t)xvt_header_id(header),
			 .len = (uint16_t)(xvt_header_len(header) - head) },
		.payload = s->raw->payload + s->at + head,
		.source = (uint32_t)(s - it->sources),
		.at = s->base + s->at,
		.left = it->left,
	};
	xvt_events_give(it, d, ev);
	s->at += xvt_header_len(header);
}

static int next_record(struct xvt_events_iter *it, struct xvt_events_source *s,
		       struct xvt_event *ev)
{
	uint64_t header;
	uint32_t head;

	if (go_to_record(it, s, &header, &head))
		return -EBADMSG;
	give_record(it, s, header, head, line_ns(it, s->line, s->ts), ev);
	return 1;
}

/* Returns whether the source's RAW chunk is there. The chunk may have been dropped to load another
 * one. */
xvt_inline bool has_raw(const struct xvt_events_source *s)
{
	return s->raw && s->raw->seq == s->raw_seq && !s->unreadable;
}

/* Makes the RAW chunk available of a record that was taken from the source's number. Returns as
 * begin_record(). */
static int load_record(struct xvt_events_iter *it, struct xvt_events_source *s)
{
	int err = s->unreadable ? 0 : get_raw(it, s, s->raw ? 0 : s->left + 1);

	if (err)
		return err;
	if (!s->unreadable)
		return 1;
	it->missing++;
	/* Events without a record take no space in the file, so their number is limited by
	 * spend(). */
	return it->raws && !it->raws->spend(it->raws, sizeof(uint64_t)) ? -EBADMSG : 0;
}

/* Takes one of the source's records from its number, and makes its RAW chunk available. Returns 1;
 * 0: the chunk is unreadable; or -errno. */
xvt_inline int begin_record(struct xvt_events_iter *it, struct xvt_events_source *s)
{
	if (xvt_unlikely(!s->left))
		return -EBADMSG;
	s->left--;
	return xvt_likely(has_raw(s)) ? 1 : load_record(it, s);
}

int xvt_events_item(struct xvt_events_iter *it, struct xvt_events_item *item)
{
	uint32_t number;
	int err;

	if (!it->left)
		return 0;
	number = it->nr_sources ? next_source(it) : 0;
	it->left--;
	*item = (struct xvt_events_item){ .source = number, .count = 1 };
	if (number > it->nr_sources)
		return -EBADMSG;
	if (number == it->nr_sources) {
		err = next_own(it, &item->own);
		item->ring = err > 0 ? item->own.hdr->ring_flags & XVT_EVENT_RING_MASK : 0;
		return err;
	}
	item->ring = it->sources[number].ring_flags & XVT_EVENT_RING_MASK;
	while (it->left &&
	       (it->runs ? it->run_left && it->current == number : peek_number(it) == number)) {
		next_source(it);
		it->left--;
		item->count++;
	}
	item->left = it->left;
	return 1;
}

int xvt_events_peek(struct xvt_events_iter *it, uint32_t source, struct xvt_events_record *rec)
{
	struct xvt_events_source *s = &it->sources[source];
	int got = begin_record(it, s);

	if (got <= 0)
		return got;
	if (go_to_record(it, s, &rec->header, &rec->head))
		return -EBADMSG;
	rec->host_ns = line_ns(it, s->line, s->ts);
	return 1;
}

void xvt_events_take(struct xvt_events_iter *it, uint32_t source,
		     const struct xvt_events_record *rec, struct xvt_event *ev)
{
	give_record(it, &it->sources[source], rec->header, rec->head, rec->host_ns, ev);
}

/*
 * Decodes records of a source, at most `count`, up to the first that is not simple: behind one that
 * does not count, with a header of two words, or at the end of its chunk. Returns their number.
 */
xvt_inline uint32_t decode_simple(struct xvt_events_iter *it, struct xvt_events_source *s,
				  struct xvt_events_decoded *to, uint32_t count, uint32_t left)
{
	const struct xvt_clock_segment *line = &it->lines[s->line];
	const uint8_t *payload = s->raw->payload;
	const uint64_t mask = (1ull << s->ts_bits) - 1;
	const uint32_t source = (uint32_t)(s - it->sources), base = s->base;
	const uint32_t ring_flags = s->ring_flags;
	uint32_t n, at = s->at, room = s->raw->len - at;
	uint64_t ts = s->ts;

	if (at > s->raw->len)
		return 0;
	for (n = 0; n < count; n++, to++) {
		uint64_t header;
		uint32_t len;

		if (xvt_unlikely(room < sizeof(header)))
			break;
		memcpy(&header, payload + at, sizeof(header));
		len = xvt_header_len(header);
		if (xvt_unlikely(header & XVT_H_FULL || !counts(header) || len < sizeof(header) ||
				 len > room || xvt_header_id(header) == XVT_ID_INVALID))
			break;
		if (!(header & XVT_H_SAME))
			ts += (header - ts) & mask;
		to->hdr.host_ns = line->run ? xvt_clock_segment_ns(line, ts) : line->host_ns;
		to->hdr.guest_clock = ts;
		to->hdr.ring_flags = ring_flags;
		to->hdr.id = (uint16_t)xvt_header_id(header);
		to->hdr.len = (uint16_t)(len - sizeof(header));
		to->payload = payload + at + sizeof(header);
		to->source = source;
		to->at = base + at;
		to->left = left - n;
		at += len;
		room -= len;
	}
	s->at = at;
	s->ts = ts;
	s->left -= n;
	return n;
}

/* Number of adjacent events of the next event's source, at most `most`. 0: not a source of which
 * records can be decoded with nothing read. */
xvt_inline uint32_t simple_run(struct xvt_events_iter *it, uint32_t most, uint32_t *number)
{
	const struct xvt_events_source *s;
	uint32_t count = 1;

	if (!it->runs) {
		*number = peek_number(it);
	} else if (it->run_left) {
		*number = it->current;
		count = it->run_left;
	} else {
		if (it->number == it->nr_runs)
			return 0;
		count = 1u + it->runs[it->number];
		*number = peek_number(it);
	}
	if (*number >= it->nr_sources)
		return 0;
	s = &it->sources[*number];
	if (s->skip || !has_raw(s))
		return 0;
	count = count < most ? count : most;
	count = count < it->left ? count : it->left;
	return count < s->left ? count : s->left;
}

/* Passes the next n of the adjacent events that simple_run() found. */
xvt_inline void pass_run(struct xvt_events_iter *it, uint32_t number, uint32_t n)
{
	it->left -= n;
	it->given += n;
	if (!it->runs) {
		it->number += n;
		return;
	}
	if (!it->run_left) {
		it->run_left = 1u + it->runs[it->number++];
		it->current = number;
	}
	it->run_left -= n;
}

/* Decodes the next events, as far as nothing must be read for them, and all is as usual. */
static void decode_run(struct xvt_events_iter *it)
{
	uint32_t number, count, n;

	it->at_decoded = it->nr_decoded = 0;
	if (!it->nr_sources)
		return;
	while (it->nr_decoded < XVT_EVENTS_RUN && it->left) {
		count = simple_run(it, XVT_EVENTS_RUN - it->nr_decoded, &number);
		if (!count)
			return;
		if (xvt_unlikely(!it->lines[it->sources[number].line].changes))
			prepare_line(&it->lines[it->sources[number].line]);
		n = decode_simple(it, &it->sources[number], &it->decoded[it->nr_decoded], count,
				  it->left - 1);
		if (n)
			pass_run(it, number, n);
		it->nr_decoded += n;
		if (n < count)
			return;
	}
}

/* Gives the next event, whatever it takes. */
static int next_event(struct xvt_events_iter *it, struct xvt_event *ev)
{
	while (it->left) {
		const uint32_t number = it->nr_sources ? next_source(it) : 0;
		struct xvt_events_source *s;
		int got;

		it->left--;
		if (number >= it->nr_sources)
			return number == it->nr_sources ? next_own(it, ev) : -EBADMSG;
		s = &it->sources[number];
		got = begin_record(it, s);
		if (xvt_unlikely(got < 0))
			return got;
		if (xvt_unlikely(!got))
			continue;
		it->given++;
		return next_record(it, s, ev);
	}
	return 0;
}

int xvt_events_decode(struct xvt_events_iter *it, struct xvt_event *ev)
{
	decode_run(it);
	if (it->nr_decoded)
		return xvt_events_next(it, ev);
	return next_event(it, ev);
}

bool xvt_events_origin(const struct xvt_events_iter *it, const struct xvt_event *ev,
		       struct xvt_events_origin *origin)
{
	const struct xvt_events_decoded *d = xvt_events_decoded(it, ev);
	const struct xvt_events_source *s;

	if (!d)
		return false;
	s = &it->sources[d->source];
	*origin = (struct xvt_events_origin){
		.place = { .chunk = s->raw_seq,
			   .at = d->at,
			   .ts_bits = s->ts_bits,
			   .ts = d->hdr.guest_clock },
		.line = it->lines[s->line],
		.source = d->source,
	};
	return true;
}
