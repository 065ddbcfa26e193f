// SPDX-License-Identifier: GPL-2.0
/*
 * microvm.c - the only file of host/ that includes <linux/kvm.h>. This file depends on the guest's
 * memory map and doorbell, not on the meaning of the guest's commands.
 */
#define _GNU_SOURCE
#include "doctor/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

int xvt_microvm_probe(void)
{
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC), version;

	if (fd < 0)
		return -errno;
	version = ioctl(fd, KVM_GET_API_VERSION, 0);
	close(fd);
	return version == KVM_API_VERSION ? 0 : -ENODEV;
}

#ifdef __x86_64__

#include <cpuid.h>

#define PAGE_PRESENT  0x1ull
#define PAGE_WRITABLE 0x2ull
#define PAGE_USER     0x4ull
#define PAGE_LARGE    0x80ull
#define PAGE_TABLE    (PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER)
#define PML4_AT	      0x1000u
#define PDPT_AT	      0x2000u
#define PD_AT	      0x3000u /* one for each GiB */
#define GIBS	      2u
#define CR0_PE	      0x1ull
#define CR0_NE	      0x20ull
#define CR0_PG	      0x80000000ull
#define CR4_PAE	      0x20ull
#define EFER_LME      0x100ull
#define EFER_LMA      0x400ull
#define FLAGS_ALWAYS  0x2ull

/* Linked in by guest/bare/rules.mk. */
extern const uint8_t xvt_bare_image[], xvt_bare_image_end[];

bool xvt_microvm_hardware(void)
{
	unsigned int a, b, c, d;

	if (__get_cpuid(1, &a, &b, &c, &d) && c & 1u << 5) /* vmx */
		return true;
	return __get_cpuid(0x80000001, &a, &b, &c, &d) && c & 1u << 2; /* svm */
}

static int add_memory(struct xvt_microvm *vm, uint32_t slot, uint64_t at, void *memory,
		      uint64_t size)
{
	struct kvm_userspace_memory_region area = {
		.slot = slot,
		.guest_phys_addr = at,
		.memory_size = size,
		.userspace_addr = (uint64_t)(uintptr_t)memory,
	};

	return ioctl(vm->vm_fd, KVM_SET_USER_MEMORY_REGION, &area) ? -errno : 0;
}

/* Large pages, one to one, open to ring 3: nothing in this guest needs protecting. */
static void make_page_tables(uint8_t *ram)
{
	uint64_t *pml4 = (uint64_t *)(ram + PML4_AT), *pdpt = (uint64_t *)(ram + PDPT_AT);
	uint64_t *pd = (uint64_t *)(ram + PD_AT);
	uint64_t i;

	pml4[0] = PDPT_AT | PAGE_TABLE;
	for (i = 0; i < GIBS; i++)
		pdpt[i] = (PD_AT + i * 4096) | PAGE_TABLE;
	for (i = 0; i < GIBS * 512; i++)
		pd[i] = i << 21 | PAGE_TABLE | PAGE_LARGE;
}

static int enter_long_mode(struct xvt_microvm *vm)
{
	struct kvm_segment code = {
		.limit = 0xffffffff,
		.selector = 0x08,
		.type = 11, /* code, readable, accessed */
		.present = 1,
		.s = 1,
		.l = 1,
		.g = 1,
	};
	struct kvm_regs regs = {
		.rip = XVT_BARE_IMAGE,
		.rsp = XVT_BARE_RAM_SIZE,
		.rflags = FLAGS_ALWAYS,
	};
	struct kvm_segment data = code;
	struct kvm_sregs s;

	if (ioctl(vm->vcpu_fd, KVM_GET_SREGS, &s))
		return -errno;
	data.selector = 0x10;
	data.type = 3; /* data, writable, accessed */
	data.l = 0;
	data.db = 1;
	s.cs = code;
	s.ss = s.ds = s.es = s.fs = s.gs = data;
	s.cr3 = PML4_AT;
	s.cr4 = CR4_PAE;
	s.cr0 = CR0_PE | CR0_NE | CR0_PG;
	s.efer = EFER_LME | EFER_LMA;
	if (ioctl(vm->vcpu_fd, KVM_SET_SREGS, &s) || ioctl(vm->vcpu_fd, KVM_SET_REGS, &regs))
		return -errno;
	return 0;
}

