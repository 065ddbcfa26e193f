// SPDX-License-Identifier: GPL-2.0
/* test_words.c - what record's options name: machines, events of guests and of the host. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/event_lines.h"
#include "record/host_events.h"
#include "record/machines.h"
#include "record/trace_path.h"
#include "said.h"

static struct xvt_machine_options machines;

static void forget_machines(void)
{
	memset(&machines, 0, sizeof(machines));
}

static void add(struct xvt_opt_list *list, const char *word)
{
	list->v[list->n++] = word;
}

/* Regions and domains, of which the second one of a name is refused. */
static const struct {
	const char *regions[2], *domains[2];
	bool follow;
	const char *words; /* NULL: they are good */
} cases[] = {
	{ { "g1=/dev/shm/g1" }, { NULL }, false, NULL },
	{ { "g1=g1" }, { NULL }, false, NULL },
	{ { "/dev/shm/xvtrace-g1" }, { NULL }, false, NULL },
	{ { "/dev/shm/a=b" }, { NULL }, false, NULL },
	{ { "/dev/shm/x*" }, { NULL }, false, NULL },
	{ { "g1=/x,rings=1" }, { NULL }, false, NULL },
	{ { "g1=/x,rings=65536" }, { NULL }, false, NULL },
	{ { "g1" }, { NULL }, false, "g1: a region is given as NAME=PATH" },
	{ { "=/x" }, { NULL }, false, "=/x: a region is given as NAME=PATH" },
	{ { "g1=" }, { NULL }, false, "g1=: a region is given as NAME=PATH" },
	{ { "g1=/x,rings=0" }, { NULL }, false, "rings=N is the number of rings to record" },
	{ { "g1=/x,rings=65537" }, { NULL }, false, "rings=N is" },
	{ { "g1=/x,rings=" }, { NULL }, false, "rings=N is" },
	{ { "g1=/x,rings=-1" }, { NULL }, false, "rings=N is" },
	{ { "g1=/x,rings=1x" }, { NULL }, false, "rings=N is" },
	{ { "g1=/x", "g2=/y" }, { NULL }, false, NULL },
	{ { "g1=/x", "g1=/y" }, { NULL }, false, "g1: two machines have this name" },
	{ { "g1=/x", "/y/xvtrace-g1" }, { NULL }, false, "g1: two machines have this name" },
	{ { "g 1=/x", "g_1=/y" }, { NULL }, false, "g_1: two machines have this name" },
	{ { "g1=/x" }, { "g1" }, false, "g1: two machines have this name" },
	{ { NULL }, { "g1", "g1,rings=4" }, false, "g1: two machines have this name" },
	{ { NULL }, { "g1", "g*" }, false, NULL },
	{ { NULL }, { "g1,rings=0" }, false, "g1,rings=0: rings=N is" },
	/* Of machines that come later, the second one gets a warning. */
	{ { "g1=/x", "g1=/y" }, { "g1" }, true, NULL },
	{ { "g1" }, { NULL }, true, "a region is given" },
};

START_TEST(words_of_machines)
{
	const char *words;
	int err;

	forget_machines();
	machines.follow = cases[_i].follow;
	for (size_t i = 0; i < 2; i++) {
		if (cases[_i].regions[i])
			add(&machines.regions, cases[_i].regions[i]);
		if (cases[_i].domains[i])
			add(&machines.domains, cases[_i].domains[i]);
	}
	err = xvt_machines_check(&machines);
	words = said();
	ck_assert_msg(err == (cases[_i].words ? -EINVAL : 0), "%d: %s", err, words);
	ck_assert_msg(cases[_i].words ? strstr(words, cases[_i].words) != NULL : !*words, "%s",
		      words);
}
END_TEST

static char files[512];

static void on_file(void *arg, const struct xvt_candidate *c)
{
	const size_t len = strlen(files);

	(void)arg;
	snprintf(files + len, sizeof(files) - len, "%s %u %s;", c->name, c->rings,
		 c->named ? "named" : "found");
}

START_TEST(files_of_a_pattern_have_its_rings)
{
	char pattern[4096];
	const char *const names[] = { "xvtrace-a", "xvtrace-b" };

	forget_machines();
	files[0] = '\0';
	for (size_t i = 0; i < 2; i++)
		fclose(fopen(scratch_path(names[i]), "w"));
	snprintf(pattern, sizeof(pattern), "%s/xvtrace-?,rings=7", scratch());
	add(&machines.regions, pattern);
	add(&machines.regions, "g=/none,rings=3");
	add(&machines.regions, "wrong");
	xvt_machines_each_file(&machines, on_file, NULL);
	ck_assert_str_eq(files, "a 7 found;b 7 found;g 3 named;");
	for (size_t i = 0; i < 2; i++)
		unlink(scratch_path(names[i]));
}
END_TEST

static void on_region(void *arg, const char *path, bool pattern)
{
	const size_t len = strlen(files);

	(void)arg;
	snprintf(files + len, sizeof(files) - len, "%s%s;", path, pattern ? " pattern" : "");
}

