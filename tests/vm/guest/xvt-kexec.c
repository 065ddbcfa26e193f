// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-kexec.c - start another kernel without the machine noticing. Static, because a guest has
 * no libraries, and Debian's kexec needs some.
 *
 *   xvt-kexec KERNEL INITRD CMDLINE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int kernel, initrd;

	if (argc != 4) {
		fputs("usage: xvt-kexec KERNEL INITRD CMDLINE\n", stderr);
		return 2;
	}
	kernel = open(argv[1], O_RDONLY);
	initrd = open(argv[2], O_RDONLY);
	if (kernel < 0 || initrd < 0) {
		perror("xvt-kexec: open");
		return 1;
	}
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1, argv[3], 0ul)) {
		perror("xvt-kexec: kexec_file_load");
		return 1;
	}
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("xvt-kexec: reboot");
	return 1;
}
