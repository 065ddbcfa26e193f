// SPDX-License-Identifier: GPL-2.0
/* fuzz.c - see fuzz.h. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "trace/cursor.h"
#include "trace/read.h"
#include "trace/raws.h"

void fuzz_finding(const char *format, ...)
{
	char line[512] = "fuzz: finding: ";
	size_t len = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - len - 1, format, args);
	va_end(args);
	strcat(line, "\n");
	if (write(2, line, strlen(line)) < 0)
		_exit(1);
	abort();
}

/* ------------------------------------------------------------------ input */

const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t want, size_t *len)
{
	const uint8_t *at = in->at;

	*len = want < in->left ? want : in->left;
	in->at += *len;
	in->left -= *len;
	return at;
}

static uint32_t number(struct fuzz_input *in, size_t bytes)
{
	uint32_t v = 0;
	size_t len;
	const uint8_t *p = fuzz_bytes(in, bytes, &len);

	if (len)
		memcpy(&v, p, len);
	return v;
}

uint8_t fuzz_u8(struct fuzz_input *in)
{
	return (uint8_t)number(in, 1);
}

uint16_t fuzz_u16(struct fuzz_input *in)
{
	return (uint16_t)number(in, 2);
}

uint32_t fuzz_u32(struct fuzz_input *in)
{
	return number(in, 4);
}

/* ------------------------------------------------------------------ files in memory */

void fuzz_file_new(struct fuzz_file *f, const char *name)
{
	f->fd = memfd_create(name, 0);
	if (f->fd < 0)
		fuzz_finding("memfd_create: %s", strerror(errno));
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
}

void fuzz_file_set(struct fuzz_file *f, const void *bytes, size_t len)
{
	if (ftruncate(f->fd, 0) || pwrite(f->fd, bytes, len, 0) != (ssize_t)len)
		fuzz_finding("file in memory: %s", strerror(errno));
}

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct fuzz_sink *s = (struct fuzz_sink *)sink;

	if (len > s->limit - s->len)
		return -ENOSPC;
	if (s->len + len > s->room) {
		s->room = 2 * (s->len + len);
		s->bytes = realloc(s->bytes, s->room);
		if (!s->bytes)
			fuzz_finding("out of memory");
	}
	memcpy(s->bytes + s->len, bytes, len);
	s->len += len;
	return 0;
}

void fuzz_sink_reset(struct fuzz_sink *s, size_t limit)
{
	s->sink.write = sink_write;
	s->len = 0;
	s->limit = limit;
}

/* ------------------------------------------------------------------ commands */

void fuzz_quiet(void)
{
	static bool done;
	int null;

	if (done)
		return;
	done = true;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	fflush(stdout);
	stderr = fopen("/dev/null", "w");
	if (null < 0 || dup2(null, 1) < 0 || !stderr)
		fuzz_finding("/dev/null: %s", strerror(errno));
	close(null);
}

#define WORDS_MAX 1024

int fuzz_command(const struct xvt_command *cmd, const char *const *argv)
{
	char *words[WORDS_MAX + 1];
	int argc = 0, status;

	for (; argv[argc] && argc < WORDS_MAX; argc++)
		words[argc] = (char *)argv[argc]; /* moved around, never written */
	words[argc] = NULL;
	status = cmd->run(cmd, argc, words);
	fflush(stdout);
	if (status < 0 || status > XVT_EXIT_USAGE)
		fuzz_finding("%s: exit status %d", cmd->name, status);
	return status;
}

static int make_dir(char *dir, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, size, "%s/xvt-fuzz-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -errno;
}

