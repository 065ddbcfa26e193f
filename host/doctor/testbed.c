// SPDX-License-Identifier: GPL-2.0
/* testbed.c - see testbed.h. An implementation in a micro-VM, one in this process. */
#define _GNU_SOURCE
#include "doctor/testbed.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xvt_cost.h"
#include "xvt_region.h"

#define REGION_SIZE (256u << 10) /* stays in the cache: the ring's own cost, not memory's */

struct place_ops {
	int (*start)(struct xvt_place *p, uint64_t hz);
	uint64_t (*ticks)(struct xvt_place *p, bool events, uint32_t turns);
	void *(*answer)(void *p); /* runs until stop() */
	void (*stop)(struct xvt_place *p);
};

struct xvt_place {
	const struct place_ops *ops;
	int fd;
	void *region;
	struct xvt_geometry g;
	struct xvt_writer writer; /* process only */
	struct xvt_microvm *vm;	  /* micro-VM only */
	pthread_t thread;	  /* answers the mailbox */
	bool answering;
	uint32_t stop;
};

/* Map a file, as for every region: the VMM of a region is found by the files that it maps. */
static int map_region(struct xvt_place *p)
{
	p->fd = memfd_create("xvtrace-place", MFD_CLOEXEC);
	if (p->fd < 0 || ftruncate(p->fd, REGION_SIZE))
		return -errno;
	p->region = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			 p->fd, 0);
	return p->region == MAP_FAILED ? -errno : 0;
}

/* --- in a micro-VM --- */

int64_t xvt_place_command(struct xvt_place *p, uint32_t command, uint32_t count)
{
	struct xvt_bare_page *page = xvt_microvm_page(p->vm);
	struct xvt_microvm_exit why;

	page->command = command;
	page->count = count;
	if (xvt_microvm_run(p->vm, &why) || why.signal != XVT_BARE_DONE)
		return -EIO;
	return (int64_t)why.value;
}

static int vm_start(struct xvt_place *p, uint64_t hz)
{
	struct xvt_microvm_config config = { .region = p->region, .region_size = REGION_SIZE };
	struct xvt_region_hdr header;
	struct xvt_bare_page *page;
	struct xvt_microvm_exit why;
	struct xvt_fault fault;
	int err = xvt_microvm_new(&p->vm, &config);

	if (err)
		return err;
	page = xvt_microvm_page(p->vm);
	page->region_size = REGION_SIZE;
	page->clock_hz = hz;
	page->enable = XVT_ENABLE_OVERWRITE;
	/* The first signal means that the guest has started. Then go to user level, as a program.
	 */
	if (xvt_microvm_run(p->vm, &why) || xvt_place_command(p, XVT_BARE_START, 0) ||
	    xvt_place_command(p, XVT_BARE_USER, 0))
		return -EIO;
	memcpy(&header, p->region, sizeof(header));
	return xvt_check_header(&header, REGION_SIZE, &p->g, &fault);
}

static uint64_t vm_ticks(struct xvt_place *p, bool events, uint32_t turns)
{
	if (xvt_place_command(p, events ? XVT_BARE_COST_EVENT : XVT_BARE_COST_CLOCK, turns))
		return 0;
	return xvt_microvm_page(p->vm)->ticks;
}

static void *vm_answer(void *arg)
{
	struct xvt_place *p = arg;

	xvt_place_command(p, XVT_BARE_ANSWER, UINT32_MAX);
	return NULL;
}

static void vm_stop(struct xvt_place *p)
{
	xvt_store(&xvt_microvm_page(p->vm)->stop, 1);
}

/* --- in this process --- */

static int process_start(struct xvt_place *p, uint64_t hz)
{
	struct xvt_layout layout = {
		.region_size = REGION_SIZE,
		.ring_count = 1,
		.kind = XVT_KIND_USER,
		.clock_id = XVT_CLOCK_NATIVE,
		.clock_hz = hz,
		.enable = XVT_ENABLE_OVERWRITE,
	};
	int err = xvt_region_format(p->region, &layout, &p->g);

	if (!err)
		xvt_writer_init(&p->writer, p->region, &p->g, 0);
	return err;
}

static uint64_t process_ticks(struct xvt_place *p, bool events, uint32_t turns)
{
	return events ? xvt_cost_of_event(&p->writer, turns) : xvt_cost_of_clock(&p->writer, turns);
}

static void *process_answer(void *arg)
{
	struct xvt_place *p = arg;

	while (!xvt_load(&p->stop))
		xvt_writer_answer(&p->writer);
	return NULL;
}

static void process_stop(struct xvt_place *p)
{
	xvt_store(&p->stop, 1);
}

static const struct place_ops in_a_vm = { vm_start, vm_ticks, vm_answer, vm_stop };
static const struct place_ops in_process = { process_start, process_ticks, process_answer,
					     process_stop };

/* --- the same for both --- */

int xvt_place_new(struct xvt_place **out, bool in_vm, uint64_t hz, struct xvt_error *why)
{
	struct xvt_place *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->ops = in_vm ? &in_a_vm : &in_process;
	p->fd = -1;
	p->region = MAP_FAILED;
	err = map_region(p);
	if (!err)
		err = p->ops->start(p, hz);
	if (err) {
		if (p->vm)
			xvt_fail(why, 0, "%s", xvt_microvm_why(p->vm));
		xvt_place_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void xvt_place_free(struct xvt_place *p)
{
	if (!p)
		return;
	xvt_place_stop(p);
	xvt_microvm_free(p->vm);
	if (p->region != MAP_FAILED)
		munmap(p->region, REGION_SIZE);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

uint64_t xvt_place_ticks(struct xvt_place *p, bool events, uint32_t turns)
{
	return p->ops->ticks(p, events, turns);
}

int xvt_place_answer(struct xvt_place *p)
{
	int err;

	xvt_store(&p->stop, 0);
	if (p->vm)
		xvt_store(&xvt_microvm_page(p->vm)->stop, 0);
	err = pthread_create(&p->thread, NULL, p->ops->answer, p);
	p->answering = !err;
	return -err;
}

void xvt_place_stop(struct xvt_place *p)
{
	if (!p->answering)
		return;
	p->ops->stop(p);
	pthread_join(p->thread, NULL);
	p->answering = false;
}

void xvt_place_target(struct xvt_place *p, const struct xvt_host_clock *host_clock,
		      struct xvt_clock_target *target)
{
	uint8_t *base = p->region;

	*target = (struct xvt_clock_target){
		.ctl = (void *)(base + xvt_ctl_off(&p->g, 0)),
		.host = (void *)(base + xvt_ring_host_off(&p->g, 0)),
		.host_clock = host_clock,
		.guest_hz = &host_clock->hz,
	};
}

int xvt_place_region_fd(const struct xvt_place *p)
{
	return p->fd;
}

struct xvt_microvm *xvt_place_vm(struct xvt_place *p)
{
	return p->vm;
}
