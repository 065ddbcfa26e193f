// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-threads.c - what the threads of the host were, as libxvtrace gives it:
 *
 *   xvt-threads FILE        lines TID TGID ROLE VCPU MACHINE FROM_NS
 */
#include <stdio.h>

#include "lib/xvtrace.h"

static void show(const struct xvtrace_thread *t)
{
	printf("%d %d %s %d %s %llu\n", t->tid, t->tgid, xvtrace_role_name(t->role), (int)t->vcpu,
	       t->machine ? t->machine->name : "-", (unsigned long long)t->from_ns);
}

int main(int argc, char **argv)
{
	const struct xvtrace_event *event;
	struct xvtrace_reader *reader;
	struct xvtrace_error error;
	struct xvtrace_thread thread;
	struct xvtrace *trace;

	if (argc != 2 || xvtrace_open(&trace, argv[1], 0, &error) ||
	    xvtrace_reader_new(&reader, trace))
		return 2;
	while (xvtrace_next(reader, &event) == 1)
		;
	for (unsigned int i = 0; xvtrace_machine(trace, i); i++) {
		size_t at = 0;

		while (xvtrace_machine(trace, i)->host &&
		       xvtrace_reader_role_next(reader, i, &at, &thread) == 1)
			show(&thread);
	}
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	return 0;
}
