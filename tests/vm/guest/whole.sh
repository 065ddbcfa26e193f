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
control() { cat /sys/module/xvtrace/parameters/host_control; }
say "boot $boot asked $(dmesg | grep -c 'the rings were in use')"
say "boot $boot host events $(control)"
say "boot $boot on $(cat $instance/events/timer/enable) sched $(cat $instance/events/sched/enable) top $(cat /sys/kernel/tracing/events/timer/enable) result $(systemctl show -P Result xvtrace-guest)"
until grep -q ' stop ' /sys/class/misc/xvtrace/rings; do
	sleep 0.1
done
# The host asks for it.
until [ "$(cat /sys/kernel/tracing/events/irq/softirq_entry/enable)" = 1 ]; do
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
until [ "$(control)" = 1 ]; do
	sleep 0.1
done
say "back host events 1"
sed -i 's/^event timer/event no_such:thing/' /etc/xvtrace/guest.conf
xvt-guest start
say "wrong $? timer $(cat $instance/events/timer/enable)"
say "start $(xvt-guest start 2>&1 | head -n 1)"
for line in 'host_events=no' 'host_events yes' 'host_events=perhaps' '' 'host_events = yes'; do
	sed -i '/^host_events/d' /etc/xvtrace/guest.conf
	echo "$line" >>/etc/xvtrace/guest.conf
	said=$(xvt-guest start 2>&1 | grep -o "host_events is yes or no, not '.*")
	say "host events '$line': $(control) header $(awk '$1 == "host_events" { print $2 }' /sys/class/misc/xvtrace/host) $said"
done
say "done"
