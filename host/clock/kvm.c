// SPDX-License-Identifier: GPL-2.0
/* kvm.c - see kvm.h. Reads debugfs and /proc, nothing of the guest. */
#define _GNU_SOURCE
#include "clock/kvm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/vec.h"

/* A nested guest may run between two reads of files; this many reads must agree. */
#define LOOKS 3

struct vm {
	int pid;
	int fd;
	ino_t ino;	/* of its directory; a later VM of the same name has another one */
	uint64_t start; /* start time of the process, in the kernel's ticks since boot */
	bool maps;	/* the process maps the region */
	bool settled;	/* it does not map the region, and its guest had run before that check */
	bool seen;
};

struct xvt_clock_exact {
	char kvm[PATH_MAX];
	char proc[PATH_MAX];
	dev_t dev; /* the region's file */
	ino_t ino;
	struct vm *vms;
	size_t count;
	size_t room;
	bool denied; /* the mappings of some process could not be read */
};

static struct xvt_error *why_of(const struct xvt_kvm_paths *paths)
{
	return paths ? paths->why : NULL;
}

static const char *proc_of(const struct xvt_kvm_paths *paths)
{
	return paths && paths->proc ? paths->proc : "/proc";
}

/* --- files --- */

/* Reads a whole small file as a string. Returns its length or -errno. */
static ssize_t read_text(int dir, const char *path, char *text, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size);
	if (n < 0)
		n = errno == EIO ? -ENOENT : -errno; /* debugfs reports a removed file by EIO */
	close(fd);
	if (n < 0)
		return n;
	if ((size_t)n == size || memchr(text, '\0', (size_t)n))
		return -EBADMSG;
	text[n] = '\0';
	return n;
}

/* Reads a file with one decimal number and a newline, as debugfs writes it. */
static int read_number(int dir, const char *path, bool negative_too, uint64_t *value)
{
	char text[32], *digits = text, *end;
	ssize_t n = read_text(dir, path, text, sizeof(text));
	bool minus;

	if (n < 0)
		return (int)n;
	minus = negative_too && *digits == '-';
	digits += minus;
	if (*digits < '0' || *digits > '9')
		return -EBADMSG;
	errno = 0;
	*value = strtoull(digits, &end, 10);
	if (errno || strcmp(end, "\n"))
		return -EBADMSG;
	if (negative_too && *value > (uint64_t)INT64_MAX + minus)
		return -EBADMSG;
	if (minus)
		*value = -*value;
	return 0;
}

/* Reads field 22 of PROC/PID/stat. The name before it may contain any character, also ')'. */
static int start_time(const struct xvt_clock_exact *s, int pid, uint64_t *start)
{
	char path[PATH_MAX + 32], text[4096], *at;
	unsigned int field;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%d/stat", s->proc, pid);
	n = read_text(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %" SCNu64, start) == 1 ? 0 : -EBADMSG;
}

/* --- whose VM is it --- */

static bool holds_vm(const struct xvt_clock_exact *s, const struct vm *vm)
{
	static const char want[] = "anon_inode:kvm-vm";
	char path[PATH_MAX + 48], link[sizeof(want) + 1];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%d/fd/%d", s->proc, vm->pid, vm->fd);
	n = readlink(path, link, sizeof(link));
	return n == sizeof(want) - 1 && !memcmp(link, want, sizeof(want) - 1);
}

/* True if this line of PROC/PID/maps is a mapping of the region's file. */
static bool is_region(const struct xvt_clock_exact *s, int pid, const char *line)
{
	unsigned long begin, end, inode;
	unsigned int major_nr, minor_nr;
	char path[PATH_MAX + 80];
	struct stat st;

	if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &begin, &end, &major_nr, &minor_nr, &inode) !=
	    5)
		return false;
	if (inode != s->ino)
		return false;
	if (makedev(major_nr, minor_nr) == s->dev)
		return true;
	/* On some file systems (btrfs, overlayfs) fstat() gives another device than this line. */
	snprintf(path, sizeof(path), "%s/%d/map_files/%lx-%lx", s->proc, pid, begin, end);
	return !stat(path, &st) && st.st_ino == s->ino && st.st_dev == s->dev;
}

