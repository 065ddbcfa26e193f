// SPDX-License-Identifier: GPL-2.0
/*
 * pointer.c - see print.h. The letters that Linux has after %p, and the text that it makes of
 * memory in a record: addresses of networks, UUIDs, bytes, masks. Values that Linux reads from
 * elsewhere (a block device, a clock, flags of a page) are in no record, and so refused.
 */
#include "decode/print.h"

#include <stdio.h>
#include <string.h>

/* -- the letters -------------------------------------------------------------------- */

/* Letters of memory: the first, then what may follow in any order. */
static const struct {
	const char *first;
	const char *others;
} memory_letters[] = {
	{ "h", "CDN" }, { "b", "l" },	      { "MF", "" },	    { "MR", "" },     { "M", "" },
	{ "mR", "" },	{ "m", "" },	      { "I4", "hnbl" },	    { "i4", "hnbl" }, { "I6", "c" },
	{ "i6", "" },	{ "IS", "pfschnbl" }, { "iS", "pfschnbl" }, { "U", "lLbB" },  { "NF", "" },
	{ "ad", "" },	{ "ap", "" },	      { "a", "" },	    { "4cc", "" },
};

static bool is_memory(const char *letters)
{
	for (size_t i = 0; i < sizeof(memory_letters) / sizeof(memory_letters[0]); i++) {
		const size_t len = strlen(memory_letters[i].first);

		if (strncmp(letters, memory_letters[i].first, len) == 0)
			return strspn(letters + len, memory_letters[i].others) ==
			       strlen(letters + len);
	}
	return false;
}

enum xvt_pointer xvt_pointer_kind(const char *letters)
{
	static const struct {
		const char *letters;
		enum xvt_pointer kind;
	} others[] = {
		{ "", XVT_POINTER_ADDRESS },  { "x", XVT_POINTER_ADDRESS },
		{ "K", XVT_POINTER_ADDRESS }, { "e", XVT_POINTER_ERROR },
		{ "s", XVT_POINTER_NAME },    { "f", XVT_POINTER_NAME },
		{ "S", XVT_POINTER_SYMBOL },  { "SR", XVT_POINTER_SYMBOL },
		{ "Sb", XVT_POINTER_SYMBOL }, { "SRb", XVT_POINTER_SYMBOL },
		{ "B", XVT_POINTER_SYMBOL },  { "Bb", XVT_POINTER_SYMBOL },
		{ "F", XVT_POINTER_SYMBOL },  { "sR", XVT_POINTER_NAME },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(letters, others[i].letters) == 0)
			return others[i].kind;
	return is_memory(letters) ? XVT_POINTER_MEMORY : XVT_POINTER_UNKNOWN;
}

/* -- networks ----------------------------------------------------------------------- */

struct text {
	char *to; /* room for XVT_POINTER_TEXT bytes */
	size_t len;
};

static void add(struct text *t, const char *format, unsigned int v)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	t->len += (size_t)snprintf(t->to + t->len, XVT_POINTER_TEXT - t->len, format, v);
#pragma GCC diagnostic pop
}

/* how: "I4" or "i4", and perhaps a letter for the order of bytes. */
static void add_ipv4(struct text *t, const uint8_t *b, const char *how)
{
	const bool turned = strchr(how, 'h') || strchr(how + 2, 'l');

	for (int i = 0; i < 4; i++)
		add(t, i ? (how[0] == 'i' ? ".%03u" : ".%u") : (how[0] == 'i' ? "%03u" : "%u"),
		    b[turned ? 3 - i : i]);
}

static void add_ipv6(struct text *t, const uint8_t *b, bool colons)
{
	for (int i = 0; i < 16; i++)
		add(t, colons && i && i % 2 == 0 ? ":%02x" : "%02x", b[i]);
}

