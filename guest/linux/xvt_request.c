// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_request.c - events that the host asks for, through its page of the region. Only if
 * the module was loaded with host_control=1; otherwise the answer is -EPERM.
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "xvtrace.h"

static bool host_control;
module_param(host_control, bool, 0444);
MODULE_PARM_DESC(host_control,
		 "1: the host may switch this guest's trace events on and off (default 0)");

static void request_work(struct work_struct *work);
static DECLARE_WORK(work, request_work);

static void acknowledge(u32 seq, int result)
{
	struct xvt_region_hdr *h = xvt_guest.base;

	xvt_store(&h->request_result, result);
	xvt_store_release(&h->request_ack, seq); /* pairs with the host's poll */
}

static bool is_name(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++) {
		if (!isalnum(*s) && *s != '_' && *s != '-')
			return false;
	}
	return true;
}

/* One line "+SYSTEM:EVENT" or "-SYSTEM:EVENT"; EVENT may be * for all of the system. */
static int carry_out(char *line)
{
	struct device *dev = &xvt_guest.pdev->dev;
	bool on = line[0] == '+';
	char *system = line + 1;
	char *event = strchr(system, ':');
	int err;

	if ((!on && line[0] != '-') || !event)
		return -EINVAL;
	*event++ = 0;
	if (!is_name(system) || (strcmp(event, "*") && !is_name(event)))
		return -EINVAL;
	if (!strcmp(event, "*"))
		return trace_set_clr_event(system, NULL, on);
	/* The format first, so that the host can decode the first record. */
	if (on) {
		err = xvt_format_put(system, event);
		if (err && err != -EOPNOTSUPP && err != -ENOSPC)
			return err;
		if (err)
			dev_warn(dev,
				 "%s:%s: switched on for the host, but its format is not in the "
				 "metadata (%d); run xvt-guest formats\n",
				 system, event, err);
	}
	return trace_set_clr_event(system, event, on);
}

/* All lines are tried; the first error is the answer. */
static void request_work(struct work_struct *unused)
{
	struct xvt_host_page *page = xvt_host_page();
	u32 seq = xvt_load_acquire(&page->request_seq); /* pairs with the host's release */
	u32 len = xvt_load(&page->request_len);
	char *text, *rest, *line;
	struct xvt_region_hdr *h = xvt_guest.base;
	int err, lines = 0, result = 0;

	/* The timer may have queued us again while we were at it. */
	if (seq == xvt_load(&h->request_ack))
		return;
	if (len > XVT_REQUEST_LEN) {
		acknowledge(seq, -EINVAL);
		return;
	}
	/* Copied once and parsed from the copy. */
	text = kmalloc(XVT_REQUEST_LEN + 1, GFP_KERNEL);
	if (!text) {
		acknowledge(seq, -ENOMEM);
		return;
	}
	memcpy(text, page->request, len);
	text[len] = 0;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		lines++;
		err = carry_out(line);
		if (err && !result)
			result = err;
	}
	kfree(text);
	dev_info(&xvt_guest.pdev->dev, "host's request %u to switch events: %d lines, result %d\n",
		 seq, lines, result);
	acknowledge(seq, result);
}

/* Called by one CPU's timer. A request from before the module came is carried out, too. */
void xvt_request_poll(void)
{
	struct xvt_region_hdr *h = xvt_guest.base;
	u32 seq = xvt_load_acquire(&xvt_host_page()->request_seq);

	if (seq == xvt_load(&h->request_ack))
		return;
	if (host_control)
		schedule_work(&work);
	else
		acknowledge(seq, -EPERM);
}

/* The timers are gone by now, so none comes after. */
void xvt_request_stop(void)
{
	cancel_work_sync(&work);
}
