// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_reader.c - decoding bytes of any origin. Every copy is exactly as
 * long as the reader is told, so that ASan sees a byte too far.
 */
#include "ut.h"

static struct ut_ring ring;

static void setup(void)
{
	uint32_t i;

	ut_ring_init(&ring, &(struct ut_conf){ 0 });
	for (i = 0; i < 8; i++)
		ut_write_at(&ring, 5000 + i, i, 8 * (i + 1));
}

static void teardown(void)
{
	ut_ring_fini(&ring);
}

static struct xvt_reader reader;
static uint8_t *copy;

static void feed(const void *bytes, uint64_t len, uint64_t pos, enum xvt_salvage salvage)
{
	free(copy);
	copy = malloc(len);
	memcpy(copy, bytes, len);
	xvt_reader_init(&reader, &ring.g, pos);
	reader.salvage = salvage;
	xvt_reader_feed(&reader, copy, len);
}

/* Reads to the end or the fault; returns the last xvt_reader_next(). */
static int read_all(uint32_t *records)
{
	uint64_t len = reader.end - reader.pos, last = reader.pos, calls = 0;
	struct xvt_record rec;
	int ret;

	*records = 0;
	while ((ret = xvt_reader_next(&reader, &rec)) == 1) {
		ut_assert(++calls <= len / 8);
		ut_assert(reader.pos - last >= 8 && reader.pos - last <= reader.end - last);
		last = reader.pos;
		if (rec.kind == XVT_REC_SUBBUF)
			continue;
		++*records;
		ut_assert(rec.payload >= copy + 8 && rec.len <= len);
		ut_assert(rec.payload + rec.len <= copy + len);
		if (rec.len) { /* ASan looks on */
			ut_assert(rec.payload[0] + rec.payload[rec.len - 1] >= 0);
		}
	}
	return ret;
}

START_TEST(piece_of_any_length_ends_cleanly_at_a_record)
{
	uint64_t end = ring.w.ctl->commit, len;
	uint32_t n, ends = 0;

	for (len = 8; len <= end; len += 8) {
		feed(ring.w.data, len, 0, XVT_SALVAGE_NO);
		ends += read_all(&n) == 0;
	}
	ck_assert_uint_eq(ends, 9); /* after the header, after each record */
	ck_assert_uint_eq(n, 8);
}
END_TEST

START_TEST(pieces_carry_time_over)
{
	struct ut_recs *recs = calloc(1, sizeof(*recs));
	uint32_t i;

	ut_ring_reset(&ring, 0, XVT_ENABLE_STOP);
	for (i = 0; i < 40; i++) {
		ck_assert_int_eq(ut_write_at(&ring, 5000ull + ((uint64_t)i << 31), i, 8), 0);
		ut_drain(&ring, recs);
		ck_assert_uint_eq(recs->rec[recs->count - 1].ts, 5000ull + ((uint64_t)i << 31));
	}
	free(recs);
}
END_TEST

/* Spelt out, not by xvt_header(): this is what the bytes are, whichever writer wrote them. Lap 0.
 */
#define H(id, len8, flags) \
	((uint64_t)(id) << XVT_H_ID_SHIFT | (uint64_t)(len8) << XVT_H_LEN8_SHIFT | (flags) | 5000)
#define OTHER_LAP (1ull << XVT_H_LAP_SHIFT)

