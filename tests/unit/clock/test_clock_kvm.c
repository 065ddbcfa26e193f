// SPDX-License-Identifier: GPL-2.0
/*
 * KVM's clock files, as trees of our own: which VM is the region's, what its files may say, and
 * what they may do while they are read.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "clock/kvm.h"

static char root[256], debugfs[300], proc[300];
static struct xvt_error why;
static struct xvt_kvm_paths paths;
static struct xvt_clock_exact *source;
static struct xvt_clock_formula f;
static int region_fd;
static struct stat region;

/* Write a file below the tree's root; the folders on its way are made (with NAME/. only they). */
static void put(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(const char *text, const char *format, ...)
{
	char name[200], path[512], *at;
	va_list args;
	FILE *file;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		ck_assert(!mkdir(path, 0700) || errno == EEXIST);
		*at = '/';
	}
	if (strcmp(path + strlen(path) - 2, "/.") == 0)
		return;
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void take_away(const char *name)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -r '%s/%s'", root, name);
	ck_assert_int_eq(system(command), 0);
}

static void link_to(const char *target, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	unlink(path);
	ck_assert_int_eq(symlink(target, path), 0);
}

/* PROC/PID/stat; its name is made to mislead. */
#define STAT(start) \
	"5 (qemu) 7 8 9) S 1 2 3 0 -1 4194304 5 6 7 8 9 10 11 12 20 0 4 0 " start " 1000 200\n"

static void put_stat(int pid, uint64_t start)
{
	char text[300];

	snprintf(text, sizeof(text), STAT("%" PRIu64), start);
	put(text, "proc/%d/stat", pid);
}

static void put_maps(int pid, unsigned int dev_major, unsigned int dev_minor, uint64_t inode)
{
	char text[600];

	snprintf(text, sizeof(text),
		 "55d3a0000000-55d3a0100000 r--p 00000000 fe:00 %" PRIu64
		 "                    /usr/bin/qemu-system-x86_64\n"
		 "7f1000000000-7f1000400000 rw-s 00000000 %02x:%02x %" PRIu64
		 "                      /dev/shm/xvtrace g1 (deleted)\n"
		 "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0              [stack]\n",
		 region.st_ino + 1, dev_major, dev_minor, inode);
	put(text, "proc/%d/maps", pid);
}

/* A VMM that has a VM at a descriptor and maps the region. */
static void put_vmm(int pid, int fd, uint64_t start)
{
	char name[64];

	put_stat(pid, start);
	put_maps(pid, major(region.st_dev), minor(region.st_dev), region.st_ino);
	put("", "proc/%d/fd/.", pid);
	snprintf(name, sizeof(name), "proc/%d/fd/%d", pid, fd);
	link_to("anon_inode:kvm-vm", name);
	put("17\n", "debugfs/kvm/%d-%d/exits", pid, fd);
}

/* A vCPU with its files, of a kernel and a CPU that have all of them. */
static void put_vcpu(int pid, int fd, unsigned int id, const char *offset)
{
	put("100\n", "debugfs/kvm/%d-%d/vcpu%u/pid", pid, fd, id);
	put("0\n", "debugfs/kvm/%d-%d/vcpu%u/guest_mode", pid, fd, id);
	put(offset, "debugfs/kvm/%d-%d/vcpu%u/tsc-offset", pid, fd, id);
	put("4294967296\n", "debugfs/kvm/%d-%d/vcpu%u/tsc-scaling-ratio", pid, fd, id);
	put("32\n", "debugfs/kvm/%d-%d/vcpu%u/tsc-scaling-ratio-frac-bits", pid, fd, id);
}

