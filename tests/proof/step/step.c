// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * step.c - interrupts the compiled writer at every instruction boundary, and an interrupting
 * event at every one of its own, and looks whether the host still finds what happened. At each
 * boundary the writer also dies, and salvage has to find what is left.
 *
 * Boundary k lies before the k-th instruction, counted from 0. For each k the whole state is
 * copied; the nested event is stepped from there, and for each of its boundaries j the state is
 * copied again; a third event runs through; the nested and the outer event go on to their ends;
 * everything is checked; the copy is put back and one more instruction is executed.
 */
#include "crash.h"
#include "scenario.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	const char *build;
	const char *scenario;
	const char *images;
	bool cpu_clock;
	uint32_t twice; /* every n-th boundary; 0: none */
	uint32_t storm; /* likewise */
} opt = { .build = "" };

struct counts {
	uint32_t outer; /* instructions of the event when nothing interrupts it */
	uint32_t nested;
	uint32_t stepped; /* boundaries at which the nested event was stepped anew */
	uint64_t singles;
	uint64_t pairs;
	uint64_t twice;
	uint64_t storms;
	uint64_t storm_events;
	uint64_t given_up; /* events that were lost because they were interrupted too often */
	struct crash_counts crash;
};

static struct world at_k, at_j, dead;
static struct crash_file images;

static void where(const struct scenario *s, long k, long j)
{
	snprintf(world_where, sizeof(world_where),
		 "%s %s, %s clock, boundary %ld (address %#llx) of the outer, %ld of the nested",
		 opt.build, s->name, opt.cpu_clock ? "cpu" : "own", k,
		 k < 0 ? 0ull : (unsigned long long)vcpu_at(&world.cpu[0]), j);
}

/* The rest of a stepped event, in one go. */
static void run_through(uint32_t level)
{
	if (!world.cpu[level].ended)
		vcpu_run(&world.cpu[level], false);
	world_ended(level);
}

/* What the nested event left behind when the third came at its boundary j. */
static uint8_t (*after)[WORLD_SHARED_SIZE];
static uint32_t after_count;

static void remember(uint32_t j)
{
	static uint32_t room;

	if (j >= room) {
		room = room ? 2 * room : 256;
		after = realloc(after, room * sizeof(*after));
		if (!after)
			world_fail("out of memory");
	}
	memcpy(after[j], (uint8_t *)&world + WORLD_SHARED, WORLD_SHARED_SIZE);
	after_count = j + 1;
}

static void step_nested(const struct scenario *s, long k, struct counts *n)
{
	long j;

	world_start(1, &s->nested);
	for (j = 0; !world.cpu[1].ended; j++) {
		where(s, k, j);
		world_copy(&at_j, &world);
		world_event(&s->third);
		world_copy(&dead, &world);
		run_through(1);
		remember((uint32_t)j);
		run_through(0);
		scenario_end(s);
		n->pairs++;
		/* Or both stop there for ever, before the third event or after it. */
		crash_check(&at_j, &world, &n->crash, NULL);
		crash_check(&dead, &world, &n->crash, NULL);
		world_copy(&world, &at_j);
		vcpu_run(&world.cpu[1], true);
		world_watch();
	}
	if (!k)
		n->nested = (uint32_t)j;
}

/*
 * The outer event's last instruction changed nothing that the nested one can see, so that would
 * do at this boundary what it did at the one before: put that there, at each j, and go on. The
 * two boundaries differ in the outer event's registers only, and so does the rest of the run.
 */
static void repeat_nested(const struct scenario *s, long k, struct counts *n)
{
	uint32_t j;

	for (j = 0; j < after_count; j++) {
		where(s, k, j);
		memcpy((uint8_t *)&world + WORLD_SHARED, after[j], WORLD_SHARED_SIZE);
		run_through(0);
		scenario_end(s);
		n->pairs++;
		world_copy(&world, &at_k);
	}
}

static void pairs(const struct scenario *s, struct counts *n)
{
	static uint8_t seen[WORLD_SHARED_SIZE]; /* by the nested event that was stepped last */
	uint64_t found[WORLD_EVENTS];
	bool clock_was_read = true;
	long k;

	scenario_begin(s, opt.cpu_clock);
	world_start(0, &s->outer);
	for (k = 0; !world.cpu[0].ended; k++) {
		where(s, k, -1);
		world_copy(&at_k, &world);
		world_event(&s->nested);
		world_copy(&dead, &world);
		run_through(0);
		scenario_end(s);
		n->singles++;
		crash_check(&at_k, &world, &n->crash, found);
		if (images.expect)
			crash_file_add(&images, &at_k, &world, found);
		crash_check(&dead, &world, &n->crash, found);
		if (images.expect)
			crash_file_add(&images, &dead, &world, found);
		world_copy(&world, &at_k);
		if (clock_was_read ||
		    memcmp(seen, (uint8_t *)&at_k + WORLD_SHARED, WORLD_SHARED_SIZE) != 0) {
			memcpy(seen, (uint8_t *)&at_k + WORLD_SHARED, WORLD_SHARED_SIZE);
			step_nested(s, k, n);
			n->stepped++;
		} else {
			repeat_nested(s, k, n);
		}
		world_copy(&world, &at_k);
		clock_was_read = vcpu_reads_clock(&world.cpu[0]);
		vcpu_run(&world.cpu[0], true);
		world_watch();
	}
	n->outer = (uint32_t)k;
}

