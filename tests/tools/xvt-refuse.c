// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-refuse.c - run a command under a seccomp filter that answers io_uring_setup with an error,
 * as containers do.
 *
 *   xvt-refuse EPERM|ENOSYS|EACCES|ENOMEM|EINVAL|EMFILE CMD [ARG...]
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int err;
} errors[] = {
	{ "EPERM", EPERM },   { "ENOSYS", ENOSYS }, { "EACCES", EACCES },
	{ "ENOMEM", ENOMEM }, { "EINVAL", EINVAL }, { "EMFILE", EMFILE },
};

static unsigned int error_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (!strcmp(errors[i].name, name))
			return errors[i].err;
	}
	return 0;
}

static int install(unsigned int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

int main(int argc, char **argv)
{
	unsigned int err = argc > 2 ? error_of(argv[1]) : 0;

	if (!err) {
		fprintf(stderr, "usage: xvt-refuse ERROR CMD [ARG...]\n");
		return 2;
	}
	if (install(err)) {
		perror("xvt-refuse: seccomp");
		return 77;
	}
	execvp(argv[2], &argv[2]);
	perror(argv[2]);
	return 127;
}
