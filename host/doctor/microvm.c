// SPDX-License-Identifier: GPL-2.0
/*
 * microvm.c - the only file that includes <linux/kvm.h>. It depends on the guest's memory map and
 * doorbell, not on the meaning of the guest's commands.
 *
 * An ioctl costs about as much as 10 instructions of a guest that is emulated by software, so
 * registers travel in the page that is shared with KVM_RUN (KVM_CAP_SYNC_REGS).
 *
 * Interrupts are delivered with single-stepping off. With single-stepping on, the debugger's trap
 * flag would be pushed with the guest's flags and restored by iret. The guest's handlers signal at
 * their first instructions, so the caller can step from there.
 */
#define _GNU_SOURCE
#include "doctor/microvm.h"

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
#define FLAGS_IF      0x200ull
#define ALL_REGS      (KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS | KVM_SYNC_X86_EVENTS)

struct xvt_microvm {
	int kvm_fd, vm_fd, vcpu_fd;
	struct kvm_run *run;
	size_t run_size;
	uint8_t *ram;
	uint8_t *region;
	uint64_t region_size;
	bool stepping;
	bool settled; /* run->s.regs are the current registers */
	char why[128];
};

struct xvt_microvm_state {
	struct kvm_sync_regs cpu;
	uint64_t region_size;
	uint8_t ram[XVT_BARE_RAM_SIZE];
	uint8_t region[];
};

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
	static const int needed[] = { KVM_CAP_USER_MEMORY, KVM_CAP_SET_GUEST_DEBUG,
				      KVM_CAP_VCPU_EVENTS, KVM_CAP_IMMEDIATE_EXIT,
				      KVM_CAP_USER_NMI };
	size_t i;
	int regs;

	vm->kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (vm->kvm_fd < 0)
		return -errno;
	if (ioctl(vm->kvm_fd, KVM_GET_API_VERSION, 0) != KVM_API_VERSION)
		return -ENODEV;
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (ioctl(vm->kvm_fd, KVM_CHECK_EXTENSION, needed[i]) <= 0)
			return -EOPNOTSUPP;
	}
	regs = ioctl(vm->kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS);
	if (regs < 0 || (regs & ALL_REGS) != ALL_REGS)
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
	vm->run->kvm_valid_regs = ALL_REGS;
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

static int died(struct xvt_microvm *vm, const char *how, uint64_t value)
{
	snprintf(vm->why, sizeof(vm->why), "%s %#" PRIx64, how, value);
	return -EIO;
}

/*
 * Bring run->s.regs up to date: a store to the doorbell completes only when the vCPU is entered
 * again, and queued interrupts are not in the registers before. Runs no instruction.
 */
static int settle(struct xvt_microvm *vm)
{
	if (vm->settled)
		return 0;
	vm->run->immediate_exit = 1;
	if (ioctl(vm->vcpu_fd, KVM_RUN, 0) && errno != EINTR)
		return died(vm, "KVM_RUN, errno", (uint64_t)errno);
	vm->run->immediate_exit = 0;
	vm->settled = true;
	return 0;
}

/* Also write changed registers to KVM: other ioctls act on KVM's copy, and a later write of the
 * registers would undo them. */
static int settle_both(struct xvt_microvm *vm)
{
	if (vm->run->kvm_dirty_regs)
		vm->settled = false;
	return settle(vm);
}

static int doorbell(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	const struct kvm_run *run = vm->run;
	uint64_t at = run->mmio.phys_addr - XVT_BARE_DOORBELL;

	if (!run->mmio.is_write || run->mmio.len != 8 || at & 7 || at / 8 > XVT_BARE_PANIC)
		return died(vm, "an access outside of its memory, at", run->mmio.phys_addr);
	why->signal = (uint32_t)(at / 8);
	memcpy(&why->value, run->mmio.data, sizeof(why->value));
	if (why->signal == XVT_BARE_PANIC)
		return died(vm, "an exception, vector and address", why->value);
	vm->settled = false;
	return 0;
}

static int set_stepping(struct xvt_microvm *vm, bool on)
{
	struct kvm_guest_debug debug = {
		.control = on ? KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP : 0,
	};
	int err;

	if (vm->stepping == on)
		return 0;
	err = settle_both(vm);
	if (err)
		return err;
	if (ioctl(vm->vcpu_fd, KVM_SET_GUEST_DEBUG, &debug))
		return died(vm, "KVM_SET_GUEST_DEBUG, errno", (uint64_t)errno);
	vm->stepping = on;
	return 0;
}

static int enter(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	memset(why, 0, sizeof(*why));
	while (ioctl(vm->vcpu_fd, KVM_RUN, 0)) {
		if (errno != EINTR && errno != EAGAIN)
			return died(vm, "KVM_RUN, errno", (uint64_t)errno);
	}
	vm->settled = true;
	switch (vm->run->exit_reason) {
	case KVM_EXIT_MMIO:
		return doorbell(vm, why);
	case KVM_EXIT_DEBUG:
		why->stepped = true;
		return 0;
	case KVM_EXIT_INTERNAL_ERROR:
		return died(vm, "KVM gave up, suberror", vm->run->internal.suberror);
	default:
		return died(vm, "KVM exit", vm->run->exit_reason);
	}
}

int xvt_microvm_run(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	int err = set_stepping(vm, false);

	return err ? err : enter(vm, why);
}

int xvt_microvm_step(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	int err = set_stepping(vm, true);

	return err ? err : enter(vm, why);
}

