// SPDX-License-Identifier: GPL-2.0
/* cmd_query.c - `xvtrace query`: SQL over a trace. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/log.h"
#include "base/output.h"
#include "base/time.h"
#include "select/beside.h"
#include "cli/cmd.h"
#include "cli/pager.h"
#include "cli/rows.h"
#include "select/select.h"
#include "select/threads.h"
#include "cli/unfinished.h"
#include "query/query.h"
#include "record/standard.h"
#include "record/trace_path.h"
#include "rights/confine.h"

#define TIME_NS	     60000000000u
#define MEMORY_BYTES (512ull << 20)
#define GRACE_S	     2 /* for a step that does not look at the time, such as one LIKE */

struct query_opts {
	const char *save;
	uint64_t time_ns;
	uint64_t memory_bytes;
	uint64_t threads;
	struct xvtrace_background background;
	bool csv;
	bool json;
	bool reclock;
	bool no_reclock;
	struct xvt_opt_list formats;
	bool no_pager;
	bool quiet;
};

static const struct xvt_opt query_opts[] = {
	XVT_OPT(struct query_opts, csv, "csv", 0, XVT_OPT_BOOL, NULL,
		"rows as CSV, the first line has the columns"),
	XVT_OPT(struct query_opts, json, "json", 0, XVT_OPT_BOOL, NULL,
		"rows as JSON, format xvtrace-query/1"),
	XVT_OPT(struct query_opts, save, "save", 0, XVT_OPT_STRING, "FILE",
		"keep the rows, and what CREATE makes, in FILE, a new database of SQLite"),
	XVT_OPT(struct query_opts, time_ns, "timeout", 0, XVT_OPT_TIME, "D",
		"take at most D of CPU time (60s)"),
	XVT_OPT(struct query_opts, memory_bytes, "memory", 0, XVT_OPT_SIZE, "SIZE",
		"take at most SIZE of memory for rows (512M)"),
	XVT_THREADS_OPT(struct query_opts, threads),
	XVT_RECLOCK_OPTS(struct query_opts, reclock, no_reclock),
	XVT_FORMATS_OPT(struct query_opts, formats),
	XVT_NO_PAGER_OPT(struct query_opts, no_pager),
	XVT_QUIET_OPT(struct query_opts, quiet),
	XVT_OPT_END,
};

/* -- the limit of time ----------------------------------------------------------------- */

static volatile int stop;
static char *unfinished; /* a database that must not stay; NULL: none */

/* CPU time, so that neither a pager nor other programs decide. The second signal ends a step that
 * never looks. */
static void on_timer(int signal)
{
	static const char text[] = "xvtrace: query: it took longer than --timeout in one step of "
				   "SQL, and was ended; compare shorter texts, or allow more\n";
	ssize_t written;

	(void)signal;
	if (!stop) {
		stop = 1;
		return;
	}
	written = write(2, text, sizeof(text) - 1);
	(void)written;
	xvt_unfinished_remove();
	_exit(XVT_EXIT_FAIL);
}

static void begin_timer(uint64_t ns)
{
	const struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	const struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(ns / SECOND_NS),
			      .tv_usec = (suseconds_t)(ns % SECOND_NS / 1000) + 1 },
		.it_interval = { .tv_sec = GRACE_S },
	};

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
}

/* -- the statements -------------------------------------------------------------------- */

#define NO_TOKEN "unrecognized token: \""

/* What to do about an error of SQLite, or "". */
static const char *hint_for(const char *error)
{
	if (!strncmp(error, "no such table", 13))
		return "; xvtrace query FILE .tables lists them";
	if (!strncmp(error, "no such column", 14))
		return "; xvtrace query FILE '.schema TABLE' lists those of a table";
	if (!strncmp(error, NO_TOKEN, strlen(NO_TOKEN)) &&
	    isdigit((unsigned char)error[strlen(NO_TOKEN)]))
		return "; times are numbers of ns, without a unit: 1 ms is 1000000";
	return "";
}

static int say_failed(const struct query_opts *opts, int err, const struct xvtrace_error *error)
{
	switch (err) {
	case -ETIMEDOUT:
		xvt_error("query",
			  "stopped after %.3g s of CPU time: choose less of the trace (WHERE ts "
			  "BETWEEN ..., a table of one event), see JOINS in xvtrace-query(1), or "
			  "allow more by --timeout",
			  (double)opts->time_ns / 1e9);
		return XVT_EXIT_FAIL;
	case -ENOMEM:
		xvt_error("query",
			  "stopped: it needs more than %" PRIu64 " MiB for its rows: choose less "
			  "(WHERE, LIMIT, fewer columns), or allow more by --memory",
			  opts->memory_bytes >> 20);
		return XVT_EXIT_FAIL;
	case -EPERM:
		xvt_error("SQL",
			  "%s: a query reads its traces, and keeps what it makes in memory "
			  "or in the file of --save",
			  error->text);
		return XVT_EXIT_USAGE;
	case -EINVAL:
		xvt_error("SQL", "%s%s", error->text, hint_for(error->text));
		return XVT_EXIT_USAGE;
	default:
		xvt_error("query", "%s", error->text[0] ? error->text : strerror(-err));
		return XVT_EXIT_FAIL;
	}
}

