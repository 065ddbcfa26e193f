// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_core.c - the rings of this guest: begin a generation, one writer per CPU, and
 * a timer per CPU that answers the host's clock requests and writes CLOCK_SYNC and MARK records.
 * With each mark comes a clock pair where KVM gives them, the one thing here that asks it for
 * anything.
 *
 * The timers are soft: a burst of clock answers spins for up to 2 ms, and interrupts must
 * come through meanwhile. They only widen one sample's bounds.
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <linux/uuid.h>

#include "xvtrace.h"

static char *mode = "stop";
module_param(mode, charp, 0444);
MODULE_PARM_DESC(mode, "stop: record when the host says so, a full ring drops new events "
		       "(default); overwrite: record at once, a full ring overwrites old ones");
static char *name = "";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "what this guest calls itself (default: its host name)");
static unsigned int subbuf_size;
module_param(subbuf_size, uint, 0444);
MODULE_PARM_DESC(subbuf_size,
		 "bytes of a sub-buffer, for a region not formatted yet (default: up to 64 KiB)");
static unsigned long meta_size;
module_param(meta_size, ulong, 0444);
MODULE_PARM_DESC(meta_size, "bytes of the metadata area, for a region not formatted yet (default: "
			    "an eighth, up to 4 MiB)");
static unsigned int rings;
module_param(rings, uint, 0444);
MODULE_PARM_DESC(rings,
		 "rings, for a region not formatted yet: one for each CPU that is to record "
		 "(default: the CPUs that are there, and as many that may come as have room)");
static bool reformat;
module_param(reformat, bool, 0444);
MODULE_PARM_DESC(
	reformat,
	"1: format a region anew whatever it holds; refused while a host is attached (default 0)");
static unsigned int answer_ms = 10;
module_param(answer_ms, uint, 0644);
MODULE_PARM_DESC(
	answer_ms,
	"how often each CPU looks for a clock request while a host is attached (default 10)");
static unsigned int answer_idle_ms = 100;
module_param(answer_idle_ms, uint, 0644);
MODULE_PARM_DESC(answer_idle_ms, "the same while no host is attached (default 100)");
static unsigned int ask_ms = 800;
module_param(ask_ms, uint, 0444);
MODULE_PARM_DESC(ask_ms,
		 "how long to ask whether another machine writes to this region, where its rings "
		 "are in use; 0: take it at once (default 800)");
static bool clock_pairs = true;
module_param(clock_pairs, bool, 0444);
MODULE_PARM_DESC(clock_pairs, "1: ask KVM once a second for its clocks while a host records, so "
			      "that 'xvtrace verify' can "
			      "hold them against the trace (default 1)");

/* Between two looks at what became of our claim. */
#define ASK_LOOK_MS	 10u

#define SYNC_PERIOD_NS	 (10ull * NSEC_PER_SEC)
/* A burst of clock requests: how long to stay after the last answer, and in all. */
#define ANSWER_STAY_US	 200u
#define ANSWER_TOTAL_US	 2000u

/* A ring of a CPU that may come is worth this much room: the default sub-buffers, and 8 of them. */
#define SPARE_RING_BYTES (8u * 65536u)

static int hotplug_state, ready_state;
/* Of a CPU that has no ring: recording is off for ever. */
static struct {
	struct xvt_ring_ctl ctl;
	struct xvt_ring_host host;
} no_ring;
static u32 rings_given;
/* Where KVM writes, one for each possible CPU; NULL: it gives none. */
static struct xvt_kvm_pair *pairs;

/* On the writer's own CPU. */
static int put_sync(struct xvt_writer *w, u32 reason)
{
	struct xvt_clock_sync s;
	int err = -ENODEV;

	xvt_clock_sample(&s, reason);
	preempt_disable_notrace();
	if (READ_ONCE(xvt_open)) {
		s.epoch = xvt_load(&w->host->epoch);
		err = xvt_write(w, XVT_ID_CLOCK_SYNC, &s, sizeof(s));
	}
	preempt_enable_notrace();
	return err;
}

