// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - xvt-nest: enumerate configurations of the ring, or tell the story of one schedule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "configs.h"
#include "rules.h"
#include "story.h"
#include "table.h"

static const char usage[] =
	"usage: xvt-nest [-p PART/PARTS] [-w WRONG] [-n MAX] [-t NAME] [-c] [-H MUTANT] "
	"LIST-OR-CONFIGURATION...\n"
	"       xvt-nest [-v] [-c] [-H MUTANT] -s SCHEDULE CONFIGURATION    tell one schedule\n"
	"       xvt-nest -l                                     the configurations\n"
	"  -p   only a share of the schedules, counted from 0\n"
	"  -w   stop a configuration after so many wrong schedules\n"
	"  -n   stop a configuration after so many schedules\n"
	"  -t   print lines of a table, with this name\n"
	"  -H   a host that is not honest: nest-alone, no-clear, cons-first, no-recheck,\n"
	"       takes-twice\n"
	"  -c   without looking as after a crash, so that other rules speak first\n"
	"  -v   tell every access\n";

struct options {
	struct ex_options ex;
	const char *program;
	const char *schedule;
	const char *row; /* print lines of a table, with this name */
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool tell(const struct nest_config *c, const struct ex_deviation *dev, uint32_t count)
{
	uint32_t rule;
	bool right;

	world_use(c);
	right = ex_replay(world_run, dev, count, &rule);
	if (!right)
		printf("       rule %s\n", rule_names[rule]);
	story_tell_ring();
	return right;
}

static void print_rules(const struct ex_result *r)
{
	uint32_t i;

	for (i = 0; i < RULES; i++)
		if (r->by_rule[i])
			printf(" %s:%llu", rule_names[i], (unsigned long long)r->by_rule[i]);
}

static bool enumerate(const struct nest_config *c, const struct options *o)
{
	double begin = seconds(), took;
	struct ex_result r;
	char text[EX_DEVIATIONS_MAX * 8];

	world_use(c);
	ex_all(world_run, &o->ex, &r);
	took = seconds() - begin;
	if (o->row) {
		table_row(o->row, &r, c->name);
		return !r.wrong;
	}
	printf("%-4s %-18s %11llu schedules %10llu three deep %8llu wrong %7.1f s %5.0f k/s",
	       writer_backend, c->name, (unsigned long long)r.schedules,
	       (unsigned long long)world_depths[3], (unsigned long long)r.wrong, took,
	       (double)r.schedules / took / 1e3);
	if (!o->ex.limit && !o->ex.wrong_max && o->ex.parts == 1 && r.schedules < c->least) {
		printf(" WRONG: there were at least %llu", (unsigned long long)c->least);
		r.wrong = 1;
	} else if (r.wrong) {
		ex_print(r.best, r.best_count, text, sizeof(text));
		printf(" shortest %u", r.best_count);
		print_rules(&r);
		printf("\n\nThe shortest of %s, %s:\n  %s%s%s%s -s %s %s\n", c->name,
		       writer_backend, o->program, oracle_no_crash ? " -c" : "",
		       host_mutant ? " -H " : "", host_mutant ? host_mutant_names[host_mutant] : "",
		       text, c->name);
		tell(c, r.best, r.best_count);
	}
	printf("\n");
	fflush(stdout);
	return !r.wrong;
}

static int list(void)
{
	uint32_t i;

	for (i = 0; i < nest_config_count; i++)
		printf("%-22s %-12s %s\n", nest_configs[i].name, nest_configs[i].lists,
		       nest_configs[i].what);
	return 0;
}

static int run_one(const char *name, const struct options *o, bool *right)
{
	struct ex_deviation dev[EX_DEVIATIONS_MAX];
	uint32_t i, found = 0;
	int count;

	for (i = 0; i < nest_config_count; i++) {
		const struct nest_config *c = &nest_configs[i];

		if (strcmp(c->name, name) && !nest_config_in(c, name))
			continue;
		found++;
		if (!o->schedule) {
			*right &= enumerate(c, o);
			continue;
		}
		count = ex_parse(o->schedule, dev);
		if (count < 0) {
			fprintf(stderr, "xvt-nest: %s is no schedule\n", o->schedule);
			return -1;
		}
		*right &= tell(c, dev, (uint32_t)count);
	}
	if (!found)
		fprintf(stderr, "xvt-nest: no configuration or list %s\n", name);
	return found ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct options o = { .ex = { .parts = 1 }, .program = argv[0] };
	bool right = true;
	int opt;

	while ((opt = getopt(argc, argv, "p:w:n:t:s:lH:cv")) != -1) {
		switch (opt) {
		case 'p':
			if (sscanf(optarg, "%u/%u", &o.ex.part, &o.ex.parts) != 2 || !o.ex.parts ||
			    o.ex.part >= o.ex.parts) {
				fputs(usage, stderr);
				return 2;
			}
			break;
		case 'w':
			o.ex.wrong_max = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			o.ex.limit = strtoull(optarg, NULL, 10);
			break;
		case 't':
			o.row = optarg;
			break;
		case 's':
			o.schedule = optarg;
			break;
		case 'l':
			return list();
		case 'H':
			while (strcmp(optarg, host_mutant_names[host_mutant]))
				if (++host_mutant == HOST_MUTANTS) {
					fputs(usage, stderr);
					return 2;
				}
			break;
		case 'c':
			oracle_no_crash = true;
			break;
		case 'v':
			story_every_access = true;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc) {
		fputs(usage, stderr);
		return 2;
	}
	words_find_order();
	for (; optind < argc; optind++)
		if (run_one(argv[optind], &o, &right))
			return 2;
	return right ? 0 : 1;
}