static void say_doubts(struct xvtrace *trace, const struct xvt_query *q)
{
	const char *path = xvtrace_info(trace)->path;
	uint64_t n = xvt_query_unsorted(q);

	if (n)
		xvt_warn(path,
			 "%" PRIu64
			 " events have a time before that of the event in front of them; "
			 "ORDER BY ts left them where report has them",
			 n);
	n = xvt_query_left_out(q);
	if (n)
		xvt_warn(path,
			 "%" PRIu64 " fields have no column, because a table has too many; "
			 "events.text has their values",
			 n);
}

/* -- commands of SQLite's shell --------------------------------------------------------- */

/*
 * What the command `line`, ".schema stalls", asks for, as SQL in a buffer that the caller frees.
 * As in SQLite's shell, its argument is a pattern of LIKE. Returns NULL after a message.
 */
static char *sql_of(const char *line)
{
	char command[16] = "", pattern[128] = "%", *sql = NULL;
	bool names_alone;

	sscanf(line, "%15s %127[^'\"; \n]", command, pattern);
	names_alone = !strcmp(command, ".tables");
	if (!names_alone && strcmp(command, ".schema") != 0) {
		xvt_error("query",
			  "%s is no SQL, and of the commands of SQLite's shell there are .tables "
			  "and .schema; for all of them load xvtrace_sqlite.so there, see "
			  "xvtrace-query(1)",
			  command);
		return NULL;
	}
	if (asprintf(&sql, "SELECT name%s FROM tables WHERE name LIKE '%s'",
		     names_alone ? "" : ", columns", pattern) >= 0)
		return sql;
	xvt_error("query", "%s", strerror(ENOMEM));
	return NULL;
}

/* Counters of rings are those of a trace that is read as a whole. Others need its index alone. */
static unsigned int flags_for(const char *sql)
{
	return strcasestr(sql, "analyze_loss") ? 0 : XVTRACE_PART;
}

static int query(const struct query_opts *opts, struct xvtrace *trace, unsigned int flags,
		 const char *sql)
{
	const struct xvt_query_options o = {
		.flags = opts->reclock || (xvtrace_info(trace)->ended && !opts->no_reclock)
				 ? XVTRACE_RECLOCK
				 : 0,
		.memory_bytes = opts->memory_bytes,
		.stop = &stop,
		.background = opts->background,
		.whole = !(flags & XVTRACE_PART),
		.save = unfinished,
	};
	const enum xvt_rows_form form = opts->csv    ? XVT_ROWS_CSV
					: opts->json ? XVT_ROWS_JSON
						     : XVT_ROWS_TABLE;
	struct xvtrace_error error = { "" };
	static struct xvt_out out;
	struct xvt_query_rows rows;
	struct xvt_query *q = NULL;
	int err = xvt_out_open(&out, "-");

	if (!err)
		err = xvt_rows_new(&rows, form, &out);
	if (!err)
		err = xvt_query_new(&q, trace, &o, &error);
	if (!err)
		err = xvt_query_run(q, sql, &rows, &error);
	xvt_rows_free(&rows);
	if (xvt_out_close(&out) && !err) {
		err = out.err;
		xvt_error("standard output", "%s", strerror(-err));
	} else if (err) {
		err = say_failed(opts, err, &error);
	}
	if (!err)
		say_doubts(trace, q);
	if (!err && unfinished && !opts->quiet)
		xvt_note("%s: %u tables of results", opts->save, xvt_query_saved(q));
	xvt_query_free(q);
	return err;
}

/* -- the database that is kept --------------------------------------------------------- */

static struct xvt_output save_to = { .folder = -1 };

/* The database's name in that folder. */
static const char *unfinished_name(void)
{
	return strrchr(unfinished, '/') + 1;
}

/*
 * The name for SQLite, from the root on and without links: in the sandbox SQLite cannot ask for the
 * present folder, or read a link. The name is not to be guessed: SQLite would follow a link that
 * another user has put there. Returns 0 or -errno.
 */
static int name_unfinished(void)
{
	char by[64], folder[PATH_MAX];
	uint64_t number;
	ssize_t len;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(by, sizeof(by), "/proc/self/fd/%d", save_to.folder);
	len = readlink(by, folder, sizeof(folder));
	if (len < 0)
		return -errno;
	if (len == sizeof(folder))
		return -ENAMETOOLONG;
	if (asprintf(&unfinished, "%.*s/%s.%016" PRIx64, (int)len, folder, save_to.name, number) >=
	    0)
		return 0;
	unfinished = NULL;
	return -ENOMEM;
}

