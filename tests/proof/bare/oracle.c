// SPDX-License-Identifier: GPL-2.0
/* oracle.c - see oracle.h. Knows no scenario: the log alone says what must be there. */
#include "oracle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xvt_reader.h"

/* Payloads are no longer than the smallest sub-buffer. */
#define SCENE_WORDS 128

struct oracle {
	const uint8_t *region;
	const struct xvt_bare_page *page;
	struct xvt_geometry g;
	struct xvt_ring_words ring;
	struct oracle_counts *counts;
	uint32_t backend;
	bool overwrite;
	bool seen[XVT_BARE_LOG_MAX];
	uint64_t previous_ts;
	uint64_t first_ts;
	bool any;
	char *why;
	size_t why_size;
};

static bool wrong(struct oracle *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(o->why, o->why_size, format, args);
	va_end(args);
	return false;
}

static const struct xvt_ring_ctl *ctl_of(const struct oracle *o)
{
	return (const void *)(o->region + xvt_ctl_off(&o->g, 0));
}

static bool look(struct oracle *o, uint64_t region_size)
{
	const struct xvt_ring_host *host;
	struct xvt_region_hdr header;
	struct xvt_fault fault = { 0 };

	memcpy(&header, o->region, sizeof(header));
	if (xvt_check_header(&header, region_size, &o->g, &fault))
		return wrong(o, "region header: %s = %" PRIu64 " (%s)",
			     fault.field ? fault.field : "magic", fault.value,
			     fault.why ? fault.why : "not formatted");
	xvt_ring_words(ctl_of(o), &o->g, &o->ring);
	host = (const void *)(o->region + xvt_ring_host_off(&o->g, 0));
	o->overwrite = xvt_load(&host->enable) == XVT_ENABLE_OVERWRITE;
	o->backend = xvt_load(&ctl_of(o)->backend);
	return true;
}

uint64_t oracle_position(const void *region, uint64_t region_size)
{
	char why[128];
	struct oracle o = { .region = region, .why = why, .why_size = sizeof(why) };

	return look(&o, region_size) ? o.ring.resv : 0;
}

uint64_t oracle_retries(const void *region, uint64_t region_size)
{
	char why[128];
	struct oracle o = { .region = region, .why = why, .why_size = sizeof(why) };

	return look(&o, region_size) ? xvt_load(&ctl_of(&o)->retries) : 0;
}

static bool check_payload(struct oracle *o, const struct xvt_record *rec, uint64_t number,
			  uint32_t len)
{
	uint64_t expected[SCENE_WORDS], at = rec->pos;
	uint32_t i;

	if (rec->len != ((len + 7) & ~7u))
		return wrong(o, "event %" PRIu64 " at %" PRIu64 ": %u bytes of payload, wrote %u",
			     number, at, rec->len, len);
	if (rec->len > sizeof(expected))
		return wrong(o, "event %" PRIu64 ": longer than any that was written", number);
	memset(expected, 0, sizeof(expected));
	for (i = 0; i < (len + 7) / 8; i++) {
		uint64_t word = xvt_bare_word(number, i);

		memcpy(&expected[i], &word, len - i * 8 < 8 ? len - i * 8 : 8);
	}
	if (memcmp(rec->payload, expected, rec->len))
		return wrong(o, "event %" PRIu64 " at %" PRIu64 ": wrong payload", number, at);
	return true;
}

/* The stamp that the writer took, or (xadd, interrupted) the time of what is before it. */
static bool check_time(struct oracle *o, const struct xvt_record *rec, uint64_t number,
		       const struct xvt_bare_log *log)
{
	if (rec->ts < log->entry || rec->ts > log->exit)
		return wrong(o,
			     "event %" PRIu64 " at %" PRIu64 ": time %" PRIu64
			     " is not within [%" PRIu64 ", %" PRIu64 "]",
			     number, rec->pos, rec->ts, log->entry, log->exit);
	if (rec->epoch - log->epoch_entry > log->epoch_exit - log->epoch_entry)
		return wrong(o, "event %" PRIu64 " at %" PRIu64 ": epoch %u is not within [%u, %u]",
			     number, rec->pos, rec->epoch, log->epoch_entry, log->epoch_exit);
	if (log->stamp && rec->ts == log->stamp)
		o->counts->exact++;
	else if (log->stamp && !(o->backend == XVT_BACKEND_XADD && rec->ts == o->previous_ts))
		return wrong(o,
			     "event %" PRIu64 " at %" PRIu64 ": time %" PRIu64
			     ", its writer read %" PRIu64,
			     number, rec->pos, rec->ts, log->stamp);
	return true;
}

