// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "facts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void die(const char *path, const char *why)
{
	fprintf(stderr, "judge: %s: %s\n", path, why);
	exit(2);
}

/* Smallest power of two that is not less; 0 for 0. */
static size_t room_for(size_t count)
{
	size_t room = count ? 1 : 0;

	while (room < count)
		room *= 2;
	return room;
}

/* Append an element to `count` others. */
static void *append(void *array, size_t count, const void *from, size_t size)
{
	if (room_for(count + 1) != room_for(count))
		array = realloc(array, room_for(count + 1) * size);
	if (!array)
		die("facts", "no memory");
	memcpy((char *)array + count * size, from, size);
	return array;
}

/* Make elements up to `number` exist. */
static void *reach(void *array, size_t *count, size_t number, size_t size)
{
	if (number < *count)
		return array;
	if (number >= 1u << 20)
		die("facts", "a number is too large");
	array = realloc(array, (number + 1) * size);
	if (!array)
		die("facts", "no memory");
	memset((char *)array + *count * size, 0, (number + 1 - *count) * size);
	*count = number + 1;
	return array;
}

static struct ring_facts *ring_of(struct facts *f, uint32_t number)
{
	f->rings = reach(f->rings, &f->nr_rings, number, sizeof(*f->rings));
	return &f->rings[number];
}

static void take_line(struct facts *f, const struct xvt_timebase *line)
{
	f->lines = append(f->lines, f->nr_lines, line, sizeof(*line));
	f->nr_lines++;
}

static void take_file(struct facts *f, const struct xvt_file_info *info)
{
	const struct xvt_timebase line = {
		.base_clock = info->base_clock,
		.base_ns = info->base_ns,
		.mult = info->mult,
		.shift = info->shift,
	};

	take_line(f, &line);
}

static void take_vm(struct facts *f, const struct xvt_vm_info *info)
{
	f->vm_hz = reach(f->vm_hz, &f->nr_vms, info->vm, sizeof(*f->vm_hz));
	f->vm_hz[info->vm] = info->clock_hz;
}

static void take_ring(struct facts *f, const struct xvt_ring_info *info)
{
	struct ring_facts *r = ring_of(f, info->ring);

	r->seen = true;
	r->vm = info->vm;
	r->clock_id = info->clock_id;
	r->clock_hz = info->clock_hz;
}

/* As far as the chunks so far say. */
static double nominal_hz(const struct facts *f, const struct ring_facts *r)
{
	return (double)(r->clock_hz || r->vm >= f->nr_vms ? r->clock_hz : f->vm_hz[r->vm]);
}

static void take_sample(struct facts *f, const struct xvt_clock_sample *s)
{
	struct ring_facts *r = ring_of(f, s->ring);
	const double hz = nominal_hz(f, r);

	r->raw = append(r->raw, r->nr_samples, s, sizeof(*s));
	r->raw_hz = append(r->raw_hz, r->nr_samples, &hz, sizeof(hz));
	r->nr_samples++;
}

static void take_node(struct facts *f, const struct xvt_clock_node *node)
{
	struct ring_facts *r = ring_of(f, node->ring);

	if (node->source == XVT_SOURCE_DRAIN)
		return;
	r->nodes = append(r->nodes, r->nr_nodes, node, sizeof(*node));
	r->nr_nodes++;
}

static void take_look(struct facts *f, const struct xvt_clock_look *look)
{
	struct ring_facts *r = ring_of(f, look->ring);

	r->looks = append(r->looks, r->nr_looks, look, sizeof(*look));
	r->nr_looks++;
}

static void take_chunk(struct facts *f, const struct xvt_chunk_hdr *h, const uint8_t *payload)
{
	size_t at;

	if (h->flags & XVT_CHUNK_F_ZSTD)
		return;
	if (h->type == XVT_CHUNK_FILE)
		take_file(f, (const struct xvt_file_info *)payload);
	else if (h->type == XVT_CHUNK_VM)
		take_vm(f, (const struct xvt_vm_info *)payload);
	else if (h->type == XVT_CHUNK_RING)
		take_ring(f, (const struct xvt_ring_info *)payload);
	else if (h->type == XVT_CHUNK_TIMEBASE)
		for (at = 0; at + sizeof(struct xvt_timebase) <= h->len;
		     at += sizeof(struct xvt_timebase))
			take_line(f, (const struct xvt_timebase *)(payload + at));
	else if (h->type == XVT_CHUNK_SAMPLES)
		for (at = 0; at + sizeof(struct xvt_clock_sample) <= h->len;
		     at += sizeof(struct xvt_clock_sample))
			take_sample(f, (const struct xvt_clock_sample *)(payload + at));
	else if (h->type == XVT_CHUNK_NODE)
		for (at = 0; at + sizeof(struct xvt_clock_node) <= h->len;
		     at += sizeof(struct xvt_clock_node))
			take_node(f, (const struct xvt_clock_node *)(payload + at));
	else if (h->type == XVT_CHUNK_LOOKS)
		for (at = 0; at + sizeof(struct xvt_clock_look) <= h->len;
		     at += sizeof(struct xvt_clock_look))
			take_look(f, (const struct xvt_clock_look *)(payload + at));
}

