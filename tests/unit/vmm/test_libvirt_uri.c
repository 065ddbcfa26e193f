// SPDX-License-Identifier: GPL-2.0
/* test_libvirt_uri.c - which URIs of libvirt need a network or a program. */
#define _GNU_SOURCE
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmm/libvirt_uri.h"

static const struct {
	const char *uri;
	enum xvt_libvirt_way way;
} uris[] = {
	{ "qemu:///system", XVT_LIBVIRT_BY_SOCKET },
	{ "qemu:///session?socket=/run/a+ssh://b", XVT_LIBVIRT_BY_SOCKET },
	{ "qemu+unix:///system?socket=/run/x", XVT_LIBVIRT_BY_SOCKET },
	{ "test:///default", XVT_LIBVIRT_BY_SOCKET },
	{ "qemu://host/system", XVT_LIBVIRT_BY_NETWORK },
	{ "qemu+tls://host/system", XVT_LIBVIRT_BY_NETWORK },
	{ "qemu+tcp://host:1/system", XVT_LIBVIRT_BY_NETWORK },
	{ "qemu+libssh2://host/system", XVT_LIBVIRT_BY_NETWORK },
	{ "qemu+ssh://host/system", XVT_LIBVIRT_BY_PROGRAM },
	{ "qemu+ext:///system?command=/bin/x", XVT_LIBVIRT_BY_PROGRAM },
};

START_TEST(a_uri_says_what_it_needs)
{
	setenv("LIBVIRT_DEFAULT_URI", "qemu+ext:///other", 1); /* not used where a URI is given */
	ck_assert_msg(xvt_libvirt_way(uris[_i].uri) == uris[_i].way, "%s", uris[_i].uri);
	setenv("LIBVIRT_DEFAULT_URI", uris[_i].uri, 1);
	ck_assert_msg(xvt_libvirt_way(NULL) == uris[_i].way, "%s", uris[_i].uri);
}
END_TEST

START_TEST(the_users_configuration_counts)
{
	char home[] = "/tmp/xvt-uri-XXXXXX", dir[64], path[96];
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(home));
	snprintf(dir, sizeof(dir), "%s/libvirt", home);
	snprintf(path, sizeof(path), "%s/libvirt.conf", dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs("# uri_default = \"qemu+tls://a/system\"\n  uri_default=\"qemu+ssh://b/system\"\n",
	      f);
	fclose(f);
	unsetenv("LIBVIRT_DEFAULT_URI");
	setenv("XDG_CONFIG_HOME", home, 1);
	ck_assert_int_eq(xvt_libvirt_way(NULL), XVT_LIBVIRT_BY_PROGRAM);
	ck_assert_int_eq(xvt_libvirt_way("qemu:///system"), XVT_LIBVIRT_BY_SOCKET);
	unlink(path);
	rmdir(dir);
	rmdir(home);
}
END_TEST

Suite *libvirt_uri_suite(void)
{
	Suite *s = suite_create("libvirt_uri");
	TCase *t = tcase_create("ways");

	tcase_add_loop_test(t, a_uri_says_what_it_needs, 0, sizeof(uris) / sizeof(uris[0]));
	tcase_add_test(t, the_users_configuration_counts);
	suite_add_tcase(s, t);
	return s;
}