/* Where the longest run of zero words begins; its length in *len. A single zero is not cut. */
static int longest_zeros(const uint8_t *b, int words, int *len)
{
	int at = -1, run = 0;

	*len = 1;
	for (int i = 0; i < words; i++) {
		run = b[2 * i] || b[2 * i + 1] ? 0 : run + 1;
		if (run > *len) {
			*len = run;
			at = i - run + 1;
		}
	}
	return at;
}

/* As RFC 5952 has it; an IPv4 address stands at the end of a mapped one. */
static void add_ipv6_short(struct text *t, const uint8_t *b)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const bool isatap = (b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
	const bool ends_in_v4 = isatap || memcmp(b, mapped, sizeof(mapped)) == 0;
	const int words = ends_in_v4 ? 6 : 8;
	bool colon = false;
	int len, gap = longest_zeros(b, words, &len);

	for (int i = 0; i < words; i++) {
		if (i == gap) {
			add(t, colon || i == 0 ? "::" : ":", 0);
			colon = false;
			i += len - 1;
			continue;
		}
		add(t, colon ? ":%x" : "%x", (unsigned int)b[2 * i] << 8 | b[2 * i + 1]);
		colon = true;
	}
	if (ends_in_v4) {
		add(t, colon ? ":" : "", 0);
		add_ipv4(t, b + 12, "I4");
	}
}

static uint32_t be32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void add_sockaddr_in(struct text *t, const uint8_t *b, const char *how)
{
	char v4[] = { how[0], '4', how[strcspn(how, "hnbl")], '\0' };

	add_ipv4(t, b + 4, v4);
	if (strchr(how, 'p'))
		add(t, ":%u", (unsigned int)b[2] << 8 | b[3]);
}

static void add_sockaddr_in6(struct text *t, const uint8_t *b, const char *how)
{
	const bool more = strpbrk(how, "pfs") != NULL;
	uint32_t scope = 0;

	memcpy(&scope, b + 24, sizeof(scope));
	add(t, more ? "[" : "", 0);
	if (how[0] == 'I' && strchr(how, 'c'))
		add_ipv6_short(t, b + 8);
	else
		add_ipv6(t, b + 8, how[0] == 'I');
	add(t, more ? "]" : "", 0);
	if (strchr(how, 'p'))
		add(t, ":%u", (unsigned int)b[2] << 8 | b[3]);
	if (strchr(how, 'f'))
		add(t, "/%u", be32(b + 4) & 0x0fffffff);
	if (strchr(how + 2, 's'))
		add(t, "%%%u", scope);
}

#define SOCKADDR_IN6_LEN 28u

static bool add_sockaddr(struct text *t, const uint8_t *b, uint32_t len, const char *how)
{
	uint16_t family = 0;

	if (len < 2)
		return false;
	memcpy(&family, b, sizeof(family));
	if (family == 2 && len >= 8)
		add_sockaddr_in(t, b, how);
	else if (family == 10 && len >= SOCKADDR_IN6_LEN)
		add_sockaddr_in6(t, b, how);
	else if (family == 2 || family == 10)
		return false;
	else
		add(t, "(einval)", 0);
	return true;
}

static bool add_network(struct text *t, const uint8_t *b, uint32_t len, const char *how)
{
	if (how[1] == 'S')
		return add_sockaddr(t, b, len, how);
	if (len < (how[1] == '4' ? 4u : 16u))
		return false;
	if (how[1] == '4')
		add_ipv4(t, b, how);
	else if (how[2] == 'c')
		add_ipv6_short(t, b);
	else
		add_ipv6(t, b, how[0] == 'I');
	return true;
}

/* -- other memory ------------------------------------------------------------------- */

static bool add_mac(struct text *t, const uint8_t *b, uint32_t len, const char *how)
{
	const char *format = how[0] == 'm' ? "%02x" : how[1] == 'F' ? "-%02x" : ":%02x";

	if (len < 6)
		return false;
	for (int i = 0; i < 6; i++)
		add(t, i ? format : "%02x", b[how[1] == 'R' ? 5 - i : i]);
	return true;
}

