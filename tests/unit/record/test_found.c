// SPDX-License-Identifier: GPL-2.0
/*
 * test_found.c - machines that a pattern, a folder or a domain has: which are added to a recording,
 * which are left out, and why; and those that come later.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "record/find.h"
#include "record/follow.h"
#include "record/machines.h"
#include "record/regions.h"
#include "said.h"
#include "set_recording.h"

static struct set_recording r;
static struct xvt_session *s;
static struct xvt_machine_options opt;
static struct region_file other;
static char folder[256];
static struct xvt_error why;

static void setup(void)
{
	said_setup();
	set_recording_begin(&r, "found", true);
	s = r.rec.session;
	memset(&opt, 0, sizeof(opt));
	/* The folder of regions. */
	snprintf(folder, sizeof(folder), "%s", scratch_path("shm"));
	mkdir(folder, 0700);
	setenv("XVTRACE_SHM_DIR", folder, 1);
	region_file_make(&other, "shm/xvtrace-web");
	region_file_format(&other, 2);
}

static void teardown(void)
{
	set_recording_end(&r);
	region_file_end(&other);
	rmdir(folder);
	unsetenv("XVTRACE_SHM_DIR");
}

static int add(const char *name, const char *path, bool asked)
{
	struct xvt_candidate c = { .path = path, .asked = asked };

	snprintf(c.name, sizeof(c.name), "%s", name);
	return xvt_machine_add_found(s, opt.keeper, &c, &why);
}

/* ------------------------------------------------------------------ one machine */

START_TEST(a_region_is_added_once)
{
	ck_assert_int_eq(add("web", other.path, true), 0);
	ck_assert_ptr_nonnull(xvt_session_find(s, "web"));
	ck_assert_int_eq(add("web", other.path, true), 1);
	/* Under another name it is the same one, and so by another path. */
	ck_assert_int_eq(add("db", other.path, true), 1);
	ck_assert_int_eq(add("g1", r.region.path, true), 1);
	ck_assert_uint_eq(xvt_session_machines(s), 2);
}
END_TEST

START_TEST(two_of_a_name_are_one_too_many)
{
	ck_assert_int_eq(add("g1", other.path, true), -EEXIST);
	ck_assert_str_eq(why.text,
			 "another machine is called g1, too; name this one by -r NAME=REGION");
}
END_TEST

static const char *const no_names[] = { "a=b", "a\nb", "\033[2J", "a\177" };

START_TEST(a_name_is_a_word_of_a_command)
{
	ck_assert_int_eq(add(no_names[_i], other.path, true), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "its name is no name of a machine"));
}
END_TEST

START_TEST(a_name_that_is_shown_otherwise_is_told)
{
	ck_assert_int_eq(add("my vm", other.path, true), 0);
	said_has("machine 'my vm' is called my_vm in the trace; --vm takes both");
}
END_TEST

static int keeps(void *arg, const char *name, const char *path, const uint8_t *uuid, uint32_t rings,
		 struct xvt_error *because)
{
	ck_assert_ptr_eq(arg, &opt);
	ck_assert_str_eq(path, other.path);
	ck_assert_ptr_null(uuid);
	ck_assert_uint_eq(rings, XVT_RINGS_USUAL);
	xvt_fail(because, 0, "no room");
	return !strcmp(name, "kept") ? 1 : !strcmp(name, "full") ? -ENOSPC : 0;
}

START_TEST(a_keeper_has_the_first_word)
{
	const struct xvt_keeper keeper = { .arg = &opt, .takes = keeps };

	opt.keeper = &keeper;
	ck_assert_int_eq(add("kept", other.path, true), 1);
	ck_assert_ptr_null(xvt_session_find(s, "kept"));
	ck_assert_int_eq(add("full", other.path, true), -ENOSPC);
	ck_assert_str_eq(why.text, "no room");
	ck_assert_int_eq(add("web", other.path, true), 0);
}
END_TEST

