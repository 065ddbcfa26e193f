// SPDX-License-Identifier: GPL-2.0
/*
 * machine.c - a machine of a recording: its region, its rings and its memory. Everything read from
 * the region is copied and checked first.
 */
#define _GNU_SOURCE
#include "base/lock.h"
#include "base/machine_name.h"
#include "base/user.h"
#include "session/parts.h"
#include "vmm/processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RINGS_MAX (XVT_EVENT_RING_MASK + 1)

void xvt_vm_gone(struct xvt_session *s, struct xvt_vm *vm, const char *why)
{
	uint32_t i;

	if (vm->phase == XVT_VM_GONE)
		return;
	snprintf(vm->why, sizeof(vm->why), "%s", why);
	vm->waits.failed = true;
	xvt_session_note(s, 2, vm, UINT32_MAX, "%s; nothing more is read from %s", why, vm->path);
	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i]) {
			xvt_drain_release(vm->rings[i], true);
			xvt_ring_set_phase(vm->rings[i], XVT_PHASE_BROKEN);
			vm->rings[i]->clock.map.closed = true;
			xvt_clock_pages_fini(&vm->rings[i]->measure.pages);
		}
	}
	xvt_vm_set_state(vm, xvt_vm_stop_wanted(vm) ? XVT_STATE_LOST : XVT_STATE_GONE);
}

/* The rate before any measurement: the host's, if both use the same counter. The host of a salvaged
 * region may have been another one. */
static uint64_t presumed_hz(const struct xvt_session *s, const struct xvt_host_region *region)
{
	uint64_t hz = region->hdr.clock_hz;

	if ((!is_salvage(s) && region->hdr.clock_id == s->clock.clock_id) ||
	    !xvt_clock_plausible_hz(hz))
		return s->clock.hz;
	return hz;
}

void xvt_vm_tell_attached(const struct xvt_session *s, struct xvt_vm *vm)
{
	uint64_t id = s->attach_id;

	/* A snapshot only needs the guest to answer soon. The snapshot takes nothing, so the mark
	 * of a dead recorder stays; and if the snapshot dies, nothing is missing. */
	if (is_snapshot(s))
		id = vm->span.found_attach_id ? vm->span.found_attach_id : XVT_ATTACH_LOOKS;
	xvt_store(&xvt_host_region_page(&vm->region)->attach_id, id);
}

static void free_rings(struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++)
		free(vm->rings[i]);
	free(vm->rings);
	free(vm->parked);
	vm->rings = NULL;
	vm->parked = NULL;
}

/* Make the rings that are in use; all of a machine whose writer is the recorder. Returns 0 or
 * -ENOMEM. */
static int make_used(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;
	size_t used = 0;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (!vm->own && xvt_vm_ring_rests_unused(vm, i))
			continue;
		if (xvt_vm_make_ring(s, vm, i, ++used))
			return -ENOMEM;
	}
	return 0;
}

int xvt_vm_make_rings(struct xvt_session *s, struct xvt_vm *vm)
{
	const uint32_t n = vm->region.g.ring_count;

	vm->rings = calloc(n, sizeof(*vm->rings));
	vm->parked = calloc(n, sizeof(*vm->parked));
	if (!vm->rings || !vm->parked || make_used(s, vm)) {
		free_rings(vm);
		return -ENOMEM;
	}
	xvt_pool_count(&vm->pool, (uint64_t)n * XVT_REST_BYTES, true); /* never returned */
	if (is_recording(s)) /* without memory they are not counted */
		vm->metadata.types = calloc(1, sizeof(*vm->metadata.types));
	vm->clocks.guest_hz = presumed_hz(s, &vm->region);
	vm->table.first_id = s->table.next_ring;
	s->table.next_ring += n;
	s->table.nr_places += n;
	return 0;
}

/* Limit the machine's rings to rings_max. */
static void limit_rings(struct xvt_vm *vm)
{
	if (vm->region.g.ring_count <= vm->table.rings_max)
		return;
	vm->table.rings_more = vm->region.g.ring_count - vm->table.rings_max;
	vm->region.g.ring_count = vm->table.rings_max;
}

/* Events attempted in the rings that are not recorded, by the guest's counters. */
static uint64_t attempted_in_more(const struct xvt_vm *vm)
{
	const uint32_t from = vm->region.g.ring_count;
	uint64_t sum = 0;
	uint32_t i;

	for (i = from; i < from + vm->table.rings_more; i++)
		sum += xvt_load(&xvt_host_ring_ctl(&vm->region, i)->attempted);
	return sum;
}