static bool maps_region(struct xvt_clock_exact *s, int pid)
{
	char path[PATH_MAX + 32], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/maps", s->proc, pid);
	f = fopen(path, "re");
	if (!f) {
		s->denied |= errno == EACCES || errno == EPERM;
		return false;
	}
	while (!found && getline(&line, &room, f) > 0)
		found = is_region(s, pid, line);
	free(line);
	fclose(f);
	return found;
}

/* True in *ran if the vCPU has ever run, which its thread id shows. A kernel without the file
 * (before 6.0) does not report it; there every vCPU counts as run. */
static int has_run(int vcpu, bool *ran)
{
	uint64_t thread;
	int err = read_number(vcpu, "pid", false, &thread);

	*ran = err || thread;
	return err == -ENOENT ? 0 : err;
}

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_vm(int kvm, const struct vm *vm)
{
	char name[32];

	snprintf(name, sizeof(name), "%d-%d", vm->pid, vm->fd);
	return open_dir(kvm, name);
}

/* True if any vCPU of the VM has run; then its memory is mapped completely. */
static bool vm_has_run(int kvm, const struct vm *vm)
{
	int fd = open_vm(kvm, vm), vcpu;
	struct dirent *e;
	bool ran = false;
	DIR *dir;

	if (fd < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return false;
	}
	while (!ran && (e = readdir(dir))) {
		if (strncmp(e->d_name, "vcpu", 4))
			continue;
		vcpu = open_dir(fd, e->d_name);
		if (vcpu < 0)
			continue;
		if (has_run(vcpu, &ran))
			ran = false;
		close(vcpu);
	}
	closedir(dir);
	return ran;
}

/* Checks whether the VM is the region's. A VMM creates the VM before it maps its memory, so a
 * negative result is final only if the VM's guest had run before the check began. */
static void examine(struct xvt_clock_exact *s, int kvm, struct vm *vm)
{
	bool ran = vm_has_run(kvm, vm);
	uint64_t again;

	vm->maps = !start_time(s, vm->pid, &vm->start) && holds_vm(s, vm) &&
		   maps_region(s, vm->pid) && !start_time(s, vm->pid, &again) && again == vm->start;
	vm->settled = ran && !vm->maps;
}

static struct vm *find_vm(struct xvt_clock_exact *s, int pid, int fd, ino_t ino)
{
	size_t i;

	for (i = 0; i < s->count; i++) {
		struct vm *vm = &s->vms[i];

		if (vm->pid == pid && vm->fd == fd && vm->ino == ino)
			return vm;
	}
	return NULL;
}

static struct vm *add_vm(struct xvt_clock_exact *s, int pid, int fd, ino_t ino)
{
	if (xvt_grow(&s->vms, &s->room, s->count + 1, sizeof(*s->vms)))
		return NULL;
	s->vms[s->count] = (struct vm){ .pid = pid, .fd = fd, .ino = ino };
	return &s->vms[s->count++];
}

/* Parses "PID-FD". KVM's statistics lie in the same directory. */
static bool parse_name(const char *name, int *pid, int *fd)
{
	char rest;

	return *name >= '0' && *name <= '9' && sscanf(name, "%d-%d%c", pid, fd, &rest) == 2 &&
	       *pid > 0 && *fd >= 0;
}

static void forget_gone(struct xvt_clock_exact *s)
{
	size_t from, to = 0;

	for (from = 0; from < s->count; from++) {
		if (s->vms[from].seen)
			s->vms[to++] = s->vms[from];
	}
	s->count = to;
}

/* Updates the list of VMs. Examines only those that are not known yet. */
static int refresh(struct xvt_clock_exact *s)
{
	DIR *dir = opendir(s->kvm);
	struct dirent *e;
	int pid, fd, err = 0;
	size_t i;

	if (!dir)
		return -errno;
	s->denied = false;
	for (i = 0; i < s->count; i++)
		s->vms[i].seen = false;
	while (!err && (e = readdir(dir))) {
		struct vm *vm;

		if (!parse_name(e->d_name, &pid, &fd))
			continue;
		vm = find_vm(s, pid, fd, e->d_ino);
		if (!vm)
			vm = add_vm(s, pid, fd, e->d_ino);
		if (!vm) {
			err = -ENOMEM;
			break;
		}
		vm->seen = true;
		if (!vm->maps && !vm->settled)
			examine(s, dirfd(dir), vm);
	}
	closedir(dir);
	if (!err)
		forget_gone(s);
	return err;
}