/* A killed recorder's file ends in a part of a chunk, or in zeros. */
static void take_bytes(struct facts *f, const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (len - at >= sizeof(struct xvt_chunk_hdr)) {
		const struct xvt_chunk_hdr *h = (const void *)(bytes + at);

		if (h->magic != XVT_CHUNK_MAGIC || h->len > len - at - sizeof(*h))
			break;
		take_chunk(f, h, bytes + at + sizeof(*h));
		at += sizeof(*h) + (((size_t)h->len + 7) & ~(size_t)7);
		if (at > len)
			break;
	}
}

static void take_path(struct facts *f, const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	uint8_t *bytes;

	if (!file || fstat(fileno(file), &st))
		die(path, "cannot be read");
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes || fread(bytes, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
		die(path, "cannot be read");
	fclose(file);
	take_bytes(f, bytes, (size_t)st.st_size);
	free(bytes);
}

static int is_trace(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".xvt");
}

static void take_folder(struct facts *f, const char *path)
{
	struct dirent **names;
	const int count = scandir(path, &names, is_trace, alphasort);

	for (int i = 0; i < count; i++) {
		char *file;

		if (asprintf(&file, "%s/%s", path, names[i]->d_name) < 0)
			die(path, "no memory");
		take_path(f, file);
		free(file);
		free(names[i]);
	}
	free(names);
}

static int by_clock(const void *a, const void *b)
{
	const struct xvt_timebase *x = a, *y = b;

	return (x->base_clock > y->base_clock) - (x->base_clock < y->base_clock);
}

static int by_lo(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->hi > y->hi) - (x->hi < y->hi);
}

/* All lines are known now: the samples' times are. */
static void finish_ring(struct facts *f, struct ring_facts *r)
{
	r->samples = calloc(r->nr_samples + 1, sizeof(*r->samples));
	if (!r->samples)
		die("facts", "no memory");
	for (size_t i = 0; i < r->nr_samples; i++)
		r->samples[i] = (struct sample){
			.epoch = r->raw[i].epoch,
			.hz = r->raw_hz[i] ? r->raw_hz[i] : nominal_hz(f, r),
			.guest = r->raw[i].guest,
			.lo = facts_host_ns(f, r->raw[i].host_clock_lo),
			.hi = facts_host_ns(f, r->raw[i].host_clock_hi) + 1,
		};
	qsort(r->samples, r->nr_samples, sizeof(*r->samples), by_lo);
}

struct facts *facts_load(const char *path)
{
	struct facts *f = calloc(1, sizeof(*f));
	struct stat st;

	if (!f || stat(path, &st))
		die(path, "cannot be read");
	if (S_ISDIR(st.st_mode))
		take_folder(f, path);
	else
		take_path(f, path);
	if (!f->nr_lines)
		die(path, "has no line of the host's clock");
	qsort(f->lines, f->nr_lines, sizeof(*f->lines), by_clock);
	for (size_t i = 0; i < f->nr_rings; i++)
		finish_ring(f, &f->rings[i]);
	return f;
}

void facts_free(struct facts *f)
{
	for (size_t i = 0; i < f->nr_rings; i++) {
		free(f->rings[i].raw);
		free(f->rings[i].raw_hz);
		free(f->rings[i].samples);
		free(f->rings[i].nodes);
		free(f->rings[i].looks);
	}
	free(f->rings);
	free(f->lines);
	free(f->vm_hz);
	free(f);
}

int64_t facts_host_ns(const struct facts *f, uint64_t clock)
{
	const struct xvt_timebase *line = f->lines;
	__int128 d;

	for (size_t i = 1; i < f->nr_lines && f->lines[i].base_clock <= clock; i++)
		line = &f->lines[i];
	d = (__int128)clock - line->base_clock;
	return (int64_t)line->base_ns + (int64_t)((d * line->mult) >> line->shift);
}

double facts_host_hz(const struct facts *f)
{
	const struct xvt_timebase *line = &f->lines[f->nr_lines - 1];

	return 1e9 * (double)(1ull << line->shift) / line->mult;
}
