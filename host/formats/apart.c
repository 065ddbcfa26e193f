// SPDX-License-Identifier: GPL-2.0
/* apart.c - see apart.h. */
#define _GNU_SOURCE
#include "formats/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

#define TIMEOUT_MS (5 * 60 * 1000u)

/* What the two processes share. */
struct answer {
	int32_t err;
	struct xvt_import_result result;
	uint64_t len;
	uint8_t bytes[XVT_FORMATS_FILE_MAX];
};

static void answer(struct answer *a, void (*confine)(void), xvt_formats_fn fn, const void *arg)
{
	struct xvt_formats f = { 0 };

	confine();
	a->err = fn(&f, arg, &a->result);
	if (!a->err && f.len <= sizeof(a->bytes)) {
		memcpy(a->bytes, f.bytes, f.len);
		a->len = f.len;
	}
}

/* The process has ended, so that nothing of its answer changes any more. */
static int take(struct xvt_formats *f, const struct answer *a, struct xvt_import_result *result)
{
	const char *why;
	int err;

	*result = a->result;
	result->why.text[sizeof(result->why.text) - 1] = 0;
	if (a->err)
		return a->err < 0 ? a->err : -EIO;
	err = xvt_formats_parse(f, a->bytes, a->len < sizeof(a->bytes) ? a->len : sizeof(a->bytes),
				&why);
	if (err)
		xvt_fail(&result->why, 0, "%s", why);
	return err;
}

static int run(struct answer *a, void (*confine)(void), xvt_formats_fn fn, const void *arg,
	       int *status)
{
	const pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		answer(a, confine, fn, arg);
		_exit(0);
	}
	return pid < 0 ? -errno : xvt_child_finish(pid, status, TIMEOUT_MS, false);
}

int xvt_formats_apart(struct xvt_formats *f, void (*confine)(void), xvt_formats_fn fn,
		      const void *arg, struct xvt_import_result *result)
{
	struct answer *a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int status = 0, err;

	memset(result, 0, sizeof(*result));
	if (a == MAP_FAILED)
		return xvt_fail(&result->why, -ENOMEM, "%s", strerror(ENOMEM));
	err = run(a, confine, fn, arg, &status);
	if (err)
		xvt_fail(&result->why, 0, "the process that reads it: %s", strerror(-err));
	else if (WIFSIGNALED(status) || WEXITSTATUS(status))
		xvt_fail(&result->why, 0, "the process that reads it was ended by a signal: %s",
			 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "its starter's end");
	if (!err && status)
		err = -EIO;
	if (!err)
		err = take(f, a, result);
	munmap(a, sizeof(*a));
	return err;
}
