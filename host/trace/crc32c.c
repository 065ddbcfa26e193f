// SPDX-License-Identifier: GPL-2.0
/*
 * crc32c.c - CRC32C by eight tables (slicing-by-8), or by the CPU's instruction, chosen once at
 * program start.
 *
 * The instruction has a latency of three cycles and a throughput of one a cycle. Three blocks are
 * processed side by side and combined afterwards. A CRC is linear: the state after a block is that
 * of the block started at 0, xor the state before it carried through as many zeros. Source of the
 * idea: Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction", Intel
 * 2011.
 */
#include "trace/crc32c.h"

#include <string.h>

#define CRC32C_POLY 0x82f63b78u /* reversed 0x1edc6f41 */

#define BLOCK_BYTES 1024u

static uint32_t table[8][256];
/* The effect of each byte of the state after BLOCK_BYTES zeros. */
static uint32_t zeros[4][256];
static uint32_t (*crc_bytes)(uint32_t crc, const uint8_t *p, size_t len);

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t crc_bytes_table(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len >= 8) {
		uint64_t v = word_at(p) ^ crc;

		crc = table[7][v & 0xff] ^ table[6][v >> 8 & 0xff] ^ table[5][v >> 16 & 0xff] ^
		      table[4][v >> 24 & 0xff] ^ table[3][v >> 32 & 0xff] ^
		      table[2][v >> 40 & 0xff] ^ table[1][v >> 48 & 0xff] ^ table[0][v >> 56];
		p += 8;
		len -= 8;
	}
	while (len--)
		crc = table[0][(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}

static void make_zeros(uint32_t (*crc)(uint32_t crc, const uint8_t *p, size_t len))
{
	static const uint8_t block[BLOCK_BYTES];
	uint32_t byte, value, bit;

	for (byte = 0; byte < 4; byte++) {
		for (bit = 0; bit < 8; bit++)
			zeros[byte][1u << bit] = crc(1u << (8 * byte + bit), block, sizeof(block));
		for (value = 1; value < 256; value++)
			zeros[byte][value] =
				zeros[byte][value & (value - 1)] ^ zeros[byte][value & -value];
	}
}

static uint32_t through_zeros(uint32_t crc)
{
	return zeros[0][crc & 0xff] ^ zeros[1][crc >> 8 & 0xff] ^ zeros[2][crc >> 16 & 0xff] ^
	       zeros[3][crc >> 24];
}

/* The CPU's instruction on a word and on a byte, and a check that the CPU has it. */
#if defined(__x86_64__)
#include <immintrin.h>

#define CPU_CRC __attribute__((target("sse4.2")))
typedef uint64_t crc_state; /* the instruction's width, or each step copies */

CPU_CRC static inline crc_state crc_word(crc_state crc, uint64_t word)
{
	return _mm_crc32_u64(crc, word);
}

CPU_CRC static inline crc_state crc_byte(crc_state crc, uint8_t byte)
{
	return _mm_crc32_u8((uint32_t)crc, byte);
}

static int cpu_has_crc32c(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

#define CPU_CRC
typedef uint32_t crc_state;

static inline crc_state crc_word(crc_state crc, uint64_t word)
{
	return __crc32cd(crc, word);
}

static inline crc_state crc_byte(crc_state crc, uint8_t byte)
{
	return __crc32cb(crc, byte);
}

static int cpu_has_crc32c(void)
{
	return 1;
}
#endif

#ifdef CPU_CRC
CPU_CRC static uint32_t crc_bytes_cpu(uint32_t crc, const uint8_t *p, size_t len)
{
	crc_state c = crc;

	for (; len >= 3 * BLOCK_BYTES; p += 3 * BLOCK_BYTES, len -= 3 * BLOCK_BYTES) {
		crc_state second = 0, third = 0;

		for (size_t i = 0; i < BLOCK_BYTES; i += 8) {
			c = crc_word(c, word_at(p + i));
			second = crc_word(second, word_at(p + BLOCK_BYTES + i));
			third = crc_word(third, word_at(p + 2 * BLOCK_BYTES + i));
		}
		c = through_zeros((uint32_t)c) ^ second;
		c = through_zeros((uint32_t)c) ^ third;
	}
	for (; len >= 8; p += 8, len -= 8)
		c = crc_word(c, word_at(p));
	while (len--)
		c = crc_byte(c, *p++);
	return (uint32_t)c;
}
#else
#define crc_bytes_cpu crc_bytes_table

static int cpu_has_crc32c(void)
{
	return 0;
}
#endif

/* Before main(), so that no caller needs a lock or a check. */
__attribute__((constructor)) static void crc32c_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLY : 0);
		table[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			table[t][i] = table[0][table[t - 1][i] & 0xff] ^ table[t - 1][i] >> 8;
	make_zeros(crc_bytes_table);
	crc_bytes = cpu_has_crc32c() ? crc_bytes_cpu : crc_bytes_table;
}

uint32_t xvt_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	return ~crc_bytes(~crc, bytes, len);
}

uint32_t xvt_crc32c_table(uint32_t crc, const void *bytes, size_t len)
{
	return ~crc_bytes_table(~crc, bytes, len);
}
