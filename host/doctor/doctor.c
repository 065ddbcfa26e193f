// SPDX-License-Identifier: GPL-2.0
/* doctor.c - see doctor.h. A function for each thing that is examined. */
#define _GNU_SOURCE
#include "doctor/doctor.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/loop.h"
#include "clock/kvm.h"
#include "clock/sound.h"
#include "doctor/microvm.h"
#include "rights/isolate.h"
#include "rights/sandbox.h"
#include "vmm/libvirt.h"
#include "vmm/tracing.h"

#ifdef __x86_64__
#define KVM_MODULE "modprobe kvm_amd || modprobe kvm_intel"
#define QEMU	   "qemu-system-x86_64"
#define QEMU_PKG   "qemu-system-x86"
#else
#define KVM_MODULE "modprobe kvm"
#define QEMU	   "qemu-system-aarch64"
#define QEMU_PKG   "qemu-system-arm"
#endif

#define SHM	  "/dev/shm"
#define SHM_LEAST (64ull << 20)
#define SYSTEM	  "qemu:///system"

static struct xvt_problem *problem(struct xvt_doctor *d, bool blocks, const char *fix,
				   const char *what, ...) __attribute__((format(printf, 4, 5)));

static struct xvt_problem *problem(struct xvt_doctor *d, bool blocks, const char *fix,
				   const char *what, ...)
{
	static struct xvt_problem nowhere;
	struct xvt_problem *p =
		d->nr_problems < XVT_PROBLEMS_MAX ? &d->problems[d->nr_problems++] : &nowhere;
	va_list args;

	va_start(args, what);
	vsnprintf(p->what, sizeof(p->what), what, args);
	va_end(args);
	snprintf(p->fix, sizeof(p->fix), "%s", fix);
	p->blocks = blocks;
	return p;
}

static void look_at_kvm(struct xvt_doctor *d)
{
	int err = xvt_microvm_probe();

	d->kvm_present = !err || err == -EACCES || err == -EPERM;
	d->kvm_hardware = d->kvm_present && xvt_microvm_hardware();
	if (err == -ENOENT)
		problem(d, false, KVM_MODULE " # and switch virtualization on in the firmware",
			"/dev/kvm is missing: guests run under slow software emulation");
	else if (d->kvm_present && err)
		problem(d, false, "usermod -aG kvm \"$USER\" # then log in again",
			"/dev/kvm is there, but you may not open it");
	else if (err)
		problem(d, false, KVM_MODULE, "/dev/kvm does not work: %s", strerror(-err));
	else if (!d->kvm_hardware)
		problem(d, false, QEMU " -accel tcg",
			"/dev/kvm is emulated by software (the CPU shows neither svm nor vmx): a "
			"guest "
			"kernel crawls under -accel kvm");
}

struct read_op {
	struct xvt_op op;
	int res;
	bool done;
};

static void read_done(struct xvt_op *op, int res)
{
	struct read_op *r = (struct read_op *)op;

	r->res = res;
	r->done = true;
}

/*
 * Read from a file in memory through the loop, as the recorder does. Returns 0 or -errno; *refused
 * is the -errno with which io_uring was refused, or 0.
 */
