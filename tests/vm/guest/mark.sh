#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Numbered markers on every CPU: xvt.marks=N how many, xvt.end=panic|wait what then.
. /lib.sh
marks=$(sed -n 's/.*xvt.marks=\([0-9]*\).*/\1/p' /proc/cmdline)
end=$(sed -n 's/.*xvt.end=\([a-z]*\).*/\1/p' /proc/cmdline)
xvt-guest formats ftrace:print
say ready
until_rings stop
cpus=$(grep -c ^processor /proc/cpuinfo)
cpu=0
while [ $cpu -lt "$cpus" ]; do
	xvt-mark "$marks" --cpu $cpu &
	cpu=$((cpu + 1))
done
say flowing
case $end in
panic)
	# In mid-flow: when every ring has seen some thousand of them.
	until awk 'NR > 1 && $4 == "online" && $11 < 3000 { few = 1 } END { exit few }' $rings; do
		usleep 10000
	done
	echo c >/proc/sysrq-trigger
	;;
*)
	wait
	say marked
	cat $rings
	until_rings off
	;;
esac
