#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# CTF as LTTng's kernel trace: LTTng's own analyses find events and fields by its names, and give the
# figures that the JSON lines give. Real guests: tests/vm/t02_two_guests.sh.
set -u
. "$(dirname "$0")/lib.sh"
. tests/lttng.sh
trap 'rm -rf "$work"' EXIT

"$BUILD/tests/tools/xvt-bigtrace" ftrace 2 20000 "$work/t.xvt" || exit 1
check "export --format ctf" "$xvtrace" export --format ctf "$work/t.xvt" "$work/ctf"
check "a folder for each machine, with one for its kernel" [ -s "$work/ctf/g0/kernel/metadata" ]
metadata() { tr -d '\0' <"$work/ctf/g0/kernel/metadata"; }
for line in 'domain = "kernel"' 'tracer_name = "lttng-modules"' 'tracer_major = 2' 'hostname = "g0"' 'recorded_by = "xvtrace"'; do
	check "the environment has $line" sh -c "grep -q '$line' '$work/ctf/g0/kernel/metadata'"
done

# A machine that is paused for a second, and ends.
"$BUILD/tests/tools/xvt-paused" "$work/p.xvt" || exit 1
check "a pause is exported" "$xvtrace" export -q --format ctf "$work/p.xvt" "$work/paused"

