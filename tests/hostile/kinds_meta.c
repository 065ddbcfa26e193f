// SPDX-License-Identifier: GPL-2.0
/* kinds_meta.c - guests that spoil the metadata, and what readers make of it. */
#include "guest.h"

#include <stdio.h>

#define FTRACE_ID 100u

static struct xvt_meta_hdr *meta_of(struct hostile *h)
{
	return (void *)(h->base + h->g.meta_off);
}

static void write_one(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
}

/* Begins again as soon as it is full. */
static void put(struct hostile *h, uint32_t type, uint32_t id, const void *bytes, uint32_t len)
{
	if (xvt_meta_append(h->base, &h->g, type, id, bytes, len, NULL, 0))
		xvt_store_release(&meta_of(h)->committed, 0);
}

static void flood(struct hostile *h, uint64_t *s)
{
	static const char text[4096] = "nothing";

	put(h, XVT_META_TEXT, (uint32_t)next(s), text, sizeof(text));
}

static void put_format(struct hostile *h, uint32_t id, const char *fields, const char *print)
{
	static char text[1 << 18];
	int len = snprintf(
		text, sizeof(text),
		"hostile%cevent%u%cname: event%u\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\n"
		"print fmt: %s\n",
		0, id, 0, id, id, fields, print);

	if (len > 0 && (size_t)len < sizeof(text))
		put(h, XVT_META_FORMAT, id, text, (uint32_t)len);
}

/* Every one of them says that it is of another generation. */
static void generations(struct hostile *h, uint64_t *s)
{
	struct xvt_region_hdr *hdr = (void *)h->base;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		xvt_store(&hdr->generation, (uint32_t)next(s));
		put(h, XVT_META_COMM, i, "x", 1);
	}
}

static void generation_formats(struct hostile *h, uint64_t *s)
{
	struct xvt_region_hdr *hdr = (void *)h->base;

	xvt_store(&hdr->generation, (uint32_t)next(s));
	put_format(h, FTRACE_ID, "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n",
		   "\"%d\", REC->a");
}

static void reader_formats(struct hostile *h, uint64_t *s)
{
	static char print[1 << 17];
	size_t n;
	uint32_t i;

	(void)s;
	if (h->turns)
		return;
	/* A separator that ends the line and goes on as another machine. */
	put_format(h, FTRACE_ID, "\tfield:unsigned long flags;\toffset:8;\tsize:8;\tsigned:0;\n",
		   "\"%s\", __print_flags(REC->flags, \"\\n1.0 honest:0 u64: 0 0\\n\\033[2J\", "
		   "{ 1, \"A\" }, { 2, \"B\" }, { 4, \"\\x1b[31m\" })");
	/* An expression of many nodes. */
	n = (size_t)snprintf(print, sizeof(print), "\"%%lu\", REC->flags");
	for (i = 0; i < 18000 && n < sizeof(print) - 16; i++)
		n += (size_t)snprintf(print + n, sizeof(print) - n, "+%u", i % 10);
	put_format(h, FTRACE_ID + 1,
		   "\tfield:unsigned long flags;\toffset:8;\tsize:8;\tsigned:0;\n", print);
	/* One long symbol. */
	n = (size_t)snprintf(print, sizeof(print), "\"%%s\", __print_symbolic(REC->flags, { 0, \"");
	memset(print + n, 'x', 100000);
	n += 100000;
	snprintf(print + n, sizeof(print) - n, "\" }, { 1, \"b\" })");
	put_format(h, FTRACE_ID + 2,
		   "\tfield:unsigned long flags;\toffset:8;\tsize:8;\tsigned:0;\n", print);
	for (i = 0; i < 2000; i++)
		put(h, XVT_META_COMM, i << 16, "\033[2J\nhonest:0", 14);
}

static void reader_events(struct hostile *h, struct ring *r, uint64_t *s)
{
	struct {
		uint16_t type;
		uint16_t flags;
		int32_t pid;
		uint64_t value;
	} ev = { (uint16_t)(FTRACE_ID + next(s) % 3), 0, (int32_t)(next(s) % 2000 << 16),
		 next(s) % 8 };

	/* A thousand events a second: each may be a tenth of a megabyte of text. */
	if (h->turns % 5 == 0 && next(s) % 64 == 0)
		xvt_write(&r->w, XVT_ID_FTRACE, &ev, sizeof(ev));
}