START_TEST(descriptors_are_kept_for_machines_that_are_named)
{
	struct xvt_candidate c = { .name = "web", .path = other.path, .asked = true };
	const int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	struct rlimit before, few;

	close(next);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)next + 2;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(xvt_machine_add_found(s, NULL, &c, &why), -EMFILE);
	ck_assert_ptr_nonnull(strstr(why.text, "too few descriptors are left"));
	c.named = true;
	few.rlim_cur = (rlim_t)next + 8;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(xvt_machine_add_found(s, NULL, &c, &why), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}
END_TEST

/* ------------------------------------------------------------------ those of a command line */

static void region_arg(const char *text)
{
	opt.regions.v[opt.regions.n++] = text;
}

START_TEST(patterns_add_what_they_can)
{
	char pattern[300];

	snprintf(pattern, sizeof(pattern), "%s/xvtrace-*", folder);
	region_arg(pattern);
	fclose(fopen(scratch_path("shm/xvtrace-empty"), "w"));
	ck_assert_int_eq(xvt_machines_add(s, &opt), 0);
	said_has("xvtrace-empty: warning: left out: ");
	ck_assert_ptr_nonnull(xvt_session_find(s, "web"));
	/* A machine that a pattern found may give no event. */
	ck_assert(!xvt_session_vm_is_expected(xvt_session_find(s, "web")));
	unlink(scratch_path("shm/xvtrace-empty"));
	snprintf(pattern, sizeof(pattern), "%s/none-*", folder);
	ck_assert_int_eq(xvt_machines_add(s, &opt), 1);
	said_has("no file matches this pattern");
}
END_TEST

START_TEST(a_pattern_of_nothing_good_is_an_error)
{
	char pattern[300];

	snprintf(pattern, sizeof(pattern), "%s/xvtrace-e*", folder);
	region_arg(pattern);
	fclose(fopen(scratch_path("shm/xvtrace-empty"), "w"));
	ck_assert_int_eq(xvt_machines_add(s, &opt), 1);
	said_has("none of the files that match can be recorded");
	unlink(scratch_path("shm/xvtrace-empty"));
}
END_TEST

START_TEST(named_machines_are_expected)
{
	char arg[2][300];

	snprintf(arg[0], sizeof(arg[0]), "web=%s,rings=1", other.path);
	region_arg(arg[0]);
	opt.trusted = (struct xvt_opt_list){ .v = { "web" }, .n = 1 };
	ck_assert_int_eq(xvt_machines_add(s, &opt), 0);
	ck_assert(xvt_session_vm_is_expected(xvt_session_find(s, "web")));
	ck_assert_uint_eq(xvt_session_vm_rings_most(xvt_session_find(s, "web")), 1);
	opt.regions.n = 0;
	opt.trusted.v[0] = "db";
	ck_assert_int_eq(xvt_machines_add(s, &opt), 2);
	said_has("--trust-guest-clock belongs to a machine of -r or -d");
	opt.trusted.n = 0;
	/* The session has machines of both names. */
	region_arg("g1=/none");
	ck_assert_int_eq(xvt_machines_add(s, &opt), 2);
	said_has("g1: two machines have this name");
	snprintf(arg[1], sizeof(arg[1]), "x=%s/none", folder);
	opt.regions.v[0] = arg[1];
	ck_assert_int_eq(xvt_machines_add(s, &opt), 1);
	said_has("QEMU makes it when it starts");
}
END_TEST

START_TEST(machines_that_come_later_are_checked_only)
{
	opt.follow = true;
	region_arg("g1=/none");
	ck_assert_int_eq(xvt_machines_add(s, &opt), 0);
	region_arg("wrong");
	ck_assert_int_eq(xvt_machines_add(s, &opt), 2);
	said_has("a region is given as NAME=PATH");
}
END_TEST

/* ------------------------------------------------------------------ files */

static char paths[512];

static void on_path(void *arg, const char *path)
{
	(void)arg;
	snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths), "%s;", strrchr(path, '/'));
}

