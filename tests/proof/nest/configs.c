// SPDX-License-Identifier: GPL-2.0
/*
 * configs.c - the configurations. Each is enumerated completely. A sub-buffer of 128 bytes holds
 * 64 bytes of header and four records of 16; of 256 bytes, three of 64, four of 48, six of 32.
 * Positions begin half a ring before 2^64.
 */
#include "configs.h"

#define SLOTS_3 .subbuf_size = 256, .slots = 3, .payload = { 56, 56, 56, 56 }
#define SLOTS_4 .subbuf_size = 128, .slots = 4, .payload = { 8, 8, 8, 8 }
#define SLOTS_5 .subbuf_size = 512, .slots = 5, .payload = { 77, 77, 77, 77 }
#define SLOTS_6 .subbuf_size = 256, .slots = 6, .payload = { 24, 24, 24, 24 }
/* The deeper the longer: a nested event crosses where the one that it interrupts would fit. */
#define MIXED	.subbuf_size = 128, .slots = 4, .payload = { 3, 16, 8, 40 }

/* Interrupts' records are three times as long as the task's. */
#define LONG	.payload = { 3, 40, 40, 40 }

/* clang-format off */
const struct nest_config nest_configs[] = {
	/* Interrupts alone. */
	{ .name = "nest-2", .what = "two interrupts, 4 slots", .lists = "short",
	  .outer = 3, .nested = 2, .depth = 2, SLOTS_4,
	  .subbuf_count = 4, .ts_bits = 8, .least = 4500 },
	{ .name = "nest-3", .what = "three interrupts, three deep, 4 slots", .lists = "short",
	  .outer = 2, .nested = 3, .depth = 3, SLOTS_4,
	  .subbuf_count = 4, .ts_bits = 8, .least = 170000 },
	{ .name = "slots-3", .what = "three deep, 3 slots, two of them taken", .lists = "short",
	  .first = 2, .outer = 3, .nested = 3, .depth = 3, SLOTS_3,
	  .subbuf_count = 4, .ts_bits = 8, .least = 47000 },
	{ .name = "slots-5", .what = "three deep, 5 slots, three taken", .lists = "short",
	  .first = 3, .outer = 4, .nested = 3, .depth = 3, SLOTS_5,
	  .subbuf_count = 4, .ts_bits = 8, .least = 36000 },
	{ .name = "slots-6", .what = "three deep, 6 slots, four taken", .lists = "short",
	  .first = 4, .outer = 5, .nested = 3, .depth = 3, SLOTS_6,
	  .subbuf_count = 4, .ts_bits = 8, .least = 38000 },
	{ .name = "mixed", .what = "three deep, the deeper the longer", .lists = "short",
	  .first = 2, .outer = 3, .nested = 3, .depth = 3, MIXED,
	  .subbuf_count = 4, .ts_bits = 8, .least = 48000 },
	{ .name = "far", .what = "each interrupt opens a sub-buffer", .lists = "short",
	  .outer = 3, .nested = 2, .depth = 2, .subbuf_size = 128, .slots = 4,
	  .payload = { 8, 48, 48, 48 }, .subbuf_count = 8, .ts_bits = 8, .least = 5000 },
	/* Few time bits: full stamps. */
	{ .name = "bits-3", .what = "3 time bits, and long delays", .lists = "short",
	  .first = 1, .outer = 3, .nested = 2, .depth = 2, .delays = 1, SLOTS_6, .subbuf_count = 4,
	  .ts_bits = 3, .least = 170000 },
	/* Discards. */
	{ .name = "discard-2", .what = "two deep, any event may be discarded", .lists = "short",
	  .first = 1, .outer = 3, .nested = 2, .depth = 2, .discards = 4, SLOTS_4,
	  .subbuf_count = 4,
	  .ts_bits = 8, .least = 34000 },
	{ .name = "discard-3", .what = "three deep, any event may be discarded", .lists = "short",
	  .first = 3, .outer = 4, .nested = 3, .depth = 3, .discards = 4, SLOTS_4,
	  .subbuf_count = 4,
	  .ts_bits = 8, .least = 930000 },
	{ .name = "discard-bits", .what = "discards and 3 time bits", .lists = "short",
	  .first = 1, .outer = 3, .nested = 2, .depth = 2, .discards = 4, MIXED, .subbuf_count = 4,
	  .ts_bits = 3, .least = 36000 },
	{ .name = "discard-long", .what = "discards of long records, shorter ones in their place",
	  .lists = "short", .first = 1, .outer = 3, .nested = 2, .depth = 2, .discards = 2,
	  .subbuf_size = 256, .slots = 12, LONG, .subbuf_count = 4, .ts_bits = 8, .least = 21000 },
	{ .name = "coarse", .what = "a clock that gives several events the same time, discards",
	  .lists = "short", .first = 2, .outer = 4, .nested = 2, .depth = 2, .discards = 3,
	  .coarse = 3,
	  SLOTS_4, .subbuf_count = 4, .ts_bits = 3, .least = 36000 },
	/* Epochs and clocks that jump. */
	{ .name = "epoch", .what = "a new epoch at any moment", .lists = "short",
	  .first = 1, .outer = 3, .nested = 2, .depth = 2, .epochs = 1, .jump = 4, SLOTS_6,
	  .subbuf_count = 4, .ts_bits = 8, .least = 170000 },
	{ .name = "epoch-back", .what = "a new epoch, in which the clock begins lower",
	  .lists = "short",
	  .first = 2, .outer = 3, .nested = 2, .depth = 2, .epochs = 1, .jump = -13, SLOTS_4,
	  .subbuf_count = 4, .ts_bits = 3, .least = 69000 },
	{ .name = "epoch-discard", .what = "a new epoch, and discards", .lists = "short",
	  .first = 1, .outer = 3, .nested = 1, .depth = 1, .discards = 2, .epochs = 1, .jump = 4,
	  SLOTS_6,
	  .subbuf_count = 4, .ts_bits = 8, .least = 21000 },
	{ .name = "epoch-aba", .what = "an event of the new epoch comes, is discarded, and leaves no trace",
	  .lists = "short", .first = 1, .outer = 2, .nested = 2, .depth = 1, .discards = 1, .epochs = 1,
	  .jump = 4, SLOTS_6, .subbuf_count = 4, .ts_bits = 8, .least = 99000 },
	{ .name = "epoch-aba-full", .what = "the same, and any event may ask the next one for a full stamp",
	  .lists = "short", .first = 1, .outer = 3, .nested = 2, .depth = 1, .discards = 2, .epochs = 1,
	  .jump = 4, SLOTS_6, .subbuf_count = 4, .ts_bits = 8, .least = 99000 },
	{ .name = "clock-back", .what = "a clock that goes back unannounced", .lists = "short",
	  .first = 1, .outer = 3, .nested = 2, .depth = 2, .backs = 1, .jump = -13, SLOTS_6,
	  .subbuf_count = 4,
	  .ts_bits = 3, .least = 170000 },
	{ .name = "back-delay", .what = "it goes back, and then jumps ahead", .lists = "short",
	  .first = 2, .outer = 4, .nested = 1, .depth = 1, .backs = 1, .jump = -13, .delays = 1,
	  .delay = 16, SLOTS_6, .subbuf_count = 4, .ts_bits = 3, .least = 190000 },
	/* Full rings. */
	{ .name = "full", .what = "a ring that gets full, no consumer", .lists = "short",
	  .first = 5, .outer = 8, .nested = 2, .depth = 2, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8, .least = 3000 },
	{ .name = "full-deep", .what = "full from the start, three deep, discards",
	  .lists = "short",
	  .first = 7, .outer = 8, .nested = 3, .depth = 3, .discards = 2, SLOTS_4,
	  .subbuf_count = 2,
	  .ts_bits = 8, .least = 55000 },
	{ .name = "consumer", .what = "a full ring and a consumer", .lists = "short",
	  .first = 7, .outer = 9, .nested = 1, .depth = 1, .consumes = 2, SLOTS_4,
	  .subbuf_count = 2,
	  .ts_bits = 8, .least = 77000 },
	{ .name = "consumer-short", .what = "the same, interrupts' records shorter",
	  .lists = "short",
	  .first = 4, .outer = 6, .nested = 1, .depth = 1, .consumes = 2, .subbuf_size = 128,
	  .slots = 2,
	  .payload = { 24, 8, 8, 8 }, .subbuf_count = 2, .ts_bits = 8, .least = 64000 },
	{ .name = "consumer-discard", .what = "and discards, two deep", .lists = "short",
	  .first = 8, .outer = 9, .nested = 2, .depth = 2, .discards = 1, .consumes = 2, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8, .least = 2700000 },
	{ .name = "switched", .what = "a full ring that is switched off and on", .lists = "short",
	  .first = 7, .outer = 9, .nested = 1, .depth = 1, .switches = 2, SLOTS_4,
	  .subbuf_count = 2,
	  .ts_bits = 8, .least = 26000 },
	/* Memory that somebody else writes, too. */
	{ .name = "wrecked", .what = "a position between two words at the ring's end, at any moment",
	  .lists = "short", .first = 2, .outer = 5, .nested = 2, .depth = 2, .wrecks = 1, .wreck = 3, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8, .least = 500000 },
	{ .name = "wrecked-full", .what = "the same in a ring that is full", .lists = "short",
	  .first = 6, .outer = 9, .nested = 1, .depth = 1, .discards = 1, .wrecks = 2, .wreck = 3,
	  SLOTS_4, .subbuf_count = 2, .ts_bits = 3, .least = 500000 },
	{ .name = "wrecked-room", .what = "the same with room behind it", .lists = "short",
	  .first = 2, .outer = 5, .nested = 2, .depth = 2, .wrecks = 1, .wreck = 43, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8, .least = 500000 },
	/* Overwriting rings. */
	{ .name = "overwrite", .what = "overwriting, without a reader", .lists = "short",
	  .first = 6, .outer = 10, .nested = 2, .depth = 2, .overwrite = true, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8, .least = 6000 },
	{ .name = "overwrite-mixed", .what = "overwriting, discards, the deeper the longer",
	  .lists = "short", .first = 6, .outer = 9, .nested = 2, .depth = 2, .discards = 2,
	  .overwrite = true, MIXED, .subbuf_count = 2, .ts_bits = 8, .least = 72000 },
	{ .name = "wrap", .what = "interrupts go round the whole ring", .lists = "short",
	  .first = 4, .outer = 5, .nested = 3, .depth = 2, .overwrite = true, .subbuf_size = 128,
	  .slots = 4, LONG, .subbuf_count = 2, .ts_bits = 8, .least = 61000 },
	{ .name = "overwrite-copy", .what = "overwriting, and a reader copies",
	  .lists = "short",
	  .first = 7, .outer = 9, .nested = 1, .depth = 1, .copies = 3, .copy_chunks = 1,
	  .overwrite = true, SLOTS_4, .subbuf_count = 2, .ts_bits = 8, .least = 4600000 },
	{ .name = "copy-3", .what = "a reader copies in three chunks", .lists = "short",
	  .first = 8, .outer = 9, .copies = 5, .copy_chunks = 3, .overwrite = true, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8, .least = 300000 },
	/* The long ones. */
	{ .name = "deep-discard", .what = "two events, three deep, discards", .lists = "proof",
	  .first = 2, .outer = 4, .nested = 3, .depth = 3, .discards = 5, SLOTS_4,
	  .subbuf_count = 4,
	  .ts_bits = 8 },
	{ .name = "deep-discard-3", .what = "the same with 3 slots and 3 time bits",
	  .lists = "proof",
	  .first = 1, .outer = 3, .nested = 3, .depth = 3, .discards = 5, SLOTS_3,
	  .subbuf_count = 4,
	  .ts_bits = 3 },
	{ .name = "deep-epoch", .what = "three deep, and a new epoch", .lists = "proof",
	  .first = 3, .outer = 4, .nested = 3, .depth = 3, .epochs = 1, .jump = 4, SLOTS_4,
	  .subbuf_count = 4, .ts_bits = 8 },
	{ .name = "deep-back", .what = "three deep, the clock goes back", .lists = "proof",
	  .first = 1, .outer = 3, .nested = 3, .depth = 3, .backs = 1, .jump = -13, SLOTS_6,
	  .subbuf_count = 4, .ts_bits = 3 },
	{ .name = "deep-consumer", .what = "three deep, a full ring, and cons moves",
	  .lists = "proof",
	  .first = 8, .outer = 9, .nested = 3, .depth = 3, .taken = true, .consumes = 1, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8 },
	{ .name = "deep-overwrite", .what = "three deep, overwriting, discards", .lists = "proof",
	  .first = 7, .outer = 9, .nested = 3, .depth = 3, .discards = 2, .overwrite = true, MIXED,
	  .subbuf_count = 2, .ts_bits = 8 },
	{ .name = "deep-all", .what = "three deep, discards, and a new epoch", .lists = "proof",
	  .first = 3, .outer = 4, .nested = 3, .depth = 3, .discards = 2, .epochs = 1, .jump = 4,
	  SLOTS_4, .subbuf_count = 4, .ts_bits = 8 },
	{ .name = "copy-4", .what = "overwriting, a reader copies in four chunks", .lists = "proof",
	  .first = 8, .outer = 9, .copies = 6, .copy_chunks = 4, .overwrite = true, SLOTS_4,
	  .subbuf_count = 2, .ts_bits = 8 },
	/*
	 * A known limit, in no list. The clock goes back, unannounced, to the very tick that an
	 * outdated write_stamp still holds; so [B] makes the stamps equal, and an interrupt
	 * before [C] believes them. The others jump by an odd number, and stamps are even.
	 */
	{ .name = "back-exact", .what = "the clock goes back to the very tick of a stamp", .lists = "",
	  .first = 1, .outer = 3, .nested = 3, .depth = 1, .backs = 1, .jump = -6, SLOTS_6,
	  .subbuf_count = 4, .ts_bits = 3 },
};
/* clang-format on */

const uint32_t nest_config_count = sizeof(nest_configs) / sizeof(nest_configs[0]);

const struct nest_config *nest_config_find(const char *name)
{
	uint32_t i;

	for (i = 0; i < nest_config_count; i++)
		if (!strcmp(nest_configs[i].name, name))
			return &nest_configs[i];
	return NULL;
}

bool nest_config_in(const struct nest_config *c, const char *list)
{
	const char *at = strstr(c->lists, list);

	return at && (at == c->lists || at[-1] == ' ') &&
	       (!at[strlen(list)] || at[strlen(list)] == ' ');
}
