#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A client asks a server on the other vCPU.
. /lib.sh
events sched/sched_waking irq/softirq_entry irq/softirq_exit irq/softirq_raise
xvt-guest sync
say ready
until_rings stop
/xvt-ask 40 5
say asked
until_rings off