/* The first record of a sub-buffer replaced; 16 words follow in the piece. */
static const struct {
	uint64_t header;
	const char *blamed; /* NULL: legal */
	int salvage;	    /* records that salvage still gives */
} words[] = {
	{ 0, "record.header", 0 },
	{ UINT64_MAX, "record.header", 0 },
	{ H(XVT_ID_U64, 2, 0), "record.header", 1 }, /* not done */
	{ H(XVT_ID_U64, 2, XVT_H_DONE) ^ OTHER_LAP, "record.header", 0 },
	{ H(XVT_ID_U64, 2, XVT_H_DONE) ^ OTHER_LAP << 1, "record.header", 0 },
	{ H(XVT_ID_U64, 0, XVT_H_DONE), "record.len8", 0 },
	{ H(XVT_ID_U64, 1, XVT_H_DONE | XVT_H_FULL), "record.len8", 0 },
	{ H(XVT_ID_U64, 17, XVT_H_DONE), "record.len8", 0 },
	{ H(XVT_ID_U64, XVT_LEN8_MAX, XVT_H_DONE), "record.len8", 0 },
	{ H(XVT_ID_INVALID, 2, XVT_H_DONE), "record.header", 0 },
	{ H(XVT_ID_U64, 16, XVT_H_DONE), NULL, 1 },
	{ H(XVT_ID_U64, 16, XVT_H_DONE | XVT_H_FULL), NULL, 1 },
	{ H(XVT_ID_U64, 16, XVT_H_DONE | XVT_H_SAME), NULL, 1 },
	{ H(XVT_ID_U64, 16, XVT_H_DONE | XVT_H_FULL | XVT_H_SAME), NULL, 1 },
	{ H(XVT_ID_U64, 1, XVT_H_DONE | XVT_H_FULL | XVT_H_SAME), "record.len8", 0 },
	{ H(XVT_ID_DISCARDED, 16, XVT_H_DONE), NULL, 1 },
	{ H(XVT_H_ID_MASK, 16, XVT_H_DONE), NULL, 1 },
	{ H(XVT_ID_PAD_END, 0, XVT_H_DONE), NULL, 0 },
	{ H(XVT_ID_PAD_END, XVT_LEN8_MAX, 0), NULL, 0 },
};

START_TEST(record_header_is_judged_before_it_is_used)
{
	uint8_t bytes[64 + 16 * 8] = { 0 };
	uint32_t n;

	memcpy(bytes, ring.w.data, 64);
	memcpy(bytes + 64, &words[_i].header, 8);
	feed(bytes, sizeof(bytes), 0, XVT_SALVAGE_NO);
	if (words[_i].blamed) {
		ck_assert_int_eq(read_all(&n), -EBADMSG);
		ck_assert_str_eq(reader.fault.field, words[_i].blamed);
		ck_assert_uint_eq(xvt_reader_skip(&reader), ring.g.subbuf_size);
	} else {
		ck_assert_int_eq(read_all(&n), 0);
		ck_assert_uint_eq(reader.pos, reader.end);
	}
	feed(bytes, sizeof(bytes), 0, XVT_SALVAGE_STOP);
	ck_assert_int_eq(read_all(&n), 0);
	ck_assert_int_eq((int)n, words[_i].salvage);
}
END_TEST

START_TEST(salvage_steps_over_a_missing_header_where_the_ring_was_cleared)
{
	/* The header that is missing belongs to three words; its full stamp is there. */
	uint64_t w[6] = { 0, 7ull << 32 | 5, 0, 0, 9 };
	uint8_t bytes[64 + sizeof(w)];
	struct xvt_record rec;
	uint32_t n;

	w[3] = xvt_header(ring.g.ring_shift, 64 + 24, XVT_ID_U64, 24, 77, XVT_H_DONE | XVT_H_FULL);
	memcpy(bytes, ring.w.data, 64);
	memcpy(bytes + 64, w, sizeof(w));
	feed(bytes, sizeof(bytes), 0, XVT_SALVAGE_CLEARED);
	ck_assert_int_eq(xvt_reader_next(&reader, &rec), 1);
	ck_assert_int_eq(rec.kind, XVT_REC_SUBBUF);
	ck_assert_int_eq(xvt_reader_next(&reader, &rec), 1);
	ck_assert_uint_eq(rec.pos, 64 + 24);
	ck_assert_uint_eq(rec.ts, (9ull << 32) + 77);
	ck_assert_int_eq(xvt_reader_next(&reader, &rec), 0);

	/* In overwrite mode anything may lie behind it. */
	feed(bytes, sizeof(bytes), 0, XVT_SALVAGE_STOP);
	ck_assert_int_eq(read_all(&n), 0);
	ck_assert_uint_eq(n, 0);
	((struct xvt_subbuf_hdr *)bytes)->flags = XVT_SUBBUF_F_OVERWRITE;
	feed(bytes, sizeof(bytes), 0, XVT_SALVAGE_CLEARED);
	ck_assert_int_eq(read_all(&n), 0);
	ck_assert_uint_eq(n, 0);
	/* And commit never lies behind a hole. */
	feed(bytes, sizeof(bytes), 0, XVT_SALVAGE_NO);
	ck_assert_int_eq(read_all(&n), -EBADMSG);
}
END_TEST