/* Two events, one after the other, inside the same outer one: the first here. */
static void twice_from(const struct scenario *s, long k, struct counts *n)
{
	static struct world interrupted;

	world_event(&s->nested);
	while (!world.cpu[0].ended) {
		where(s, k, -1);
		world_copy(&interrupted, &world);
		world_event(&s->third);
		world_copy(&dead, &world);
		run_through(0);
		scenario_end(s);
		n->twice++;
		crash_check(&dead, &world, &n->crash, NULL);
		world_copy(&world, &interrupted);
		vcpu_run(&world.cpu[0], true);
		world_watch();
	}
}

static void twice(const struct scenario *s, struct counts *n)
{
	long k;

	scenario_begin(s, opt.cpu_clock);
	world_start(0, &s->outer);
	for (k = 0; !world.cpu[0].ended; k++) {
		world_copy(&at_k, &world);
		if (k % opt.twice == 0)
			twice_from(s, k, n);
		world_copy(&world, &at_k);
		vcpu_run(&world.cpu[0], true);
	}
}

/*
 * An event each time that the outer one comes to the address of boundary k: where the writer
 * begins again it comes back there, until it gives up.
 */
static void storm_at(const struct scenario *s, uint64_t address, struct counts *n)
{
	const struct shape interrupt = { TARGET_WRITE16, 16, false };

	while (!world.cpu[0].ended) {
		if (vcpu_at(&world.cpu[0]) == address) {
			world_event(&interrupt);
			n->storm_events++;
		}
		vcpu_run(&world.cpu[0], true);
	}
	run_through(0);
	n->given_up += xvt_load(&world.w.ctl->lost[XVT_LOST_RETRY]);
	scenario_end(s);
	n->storms++;
}

static void storms(const struct scenario *s, struct counts *n)
{
	long k;

	scenario_begin(s, opt.cpu_clock);
	world_start(0, &s->outer);
	for (k = 0; !world.cpu[0].ended; k++) {
		where(s, k, -1);
		world_copy(&at_k, &world);
		if (k % opt.storm == 0)
			storm_at(s, vcpu_at(&world.cpu[0]), n);
		world_copy(&world, &at_k);
		vcpu_run(&world.cpu[0], true);
	}
}

static void images_begin(const struct scenario *s)
{
	char path[512];

	if (!opt.images)
		return;
	snprintf(path, sizeof(path), "%s/%s-%s.region", opt.images, s->name,
		 opt.cpu_clock ? "cpu" : "own");
	if (crash_file_new(&images, path))
		world_fail("cannot write %s.expect", path);
}

static void images_end(void)
{
	if (!images.expect)
		return;
	if (crash_file_close(&images))
		world_fail("cannot write %s", images.path);
	images.expect = NULL;
}

static void add(struct counts *sum, const struct counts *n)
{
	sum->singles += n->singles;
	sum->pairs += n->pairs;
	sum->twice += n->twice;
	sum->storms += n->storms;
	sum->storm_events += n->storm_events;
	sum->given_up += n->given_up;
	sum->crash.images += n->crash.images;
	sum->crash.records += n->crash.records;
	sum->crash.inflight += n->crash.inflight;
	sum->crash.holes += n->crash.holes;
	sum->crash.behind_holes += n->crash.behind_holes;
	sum->crash.stale += n->crash.stale;
}

static void report(const char *name, const struct counts *n)
{
	printf("%-12s %-20s %-3s %4u %4u %6llu %8llu %7llu %5llu %4llu %8llu %8llu %7llu %5llu\n",
	       opt.build, name, opt.cpu_clock ? "cpu" : "own", n->outer, n->nested,
	       (unsigned long long)n->singles, (unsigned long long)n->pairs,
	       (unsigned long long)n->twice, (unsigned long long)n->storms,
	       (unsigned long long)n->given_up, (unsigned long long)n->crash.images,
	       (unsigned long long)n->crash.records, (unsigned long long)n->crash.holes,
	       (unsigned long long)n->crash.stale);
	fflush(stdout);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: step [--build TEXT] [--scenario NAME] [--cpu-clock] [--twice]\n"
		"            [--storm EVERY] [--images DIR]\n"
		"Exit status: 0 all is right, 1 something is wrong, 77 cannot step here.\n");
	return 2;
}

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "build", 1, NULL, 'b' },  { "scenario", 1, NULL, 's' },
		{ "images", 1, NULL, 'i' }, { "cpu-clock", 0, NULL, 'c' },
		{ "twice", 1, NULL, 't' },  { "storm", 1, NULL, 'm' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'b':
			opt.build = optarg;
			break;
		case 's':
			opt.scenario = optarg;
			break;
		case 'i':
			opt.images = optarg;
			break;
		case 'c':
			opt.cpu_clock = true;
			break;
		case 't':
			opt.twice = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'm':
			opt.storm = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		default:
			return usage();
		}
	}
	return optind == argc ? 0 : usage();
}

int main(int argc, char **argv)
{
	struct counts sum = { 0 };
	uint32_t i;

	if (parse(argc, argv))
		return 2;
	if (!vcpu_available()) {
		printf("a program cannot single-step itself on this machine\n");
		return 77;
	}
	vcpu_init();
	printf("%-12s %-20s %-3s %4s %4s %6s %8s %7s %5s %4s %8s %8s %7s %5s\n", "build",
	       "scenario", "clk", "outr", "nest", "single", "pairs", "twice", "storm", "gvup",
	       "deaths", "salvaged", "holes", "stale");
	for (i = 0; i < scenario_count; i++) {
		const struct scenario *s = &scenarios[i];
		struct counts n = { 0 };

		if (opt.scenario && strcmp(opt.scenario, s->name) != 0)
			continue;
		where(s, -1, -1);
		images_begin(s);
		pairs(s, &n);
		images_end();
		if (opt.twice)
			twice(s, &n);
		if (opt.storm)
			storms(s, &n);
		report(s->name, &n);
		add(&sum, &n);
	}
	report("all", &sum);
	return 0;
}
