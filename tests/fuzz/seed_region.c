// SPDX-License-Identifier: GPL-2.0
/*
 * seed_region.c - a region's file as an input of fuzz_region.c: everything in it that is not
 * zero, as deeds that happen before the host comes.
 *   seed_region WHAT PASSES REGION >INPUT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define RUN  255u /* bytes of one deed */

static void put(uint32_t v, unsigned int bytes)
{
	for (; bytes--; v >>= 8)
		putchar((int)(v & 255));
}

int main(int argc, char **argv)
{
	static uint8_t bytes[64 * PAGE];
	size_t len, at = 0;
	FILE *f = argc == 4 ? fopen(argv[3], "rb") : NULL;

	if (!f) {
		fprintf(stderr, "usage: seed_region WHAT PASSES REGION\n");
		return 2;
	}
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	put((uint32_t)strtoul(argv[1], NULL, 0), 1);
	put((uint32_t)(len / PAGE - 1), 1);
	put((uint32_t)strtoul(argv[2], NULL, 0), 1);
	put(0, 1);
	while (at < len) {
		size_t n = 0, last = 0;

		if (!bytes[at]) {
			at++;
			continue;
		}
		for (; n < RUN && at + n < len && n - last < 16; n++)
			if (bytes[at + n])
				last = n;
		n = last + 1;
		put(0, 1); /* DEED_BYTES */
		put((uint32_t)at, 4);
		put((uint32_t)n, 1);
		fwrite(bytes + at, 1, n, stdout);
		put(0, 2); /* the next one at once */
		at += n;
	}
	return 0;
}
