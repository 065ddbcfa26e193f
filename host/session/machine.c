// SPDX-License-Identifier: GPL-2.0
/*
 * machine.c - a machine of a recording: its region, its rings, its metadata, and the requests to
 * its guest. Everything read from the region is copied and checked first.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define META_PASS_BYTES	  (1u << 20)
#define RINGS_MAX	  (XVT_EVENT_RING_MASK + 1)

#define REQUEST_NOTES_MAX 64u /* notes about answers to requests, for each machine */

void xvt_vm_gone(struct xvt_session *s, struct xvt_vm *vm, const char *why)
{
	uint32_t i;

	if (vm->phase == XVT_VM_GONE)
		return;
	snprintf(vm->why, sizeof(vm->why), "%s", why);
	xvt_session_note(s, 2, vm, UINT32_MAX, "%s; nothing more is read from %s", why, vm->path);
	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i]) {
			xvt_ring_set_phase(vm->rings[i], XVT_PHASE_BROKEN);
			vm->rings[i]->clock.map.closed = true;
			xvt_clock_pages_fini(&vm->rings[i]->measure.pages);
		}
	}
	vm->phase = XVT_VM_GONE;
}

/* The rate before any measurement: the host's, if both use the same counter. The host of a salvaged
 * region may have been another one. */
static uint64_t presumed_hz(const struct xvt_session *s, const struct xvt_host_region *region)
{
	uint64_t hz = region->hdr.clock_hz;

	if ((!is_salvage(s) && region->hdr.clock_id == s->clock.clock_id) || hz < 1000 ||
	    hz > 20000000000ull)
		return s->clock.hz;
	return hz;
}

void xvt_vm_announce(struct xvt_session *s, const struct xvt_vm *vm)
{
	struct xvt_vm_info info = {
		.vm = vm->id,
		.kind = XVT_VM_GUEST,
		.region_kind = vm->region.hdr.kind,
		.generation = vm->region.hdr.generation,
		.clock_hz = vm->guest_hz,
	};

	memcpy(info.uuid, vm->uuid, sizeof(info.uuid));
	memcpy(info.boot_uuid, vm->region.hdr.boot_uuid, sizeof(info.boot_uuid));
	memcpy(info.name, vm->name, sizeof(info.name));
	info.name[sizeof(info.name) - 1] = 0;
	xvt_trace_put(s->trace, XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
}

static void put_ring(struct xvt_session *s, struct xvt_ring *r, const struct xvt_ring_info *info)
{
	r->session.reported_info = *info;
	r->session.reported_info_clock = xvt_clock_read();
	r->session.info_waits = false;
	xvt_trace_put(s->trace, XVT_CHUNK_RING, info, sizeof(*info), NULL, 0);
	r->session.announced = true;
}

/* Returns true if the chunk must be written at once. The recorder's own fields change seldom, and
 * later chunks may need them. The guest may change its fields as often as it likes. */
static bool is_urgent(const struct xvt_ring *r, const struct xvt_ring_info *info)
{
	const struct xvt_ring_info *told = &r->session.reported_info;

	return !r->session.announced || info->start_ns != told->start_ns ||
	       info->clock_hz != told->clock_hz;
}

void xvt_ring_announce(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_ring_info info = {
		.ring = r->id,
		.vm = r->vm,
		.index = r->index,
		.type = xvt_load(&r->ctl->type),
		.cpu = xvt_load(&r->ctl->cpu),
		.hw_id = xvt_load(&r->ctl->hw_id),
		.pid = xvt_load(&r->ctl->pid),
		.tid = xvt_load(&r->ctl->tid),
		.clock_id = xvt_load(&r->ctl->clock_id),
		.mode = r->mode,
		.subbuf_size = r->region->g.subbuf_size,
		.subbuf_count = r->region->g.subbuf_count,
		.start_ns = r->start_ns,
		.before = is_snapshot(s) ? 0
					 : r->account.base_delivered + r->account.base_overwritten,
		.clock_hz = r->clock.map.hz,
	};

	r->session.info_waits = false;
	if (r->session.announced && !memcmp(&info, &r->session.reported_info, sizeof(info)))
		return;
	if (is_urgent(r, &info) ||
	    since(xvt_clock_read(), r->session.reported_info_clock) >= ticks(s, SECOND_NS)) {
		put_ring(s, r, &info);
		return;
	}
	r->session.next_info = info;
	r->session.info_waits = s->infos_wait = true;
}

void xvt_ring_place_by(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_node *node)
{
	xvt_ring_announce(s, r);
	xvt_clock_map_add(&r->clock.map, node);
	r->clock.map.closed = true;
	r->account.stats.source = node->source;
	xvt_trace_put(s->trace, XVT_CHUNK_NODE, node, sizeof(*node), NULL, 0);
}

void xvt_session_announce_late(struct xvt_session *s, bool final)
{
	const uint64_t now = xvt_clock_read();
	size_t i;

	if (!s->infos_wait)
		return;
	s->infos_wait = false;
	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		if (r->session.info_waits &&
		    (final || since(now, r->session.reported_info_clock) >= ticks(s, SECOND_NS)))
			put_ring(s, r, &r->session.next_info);
		s->infos_wait |= r->session.info_waits;
	}
}

