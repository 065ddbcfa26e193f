// SPDX-License-Identifier: GPL-2.0
/* vmm.c - see vmm.h. */
#include "clock/vmm.h"

#include <stdlib.h>

#include "base/region.h"
#include "xvt_vmm_clock.h"

struct xvt_clock_exact {
	const struct xvt_host_region *region;
};

static int formula_at(const struct xvt_host_region *region, uint32_t ring,
		      struct xvt_clock_formula *f)
{
	return xvt_vmm_clock_get(&xvt_host_ring_host(region, ring)->vmm_clock, &f->offset,
				 &f->ratio, &f->frac);
}

static int vmm_open(struct xvt_clock_exact **out, int region_fd, const void *arg)
{
	const struct xvt_host_region *region = arg;
	struct xvt_clock_formula f;
	struct xvt_clock_exact *s;
	uint32_t i;

	(void)region_fd;
	for (i = 0; i < region->g.ring_count && formula_at(region, i, &f); i++)
		;
	if (i == region->g.ring_count)
		return -ENODEV;
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->region = region;
	*out = s;
	return 0;
}

static int vmm_read(struct xvt_clock_exact *s, uint32_t hw_id, struct xvt_clock_formula *f)
{
	uint32_t i;

	for (i = 0; i < s->region->g.ring_count; i++) {
		if (xvt_load(&xvt_host_ring_ctl(s->region, i)->hw_id) == hw_id)
			return formula_at(s->region, i, f);
	}
	return -ENODEV;
}

static void vmm_close(struct xvt_clock_exact *s)
{
	free(s);
}

const struct xvt_clock_exact_ops xvt_clock_vmm = {
	.name = "its region",
	.id = XVT_SOURCE_GUEST,
	.open = vmm_open,
	.read = vmm_read,
	.close = vmm_close,
};
