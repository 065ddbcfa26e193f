// SPDX-License-Identifier: GPL-2.0 OR MIT
/* tally.c - see tally.h. */
#include "tally.h"

static const char *check(const struct tally *t, const struct xvt_record *rec, uint32_t *stream,
			 uint64_t *number)
{
	uint64_t expected[STRESS_LEN_MAX / 8 + 1] = { 0 }, id;
	uint32_t len;

	if (rec->id != XVT_ID_U64 || rec->len < 16 || rec->len > STRESS_LEN_MAX)
		return "a record that no writer wrote";
	memcpy(&id, rec->payload, sizeof(id));
	*stream = (uint32_t)(id >> STRESS_STREAM_SHIFT);
	*number = id & ((1ull << STRESS_STREAM_SHIFT) - 1);
	if (*stream >= STRESS_STREAMS)
		return "an event of no stream";
	len = stress_payload(expected, *stream, *number);
	memset((uint8_t *)expected + len, 0, sizeof(expected) - len);
	if (rec->len != ((len + 7) & ~7u) || memcmp(expected, rec->payload, rec->len) != 0)
		return "a torn payload";
	if (stress_is_discard(*number))
		return "a discarded event";
	if (*number <= t->last[*stream])
		return "an event twice, or out of order";
	if (rec->ts < t->last_ts)
		return "a time before the one before it";
	return NULL;
}

const char *tally_take(struct tally *t, const struct xvt_record *rec, bool doubtful)
{
	uint64_t number;
	uint32_t stream;
	const char *why = check(t, rec, &stream, &number);

	if (why && doubtful) {
		t->stale++;
		return NULL;
	}
	if (why)
		return why;
	t->last[stream] = number;
	t->seen[stream]++;
	t->last_ts = rec->ts;
	return NULL;
}

uint64_t tally_seen(const struct tally *t)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < STRESS_STREAMS; i++)
		sum += t->seen[i];
	return sum;
}

uint64_t tally_missing(const struct tally *t, const struct stress_truth *truth)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < STRESS_STREAMS; i++) {
		uint64_t begun = xvt_load(&truth->begun[i]);

		sum += begun - begun / STRESS_DISCARD_EVERY - t->seen[i];
	}
	return sum;
}

uint64_t tally_refused(const struct stress_truth *truth)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < STRESS_STREAMS; i++)
		sum += xvt_load(&truth->refused[i]);
	return sum;
}
