// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-ask.c - a client on CPU 0 asks a server on CPU 1 through a pipe, and sleeps until the answer
 * comes; the server works for a while before it answers. So what the client waits for is known:
 *   xvt-ask COUNT WORK_MS
 * Marks by the client, before and after each: "xvt-ask begin N", "xvt-ask end N".
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "../../../guest/linux/tools/marker.h"

static void pin(int cpu, const char *name)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
	prctl(PR_SET_NAME, name);
}

/* CPU time, so that the work is as long when others have the CPU. */
static void work(long ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static int serve(int in, int out, long ms)
{
	char c;

	pin(1, "ask-server");
	while (read(in, &c, 1) == 1) {
		work(ms);
		if (write(out, &c, 1) != 1)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const int marker = marker_open("xvt-ask");
	int to[2], from[2];
	long long count;
	char c = 0;
	long ms;
	pid_t pid;

	if (argc != 3 || pipe(to) || pipe(from))
		return 2;
	ms = number_arg("xvt-ask", "WORK_MS", argv[2], 1, 1000);
	pid = fork();
	if (!pid) {
		close(to[1]);
		_exit(serve(to[0], from[1], ms));
	}
	close(to[0]);
	pin(0, "ask-client");
	count = number_arg("xvt-ask", "COUNT", argv[1], 1, 1000);
	/* The first time, the server runs already, perhaps with the name that it had. */
	for (long long n = -1; n < count; n++) {
		if (n >= 0)
			marker_write(marker, "xvt-ask begin %lld", n);
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			return 1;
		if (n >= 0)
			marker_write(marker, "xvt-ask end %lld", n);
	}
	close(to[1]);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}
