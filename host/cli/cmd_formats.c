// SPDX-License-Identifier: GPL-2.0
/* cmd_formats.c - `xvtrace formats`: the formats of kernels whose guests cannot send them. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "formats/apart.h"
#include "formats/boot.h"
#include "formats/cache.h"
#include "formats/import.h"
#include "rights/confine.h"

struct formats_opts {
	const char *kernel;
	uint64_t timeout_ns;
	const char *import;
	const char *remove;
	bool json;
	bool quiet;
};

static const struct xvt_opt formats_opts[] = {
	XVT_OPT(struct formats_opts, kernel, "kernel", 'k', XVT_OPT_STRING, "VMLINUZ",
		"boot this kernel once in QEMU, and store the formats that it says"),
	XVT_OPT(struct formats_opts, timeout_ns, "timeout", 0, XVT_OPT_TIME, "T",
		"end a kernel that takes longer", .usual = "5min"),
	XVT_OPT(struct formats_opts, import, "import", 0, XVT_OPT_STRING, "DIR|TAR",
		"store the formats of a kernel, of a copy of what it says"),
	XVT_OPT(struct formats_opts, remove, "remove", 0, XVT_OPT_STRING, "KERNEL",
		"forget a kernel, by its build id or its release"),
	XVT_OPT(struct formats_opts, json, "json", 0, XVT_OPT_BOOL, NULL, "the list as JSON"),
	XVT_OPT(struct formats_opts, quiet, "quiet", 'q', XVT_OPT_BOOL, NULL,
		"no line about what was stored"),
	XVT_OPT_END,
};

/* --- the list --- */

static int print_text(const struct xvt_formats_cache *c)
{
	if (!c->count)
		printf("no kernel is known in %s; xvtrace-formats(1) says how to add one\n",
		       c->folder);
	for (size_t i = 0; i < c->count; i++)
		printf("%s  %5u events  %-6s  %s\n", c->v[i].build_id, c->v[i].count,
		       c->v[i].origin, c->v[i].kernel);
	return XVT_EXIT_OK;
}

static int print_json(const struct xvt_formats_cache *c)
{
	struct xvt_json *doc = xvt_json_new(), *list;
	struct xvt_out out;
	int err, end_err;

	xvt_json_add_text(doc, "format", "xvtrace-formats/1");
	list = xvt_json_add_array(doc, "kernels");
	for (size_t i = 0; i < c->count; i++) {
		const struct xvt_formats *f = &c->v[i];
		struct xvt_json *one = xvt_json_add_object(list, NULL);

		xvt_json_add_text(one, "build_id", f->build_id);
		xvt_json_add_text(one, "release", f->release);
		xvt_json_add_text(one, "kernel", f->kernel);
		xvt_json_add_text(one, "origin", f->origin);
		xvt_json_add_u64(one, "events", f->count);
	}
	err = xvt_out_open(&out, "-");
	if (err) {
		xvt_error("formats", "%s", strerror(-err));
		return XVT_EXIT_FAIL;
	}
	err = xvt_json_write(doc, &out);
	end_err = xvt_out_close(&out);
	return err || end_err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

/* --- changes --- */

static int store(const struct xvt_formats *f, const struct xvt_import_result *result, bool quiet)
{
	struct xvt_error why;

	if (xvt_formats_cache_store(f, &why)) {
		xvt_error("formats", "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	if (result->unreadable)
		xvt_warn(f->release, "%u formats could not be read, and are left out",
			 result->unreadable);
	if (!quiet)
		fprintf(stderr,
			"xvtrace: %s: %u events of build %s stored; %u left out, which are "
			"modules' or probes'\n",
			f->release, f->count, f->build_id, result->left_out);
	return XVT_EXIT_OK;
}

/* What a guest says is read as a trace is. */
static void confine(void)
{
	xvt_confine(false);
}

static int import(struct xvt_formats *f, const void *path, struct xvt_import_result *result)
{
	return xvt_formats_import(f, path, result);
}

/* Of a copy of what a kernel says, or of the kernel itself. */
static int make(const struct formats_opts *opts)
{
	struct xvt_import_result result;
	struct xvt_formats f;
	const char *from = opts->kernel ? opts->kernel : opts->import;
	int err, status;

	if (opts->kernel)
		err = xvt_formats_boot(&f, opts->kernel, opts->timeout_ns, confine, &result);
	else
		err = xvt_formats_apart(&f, confine, import, opts->import, &result);
	if (err) {
		xvt_error(from, "%s", result.why.text);
		return XVT_EXIT_FAIL;
	}
	status = store(&f, &result, opts->quiet);
	xvt_formats_free(&f);
	return status;
}

static int remove_kernel(const struct xvt_formats_cache *c, const char *kernel)
{
	struct xvt_error why;
	const struct xvt_formats *f = xvt_formats_cache_find(c, kernel, &why);

	if (f && !xvt_formats_cache_remove(f, &why))
		return XVT_EXIT_OK;
	xvt_error("--remove", "%s", why.text);
	return XVT_EXIT_FAIL;
}

static int with_cache(const struct formats_opts *opts)
{
	struct xvt_formats_cache c;
	struct xvt_error why;
	int status;

	if (xvt_formats_cache_read(&c, &why)) {
		xvt_error("formats", "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	if (c.left_out[0])
		xvt_warn(c.folder, "left out: %s", c.left_out);
	if (opts->remove)
		status = remove_kernel(&c, opts->remove);
	else if (opts->json)
		status = print_json(&c);
	else
		status = print_text(&c);
	xvt_formats_cache_free(&c);
	return status;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct formats_opts opts;
	const int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL);

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (at < argc) {
		xvt_error(argv[at], "formats takes no argument but options");
		return XVT_EXIT_USAGE;
	}
	if (!!opts.import + !!opts.remove + !!opts.kernel > 1) {
		xvt_error("formats",
			  "--kernel, --import and --remove do not go together; give one of them");
		return XVT_EXIT_USAGE;
	}
	return opts.import || opts.kernel ? make(&opts) : with_cache(&opts);
}

const struct xvt_command xvt_cmd_formats = {
	.name = "formats",
	.args = "[--kernel VMLINUZ | --import DIR|TAR | --remove KERNEL]",
	.brief = "the events' formats of kernels whose guests cannot send them",
	.opts = formats_opts,
	.run = run,
};
