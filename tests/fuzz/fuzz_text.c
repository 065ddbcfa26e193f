// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_text.c - the small parsers of text: command lines, configurations, requests to a recorder,
 * times, marks of messages, filters, and the XML of a libvirt domain. The first byte says which.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "base/out.h"
#include "select/when.h"
#include "control/serve.h"
#include "lib/parts.h"
#include "recorder/recorder.h"
#include "view/exchange.h"

/* Its XML parser is private, so it is not in a header. */
#include "../../host/vmm/libvirt.c"

#define ARGS_MAX 64

static const struct xvt_command *const commands[] = {
	&xvt_cmd_record, &xvt_cmd_report,  &xvt_cmd_stat,   &xvt_cmd_verify,
	&xvt_cmd_export, &xvt_cmd_salvage, &xvt_cmd_region,
};

/* Words are lines. Parsed only: what a command then does is up to the other targets. */
static void options(const struct xvt_command *cmd, char *text)
{
	static char parsed[256u << 10] __attribute__((aligned(16)));
	char *argv[ARGS_MAX + 2] = { (char *)cmd->name };
	int argc = 1, first, rest;

	for (char *word = strtok(text, "\n"); word && argc <= ARGS_MAX; word = strtok(NULL, "\n"))
		argv[argc++] = word;
	for (const struct xvt_opt *o = cmd->opts; o->name; o++)
		if (o->offset + sizeof(struct xvt_opt_list) > sizeof(parsed))
			fuzz_finding("%s has more options than this target has room", cmd->name);
	memset(parsed, 0, sizeof(parsed));
	first = xvt_opt_parse(cmd, argc, argv, parsed, &rest);
	if (first > argc || (first >= 0 && (rest < first || rest > argc)))
		fuzz_finding("%s: arguments from %d to %d of %d", cmd->name, first, rest, argc);
	for (; first > 0 && first < argc; first++)
		if (strlen(argv[first]) > 1u << 20)
			fuzz_finding("an argument without end");
}

/* What a configuration sets must be printable again, whether it has errors or not. */
static void configuration(char *text)
{
	struct xvt_recorder_options opt = { 0 };
	struct xvt_opt_file file;

	if (xvt_opt_read_text(xvt_recorder_opts, "configuration", text, &opt, &file) <
	    XVT_OPT_WRONG)
		fuzz_finding("another error than of a wrong option");
	xvt_opt_print(xvt_recorder_opts, &opt);
	for (const struct xvt_opt *o = xvt_recorder_opts; o->name; o++)
		if (!xvt_opt_same(o, &opt, &opt))
			fuzz_finding("%s differs from itself", o->name);
	xvt_opt_file_free(&file);
}

static void request(const char *line)
{
	struct xvt_error why = { "" };

	if (xvt_request_parse(line, &why) == XVT_REQUEST_NONE && !why.text[0])
		fuzz_finding("a request that is none, without a word");
	if (strlen(why.text) >= sizeof(why.text))
		fuzz_finding("a reason without an end");
}

static void times(const char *text)
{
	uint64_t ns;
	bool dated;

	xvt_parse_seconds(text, &ns);
	if (!xvt_parse_span(text, &ns) && !strpbrk(text, "0123456789"))
		fuzz_finding("a span without a number");
	if (!xvt_parse_date(text, 1700000000000000000u, &ns, &dated) && !strchr(text, ':'))
		fuzz_finding("a time of day without a colon");
}

static void on_bad(void *arg, const struct xvt_exchange *x)
{
	(void)arg;
	if (x->recv_ns > x->send_ns)
		fuzz_finding("an exchange in order was called bad");
}

/* Each line a mark, from machines in turn. */
static void marks(char *text)
{
	struct xvt_exchanges e = { 0 };
	uint64_t ns = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), ns++)
		xvt_exchange_add(&e, line, strlen(line), ns % 3 & 1, ns ^ 2,
				 ns & 4 ? XVT_EXCHANGE_GUESS : ns & 3);
	xvt_exchanges_check(&e, on_bad, NULL);
	if (xvt_exchanges_pairs(&e) > e.count)
		fuzz_finding("more pairs than messages");
	for (size_t i = 0; i < e.way_count; i++)
		if (e.ways[i].count)
			xvt_transit_median_ns(&e.ways[i]);
	xvt_exchanges_fini(&e);
}

/* Whatever it was, what comes out is text: no control characters in what people see. */
static void untrusted_text(const char *text, size_t len)
{
	static struct xvt_out o;

	o.fd = -1;
	o.err = 0;
	o.used = 0;
	xvt_out_text(&o, text, len < 4096 ? len : 4096);
	for (size_t i = 0; i < o.used; i++)
		if ((unsigned char)o.buf[i] < 32 || o.buf[i] == 127)
			fuzz_finding("control character %d in text for people", o.buf[i]);
	xvt_out_quoted(&o, text, len < 4096 ? len : 4096);
}

static void domain(const char *text)
{
	char name[256];
	struct xvt_error why;

	if (load(&why)) {
		fprintf(stderr, "%s\n", why.text);
		exit(EXIT_FAILURE);
	}
	if (!shmem_name(text, name, sizeof(name)) && (!name[0] || strchr(name, '/')))
		fuzz_finding("a region's name that leads elsewhere: %s", name);
}

/* A filter; its first line is the text that each glob is compared with. */
static void filter(char *text)
{
	struct xvtrace_error error = { "" };
	char *rest = strchr(text, '\n');
	struct xvt_filter *f;
	int err;

	rest = rest ? rest + 1 : text;
	err = xvt_filter_new(&f, rest, &error);
	if (err && (f || !error.text[0]))
		fuzz_finding("a filter that is none, without a word");
	if (!err && xvt_filter_unmatched(f, 0, &error))
		fuzz_finding("a filter that has seen no event has no misses");
	xvt_filter_free(f);
	if (xvt_like(rest, (const uint8_t *)text, strcspn(text, "\n")) && strlen(rest) > 0 &&
	    strspn(rest, "abc") == strlen(rest) && strncmp(rest, text, strcspn(text, "\n")) != 0)
		fuzz_finding("letters are like others");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	fuzz_quiet();
	fuzz_memory_reset();
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (data[0] % 16 < 7)
		options(commands[data[0] % 16], text);
	else if (data[0] % 16 < 9)
		times(text);
	else if (data[0] % 16 < 11)
		marks(text);
	else if (data[0] % 16 < 13)
		untrusted_text(text, size - 1);
	else if (data[0] % 16 < 14)
		filter(text);
	else if (data[0] % 16 < 15)
		data[0] & 16 ? request(text) : configuration(text);
	else
		domain(text);
	free(text);
	return 0;
}

void fuzz_guest_turn(void)
{
}

void fuzz_guest_stored(uint64_t off)
{
	(void)off;
}