START_TEST(paths_of_regions)
{
	forget_machines();
	files[0] = '\0';
	add(&machines.regions, "g=/x,rings=3");
	add(&machines.regions, "/y/*");
	add(&machines.regions, "g2=/z*");
	xvt_machines_each_region(&machines, on_region, NULL);
	ck_assert_str_eq(files, "/x;/y/* pattern;/z*;");
}
END_TEST

START_TEST(domains_are_selected)
{
	struct xvt_domain domain = { .name = "web-1", .region = "/dev/shm/xvtrace-web-1" };
	struct xvt_candidate c;

	forget_machines();
	ck_assert(!xvt_machines_selects(&machines, &domain, &c));
	machines.all = true;
	ck_assert(xvt_machines_selects(&machines, &domain, &c) && !c.asked && !c.named);
	machines.all = false;
	add(&machines.domains, "db-*");
	ck_assert(!xvt_machines_selects(&machines, &domain, &c));
	add(&machines.domains, "web-*,rings=9");
	ck_assert(xvt_machines_selects(&machines, &domain, &c) && c.asked && !c.named);
	ck_assert_uint_eq(c.rings, 9);
	machines.domains.v[1] = "web-1";
	ck_assert(xvt_machines_selects(&machines, &domain, &c) && c.named);
	ck_assert_uint_eq(c.rings, 0);
	ck_assert_str_eq(c.name, "web-1");
	/* Without a region there is nothing to record. */
	domain.region[0] = '\0';
	ck_assert(!xvt_machines_selects(&machines, &domain, &c));
}
END_TEST

START_TEST(lines_ask_guests_for_events)
{
	static struct xvt_opt_list events;
	char text[64];

	memset(&events, 0, sizeof(events));
	ck_assert_int_eq(xvt_event_lines(&events, "event", text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
	add(&events, "sched:sched_switch");
	add(&events, "irq");
	add(&events, "net:*");
	ck_assert_int_eq(xvt_event_lines(&events, "event", text, sizeof(text)), 0);
	ck_assert_str_eq(text, "+sched:sched_switch\n+irq:*\n+net:*\n");
	/* One byte for the end. */
	ck_assert_int_eq(xvt_event_lines(&events, "event", text, strlen(text) + 1), 0);
	ck_assert_int_eq(xvt_event_lines(&events, "event", text, strlen(text)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(said(), "--event: too many events for one request"));
}
END_TEST

static const char *const no_events[] = { "", ":", "sched:", ":sched_switch", "a:b\nc:d" };

START_TEST(other_words_are_no_events)
{
	static struct xvt_opt_list events;
	char text[64];

	events.n = 0;
	add(&events, no_events[_i]);
	ck_assert_int_eq(xvt_event_lines(&events, "event", text, sizeof(text)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(said(), "an event is given as SYSTEM:EVENT"));
}
END_TEST

START_TEST(events_of_the_host)
{
	static struct xvt_host_event_options o;

	memset(&o, 0, sizeof(o));
	o.buffer_bytes = XVT_HOST_BUFFER_USUAL;
	ck_assert(xvt_host_events_ok(&o));
	o.all_threads = true;
	ck_assert(!xvt_host_events_ok(&o));
	ck_assert_ptr_nonnull(strstr(said(), "--host-all: no event of the host is given"));
	add(&o.presets, "sched");
	ck_assert(xvt_host_events_ok(&o));
	add(&o.presets, "all");
	ck_assert(!xvt_host_events_ok(&o));
	ck_assert_ptr_nonnull(strstr(said(), "all: --host is one of sched|vcpu|"));
	o = (struct xvt_host_event_options){ .buffer_bytes = 2 * XVT_HOST_BUFFER_USUAL };
	ck_assert(!xvt_host_events_ok(&o));
	ck_assert_ptr_nonnull(strstr(said(), "--host-buffer: no event of the host is given"));
	add(&o.events, "irq");
	ck_assert(xvt_host_events_ok(&o));
	add(&o.events, "irq:");
	ck_assert(!xvt_host_events_ok(&o));
	ck_assert_ptr_nonnull(strstr(said(), "irq:: an event is given as"));
}
END_TEST

START_TEST(paths_that_are_traces)
{
	ck_assert(xvt_is_trace_path("t.xvt"));
	ck_assert(xvt_is_trace_path("/none/t.xvt"));
	ck_assert(!xvt_is_trace_path("t.txt"));
	ck_assert(!xvt_is_trace_path("@600"));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *record_words_suite(void)
{
	Suite *s = suite_create("record_words");
	TCase *t = tcase_create("words");

	tcase_add_checked_fixture(t, said_setup, NULL);
	tcase_add_loop_test(t, words_of_machines, 0, COUNT(cases));
	tcase_add_test(t, files_of_a_pattern_have_its_rings);
	tcase_add_test(t, paths_of_regions);
	tcase_add_test(t, domains_are_selected);
	tcase_add_test(t, lines_ask_guests_for_events);
	tcase_add_loop_test(t, other_words_are_no_events, 0, COUNT(no_events));
	tcase_add_test(t, events_of_the_host);
	tcase_add_test(t, paths_that_are_traces);
	suite_add_tcase(s, t);
	return s;
}
