#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Function tracing, stacks and events that print functions, some of a module; no xvt-guest ksyms. The kernel's own table of
# symbols goes to the host, as the judge.
. /lib.sh
events timer/hrtimer_start timer/hrtimer_expire_entry workqueue/workqueue_execute_start
echo 'vfs_*' >$tracing/set_ftrace_filter
echo 'ksys_*' >>$tracing/set_ftrace_filter
echo 'hrtimer_*' >>$tracing/set_ftrace_filter
xvt-guest sync
say ready
until_rings stop
echo 'stacktrace:500' >$tracing/events/timer/hrtimer_start/trigger
echo function >$tracing/current_tracer
xvt-load 1
# The kernel lists the entry code of ftrace here, but does not name an address in it.
entry_code=$(grep ftrace_trampoline /proc/kallsyms)
echo nop >$tracing/current_tracer
say "symbols $(tr '\n' ' ' </sys/class/misc/xvtrace/symbols)"
say "warnings $(dmesg | grep -cE 'WARNING|BUG:|Oops')"
if [ "$XVT_NAME" = g1 ]; then
	mkdir /tmp/out
	cat /proc/kallsyms >/tmp/out/kallsyms
	echo "$entry_code" >/tmp/out/entry_code
	tar cf /dev/vda -C /tmp/out . || exit 1
fi
# Functions that no event named before, at the very end: the recorder waits for their names.
echo 'proc_*' >$tracing/set_ftrace_filter
echo function >$tracing/current_tracer
say done
until_rings off