static void keep_synced(struct xvt_cpu *c)
{
	u32 enable = xvt_load(&c->writer.host->enable);
	u64 now_ns = ktime_get_ns();
	u32 reason;

	if (enable != XVT_ENABLE_OFF && c->enable_seen == XVT_ENABLE_OFF)
		cmpxchg_local(&c->sync_pending, 0, XVT_SYNC_ATTACH);
	c->enable_seen = enable;
	if (enable == XVT_ENABLE_OFF)
		return;
	/* Also set by resume_this_cpu(), which may interrupt us anywhere here. */
	reason = xchg(&c->sync_pending, 0);
	if (!reason && now_ns >= c->sync_due_ns)
		reason = XVT_SYNC_PERIODIC;
	if (!reason)
		return;
	if (!put_sync(&c->writer, reason))
		c->sync_due_ns = now_ns + SYNC_PERIOD_NS;
	else
		cmpxchg_local(&c->sync_pending, 0, reason);
}

/* The host asks for marks while it asks for the clock, or at any other time. */
static void put_mark(struct xvt_writer *w)
{
	preempt_disable_notrace();
	if (READ_ONCE(xvt_open))
		xvt_writer_mark(w);
	preempt_enable_notrace();
}

/* The recorder may doze until we come. */
static void wake_host(struct xvt_writer *w)
{
	if (!w->kick)
		return;
	xvt_mb(); /* the answer before our look; as at the end of xvt_writer_publish() */
	if (xvt_load(&w->host->need_wake))
		w->kick(w->kick_arg);
}

/* Give an answer, and as long as the host says that more requests follow, those too. */
static void answer(struct xvt_writer *w)
{
	u64 hz = xvt_clock_hz();
	u64 stay, total, start, last, now;
	s64 more = xvt_writer_answer(w);

	if (more <= 0)
		return;
	wake_host(w);
	if (!hz)
		hz = NSEC_PER_SEC;
	stay = div_u64(hz, USEC_PER_SEC) * ANSWER_STAY_US;
	total = div_u64(hz, USEC_PER_SEC) * ANSWER_TOTAL_US;
	start = last = xvt_clock_read();
	do {
		xvt_relax();
		more = xvt_writer_answer(w);
		put_mark(w);
		now = xvt_clock_read();
		if (more > 0)
			last = now;
		/* A clock that went back ends this as well. */
	} while (more && now - last < stay && now - start < total);
}

/* Not in answer(): leaving the guest there would make a sample wider. */
static void keep_paired(struct xvt_cpu *c)
{
	struct xvt_kvm_pair *pair = &pairs[smp_processor_id()];
	u64 mark = xvt_load(&c->writer.ctl->mark_ack);

	if (!pairs || mark == c->paired)
		return;
	c->paired = mark;
	preempt_disable_notrace();
	if (READ_ONCE(xvt_open) && !xvt_ask_pair(pair))
		xvt_clock_pair_put(&c->writer, pair, xvt_clock_hz());
	preempt_enable_notrace();
}

/*
 * Two machines may have one memory: a clone of a domain has its origin's <shmem>. One that comes
 * asks first, and is refused here. One that could not wait for the answer (this machine was paused)
 * has begun a generation: then this one gives way, for two writers destroy each other's records. It
 * tells the host, which sees only the newer one.
 */
static void look_for_rival(struct xvt_guest *g)
{
	struct xvt_region_hdr *h = g->base;
	u32 generation = xvt_load(&h->generation);

	if (generation == g->generation && !memcmp(h->boot_uuid, &g->uuid, sizeof(g->uuid))) {
		if (xvt_claim_answer(h))
			dev_warn_ratelimited(
				&g->pdev->dev,
				"another machine has this memory, and asked for this "
				"region: it was refused. Give each machine a memory of "
				"its own (a cloned domain has the <shmem> of its "
				"origin)\n");
		return;
	}
	WRITE_ONCE(xvt_open, false);
	WRITE_ONCE(g->displaced, true);
	if (xvt_load(&h->magic) == XVT_MAGIC)
		atomic_inc((atomic_t *)&h->displaced);
	dev_err(&g->pdev->dev,
		"another machine writes to this region: generation %u began there, this one began "
		"%u and records nothing any more. Give each machine a memory of its own (a cloned "
		"domain has the <shmem> of its origin), then load the module again\n",
		generation, g->generation);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct xvt_cpu *c = container_of(timer, struct xvt_cpu, timer);
	unsigned int period_ms = READ_ONCE(answer_idle_ms);

	if (READ_ONCE(xvt_open) && smp_processor_id() == cpumask_first(cpu_online_mask))
		look_for_rival(&xvt_guest);
	if (READ_ONCE(xvt_open)) {
		if (xvt_load(&xvt_host_page()->attach_id))
			period_ms = READ_ONCE(answer_ms);
		put_mark(&c->writer);
		answer(&c->writer);
		keep_paired(c);
		keep_synced(c);
		if (smp_processor_id() == cpumask_first(cpu_online_mask)) {
			xvt_request_poll();
			xvt_symbols_poll();
			xvt_hooks_poll(&c->writer);
			xvt_doorbell_poll();
		}
	}
	hrtimer_forward_now(timer, ms_to_ktime(max(period_ms, 1u)));
	return HRTIMER_RESTART;
}

