// SPDX-License-Identifier: GPL-2.0 OR MIT
/* mem.c - the four functions that compilers call by themselves when there is no C library. */
#include "xvt_port.h"

/* A word of any type at any address; x86-64 reads them all alike. */
typedef uint64_t bare_word __attribute__((may_alias, aligned(1)));

/* Whole words while there are any. The barrier keeps a compiler from seeing a memcpy in it. */
void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;

	for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t)) {
		*(bare_word *)d = *(const bare_word *)s;
		d += sizeof(uint64_t);
		s += sizeof(uint64_t);
		xvt_barrier();
	}
	for (; n; n--) {
		*d++ = *s++;
		xvt_barrier();
	}
	return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;

	if (d <= s || d >= s + n)
		return memcpy(dst, src, n);
	while (n--) {
		d[n] = s[n];
		xvt_barrier();
	}
	return dst;
}

void *memset(void *dst, int c, size_t n)
{
	uint64_t word = (uint8_t)c * 0x0101010101010101ull;
	uint8_t *d = dst;

	for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t)) {
		*(bare_word *)d = word;
		d += sizeof(uint64_t);
		xvt_barrier();
	}
	for (; n; n--) {
		*d++ = (uint8_t)c;
		xvt_barrier();
	}
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n--; x++, y++) {
		if (*x != *y)
			return *x - *y;
	}
	return 0;
}
