#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# shellcheck disable=SC2317
# A guest that switches events on before its module is there and reboots twice, under `record --follow`,
# which asks it for more: all events have their formats, by no hand in the guest; and what both ftrace
# and a probe of the module have is one record.
set -u
. "$(dirname "$0")/lib.sh"
trace=$work/trace.xvt
said() { sed -n "s/\r$//; s/^XVT-SAY $1 //p" "$(vm_log g1)" | tail -n 1; }
equal() { [ -n "$1" ] && [ "${1% of *}" = "${1#* of }" ]; }

record_start "$trace" --follow --join-timeout 120 -e 'task:*' -r g1="$XVT_SHM_DIR/${XVT_SHM_PREFIX}g1"
need "a guest starts" vm_start g1 --vcpus 2 --mem 512 --region-size 8M --mod none --reboot --overlay "$(overlay formats.sh)"
need "it reboots twice" vm_wait_log g1 '^XVT-SAY done' 300
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 600
cat "$trace.err"
check "of each boot, there are markers" eval '[ "$("$xvtrace" report "$trace" -e print | grep -oE "xvt-seq .*" | awk "{ print int(\$3 / 1000) }" | sort -u | paste -sd " ")" = "1 2 3" ]'
"$xvtrace" export --format jsonl "$trace" - | jq -r '.event + (if .fields == null then " bytes" else "" end)' | sort | uniq -c | sort -rn >"$work/events"
head -n 40 "$work/events"
check "no event is without its format" eval '! grep -E " type[0-9]+| bytes$" "$work/events"'
for event in opened sys_enter_openat sys_exit_openat softirq_entry hrtimer_start sched_waking workqueue_execute_start task_newtask function kernel_stack print; do
	check "$event is there" grep -qE " $event\$" "$work/events"
done
check "nothing is lost" stat_says "$trace" '.lost == 0'
check "attempted == events + discarded + lost + in flight" adds_up "$trace"
"$xvtrace" report "$trace" -s -e sched:sched_switch -e sched:sched_waking -e irq:irq_handler_entry -e irq:irq_handler_exit |
	grep -oE '(xvt|sched|irq):[a-z_]+' | sort | uniq -c | tee "$work/both"
check "task switches, wake-ups and interrupts are those of the probes, and of no one else" eval 'grep -q xvt:sched_switch "$work/both" && ! grep -vq " xvt:" "$work/both"'
check "the texts of ftrace's own entries are the kernel's ($(said own))" equal "$(said own)"
check "the texts of others are the kernel's ($(said others))" equal "$(said others)"
check "an event that a probe records has no other format ($(said 'left out'))" equal "$(said 'left out')"
check "of a type's formats the last one counts ($(said again))" eval 'set -- $(said again); [ $# = 5 ] && [ $1 = $2 ] && [ $2 -lt $3 ] && [ $3 = $4 ] && [ $4 -lt $5 ]'
finish
