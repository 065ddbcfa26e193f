// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-fail-call.c - runs a program, of whose first thread one system call fails: the N'th since it
 * took its last filter. Or a child of it is killed at its N'th system call of all.
 *
 *   xvt-fail-call N LOG COMMAND...          fails; LOG gets a line: which, and with what error
 *   xvt-fail-call N LOG call=NUMBER COMMAND...  the N'th of this number
 *   xvt-fail-call N LOG kill=NAME COMMAND...  kills the child whose name (comm) that is
 *
 * LOG stays empty if the program makes fewer calls, or has no such child then. Calls that cannot
 * fail, or of which a failure is the death of any program, are not counted. The exit status is that
 * of the program, or 128 and the number of the signal that ended it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Errors that these calls have, where EIO is none of them. */
static const struct {
	long nr;
	int err;
	bool made; /* the call is made all the same, as Linux's close() */
} errors[] = {
	{ SYS_close, EIO, true },
	{ SYS_mmap, ENOMEM, false },
	{ SYS_mremap, ENOMEM, false },
	{ SYS_madvise, ENOMEM, false },
	{ SYS_mprotect, ENOMEM, false },
	{ SYS_openat, EMFILE, false },
	{ SYS_openat2, EMFILE, false },
	{ SYS_socket, EMFILE, false },
	{ SYS_socketpair, EMFILE, false },
	{ SYS_accept, EMFILE, false },
	{ SYS_accept4, EMFILE, false },
	{ SYS_eventfd2, EMFILE, false },
	{ SYS_dup, EMFILE, false },
	{ SYS_pidfd_open, EMFILE, false },
	{ SYS_clone, EAGAIN, false },
	{ SYS_clone3, EAGAIN, false },
	{ SYS_io_uring_enter, EAGAIN, false },
	{ SYS_poll, ENOMEM, false },
	{ SYS_ppoll, ENOMEM, false },
	{ SYS_sendto, ENOBUFS, false },
	{ SYS_sendmsg, ENOBUFS, false },
	{ SYS_recvfrom, ENOMEM, false },
	{ SYS_recvmsg, ENOMEM, false },
	{ SYS_unlink, EACCES, false },
	{ SYS_rename, EACCES, false },
	{ SYS_mkdir, EACCES, false },
	{ SYS_fallocate, ENOSPC, false },
	{ SYS_lstat, EACCES, false },
	{ SYS_stat, EACCES, false },
	{ SYS_newfstatat, EACCES, false },
	{ SYS_flock, EWOULDBLOCK, false },
	{ SYS_pidfd_send_signal, ESRCH, false },
};

/* They do not fail, or not for a caller that is right; brk() tells of it in its way. */
static const long sure[] = {
	SYS_exit,
	SYS_exit_group,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_futex,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getppid,
	SYS_brk,
	SYS_munmap,
	SYS_clock_gettime,
	SYS_sched_yield,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_restart_syscall,
	SYS_rt_sigpending,
	SYS_wait4,
	SYS_sigaltstack,
	SYS_umask,
	SYS_getcpu,
	SYS_rseq,
	SYS_set_robust_list,
	SYS_seccomp,
	SYS_prctl,
	SYS_getrandom,
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(125);
}

static bool is_sure(long nr)
{
	for (size_t i = 0; i < sizeof(sure) / sizeof(sure[0]); i++) {
		if (sure[i] == nr)
			return true;
	}
	return false;
}

static int error_of(long nr, bool *made)
{
	*made = false;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].nr != nr)
			continue;
		*made = errors[i].made;
		return errors[i].err;
	}
	return EIO;
}

static bool is_named(pid_t pid, const char *name)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	if (f)
		fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	return !strcmp(comm, name);
}

/* The newest child of that name; 0: none. */
static pid_t child_of(pid_t parent, const char *name)
{
	char path[64];
	pid_t found = 0;
	int pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		if (is_named(pid, name))
			found = pid;
	}
	if (f)
		fclose(f);
	return found;
}

/* Goes on to the next stop at a system call, with the signals that came. Returns false when the
 * program has ended: `status` says how. */
static bool to_call(pid_t pid, int *status)
{
	int signal = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (long)signal) && errno != ESRCH)
			must(false, "ptrace");
		must(waitpid(pid, status, __WALL) == pid, "waitpid");
		if (!WIFSTOPPED(*status))
			return false;
		signal = WSTOPSIG(*status);
		if (signal == (SIGTRAP | 0x80))
			return true;
		if (signal == SIGTRAP || signal == SIGSTOP)
			signal = 0;
	}
}

static bool registers(pid_t pid, struct user_regs_struct *r)
{
	return !ptrace(PTRACE_GETREGS, pid, NULL, r);
}

/* At the begin of a call: has it fail. Returns false if the program ended meanwhile. */
static bool fail_it(pid_t pid, struct user_regs_struct r, FILE *log, uint64_t number, int *status)
{
	const long nr = (long)r.orig_rax;
	bool made;
	const int err = error_of(nr, &made);

	fprintf(log, "call %llu, number %ld, fails: %s\n", (unsigned long long)number, nr,
		strerrorname_np(err));
	fflush(log);
	r.orig_rax = made ? r.orig_rax : SYS_getpid; /* which each filter allows */
	must(!ptrace(PTRACE_SETREGS, pid, NULL, &r), "ptrace");
	if (!to_call(pid, status))
		return false;
	must(registers(pid, &r), "ptrace");
	r.orig_rax = (unsigned long long)nr;
	r.rax = (unsigned long long)-err;
	must(!ptrace(PTRACE_SETREGS, pid, NULL, &r), "ptrace");
	return true;
}

/* only: the number of the calls that count; -1: each. */
static int run(pid_t pid, uint64_t number, FILE *log, long only, const char *victim)
{
	struct user_regs_struct r;
	uint64_t count = 0;
	bool sandboxed = victim != NULL, done = false;
	pid_t killed;
	int status;

	while (!done) {
		if (!to_call(pid, &status)) /* the begin of a call */
			return status;
		if (!registers(pid, &r))
			continue;
		if (r.orig_rax == SYS_seccomp && !victim) {
			sandboxed = true;
			count = 0; /* the recorder has several filters: the last one counts */
		}
		if (sandboxed &&
		    (only < 0 ? !is_sure((long)r.orig_rax) : (long)r.orig_rax == only) &&
		    ++count == number) {
			killed = victim ? child_of(pid, victim) : 0;
			if (!victim && !fail_it(pid, r, log, number, &status))
				return status;
			if (killed && !kill(killed, SIGKILL))
				fprintf(log, "killed %s at call %ld\n", victim, (long)r.orig_rax);
			done = true;
			if (!victim)
				break; /* that was its end, too */
		}
		if (!to_call(pid, &status)) /* its end */
			return status;
	}
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	return status;
}

int main(int argc, char **argv)
{
	const bool kills = argc > 3 && !strncmp(argv[3], "kill=", 5);
	const bool some = argc > 3 && !strncmp(argv[3], "call=", 5);
	char **command = argv + 3 + (kills || some);
	FILE *log = argc > command - argv ? fopen(argv[2], "we") : NULL;
	int status;
	pid_t pid;

	must(log != NULL, "xvt-fail-call N LOG [call=NUMBER | kill=NAME] COMMAND");
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execv(*command, command);
		perror(*command);
		_exit(127);
	}
	must(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "waitpid");
	must(!ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
	     "ptrace");
	status = run(pid, strtoull(argv[1], NULL, 0), log, some ? strtol(argv[3] + 5, NULL, 0) : -1,
		     kills ? argv[3] + 5 : NULL);
	fclose(log);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
