#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What each guest of the demo does: g2 answers, g1 asks; both run a workload that crosses
# contexts (processes, timers, soft interrupts, markers).
. /lib.sh

events timer/hrtimer_start timer/hrtimer_expire_entry timer/hrtimer_expire_exit \
	irq/softirq_entry irq/softirq_exit irq/softirq_raise sched/sched_waking sched/sched_process_fork sched/sched_process_exit
xvt-guest sync
say ready
until_rings stop
if [ "$XVT_NAME" = g2 ]; then
	xvt-load 3 >/dev/null
	xvt-pingpong server 7000
else
	xvt-load 3 >/dev/null
	xvt-pingpong client 10.77.0.2 7000 1200
fi
say done
# The host ends the recording; everything up to there shall be in the trace.
until_rings off