static void tell_more(struct xvt_session *s, struct xvt_vm *vm)
{
	if (!vm->table.rings_more)
		return;
	vm->table.more_attempted = attempted_in_more(vm);
	xvt_session_note(s, 1, vm, UINT32_MAX,
			 "its region has %u rings; the first %u are recorded, %u are not (raise "
			 "that by -r NAME=REGION,rings=N)",
			 vm->region.g.ring_count + vm->table.rings_more, vm->region.g.ring_count,
			 vm->table.rings_more);
}

void xvt_vm_tell_unrecorded(struct xvt_session *s, struct xvt_vm *vm)
{
	uint64_t events;

	if (!vm->table.rings_more || vm->phase != XVT_VM_ATTACHED)
		return;
	events = attempted_in_more(vm) - vm->table.more_attempted;
	if (events)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "%" PRIu64 " events were attempted in the %u rings that are not "
				 "recorded, by its guest's own counters",
				 events, vm->table.rings_more);
}

/* Tell what is known of the recorder whose mark the region has. taken: it is a copy of the
 * original's, and begins where that ended. */
static void tell_found(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_vm *original,
		       bool taken)
{
	const uint64_t id = __builtin_bswap64(vm->span.found_attach_id);

	if (taken)
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "its region is a copy of that of %s: it goes on where that ends",
				 original->name);
	else if (original)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "its region is a copy of that of %s, %s: events that were in its "
				 "rings then may be in the trace for both machines",
				 original->name,
				 original->vmm.vcpus_off
					 ? "whose events were not all written in time"
					 : "which was not reported to have ended");
	else if (vm->vmm.arrived)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "it was recorded where it came from (trace %016" PRIx64
				 "): events that were in its rings then may be in both traces, and "
				 "what the rings had lost is counted as overwritten here",
				 id);
	else
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "an earlier recorder did not end in order (trace %016" PRIx64
				 "); events that it had taken and not written are counted as "
				 "overwritten here",
				 id);
}

/* Attach to a formatted region. The geometry, copied by the check, is fixed from here on. */
static int vm_attach(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_vm *original)
{
	uint32_t i, n = vm->region.g.ring_count;
	const bool taken = xvt_vm_take_copy(vm, original);
	bool died; /* the previous recorder */
	int err;

	err = xvt_relayed_attach(vm);
	if (!err)
		err = xvt_vm_make_rings(s, vm);
	if (err)
		return err;
	xvt_vm_announce(s, vm);
	tell_more(s, vm);
	xvt_vm_panics_begin(s, vm);
	died = !is_snapshot(s) && vm->span.found_attach_id &&
	       vm->span.found_attach_id != XVT_ATTACH_LOOKS;
	for (i = 0; i < n; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (!r)
			continue;
		xvt_vm_init_ring(s, vm, i);
		r->decode.unaccounted_before = died && !taken && !r->relayed;
		xvt_ring_attach(r);
		xvt_session_list_ring(s, r);
		/* A ring taken over after a recorder's death may have no writer any more; its
		 * records are emitted all the same. */
		if (r->account.took_over && r->drain.last.attempted)
			xvt_ring_announce(s, r);
	}
	xvt_vm_set_state(vm, XVT_STATE_RECORDED);
	/* Metadata that is there already, also if no ring is in use yet. */
	vm->metadata.more = true;
	xvt_session_stall_attach(s, vm);
	if (!is_snapshot(s))
		xvt_session_wake_attach(vm);
	xvt_vm_tell_attached(s, vm);
	if (died && vm->relay.of)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "an earlier recorder did not end in order: events that it had "
				 "taken and not written are in no trace, and are not counted");
	else if (died)
		tell_found(s, vm, original, taken);
	xvt_vm_send_request(s, vm, xvt_vm_generation(s, vm));
	return 0;
}

int xvt_vm_try_attach(struct xvt_session *s, struct xvt_vm *vm, struct xvt_error *why)
{
	const struct xvt_vm *original;
	int err = xvt_host_region_check(&vm->region);

	if (err == -EAGAIN)
		return 0; /* still waiting */
	if (err) {
		xvt_fault_text(&vm->region.fault, why->text, sizeof(why->text));
		return err;
	}
	err = is_recording(s) ? 0 : xvt_relayed_refused(&vm->region, why);
	if (err)
		return err;
	err = s->opt.drain_reads ? xvt_host_region_readable(&vm->region) : 0;
	if (err)
		return xvt_fail(
			why, err,
			"its file can be mapped, but not read (%s); record it with --drain mapped",
			strerror(-err));
	vm->span.found_attach_id = xvt_load(&xvt_host_region_page(&vm->region)->attach_id);
	original = xvt_vm_original(s, vm);
	if (xvt_vm_copy_waits(vm, original))
		return 0;
	limit_rings(vm);
	/* Rings of machines that are gone are in the file; their numbers are not reused. */
	if (vm->region.g.ring_count > RINGS_MAX - s->table.next_ring)
		return xvt_fail(
			why, -EOVERFLOW,
			"its %u rings are too many beside the %u that this trace has had: events "
			"have numbers for %u",
			vm->region.g.ring_count, s->table.next_ring, RINGS_MAX);
	err = vm_attach(s, vm, original);
	if (err)
		xvt_fail(why, 0, "%s", strerror(-err));
	return err;
}

