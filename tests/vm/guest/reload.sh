#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The module goes and comes back again and again while functions are traced, events and markers
# fire from all contexts and the host records.
. /lib.sh
say_apart

ko=/lib/modules/$(uname -r)/xvtrace.ko
rings_attempted() {
	awk 'NR > 1 && $4 == "online" { if (!n++ || $11 < least) least = $11 } END { print least + 0 }' $rings
}

# What one generation does: some of everything on each CPU.
work() {
	until_rings stop
	say "generation $(cat /sys/class/misc/xvtrace/generation)"
	echo "xvt-reload $1 begin" >$tracing/trace_marker
	xvt-guest sync >/dev/null
	least=$(($(rings_attempted) + 2000))
	xvt-mark 50 --cpu 0 >/dev/null
	xvt-mark 50 --cpu 1 >/dev/null
	until [ "$(rings_attempted)" -ge $least ]; do
		:
	done
	echo "xvt-reload $1 end" >$tracing/trace_marker
}

loads=$(sed -n 's/.*xvt.reloads=\([0-9]*\).*/\1/p' /proc/cmdline)
loads=${loads:-12}
events sched irq timer signal raw_syscalls task workqueue net sock nmi
# Not all functions: to patch 50,000 places takes an emulated CPU half a minute without answering.
# The second line is what loading and unloading themselves run through.
echo 'sched_*' 'hrtimer_*' 'tick_*' 'udp_*' 'ip_*' 'wake_*' 'irq_*' 'rcu_*' 'nmi_*' '*_nmi' 'exc_*' \
	'*_module*' 'pci_*' 'memremap*' 'vmap_*' 'misc_*' 'cpuhp_*' 'synchronize_*' '*register_*' 'tracepoint_*' \
	>$tracing/set_ftrace_filter
echo function >$tracing/current_tracer
say "functions $(wc -l <$tracing/set_ftrace_filter) own $(grep -c xvt $tracing/available_filter_functions)"
say ready
until_rings stop

touch /tmp/busy
while [ -f /tmp/busy ]; do
	xvt-load 1 >/dev/null
done &

work 0
n=0
while [ $n -lt $loads ]; do
	n=$((n + 1))
	rmmod xvtrace || exit 1
	insmod "$ko" || exit 1
	work $n
done
rm /tmp/busy
wait
echo nop >$tracing/current_tracer
echo 0 >$tracing/events/enable

bad=$(dmesg | grep -cE 'WARNING|BUG|Oops|Call Trace|stall|blocked for more')
[ "$bad" -eq 0 ] || dmesg | tail -n 100
# Bits: 7 died, 9 warned, 14 locked up.
say "dmesg-bad $bad taint $(($(cat /proc/sys/kernel/tainted) & (1 << 7 | 1 << 9 | 1 << 14)))"
say "loads $loads"
say done
until_rings off
