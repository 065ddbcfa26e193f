// SPDX-License-Identifier: GPL-2.0
/* sound.c - see sound.h. */
#include "clock/sound.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>

#define SOURCES "/sys/devices/system/clocksource/clocksource0/"

/* Finds the first line of a file that begins with `prefix`. */
static bool find_line(const char *root, const char *path, const char *prefix, char *line,
		      size_t size)
{
	char whole[PATH_MAX];
	bool found = false;
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root ? root : "", path);
	f = fopen(whole, "re");
	while (f && !found && fgets(line, (int)size, f))
		found = !strncmp(line, prefix, strlen(prefix));
	if (f)
		fclose(f);
	if (found)
		line[strcspn(line, "\n")] = '\0';
	return found;
}

static bool has_word(const char *line, const char *word)
{
	const size_t len = strlen(word);
	const char *at = line;

	while ((at = strstr(at, word))) {
		if ((at == line || at[-1] == ' ' || at[-1] == '\t') && (at[len] == ' ' || !at[len]))
			return true;
		at += len;
	}
	return false;
}

/* The kernel's flags correct CPUs that keep the promise without reporting it, and CPUs that report
 * it falsely. */
static bool is_invariant(const char *root)
{
	unsigned int eax, ebx, ecx, edx;
	char flags[16384];

	if (find_line(root, "/proc/cpuinfo", "flags", flags, sizeof(flags)))
		return has_word(flags, "constant_tsc") && has_word(flags, "nonstop_tsc");
	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && edx & 1u << 8;
}

static void fault(struct xvt_clock_soundness *s, enum xvt_clock_fault which, const char *what,
		  const char *source, const char *fix)
{
	s->fault = which;
	snprintf(s->what, sizeof(s->what), what, source);
	snprintf(s->fix, sizeof(s->fix), "%s", fix);
}

void xvt_clock_soundness(struct xvt_clock_soundness *s, const char *root)
{
	char current[64], available[256];

	memset(s, 0, sizeof(*s));
	s->invariant = is_invariant(root);
	if (!s->invariant) {
		fault(s, XVT_CLOCK_VARIES,
		      "the TSC is not invariant%s: its rate changes with the CPU's clock, or it "
		      "stops while a CPU sleeps, so times may be wrong",
		      "", "use a host whose CPU has an invariant TSC, or -cpu host,+invtsc for it");
		return;
	}
	if (!find_line(root, SOURCES "current_clocksource", "", current, sizeof(current)) ||
	    !find_line(root, SOURCES "available_clocksource", "", available, sizeof(available)))
		return;
	if (!has_word(available, "tsc"))
		fault(s, XVT_CLOCK_UNSTABLE,
		      "the kernel found the TSC unstable and keeps time by %s: CPUs may differ, so "
		      "times may be wrong",
		      current,
		      "dmesg | grep -i tsc # if it is sound: boot with tsc=reliable "
		      "clocksource=tsc");
	else if (strcmp(current, "tsc") && strcmp(current, "kvm-clock"))
		fault(s, XVT_CLOCK_UNUSED, "the kernel does not use the TSC and keeps time by %s",
		      current,
		      "dmesg | grep -i tsc # if it is sound: boot with tsc=reliable "
		      "clocksource=tsc");
}

#else

void xvt_clock_soundness(struct xvt_clock_soundness *s, const char *root)
{
	(void)root;
	memset(s, 0, sizeof(*s));
	s->invariant = true; /* the architecture guarantees it */
}

#endif
