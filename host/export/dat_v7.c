// SPDX-License-Identifier: GPL-2.0
/*
 * dat_v7.c - see dat.h. The layout of version 7: sections, compressed by zstd, and options that say
 * where they are. Those come last, and the file's beginning says where.
 */
#include "export/dat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/vec.h"

/* Numbers of sections; of options those that say where the section of that number is. */
enum {
	SECTION_OPTIONS = 0,
	SECTION_BUFFER = 3,
	SECTION_STRINGS = 15,
	SECTION_HEADERS = 16,
	SECTION_FTRACE_FORMATS = 17,
	SECTION_FORMATS = 18,
	SECTION_KSYMS = 19,
	SECTION_PRINTKS = 20,
	SECTION_COMMS = 21,
};

#define COMPRESSED 1u

struct v7 {
	struct dat *d;
	uint32_t machine;
	int fd;
	uint64_t offset; /* of the file's end */
	struct dat_bytes strings;
	struct dat_bytes options;
	struct dat_bytes places; /* of the pages of each CPU, as the option BUFFER has them */
	uint8_t *packed;
	size_t packed_room;
};

static int put(struct v7 *v, const void *p, size_t len)
{
	v->offset += len;
	return xvt_write_all(v->fd, p, len);
}

static int put_at(const struct v7 *v, uint64_t offset, uint64_t value)
{
	const ssize_t n = pwrite(v->fd, &value, sizeof(value), (off_t)offset);

	return n < 0 ? -errno : n == sizeof(value) ? 0 : -EIO;
}

static int put_section(struct v7 *v, uint16_t id, uint16_t flags, const char *name, uint64_t len)
{
	const uint32_t string = (uint32_t)v->strings.used;
	struct dat_bytes b = { 0 };
	int err;

	dat_put(&v->strings, name, strlen(name) + 1);
	dat_u16(&b, id);
	dat_u16(&b, flags);
	dat_u32(&b, string);
	dat_u64(&b, len);
	err = b.failed ? -ENOMEM : put(v, b.p, b.used);
	free(b.p);
	return err;
}

/* Write bytes as two lengths, compressed and not, and the compressed bytes; before them what
 * belongs in front, if any. */
static int pack(struct v7 *v, const void *p, size_t len)
{
	const size_t bound = xvt_pack_bound(len);
	uint32_t lens[2];
	ssize_t n;
	int err;

	if (len > UINT32_MAX / 2)
		return -EFBIG;
	if (xvt_grow(&v->packed, &v->packed_room, bound, 1))
		return -ENOMEM;
	n = xvt_pack(v->d->spool.packer, v->packed, bound, p, len);
	if (n < 0)
		return (int)n;
	lens[0] = (uint32_t)n;
	lens[1] = (uint32_t)len;
	err = put(v, lens, sizeof(lens));
	return err ? err : put(v, v->packed, (size_t)n);
}

/* Write a section with these bytes, and free them; an option says where it is. */
static int put_packed(struct v7 *v, uint16_t id, const char *name, struct dat_bytes *b)
{
	const uint64_t offset = v->offset;
	int err = b->failed ? -ENOMEM : put_section(v, id, COMPRESSED, name, 0);

	if (!err)
		err = pack(v, b->p, b->used);
	if (!err)
		err = put_at(v, offset + 8, v->offset - offset - 16);
	dat_option(&v->options, id, &offset, sizeof(offset));
	free(b->p);
	return err;
}

/* Descriptions of the events. */
static int put_sections(struct v7 *v)
{
	struct dat_machine *m = &v->d->machines[v->machine];
	struct xvtrace_reader *reader = v->d->x->reader;
	struct dat_bytes b[6] = { 0 };
	int err;

	dat_headers(&b[0]);
	dat_ftrace_formats(&b[1], &m->types, reader);
	dat_formats(&b[2], &m->types, reader);
	dat_symbols(&b[3], v->d, v->machine, XVTRACE_KSYMS);
	dat_symbols(&b[4], v->d, v->machine, XVTRACE_PRINTKS);
	dat_comms(&b[5], v->d, v->machine);
	err = put_packed(v, SECTION_HEADERS, "headers", &b[0]);
	err = put_packed(v, SECTION_FTRACE_FORMATS, "ftrace events", &b[1]) ?: err;
	err = put_packed(v, SECTION_FORMATS, "events format", &b[2]) ?: err;
	err = put_packed(v, SECTION_KSYMS, "kallsyms", &b[3]) ?: err;
	err = put_packed(v, SECTION_PRINTKS, "printk", &b[4]) ?: err;
	return put_packed(v, SECTION_COMMS, "command lines", &b[5]) ?: err;
}

