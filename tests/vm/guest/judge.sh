#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The same events twice: in ftrace's own ring and in ours. Nothing is written to ftrace's ring
# before our rings are on, and nothing after the events are off, so the two sets have no edges:
# all that is in one must be in the other.
. /lib.sh
say_apart

seconds=${JUDGE_SECONDS:-3}

# dump CPU DIR: all pages of this CPU's ring. A read of trace_pipe_raw gives one page and waits
# for more when there is none, so never read more pages than there must be.
dump() {
	cpu=$tracing/per_cpu/cpu$1
	cat "$cpu/stats" >"$2/cpu$1.stats"
	: >"$2/cpu$1.raw"
	# A page has 4080 bytes of data at most.
	pages=$(awk '$1 == "bytes:" { print int($2 / 4080) }' "$cpu/stats")
	while :; do
		[ "$pages" -eq 0 ] || dd if="$cpu/trace_pipe_raw" bs=4096 count="$pages" 2>/dev/null >>"$2/cpu$1.raw"
		[ "$(awk '$1 == "entries:" { print $2 }' "$cpu/stats")" -gt 0 ] || break
		pages=1
	done
}

# No filter and no trigger: with one, ftrace builds entries in a page of its own.
echo nop >$tracing/current_tracer
echo 0 >$tracing/options/overwrite
echo x86-tsc >$tracing/trace_clock
echo 40960 >$tracing/buffer_size_kb
echo >$tracing/trace
say ready
until_rings stop

# By system; exceptions (page faults) are left out: they nest in an event of the same context.
events sched irq timer signal syscalls raw_syscalls task workqueue irq_vectors kmem net skb napi \
	sock tcp nmi
# The host injects NMIs from here on.
say nmi
# The judge must see that both CPUs were in it.
xvt-mark 100 --cpu 0
xvt-mark 100 --cpu 1
xvt-load "$seconds"
until [ "$(awk '$1 == "NMI:" { print $2 }' /proc/interrupts)" -ge 20 ]; do
	xvt-load 1
done
echo 0 >$tracing/events/enable
say done
# The recorder has everything, and reads it without us.
until_rings off

mkdir /tmp/judge
for n in 0 1; do
	dump $n /tmp/judge
done
head -n 20 /tmp/judge/*.stats
tar cf /dev/vda -C /tmp/judge . || exit 1
