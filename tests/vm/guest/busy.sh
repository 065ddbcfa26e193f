#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each vCPU has a task that never waits.
. /lib.sh
events irq/softirq_entry irq/softirq_exit sched/sched_waking
xvt-guest sync
say ready
until_rings stop
hogs=
for cpu in $(awk '$1 ~ /^cpu[0-9]/ { print $1 }' /proc/stat); do
	(while :; do :; done) &
	hogs="$hogs $!"
done
say busy
until_rings off
kill $hogs
