#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Events on each CPU that is there: numbered markers, and the timers that interrupt them. CPU 1 is
# taken away and brought back without end; CPUs that are plugged in are brought up.
. /lib.sh
events timer/hrtimer_expire_entry timer/hrtimer_expire_exit
xvt-guest formats 'timer:hrtimer_expire_*' >/dev/null
xvt-guest formats ftrace:print >/dev/null
cpus=/sys/devices/system/cpu
is_on() { [ "$(cat "$cpus/cpu$1/online" 2>/dev/null || echo "$1")" = "$([ "$1" = 0 ] && echo 0 || echo 1)" ]; }

# Where its CPU goes away meanwhile, markers go on in another one's ring.
for cpu in 0 1 2 3; do
	n=0
	while :; do
		if is_on $cpu; then
			xvt-mark 200 --start $n --cpu $cpu >/dev/null 2>&1
			n=$((n + 200))
		fi
		usleep 2000
	done &
done

# CPU 1: some 0.3 s each.
while :; do
	usleep 300000
	if [ -d $cpus/cpu1 ]; then
		is_on 1 && echo 0 >$cpus/cpu1/online
		usleep 300000
		echo 1 >$cpus/cpu1/online && say "came back"
	fi
done &

say flowing
while :; do
	for cpu in 2 3; do
		[ "$(cat $cpus/cpu$cpu/online 2>/dev/null)" != 0 ] || echo 1 >$cpus/cpu$cpu/online 2>/dev/null
	done
	usleep 50000
done
