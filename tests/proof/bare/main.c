// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - xvt-bare: real interrupts, delivered by KVM at chosen instructions of the bare-metal
 * guest. See docs/guest-bare.md.
 *
 *   xvt-bare list
 *   xvt-bare inject IMAGE CODE quick|all COVERAGE [SCENARIO]...
 *   xvt-bare whole IMAGE REGION NUMBERS COUNT [live|lie]
 *
 * CODE names the instructions to interrupt (writer-code.sh), quick or all: see inject.h,
 * COVERAGE gets the addresses that were interrupted. Exit
 * 0 all right, 1 something is wrong, 77 no KVM (the reason on stdout).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "inject.h"
#include "whole.h"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *bytes = NULL;

	if (!f || fseek(f, 0, SEEK_END))
		goto out;
	*size = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*size);
	if (bytes && fread(bytes, 1, *size, f) != *size) {
		free(bytes);
		bytes = NULL;
	}
out:
	if (f)
		fclose(f);
	return bytes;
}

/* The first word of each line is an address, hexadecimal. */
static bool read_code(const char *path, uint8_t *wanted)
{
	FILE *f = fopen(path, "r");
	char line[512];

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		uint64_t at = strtoull(line, NULL, 16) - XVT_BARE_IMAGE;

		if (at < INJECT_SPAN)
			wanted[at] = 1;
	}
	return !fclose(f);
}

static bool chosen(const char *name, int names, char **list)
{
	int i;

	for (i = 0; i < names; i++) {
		if (!strcmp(name, list[i]))
			return true;
	}
	return !names;
}

static int write_coverage(const char *path, const struct inject_counts *n)
{
	FILE *f = fopen(path, "w");
	uint32_t i;

	if (!f)
		return 1;
	for (i = 0; i < INJECT_SPAN; i++) {
		if (n->irq_at[i])
			fprintf(f, "irq %x\n", XVT_BARE_IMAGE + i);
		if (n->nmi_at[i])
			fprintf(f, "nmi %x\n", XVT_BARE_IMAGE + i);
		if (n->pair_at[i])
			fprintf(f, "pair %x\n", XVT_BARE_IMAGE + i);
	}
	return fclose(f) ? 1 : 0;
}

static bool one(const struct scenario *s, const struct inject_options *options,
		struct inject_counts *n)
{
	struct inject_counts before = *n;
	double begin = seconds();
	bool ok = inject_scenario(s, options, n);

	printf("%-18s %6" PRIu64 " runs, %5" PRIu64 " IRQ %5" PRIu64 " NMI %7" PRIu64
	       " IRQ x NMI %5" PRIu64 " host, %8" PRIu64 " events checked, %" PRIu64
	       " wrong, %.1f s  (%s)\n",
	       s->name, n->runs - before.runs, n->irqs - before.irqs, n->nmis - before.nmis,
	       n->pairs - before.pairs, n->host - before.host, n->events - before.events,
	       n->wrong - before.wrong, seconds() - begin, s->what);
	fflush(stdout);
	return ok;
}

static bool one_storm(const struct scenario *s, const struct inject_options *options,
		      struct inject_counts *n)
{
	bool gave_up, ok = inject_storm(s, options, n, &gave_up);

	printf("%-18s %s  (%s)\n", s->name,
	       !ok	 ? "WRONG"
	       : gave_up ? "gave up after XVT_MAXRETRY, counted, all else in order"
			 : "no instruction of this back-end begins anew for it",
	       s->what);
	return ok;
}

static int inject(int argc, char **argv)
{
	struct inject_counts *n = calloc(1, sizeof(*n));
	struct inject_options options = {
		.all = !strcmp(argv[4], "all"),
		.stride = 16,
		.story = stdout,
		.region = mmap(NULL, SCENE_REGION_SIZE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	};
	uint8_t *wanted = calloc(1, INJECT_SPAN);
	bool ok = true;
	unsigned int i;

	options.wanted = wanted;
	options.image = read_file(argv[2], &options.image_size);
	if (!n || !wanted || !options.image || options.region == MAP_FAILED ||
	    !read_code(argv[3], wanted)) {
		printf("cannot read %s and %s\n", argv[2], argv[3]);
		return 1;
	}
	for (i = 0; i < scenario_count; i++) {
		if (chosen(scenarios[i].name, argc - 6, argv + 6))
			ok &= one(&scenarios[i], &options, n);
	}
	for (i = 0; i < storm_count; i++) {
		if (chosen(storms[i].name, argc - 6, argv + 6))
			ok &= one_storm(&storms[i], &options, n);
	}
	printf("total: %" PRIu64 " runs, %" PRIu64 " IRQ, %" PRIu64 " NMI, %" PRIu64
	       " IRQ x NMI, %" PRIu64 " host, %" PRIu64 " closed boundaries; %" PRIu64
	       " events checked, %" PRIu64 " of them by their exact stamp; a host looked %" PRIu64
	       " times between two instructions; %" PRIu64 " wrong\n",
	       n->runs, n->irqs, n->nmis, n->pairs, n->host, n->closed, n->events, n->exact,
	       n->looks, n->wrong);
	return write_coverage(argv[5], n) || !ok || !n->irqs;
}

static int whole(int argc, char **argv)
{
	struct whole_options options = {
		.region = argv[3],
		.numbers = argv[4],
		.count = strtoull(argv[5], NULL, 10),
		.live = argc > 6,
		.lie = argc > 6 && !strcmp(argv[6], "lie"),
	};

	options.image = read_file(argv[2], &options.image_size);
	if (!options.image) {
		printf("cannot read %s\n", argv[2]);
		return 1;
	}
	return whole_run(&options);
}

int main(int argc, char **argv)
{
	unsigned int i;
	int err;

	if (argc > 1 && !strcmp(argv[1], "list")) {
		for (i = 0; i < scenario_count; i++)
			printf("%-18s %s\n", scenarios[i].name, scenarios[i].what);
		return 0;
	}
	err = xvt_microvm_probe();
	if (err) {
		printf("/dev/kvm: %s\n", strerror(-err));
		return 77;
	}
	if (argc > 5 && !strcmp(argv[1], "inject"))
		return inject(argc, argv);
	if (argc > 5 && !strcmp(argv[1], "whole"))
		return whole(argc, argv);
	fprintf(stderr,
		"usage: xvt-bare list | whole IMAGE REGION NUMBERS COUNT [live|lie] | inject "
		"IMAGE CODE quick|all COVERAGE [SCENARIO]...\n");
	return 2;
}