void xvt_session_share_memory(struct xvt_session *s)
{
	size_t i;

	xvt_session_share(s);
	for (i = 0; i < s->nr_vms; i++)
		xvt_pool_resize(&s->vms[i]->pool, (s->opt.memory_bytes - s->pool.budget) /
							  xvt_session_sharing(s, s->vms[i]));
}

const char *xvt_vm_absent_hint(const struct xvt_vm *vm)
{
	const struct xvt_mapped_file file = { vm->file.dev, vm->file.ino };
	static char copied[256];
	pid_t pid;

	if (vm->phase != XVT_VM_WAITING)
		return "";
	if (vm->passive)
		return ". Its kernel has no ring in that memory: is it 6.12 or newer, and does its "
		       "command line map one there (trace_instance=, docs/guest.md)?";
	pid = xvt_file_copied_by(&file);
	snprintf(copied, sizeof(copied),
		 ". Process %d has mapped a copy of its region, so what the guest writes stays "
		 "there: the memory-backend-file of its QEMU needs share=on (docs/guest.md)",
		 pid);
	if (pid)
		return copied;
	return ". No guest has formatted its region: is the module loaded, and what does the "
	       "guest's log say (dmesg | grep -i -e xvtrace -e 'BAR 2')? If it has a region, "
	       "QEMU's "
	       "memory-backend-file needs share=on: without, the guest writes into a copy. A "
	       "device that was plugged into a running q35 machine has no address for BAR 2 unless "
	       "its pcie-root-port has room: pref64-reserve=SIZE (docs/guest.md)";
}

void xvt_vm_free(struct xvt_vm *vm)
{
	xvt_pool_fini(&vm->pool);
	free(vm->metadata.seen);
	free(vm->metadata.types);
	free(vm->request.lines);
	xvt_session_exact_close(vm);
	free(vm->rings);
	free(vm->parked);
	xvt_host_region_close(&vm->region);
	xvt_relayed_free(vm);
	xvt_passive_free(vm);
	free(vm);
}

/* The machine whose region is the same file; NULL: none. */
static const struct xvt_vm *of_same_file(const struct xvt_session *s, const struct xvt_vm *vm)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *other = s->vms[i];

		if (other != vm && other->phase != XVT_VM_GONE && other->file.ino == vm->file.ino &&
		    other->file.dev == vm->file.dev)
			return other;
	}
	return NULL;
}

/* Why the region cannot be claimed: the process that has it, as far as it can be seen. */
static void say_at_work(const struct xvt_session *s, const struct xvt_vm *vm, struct xvt_error *why)
{
	const struct xvt_mapped_file file = { vm->file.dev, vm->file.ino };
	const pid_t pid = xvt_file_locker(&file);
	char process[512] = "";

	if (pid > 0)
		xvt_process_describe(pid, process, sizeof(process));
	xvt_fail(why, 0, "another xvtrace is at work on this region%s%s; end it first%s",
		 pid > 0 ? ": " : "", process,
		 is_snapshot(s) ? ", or have it keep a snapshot by `xvtrace control snapshot`"
				: "");
}

/* Open the region and claim it for this recorder. */
static int open_region(struct xvt_session *s, struct xvt_vm *vm, struct xvt_error *why)
{
	const struct xvt_vm *other;
	int err = xvt_host_region_open(&vm->region, vm->path, true);

	err = xvt_vm_opened(s, vm, vm->region.fd, err, why);
	if (err)
		return err;
	/* The passes of a recording do not wait for anything. */
	err = xvt_host_region_claim(&vm->region, s->passes.number ? 0 : XVT_LOCK_START_MS);
	other = err ? of_same_file(s, vm) : NULL;
	if (other)
		xvt_fail(
			why, 0,
			"its region is that of %s, which is recorded already; each machine needs a "
			"region of its own (a cloned domain has the <shmem> of its origin)",
			other->name);
	else if (err)
		say_at_work(s, vm, why);
	return err;
}