/* Length of the request line that begins at `at`, with its line feed; 0: none. */
static size_t request_line(const struct xvt_session *s, size_t at)
{
	const char *line = s->opt.request ? s->opt.request + at : "";
	const char *end = strchr(line, '\n');

	return end ? (size_t)(end + 1 - line) : strlen(line);
}

/*
 * Send one line as one request: the guest has one word for its answer, so a line for each event
 * shows which event the answer is about.
 */
static void send_line(struct xvt_session *s, struct xvt_vm *vm, size_t at)
{
	struct xvt_host_page *page = xvt_host_region_page(&vm->region);
	size_t len = request_line(s, at);

	if (!len || len > sizeof(page->request))
		return;
	memcpy(page->request, s->opt.request + at, len);
	xvt_store(&page->request_len, (uint32_t)len);
	vm->request_seq = xvt_load(&page->request_seq) + 1;
	if (!vm->request_seq)
		vm->request_seq = 1;
	vm->request_at = at;
	vm->request_clock = xvt_clock_read();
	xvt_store_release(&page->request_seq, vm->request_seq); /* pairs with the guest's poll */
}

/* Send the first line. `generation` is the guest's, as the caller loaded it. */
static void send_request(struct xvt_session *s, struct xvt_vm *vm, uint32_t generation)
{
	vm->request_generation = generation;
	vm->request_again = false;
	send_line(s, vm, 0);
}

void xvt_vm_tell_attached(const struct xvt_session *s, struct xvt_vm *vm)
{
	uint64_t id = s->attach_id;

	/* A snapshot only needs the guest to answer soon. It takes nothing, so the mark of a dead
	 * recorder stays; and if the snapshot dies, nothing is missing. */
	if (is_snapshot(s))
		id = vm->found_attach_id ? vm->found_attach_id : XVT_ATTACH_LOOKS;
	xvt_store(&xvt_host_region_page(&vm->region)->attach_id, id);
}

static void free_rings(struct xvt_vm *vm, uint32_t n)
{
	uint32_t i;

	for (i = 0; vm->rings && i < n; i++)
		free(vm->rings[i]);
	free(vm->rings);
	free(vm->rest);
	vm->rings = NULL;
	vm->rest = NULL;
}