# Each switch and interrupt twice on two CPUs, by ftrace and by the module's probe: once in CTF, as in a
# trace of the same machine without the second records.
"$BUILD/tests/tools/xvt-doubled" "$work/d.xvt" && "$BUILD/tests/tools/xvt-doubled" "$work/o.xvt" once || exit 1
"$xvtrace" export --format ctf "$work/d.xvt" "$work/doubled" 2>"$work/said"
check "a trace with events that were recorded twice is exported" [ $? -eq 0 ]
twice() { "$xvtrace" export -q --format jsonl --cpu "$1" "$2" - | wc -l; }
count() { echo $(($(twice "$1" "$work/d.xvt") - $(twice "$1" "$work/o.xvt"))); }
check "which says for each CPU which record was written" [ "$(sed 's/^.*warning: //' "$work/said")" = "g0: $(count 0) events were recorded twice, by ftrace and by the module's probe; written once, as by the probe (CPU 0)
g0: $(count 1) events were recorded twice, by ftrace and by the module's probe; written once, as by ftrace (CPU 1)" ]
quiet() { "$xvtrace" export -q --format "$1" "$2" "$3" 2>&1; }
check "but with -q" [ -z "$(quiet ctf "$work/d.xvt" "$work/doubled.q")" ]
check "and of a trace without them" [ -z "$("$xvtrace" export --format ctf "$work/o.xvt" "$work/single" 2>&1)" ]

if ! command -v babeltrace2 >/dev/null; then
	echo "skip - names of events and fields: babeltrace2 is not installed"
else
	babeltrace2 --clock-cycles --no-delta "$work/ctf" >"$work/bt" 2>"$work/bt.err"
	check "babeltrace2 reads it without a warning" [ ! -s "$work/bt.err" ]
	# A priority of 120 in the kernel is 20 for LTTng.
	sed -En 's/^\[0*([0-9]+)\] g0 sched_switch: \{ cpu_id = ([0-9]+) \}, \{ tid = (-?[0-9]+), .* bound_ns = ([0-9]+) \}, \{ prev_comm = "([^"]*)", prev_tid = ([0-9]+), prev_prio = (-?[0-9]+), .*next_tid = ([0-9]+), next_prio = (-?[0-9]+) \}$/\1 \2 \3 \4 \5 \6 \7 \8 \9/p' "$work/bt" >"$work/switches"
	"$xvtrace" export --format jsonl -e sched_switch "$work/t.xvt" - |
		jq -r '"\(.ts_ns) \(.cpu) \(.pid) \(.bound_ns // 9223372036854775807) \(.fields | "\(.prev_comm) \(.prev_pid) \(.prev_prio - 100) \(.next_pid) \(.next_prio - 100)")"' >"$work/want"
	# jq has numbers as reals.
	sed -i 's/ 9223372036854775[0-9]* / 9223372036854775807 /' "$work/want"
	check "sched_switch has LTTng's names, and the values of jsonl" cmp "$work/switches" "$work/want"
	check "there are some" [ -s "$work/want" ]
	# Its states, once each; and switches away from the task that ran and back, flagged as made.
	states() { babeltrace2 --clock-cycles --no-delta "$work/paused" | sed -En 's/^\[0*([0-9]+)\] g0 xvt:([a-z]+): .*\{ (.*) \}$/\1 \2 \3/p'; }
	check "states are events" [ "$(states)" = '1001000000 paused why = ""
2001000000 runs paused_ns = 1000000000, why = ""
2006000000 ended last_event_ns = 2005000000, why = "guest panicked"' ]
	check "of each machine" [ "$(babeltrace2 --clock-cycles --no-delta "$work/paused" 2>&1 | grep -c '^\[0*1[56]00000000\] g1 xvt:')" -eq 2 ]
	made() { babeltrace2 --clock-cycles --no-delta "$work/paused" | sed -En 's/^\[0*([0-9]+)\] g0 sched_switch: \{ cpu_id = ([0-9]) \}, \{ tid = ([0-9]+), .*xvt_flags = 32, .*prev_tid = ([0-9]+), .*next_comm = "([^"]*)", next_tid = ([0-9]+), .*/\1 \2 \3 \4 \5 \6/p'; }
	check "no task seems to run in a pause" [ "$(made)" = '1001000000 0 1034 1034 paused 0
2001000000 0 0 0 bash 1034
2006000000 0 1034 1034 paused 0' ]
	events() { babeltrace2 --clock-cycles --no-delta "$1" 2>/dev/null; }
	check "an event that was recorded twice is there once" cmp <(events "$work/doubled") <(events "$work/single")
	check "jsonl has both" [ "$(count 0)" -gt 100 -a "$(count 1)" -gt 100 ]
	check "which report has no line of" [ "$("$xvtrace" report -q --vm g0 -e sched_switch "$work/p.xvt" | wc -l)" -eq 6 ]
fi

if ! command -v lttng-irqstats >/dev/null; then
	echo "skip - LTTng's analyses: lttng-irqstats is not installed"
else
	check "lttng-irqstats has the counts and durations that jsonl gives" irqs_agree "$xvtrace" "$work/t.xvt" g0 "$work/ctf/g0"
	# figures ANALYSIS PATTERN
	figures() { LANG=C.UTF-8 "lttng-$1" --no-progress "$work/ctf/g0" 2>&1 | grep -Eq "$2"; }
	check "lttng-schedstats has latencies of tasks" figures schedstats '^bash \(1034\) +[0-9]+ +[0-9.]+ '
	check "lttng-cputop has the load of tasks and CPUs" figures cputop '[0-9.]+ % +bash \(1034\)'
	# It ran for 3 ms of a second; with the pause it would be all of it.
	share() { LANG=C.UTF-8 lttng-cputop --no-progress "$work/paused/g0" 2>/dev/null | sed -En 's/.* ([0-9.]+) % +bash \(1034\).*/\1/p'; }
	check "lttng-cputop does not count a pause as run time" [ "$(share)" = 0.30 ]
	# A pause, a loss, and switches that were recorded twice. jsonl has both, so of the trace without them.
	run_table "$xvtrace" "$work/o.xvt" g0 >"$work/runs.want"
	lttng_run_table "$work/doubled/g0" >"$work/runs.got"
	check "lttng-cputop and -schedstats have the figures of jsonl" cmp "$work/runs.want" "$work/runs.got"
	check "of tasks, CPUs and wake-ups" [ "$(cut -d ' ' -f 1 "$work/runs.got" | sort | uniq -c | xargs)" = "4 cpu 12 task 12 wait" ]
	check "and lttng-irqstats" irqs_agree "$xvtrace" "$work/o.xvt" g0 "$work/doubled/g0"
	check "lttng-schedfreq has a distribution" figures schedfreq ' [1-9][0-9]*$'
fi
[ $failures -eq 0 ]