static int load_image(struct xvt_microvm *vm, const struct xvt_microvm_config *config)
{
	const void *image = config->image ? config->image : xvt_bare_image;
	size_t size =
		config->image ? config->image_size : (size_t)(xvt_bare_image_end - xvt_bare_image);

	if (size > XVT_BARE_RAM_SIZE - XVT_BARE_IMAGE)
		return -EFBIG;
	memcpy(vm->ram + XVT_BARE_IMAGE, image, size);
	return 0;
}

static int open_kvm(struct xvt_microvm *vm)
{
	vm->kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (vm->kvm_fd < 0)
		return -errno;
	if (ioctl(vm->kvm_fd, KVM_GET_API_VERSION, 0) != KVM_API_VERSION)
		return -ENODEV;
	if (ioctl(vm->kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_USER_MEMORY) <= 0)
		return -EOPNOTSUPP;
	vm->vm_fd = ioctl(vm->kvm_fd, KVM_CREATE_VM, 0);
	return vm->vm_fd < 0 ? -errno : 0;
}

static int create_vcpu(struct xvt_microvm *vm)
{
	int size;

	/* Old Intel CPUs need an address for a task state segment; others ignore it. */
	ioctl(vm->vm_fd, KVM_SET_TSS_ADDR, 0xfffbd000ul);
	vm->vcpu_fd = ioctl(vm->vm_fd, KVM_CREATE_VCPU, 0);
	if (vm->vcpu_fd < 0)
		return -errno;
	size = ioctl(vm->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (size < (int)sizeof(struct kvm_run))
		return -EOPNOTSUPP;
	vm->run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, vm->vcpu_fd, 0);
	if (vm->run == MAP_FAILED)
		return -errno;
	vm->run_size = (size_t)size;
	return enter_long_mode(vm);
}