/* The pages of a CPU, from a page's border on; c: NULL if it has none. */
static int put_cpu(struct v7 *v, const struct dat_cpu *c, uint32_t number)
{
	static const uint8_t zeros[DAT_PAGE];
	const uint32_t pieces = c ? c->pieces : 0;
	uint64_t offset;
	int err = put(v, zeros, (DAT_PAGE - v->offset % DAT_PAGE) % DAT_PAGE);

	offset = v->offset;
	if (!err && pieces)
		err = put(v, &pieces, sizeof(pieces));
	if (!err && pieces)
		err = dat_spool_copy(&v->d->spool, c, v->fd);
	if (!err && pieces)
		v->offset += dat_cpu_len(c);
	dat_u32(&v->places, number);
	dat_u64(&v->places, offset);
	dat_u64(&v->places, v->offset - offset);
	return err;
}

static int put_pages(struct v7 *v)
{
	const struct dat_machine *m = &v->d->machines[v->machine];
	const uint64_t offset = v->offset;
	struct dat_bytes b = { 0 };
	int err = put_section(v, SECTION_BUFFER, COMPRESSED, "buffer flyrecord", 0);

	/* All of them: trace-cmd convert takes those of a list with gaps for others. */
	for (size_t i = 0; i < m->cpu_count && !err; i++)
		err = put_cpu(v, m->cpus[i], (uint32_t)i);
	if (!err)
		err = put_at(v, offset + 8, v->offset - offset - 16);
	dat_u64(&b, offset);
	dat_put(&b, "", 1); /* the name of the instance */
	dat_put(&b, DAT_CLOCK, sizeof(DAT_CLOCK));
	dat_u32(&b, DAT_PAGE);
	dat_u32(&b, (uint32_t)m->cpu_count);
	dat_put(&b, v->places.p, v->places.used);
	dat_option(&v->options, SECTION_BUFFER, b.p, b.used);
	v->options.failed |= b.failed || v->places.failed;
	free(b.p);
	return err;
}

/* The options, and where they are. Readers look for the strings in all sections up to the end. */
static int put_end(struct v7 *v, uint64_t place)
{
	const uint32_t cpus = (uint32_t)v->d->machines[v->machine].cpu_count;
	const uint64_t none = 0;
	uint64_t offset;
	int err;

	dat_option(&v->options, DAT_OPTION_CPUCOUNT, &cpus, sizeof(cpus));
	dat_options(&v->options, v->d, v->machine);
	dat_option(&v->options, DAT_OPTION_DONE, &none, sizeof(none));
	offset = v->offset;
	err = v->options.failed ? -ENOMEM
				: put_section(v, SECTION_OPTIONS, 0, "options", v->options.used);
	if (!err)
		err = put(v, v->options.p, v->options.used);
	/* Its own name becomes one of the strings. */
	if (!err)
		err = put_section(v, SECTION_STRINGS, 0, "strings",
				  v->strings.used + sizeof("strings"));
	if (!err)
		err = v->strings.failed ? -ENOMEM : put(v, v->strings.p, v->strings.used);
	return err ? err : put_at(v, place, offset);
}

int dat_write_v7(struct dat *d, uint32_t at, int fd)
{
	struct v7 v = { .d = d, .machine = at, .fd = fd };
	struct dat_bytes b = { 0 };
	uint64_t place;
	int err;

	dat_put(&b, "\x17\x08\x44tracing7\0\0\x08", 14);
	dat_u32(&b, DAT_PAGE);
	dat_put(&b, "zstd", sizeof("zstd"));
	dat_put_str(&b, xvt_pack_version());
	dat_put(&b, "", 1);
	place = b.used;
	dat_u64(&b, 0);
	err = b.failed ? -ENOMEM : put(&v, b.p, b.used);
	free(b.p);
	if (!err)
		err = put_sections(&v);
	if (!err)
		err = put_pages(&v);
	if (!err)
		err = put_end(&v, place);
	free(v.strings.p);
	free(v.options.p);
	free(v.places.p);
	free(v.packed);
	return err;
}
