#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A load that crosses contexts, for three seconds.
. /lib.sh
events timer/hrtimer_expire_entry irq/softirq_entry sched/sched_waking
xvt-guest sync
say ready
until_rings stop
xvt-load 3
say done
until_rings off