static void setup(void)
{
	static unsigned int trees;
	char path[300];

	snprintf(root, sizeof(root), "%s/kvm-%d-%u", scratch(), (int)getpid(), trees++);
	ck_assert_int_eq(mkdir(root, 0700), 0);
	snprintf(debugfs, sizeof(debugfs), "%s/debugfs", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	snprintf(path, sizeof(path), "%s/region", root);
	region_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(region_fd, 0);
	ck_assert_int_eq(fstat(region_fd, &region), 0);
	why.text[0] = '\0';
	paths = (struct xvt_kvm_paths){ debugfs, proc, &why };
	source = NULL;
	/* What lies beside the machines. */
	put("0\n", "debugfs/kvm/exits");
	put("0\n", "debugfs/kvm/7-x/vcpu0/tsc-offset");
}

static void teardown(void)
{
	if (source)
		xvt_clock_kvm.close(source);
	close(region_fd);
}

static int open_source(void)
{
	return xvt_clock_kvm.open(&source, region_fd, &paths);
}

static int read_source(uint32_t hw_id)
{
	return xvt_clock_kvm.read(source, hw_id, &f);
}

START_TEST(test_one_machine)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-50048753310\n");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -50048753310);
	ck_assert_uint_eq(f.ratio, 1ull << 32);
	ck_assert_uint_eq(f.frac, 32);
	ck_assert_int_eq(xvt_clock_kvm.id, XVT_SOURCE_KVM);
}
END_TEST

START_TEST(test_whose_thread)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-1\n");
	put_vmm(600, 12, 1000);
	put_maps(600, major(region.st_dev), minor(region.st_dev), region.st_ino + 1);
	put_vcpu(600, 12, 0, "-2\n");
	put("", "proc/500/task/500/stat");
	put("", "proc/500/task/501/stat");
	put("", "proc/600/task/601/stat");
	put("", "proc/700/task/701/stat");
	ck_assert_int_eq(open_source(), 0);
	ck_assert(xvt_clock_kvm_thread(source, 500));
	ck_assert(xvt_clock_kvm_thread(source, 501));
	ck_assert(!xvt_clock_kvm_thread(source, 502));
	ck_assert(!xvt_clock_kvm_thread(source, 601)); /* a machine with another region */
	ck_assert(!xvt_clock_kvm_thread(source, 701)); /* no machine at all */
}
END_TEST

/* N of vcpuN is the APIC id: with three cores in packages of four, CPU 3 is vcpu4. */
START_TEST(test_sparse_ids)
{
	static const unsigned int ids[] = { 0, 1, 2, 4, 5, 6, 4294967295u };
	unsigned int i;
	char offset[32];

	put_vmm(500, 12, 1000);
	for (i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		snprintf(offset, sizeof(offset), "-%u\n", ids[i]);
		put_vcpu(500, 12, ids[i], offset);
	}
	ck_assert_int_eq(open_source(), 0);
	for (i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		ck_assert_int_eq(read_source(ids[i]), 0);
		ck_assert_int_eq(f.offset, -(int64_t)ids[i]);
	}
	ck_assert_int_eq(read_source(3), -ENODEV);
}
END_TEST

/* Zero is an offset like any other; without ratio files the ratio is 1. */
START_TEST(test_no_ratio)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "0\n");
	take_away("debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio");
	take_away("debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio-frac-bits");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, 0);
	ck_assert_uint_eq(f.ratio, 1ull << f.frac);
}
END_TEST

START_TEST(test_ratio)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "9223372036854775807\n");
	put("309622475325604\n", "debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio");
	put("48\n", "debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio-frac-bits");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, INT64_MAX);
	ck_assert_uint_eq(f.ratio, 309622475325604);
	ck_assert_uint_eq(f.frac, 48);
	put("-9223372036854775808\n", "debugfs/kvm/500-12/vcpu0/tsc-offset");
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, INT64_MIN);
}
END_TEST

/* Others on the host are none of ours, whatever their numbers. */
START_TEST(test_other_machines)
{
	put_vmm(499, 12, 1000);
	put_maps(499, major(region.st_dev), minor(region.st_dev), region.st_ino + 1);
	put_vcpu(499, 12, 0, "-1\n");
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-2\n");
	put_vmm(501, 12, 1000);
	put_maps(501, major(region.st_dev), minor(region.st_dev) + 1, region.st_ino);
	put_vcpu(501, 12, 0, "-3\n");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -2);
}
END_TEST