START_TEST(links_and_folders_are_no_files)
{
	char pattern[300];

	ck_assert_int_eq(symlink(other.path, scratch_path("shm/xvtrace-link")), 0);
	ck_assert_int_eq(mkdir(scratch_path("shm/xvtrace-dir"), 0700), 0);
	fclose(fopen(scratch_path("shm/xvtrace-a"), "w"));
	paths[0] = '\0';
	ck_assert_int_eq(xvt_find_regions(on_path, NULL), 2);
	ck_assert_str_eq(paths, "/xvtrace-a;/xvtrace-web;");
	snprintf(pattern, sizeof(pattern), "%s/none*", folder);
	ck_assert_int_eq(xvt_find_files(pattern, on_path, NULL), 0);
	unlink(scratch_path("shm/xvtrace-link"));
	unlink(scratch_path("shm/xvtrace-a"));
	rmdir(scratch_path("shm/xvtrace-dir"));
}
END_TEST

START_TEST(a_file_names_its_machine)
{
	char name[XVT_NAME_LEN], path[300];

	xvt_region_machine("/dev/shm/xvtrace-g1", name);
	ck_assert_str_eq(name, "g1");
	xvt_region_machine("xvtrace-", name);
	ck_assert_str_eq(name, "xvtrace-");
	xvt_region_machine("/x/plain", name);
	ck_assert_str_eq(name, "plain");
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	xvt_region_machine(path, name);
	ck_assert_uint_eq(strlen(name), XVT_NAME_LEN - 1);
	snprintf(path, sizeof(path), "%s/../shm/xvtrace-web", folder);
	ck_assert(xvt_same_file(path, other.path));
	ck_assert(!xvt_same_file(r.region.path, other.path));
	ck_assert(xvt_same_file("/none", "/none") && !xvt_same_file("/none", "/none2"));
}
END_TEST

START_TEST(a_look_changes_nothing)
{
	struct xvt_region_look look;

	xvt_region_look(other.path, &look);
	ck_assert_int_eq(look.err, 0);
	ck_assert_uint_eq(look.rings, 2);
	ck_assert_uint_eq(look.size, REGION_FILE_SIZE);
	ck_assert_uint_eq(look.ring_bytes, (uint64_t)other.g.subbuf_count * other.g.subbuf_size);
	ck_assert(!look.refused_other);
	region_file_hdr(&other)->ring_count = 60000;
	xvt_region_look(other.path, &look);
	ck_assert_int_ne(look.err, 0);
	ck_assert_str_ne(look.why.text, "");
	ck_assert_uint_eq(look.rings + look.ring_bytes, 0);
	memset(other.map, 0, 4096);
	xvt_region_look(other.path, &look);
	ck_assert_int_eq(look.err, -EAGAIN);
	xvt_region_look("/none", &look);
	ck_assert_int_eq(look.err, -ENOENT);
	ck_assert_str_eq(xvt_region_kind_text(XVT_KIND_LINUX), "linux");
	ck_assert_str_eq(xvt_region_kind_text(99), "?");
	ck_assert_str_eq(xvt_clock_id_text(XVT_CLOCK_TSC), "tsc");
	ck_assert_str_eq(xvt_clock_id_text(99), "?");
	ck_assert_str_ne(xvt_region_hint(-EAGAIN), "");
	ck_assert_str_eq(xvt_region_hint(-EBADMSG), "");
}
END_TEST

/* ------------------------------------------------------------------ users */

static void on_machine(void *arg, const char *path, const char name[XVT_NAME_LEN])
{
	(void)arg;
	(void)path;
	snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths), "%s;", name);
}

static const char *scanned(void)
{
	paths[0] = '\0';
	ck_assert(xvt_regions_scan(UINT64_MAX));
	xvt_regions_each(on_machine, NULL);
	return paths;
}

