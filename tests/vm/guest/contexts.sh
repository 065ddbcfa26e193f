#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Events from task, soft and hard interrupt context; the host asked for some of them.
. /lib.sh
events timer/hrtimer_expire_entry irq/softirq_entry
xvt-guest sync
say ready
until_rings stop
xvt-load 2
echo "hello from $XVT_NAME" >$tracing/trace_marker
say "$(grep pair_error /sys/class/misc/xvtrace/clock)"
say done
cat $rings
until_rings off