/* btrfs and overlayfs: the file itself decides, not the device that maps tells. */
START_TEST(test_other_device)
{
	char path[300];

	put_vmm(500, 12, 1000);
	put_maps(500, 0x7f, 0x33, region.st_ino);
	put_vcpu(500, 12, 0, "-2\n");
	ck_assert_int_eq(open_source(), -ENODEV);
	put("", "proc/500/map_files/.");
	snprintf(path, sizeof(path), "%s/region", root);
	link_to(path, "proc/500/map_files/7f1000000000-7f1000400000");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -2);
}
END_TEST

/* One VMM with two VMs: known if both say the same, or if only one has that vCPU. */
START_TEST(test_two_vms_of_a_process)
{
	put_vmm(500, 12, 1000);
	put_vmm(500, 30, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	put_vcpu(500, 30, 0, "-5\n");
	put_vcpu(500, 12, 2, "-7\n");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -5);
	ck_assert_int_eq(read_source(2), 0);
	ck_assert_int_eq(f.offset, -7);
	put("-6\n", "debugfs/kvm/500-30/vcpu0/tsc-offset");
	ck_assert_int_eq(read_source(0), -EAGAIN);
	put("-5\n", "debugfs/kvm/500-30/vcpu0/tsc-offset");
	put("8589934592\n", "debugfs/kvm/500-30/vcpu0/tsc-scaling-ratio");
	ck_assert_int_eq(read_source(0), -EAGAIN);
}
END_TEST

/*
 * A migration on one host. The destination makes its VM before it maps the region, and counts
 * from its first instruction on; while both have run, neither is told; then the source ends.
 */
START_TEST(test_migration)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	ck_assert_int_eq(open_source(), 0);
	put_vmm(600, 12, 2000);
	put_maps(600, 0, 0, 0);
	put_vcpu(600, 12, 0, "-9\n");
	put("0\n", "debugfs/kvm/600-12/vcpu0/pid");
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -5);
	put_vmm(600, 12, 2000);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -5);
	put("101\n", "debugfs/kvm/600-12/vcpu0/pid");
	ck_assert_int_eq(read_source(0), -EAGAIN);
	take_away("debugfs/kvm/500-12");
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -9);
	take_away("debugfs/kvm/600-12");
	ck_assert_int_eq(read_source(0), -ENODEV);
}
END_TEST

/* A vCPU that has never run answers no questions, and may still be given its offset. */
START_TEST(test_never_run)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	put("0\n", "debugfs/kvm/500-12/vcpu0/pid");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), -EAGAIN);
	take_away("debugfs/kvm/500-12/vcpu0/pid"); /* an old kernel */
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -5);
}
END_TEST

/* While a nested guest runs, the offset is that guest's. */
START_TEST(test_nested)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	put("1\n", "debugfs/kvm/500-12/vcpu0/guest_mode");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), -EAGAIN);
	put("0\n", "debugfs/kvm/500-12/vcpu0/guest_mode");
	ck_assert_int_eq(read_source(0), 0);
	take_away("debugfs/kvm/500-12/vcpu0/guest_mode"); /* an old kernel */
	ck_assert_int_eq(read_source(0), 0);
}
END_TEST

/* The process ended; another got its pid. Its VM, if it has one, is another's too. */
START_TEST(test_pid_used_again)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(read_source(0), 0);
	put_stat(500, 1001);
	ck_assert_int_eq(read_source(0), -ENODEV);
	put_stat(500, 1000);
	ck_assert_int_eq(read_source(0), 0);
	take_away("proc/500");
	ck_assert_int_eq(read_source(0), -ENODEV);
}
END_TEST