static bool add_uuid(struct text *t, const uint8_t *b, uint32_t len, const char *how)
{
	static const uint8_t guid[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	const bool little = how[1] == 'l' || how[1] == 'L', upper = how[1] == 'L' || how[1] == 'B';

	if (len < 16)
		return false;
	for (int i = 0; i < 16; i++) {
		add(t, i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", 0);
		add(t, upper ? "%02X" : "%02x", b[little ? guid[i] : i]);
	}
	return true;
}

/* `bytes`: as many as the conversion's width says; without one: 1. */
static bool add_hex(struct text *t, const uint8_t *b, uint32_t len, const char *how, int bytes)
{
	const char *format = how[1] == 'C'   ? ":%02x"
			     : how[1] == 'D' ? "-%02x"
			     : how[1] == 'N' ? "%02x"
					     : " %02x";

	bytes = bytes < 0 ? 1 : bytes < XVT_POINTER_HEX_MOST ? bytes : XVT_POINTER_HEX_MOST;
	for (int i = 0; i < bytes && (uint32_t)i < len; i++)
		add(t, i ? format : "%02x", b[i]);
	return true;
}

/* A number of `digits` / 2 bytes by its reference. */
static bool add_reference(struct text *t, const uint8_t *b, uint32_t len)
{
	if (len != 4 && len != 8)
		return false;
	add(t, "0x", 0);
	while (len--)
		add(t, "%02x", b[len]);
	return true;
}

static bool add_fourcc(struct text *t, const uint8_t *b, uint32_t len)
{
	if (len < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		const uint8_t c = i < 3 ? b[i] : b[i] & 0x7f;

		add(t, "%c", c >= ' ' && c < 0x7f ? c : '.');
	}
	add(t, b[3] & 0x80 ? " big-endian (" : " little-endian (", 0);
	add_reference(t, b, 4);
	add(t, ")", 0);
	return true;
}

bool xvt_pointer_text(char to[XVT_POINTER_TEXT], const char *letters, const uint8_t *bytes,
		      uint32_t len, int width)
{
	struct text t = { .to = to };

	to[0] = '\0';
	switch (letters[0]) {
	case 'I':
	case 'i':
		return add_network(&t, bytes, len, letters);
	case 'M':
	case 'm':
		return add_mac(&t, bytes, len, letters);
	case 'U':
		return add_uuid(&t, bytes, len, letters);
	case 'h':
		return add_hex(&t, bytes, len, letters, width);
	case '4':
		return add_fourcc(&t, bytes, len);
	default:
		return add_reference(&t, bytes, len);
	}
}

/* -- masks -------------------------------------------------------------------------- */

void xvt_put_mask(struct xvt_out *o, const uint8_t *data, uint32_t bits)
{
	/* Hexadecimal words of 32 bits, the highest first, which may be shorter. */
	for (uint32_t words = (bits + 31) / 32, i = words; i-- > 0 && !o->cut;) {
		const uint32_t left = bits - 32 * i, have = left < 32 ? left : 32;
		uint64_t word = 0;

		memcpy(&word, data + 4u * i, (have + 7) / 8);
		xvt_out_hex(o, word & ((1ull << have) - 1), (have + 3) / 4);
		if (i)
			xvt_out_char(o, ',');
	}
}

void xvt_put_mask_list(struct xvt_out *o, const uint8_t *data, uint32_t bits)
{
	bool any = false;

	for (uint32_t i = 0; i < bits && !o->cut; i++) {
		const uint32_t from = i;

		if (!(data[i / 8] >> i % 8 & 1))
			continue;
		while (i + 1 < bits && data[(i + 1) / 8] >> (i + 1) % 8 & 1)
			i++;
		if (any)
			xvt_out_char(o, ',');
		xvt_out_u64(o, from);
		if (i > from) {
			xvt_out_char(o, '-');
			xvt_out_u64(o, i);
		}
		any = true;
	}
}