/* Make it, empty. Before it is noted, no signal is to end the command. Returns 0 or -errno. */
static int make_unfinished(void)
{
	int fd, err = name_unfinished();
	sigset_t before;

	if (err)
		return err;
	xvt_unfinished_hold(&before);
	fd = openat(save_to.folder, unfinished_name(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0644);
	if (fd >= 0)
		xvt_unfinished_begin(save_to.folder, unfinished_name());
	else
		err = -errno;
	xvt_unfinished_release(&before);
	if (fd >= 0)
		return close(fd);
	free(unfinished);
	unfinished = NULL;
	return err;
}

/* Begin the database of --save. Returns an exit status, after a message. */
static int begin_save(const char *name)
{
	struct stat st;
	int err;

	if (!name)
		return XVT_EXIT_OK;
	if (xvt_is_trace_path(name) || !lstat(name, &st)) {
		xvt_error(name, "it is there already; --save makes a new database: give another "
				"name, or remove it");
		return XVT_EXIT_USAGE;
	}
	err = xvt_output_find(&save_to, name);
	if (!err)
		err = make_unfinished();
	if (err)
		xvt_error(name, "cannot write it: %s", xvt_output_why(err));
	return err ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}

static int end_save(const char *name, int status)
{
	if (!unfinished)
		return status;
	if (!status && renameat(save_to.folder, unfinished_name(), save_to.folder, save_to.name)) {
		xvt_error(name, "%s", strerror(errno));
		status = XVT_EXIT_FAIL;
	}
	if (status)
		unlinkat(save_to.folder, unfinished_name(), 0);
	xvt_unfinished_end();
	xvt_output_close(&save_to);
	free(unfinished);
	unfinished = NULL;
	return status;
}

static int run(const struct xvt_command *cmd, int argc, char **argv)
{
	static struct query_opts opts;
	int at = xvt_opt_parse(cmd, argc, argv, &opts, NULL), status;
	char *shell_sql = NULL;
	const char *sql;
	struct xvtrace_threads threads;
	struct xvt_workers *workers;
	struct xvtrace *trace;
	const char *const *paths;
	unsigned int flags;
	struct xvt_error why;
	size_t count;
	pid_t writer;

	if (at < 0)
		return xvt_opt_exit_status(at);
	if (at == argc) {
		xvt_error("query", "give the SQL as the last argument, such as 'SELECT * FROM "
				   "machines'");
		return XVT_EXIT_USAGE;
	}
	if (argc - at == 1 && !access(argv[at], F_OK)) {
		xvt_error(argv[at],
			  "give the SQL behind the trace, such as 'SELECT * FROM machines'");
		return XVT_EXIT_USAGE;
	}
	if (opts.csv + opts.json > 1 || opts.reclock + opts.no_reclock > 1) {
		xvt_error("query", "--csv and --json, as --reclock and --no-reclock, say opposite "
				   "things; give one of them");
		return XVT_EXIT_USAGE;
	}
	sql = argv[argc - 1];
	if (sql[0] == '.') {
		sql = shell_sql = sql_of(sql);
		if (!sql)
			return XVT_EXIT_USAGE;
	}
	if (xvt_query_load(&why)) {
		xvt_error("query", "%s", why.text);
		return XVT_EXIT_FAIL;
	}
	if (!xvt_standard_inputs(argc - 1 - at, argv + at))
		return XVT_EXIT_FAIL;
	count = xvt_trace_paths(cmd->name, argc - 1 - at, argv + at, &paths);
	if (!count)
		return XVT_EXIT_USAGE;
	status = begin_save(opts.save);
	if (status)
		return status;
	opts.time_ns = opts.time_ns ? opts.time_ns : TIME_NS;
	opts.memory_bytes = opts.memory_bytes ? opts.memory_bytes : MEMORY_BYTES;
	if (!opts.no_pager && !opts.json && !opts.csv && !unfinished)
		xvt_pager_prepare();
	workers = xvt_threads_start(&threads, opts.threads, paths, count);
	xvt_threads_background(&opts.background, workers);
	begin_timer(opts.time_ns);
	xvt_confine(unfinished != NULL);
	writer = xvt_beside_writer_of(paths, count);
	flags = flags_for(sql);
	if (xvt_open_several(&trace, paths, count, flags, &opts.formats, opts.quiet)) {
		xvt_workers_end(workers);
		xvt_pager_end();
		return end_save(opts.save, XVT_EXIT_FAIL);
	}
	if (!unfinished)
		xvt_confine_opened();
	xvt_pager_begin();
	status = query(&opts, trace, flags, sql);
	free(shell_sql);
	xvt_workers_end(workers);
	xvt_pager_end();
	status = end_save(opts.save, status);
	if (xvt_say_damage(trace, writer, opts.quiet || status) && !status)
		status = XVT_EXIT_FAIL;
	xvtrace_close(trace);
	return status;
}

const struct xvt_command xvt_cmd_query = {
	.name = "query",
	.args = "[FILE.xvt|DIR]... SQL",
	.brief = "answer SQL: a table for each event, and what the trace has besides",
	.opts = query_opts,
	.run = run,
};