/* A process of that number that has no VM at that descriptor did not make the directory. */
START_TEST(test_not_its_vm)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	link_to("/dev/shm/anon_inode:kvm-vm", "proc/500/fd/12");
	ck_assert_int_eq(open_source(), -ENODEV);
	link_to("anon_inode:kvm-vmx", "proc/500/fd/12");
	ck_assert_int_eq(open_source(), -ENODEV);
	take_away("proc/500/fd/12");
	ck_assert_int_eq(open_source(), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why.text, "maps the region"));
}
END_TEST

START_TEST(test_garbage)
{
	static const char *const offsets[] = {
		"",
		"\n",
		"5",
		" 5\n",
		"+5\n",
		"5\n\n",
		"5 6\n",
		"0x5",
		"-\n",
		"-",
		"--5\n",
		"5a\n",
		"9223372036854775808\n",
		"-9223372036854775809\n",
		"99999999999999999999999999999999999999999999999999999999999999999\n",
	};
	size_t i;

	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	ck_assert_int_eq(open_source(), 0);
	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		put(offsets[i], "debugfs/kvm/500-12/vcpu0/tsc-offset");
		ck_assert_msg(read_source(0) == -EBADMSG, "offset \"%s\"", offsets[i]);
	}
	put("-5\n", "debugfs/kvm/500-12/vcpu0/tsc-offset");
	put("-1\n", "debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio");
	ck_assert_int_eq(read_source(0), -EBADMSG);
	put("0\n", "debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio");
	ck_assert_int_eq(read_source(0), -EBADMSG);
	put("4294967296\n", "debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio");
	put("64\n", "debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio-frac-bits");
	ck_assert_int_eq(read_source(0), -EBADMSG);
	take_away("debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio-frac-bits");
	ck_assert_int_eq(read_source(0), -EBADMSG); /* a ratio of what? */
	put("32\n", "debugfs/kvm/500-12/vcpu0/tsc-scaling-ratio-frac-bits");
	put("yes\n", "debugfs/kvm/500-12/vcpu0/guest_mode");
	ck_assert_int_eq(read_source(0), -EBADMSG);
	put("0\n", "debugfs/kvm/500-12/vcpu0/guest_mode");
	put("\n", "debugfs/kvm/500-12/vcpu0/pid");
	ck_assert_int_eq(read_source(0), -EBADMSG);
	put("100\n", "debugfs/kvm/500-12/vcpu0/pid");
	ck_assert_int_eq(read_source(0), 0);
	put("500 qemu S 1 2\n", "proc/500/stat");
	ck_assert_int_eq(read_source(0), -ENODEV);
}
END_TEST

/*
 * To change one file exactly while another is being read: a lease on that other lets its open()
 * wait until we give the lease up.
 */
struct change {
	const char *leased;	 /* read before ... */
	const char *file, *text; /* ... this becomes that */
	int fd;
};

static void *change_when_opened(void *arg)
{
	struct change *c = arg;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigwait(&set, &sig);
	put(c->text, "%s", c->file);
	fcntl(c->fd, F_SETLEASE, F_UNLCK);
	return NULL;
}

static int open_or_read(void)
{
	return source ? read_source(0) : open_source();
}

static int look_while_changing(struct change *c)
{
	pthread_t thread;
	char path[512];
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	snprintf(path, sizeof(path), "%s/%s", root, c->leased);
	c->fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(c->fd, 0);
	ck_assert_int_eq(fcntl(c->fd, F_SETLEASE, F_WRLCK), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, change_when_opened, c), 0);
	err = open_or_read();
	pthread_join(thread, NULL);
	close(c->fd);
	return err;
}

#define VCPU "debugfs/kvm/500-12/vcpu0/"

