// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_meta.c - the metadata area, and /dev/xvtrace through which user space adds to it.
 * Each write() is one TLV: u32 type, u32 id, payload. Knows nothing of what a payload means,
 * except that a FORMAT has its two names.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>

#include "xvtrace.h"

/* Guards the metadata area (one appender at a time) and `meta_guest`. */
static DEFINE_MUTEX(meta_lock);
static struct xvt_guest *meta_guest;

static struct xvt_meta_hdr *meta_hdr(void)
{
	return meta_guest->base + meta_guest->geo.meta_off;
}

static bool same_bytes(const u8 *at, const void *head, u32 head_len, const void *body, u32 body_len)
{
	return !memcmp(at, head, head_len) && !memcmp(at + head_len, body, body_len);
}

/*
 * Is the same TLV of this generation there already? The area only grows, and user space
 * sends all formats again at each sync. Of formats of one type the last one counts: types are
 * used again.
 */
static bool known(u32 type, u32 id, const void *head, u32 head_len, const void *body, u32 body_len)
{
	const u8 *at = (const u8 *)(meta_hdr() + 1);
	u64 room = meta_guest->geo.meta_size - sizeof(struct xvt_meta_hdr);
	u64 left = min(xvt_load(&meta_hdr()->committed), room);
	bool found = false;

	while (left >= sizeof(struct xvt_meta_tlv)) {
		struct xvt_meta_tlv tlv;
		struct xvt_fault fault;
		s64 whole;

		memcpy(&tlv, at, sizeof(tlv));
		whole = xvt_check_tlv(&tlv, left, &fault);
		if (whole < 0)
			return false;
		if (tlv.type == type && tlv.id == id && tlv.generation == meta_guest->generation)
			found = (found && type != XVT_META_FORMAT) ||
				(tlv.len == head_len + body_len &&
				 same_bytes(at + sizeof(tlv), head, head_len, body, body_len));
		at += whole;
		left -= whole;
	}
	return found;
}

/* 0, -ENODEV: no region (any more), -ENOSPC: does not fit; counted in the area's header. */
int xvt_meta_put(u32 type, u32 id, const void *head, u32 head_len, const void *body, u32 body_len)
{
	int err = -ENODEV;

	mutex_lock(&meta_lock);
	if (meta_guest && !READ_ONCE(meta_guest->displaced)) {
		err = 0;
		if (!known(type, id, head, head_len, body, body_len))
			err = xvt_meta_append(meta_guest->base, &meta_guest->geo, type, id, head,
					      head_len, body, body_len);
	}
	mutex_unlock(&meta_lock);
	return err;
}

void xvt_meta_usage(u64 *used, u64 *size, u64 *refused)
{
	*used = *size = *refused = 0;
	mutex_lock(&meta_lock);
	if (meta_guest) {
		*used = xvt_load(&meta_hdr()->committed);
		*size = meta_guest->geo.meta_size - sizeof(struct xvt_meta_hdr);
		*refused = xvt_load(&meta_hdr()->refused);
	}
	mutex_unlock(&meta_lock);
}

/* User space may send what only it knows; CLOCK is the module's own. */
static int check_write(u32 type, const char *payload, u32 len)
{
	const char *second;

	switch (type) {
	case XVT_META_FORMAT:
		second = memchr(payload, 0, len);
		if (!second || !memchr(second + 1, 0, payload + len - second - 1))
			return -EINVAL;
		return 0;
	case XVT_META_COMM:
		return len && len <= 64 ? 0 : -EINVAL;
	case XVT_META_KSYMS:
	case XVT_META_PRINTK_FORMATS:
	case XVT_META_HEADER_PAGE:
	case XVT_META_TEXT:
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * -EINVAL: too short, or not a type that user space may write; -EMSGSIZE: larger than the
 * whole area; -ENOSPC: larger than what is left; -ENODEV: the device is gone.
 */
static ssize_t meta_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	u64 used, size, refused;
	struct {
		u32 type;
		u32 id;
		char payload[];
	} * tlv;
	u32 len;
	int err;

	xvt_meta_usage(&used, &size, &refused);
	if (!size)
		return -ENODEV;
	if (count < sizeof(*tlv))
		return -EINVAL;
	if (count > size)
		return -EMSGSIZE;
	tlv = vmemdup_user(buf, count);
	if (IS_ERR(tlv))
		return PTR_ERR(tlv);
	len = count - sizeof(*tlv);
	err = check_write(tlv->type, tlv->payload, len);
	if (!err)
		err = xvt_meta_put(tlv->type, tlv->id, NULL, 0, tlv->payload, len);
	kvfree(tlv);
	return err ? err : count;
}

static const struct file_operations meta_fops = {
	.owner = THIS_MODULE,
	.write = meta_write,
	.llseek = noop_llseek,
};

static struct miscdevice meta_dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "xvtrace",
	.fops = &meta_fops,
	.mode = 0600,
};

/* `groups`: attributes of the device /dev/xvtrace. Returns 0 or misc_register()'s error. */
int xvt_meta_start(struct xvt_guest *g, const struct attribute_group **groups)
{
	const struct new_utsname *u = utsname();
	struct xvt_clock_sync clock;
	char text[3 * __NEW_UTS_LEN];
	int err;

	mutex_lock(&meta_lock);
	meta_guest = g;
	mutex_unlock(&meta_lock);

	/* Full is no reason to fail: the events still come, only these texts are missing. */
	xvt_clock_sample(&clock, XVT_SYNC_ATTACH);
	err = xvt_meta_put(XVT_META_CLOCK, 0, NULL, 0, &clock, sizeof(clock));
	if (!err)
		err = xvt_meta_put(XVT_META_TEXT, 0, NULL, 0, text,
				   scnprintf(text, sizeof(text), "%s %s %s %s", u->sysname,
					     u->release, u->version, u->machine));
	if (err)
		dev_warn(&g->pdev->dev, "metadata area is full; formats of this boot will be "
					"missing; give the region a larger meta_size\n");

	meta_dev.groups = groups;
	meta_dev.parent = &g->pdev->dev;
	err = misc_register(&meta_dev);
	if (err)
		xvt_meta_stop();
	return err;
}

/* Open files stay; their writes get -ENODEV. */
void xvt_meta_stop(void)
{
	if (meta_dev.this_device)
		misc_deregister(&meta_dev);
	meta_dev.this_device = NULL;
	mutex_lock(&meta_lock);
	meta_guest = NULL;
	mutex_unlock(&meta_lock);
}
