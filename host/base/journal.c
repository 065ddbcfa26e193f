// SPDX-License-Identifier: GPL-2.0
/* journal.c - see journal.h. */
#include "base/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SERVER "/run/systemd/journal/socket"

static int sock = -1;
static pid_t owner; /* the process that opened it: a helper closes all that it inherits */

/* $JOURNAL_STREAM is DEVICE:INODE of the stream, and stays in the environment of a program whose
 * standard error was redirected. */
static bool is_stream(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char here[64];
	struct stat st;

	if (!stream || fstat(fd, &st))
		return false;
	snprintf(here, sizeof(here), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return !strcmp(stream, here);
}

void xvt_journal_prepare(void)
{
	const struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = SERVER };

	if ((sock >= 0 && owner == getpid()) || !is_stream(STDERR_FILENO))
		return;
	owner = getpid();
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock >= 0 && connect(sock, (const struct sockaddr *)&to, sizeof(to))) {
		close(sock);
		sock = -1;
	}
}

size_t xvt_journal_entry(char *to, enum xvt_journal_priority priority, const char *text,
			 const char *machine)
{
	/* A value that has a newline would need another form, and could bring fields of its own. */
	if (strchr(text, '\n') || (machine && strchr(machine, '\n')))
		return 0;
	const int len = snprintf(to, XVT_JOURNAL_ENTRY_MAX,
				 "PRIORITY=%d\nSYSLOG_IDENTIFIER=xvtrace\n%s%s%sMESSAGE=%s\n",
				 (int)priority, machine ? "XVTRACE_MACHINE=" : "",
				 machine ? machine : "", machine ? "\n" : "", text);

	return len > 0 && len < XVT_JOURNAL_ENTRY_MAX ? (size_t)len : 0;
}

bool xvt_journal_send(enum xvt_journal_priority priority, const char *text, const char *machine)
{
	char entry[XVT_JOURNAL_ENTRY_MAX];
	size_t len;

	if (sock < 0 || owner != getpid())
		return false;
	len = xvt_journal_entry(entry, priority, text, machine);
	/* write() is a call that every sandbox allows. */
	return len && write(sock, entry, len) == (ssize_t)len;
}