/* On the CPU that came up. Events may have come from it before: the ring was ready. */
static int cpu_online_cb(unsigned int cpu)
{
	struct xvt_cpu *c = per_cpu_ptr(&xvt_cpus, cpu);

	/* During the machine's resume the region cannot be touched yet; xvt_core_resume() will. */
	if (READ_ONCE(xvt_open)) {
		xvt_store(&c->writer.ctl->hw_id, xvt_hw_id(cpu));
		xvt_writer_distrust(&c->writer);
		xvt_store(&c->writer.ctl->state, XVT_RING_ONLINE);
	}
	xvt_hrtimer_setup(&c->timer, timer_fired, HRTIMER_MODE_REL_PINNED_SOFT);
	hrtimer_start(&c->timer, ms_to_ktime(1), HRTIMER_MODE_REL_PINNED_SOFT);
	return 0;
}

/* On the CPU that goes down. The ring's last events still come after this. */
static int cpu_offline_cb(unsigned int cpu)
{
	struct xvt_cpu *c = per_cpu_ptr(&xvt_cpus, cpu);

	hrtimer_cancel(&c->timer);
	if (READ_ONCE(xvt_open))
		xvt_store(&c->writer.ctl->state, XVT_RING_OFFLINE);
	return 0;
}

/* Events of this CPU are not recorded, as while recording is off. */
static void init_no_ring(struct xvt_guest *g, unsigned int cpu)
{
	struct xvt_cpu *c = per_cpu_ptr(&xvt_cpus, cpu);

	memset(c, 0, sizeof(*c));
	xvt_writer_init(&c->writer, g->base, &g->geo, 0);
	c->writer.ctl = &no_ring.ctl;
	c->writer.host = &no_ring.host;
}

/* The next ring is this CPU's, which runs nothing of ours yet. */
static void init_ring(struct xvt_guest *g, unsigned int cpu)
{
	struct xvt_cpu *c = per_cpu_ptr(&xvt_cpus, cpu);
	struct xvt_ring_ctl *ctl;

	memset(c, 0, sizeof(*c));
	xvt_writer_init(&c->writer, g->base, &g->geo, rings_given++);
	if (g->registers)
		c->writer.kick = xvt_doorbell_kick;
	ctl = c->writer.ctl;
	xvt_store(&ctl->type, XVT_RING_VCPU);
	xvt_store(&ctl->cpu, cpu);
	xvt_store(&ctl->hw_id, xvt_hw_id(cpu));
	xvt_store(&ctl->claims, xvt_load(&ctl->claims) + 1);
}

/* A CPU that comes up, on another one: its ring is ready before its first event. */
static int cpu_ready_cb(unsigned int cpu)
{
	struct xvt_guest *g = &xvt_guest;
	struct xvt_cpu *c = per_cpu_ptr(&xvt_cpus, cpu);
	struct xvt_region_hdr *h = g->base;

	if (c->writer.ctl != &no_ring.ctl || c->ringless || !READ_ONCE(xvt_open))
		return 0;
	if (rings_given < g->geo.ring_count) {
		init_ring(g, cpu);
	} else {
		c->ringless = true;
		h->ringless++;
		dev_warn(&g->pdev->dev,
			 "CPU %u has no ring, and its events are not recorded: the region was "
			 "formatted with %u. Format it again, by reformat=1 rings=%u while no "
			 "recorder is there\n",
			 cpu, g->geo.ring_count, num_present_cpus());
	}
	return 0;
}

/*
 * enable is the host's word. A guest that records from boot on sets it while it is off; one
 * that does not, takes back what an earlier load of the module set while no host was there.
 */
