// SPDX-License-Identifier: GPL-2.0
/* confine.c - see confine.h. */
#include "rights/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <time.h>

#include "base/journal.h"
#include "base/json.h"
#include "base/log.h"
#include "base/notify.h"
#include "rights/capabilities.h"
#include "rights/isolate.h"
#include "rights/limits.h"
#include "rights/own_user.h"
#include "rights/sandbox.h"
#include "vmm/libvirt_uri.h"

#define BIT(capability) (1ull << (capability))

/* Makes the libraries open the files of their first use: the time zone, and random numbers. */
static void prepare(void)
{
	tzset();
	xvt_json_prepare();
}

void xvt_confine(bool makes)
{
	prepare();
	xvt_limit_core();
	xvt_sandbox_enter(XVT_SANDBOX_READS | (makes ? XVT_SANDBOX_MAKES : 0));
}

void xvt_confine_loop(void)
{
	prepare();
	xvt_limit_core();
	xvt_sandbox_enter(XVT_SANDBOX_READS | XVT_SANDBOX_RENAMES | XVT_SANDBOX_LOOPS);
}

void xvt_confine_opened(void)
{
	/* Its filter allows no change of limits. */
	xvt_limit_files_to_open();
	xvt_sandbox_enter(0);
}

void xvt_confine_opened_output(void)
{
	xvt_sandbox_enter(XVT_SANDBOX_RENAMES);
}

uint64_t xvt_confine_kept(void)
{
	return BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) |
	       BIT(CAP_IPC_LOCK) | BIT(CAP_KILL) | BIT(CAP_LEASE) | BIT(CAP_SYSLOG) |
	       BIT(CAP_SYS_PTRACE);
}

static void keep(uint64_t capabilities)
{
	int err = xvt_capabilities_keep(capabilities);

	if (err)
		xvt_warn("capabilities", "cannot give up those that are not needed: %s",
			 strerror(-err));
}

void xvt_confine_capabilities(void)
{
	keep(xvt_confine_kept());
}

void xvt_confine_capabilities_to_isolate(void)
{
	keep(xvt_confine_kept() | xvt_isolate_needs());
}

/* Returns 0 if the opener decides from here on what is opened, or -errno. All that needs a right
 * beyond those of the recorder's user, the opener does from here on. */
static int ask(struct xvt_opener *opener, unsigned int *lacks)
{
	struct xvt_isolated was = { -1, -1, -1, -1 };
	int err, back = 0;

	if (lacks)
		*lacks = xvt_isolate(&was);
	else
		xvt_own_user_become(); /* or stay the user that it is */
	/* The filter allows neither another root nor another namespace. */
	err = xvt_sandbox_enter(XVT_SANDBOX_RECORDS | XVT_SANDBOX_ASKS);
	if (err)
		back = xvt_isolate_undo(&was);
	else
		xvt_isolate_keep(&was);
	if (back) {
		xvt_error("sandbox", "cannot go back to the root directory and the user: %s",
			  strerror(-back));
		return -ETIMEDOUT; /* it was told */
	}
	if (!err)
		err = xvt_opener_serve(opener, xvt_sandbox_listener());
	if (!err)
		keep(0);
	return err ? err : xvt_opener_watch(opener);
}

/*
 * What a recorder has beside the memory for events: rings, metadata, libraries, the files of a
 * compressed trace, and threads. The limit is there for a process that runs away.
 */
#define MEMORY_TIMES  2
#define MEMORY_MORE   (1ull << 30)
#define OPENER_MEMORY (64ull << 20)

static void limit_recorder(uint64_t memory_bytes)
{
	xvt_limit_core();
	xvt_limit_files();
	if (memory_bytes < UINT64_MAX / (2 * MEMORY_TIMES))
		xvt_limit_memory(MEMORY_TIMES * memory_bytes + MEMORY_MORE);
}

void xvt_confine_opener(void)
{
	xvt_confine_capabilities();
	xvt_limit_core();
	xvt_limit_files();
	xvt_limit_memory(OPENER_MEMORY);
}

/* Whether the opener could have worked: something is short, or it was killed or stood still. */
static bool is_failure(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EPIPE ||
	       err == -ECONNRESET || err == -EAGAIN || err == -ETIMEDOUT;
}

/* Of a recorder that opens files itself. */
#define ALL_LACKS (XVT_NO_WALL | XVT_NO_CAPABILITY)

int xvt_confine_recorder(const char *libvirt_uri, struct xvt_opener *opener, uint64_t memory_bytes,
			 unsigned int *lacks)
{
	static const unsigned int needs[] = {
		[XVT_LIBVIRT_BY_SOCKET] = 0,
		[XVT_LIBVIRT_BY_NETWORK] = XVT_SANDBOX_NETWORKS,
		[XVT_LIBVIRT_BY_PROGRAM] = XVT_SANDBOX_RUNS,
	};
	int err = 0;

	if (lacks)
		*lacks = ALL_LACKS;
	prepare();
	xvt_notify_prepare();
	xvt_journal_prepare();
	limit_recorder(memory_bytes);
	if (opener) {
		err = ask(opener, lacks);
		if (!err)
			return 0;
		if (is_failure(err)) {
			if (err != -ETIMEDOUT) /* that was told */
				xvt_error("sandbox", "cannot enter it: %s", strerror(-err));
			return err;
		}
		xvt_warn("sandbox",
			 "the kernel lets no other process decide what the recorder opens: %s",
			 strerror(-err));
		if (lacks)
			*lacks = ALL_LACKS;
		xvt_confine_capabilities();
	}
	err = xvt_sandbox_enter(XVT_SANDBOX_RECORDS | needs[xvt_libvirt_way(libvirt_uri)]);
	if (err && err != -ENOPKG && err != -ENOTSUP)
		xvt_warn("sandbox", "cannot enter it, recording without: %s", strerror(-err));
	return 0;
}
