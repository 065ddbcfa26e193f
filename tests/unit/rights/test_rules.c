// SPDX-License-Identifier: GPL-2.0
/* test_rules.c - which paths rules name, and that nothing leads out of their folders. */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rights/rules.h"

static struct xvt_rules rules;
static struct xvt_place place;
static char top[] = "/tmp/xvt-rules-XXXXXX";
static char path[PATH_MAX];

static const char *in_top(const char *rest)
{
	snprintf(path, sizeof(path), "%s/%s", top, rest);
	return path;
}

static void make_file(const char *rest, mode_t mode)
{
	int fd = open(in_top(rest), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void setup(void)
{
	rules = (struct xvt_rules){ 0 };
	strcpy(top + sizeof(top) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chmod(top, 0755), 0);
	ck_assert_int_eq(mkdir(in_top("out"), 0755), 0);
	ck_assert_int_eq(mkdir(in_top("closed"), 0700), 0);
	make_file("secret", 0640);
	make_file("public", 0644);
	make_file("closed/public", 0644);
}

static void teardown(void)
{
	char command[64];

	xvt_rules_free(&rules);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	ck_assert_int_eq(system(command), 0);
}

static void allow(enum xvt_rule_kind kind, unsigned int rights, const char *what)
{
	ck_assert_int_eq(xvt_rules_add(&rules, kind, rights, what), 0);
}

static bool found(const char *what, unsigned int rights)
{
	return xvt_rules_find(&rules, what, rights, &place);
}

START_TEST(paths_are_joined)
{
	static const char *const cases[][3] = {
		{ "/a/b", "c", "/a/b/c" },  { "/a", "/b//c/", "/b/c" }, { "/", "./a/./b", "/a/b" },
		{ "/a", ".", "/a" },	    { "/", ".", "/" },		{ "/a", "../b", "/a/../b" },
		{ "/a/", "...", "/a/..." },
	};
	char out[PATH_MAX], longest[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(xvt_path_join(cases[i][0], cases[i][1], out), 0);
		ck_assert_str_eq(out, cases[i][2]);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ck_assert_int_eq(xvt_path_join("/", longest, out), -ENAMETOOLONG);
	longest[sizeof(longest) - 2] = '\0';
	ck_assert_int_eq(xvt_path_join("/", longest, out), 0);
}
END_TEST

START_TEST(a_rule_gives_its_rights_and_no_others)
{
	allow(XVT_RULE_FILE, XVT_MAY_READ | XVT_MAY_WRITE, "/a/file");
	allow(XVT_RULE_TREE, XVT_MAY_READ, "/tree/");
	allow(XVT_RULE_PATTERN, XVT_MAY_READ, "/proc/[0-9]*/maps");
	allow(XVT_RULE_PATTERN_TREE, XVT_MAY_CHANGE, "/trace/instances/x-*");
	allow(XVT_RULE_FILE, XVT_MAY_CONNECT, "@name");
	ck_assert(found("/a/file", XVT_MAY_READ));
	ck_assert(found("/a/file", XVT_MAY_READ | XVT_MAY_WRITE));
	ck_assert(!found("/a/file", XVT_MAY_REMOVE));
	ck_assert(!found("/a/file/b", XVT_MAY_READ));
	ck_assert(!found("/a/files", XVT_MAY_READ));
	ck_assert(!found("/a", XVT_MAY_READ));
	ck_assert(found("/tree", XVT_MAY_READ));
	ck_assert(found("/tree/b/c", XVT_MAY_READ));
	ck_assert_str_eq(place.folder, "/tree");
	ck_assert_str_eq(place.rest, "b/c");
	ck_assert(!found("/tree/b", XVT_MAY_WRITE));
	ck_assert(!found("/trees", XVT_MAY_READ));
	ck_assert(found("/proc/12/maps", XVT_MAY_READ));
	ck_assert_str_eq(place.folder, "/proc");
	ck_assert(!found("/proc/12/mem", XVT_MAY_READ));
	ck_assert(!found("/proc/12/fd/maps", XVT_MAY_READ));
	ck_assert(found("/trace/instances/x-1/events/enable", XVT_MAY_WRITE));
	ck_assert(found("/trace/instances/x-1", XVT_MAY_MAKE));
	ck_assert(!found("/trace/instances", XVT_MAY_READ));
	ck_assert(!found("/trace/instances/y/x-1", XVT_MAY_READ));
	ck_assert(found("@name", XVT_MAY_CONNECT));
	ck_assert(!found("@name2", XVT_MAY_CONNECT));
}
END_TEST

START_TEST(nothing_leads_out_of_a_folder)
{
	const char *leaf;

	allow(XVT_RULE_TREE, XVT_MAY_CHANGE, in_top("out"));
	ck_assert_int_eq(symlink("../secret", in_top("out/link")), 0);
	ck_assert_int_eq(symlink("/tmp", in_top("out/abs")), 0);
	ck_assert(found(in_top("out/link"), XVT_MAY_READ));
	ck_assert_int_eq(xvt_place_open(&place, O_RDONLY, 0), -EXDEV);
	ck_assert(!found(in_top("out/../secret"), XVT_MAY_READ));
	ck_assert(!found(in_top("out/a/.."), 0));
	ck_assert(found(in_top("out/..a"), XVT_MAY_READ));
	ck_assert(found(in_top("out/abs/x"), XVT_MAY_MAKE));
	ck_assert_int_eq(xvt_place_parent(&place, &leaf), -EXDEV);
	ck_assert(!found(in_top("out/../secret"), XVT_MAY_REMOVE));
	ck_assert(!found(in_top("out/.."), XVT_MAY_REMOVE));
	ck_assert(found(in_top("out"), XVT_MAY_REMOVE));
	ck_assert_int_eq(xvt_place_parent(&place, &leaf), -EINVAL);
}
END_TEST

START_TEST(nothing_leads_out_of_a_pattern)
{
	allow(XVT_RULE_PATTERN_TREE, XVT_MAY_CHANGE, in_top("out/x-*"));
	ck_assert_int_eq(mkdir(in_top("out/x-1"), 0755), 0);
	ck_assert_int_eq(mkdir(in_top("out/victim"), 0755), 0);
	make_file("out/victim/on", 0600);
	ck_assert(!found(in_top("out/x-1/../victim/on"), XVT_MAY_WRITE));
	ck_assert(!found(in_top("out/x-1/../victim"), XVT_MAY_REMOVE));
	ck_assert_int_eq(symlink("victim", in_top("out/x-2")), 0);
	ck_assert(found(in_top("out/x-2/on"), XVT_MAY_WRITE));
	ck_assert_int_eq(xvt_place_open(&place, O_WRONLY, 0), -ELOOP);
	/* The user's own path may go up. */
	allow(XVT_RULE_PATTERN, XVT_MAY_READ, in_top("out/../out/victim/o*"));
	ck_assert(found(in_top("out/../out/victim/on"), XVT_MAY_READ));
	ck_assert_int_ge(xvt_place_open(&place, O_RDONLY | O_CLOEXEC, 0), 0);
}
END_TEST

/* A file that its owner replaces, or the folder that it is in. */
START_TEST(a_link_that_comes_later_is_not_followed)
{
	make_file("out/region", 0600);
	make_file("closed/region", 0600);
	ck_assert_int_eq(symlink("out/region", in_top("name")), 0);
	allow(XVT_RULE_FILE, XVT_MAY_READ | XVT_MAY_WRITE, in_top("out/region"));
	allow(XVT_RULE_FILE, XVT_MAY_READ, in_top("name"));
	ck_assert(found(in_top("name"), XVT_MAY_READ));
	ck_assert_int_ge(xvt_place_open(&place, O_RDONLY | O_CLOEXEC, 0), 0);
	ck_assert_int_eq(unlink(in_top("name")), 0);
	ck_assert_int_eq(symlink("secret", in_top("name")), 0);
	ck_assert_str_eq(place.rest, "region");
	ck_assert_int_eq(unlink(in_top("out/region")), 0);
	ck_assert_int_eq(symlink("../secret", in_top("out/region")), 0);
	ck_assert(found(in_top("out/region"), XVT_MAY_WRITE));
	ck_assert_int_eq(xvt_place_open(&place, O_RDWR, 0), -ELOOP);
	ck_assert_int_eq(unlink(in_top("out/region")), 0);
	ck_assert_int_eq(rmdir(in_top("out")), 0);
	ck_assert_int_eq(symlink("closed", in_top("out")), 0);
	ck_assert(found(in_top("out/region"), XVT_MAY_WRITE));
	ck_assert_int_eq(xvt_place_open(&place, O_RDWR, 0), -ELOOP);
}
END_TEST

START_TEST(what_is_there_is_no_secret_only_where_all_may_look)
{
	allow(XVT_RULE_TREE, XVT_MAY_CHANGE, in_top("closed/a/b"));
	ck_assert(xvt_rules_pass(&rules, in_top("closed/a")));
	ck_assert(xvt_rules_pass(&rules, in_top("closed")));
	ck_assert(!xvt_rules_pass(&rules, in_top("closed/a/b")));
	ck_assert(!xvt_rules_pass(&rules, in_top("clo")));
	ck_assert(xvt_public_place(in_top("secret")));
	ck_assert(xvt_public_place(in_top("none")));
	ck_assert(xvt_public_place(in_top("none/none")));
	ck_assert(!xvt_public_place(in_top("closed/public")));
	ck_assert(!xvt_public_place(in_top("closed/none")));
	ck_assert(!xvt_public_place(in_top("closed/none/none")));
	ck_assert_int_eq(symlink("closed", in_top("open")), 0);
	ck_assert(!xvt_public_place(in_top("open/none")));
	ck_assert_int_eq(xvt_public_open(in_top("closed/none"), O_RDONLY), XVT_NOT_PUBLIC);
}
END_TEST

START_TEST(a_file_is_opened_as_asked)
{
	struct stat st;
	int fd;

	allow(XVT_RULE_TREE, XVT_MAY_CHANGE, in_top("out"));
	umask(022);
	ck_assert(found(in_top("out/new"), XVT_MAY_MAKE));
	fd = xvt_place_open(&place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY);
	close(fd);
	ck_assert_int_eq(xvt_place_open(&place, O_WRONLY | O_CREAT | O_EXCL, 0666), -EEXIST);
	ck_assert(found(in_top("out/suid"), XVT_MAY_MAKE));
	fd = xvt_place_open(&place, O_WRONLY | O_CREAT, 06755);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
	close(fd);
	ck_assert_int_eq(mkfifo(in_top("out/fifo"), 0600), 0);
	ck_assert(found(in_top("out/fifo"), XVT_MAY_READ));
	fd = xvt_place_open(&place, O_RDONLY, 0); /* has no writer */
	ck_assert_int_ge(fd, 0);
	close(fd);
}
END_TEST

START_TEST(what_every_user_may_read)
{
	int fd = xvt_public_open(in_top("public"), O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(xvt_public_open(in_top("secret"), O_RDONLY), XVT_NOT_PUBLIC);
	ck_assert_int_eq(xvt_public_open(in_top("closed/public"), O_RDONLY), XVT_NOT_PUBLIC);
	ck_assert_int_eq(symlink("closed/public", in_top("link")), 0);
	ck_assert_int_eq(xvt_public_open(in_top("link"), O_RDONLY), XVT_NOT_PUBLIC);
	ck_assert_int_eq(xvt_public_open(in_top("none"), O_RDONLY), -ENOENT);
	ck_assert_int_eq(mkfifo(in_top("fifo"), 0644), 0);
	ck_assert_int_eq(chmod(in_top("fifo"), 0644), 0);
	ck_assert_int_eq(xvt_public_open(in_top("fifo"), O_RDONLY), XVT_NOT_PUBLIC);
	ck_assert_int_eq(xvt_public_open("/dev/zero", O_RDONLY), XVT_NOT_PUBLIC);
	ck_assert_int_eq(xvt_public_open("/proc/self/status", O_RDONLY), XVT_NOT_PUBLIC);
	ck_assert_int_lt(xvt_public_open("/proc/self/root/etc/passwd", O_RDONLY), 0);
	fd = xvt_public_open("/proc/sys/kernel/ostype", O_RDONLY);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fd = xvt_public_open("/etc", O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	close(fd);
}
END_TEST

Suite *rules_suite(void)
{
	Suite *s = suite_create("rules");
	TCase *t = tcase_create("paths");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, paths_are_joined);
	tcase_add_test(t, a_rule_gives_its_rights_and_no_others);
	tcase_add_test(t, nothing_leads_out_of_a_folder);
	tcase_add_test(t, nothing_leads_out_of_a_pattern);
	tcase_add_test(t, a_link_that_comes_later_is_not_followed);
	tcase_add_test(t, what_is_there_is_no_secret_only_where_all_may_look);
	tcase_add_test(t, a_file_is_opened_as_asked);
	tcase_add_test(t, what_every_user_may_read);
	suite_add_tcase(s, t);
	return s;
}