int xvt_vm_make_rings(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i, n = vm->region.g.ring_count;
	struct xvt_ring **all = realloc(s->rings, (s->nr_rings + n) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	s->rings = all;
	vm->rings = calloc(n, sizeof(*vm->rings));
	for (i = 0; vm->rings && i < n; i++) {
		vm->rings[i] = calloc(1, sizeof(*vm->rings[i]));
		if (!vm->rings[i])
			break;
	}
	if (i < n || xvt_session_rest_room(s, vm) || xvt_session_clock_room(s, s->nr_rings + n)) {
		free_rings(vm, n);
		return -ENOMEM;
	}
	xvt_pool_count(&vm->pool, n * sizeof(**vm->rings), true); /* never returned to the pool */
	vm->guest_hz = presumed_hz(s, &vm->region);
	return 0;
}

/* Limit the machine's rings to rings_max. */
static void limit_rings(struct xvt_vm *vm)
{
	if (vm->region.g.ring_count <= vm->rings_max)
		return;
	vm->rings_more = vm->region.g.ring_count - vm->rings_max;
	vm->region.g.ring_count = vm->rings_max;
}

/* Events attempted in the rings that are not recorded, by the guest's counters. */
static uint64_t attempted_in_more(const struct xvt_vm *vm)
{
	const uint32_t from = vm->region.g.ring_count;
	uint64_t sum = 0;
	uint32_t i;

	for (i = from; i < from + vm->rings_more; i++)
		sum += xvt_load(&xvt_host_ring_ctl(&vm->region, i)->attempted);
	return sum;
}

static void tell_more(struct xvt_session *s, struct xvt_vm *vm)
{
	if (!vm->rings_more)
		return;
	vm->more_attempted = attempted_in_more(vm);
	xvt_session_note(s, 1, vm, UINT32_MAX,
			 "its region has %u rings; the first %u are recorded, %u are not (raise "
			 "that by -r NAME=REGION,rings=N)",
			 vm->region.g.ring_count + vm->rings_more, vm->region.g.ring_count,
			 vm->rings_more);
}

void xvt_vm_tell_unrecorded(struct xvt_session *s, struct xvt_vm *vm)
{
	uint64_t events;

	if (!vm->rings_more || vm->phase != XVT_VM_ATTACHED)
		return;
	events = attempted_in_more(vm) - vm->more_attempted;
	if (events)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "%" PRIu64 " events were attempted in the %u rings that are not "
				 "recorded, by its guest's own counters",
				 events, vm->rings_more);
}

void xvt_vm_init_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index)
{
	struct xvt_ring *r = vm->rings[index];

	r->id = (uint32_t)s->nr_rings;
	r->vm = vm->id;
	r->index = index;
	r->region = &vm->region;
	r->ctl = xvt_host_ring_ctl(&vm->region, index);
	r->host = xvt_host_ring_host(&vm->region, index);
	r->pool = &vm->pool;
	r->host_clock = &s->clock;
	r->mode = s->opt.mode;
	r->margin_most_ns = xvt_session_free_wait_ns(s);
	xvt_clock_map_init(&r->clock.map, vm->guest_hz);
	r->clock.map.host_clock = &s->clock;
	r->clock.map.pool = r->pool;
	if (s->clock.clock_id == XVT_CLOCK_TSC && vm->region.hdr.clock_id == XVT_CLOCK_TSC)
		r->clock.map.host_hz = s->clock.hz;
}

/* Attach to a formatted region. Its geometry, copied by the check, is fixed from here on. */
static int vm_attach(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i, n = vm->region.g.ring_count;
	bool died; /* the previous recorder */
	int err = xvt_vm_make_rings(s, vm);

	if (err)
		return err;
	xvt_vm_announce(s, vm);
	tell_more(s, vm);
	vm->found_attach_id = xvt_load(&xvt_host_region_page(&vm->region)->attach_id);
	died = !is_snapshot(s) && vm->found_attach_id && vm->found_attach_id != XVT_ATTACH_LOOKS;
	for (i = 0; i < n; i++) {
		struct xvt_ring *r = vm->rings[i];

		xvt_vm_init_ring(s, vm, i);
		r->decode.unaccounted_before = died;
		xvt_ring_attach(r);
		s->rings[s->nr_rings++] = r;
		/* A ring taken over after a recorder's death may have no writer any more; its
		 * records are emitted all the same. */
		if (r->account.took_over && r->drain.last.attempted)
			xvt_ring_announce(s, r);
	}
	vm->phase = XVT_VM_ATTACHED;
	xvt_session_stall_attach(s, vm);
	if (!is_snapshot(s))
		xvt_session_wake_attach(vm);
	xvt_vm_tell_attached(s, vm);
	if (died)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "an earlier recorder did not end in order (trace %016" PRIx64
				 "); events that it had taken and not written are counted as "
				 "overwritten here",
				 __builtin_bswap64(vm->found_attach_id));
	send_request(s, vm, xvt_load(&((const struct xvt_region_hdr *)vm->region.map)->generation));
	return 0;
}

/* Send the requests again to a new guest generation (boot, kexec, module load). */
static void ask_again(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)vm->region.map;
	uint32_t generation;

	if (!s->opt.request)
		return;
	generation = xvt_load(&h->generation);
	vm->request_again = generation != vm->request_generation;
	if (vm->request_again && since(now, vm->request_clock) >= ticks(s, SECOND_NS))
		send_request(s, vm, generation);
}

