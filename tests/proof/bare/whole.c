// SPDX-License-Identifier: GPL-2.0
/* whole.c - see whole.h. */
#define _GNU_SOURCE
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario.h"
#include "xvt_check.h"
#include "xvt_vmm_clock.h"

#define REGION_SIZE (256u << 10) /* of one that the guest formats */
#define WALK	    320u	 /* instructions of an event and its surroundings, about */
#define LOOKS	    200u	 /* into the mailbox between two events */
#define PAIR_EACH   10u		 /* events */
#define PATIENCE    20000u	 /* rounds of looks until a recorder must have acted */

struct whole {
	const struct whole_options *options;
	struct xvt_microvm *vm;
	uint8_t *region;
	uint64_t size;
	struct xvt_geometry g;
	int64_t offset; /* of the guest's clock, says KVM */
	bool offset_known;
	unsigned int pairs;
	FILE *numbers;
};

static int fail(const char *what, const char *why)
{
	printf("%s: %s\n", what, why);
	return 1;
}

static int map_region(struct whole *w)
{
	int fd = open(w->options->region, O_RDWR | O_CREAT, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return fail(w->options->region, strerror(errno));
	w->size = st.st_size ? (uint64_t)st.st_size : REGION_SIZE;
	if (!st.st_size && ftruncate(fd, (off_t)w->size))
		return fail(w->options->region, strerror(errno));
	w->region = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return w->region == MAP_FAILED ? fail(w->options->region, strerror(errno)) : 0;
}

/* What debugfs makes of the offset: some software-backed KVMs show the one that was asked for. */
static int tell_debugfs(void)
{
	char pattern[80], line[32];
	glob_t found;
	FILE *f;

	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/kvm/%d-*/vcpu0/tsc-offset", getpid());
	if (!glob(pattern, 0, NULL, &found)) {
		f = fopen(found.gl_pathv[0], "r");
		if (f && fgets(line, sizeof(line), f))
			printf("debugfs offset %s", line);
		if (f)
			fclose(f);
		globfree(&found);
	}
	return 0;
}

/*
 * As any VMM may: what this vCPU's clock is made of. With `lie` KVM is told another offset, which
 * a software-backed one shows in debugfs and does not apply; then it is not ours to tell either.
 */
static int tell_clock(struct whole *w)
{
	struct xvt_ring_host *h = (void *)(w->region + xvt_ring_host_off(&w->g, 0));

	if (w->options->lie) {
		if (xvt_microvm_set_tsc_offset(w->vm, -1000000000))
			return fail("KVM", "sets no offset");
		return tell_debugfs();
	}
	w->offset_known = !xvt_microvm_tsc_offset(w->vm, &w->offset);
	if (w->offset_known)
		xvt_vmm_clock_put(&h->vmm_clock, w->offset, 1, 0);
	return 0;
}

static int start(struct whole *w)
{
	struct xvt_microvm_config config = {
		.image = w->options->image,
		.image_size = w->options->image_size,
		.region = w->region,
		.region_size = w->size,
	};
	struct xvt_region_hdr header;
	struct xvt_microvm_exit why;
	struct xvt_bare_page *page;
	struct xvt_fault fault;
	int err = xvt_microvm_new(&w->vm, &config);

	if (!err)
		err = xvt_microvm_take_control(w->vm);
	if (err)
		return fail("micro-VM", strerror(-err));
	page = xvt_microvm_page(w->vm);
	page->region_size = w->size;
	page->subbuf_size = SCENE_SUBBUF_SIZE;
	page->enable = XVT_ENABLE_STOP;
	if (xvt_microvm_go(w->vm, &why) || scene_command(w->vm, XVT_BARE_START, 0))
		return fail("guest", "cannot start");
	memcpy(&header, w->region, sizeof(header));
	if (xvt_check_header(&header, w->size, &w->g, &fault))
		return fail("region", fault.why);
	return tell_clock(w);
}

/* Run up to `steps` instructions, but not past the doorbell. */
static bool walk(struct whole *w, uint64_t steps, bool *done)
{
	struct xvt_microvm_exit why;

	for (*done = false; steps && !*done; steps--) {
		if (xvt_microvm_step(w->vm, &why))
			return false;
		*done = !why.stepped && why.signal == XVT_BARE_DONE;
	}
	return true;
}

/* Interrupt if the CPU takes it here; then the handler has begun. */
static bool interrupt(struct whole *w, bool nmi)
{
	struct xvt_microvm_exit why;
	int err = nmi ? xvt_microvm_nmi(w->vm) : xvt_microvm_irq(w->vm, XVT_BARE_IRQ_VECTOR);

	if (err)
		return err == -EBUSY;
	return !xvt_microvm_go(w->vm, &why) &&
	       why.signal == (nmi ? (uint32_t)XVT_BARE_NMI : (uint32_t)XVT_BARE_IRQ);
}

/* Event k: interrupted after k instructions, the interrupt by an NMI after some others. */
static bool one_event(struct whole *w, uint64_t k)
{
	struct xvt_bare_page *page = xvt_microvm_page(w->vm);
	struct xvt_microvm_exit why;
	unsigned int i;
	bool done;

	for (i = 0; i < XVT_BARE_CONTEXTS; i++) {
		page->op[i].len = 8 + (uint32_t)(k * 5 + i * 11) % 40;
		page->op[i].flags = (k + i) % 5 == 0 ? XVT_BARE_F_DISCARD : 0;
	}
	page->command = XVT_BARE_EVENT;
	page->count = 1;
	if (!walk(w, k % WALK, &done))
		return false;
	if (!done && (!interrupt(w, false) || !walk(w, k * 7 % WALK, &done)))
		return false;
	if (!done && !interrupt(w, true))
		return false;
	while (!done) {
		if (xvt_microvm_go(w->vm, &why))
			return false;
		done = why.signal == XVT_BARE_DONE;
	}
	return true;
}

/* What the guest logged becomes lines; the log is empty then. */
static void take_log(struct whole *w)
{
	struct xvt_bare_page *page = xvt_microvm_page(w->vm);
	uint64_t i;

	for (i = 0; i < page->log_count; i++)
		fprintf(w->numbers, "%" PRIu64 " %u %d %u\n", page->first + i, page->log[i].context,
			page->log[i].result, page->log[i].flags);
	page->first += page->log_count;
	page->log_count = 0;
}

static bool answer(struct whole *w)
{
	return !scene_command(w->vm, XVT_BARE_ANSWER, LOOKS);
}

/* What KVM_HC_CLOCK_PAIRING would answer, from where KVM has that answer too. */
static bool pair(struct whole *w)
{
	struct xvt_bare_page *page = xvt_microvm_page(w->vm);
	struct xvt_microvm_clock c;

	if (!w->offset_known || xvt_microvm_get_clock(w->vm, &c))
		return true;
	page->pair[0] = c.realtime_ns / 1000000000;
	page->pair[1] = c.realtime_ns % 1000000000;
	page->pair[2] = c.host_tsc + (uint64_t)w->offset;
	w->pairs++;
	return !scene_command(w->vm, XVT_BARE_PAIR, 0);
}

static bool enabled(struct whole *w)
{
	struct xvt_ring_host *h = (void *)(w->region + xvt_ring_host_off(&w->g, 0));

	return xvt_load(&h->enable) != XVT_ENABLE_OFF;
}

static bool drained(struct whole *w)
{
	struct xvt_ring_host *h = (void *)(w->region + xvt_ring_host_off(&w->g, 0));
	struct xvt_ring_ctl *c = (void *)(w->region + xvt_ctl_off(&w->g, 0));

	return xvt_load(&h->cons) == xvt_load(&c->commit);
}

/* Answer the recorder's questions until it did what we wait for. */
static int wait_for(struct whole *w, bool (*what)(struct whole *), const char *name)
{
	unsigned int rounds;

	for (rounds = 0; rounds < PATIENCE && !what(w); rounds++) {
		if (!answer(w))
			return fail("guest", xvt_microvm_why(w->vm));
		usleep(500); /* it needs the processor too */
	}
	return what(w) ? 0 : fail("recorder", name);
}

static int events(struct whole *w)
{
	uint64_t k;

	for (k = 0; k < w->options->count; k++) {
		if (!one_event(w, k) || (w->options->live && !answer(w)))
			return fail("guest", xvt_microvm_why(w->vm));
		if (w->options->live && k % PAIR_EACH == 5 && !pair(w))
			return fail("guest", xvt_microvm_why(w->vm));
		take_log(w);
	}
	if (w->options->live)
		printf("clock pairs %u\n", w->pairs);
	return 0;
}

int whole_run(const struct whole_options *options)
{
	struct whole w = { .options = options, .region = MAP_FAILED };
	int err = map_region(&w);

	if (!err)
		err = start(&w);
	w.numbers = fopen(options->numbers, "w");
	if (!err && !w.numbers)
		err = fail(options->numbers, strerror(errno));
	if (!err && options->live)
		err = wait_for(&w, enabled, "did not enable the ring");
	if (!err)
		err = events(&w);
	if (!err && options->live)
		err = wait_for(&w, drained, "did not drain the ring");
	xvt_microvm_free(w.vm);
	if (w.numbers && fclose(w.numbers))
		err = 1;
	if (w.region != MAP_FAILED)
		munmap(w.region, w.size);
	return err;
}