static void texts(struct hostile *h, struct ring *r, uint64_t *s)
{
	static const char text[] = "x\n1.0 honest:0 u64: 0 0\033[2J\x9b\xc2\x9b"
				   "2J\xe2\x80\xae";

	if (h->turns % 5 == 0 && next(s) % 64 == 0)
		xvt_write(&r->w, XVT_ID_TEXT, text, sizeof(text));
}

/* Of this kernel, of others, and some that the header alone counts. */
static void panics(struct hostile *h, struct ring *r, uint64_t *s)
{
	static const char text[] = "x, at 1.0\n1.0 honest: CRASHED\033[2J\xc2\x9b";
	struct xvt_region_hdr *hdr = (void *)h->base;

	if (h->turns % 5 != 0 || next(s) % 64 != 0)
		return;
	xvt_write(&r->w, XVT_ID_PANIC, text, (uint32_t)(next(s) % sizeof(text)));
	xvt_store(&hdr->panics, (uint32_t)(next(s) % 2 ? next(s) : hdr->panics + 1));
	if (next(s) % 4 == 0)
		xvt_store(&hdr->generation, (uint32_t)next(s) % 8);
}

static void garbage(struct hostile *h, uint64_t *s)
{
	struct xvt_meta_hdr *m = meta_of(h);
	uint64_t room = h->g.meta_size - sizeof(*m);

	any_word(s, m + 1, room / 8, room);
	xvt_store_release(&m->committed, next(s) % 4 ? next(s) % room & ~7ull : wild(s, room));
}

static void long_part(struct hostile *h, uint64_t *s)
{
	struct xvt_meta_hdr *m = meta_of(h);
	uint64_t room = (h->g.meta_size - sizeof(*m)) & ~7ull;
	struct xvt_meta_tlv tlv = { XVT_META_KSYMS, (uint32_t)(room - sizeof(tlv)),
				    (uint32_t)next(s), 0 };

	memcpy(m + 1, &tlv, sizeof(tlv));
	xvt_store_release(&m->committed, h->turns % 2 ? room : 0);
}

static void names(struct hostile *h, uint64_t *s)
{
	static const char *const name[] = { "honest", "\033[2Jhonest\n", "", "honest.2",
					    "\xff\xfe\xc2\x9b" };
	struct xvt_region_hdr *hdr = (void *)h->base;

	memset(hdr->vm_name, 0, sizeof(hdr->vm_name));
	strcpy(hdr->vm_name, name[next(s) % 5]);
	any_word(s, hdr->boot_uuid, 2, 0);
	xvt_store(&hdr->generation, (uint32_t)next(s) % 8);
	xvt_store(&hdr->kind, (uint32_t)next(s) % 8);
	xvt_store(&hdr->clock_hz, wild(s, h->hz));
}

static void requests(struct hostile *h, uint64_t *s)
{
	struct xvt_region_hdr *hdr = (void *)h->base;

	xvt_store(&hdr->request_result, (int32_t)next(s));
	xvt_store(&hdr->request_ack, (uint32_t)wild(s, 1));
	xvt_store(&hdr->symbols_wanted, (uint32_t)next(s));
}

const struct kind meta_kinds[] = {
	{ .name = "meta-flood",
	  .text = "metadata that begins again and again",
	  .ring = write_one,
	  .region = flood },
	{ .name = "meta-generations",
	  .text = "names of very many generations",
	  .ring = write_one,
	  .region = generations },
	{ .name = "meta-formats",
	  .text = "formats of very many generations",
	  .ring = write_one,
	  .region = generation_formats },
	{ .name = "meta-garbage",
	  .text = "wild lengths and words",
	  .ring = write_one,
	  .region = garbage },
	{ .name = "meta-long",
	  .text = "one part as long as all of it, again and again",
	  .size = 32ull << 20,
	  .ring = write_one,
	  .region = long_part },
	{ .name = "names",
	  .text = "the machine's name, boot, kind and rate change",
	  .flags = KIND_TEXT,
	  .ring = write_one,
	  .region = names },
	{ .name = "requests",
	  .text = "answers to requests for events that were not made",
	  .ring = write_one,
	  .region = requests },
	{ .name = "formats",
	  .text = "formats that forge lines, and cost readers text and time",
	  .flags = KIND_TEXT,
	  .ring = reader_events,
	  .region = reader_formats },
	{ .name = "texts",
	  .text = "events that are text, with line ends and escapes",
	  .flags = KIND_TEXT,
	  .ring = texts },
	{ .name = "panics",
	  .text = "its kernel panics again and again, or does not",
	  .flags = KIND_TEXT,
	  .ring = panics },
	{ 0 },
};