START_TEST(salvage_steps_over_a_missing_subbuf_header)
{
	uint64_t w[3] = { 0, 9, 0 }, lap2 = ring.g.ring_size * 2;
	uint8_t bytes[64 + sizeof(w)] = { 0 };
	struct xvt_subbuf_hdr *h = (void *)bytes;
	uint32_t n, i;

	w[0] = xvt_header(ring.g.ring_shift, lap2 + 64, XVT_ID_U64, 24, 77,
			  XVT_H_DONE | XVT_H_FULL);
	memcpy(bytes + 64, w, sizeof(w));
	/* Nothing of it; all but the magic, and a time that could look like anything. */
	for (i = 0; i < 2; i++) {
		h->ts_base = i ? w[0] : 0;
		h->seq = i ? lap2 >> ring.g.subbuf_shift : 0;
		feed(bytes, sizeof(bytes), lap2, XVT_SALVAGE_CLEARED);
		ck_assert_int_eq(read_all(&n), 0);
		ck_assert_uint_eq(n, 1);
		ck_assert_uint_eq(reader.ts, (9ull << 32) + 77);
		feed(bytes, sizeof(bytes), lap2, XVT_SALVAGE_STOP);
		ck_assert_int_eq(read_all(&n), 0);
		ck_assert_uint_eq(n, 0);
	}
	/* A header of an earlier lap: this was not cleared. */
	h->magic = XVT_SUBBUF_MAGIC;
	h->seq = 1;
	feed(bytes, sizeof(bytes), lap2, XVT_SALVAGE_CLEARED);
	ck_assert_int_eq(read_all(&n), 0);
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(same_flag_repeats_the_time_before)
{
	uint64_t w[3] = { xvt_header(12, 64, XVT_ID_U64, 8, 5005, XVT_H_DONE),
			  xvt_header(12, 72, XVT_ID_U64, 8, 1, XVT_H_DONE | XVT_H_SAME),
			  xvt_header(12, 80, XVT_ID_U64, 8, 5006, XVT_H_DONE) };
	static const uint64_t want[] = { 5000, 5005, 5005, 5006 };
	uint8_t bytes[64 + sizeof(w)];
	struct xvt_record rec;
	uint32_t i;

	memcpy(bytes, ring.w.data, 64);
	memcpy(bytes + 64, w, sizeof(w));
	feed(bytes, sizeof(bytes), 0, XVT_SALVAGE_NO);
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(xvt_reader_next(&reader, &rec), 1);
		ck_assert_uint_eq(rec.ts, want[i]);
	}
	ck_assert_int_eq(xvt_reader_next(&reader, &rec), 0);
}
END_TEST

#define SUBBUF(name) \
#name, offsetof(struct xvt_subbuf_hdr, name), sizeof(((struct xvt_subbuf_hdr *)0)->name)

static const struct {
	const char *name;
	size_t off, size;
	uint64_t value;
	const char *blamed;
} heads[] = {
	{ SUBBUF(magic), 0, "subbuf.magic" },
	{ SUBBUF(magic), XVT_RING_MAGIC, "subbuf.magic" },
	{ SUBBUF(seq), 1, "subbuf.seq" },
	{ SUBBUF(seq), 4, "subbuf.seq" }, /* the same place, one lap on */
	{ SUBBUF(seq), UINT64_MAX, "subbuf.seq" },
	{ SUBBUF(hdr_len), 0, "subbuf.hdr_len" },
	{ SUBBUF(hdr_len), 72, "subbuf.hdr_len" },
};