/* What an export left: directories of files, two levels. */
static void remove_tree(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[4096];

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (unlink(name))
			remove_tree(name);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

/* As CTF and as trace.dat. */
static void export_folders(const struct fuzz_file *f)
{
	static const char *const formats[] = { "ctf", "dat" };
	char dir[4000], out[4096];

	if (make_dir(dir, sizeof(dir)))
		return;
	for (size_t i = 0; i < 2; i++) {
		snprintf(out, sizeof(out), "%s/%s", dir, formats[i]);
		fuzz_command(&xvt_cmd_export,
			     (const char *const[]){ "export", "--format", formats[i], "--all",
						    f->path, out, NULL });
	}
	snprintf(out, sizeof(out), "%s/order.xvt", dir);
	fuzz_command(&xvt_cmd_order, (const char *const[]){ "order", "-o", out, f->path, NULL });
	remove_tree(dir);
}

/* Names of fields that the inputs have, of all kinds. */
static const char fuzz_filter[] =
	"!(a == 1 && b < 7) || comm ~ \"*[a-k]?*\" || c & 0x10 || one != x || prev_pid >= -1 || "
	"values == 3 || str ~ a* || common_pid > 1 && CPU != 9";

void fuzz_read_trace(const struct fuzz_file *f, unsigned int which)
{
	const char *p = f->path;

	fuzz_quiet();
	if (which & FUZZ_REPORT)
		fuzz_command(&xvt_cmd_report,
			     (const char *const[]){ "report", "--all", "-t", p, NULL });
	if (which & FUZZ_RAW)
		fuzz_command(&xvt_cmd_report, (const char *const[]){ "report", "--raw", "-s",
								     "--reclock", p, NULL });
	if (which & FUZZ_STAT)
		fuzz_command(&xvt_cmd_stat, (const char *const[]){ "stat", p, NULL });
	if (which & FUZZ_JSON)
		fuzz_command(&xvt_cmd_stat, (const char *const[]){ "stat", "--json", p, NULL });
	if (which & FUZZ_VERIFY)
		fuzz_command(&xvt_cmd_verify,
			     (const char *const[]){ "verify", "--notes", p, NULL });
	if (which & FUZZ_JSONL)
		fuzz_command(&xvt_cmd_export,
			     (const char *const[]){ "export", "--to", "jsonl", "--limit", "100000",
						    "--all", p, "-", NULL });
	if (which & FUZZ_JSONL)
		fuzz_command(&xvt_cmd_export,
			     (const char *const[]){ "export", "--format", "perfetto", "--limit",
						    "100000", "--all", p, "-", NULL });
	if (which & FUZZ_VIEW)
		fuzz_command(&xvt_cmd_report,
			     (const char *const[]){ "report", "--vm", "g1", "--event", "*s*",
						    "--from", "+0.000001", "--to", "+100",
						    "--limit", "7", p, NULL });
	if (which & FUZZ_VIEW)
		fuzz_command(&xvt_cmd_report,
			     (const char *const[]){ "report", "--bound", "--cpu", "0-2", "--filter",
						    fuzz_filter, p, NULL });
	if (which & FUZZ_CTF)
		export_folders(f);
}

/* For people: XVT_FUZZ_TRACE=FILE keeps the trace of the last run. */
static void keep(const struct fuzz_file *f)
{
	const char *path = getenv("XVT_FUZZ_TRACE");
	int to = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	off_t at = 0;

	if (to < 0)
		return;
	while (sendfile(to, f->fd, &at, 1u << 20) > 0)
		;
	close(to);
}

/* All lanes together are in order. */
static void check_cursor(struct xvt_trace *t)
{
	struct xvt_cursor c;
	struct xvt_event ev;
	uint64_t last_ns = 0;
	int got = xvt_cursor_init(&c, t, 0, UINT64_MAX);

	while (!got && (got = xvt_cursor_next(&c, &ev)) > 0) {
		if (ev.hdr->host_ns < last_ns)
			fuzz_finding("a reader gives our own trace out of order");
		last_ns = ev.hdr->host_ns;
		got = 0;
	}
	if (got < 0)
		fuzz_finding("a reader cannot read our own trace");
	xvt_cursor_fini(&c);
}

void fuzz_check_trace(const struct fuzz_file *f, bool must_end)
{
	static struct xvt_trace_raws raws;
	struct xvt_events_iter it = { 0 };
	struct xvt_chunk_buf b = { 0 };
	struct xvt_trace *t;
	uint64_t last_ns = 0;
	struct xvt_error why;

	keep(f);
	if (xvt_trace_open(&t, f->path, &why))
		fuzz_finding("the trace that we wrote cannot be opened: %s", why.text);
	if (must_end && !t->ended)
		fuzz_finding("the trace that we wrote has no end");
	xvt_trace_raws_init(&raws, t);
	for (size_t i = 0; i < t->chunk_count; i++) {
		struct xvt_event ev;
		int got = 0;

		if (xvt_trace_load(t, i, &b))
			fuzz_finding("chunk %zu of our own trace does not pass its checks", i);
		if (!xvt_chunk_of_events(t->chunks[i].type))
			continue;
		if (xvt_events_begin(&it, &raws.base, &b, t->chunks[i].seq))
			fuzz_finding("chunk %zu of our own trace is too short", i);
		while ((got = xvt_events_next(&it, &ev)) > 0) {
			if (t->chunks[i].type != XVT_CHUNK_ORDER)
				continue;
			if (ev.hdr->host_ns < last_ns)
				fuzz_finding("main lane out of order in our own trace");
			last_ns = ev.hdr->host_ns;
		}
		if (got < 0)
			fuzz_finding("an event of our own trace reaches past its chunk");
	}
	if (it.missing)
		fuzz_finding("events of our own trace cannot be read");
	xvt_events_end(&it);
	xvt_trace_raws_fini(&raws);
	check_cursor(t);
	if (t->damage_count)
		fuzz_finding("our own trace is damaged: %s", t->damage[0].why);
	xvt_chunk_buf_free(&b);
	xvt_trace_close(t);
}