START_TEST(files_of_trusted_users_are_machines)
{
	ck_assert_str_eq(scanned(), "web;");
	ck_assert(xvt_regions_trusts(0) && xvt_regions_trusts(geteuid()));
	ck_assert(!xvt_regions_trusts(65533));
	fclose(fopen(scratch_path("shm/other"), "w"));
	fclose(fopen(scratch_path("shm/xvtrace-a"), "w"));
	ck_assert_str_eq(scanned(), "a;web;");
	/* A scan in steps has its result at its end. */
	unlink(scratch_path("shm/xvtrace-a"));
	paths[0] = '\0';
	while (!xvt_regions_scan(0)) {
		paths[0] = '\0';
		xvt_regions_each(on_machine, NULL);
		ck_assert_str_eq(paths, "a;web;");
	}
	paths[0] = '\0';
	xvt_regions_each(on_machine, NULL);
	ck_assert_str_eq(paths, "web;");
	unlink(scratch_path("shm/other"));
}
END_TEST

static char *status(void)
{
	static char text[512];
	struct xvt_json *doc = xvt_json_new();
	size_t len;
	char *line;

	xvt_regions_status(doc);
	line = xvt_json_line(doc, &len);
	snprintf(text, sizeof(text), "%.*s", (int)len - 1, line);
	free(line);
	return text;
}

START_TEST(files_of_others_are_counted)
{
	if (geteuid())
		return; /* only root can make one */
	scanned();
	ck_assert_str_eq(status(), "{}");
	for (unsigned int i = 0; i < 2; i++) {
		const char *path = scratch_path(i ? "shm/xvtrace-b" : "shm/xvtrace-a");

		fclose(fopen(path, "w"));
		ck_assert_int_eq(chown(path, 65533, (gid_t)-1), 0);
	}
	ck_assert_str_eq(scanned(), "web;");
	ck_assert_str_eq(status(),
			 "{\"left_out_files\":2,\"left_out_of\":[{\"uid\":65533,\"files\":2}]}");
	/* A VMM of theirs is searched for first; then it is told, once. */
	xvt_regions_tell();
	ck_assert_str_eq(said(), "");
	while (xvt_regions_search(UINT64_MAX, SECOND_NS))
		;
	xvt_regions_tell();
	said_has("files of uid 65533 are left out, 2 so far");
	xvt_regions_tell();
	ck_assert_str_eq(said(), "");
	/* What a file was found to be is known until it is said to have changed. */
	ck_assert_int_eq(chown(scratch_path("shm/xvtrace-a"), 0, (gid_t)-1), 0);
	ck_assert_str_eq(scanned(), "web;");
	xvt_regions_changed("xvtrace-b");
	ck_assert_str_eq(scanned(), "web;");
	xvt_regions_changed("xvtrace-a");
	ck_assert_str_eq(scanned(), "a;web;");
	ck_assert_int_eq(chown(scratch_path("shm/xvtrace-b"), 0, (gid_t)-1), 0);
	xvt_regions_changed(NULL);
	ck_assert_str_eq(scanned(), "a;b;web;");
	ck_assert_str_eq(status(), "{}");
	unlink(scratch_path("shm/xvtrace-a"));
	unlink(scratch_path("shm/xvtrace-b"));
}
END_TEST

/* ------------------------------------------------------------------ machines that come later */

static unsigned int joins;

static void joined(void *arg, struct xvt_vm *vm)
{
	ck_assert_ptr_eq(arg, &joins);
	ck_assert_ptr_nonnull(vm);
	joins++;
}

static struct xvt_follow *begin_to_follow(void)
{
	struct xvt_follow *f;

	ck_assert_int_eq(xvt_follow_begin(&f, r.rec.loop, &r.rec.before_pass, s, &opt, false,
					  joined, &joins),
			 0);
	return f;
}

static void before_pass_at(uint64_t now_ns)
{
	xvt_timers_run(&r.rec.before_pass, now_ns);
}

static uint64_t sleep_ns_at(uint64_t now_ns)
{
	return xvt_timers_sleep_ns(&r.rec.before_pass, now_ns, UINT64_MAX);
}

/* A scan that took long is not followed by another at once: an hour later it is. */
#define HOUR_NS (3600 * SECOND_NS)