START_TEST(test_changes_while_read)
{
	struct change offset = { VCPU "tsc-scaling-ratio", VCPU "tsc-offset", "-6\n", -1 };
	struct change ratio = { VCPU "tsc-scaling-ratio-frac-bits", VCPU "tsc-scaling-ratio",
				"8589934592\n", -1 };
	struct change nested = { VCPU "tsc-scaling-ratio", VCPU "guest_mode", "1\n", -1 };
	struct change pid = { VCPU "tsc-offset", "proc/500/stat", STAT("1001"), -1 };

	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	ck_assert_int_eq(open_source(), 0);
	ck_assert_int_eq(look_while_changing(&offset), -EAGAIN);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_int_eq(f.offset, -6);
	ck_assert_int_eq(look_while_changing(&ratio), -EAGAIN);
	ck_assert_int_eq(read_source(0), 0);
	ck_assert_uint_eq(f.ratio, 8589934592);
	ck_assert_int_eq(look_while_changing(&nested), -EAGAIN);
	put("0\n", VCPU "guest_mode");
	ck_assert_int_eq(look_while_changing(&pid), -ENODEV);
}
END_TEST

/* One process has the VM, the next of that pid maps the region. */
START_TEST(test_pid_used_again_meanwhile)
{
	struct change pid = { "proc/500/maps", "proc/500/stat", STAT("1001"), -1 };

	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	ck_assert_int_eq(look_while_changing(&pid), -ENODEV);
}
END_TEST

START_TEST(test_nothing_there)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	/* Found by the mounts; blanks in names are written in octal there. */
	paths.debugfs = NULL;
	put("proc /proc proc rw 0 0\n", "proc/mounts");
	ck_assert_int_eq(open_source(), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why.text, "mount -t debugfs"));
	put("x", "a b/debugfs/kvm/1");
	{
		char text[400];

		snprintf(text, sizeof(text),
			 "x /x debugfss rw 0 0\nd %s/a\\040b/debugfs debugfs rw 0 0\n", root);
		put(text, "proc/mounts");
	}
	ck_assert_int_eq(open_source(), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why.text, "a b/debugfs/kvm"));
	take_away("a b/debugfs/kvm");
	ck_assert_int_eq(open_source(), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why.text, "there is no"));
	paths.debugfs = debugfs;
	ck_assert_int_eq(open_source(), 0);
	/* KVM's modules were removed under us. */
	take_away("debugfs/kvm");
	ck_assert_int_eq(read_source(0), -ENODEV);
}
END_TEST

START_TEST(test_not_allowed)
{
	put_vmm(500, 12, 1000);
	put_vcpu(500, 12, 0, "-5\n");
	if (!geteuid()) {
		/* root may all; be nobody in this process, which ends after the test */
		ck_assert_int_eq(chmod(scratch(), 0711) | chmod(root, 0711), 0);
		ck_assert_int_eq(chmod(debugfs, 0700), 0);
		ck_assert_int_eq(seteuid(65534), 0);
	} else {
		ck_assert_int_eq(chmod(debugfs, 0), 0);
	}
	ck_assert_int_eq(open_source(), -EACCES);
	ck_assert_ptr_nonnull(strstr(why.text, "root"));
	if (!getuid())
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(debugfs, 0700), 0);
}
END_TEST

Suite *clock_kvm_suite(void)
{
	Suite *s = suite_create("clock-kvm");
	TCase *t = tcase_create("debugfs");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_one_machine);
	tcase_add_test(t, test_whose_thread);
	tcase_add_test(t, test_sparse_ids);
	tcase_add_test(t, test_no_ratio);
	tcase_add_test(t, test_ratio);
	tcase_add_test(t, test_other_machines);
	tcase_add_test(t, test_other_device);
	tcase_add_test(t, test_two_vms_of_a_process);
	tcase_add_test(t, test_migration);
	tcase_add_test(t, test_never_run);
	tcase_add_test(t, test_nested);
	tcase_add_test(t, test_pid_used_again);
	tcase_add_test(t, test_not_its_vm);
	tcase_add_test(t, test_garbage);
	tcase_add_test(t, test_changes_while_read);
	tcase_add_test(t, test_pid_used_again_meanwhile);
	tcase_add_test(t, test_nothing_there);
	tcase_add_test(t, test_not_allowed);
	suite_add_tcase(s, t);
	return s;
}