static void set_enable(struct xvt_guest *g, bool overwrite)
{
	u32 from = overwrite ? XVT_ENABLE_OFF : XVT_ENABLE_OVERWRITE;
	u32 to = overwrite ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_OFF;
	u32 ring;

	if (xvt_load(&xvt_host_page()->attach_id))
		return;
	for (ring = 0; ring < g->geo.ring_count; ring++) {
		struct xvt_ring_host *host = g->base + xvt_ring_host_off(&g->geo, ring);

		cmpxchg(&host->enable, from, to);
	}
}

/*
 * CPUs that may come would take the room of those that are there: a guest of 2 that may get 240 had
 * rings of 4 KiB. One that comes when all rings are given is told in the log.
 */
static u32 choose_rings(const struct xvt_guest *g)
{
	u32 present = num_present_cpus(), possible = num_possible_cpus();
	u64 most = pci_resource_len(g->pdev, 2) / 8 * 7 - 2 * PAGE_SIZE; /* without metadata */

	if (rings)
		return rings;
	do_div(most, SPARE_RING_BYTES + 2 * PAGE_SIZE); /* and its control block */
	return min_t(u64, possible, max_t(u64, present + 1, most));
}

/* The kernel keeps the boot's id to itself; where /proc is not there, a new one will do. */
static void read_boot_uuid(uuid_t *uuid)
{
	struct file *file = filp_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
	char text[UUID_STRING_LEN + 1] = "";
	loff_t pos = 0;

	if (!IS_ERR(file)) {
		kernel_read(file, text, UUID_STRING_LEN, &pos);
		filp_close(file, NULL);
	}
	if (uuid_parse(text, uuid))
		generate_random_uuid(uuid->b);
}

static int refuse_size(struct xvt_guest *g, const struct xvt_layout *l, int err)
{
	u64 need = roundup_pow_of_two(xvt_region_min_size(l->ring_count, l->align) + l->meta_size);

	if (l->subbuf_size)
		need = roundup_pow_of_two(need + (u64)l->ring_count * XVT_SUBBUF_COUNT_MIN *
							 l->subbuf_size);
	if (err == -ENOSPC)
		dev_err(&g->pdev->dev,
			"region of %llu bytes is too small for %u CPUs (subbuf_size=%u "
			"meta_size=%llu): it needs %llu; give the device a larger memory backend\n",
			l->region_size, l->ring_count, l->subbuf_size, l->meta_size, need);
	else
		dev_err(&g->pdev->dev,
			"no region can look like subbuf_size=%u meta_size=%llu in %llu bytes; "
			"sub-buffers are powers of two from %u to %u\n",
			l->subbuf_size, l->meta_size, l->region_size, XVT_SUBBUF_SIZE_MIN,
			XVT_SUBBUF_SIZE_MAX);
	return err;
}

/* Take over a region that is formatted: by the host, or by an earlier load of this module. */
static int accept_region(struct xvt_guest *g, const struct xvt_layout *l)
{
	struct device *dev = &g->pdev->dev;
	struct xvt_region_hdr copy;
	struct xvt_fault fault;
	int err;

	memcpy(&copy, g->base, sizeof(copy));
	err = xvt_check_header(&copy, l->region_size, &g->geo, &fault);
	if (err == -EAGAIN)
		return err;
	if (!err && g->geo.ring_count < num_present_cpus()) {
		dev_err(dev,
			"region was formatted with %u rings, this kernel has %u CPUs; format "
			"it again: clear the file before the guest starts, or load with "
			"reformat=1\n",
			g->geo.ring_count, num_present_cpus());
		return -ENOSPC;
	}
	if (err == -EPROTO)
		dev_err(dev,
			"region has version %u.%u, this module knows %u; use the module of that "
			"version (%s = %llu: %s)\n",
			copy.major, copy.minor, XVT_MAJOR, fault.field, fault.value, fault.why);
	else if (err && !strcmp(fault.field, "magic"))
		dev_err(dev,
			"region holds something else (magic 0x%016llx); is this device meant for "
			"xvtrace? If so, clear its file, or load with reformat=1\n",
			fault.value);
	else if (err)
		dev_err(dev,
			"region is damaged: %s = %llu: %s; clear its file, or load with "
			"reformat=1\n",
			fault.field, fault.value, fault.why);
	return err;
}

/* A host that is attached has mapped the old layout. */
static bool host_attached(struct xvt_guest *g)
{
	struct xvt_region_hdr copy;
	struct xvt_fault fault;

	memcpy(&copy, g->base, sizeof(copy));
	return !xvt_check_header(&copy, pci_resource_len(g->pdev, 2), &g->geo, &fault) &&
	       xvt_load(&xvt_host_page()->attach_id);
}

