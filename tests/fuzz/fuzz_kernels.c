// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_kernels.c - formats of a kernel. The first byte says how the others are taken: bit 0, as a
 * tar archive of what a kernel says, else as a file of the cache; bit 1, of a kernel without
 * modules; bit 2, the checksums of the archive are put right. What is accepted is written again,
 * and has to be read as the same.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/import.h"

#define BLOCK 512u
#define SUM   148u
#define MAGIC 257u

static void put_sums_right(uint8_t *tar, size_t size)
{
	char text[16];
	size_t at, i;

	for (at = 0; at + BLOCK <= size; at += BLOCK) {
		unsigned int sum = 0;

		if (memcmp(tar + at + MAGIC, "ustar", 5) != 0)
			continue;
		memset(tar + at + SUM, ' ', 8);
		for (i = 0; i < BLOCK; i++)
			sum += tar[at + i];
		snprintf(text, sizeof(text), "%06o", sum);
		memcpy(tar + at + SUM, text, 7);
	}
}

static void check_again(struct xvt_formats *f)
{
	struct xvt_formats_event e, first;
	struct xvt_formats again;
	size_t at = 0, at_again = 0;
	uint32_t count = 0;
	const char *why;

	if (xvt_formats_parse(&again, f->bytes, f->len, &why))
		fuzz_finding("what was accepted is refused: %s", why);
	while (xvt_formats_next(f, &at, &first)) {
		if (!xvt_formats_next(&again, &at_again, &e) || e.id != first.id ||
		    strcmp(e.text, first.text) != 0)
			fuzz_finding("event %u is another one", first.id);
		count++;
	}
	if (count != f->count || again.count != count)
		fuzz_finding("%u events, %u, %u", count, f->count, again.count);
	xvt_formats_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xvt_import_result result;
	struct xvt_formats f;
	uint8_t *copy;
	const char *why;
	int err;

	if (!size)
		return 0;
	copy = malloc(size > 1 ? size - 1 : 1); /* exactly as long, for AddressSanitizer */
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 4)
		put_sums_right(copy, size - 1);
	if (data[0] & 1)
		err = xvt_formats_import_tar(&f, copy, size - 1, data[0] & 2, &result);
	else
		err = xvt_formats_parse(&f, copy, size - 1, &why);
	free(copy);
	if (!err) {
		check_again(&f);
		xvt_formats_free(&f);
	}
	return 0;
}

void fuzz_guest_turn(void)
{
}

void fuzz_guest_stored(uint64_t off)
{
	(void)off;
}
