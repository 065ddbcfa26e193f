// SPDX-License-Identifier: GPL-2.0
/*
 * control.c - see control.h.
 *
 * An ioctl costs about as much as 10 instructions of a guest that is emulated by software, so
 * registers travel in the page that is shared with KVM_RUN (KVM_CAP_SYNC_REGS).
 *
 * Interrupts are delivered with single-stepping off. With single-stepping on, the debugger's trap
 * flag would be pushed with the guest's flags and restored by iret. The guest's handlers signal at
 * their first instructions, so the caller can step from there.
 */
#include "control.h"

#include <errno.h>
#include <linux/kvm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "doctor/parts.h"

#define FLAGS_IF 0x200ull
#define ALL_REGS (KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS | KVM_SYNC_X86_EVENTS)

struct xvt_microvm_state {
	struct kvm_sync_regs cpu;
	uint64_t region_size;
	uint8_t ram[XVT_BARE_RAM_SIZE];
	uint8_t region[];
};

int xvt_microvm_take_control(struct xvt_microvm *vm)
{
	static const int needed[] = { KVM_CAP_SET_GUEST_DEBUG, KVM_CAP_VCPU_EVENTS,
				      KVM_CAP_IMMEDIATE_EXIT, KVM_CAP_USER_NMI };
	int regs = ioctl(vm->kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS);

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (ioctl(vm->kvm_fd, KVM_CHECK_EXTENSION, needed[i]) <= 0)
			return -EOPNOTSUPP;
	}
	if (regs < 0 || (regs & ALL_REGS) != ALL_REGS)
		return -EOPNOTSUPP;
	vm->run->kvm_valid_regs = ALL_REGS;
	return 0;
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
		return xvt_microvm_died(vm, "KVM_RUN, errno", (uint64_t)errno);
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
		return xvt_microvm_died(vm, "KVM_SET_GUEST_DEBUG, errno", (uint64_t)errno);
	vm->stepping = on;
	return 0;
}

int xvt_microvm_go(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	int err = set_stepping(vm, false);

	return err ? err : xvt_microvm_run(vm, why);
}

int xvt_microvm_step(struct xvt_microvm *vm, struct xvt_microvm_exit *why)
{
	int err = set_stepping(vm, true);

	return err ? err : xvt_microvm_run(vm, why);
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