static int set_up(struct xvt_microvm *vm, const struct xvt_microvm_config *config)
{
	int err;

	vm->ram = mmap(NULL, XVT_BARE_RAM_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (vm->ram == MAP_FAILED)
		return -errno;
	err = load_image(vm, config);
	if (err)
		return err;
	make_page_tables(vm->ram);
	err = open_kvm(vm);
	if (err)
		return err;
	err = add_memory(vm, 0, 0, vm->ram, XVT_BARE_RAM_SIZE);
	if (!err)
		err = add_memory(vm, 1, XVT_BARE_REGION, vm->region, vm->region_size);
	return err ? err : create_vcpu(vm);
}

int xvt_microvm_new(struct xvt_microvm **out, const struct xvt_microvm_config *config)
{
	struct xvt_microvm *vm;
	int err;

	if (config->region_size > XVT_BARE_REGION_MAX)
		return -EFBIG;
	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return -ENOMEM;
	vm->kvm_fd = vm->vm_fd = vm->vcpu_fd = -1;
	vm->ram = MAP_FAILED;
	vm->run = MAP_FAILED;
	vm->region = config->region;
	vm->region_size = config->region_size;
	err = set_up(vm, config);
	if (err) {
		xvt_microvm_free(vm);
		return err;
	}
	*out = vm;
	return 0;
}

void xvt_microvm_free(struct xvt_microvm *vm)
{
	if (!vm)
		return;
	if (vm->run != MAP_FAILED)
		munmap(vm->run, vm->run_size);
	if (vm->vcpu_fd >= 0)
		close(vm->vcpu_fd);
	if (vm->vm_fd >= 0)
		close(vm->vm_fd);
	if (vm->kvm_fd >= 0)
		close(vm->kvm_fd);
	if (vm->ram != MAP_FAILED)
		munmap(vm->ram, XVT_BARE_RAM_SIZE);
	free(vm);
}

struct xvt_bare_page *xvt_microvm_page(struct xvt_microvm *vm)
{
	return (struct xvt_bare_page *)(vm->ram + XVT_BARE_PAGE);
}

const char *xvt_microvm_why(const struct xvt_microvm *vm)
{
	return vm->why;
}

int xvt_microvm_died(struct xvt_microvm *vm, const char *how, uint64_t value)
{
	snprintf(vm->why, sizeof(vm->why), "%s %#" PRIx64, how, value);
	return -EIO;
}

static int doorbell(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	const struct kvm_run *run = vm->run;
	uint64_t at = run->mmio.phys_addr - XVT_BARE_DOORBELL;

	if (!run->mmio.is_write || run->mmio.len != 8 || at & 7 || at / 8 > XVT_BARE_PANIC)
		return xvt_microvm_died(vm, "an access outside of its memory, at",
					run->mmio.phys_addr);
	why->signal = (uint32_t)(at / 8);
	memcpy(&why->value, run->mmio.data, sizeof(why->value));
	if (why->signal == XVT_BARE_PANIC)
		return xvt_microvm_died(vm, "an exception, vector and address", why->value);
	vm->settled = false;
	return 0;
}

int xvt_microvm_run(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	memset(why, 0, sizeof(*why));
	while (ioctl(vm->vcpu_fd, KVM_RUN, 0)) {
		if (errno != EINTR && errno != EAGAIN)
			return xvt_microvm_died(vm, "KVM_RUN, errno", (uint64_t)errno);
	}
	vm->settled = true;
	switch (vm->run->exit_reason) {
	case KVM_EXIT_MMIO:
		return doorbell(vm, why);
	case KVM_EXIT_DEBUG:
		why->stepped = true;
		return 0;
	case KVM_EXIT_INTERNAL_ERROR:
		return xvt_microvm_died(vm, "KVM gave up, suberror", vm->run->internal.suberror);
	default:
		return xvt_microvm_died(vm, "KVM exit", vm->run->exit_reason);
	}
}

static int tsc_offset_ioctl(struct xvt_microvm *vm, unsigned long request, int64_t *offset)
{
	struct kvm_device_attr attr = {
		.group = KVM_VCPU_TSC_CTRL,
		.attr = KVM_VCPU_TSC_OFFSET,
		.addr = (uint64_t)(uintptr_t)offset,
	};

	return ioctl(vm->vcpu_fd, request, &attr) ? -errno : 0;
}

int xvt_microvm_tsc_offset(struct xvt_microvm *vm, int64_t *offset)
{
	return tsc_offset_ioctl(vm, KVM_GET_DEVICE_ATTR, offset);
}

int xvt_microvm_set_tsc_offset(struct xvt_microvm *vm, int64_t offset)
{
	return tsc_offset_ioctl(vm, KVM_SET_DEVICE_ATTR, &offset);
}

int xvt_microvm_get_clock(struct xvt_microvm *vm, struct xvt_microvm_clock *c)
{
	const uint32_t needed = KVM_CLOCK_TSC_STABLE | KVM_CLOCK_REALTIME | KVM_CLOCK_HOST_TSC;
	struct kvm_clock_data data = { 0 };

	if (ioctl(vm->vm_fd, KVM_GET_CLOCK, &data))
		return -errno;
	if ((data.flags & needed) != needed)
		return -EOPNOTSUPP;
	c->kvmclock_ns = data.clock;
	c->realtime_ns = data.realtime;
	c->host_tsc = data.host_tsc;
	return 0;
}

#else /* the micro-VM is x86-64 only; elsewhere its users measure without it */

bool xvt_microvm_hardware(void)
{
	return xvt_microvm_probe() == 0;
}

int xvt_microvm_new(struct xvt_microvm **out, const struct xvt_microvm_config *config)
{
	(void)out;
	(void)config;
	return -EOPNOTSUPP;
}

void xvt_microvm_free(struct xvt_microvm *vm)
{
	(void)vm;
}

#endif
