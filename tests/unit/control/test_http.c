// SPDX-License-Identifier: GPL-2.0
/* test_http.c - where metrics may be served: at addresses of this host alone. */
#include "suites.h"

#include <arpa/inet.h>
#include <string.h>

#include "control/http.h"

static const struct {
	const char *text;
	int family;
	uint16_t port;
	const char *wrong; /* NULL: it is good */
} cases[] = {
	{ "9750", AF_INET, 9750, NULL },
	{ "0", AF_INET, 0, NULL },
	{ "65535", AF_INET, 65535, NULL },
	{ "127.0.0.1:9750", AF_INET, 9750, NULL },
	{ "127.9.9.9:1", AF_INET, 1, NULL },
	{ "[::1]:9750", AF_INET6, 9750, NULL },
	{ "65536", 0, 0, "not a port" },
	{ "000080", 0, 0, "not a port" },
	{ "", 0, 0, "not a port" },
	{ "-1", 0, 0, "not a port" },
	{ "80x", 0, 0, "not a port" },
	{ "here", 0, 0, "not a port" },
	{ "127.0.0.1:", 0, 0, "not a port" },
	{ "localhost:80", 0, 0, "an address is given as a number" },
	{ ":80", 0, 0, "an address is given as a number" },
	{ "[::1:80", 0, 0, "an address is given as a number" },
	{ "::1:80", 0, 0, "an address is given as a number" },
	{ "0.0.0.0:80", 0, 0, "not an address of this host alone" },
	{ "126.255.255.255:80", 0, 0, "not an address of this host alone" },
	{ "128.0.0.1:80", 0, 0, "not an address of this host alone" },
	{ "192.0.2.1:80", 0, 0, "not an address of this host alone" },
	{ "[::]:80", 0, 0, "not an address of this host alone" },
	{ "[::ffff:127.0.0.1]:80", 0, 0, "not an address of this host alone" },
};

START_TEST(addresses_of_this_host)
{
	union xvt_http_address address;
	const char *wrong = xvt_http_parse(cases[_i].text, &address);

	if (cases[_i].wrong) {
		ck_assert_msg(wrong && !strncmp(wrong, cases[_i].wrong, strlen(cases[_i].wrong)),
			      "%s: %s", cases[_i].text, wrong ? wrong : "good");
		return;
	}
	ck_assert_msg(!wrong, "%s: %s", cases[_i].text, wrong);
	ck_assert_int_eq(address.any.sa_family, cases[_i].family);
	ck_assert_uint_eq(
		ntohs(cases[_i].family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port),
		cases[_i].port);
}
END_TEST

Suite *http_suite(void)
{
	Suite *s = suite_create("http");
	TCase *t = tcase_create("addresses");

	tcase_add_loop_test(t, addresses_of_this_host, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, t);
	return s;
}