static bool check_event(struct oracle *o, const struct xvt_record *rec)
{
	const struct xvt_bare_log *log;
	uint64_t number, index;

	if (rec->id != XVT_ID_U64 || rec->len < 8)
		return wrong(o, "record at %" PRIu64 ": id %u, %u bytes: no event wrote that",
			     rec->pos, rec->id, rec->len);
	memcpy(&number, rec->payload, sizeof(number));
	index = number - o->page->first;
	if (index >= o->page->log_count || index >= XVT_BARE_LOG_MAX)
		return wrong(o, "record at %" PRIu64 ": event %" PRIu64 " was never begun",
			     rec->pos, number);
	log = &o->page->log[index];
	if (o->seen[index])
		return wrong(o, "event %" PRIu64 " at %" PRIu64 ": there twice", number, rec->pos);
	if (log->result || log->flags & XVT_BARE_F_DISCARD)
		return wrong(o, "event %" PRIu64 " at %" PRIu64 ": there, but result %d, flags %u",
			     number, rec->pos, log->result, log->flags);
	o->seen[index] = true;
	o->counts->records++;
	o->counts->full += rec->full;
	return check_payload(o, rec, number, log->len) && check_time(o, rec, number, log);
}

static bool check_record(struct oracle *o, const struct xvt_record *rec)
{
	if (o->any && rec->ts < o->previous_ts)
		return wrong(o,
			     "record at %" PRIu64 ": time %" PRIu64 " after %" PRIu64 ": went back",
			     rec->pos, rec->ts, o->previous_ts);
	if (!o->any)
		o->first_ts = rec->ts;
	if (rec->kind == XVT_REC_DISCARDED)
		o->counts->discarded_left++;
	else if (rec->kind != XVT_REC_SUBBUF && !check_event(o, rec))
		return false;
	o->any = true;
	o->previous_ts = rec->ts; /* a sub-buffer's header has a time too, for SAME to refer to */
	return true;
}

/* One sub-buffer, from a private copy. */
static bool read_subbuf(struct oracle *o, struct xvt_reader *reader, uint64_t end)
{
	uint8_t *copy = malloc(o->g.subbuf_size);
	uint64_t len = end - reader->pos;
	struct xvt_record rec;
	bool ok = true;
	int got;

	if (!copy)
		return wrong(o, "no memory");
	memcpy(copy, o->region + xvt_data_off(&o->g, 0) + xvt_pos_off(&o->g, reader->pos), len);
	xvt_reader_feed(reader, copy, len);
	while (ok && (got = xvt_reader_next(reader, &rec)) == 1)
		ok = check_record(o, &rec);
	if (ok && got < 0)
		ok = wrong(o, "unreadable at %" PRIu64 ": %s = %#" PRIx64 " (%s)", reader->pos,
			   reader->fault.field, reader->fault.value, reader->fault.why);
	free(copy);
	return ok;
}

static bool read_ring(struct oracle *o, uint64_t from)
{
	struct xvt_reader reader;

	xvt_reader_init(&reader, &o->g, from);
	while (reader.pos != o->ring.commit) {
		uint64_t end = xvt_pos_next_subbuf(&o->g, reader.pos);

		if (xvt_pos_before(o->ring.commit, end))
			end = o->ring.commit;
		if (!read_subbuf(o, &reader, end))
			return false;
	}
	return true;
}

