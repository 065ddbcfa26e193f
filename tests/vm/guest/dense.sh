#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Events without end and without long gaps: numbered markers on every CPU, and the timers that
# interrupt them. It runs until it is ended from outside; recordings come and go.
. /lib.sh
events timer/hrtimer_expire_entry timer/hrtimer_expire_exit
xvt-guest formats 'timer:hrtimer_expire_*' >/dev/null
xvt-guest formats ftrace:print >/dev/null
for cpu in $(seq 0 $(($(grep -c ^processor /proc/cpuinfo) - 1))); do
	n=0
	while :; do
		xvt-mark 1000 --start $n --cpu "$cpu" >/dev/null
		n=$((n + 1000))
		usleep 2000
	done &
done
say flowing
wait