/* Write a note about a guest's answer to one request; `what` precedes the event. The number of
 * notes is limited, because a guest can begin anew without end. */
static void note_answer(struct xvt_session *s, struct xvt_vm *vm, const char *what, const char *why)
{
	const char *line = s->opt.request + vm->request_at + 1; /* without "+" */

	if (vm->request_notes++ < REQUEST_NOTES_MAX)
		xvt_session_note(s, 2, vm, UINT32_MAX, "%s %.*s%s", what, (int)strcspn(line, "\n"),
				 line, why);
}

static void note_refusal(struct xvt_session *s, struct xvt_vm *vm, int32_t result)
{
	char why[160];

	if (result == -EPERM)
		snprintf(why, sizeof(why),
			 ": its owner does not let the host choose events; load the module with "
			 "host_control=1 or switch them on in the guest");
	else if (result == -ENOENT || result == -EINVAL)
		snprintf(why, sizeof(why), ": its kernel has no such event");
	else
		snprintf(why, sizeof(why), ": %s",
			 result < 0 && result > -4096 ? strerror(-result) : "unknown error");
	note_answer(s, vm, "cannot switch on", why);
}

void xvt_vm_look_for_answer(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)vm->region.map;
	int32_t result;

	if (!vm->request_seq) {
		ask_again(s, vm, now);
		return;
	}
	if (xvt_load_acquire(&h->request_ack) != vm->request_seq) {
		if (since(now, vm->request_clock) < ticks(s, s->opt.join_timeout_ns))
			return;
		note_answer(s, vm, "no answer to the request for events, from", " on");
		vm->request_seq = 0;
		return;
	}
	result = xvt_load(&h->request_result);
	vm->request_seq = 0;
	if (result)
		note_refusal(s, vm, result);
	/* A guest that does not allow one event allows none. */
	if (result != -EPERM)
		send_line(s, vm, vm->request_at + request_line(s, vm->request_at));
}

/* Report requested events that are not known to be switched on, by the last pass's view of the
 * region, which is not read again. */
void xvt_vm_end_request(struct xvt_session *s, struct xvt_vm *vm)
{
	if (!s->opt.request || !s->opt.request[0] || is_snapshot(s) || vm->phase == XVT_VM_GONE)
		return;
	if (vm->phase != XVT_VM_ATTACHED) {
		note_answer(s, vm, "it never came, so it was not asked for events, from", " on");
		return;
	}
	if (!vm->request_seq && !vm->request_again)
		return;
	if (!vm->request_seq)
		vm->request_at = 0; /* the guest has begun anew */
	note_answer(s, vm,
		    "the recording ended before the guest answered the request for events, from",
		    " on");
}

int xvt_vm_try_attach(struct xvt_session *s, struct xvt_vm *vm, char *why, size_t why_size)
{
	int err = xvt_host_region_check(&vm->region);

	if (err == -EAGAIN)
		return 0; /* still waiting */
	if (err) {
		xvt_fault_text(&vm->region.fault, why, why_size);
		return err;
	}
	limit_rings(vm);
	/* Rings of machines that are gone are in the file; their numbers are not reused. */
	if (vm->region.g.ring_count > RINGS_MAX - s->nr_rings) {
		snprintf(why, why_size,
			 "its %u rings are too many beside the %zu that this trace has had: events "
			 "have numbers for %u",
			 vm->region.g.ring_count, s->nr_rings, RINGS_MAX);
		return -EOVERFLOW;
	}
	err = vm_attach(s, vm);
	if (err)
		snprintf(why, why_size, "%s", strerror(-err));
	return err;
}

void xvt_session_share_memory(struct xvt_session *s)
{
	size_t i, n = xvt_session_alive(s);

	s->nr_sharing = n;
	for (i = 0; i < s->nr_vms; i++)
		xvt_pool_resize(&s->vms[i]->pool,
				(s->opt.memory_bytes - s->pool.budget) / (n ? n : 1));
}

