// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock_sound.c - is the host's counter sound? Trees of /proc and /sys as kernels have them,
 * and what a recording says.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/sound.h"
#include "recording.h"

#define SOURCES "/sys/devices/system/clocksource/clocksource0"
#define FLAGS	"fpu tsc msr constant_tsc rep_good nonstop_tsc cpuid"

static char root[256];

static void put(const char *path, const char *text)
{
	char whole[600];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	f = fopen(whole, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void host(const char *flags, const char *current, const char *available)
{
	static unsigned int trees;
	char command[700], line[400];

	snprintf(root, sizeof(root), "%s/sound-%d-%u", scratch(), (int)getpid(), trees++);
	snprintf(command, sizeof(command), "mkdir -p %s/proc %s" SOURCES, root, root);
	ck_assert_int_eq(system(command), 0);
	snprintf(line, sizeof(line), "processor\t: 0\nflags\t\t: %s\nbugs\t\t: none\n", flags);
	put("/proc/cpuinfo", line);
	snprintf(line, sizeof(line), "%s\n", current);
	put(SOURCES "/current_clocksource", line);
	snprintf(line, sizeof(line), "%s \n", available); /* with a blank, as the kernel does */
	put(SOURCES "/available_clocksource", line);
}

static const struct {
	const char *flags, *current, *available;
	enum xvt_clock_fault fault;
	const char *word;
} hosts[] = {
	{ FLAGS, "tsc", "tsc hpet acpi_pm", XVT_CLOCK_SOUND, "" },
	{ FLAGS, "kvm-clock", "kvm-clock tsc acpi_pm", XVT_CLOCK_SOUND, "" },
	{ FLAGS, "hpet", "tsc hpet acpi_pm", XVT_CLOCK_UNUSED, "by hpet" },
	/* The watchdog caught it. */
	{ FLAGS, "hpet", "hpet acpi_pm", XVT_CLOCK_UNSTABLE, "unstable and keeps time by hpet" },
	{ FLAGS, "kvm-clock", "kvm-clock acpi_pm", XVT_CLOCK_UNSTABLE, "by kvm-clock" },
	{ FLAGS, "hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page acpi_pm",
	  XVT_CLOCK_UNSTABLE, "unstable" },
	{ "fpu tsc constant_tsc", "tsc", "tsc hpet", XVT_CLOCK_VARIES, "not invariant" },
	{ "fpu tsc nonstop_tsc", "tsc", "tsc hpet", XVT_CLOCK_VARIES, "not invariant" },
	{ "fpu tsc xconstant_tsc nonstop_tsc", "tsc", "tsc", XVT_CLOCK_VARIES, "not invariant" },
};

START_TEST(hosts_as_they_are)
{
#ifdef __x86_64__
	struct xvt_clock_soundness s;

	host(hosts[_i].flags, hosts[_i].current, hosts[_i].available);
	xvt_clock_soundness(&s, root);
	ck_assert_int_eq(s.fault, hosts[_i].fault);
	ck_assert_int_eq(s.invariant, hosts[_i].fault != XVT_CLOCK_VARIES);
	ck_assert_msg(strstr(s.what, hosts[_i].word), "%s", s.what);
	ck_assert_int_eq(!s.what[0], !hosts[_i].fault);
	ck_assert_int_eq(!s.fix[0], !hosts[_i].fault);
#endif
}
END_TEST

static unsigned int warnings;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	warnings += level == 1 && strstr(text, "TSC") != NULL;
}

static void seconds(struct xvt_session *s, unsigned int n)
{
	uint64_t sleep_ns;

	while (n--) {
		s->passes.next_second_clock = 0;
		s->passes.next_clock = 0;
		ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
	}
}

/* At the start, or within some seconds after the kernel found out; once. */
START_TEST(a_recording_says_it)
{
#ifdef __x86_64__
	struct xvt_session_options opt = {
		.mode = XVT_ENABLE_STOP, .memory_bytes = 1 << 20, .note = on_note, .host_root = root
	};
	struct recording rec;

	warnings = 0;
	if (_i)
		host(FLAGS, "hpet", "hpet acpi_pm");
	else
		host(FLAGS, "tsc", "tsc hpet acpi_pm");
	recording_begin(&rec, 1, &opt);
	ck_assert_uint_eq(warnings, (unsigned int)_i);
	seconds(rec.s, 20);
	ck_assert_uint_eq(warnings, (unsigned int)_i);
	put(SOURCES "/current_clocksource", "hpet\n");
	put(SOURCES "/available_clocksource", "hpet acpi_pm \n");
	seconds(rec.s, 20);
	ck_assert_uint_eq(warnings, 1);
	phase_anew(rec.vm->rings[0], XVT_PHASE_DONE);
	recording_end(&rec);
#endif
}
END_TEST

Suite *clock_sound_suite(void)
{
	Suite *s = suite_create("clock_sound");
	TCase *t = tcase_create("all");

	tcase_add_loop_test(t, hosts_as_they_are, 0, sizeof(hosts) / sizeof(hosts[0]));
	tcase_add_loop_test(t, a_recording_says_it, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