START_TEST(a_file_of_r_is_tried_each_second)
{
	uint64_t now_ns = xvt_session_now_ns(s);
	struct xvt_follow *f;
	char arg[320], path[300];

	joins = 0;
	opt.follow = true;
	snprintf(path, sizeof(path), "%s", scratch_path("late"));
	unlink(path);
	snprintf(arg, sizeof(arg), "late=%s", path);
	region_arg(arg);
	f = begin_to_follow();
	ck_assert_uint_eq(sleep_ns_at(now_ns), 0);
	before_pass_at(now_ns);
	/* A recorder that sleeps is not woken up for the next attempt. */
	ck_assert_uint_eq(sleep_ns_at(now_ns), UINT64_MAX);
	/* It is not there yet, which is no warning; nor is a file that QEMU has just made. */
	fclose(fopen(path, "w"));
	before_pass_at(now_ns += HOUR_NS);
	ck_assert_str_eq(said(), "");
	ck_assert_int_eq(truncate(path, REGION_FILE_SIZE), 0);
	before_pass_at(now_ns += SECOND_NS - 1);
	ck_assert_uint_eq(joins, 0);
	before_pass_at(now_ns += HOUR_NS);
	ck_assert_uint_eq(joins, 1);
	ck_assert_ptr_nonnull(xvt_session_find(s, "late"));
	before_pass_at(now_ns += HOUR_NS);
	ck_assert_uint_eq(joins, 1);
	ck_assert_str_eq(xvt_follow_libvirt(f), "");
	ck_assert_str_eq(xvt_follow_libvirt(NULL), "");
	xvt_follow_end(f);
	ck_assert_uint_eq(sleep_ns_at(now_ns), UINT64_MAX);
	unlink(path);
}
END_TEST

START_TEST(a_file_that_is_no_region_is_told_once)
{
	uint64_t now_ns = xvt_session_now_ns(s);
	struct xvt_follow *f;
	char arg[300];

	joins = 0;
	opt.follow = true;
	snprintf(arg, sizeof(arg), "web=%s", other.path);
	region_arg(arg);
	region_file_hdr(&other)->ring_count = 60000;
	f = begin_to_follow();
	before_pass_at(now_ns);
	said_has("xvtrace-web: warning: left out: ");
	before_pass_at(now_ns += HOUR_NS);
	ck_assert_str_eq(said(), "");
	/* A name that is taken is another reason. */
	region_file_format(&other, 2);
	snprintf(arg, sizeof(arg), "g1=%s", other.path);
	before_pass_at(now_ns += HOUR_NS);
	said_has("left out: another machine is called g1, too");
	before_pass_at(now_ns += HOUR_NS);
	ck_assert_str_eq(said(), "");
	snprintf(arg, sizeof(arg), "web=%s", other.path);
	before_pass_at(now_ns += HOUR_NS);
	ck_assert_uint_eq(joins, 1);
	xvt_follow_end(f);
}
END_TEST

Suite *found_suite(void)
{
	Suite *suite = suite_create("found");
	TCase *t = tcase_create("found");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_region_is_added_once);
	tcase_add_test(t, two_of_a_name_are_one_too_many);
	tcase_add_loop_test(t, a_name_is_a_word_of_a_command, 0,
			    sizeof(no_names) / sizeof(no_names[0]));
	tcase_add_test(t, a_name_that_is_shown_otherwise_is_told);
	tcase_add_test(t, a_keeper_has_the_first_word);
	tcase_add_test(t, descriptors_are_kept_for_machines_that_are_named);
	tcase_add_test(t, patterns_add_what_they_can);
	tcase_add_test(t, a_pattern_of_nothing_good_is_an_error);
	tcase_add_test(t, named_machines_are_expected);
	tcase_add_test(t, machines_that_come_later_are_checked_only);
	tcase_add_test(t, links_and_folders_are_no_files);
	tcase_add_test(t, a_file_names_its_machine);
	tcase_add_test(t, a_look_changes_nothing);
	tcase_add_test(t, files_of_trusted_users_are_machines);
	tcase_add_test(t, files_of_others_are_counted);
	tcase_add_test(t, a_file_of_r_is_tried_each_second);
	tcase_add_test(t, a_file_that_is_no_region_is_told_once);
	suite_add_tcase(suite, t);
	return suite;
}
