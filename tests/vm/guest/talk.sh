#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What ftrace does not export: lines of trace_printk() and trace_puts() from every context, and
# kernel stacks, of events and of the lines. ftrace's own ring goes to the host, too.
. /lib.sh

# dump CPU DIR: all of this CPU's ring. Nothing is written to it any more.
dump() {
	cpu=$tracing/per_cpu/cpu$1
	cat "$cpu/stats" >"$2/cpu$1.stats"
	: >"$2/cpu$1.raw"
	while [ "$(awk '$1 == "entries:" { print $2 }' "$cpu/stats")" -gt 0 ]; do
		dd if="$cpu/trace_pipe_raw" bs=4096 count=1 2>/dev/null >>"$2/cpu$1.raw"
	done
}

echo nop >$tracing/current_tracer
echo 0 >$tracing/options/overwrite
echo 20480 >$tracing/buffer_size_kb
until_rings stop
echo >$tracing/trace
echo "xvt-talk begin" >$tracing/trace_marker
insmod /xvt_talk.ko rounds=20
rmmod xvt_talk
echo 1 >$tracing/options/stacktrace
insmod /xvt_talk.ko rounds=5
events sched/sched_wakeup irq/irq_handler_entry irq/softirq_entry timer/hrtimer_expire_entry
# The module's formats are known to the kernel from its load on.
xvt-guest sync
xvt-load 1
echo 0 >$tracing/events/enable
echo 0 >$tracing/options/stacktrace
xvt-guest ksyms || exit 1
echo 0 >$tracing/tracing_on
say "bputs $(awk '/^ID:/ { print $2 }' $tracing/events/ftrace/bputs/format)"
sed 's/^/XVT-SAY hook /' /sys/class/misc/xvtrace/hooks
say "warnings $(dmesg | grep -cE 'WARNING|BUG:|Oops')"
mkdir /tmp/judge
dump 0 /tmp/judge
dump 1 /tmp/judge
tar cf /dev/vda -C /tmp/judge . || exit 1
say done
until_rings off

# What happens inside a kprobe's handler is missed: the stacks of a kprobe event. A second recording counts them.
until_rings stop
echo 1 >$tracing/tracing_on
echo 'p:xvt_talk vfs_read' >$tracing/kprobe_events
echo 1 >$tracing/options/stacktrace
echo 1 >$tracing/events/kprobes/xvt_talk/enable
for n in 1 2 3 4 5; do
	read -r _ </proc/version
done
echo 0 >$tracing/events/kprobes/xvt_talk/enable
echo 0 >$tracing/options/stacktrace
# A look of each CPU's timer later they are in the ring's counters.
until [ "$(awk 'NR > 1 { n += $16 } END { print n }' $rings)" = "$(awk '{ n += $5 } END { print n }' /sys/class/misc/xvtrace/hooks)" ]; do
	usleep 10000
done
say "missed $(awk '{ n += $5 } END { print n }' /sys/class/misc/xvtrace/hooks)"
until_rings off
