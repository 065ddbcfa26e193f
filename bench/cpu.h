/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cpu.h - the name of the CPU, for what a benchmark prints and stores: a figure without it says
 * nothing.
 */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

#include <stdio.h>
#include <string.h>

/*
 * As "AMD EPYC, family 25, model 17", from /proc/cpuinfo; hypervisors may leave the name short, so
 * family and model go with it. Fit for a JSON string. "unknown" where /proc tells nothing.
 */
static inline const char *bench_cpu(void)
{
	static const char *const keys[] = { "model name", "cpu family", "model", "CPU implementer",
					    "CPU part" };
	static const char *const says[] = { "", ", family ", ", model ", "implementer ",
					    ", part " };
	static char name[256];
	char line[256], found[5][64] = { "" };
	FILE *f = fopen("/proc/cpuinfo", "r");
	size_t i, n;

	/* The first CPU's: what follows its empty line is another one. */
	while (f && fgets(line, sizeof(line), f) && line[0] != '\n') {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		*value++ = 0;
		line[strcspn(line, "\t")] = 0;
		value += strspn(value, " ");
		for (i = 0; i < 5; i++)
			if (!strcmp(line, keys[i]))
				snprintf(found[i], sizeof(found[i]), "%.*s",
					 (int)strcspn(value, "\n"), value);
	}
	if (f)
		fclose(f);
	for (i = 0, n = 0; i < 5; i++)
		if (found[i][0])
			n += (size_t)snprintf(name + n, sizeof(name) - n, "%s%s", says[i],
					      found[i]);
	for (i = 0; name[i]; i++)
		if (name[i] == '"' || name[i] == '\\' || (unsigned char)name[i] < ' ')
			name[i] = ' ';
	return n ? name : "unknown";
}

#endif
