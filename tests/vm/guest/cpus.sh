#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest whose CPUs come while it runs: what the module says of them, and events on each.
. /lib.sh
echo 1 >$tracing/events/sched/enable
xvt-guest sync
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY log 0000/p'
say up
seen=0
while :; do
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		[ ! -f "$cpu/online" ] || [ "$(cat "$cpu/online")" = 1 ] || echo 1 >"$cpu/online"
	done
	now=$(grep -c ^processor /proc/cpuinfo)
	if [ "$now" != "$seen" ]; then
		dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY log 0000/p'
		say "cpus $now"
		seen=$now
	fi
	usleep 100000
done