/*
 * Does another machine write here? One that does answers at its timer; an earlier boot of this one
 * that ended without a word does not. Returns 0, or -EBUSY after a line in the log.
 */
static int ask_for_rival(struct xvt_guest *g)
{
	const u64 start_ns = ktime_get_ns();
	bool stands;
	u32 claim;

	if (!ask_ms || !xvt_region_in_use(g->base, pci_resource_len(g->pdev, 2), g->uuid.b))
		return 0;
	claim = xvt_claim_put(g->base, get_random_u32());
	do {
		msleep(ASK_LOOK_MS);
		stands = xvt_claim_stands(g->base, claim);
	} while (stands && ktime_get_ns() - start_ns < (u64)ask_ms * NSEC_PER_MSEC);
	if (stands) {
		dev_info(&g->pdev->dev,
			 "the rings were in use, and no machine answered in %u ms: taken\n",
			 ask_ms);
		return 0;
	}
	dev_err(&g->pdev->dev,
		"another machine writes to this region, and this one is refused. Give each machine "
		"a memory of its own (a cloned domain has the <shmem> of its origin), then load "
		"the module again\n");
	return -EBUSY;
}

static int begin_generation(struct xvt_guest *g)
{
	bool overwrite = !strcmp(mode, "overwrite");
	struct xvt_layout layout = {
		.region_size = pci_resource_len(g->pdev, 2),
		.ring_count = choose_rings(g),
		.subbuf_size = subbuf_size,
		.meta_size = meta_size,
		.align = PAGE_SIZE,
		.kind = XVT_KIND_LINUX,
		.clock_id = XVT_CLOCK_NATIVE,
		.clock_hz = xvt_clock_hz(),
		.enable = overwrite ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_OFF,
		.vm_name = *name ? name : utsname()->nodename,
	};
	unsigned int cpu;
	int err;

	if (!overwrite && strcmp(mode, "stop")) {
		dev_err(&g->pdev->dev, "mode=%s: not a mode; use stop or overwrite\n", mode);
		return -EINVAL;
	}
	if (reformat && host_attached(g)) {
		dev_err(&g->pdev->dev, "reformat=1 is refused: a host is attached; end it first\n");
		return -EBUSY;
	}
	err = reformat ? -EAGAIN : accept_region(g, &layout);
	g->formatted = err == -EAGAIN;
	if (err == -EAGAIN && !g->may_format) {
		dev_err(&g->pdev->dev,
			"this memory holds no region, and there are other ivshmem devices that may "
			"be meant: it stays as it is, for it may be another program's. device=%s "
			"has it formatted; or format it on the host before the guest starts "
			"(region create)\n",
			pci_name(g->pdev));
		return -EBUSY;
	}
	if (err == -EAGAIN) {
		err = xvt_region_format(g->base, &layout, &g->geo);
		if (err == -ENOSPC && !rings) { /* then without those that may come */
			layout.ring_count = num_present_cpus();
			err = xvt_region_format(g->base, &layout, &g->geo);
		}
		if (err)
			return refuse_size(g, &layout, err);
	}
	if (err)
		return err;

	g->displaced = false;
	g->generation = xvt_region_new_generation(g->base, &g->geo, &layout, g->uuid.b);
	rings_given = 0;
	for_each_possible_cpu (cpu) {
		if (cpu_present(cpu) && rings_given < g->geo.ring_count)
			init_ring(g, cpu);
		else
			init_no_ring(g, cpu);
	}
	set_enable(g, overwrite);
	return 0;
}

/* No timer runs. */
static void stop_pairs(void)
{
	kfree(pairs);
	pairs = NULL;
}

/* Pairs only check the clock map: without them nothing is missing. */
static void start_pairs(struct xvt_guest *g)
{
	/* Blocks of kmalloc()'s that are a power of two are aligned to it: no pair crosses a page.
	 */
	size_t size = roundup_pow_of_two(nr_cpu_ids) * sizeof(*pairs);

	g->pair_error = -EOPNOTSUPP;
	if (!clock_pairs)
		return;
	pairs = kzalloc(size, GFP_KERNEL | __GFP_NOWARN);
	g->pair_error = pairs ? xvt_ask_pair(pairs) : -ENOMEM;
	if (g->pair_error)
		stop_pairs();
}