START_TEST(subbuf_header_is_judged_before_it_is_used)
{
	uint32_t n;

	memcpy(ring.w.data + heads[_i].off, &heads[_i].value, heads[_i].size);
	feed(ring.w.data, ring.w.ctl->commit, 0, XVT_SALVAGE_NO);
	ck_assert_int_eq(read_all(&n), -EBADMSG);
	ck_assert_str_eq(reader.fault.field, heads[_i].blamed);
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(after_a_bad_subbuf_the_next_one_is_read)
{
	struct ut_recs *recs = calloc(1, sizeof(*recs));
	struct xvt_reader r;
	uint32_t i, n;

	for (i = 0; i < 12; i++)
		ut_write_at(&ring, 6000 + i, 100 + i, 200);
	ring.w.data[64 + 4] = 0; /* the first record's length */
	feed(ring.w.data, 1024, 0, XVT_SALVAGE_NO);
	ck_assert_int_eq(read_all(&n), -EBADMSG);
	ck_assert_uint_eq(xvt_reader_skip(&reader), 1024);
	r = reader;
	ut_peek(&ring, &r, ring.w.ctl->commit, recs);
	ck_assert_uint_gt(recs->count, 4);
	ck_assert_int_eq(recs->rec[0].kind, XVT_REC_SUBBUF);
	ck_assert_uint_eq(recs->rec[1].ts, 6000 + recs->rec[1].number - 100);
	free(recs);
}
END_TEST

/* Pure noise, and real sub-buffers with some bits turned over. */
START_TEST(noise_never_leads_outside_the_copy)
{
	uint64_t seed = 77 + (uint64_t)_i, records = 0;
	uint32_t i, k, n;

	for (i = 0; i < 4000; i++) {
		uint8_t bytes[1024];
		uint64_t r = ut_random(&seed), len = 8 + r % 128 * 8, pos = r >> 20 & 0x1ff8;

		if (r >> 40 & 1) {
			memcpy(bytes, ring.w.data, sizeof(bytes));
			for (k = 0; k <= (r >> 44) % 8; k++) {
				uint64_t bit = ut_random(&seed) % (8 * ring.w.ctl->commit);

				bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			}
			pos = 0;
		} else {
			for (k = 0; k < sizeof(bytes); k += 8) {
				uint64_t w = ut_random(&seed);

				/* Short lengths, or nothing but the first header is looked at. */
				w &= ~(w >> 60 ? 0xff0ull << XVT_H_LEN8_SHIFT : 0);
				w |= XVT_H_DONE;
				memcpy(bytes + k, &w, 8);
			}
		}
		if (len > 1024 - (pos & 1023)) /* a piece lies in one sub-buffer */
			len = 1024 - (pos & 1023);
		feed(bytes, len, pos, _i & 1);
		read_all(&n);
		records += n;
	}
	ck_assert_uint_gt(records, 4000);
	free(copy);
	copy = NULL;
}
END_TEST

Suite *suite_reader(void)
{
	Suite *s = suite_create("reader");
	TCase *tc = tcase_create("decode");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, piece_of_any_length_ends_cleanly_at_a_record);
	tcase_add_test(tc, pieces_carry_time_over);
	tcase_add_loop_test(tc, record_header_is_judged_before_it_is_used, 0,
			    (int)(sizeof(words) / sizeof(words[0])));
	tcase_add_test(tc, salvage_steps_over_a_missing_header_where_the_ring_was_cleared);
	tcase_add_test(tc, salvage_steps_over_a_missing_subbuf_header);
	tcase_add_test(tc, same_flag_repeats_the_time_before);
	tcase_add_loop_test(tc, subbuf_header_is_judged_before_it_is_used, 0,
			    (int)(sizeof(heads) / sizeof(heads[0])));
	tcase_add_test(tc, after_a_bad_subbuf_the_next_one_is_read);
	tcase_add_loop_test(tc, noise_never_leads_outside_the_copy, 0, 8);
	suite_add_tcase(s, tc);
	return s;
}
