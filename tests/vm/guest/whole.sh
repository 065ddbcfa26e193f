#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs as a unit of a whole system, whose packages alone switch events on. Reboots twice; in the third
# boot the module goes and comes.
say() { echo "XVT-SAY $*" >/dev/ttyS0; }
instance=/sys/kernel/tracing/instances/xvtrace
until [ -e $instance/events/timer/enable ] && [ "$(systemctl is-active xvtrace-guest)" = inactive ]; do
	sleep 0.1
done
boot=$(cat /sys/class/misc/xvtrace/generation)
say "boot $boot on $(cat $instance/events/timer/enable) sched $(cat $instance/events/sched/enable) top $(cat /sys/kernel/tracing/events/enable) result $(systemctl show -P Result xvtrace-guest)"
until grep -q ' stop ' /sys/class/misc/xvtrace/rings; do
	sleep 0.1
done
i=0
while [ $i -lt 20 ]; do
	echo "whole boot $boot" >/sys/kernel/tracing/trace_marker
	i=$((i + 1))
	sleep 0.05
done
if [ "$boot" -lt 3 ]; then
	systemctl reboot
	exit
fi
rmmod xvtrace
until [ ! -e $instance ]; do
	sleep 0.1
done
say "gone"
modprobe xvtrace
until [ -e $instance/events/timer/enable ] && [ "$(cat $instance/events/timer/enable)" = 1 ]; do
	sleep 0.1
done
say "back"
sed -i 's/^event timer/event no_such:thing/' /etc/xvtrace/guest.conf
xvt-guest start
say "wrong $? timer $(cat $instance/events/timer/enable)"
say "start $(xvt-guest start 2>&1 | head -n 1)"
say "done"
