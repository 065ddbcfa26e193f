#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Numbered markers on every CPU without end, exchanges with the other guest (xvt.role=server or
# client), and orders from the host, one a line: each is answered with "did ...".
# Numbers begin at the generation of the rings times 10^9, so every boot and every load of the
# module has its own.
. /lib.sh

ko=/lib/modules/$(uname -r)/xvtrace.ko
role=$(sed -n 's/.*xvt.role=\([a-z]*\).*/\1/p' /proc/cmdline)

# mark_on CPU: markers until /run/flow.CPU goes; short rests, so that others get to run. A CPU that
# comes back in the same generation goes on where it was: no number is there twice.
mark_on() {
	touch /run/flow.$1
	n=$(($(cat /sys/class/misc/xvtrace/generation) * 1000000000))
	next=$(cat /run/next.$1 2>/dev/null || echo 0)
	[ $next -le $n ] || n=$next
	while [ -f /run/flow.$1 ]; do
		xvt-mark 200 --start $n --cpu $1 >/dev/null
		n=$((n + 200))
		echo $n >/run/next.$1
		usleep 2000
	done &
	eval "flow_$1=$!"
}

mark_off() {
	rm /run/flow.$1
	eval "wait \$flow_$1"
}

cpus() {
	seq 0 $(($(grep -c ^processor /proc/cpuinfo) - 1))
}

for_cpus() {
	for cpu in $(cpus); do
		$1 $cpu
	done
}

# A guest that sets its own time stamp counter (MSR 0x10): 2^40 ticks, minutes away from what it was.
write_tsc() {
	[ -c /dev/cpu/0/msr ] || insmod /msr.ko || return
	printf '\0\0\0\0\0\1\0\0' | dd of=/dev/cpu/0/msr bs=8 seek=2 conv=notrunc 2>/dev/null
}

obey() {
	case $1 in
	offline)
		mark_off 1
		echo 0 >/sys/devices/system/cpu/cpu1/online
		;;
	online)
		echo 1 >/sys/devices/system/cpu/cpu1/online
		mark_on 1
		;;
	reload)
		for_cpus mark_off
		rmmod xvtrace && insmod "$ko" probes=none && xvt-guest formats 'irq:*' >/dev/null
		for_cpus mark_on
		;;
	suspend)
		echo deep >/sys/power/mem_sleep
		echo mem >/sys/power/state
		;;
	tsc) write_tsc ;;
	kexec) /xvt-kexec /boot/vmlinuz /boot/initrd "$(cat /proc/cmdline)" ;;
	off) poweroff -f ;;
	esac
}

mkdir -p /run
hear_orders
echo nop >$tracing/current_tracer
events irq/irq_handler_entry irq/irq_handler_exit
xvt-guest formats 'irq:*' >/dev/null
for_cpus mark_on
case $role in
server) while :; do xvt-pingpong server 7000 >/dev/null 2>&1; done & ;;
client) while :; do xvt-pingpong client 10.77.0.1 7000 1000000000 >/dev/null 2>&1; done & ;;
esac
say "flowing generation $(cat /sys/class/misc/xvtrace/generation)"
while read -r order; do
	# shellcheck disable=SC2086 # words
	obey $order
	say "did $order $?"
done <&3