static int try_loop(int *refused)
{
	struct read_op r = { .op.done = read_done };
	struct xvt_loop *loop;
	char bytes[64];
	int fd = memfd_create("xvtrace-doctor", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = ftruncate(fd, sizeof(bytes)) ? -errno : xvt_loop_new(&loop);
	if (err) {
		close(fd);
		return err;
	}
	*refused = xvt_loop_uring_err(loop);
	err = xvt_loop_read(loop, &r.op, fd, bytes, sizeof(bytes), 0);
	while (err >= 0 && !r.done)
		err = xvt_loop_run(loop, 1000000000);
	xvt_loop_free(loop);
	close(fd);
	if (err < 0)
		return err;
	return r.res == sizeof(bytes) ? 0 : r.res < 0 ? r.res : -EIO;
}

static void look_at_io_uring(struct xvt_doctor *d)
{
	int refused = 0, err = try_loop(&refused);
	struct xvt_loop_why w = xvt_loop_why(err ? err : refused, xvt_loop_sysctl());

	d->io_uring = !err && !refused;
	if (err)
		problem(d, true, w.fix, "%s", w.why);
	else if (refused)
		problem(d, false, w.fix,
			"%s: epoll does its work, `record --drain io_uring` does not work", w.why);
}

#define READERS "report, stat, verify, export, order and salvage"

static void look_at_sandbox(struct xvt_doctor *d)
{
	int err = xvt_sandbox_check();

	d->sandbox = !err;
	if (err == -ENOPKG)
		problem(d, false, "apt-get install libseccomp2 # and build with libseccomp-dev",
			"libseccomp is not here: " READERS " read traces and regions of others "
			"without a sandbox, and the recorder keeps its system calls");
	else if (err)
		problem(d, false, "a kernel with CONFIG_SECCOMP_FILTER=y; unset " XVT_SANDBOX_ENV,
			READERS " read traces and regions of others without a sandbox: the kernel, "
				"this build or " XVT_SANDBOX_ENV "=off does not allow it");
}

/* That an ordinary user has not the capabilities for it is no problem. */
static void look_at_isolation(struct xvt_doctor *d)
{
	const unsigned int lacks = xvt_isolate_try();
	char keeps[XVT_WALLS_TEXT];

	/* Without an opener it would find no file. */
	d->empty_root = d->sandbox && !(lacks & XVT_NO_EMPTY_ROOT);
	d->namespaces = d->sandbox && !(lacks & XVT_NO_NAMESPACES);
	d->own_user = d->sandbox && !(lacks & XVT_NO_OWN_USER);
	if (lacks && !(lacks & XVT_NO_CAPABILITY))
		problem(d, false, xvt_walls_fix(lacks),
			"the recorder keeps %s: its filter alone keeps it from what these give",
			xvt_walls_keeps(lacks, keeps));
}

static void look_at_tsc(struct xvt_doctor *d)
{
	struct xvt_clock_soundness s;

	xvt_clock_soundness(&s, NULL);
	d->tsc_invariant = s.invariant;
	if (s.fault)
		problem(d, false, s.fix, "%s", s.what);
}

static void look_at_qemu(struct xvt_doctor *d)
{
	FILE *f = popen(QEMU " --version 2>/dev/null", "r");
	char line[256];

	if (!f || !fgets(line, sizeof(line), f) ||
	    sscanf(line, "QEMU emulator version %31[0-9.]", d->qemu) != 1)
		d->qemu[0] = '\0';
	if (f)
		pclose(f);
	if (!d->qemu[0])
		problem(d, false, "apt-get install " QEMU_PKG,
			QEMU
			" is not installed: no virtual machines, programs can still be recorded");
}

static void look_at_libvirt(struct xvt_doctor *d)
{
	struct xvt_error why;
	int err;

	if (xvt_libvirt_version(d->libvirt, sizeof(d->libvirt)))
		d->libvirt[0] = '\0';
	err = xvt_libvirt_reach(SYSTEM, &why);
	if (!err)
		return;
	if (err == -ENOPKG)
		problem(d, false, "apt-get install libvirt0",
			"libvirt's library is not here: record -d does not work, record -r does");
	else if (access("/run/libvirt/libvirt-sock", F_OK) &&
		 access("/run/libvirt/virtqemud-sock", F_OK))
		problem(d, false,
			"apt-get install libvirt-daemon-system; systemctl start libvirtd # or: "
			"libvirtd -d",
			"no libvirt daemon runs: record -d does not work, record -r does");
	else
		problem(d, false, "usermod -aG libvirt \"$USER\" # then log in again",
			"libvirt does not let you in (%s): record -d does not work, record -r does",
			why.text);
}

static void look_at_shm(struct xvt_doctor *d)
{
	struct statfs fs;

	if (statfs(SHM, &fs) || (unsigned long)fs.f_type != TMPFS_MAGIC) {
		problem(d, false, "mkdir -p " SHM " && mount -t tmpfs -o mode=1777 tmpfs " SHM,
			SHM " is no memory file system: regions there would be written to a disk");
		return;
	}
	if (access(SHM, R_OK | W_OK | X_OK))
		problem(d, true, "chmod 1777 " SHM, "you may not create regions in " SHM);
	if ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < SHM_LEAST)
		problem(d, false, "mount -o remount,size=1G " SHM,
			SHM " has less than %llu MiB left for regions", SHM_LEAST >> 20);
}

/* KVM's clock offsets in debugfs, if there is a KVM. */
static void look_at_offsets(struct xvt_doctor *d)
{
	char path[256];
	int err = d->kvm_present ? xvt_kvm_find(NULL, path, sizeof(path)) : 0;

	if (err && geteuid()) /* without root the mount may be invisible */
		problem(d, false, "run as root",
			"you may not read KVM's clock offsets in debugfs: guest clocks are known "
			"by "
			"handshake only");
	else if (err)
		problem(d, false,
			err == -ENODEV ? "mount -t debugfs debugfs /sys/kernel/debug" : KVM_MODULE,
			"debugfs is not mounted, or KVM is not in it: guest clocks are known by "
			"handshake only");
}

/* The host's trace events. */
static void look_at_tracefs(struct xvt_doctor *d)
{
	const char *path = xvt_tracing_dir();

	if (path && !access(path, R_OK | X_OK))
		return;
	if (geteuid()) /* without root the mount may be invisible */
		problem(d, false, "run as root", "you may not read tracefs (%s)",
			path ? path : "/sys/kernel/tracing");
	else
		problem(d, false, "mount -t tracefs tracefs /sys/kernel/tracing",
			"tracefs is not mounted at /sys/kernel/tracing");
}

static void look_at_cost(struct xvt_doctor *d)
{
	int err = xvt_cost_measure(&d->cost);
	const struct xvt_cost *c = &d->cost;

	d->cost_known = !err;
	if (err)
		problem(d, false, "run it again on an idle machine",
			"what an event costs could not be measured: %s", strerror(-err));
	if (!c->in_vm && d->kvm_present && c->vm_err != -EACCES && c->vm_err != -EPERM)
		problem(d, false, "dmesg | tail # what KVM says",
			"the micro-VM does not run: %s%s%s", strerror(-c->vm_err),
			c->vm_why.text[0] ? ", " : "", c->vm_why.text);
	if (!err && !c->has_bound)
		problem(d, false, "run it again on an idle machine",
			"no clock handshake came about within a second");
	if (c->has_bound && c->offset_refuted)
		problem(d, false, "nothing to do: xvtrace uses the handshake",
			"KVM tells a clock offset of %lld ticks that the guest does not have",
			(long long)c->offset_ticks);
}

void xvt_doctor_examine(struct xvt_doctor *d)
{
	memset(d, 0, sizeof(*d));
	look_at_io_uring(d);
	look_at_sandbox(d);
	look_at_isolation(d);
	look_at_kvm(d);
	look_at_tsc(d);
	look_at_qemu(d);
	look_at_libvirt(d);
	look_at_shm(d);
	look_at_tracefs(d);
	look_at_offsets(d);
	look_at_cost(d);
}