/*
 * The kernel restarts or powers off, and nothing but its last instructions follows: the next boot
 * need not ask whether these rings are written. Not earlier: a host waits for no ring that is
 * offline, and events that come all the same are late.
 */
static void leave_rings(XVT_SYSCORE_PARAM)
{
	unsigned int cpu;

	if (!READ_ONCE(xvt_open))
		return;
	for_each_online_cpu (cpu)
		xvt_store_release(&per_cpu_ptr(&xvt_cpus, cpu)->writer.ctl->state,
				  XVT_RING_OFFLINE);
}

static struct xvt_syscore at_shutdown = { .ops.shutdown = leave_rings };

/*
 * From here on the rings take events. -EINVAL, -ENOSPC, -EBADMSG, -EPROTO, -EBUSY: the region
 * cannot be used, and the log says why.
 */
int xvt_core_start(struct xvt_guest *g)
{
	int err;

	read_boot_uuid(&g->uuid);
	err = ask_for_rival(g);
	if (!err)
		err = begin_generation(g);
	if (err)
		return err;
	start_pairs(g);
	WRITE_ONCE(xvt_open, true);
	xvt_request_start();
	/* Called for no CPU that is there: those have their rings. */
	err = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "xvtrace:ready", cpu_ready_cb, NULL);
	if (err < 0)
		goto err_close;
	ready_state = err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "xvtrace:online", cpu_online_cb,
				cpu_offline_cb);
	if (err < 0)
		goto err_ready;
	hotplug_state = err;
	xvt_syscore_register(&at_shutdown);
	return 0;

err_ready:
	cpuhp_remove_state_nocalls(ready_state);
err_close:
	xvt_request_stop();
	WRITE_ONCE(xvt_open, false);
	stop_pairs();
	return err;
}

/* The sources of events are gone already; after this nothing of ours touches the region. */
void xvt_core_stop(struct xvt_guest *g)
{
	xvt_syscore_unregister(&at_shutdown);
	cpuhp_remove_state(hotplug_state);
	cpuhp_remove_state_nocalls(ready_state);
	xvt_request_stop();
	xvt_symbols_stop();
	WRITE_ONCE(xvt_open, false);
	stop_pairs();
}

/*
 * From here to xvt_core_resume() events are not recorded and not counted: the device answers
 * no access after the machine's wake-up until the PCI core restored it. An event that is
 * open now is finished before its CPU, or the machine, stops.
 */
void xvt_core_suspend(struct xvt_guest *g)
{
	WRITE_ONCE(xvt_open, false);
}

static void resume_this_cpu(void *unused)
{
	struct xvt_cpu *c = this_cpu_ptr(&xvt_cpus);

	/* The hypervisor may have set the clock to anything. */
	xvt_writer_distrust(&c->writer);
	xchg(&c->sync_pending, XVT_SYNC_RESUME);
}

void xvt_core_resume(struct xvt_guest *g)
{
	unsigned int cpu;

	if (READ_ONCE(g->displaced))
		return;
	for_each_possible_cpu (cpu) {
		struct xvt_ring_ctl *ctl = per_cpu_ptr(&xvt_cpus, cpu)->writer.ctl;

		if (cpu_online(cpu))
			xvt_store(&ctl->state, XVT_RING_ONLINE);
		else if (xvt_load(&ctl->state) == XVT_RING_ONLINE)
			xvt_store(&ctl->state, XVT_RING_OFFLINE);
	}
	on_each_cpu(resume_this_cpu, NULL, 1);
	WRITE_ONCE(xvt_open, true);
}

/* The kernel that loaded this one's image from a disk may have begun a generation: it is ours. */
void xvt_core_restore(struct xvt_guest *g)
{
	struct xvt_region_hdr *h = g->base;
	unsigned int cpu;

	if (READ_ONCE(g->displaced))
		return;
	g->generation = xvt_load(&h->generation);
	memcpy(h->boot_uuid, &g->uuid, sizeof(g->uuid));
	for_each_possible_cpu (cpu) {
		struct xvt_writer *w = &per_cpu_ptr(&xvt_cpus, cpu)->writer;

		w->generation = xvt_load(&w->ctl->generation);
	}
	xvt_formats_forget();
	xvt_core_resume(g);
	xvt_request_start();
}