uint64_t xvt_microvm_rip(struct xvt_microvm *vm, bool *interrupts_on)
{
	const struct kvm_regs *regs = &vm->run->s.regs.regs;

	*interrupts_on = false;
	if (settle(vm))
		return 0; /* no address of the guest's code */
	*interrupts_on = regs->rflags & FLAGS_IF;
	return regs->rip;
}

const uint8_t *xvt_microvm_memory(const struct xvt_microvm *vm)
{
	return vm->ram;
}

/* Prepare for an interrupt or NMI before the next instruction. Returns 0, -EBUSY if the CPU accepts
 * none there, or -EIO. */
static int may_interrupt(struct xvt_microvm *vm, bool nmi)
{
	const struct kvm_vcpu_events *e = &vm->run->s.regs.events;
	int err = settle_both(vm);

	if (err)
		return err;
	if (e->exception.injected || e->interrupt.injected || e->interrupt.shadow ||
	    e->nmi.injected || e->nmi.pending)
		return -EBUSY;
	if (nmi ? e->nmi.masked : !(vm->run->s.regs.regs.rflags & FLAGS_IF))
		return -EBUSY;
	err = set_stepping(vm, false);
	vm->settled = false;
	return err;
}

int xvt_microvm_irq(struct xvt_microvm *vm, uint32_t vector)
{
	struct kvm_interrupt irq = { .irq = vector };
	int err = may_interrupt(vm, false);

	if (err)
		return err;
	/* Without an interrupt controller KVM does not check whether the CPU accepts it. */
	return ioctl(vm->vcpu_fd, KVM_INTERRUPT, &irq) ? -errno : 0;
}

int xvt_microvm_nmi(struct xvt_microvm *vm)
{
	int err = may_interrupt(vm, true);

	if (err)
		return err;
	return ioctl(vm->vcpu_fd, KVM_NMI, 0) ? -errno : 0;
}

/* The frame that the CPU pushes for an interrupt. */
struct frame {
	uint64_t rip, cs, flags, rsp, ss;
};

/*
 * Make interrupt handlers that are running return to ring 3. A frame is recognised by its segments
 * and by a stack pointer that fits the frame's own address. A stale frame of an earlier interrupt
 * is changed too, which has no effect.
 */
static void frames_to_user(struct xvt_microvm *vm, uint64_t rsp)
{
	uint64_t at;

	for (at = (rsp + 7) & ~7ull; at <= XVT_BARE_RAM_SIZE - sizeof(struct frame); at += 8) {
		struct frame *f = (struct frame *)(vm->ram + at);

		if (f->cs == XVT_BARE_CODE_RING0 && f->ss == XVT_BARE_DATA_RING0 &&
		    (f->rsp & ~15ull) == at + sizeof(*f)) {
			f->cs = XVT_BARE_CODE_RING3;
			f->ss = XVT_BARE_DATA_RING3;
		}
	}
}

int xvt_microvm_to_user(struct xvt_microvm *vm)
{
	struct kvm_sregs *s = &vm->run->s.regs.sregs;
	int err = settle(vm);

	if (err || s->cs.dpl == 3)
		return err;
	s->cs.selector = XVT_BARE_CODE_RING3;
	s->ss.selector = XVT_BARE_DATA_RING3;
	s->cs.dpl = s->ss.dpl = 3;
	vm->run->kvm_dirty_regs |= KVM_SYNC_X86_SREGS;
	frames_to_user(vm, vm->run->s.regs.regs.rsp);
	return 0;
}

int xvt_microvm_save(struct xvt_microvm *vm, struct xvt_microvm_state **state)
{
	struct xvt_microvm_state *s = *state;
	int err;

	if (!s) {
		s = malloc(sizeof(*s) + vm->region_size);
		if (!s)
			return -ENOMEM;
		s->region_size = vm->region_size;
		*state = s;
	}
	if (s->region_size != vm->region_size)
		return -EINVAL;
	err = settle(vm);
	if (err)
		return err;
	s->cpu = vm->run->s.regs;
	memcpy(s->ram, vm->ram, XVT_BARE_RAM_SIZE);
	memcpy(s->region, vm->region, vm->region_size);
	return 0;
}

/* Register sets to write to KVM at the next entry. Segments and events are expensive and seldom
 * differ. */
static uint64_t changed(const struct kvm_sync_regs *a, const struct kvm_sync_regs *b)
{
	return KVM_SYNC_X86_REGS |
	       (memcmp(&a->sregs, &b->sregs, sizeof(a->sregs)) ? KVM_SYNC_X86_SREGS : 0) |
	       (memcmp(&a->events, &b->events, sizeof(a->events)) ? KVM_SYNC_X86_EVENTS : 0);
}

int xvt_microvm_restore(struct xvt_microvm *vm, const struct xvt_microvm_state *s)
{
	int err;

	if (s->region_size != vm->region_size)
		return -EINVAL;
	err = set_stepping(vm, false); /* KVM stores the address where a step began */
	if (!err)
		err = settle(vm);
	if (err)
		return err;
	memcpy(vm->ram, s->ram, XVT_BARE_RAM_SIZE);
	memcpy(vm->region, s->region, vm->region_size);
	vm->run->kvm_dirty_regs |= changed(&vm->run->s.regs, &s->cpu);
	vm->run->s.regs = s->cpu;
	return 0;
}

void xvt_microvm_state_free(struct xvt_microvm_state *state)
{
	free(state);
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