struct xvt_vm *xvt_vm_new(struct xvt_session *s, const char *name, const char *path)
{
	struct xvt_vm **grown = realloc(s->vms, (s->nr_vms + 1) * sizeof(*grown));
	struct xvt_vm *vm = calloc(1, sizeof(*vm));

	s->vms = grown ? grown : s->vms;
	if (!grown || !vm || xvt_session_own(s, vm, xvt_user())) {
		free(vm);
		return NULL;
	}
	snprintf(vm->name, sizeof(vm->name), "%s", name);
	snprintf(vm->chain.first_name, sizeof(vm->chain.first_name), "%s", name);
	snprintf(vm->path, sizeof(vm->path), "%s", path);
	vm->session = s;
	vm->span.begin_clock = xvt_clock_read();
	vm->id = vm->chain.space_of = s->table.next_vm;
	xvt_pool_init(&vm->pool, 0);
	vm->pool.common = &s->pool;
	vm->pool.lent = &vm->owner->lent;
	vm->pool.arena = s->pool.arena;
	return vm;
}

void xvt_vm_add(struct xvt_session *s, struct xvt_vm *vm)
{
	s->vms[s->nr_vms++] = vm;
	s->table.next_vm++;
	xvt_session_share_memory(s);
}

int xvt_vm_add_region(struct xvt_session *s, const char *name, const char *path,
		      const uint8_t uuid[16], bool named, uint32_t rings_max, struct xvt_error *why)
{
	struct xvt_vm *vm = xvt_vm_new(s, name, path);
	int err;

	if (!vm)
		return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
	if (uuid)
		memcpy(vm->uuid, uuid, sizeof(vm->uuid));
	vm->table.rings_max = rings_max;
	vm->named = named;
	err = open_region(s, vm, why);
	if (err) {
		xvt_vm_free(vm);
		return err;
	}
	xvt_vm_add(s, vm);
	err = xvt_vm_try_attach(s, vm, why);
	if (err) { /* the trace has nothing of the machine yet */
		s->nr_vms--;
		s->table.next_vm--;
		xvt_session_share_memory(s);
		xvt_vm_free(vm);
	}
	return err;
}

struct xvt_vm *xvt_session_find(const struct xvt_session *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (xvt_machine_same(s->vms[i]->name, name))
			return s->vms[i];
	}
	return NULL;
}

struct xvt_vm *xvt_session_vm(const struct xvt_session *s, size_t i)
{
	return i < s->nr_vms ? s->vms[i] : NULL;
}

bool xvt_session_has_region(const struct xvt_session *s, const char *path)
{
	char file[sizeof(s->vms[0]->path)];
	struct stat st;
	size_t i, len;
	bool there;

	if (xvt_session_path_is_ftrace(path, &len)) {
		snprintf(file, sizeof(file), "%.*s", (int)len, path + strlen(XVT_FTRACE_PATH));
		path = file;
	}
	there = !stat(path, &st);

	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *vm = s->vms[i];

		if (!strcmp(vm->path, path) ||
		    (there && vm->phase != XVT_VM_GONE && vm->file.ino == st.st_ino &&
		     vm->file.dev == st.st_dev))
			return true;
	}
	return false;
}

const char *xvt_session_vm_first_name(const struct xvt_vm *vm)
{
	return vm->chain.first_name;
}

const char *xvt_session_vm_name(const struct xvt_vm *vm)
{
	return vm->name;
}

bool xvt_session_vm_is_host(const struct xvt_vm *vm)
{
	return xvt_vm_is_host(vm);
}

bool xvt_session_vm_is_ftrace(const struct xvt_vm *vm)
{
	return vm->passive;
}

const char *xvt_session_vm_path(const struct xvt_vm *vm)
{
	return vm->path;
}

uint32_t xvt_session_vm_rings_most(const struct xvt_vm *vm)
{
	return vm->table.rings_max;
}

const uint8_t *xvt_session_vm_uuid(const struct xvt_vm *vm)
{
	return vm->uuid;
}

void xvt_session_vm_trust_clock(struct xvt_vm *vm)
{
	vm->exact.trusts_guest = true;
}

size_t xvt_session_present(const struct xvt_session *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->nr_vms; i++)
		n += s->vms[i]->phase != XVT_VM_GONE;
	return n;
}

size_t xvt_session_machines(const struct xvt_session *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->nr_vms; i++)
		n += !xvt_vm_is_host(s->vms[i]) && !s->vms[i]->chain.earlier;
	return n;
}

size_t xvt_session_alive(const struct xvt_session *s)
{
	size_t i, n = xvt_session_present(s);

	for (i = 0; i < s->nr_vms; i++)
		n -= xvt_vm_is_host(s->vms[i]) && s->vms[i]->phase != XVT_VM_GONE;
	return n;
}