const char *xvt_vm_absent_hint(const struct xvt_vm *vm)
{
	if (vm->phase != XVT_VM_WAITING)
		return "";
	return ". No guest has formatted its region: is the module loaded, and what does the "
	       "guest's log say (dmesg | grep -i -e xvtrace -e 'BAR 2')? A device that was plugged "
	       "into a running q35 machine has no address for BAR 2 unless its pcie-root-port has "
	       "room: pref64-reserve=SIZE (docs/guest.md)";
}

void xvt_vm_free(struct xvt_vm *vm)
{
	xvt_pool_fini(&vm->pool);
	free(vm->meta_seen);
	xvt_session_exact_close(vm);
	free(vm->rings);
	free(vm->rest);
	xvt_host_region_close(&vm->region);
	free(vm);
}

/* Open the region and claim it for this recorder. */
static int open_region(struct xvt_vm *vm, char *why, size_t why_size)
{
	int err = xvt_host_region_open(&vm->region, vm->path, true);
	struct stat st;

	if (!err && fstat(vm->region.fd, &st))
		err = -errno;
	if (err) {
		snprintf(why, why_size, "%s", xvt_host_region_open_why(err));
		return err;
	}
	vm->file = (struct xvt_file_id){ st.st_dev, st.st_ino };
	err = xvt_host_region_claim(&vm->region);
	if (err)
		snprintf(why, why_size, "another xvtrace is at work on this region; end it first");
	return err;
}

int xvt_session_add(struct xvt_session *s, const char *name, const char *path,
		    const uint8_t uuid[16], bool named, char *why, size_t why_size)
{
	return xvt_session_add_rings(s, name, path, uuid, named, XVT_RINGS_USUAL, why, why_size);
}

struct xvt_vm *xvt_vm_new(struct xvt_session *s, const char *name, const char *path)
{
	struct xvt_vm **grown = realloc(s->vms, (s->nr_vms + 1) * sizeof(*grown));
	struct xvt_vm *vm = calloc(1, sizeof(*vm));

	s->vms = grown ? grown : s->vms;
	if (!grown || !vm) {
		free(vm);
		return NULL;
	}
	snprintf(vm->name, sizeof(vm->name), "%s", name);
	snprintf(vm->base_name, sizeof(vm->base_name), "%s", name);
	snprintf(vm->path, sizeof(vm->path), "%s", path);
	vm->session = s;
	vm->id = vm->space_of = (uint32_t)s->nr_vms;
	vm->space.disk_most = s->disk_part;
	xvt_pool_init(&vm->pool, 0);
	vm->pool.common = &s->pool;
	return vm;
}

void xvt_vm_add(struct xvt_session *s, struct xvt_vm *vm)
{
	s->vms[s->nr_vms++] = vm;
	xvt_session_share_memory(s);
}

int xvt_session_add_rings(struct xvt_session *s, const char *name, const char *path,
			  const uint8_t uuid[16], bool named, uint32_t rings_max, char *why,
			  size_t why_size)
{
	struct xvt_vm *vm = xvt_vm_new(s, name, path);
	int err;

	if (!vm) {
		snprintf(why, why_size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	if (uuid)
		memcpy(vm->uuid, uuid, sizeof(vm->uuid));
	vm->rings_max = rings_max;
	vm->named = named;
	err = open_region(vm, why, why_size);
	if (err) {
		xvt_vm_free(vm);
		return err;
	}
	xvt_vm_add(s, vm);
	err = xvt_vm_try_attach(s, vm, why, why_size);
	if (err) { /* the trace has nothing of the machine yet */
		s->nr_vms--;
		xvt_session_share_memory(s);
		xvt_vm_free(vm);
	}
	return err;
}

struct xvt_vm *xvt_session_find(const struct xvt_session *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (!strcmp(s->vms[i]->name, name))
			return s->vms[i];
	}
	return NULL;
}

struct xvt_vm *xvt_session_vm(const struct xvt_session *s, size_t i)
{
	return i < s->nr_vms ? s->vms[i] : NULL;
}

const char *xvt_session_vm_name(const struct xvt_vm *vm)
{
	return vm->name;
}

const uint8_t *xvt_session_vm_uuid(const struct xvt_vm *vm)
{
	return vm->uuid;
}

void xvt_session_vm_trust_clock(struct xvt_vm *vm)
{
	vm->trust_guest_clock = true;
}
