// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_request.c - events that the host asks for, through its page of the region. Only if
 * host_control is 1; otherwise the answer is -EPERM. The header says which, so that a host that
 * comes before this guest's owner has been heard (`xvt-guest start`) waits.
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "xvtrace.h"

enum consent {
	NOT_SAID,
	NO,
	YES,
};

/* May the host choose events: as the module was loaded, and as was said since this device came. */
static enum consent at_load, said;
/* Of `said`, and of the region's mapping; held while a request is carried out. */
static DEFINE_MUTEX(consent_lock);
static bool mapped;

static bool is_allowed(void)
{
	enum consent now = READ_ONCE(said);

	return (now ? now : READ_ONCE(at_load)) == YES;
}

/* Where the region is mapped. With the lock. */
static void tell_host(void)
{
	struct xvt_region_hdr *h = xvt_guest.base;

	if (!READ_ONCE(xvt_open))
		return;
	if (!said && !at_load)
		xvt_store(&h->host_events, XVT_HOST_EVENTS_UNKNOWN);
	else
		xvt_store(&h->host_events,
			  is_allowed() ? XVT_HOST_EVENTS_ALLOWED : XVT_HOST_EVENTS_REFUSED);
}

/* 0 or 1; "load": as the module was loaded, where `xvt-guest start` is told nothing else. */
static int host_control_set(const char *val, const struct kernel_param *kp)
{
	enum consent new = at_load == YES ? YES : NO;
	bool value;
	int err;

	if (!val || !sysfs_streq(val, "load")) {
		err = kstrtobool(val ? val : "1", &value);
		if (err)
			return err;
		new = value ? YES : NO;
	}
	mutex_lock(&consent_lock);
	if (THIS_MODULE->state == MODULE_STATE_LIVE)
		said = new;
	else
		at_load = new;
	if (mapped)
		tell_host();
	mutex_unlock(&consent_lock);
	return 0;
}

static int host_control_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", is_allowed());
}

static const struct kernel_param_ops host_control_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = host_control_set,
	.get = host_control_get,
};
module_param_cb(host_control, &host_control_ops, NULL, 0644);
MODULE_PARM_DESC(host_control,
		 "1: the host may switch this guest's trace events on and off (default 0)");

static void request_work(struct work_struct *work);
static DECLARE_WORK(work, request_work);

/* The host decides how many requests there are: in the log are some of each interval, and the
 * number of the others. With the lock, but for the timer's look at `left_out`. */
#define LOG_LINES	10u
#define LOG_INTERVAL_NS (10 * (u64)NSEC_PER_SEC)

static struct {
	u64 begin_ns;
	unsigned int lines, left_out;
} request_log;

static bool log_interval_ended(void)
{
	return ktime_get_ns() - READ_ONCE(request_log.begin_ns) >= LOG_INTERVAL_NS;
}

static void log_left_out(void)
{
	if (request_log.left_out)
		dev_info(&xvt_guest.pdev->dev,
			 "%u further lines about the host's requests are left out\n",
			 request_log.left_out);
	WRITE_ONCE(request_log.left_out, 0);
}

static bool may_log(void)
{
	if (log_interval_ended()) {
		log_left_out();
		WRITE_ONCE(request_log.begin_ns, ktime_get_ns());
		request_log.lines = 0;
	}
	if (request_log.lines < LOG_LINES)
		return ++request_log.lines;
	WRITE_ONCE(request_log.left_out, request_log.left_out + 1);
	return false;
}

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

/* A line "+SYSTEM:EVENT" or "-SYSTEM:EVENT"; EVENT may be * for all of the system. */
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
		if (err && may_log())
			dev_warn(dev,
				 "%s:%s: switched on for the host, but its format is not in the "
				 "metadata (%d); run xvt-guest formats\n",
				 system, event, err);
	}
	return trace_set_clr_event(system, event, on);
}

/* All lines are tried; the first error is the answer. */
static void answer_request(void)
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
	/* The request may have been taken back since. */
	if (!is_allowed()) {
		acknowledge(seq, -EPERM);
		return;
	}
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
	if (may_log())
		dev_info(&xvt_guest.pdev->dev,
			 "host's request %u to switch events: %d lines, result %d\n", seq, lines,
			 result);
	acknowledge(seq, result);
}

static void request_work(struct work_struct *unused)
{
	mutex_lock(&consent_lock);
	if (log_interval_ended())
		log_left_out();
	answer_request();
	mutex_unlock(&consent_lock);
}

/* Called by one CPU's timer. A request from before the module came is carried out, too. */
void xvt_request_poll(void)
{
	struct xvt_region_hdr *h = xvt_guest.base;
	u32 seq = xvt_load_acquire(&xvt_host_page()->request_seq);

	if (seq == xvt_load(&h->request_ack)) {
		if (READ_ONCE(request_log.left_out) && log_interval_ended())
			schedule_work(&work);
		return;
	}
	if (is_allowed())
		schedule_work(&work);
	else
		acknowledge(seq, -EPERM);
}

/* A generation has begun, or the machine has gone on with another one. */
void xvt_request_start(void)
{
	mutex_lock(&consent_lock);
	mapped = true;
	tell_host();
	mutex_unlock(&consent_lock);
}

/*
 * The timers are gone by now, so none comes after. The refusal that was told holds as long as the
 * device is there: its next appearance starts xvt-guest again.
 */
void xvt_request_stop(void)
{
	cancel_work_sync(&work);
	mutex_lock(&consent_lock);
	log_left_out();
	mapped = false;
	said = NOT_SAID;
	mutex_unlock(&consent_lock);
}