/* --- the formula --- */

static int read_once(int vcpu, struct xvt_clock_formula *f)
{
	uint64_t offset, ratio, frac;
	int err = read_number(vcpu, "tsc-offset", true, &offset);

	if (err)
		return err;
	f->offset = (int64_t)offset;
	err = read_number(vcpu, "tsc-scaling-ratio", false, &ratio);
	if (err == -ENOENT) {
		/* The CPU cannot scale. */
		f->ratio = 1;
		f->frac = 0;
		return 0;
	}
	if (!err)
		err = read_number(vcpu, "tsc-scaling-ratio-frac-bits", false, &frac);
	if (err)
		return err == -ENOENT ? -EBADMSG : err;
	if (!ratio || frac > XVT_FORMULA_FRAC_MAX)
		return -EBADMSG;
	f->ratio = ratio;
	f->frac = (uint32_t)frac;
	return 0;
}

/* While a nested guest runs, tsc-offset is that guest's. */
static int not_nested(int vcpu)
{
	uint64_t nested;
	int err = read_number(vcpu, "guest_mode", false, &nested);

	if (err)
		return err == -ENOENT ? 0 : err;
	return nested ? -EAGAIN : 0;
}

/* The files are read one after the other while the vCPU runs. A formula counts only if all reads
 * are equal, with no nested guest before, between and after them. */
static int read_stable(int vcpu, struct xvt_clock_formula *f)
{
	struct xvt_clock_formula again;
	int i, err = not_nested(vcpu);

	if (!err)
		err = read_once(vcpu, f);
	for (i = 1; !err && i < LOOKS; i++) {
		err = not_nested(vcpu);
		if (!err)
			err = read_once(vcpu, &again);
		if (!err && !xvt_formula_equal(f, &again))
			err = -EAGAIN;
	}
	return err ? err : not_nested(vcpu);
}

/* Reads the formula of a VM's vCPU. Returns 0; -ENOENT: the VM has no such vCPU (any more), or the
 * architecture is not x86 and has no such files; -EAGAIN; or another -errno. */
static int read_vcpu(const struct xvt_clock_exact *s, int kvm, const struct vm *vm, uint32_t hw_id,
		     struct xvt_clock_formula *f, bool *ran)
{
	char name[48];
	uint64_t start;
	int fd, err;

	snprintf(name, sizeof(name), "%d-%d/vcpu%" PRIu32, vm->pid, vm->fd, hw_id);
	fd = open_dir(kvm, name);
	if (fd < 0)
		return fd;
	err = has_run(fd, ran);
	if (!err && *ran)
		err = read_stable(fd, f);
	close(fd);
	if (err)
		return err;
	/* Checked after the files: they belong to that process if it is still the same one now. */
	return start_time(s, vm->pid, &start) || start != vm->start ? -ENOENT : 0;
}

static int kvm_read(struct xvt_clock_exact *s, uint32_t hw_id, struct xvt_clock_formula *f)
{
	bool found = false, waiting = false;
	int kvm, err = refresh(s);
	size_t i;

	if (err)
		return err == -ENOENT ? -ENODEV : err;
	kvm = open_dir(AT_FDCWD, s->kvm);
	if (kvm < 0)
		return kvm;
	for (i = 0; !err && i < s->count; i++) {
		struct xvt_clock_formula one;
		bool ran = false;

		if (!s->vms[i].maps)
			continue;
		err = read_vcpu(s, kvm, &s->vms[i], hw_id, &one, &ran);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		if (err)
			break;
		waiting |= !ran;
		if (!ran)
			continue;
		if (found && !xvt_formula_equal(f, &one))
			err = -EAGAIN; /* two VMs with different formulas: neither is used */
		*f = one;
		found = true;
	}
	close(kvm);
	if (err || found)
		return err;
	return waiting ? -EAGAIN : -ENODEV;
}

/* --- opening --- */