/* Where the oldest record that must still be there begins. */
static uint64_t oldest(const struct oracle *o, uint64_t consumed)
{
	const struct xvt_ring_ctl *c = ctl_of(o);
	uint64_t start = c->gen[o->ring.generation % XVT_GEN_SLOTS].start;
	uint64_t kept = xvt_pos_roundup(&o->g, o->ring.resv) - o->g.ring_size;

	if (consumed > start)
		start = consumed;
	if (xvt_pos_before(start, kept) && o->ring.resv > o->g.ring_size)
		start = kept;
	return start;
}

/* Every attempt is delivered, discarded, refused, or (older than all that is there) gone. */
static bool account(struct oracle *o)
{
	uint64_t attempted = 0, discarded = 0, lost = 0, lost_reported = 0, i;

	for (i = 0; i < o->page->log_count; i++) {
		const struct xvt_bare_log *log = &o->page->log[i];
		uint64_t number = o->page->first + i;

		if (!log->exit)
			return wrong(o, "event %" PRIu64 " never ended", number);
		if (log->result && log->result != -EAGAIN && log->result != -ENOSPC)
			return wrong(o, "event %" PRIu64 ": xvt_reserve() returned %d", number,
				     log->result);
		attempted += log->result != -EAGAIN;
		lost += log->result == -ENOSPC;
		if (log->result)
			continue;
		if (log->flags & XVT_BARE_F_DISCARD) {
			discarded++;
		} else if (!o->seen[i]) {
			if (!o->any || log->entry >= o->first_ts)
				return wrong(o, "event %" PRIu64 " (context %u) is missing", number,
					     log->context);
			o->counts->overwritten++;
		}
	}
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		o->counts->lost[i] = o->ring.lost[i];
		lost_reported += o->ring.lost[i];
	}
	if (o->ring.attempted != attempted)
		return wrong(o, "attempted says %" PRIu64 ", were %" PRIu64, o->ring.attempted,
			     attempted);
	if (o->ring.discarded != discarded)
		return wrong(o, "discarded says %" PRIu64 ", were %" PRIu64, o->ring.discarded,
			     discarded);
	if (lost_reported != lost)
		return wrong(o, "lost says %" PRIu64 ", were %" PRIu64, lost_reported, lost);
	return true;
}

bool oracle_check(const void *region, uint64_t region_size, const struct xvt_bare_page *page,
		  uint64_t consumed, struct oracle_counts *counts, char *why, size_t why_size)
{
	struct oracle o = {
		.region = region,
		.page = page,
		.counts = counts,
		.why = why,
		.why_size = why_size,
	};
	struct xvt_fault fault;
	uint64_t from;

	memset(counts, 0, sizeof(*counts));
	if (page->log_count > XVT_BARE_LOG_MAX)
		return wrong(&o, "the log is too short for this scenario");
	if (!look(&o, region_size))
		return false;
	if (o.ring.nest || o.ring.commit != o.ring.resv)
		return wrong(&o, "nest %u, commit %" PRIu64 ", resv %" PRIu64 ": not idle",
			     o.ring.nest, o.ring.commit, o.ring.resv);
	from = oldest(&o, consumed);
	if (xvt_check_words(&o.g, &o.ring, from, o.overwrite, &fault))
		return wrong(&o, "%s = %" PRIu64 " (%s)", fault.field, fault.value, fault.why);
	return read_ring(&o, from) && account(&o);
}

bool oracle_peek(const void *region, uint64_t region_size, const struct xvt_bare_page *page,
		 uint64_t *commit, char *why, size_t why_size)
{
	struct oracle_counts counts = { 0 };
	struct oracle o = {
		.region = region,
		.page = page,
		.counts = &counts,
		.why = why,
		.why_size = why_size,
	};

	if (!look(&o, region_size))
		return false;
	if (xvt_pos_before(o.ring.resv, o.ring.commit))
		return wrong(&o, "commit %" PRIu64 " beyond resv %" PRIu64, o.ring.commit,
			     o.ring.resv);
	if (xvt_pos_before(o.ring.commit, *commit))
		return wrong(&o, "commit went back from %" PRIu64 " to %" PRIu64, *commit,
			     o.ring.commit);
	*commit = o.ring.commit;
	return read_ring(&o, oldest(&o, 0));
}
