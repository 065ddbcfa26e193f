#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Events of all kinds, switched on before the module is there, and formats by no hand: xvt-guest is
# called in the third boot only, at the end, to find nothing left to send. Reboots twice.
. /lib.sh
param=/sys/class/misc/xvtrace

# used: bytes of the metadata area, when all that was met is named
used() {
	until awk '/^addresses/ { a = $2 } /^seen_to/ { exit a != $2 }' $param/symbols; do
		usleep 20000
	done
	awk '$1 == "used" { print $2 }' $param/meta
}

# tlv FILE...: bytes that the formats of these events take
tlv() {
	for f in "$@"; do
		head=$(basename "$(dirname "$(dirname "$f")")") event=$(basename "$(dirname "$f")")
		echo $(((16 + ${#head} + ${#event} + 2 + $(wc -c <"$f") + 7) / 8 * 8))
	done | awk '{ n += $1 } END { print n }'
}

# put TEXT: a format of this text for the type 1000
put() {
	printf '\001\000\000\000\350\003\000\000s\000e\000name: e\nID: 1000\nformat:\n\nprint fmt: "%s"\n' "$1" >/dev/xvtrace
	used
}

# shellcheck disable=SC2016 # the kernel's variables
echo 'p:probed/opened do_sys_openat2 name=+0(%si):ustring flags=+0(%dx):x64 four=+0(%dx):u8[4]' >$tracing/kprobe_events
events sched irq timer probed syscalls/sys_enter_openat syscalls/sys_exit_openat
echo stacktrace >$tracing/events/sched/sched_process_fork/trigger
insmod "/lib/modules/$(uname -r)/xvtrace.ko" host_control=1 || exit 1
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY log 0000/p'
until_rings stop
boot=$(cat $param/generation)
# The host asks for it, at each boot.
until [ "$(cat $tracing/events/task/enable)" = 1 ]; do
	usleep 20000
done
for cpu in 0 1; do
	xvt-mark 20 --start $((boot * 1000)) --cpu $cpu >/dev/null
done
xvt-load 1 >/dev/null
# Functions, and events that come late.
echo schedule_timeout >$tracing/set_ftrace_filter
echo function >$tracing/current_tracer
events workqueue
xvt-load 1 >/dev/null
cat /etc/modules >/dev/null
echo nop >$tracing/current_tracer
echo 0 >$tracing/events/enable
all=$(used)
say "boot $boot"
[ "$boot" -ge 3 ] || reboot -f

# Those that ftrace keeps for itself are sent together, met or not; and the layout of its pages.
xvt-guest formats ftrace:print >/dev/null
own=$(($(used) - all))
page=$(((16 + $(wc -c <$tracing/events/header_page) + 7) / 8 * 8))
cd $tracing/events || exit 1
say "own $own of $((page + $(tlv ftrace/bprint/format ftrace/bputs/format ftrace/raw_data/format)))"
before=$(used)
xvt-guest formats probed:opened syscalls:sys_enter_openat syscalls:sys_exit_openat sched:sched_wakeup \
	irq:softirq_entry timer:hrtimer_start workqueue:workqueue_execute_start sched:sched_process_fork >/dev/null
say "others $(($(used) - before)) of 0"
before=$(used)
xvt-guest formats sched:sched_switch sched:sched_waking >/dev/null
say "left out $(($(used) - before)) of $(tlv sched/sched_switch/format sched/sched_waking/format)"
say "again $(put a) $(put a) $(put b) $(put b) $(put a)"
say done
until_rings off