static int find_debugfs(const struct xvt_kvm_paths *paths, char *path, size_t size)
{
	char mounts[PATH_MAX], line[2 * PATH_MAX];
	struct mntent entry, *e;
	int err = -ENODEV;
	FILE *f;

	if (paths && paths->debugfs)
		return snprintf(path, size, "%s", paths->debugfs) < (int)size ? 0 : -ENAMETOOLONG;
	if (snprintf(mounts, sizeof(mounts), "%s/mounts", proc_of(paths)) >= (int)sizeof(mounts))
		return -ENAMETOOLONG;
	f = setmntent(mounts, "re");
	if (!f)
		return -errno;
	while (err && (e = getmntent_r(f, &entry, line, sizeof(line)))) {
		if (!strcmp(e->mnt_type, "debugfs"))
			err = snprintf(path, size, "%s", e->mnt_dir) < (int)size ? 0
										 : -ENAMETOOLONG;
	}
	endmntent(f);
	return err;
}

int xvt_kvm_find(const struct xvt_kvm_paths *paths, char *path, size_t size)
{
	char debugfs[PATH_MAX];
	struct stat st;
	int err = find_debugfs(paths, debugfs, sizeof(debugfs));

	if (err == -ENODEV)
		return xvt_fail(why_of(paths), err,
				"debugfs, where KVM tells clock offsets, is not mounted; mount -t "
				"debugfs debugfs /sys/kernel/debug");
	if (!err && snprintf(path, size, "%s/kvm", debugfs) >= (int)size)
		err = -ENAMETOOLONG;
	if (!err && stat(path, &st))
		err = -errno;
	if (err == -EACCES || err == -EPERM)
		return xvt_fail(why_of(paths), -EACCES,
				"only root may read KVM's clock offsets in %s; run as root",
				debugfs);
	if (err == -ENOENT)
		return xvt_fail(why_of(paths), err, "KVM tells no clock offsets: there is no %s",
				path);
	return err ? xvt_fail(why_of(paths), err, "KVM's clock offsets: %s", strerror(-err)) : 0;
}

static void kvm_close(struct xvt_clock_exact *s)
{
	free(s->vms);
	free(s);
}

static bool any_maps(const struct xvt_clock_exact *s)
{
	size_t i;

	for (i = 0; i < s->count; i++) {
		if (s->vms[i].maps)
			return true;
	}
	return false;
}

bool xvt_clock_kvm_thread(const struct xvt_clock_exact *s, int tid)
{
	char path[PATH_MAX + 48];
	size_t i;

	for (i = 0; i < s->count; i++) {
		snprintf(path, sizeof(path), "%s/%d/task/%d", s->proc, s->vms[i].pid, tid);
		if (s->vms[i].maps && !access(path, F_OK))
			return true;
	}
	return false;
}

static int look(struct xvt_clock_exact *s, const struct xvt_kvm_paths *paths)
{
	int err = refresh(s);

	if (err == -EACCES || err == -EPERM)
		return xvt_fail(why_of(paths), -EACCES, "only root may read %s; run as root",
				s->kvm);
	if (err)
		return xvt_fail(why_of(paths), err, "%s: %s", s->kvm, strerror(-err));
	if (any_maps(s))
		return 0;
	if (s->denied)
		return xvt_fail(why_of(paths), -EACCES,
				"may not see which files the VMMs map in %s; run as root", s->proc);
	return xvt_fail(why_of(paths), -ENODEV, "no virtual machine in %s maps the region", s->kvm);
}

static int kvm_open(struct xvt_clock_exact **out, int region_fd, const void *arg)
{
	const struct xvt_kvm_paths *paths = arg;
	struct xvt_clock_exact *s;
	struct stat st;
	int err;

	if (fstat(region_fd, &st))
		return xvt_fail(why_of(paths), -errno, "the region: %s", strerror(errno));
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	if (snprintf(s->proc, sizeof(s->proc), "%s", proc_of(paths)) >= (int)sizeof(s->proc))
		err = -ENAMETOOLONG;
	else
		err = xvt_kvm_find(paths, s->kvm, sizeof(s->kvm));
	if (err == -ENOENT)
		err = -ENODEV;
	if (!err)
		err = look(s, paths);
	if (err) {
		kvm_close(s);
		return err;
	}
	*out = s;
	return 0;
}

const struct xvt_clock_exact_ops xvt_clock_kvm = {
	.name = "kvm",
	.id = XVT_SOURCE_KVM,
	.open = kvm_open,
	.read = kvm_read,
	.close = kvm_close,
};
