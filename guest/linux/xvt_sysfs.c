// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_sysfs.c - /sys/class/misc/xvtrace/: what the module does, for people and for
 * xvt-guest. Read only; what can be set is a module parameter.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "xvtrace.h"

/* Lines "NAME VALUE". */
static ssize_t region_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct xvt_geometry *g = &xvt_guest.geo;

	return sysfs_emit(
		buf,
		"size %llu\nalign %u\nring_count %u\nsubbuf_size %u\nsubbuf_count %u\n"
		"meta_off %llu\nmeta_size %llu\nctl_off %llu\ndata_off %llu\nts_bits %u\n",
		g->region_size, g->align, g->ring_count, g->subbuf_size, g->subbuf_count,
		g->meta_off, g->meta_size, g->ctl_off, g->data_off, g->ts_bits);
}
static DEVICE_ATTR_RO(region);

static ssize_t generation_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", xvt_guest.generation);
}
static DEVICE_ATTR_RO(generation);

static ssize_t boot_uuid_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", &xvt_guest.uuid);
}
static DEVICE_ATTR_RO(boot_uuid);

static ssize_t mapping_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "type %s\nby %s\nread_ps %llu\n",
			  xvt_guest.cached ? "write-back" : "uncached",
			  xvt_guest.vmapped ? "vmap_pfn" : "memremap", xvt_guest.access_ps);
}
static DEVICE_ATTR_RO(mapping);

static ssize_t clock_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct xvt_region_hdr *h = xvt_guest.base;

	return sysfs_emit(buf, "id %u\nhz %llu\npair_error %d\n", xvt_load(&h->clock_id),
			  xvt_load(&h->clock_hz), xvt_guest.pair_error);
}
static DEVICE_ATTR_RO(clock);

static ssize_t meta_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u64 used, size, refused;

	xvt_meta_usage(&used, &size, &refused);
	return sysfs_emit(buf, "used %llu\nsize %llu\nrefused %llu\n", used, size, refused);
}
static DEVICE_ATTR_RO(meta);

static ssize_t host_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct xvt_region_hdr *h = xvt_guest.base;
	const struct xvt_host_page *p = xvt_host_page();

	return sysfs_emit(buf,
			  "attach_id %llu\nrequest_seq %u\nrequest_ack %u\nrequest_result %d\n"
			  "host_events %u\n",
			  xvt_load(&p->attach_id), xvt_load(&p->request_seq),
			  xvt_load(&h->request_ack), xvt_load(&h->request_result),
			  xvt_load(&h->host_events));
}
static DEVICE_ATTR_RO(host);

static ssize_t hooks_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return xvt_hooks_show(buf);
}
static DEVICE_ATTR_RO(hooks);

static ssize_t symbols_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return xvt_symbols_show(buf);
}
static DEVICE_ATTR_RO(symbols);

static struct attribute *xvt_attrs[] = {
	&dev_attr_region.attr,	  &dev_attr_generation.attr,
	&dev_attr_boot_uuid.attr, &dev_attr_mapping.attr,
	&dev_attr_clock.attr,	  &dev_attr_meta.attr,
	&dev_attr_host.attr,	  &dev_attr_hooks.attr,
	&dev_attr_symbols.attr,	  NULL,
};

#define ROW_MAX 400

static int put_row(char *at, unsigned int ring)
{
	static const char *const states[] = { "idle", "online", "offline" };
	static const char *const enables[] = { "off", "stop", "overwrite" };
	const struct xvt_ring_ctl *c = xvt_guest.base + xvt_ctl_off(&xvt_guest.geo, ring);
	const struct xvt_ring_host *h = xvt_guest.base + xvt_ring_host_off(&xvt_guest.geo, ring);
	u32 state = xvt_load(&c->state), enable = xvt_load(&h->enable);
	u64 resv = xvt_resv_pos(XVT_RING_BACKEND, xvt_guest.geo.subbuf_shift, xvt_load(&c->resv));
	int i, len;

	len = scnprintf(at, ROW_MAX, "%u %u %u %s %s %llu %llu %llu %u %u %llu %llu", ring,
			xvt_load(&c->cpu), xvt_load(&c->hw_id),
			state < ARRAY_SIZE(states) ? states[state] : "?",
			enable < ARRAY_SIZE(enables) ? enables[enable] : "?", resv,
			xvt_load(&c->commit), xvt_load(&h->cons), xvt_load(&c->nest),
			xvt_load(&c->nest_max), xvt_load(&c->attempted), xvt_load(&c->discarded));
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		len += scnprintf(at + len, ROW_MAX - len, " %llu", xvt_load(&c->lost[i]));
	return len + scnprintf(at + len, ROW_MAX - len, " %llu\n", xvt_load(&c->retries));
}

/* A table of all rings; binary, because with many CPUs it is longer than a page. */
static ssize_t rings_read(struct file *file, struct kobject *kobj,
			  XVT_BIN_CONST struct bin_attribute *attr, char *buf, loff_t pos,
			  size_t count)
{
	size_t size = (size_t)ROW_MAX * (xvt_guest.geo.ring_count + 1), len;
	char *text = kvmalloc(size, GFP_KERNEL);
	unsigned int ring;
	ssize_t got;

	if (!text)
		return -ENOMEM;
	len = scnprintf(text, ROW_MAX,
			"ring cpu hw_id state enable resv commit cons nest nest_max attempted "
			"discarded full wrap big nest_lost retry_lost retries\n");
	for (ring = 0; ring < xvt_guest.geo.ring_count; ring++)
		len += put_row(text + len, ring);
	got = memory_read_from_buffer(buf, count, &pos, text, len);
	kvfree(text);
	return got;
}
static BIN_ATTR_RO(rings, 0);

static struct bin_attribute XVT_BIN_CONST *xvt_bin_attrs[] = { &bin_attr_rings, NULL };

static const struct attribute_group xvt_group = {
	.attrs = xvt_attrs,
	.bin_attrs = xvt_bin_attrs,
};

const struct attribute_group *xvt_sysfs_groups[] = { &xvt_group, NULL };
