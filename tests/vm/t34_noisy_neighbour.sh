#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A thread of the host takes the CPU of a guest's vCPUs, and says when it did: analyze finds each
# time, and names that thread, or one that had more of the same stall.
set -u
. "$(dirname "$0")/lib.sh"

trace=$work/trace.xvt
cpu=$(($(getconf _NPROCESSORS_ONLN) - 1))
spins=20

vm_start g1 --vcpus 2 --overlay "$(overlay busy.sh)" || exit 1
record_start "$trace" -r g1="$(vm_region g1)" --host-all --host-buffer 16M -H sched:sched_switch -H sched:sched_waking -H sched:sched_migrate_task
need "the guest is busy" vm_wait_log g1 '^XVT-SAY busy' 600
tids=
for task in /proc/"$(vm_pid g1)"/task/*; do
	grep -q 'CPU' "$task/comm" || continue
	taskset -pc $cpu "${task##*/}" >/dev/null
	tids="$tids${tids:+ }${task##*/}"
done
need "a thread takes their CPU" eval '"$BUILD/tests/tools/xvt-noisy" $cpu 8 $spins 100 >"$work/spins.txt"'
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 600
need "it says when" test "$(wc -l <"$work/spins.txt")" -eq $spins
cat "$trace.err"

check "nothing of the host is lost" stat_says "$trace" '[.vms[] | select(.kind == "host") | .rings[].lost] | add == 0'
check "analyze reads the trace" eval '"$xvtrace" analyze cpu,stalls,irq --json "$trace" >"$work/analyze.json"'
"$xvtrace" analyze stalls "$trace"

# By the events alone, without xvtrace analyze: the thread of a vCPU was off the CPU for all of a spin
# if its last switch before it was one away, and the next one, behind it, one to it. Some kernels do
# not record each switch from the idle task, and say of no loss: then there are spins without these
# two, and times in which a CPU switches from a thread to which it had not switched.
# A thread that slept waited for nothing; it may have been woken since, or in the moment in which it
# left its CPU: that wake-up is recorded before the switch. A vCPU whose task was the idle one wanted
# nothing, and a flagged time proves nothing.
cat >"$work/known.jq" <<'EOT'
[inputs] as $events | ($spins | split("\n") | map(split(" ") | map(tonumber) | select(length == 2))) as $spins |
($tids | split(" ") | map(tonumber)) as $tids |
[$events[] | select(.vm == "host" and .event == "sched_switch") |
	select(any(.fields.prev_pid, .fields.next_pid; IN($tids[])))] as $switches |
[$events[] | select(.vm == "g1" and .event == "sched_switch")] as $guest |
[$events[] | select(.vm == "g1" and (.flags | test("U|C"))) | .ts_ns] as $flagged |
[$events[] | select(.vm == "host" and .event == "sched_waking" and (.fields.pid | IN($tids[])))] as $wakings |
[$events[] | select(.vm == "host" and .event == "sched_switch" and .cpu == $cpu)] as $all |
def whole($from; $to): [$all[] | select(.ts_ns >= $from and .ts_ns <= $to)] as $chain |
	all(range(1; $chain | length); $chain[. - 1].fields.next_pid == $chain[.].fields.prev_pid);
def woken($tid; $from; $to): any($wakings[]; .fields.pid == $tid and .ts_ns > $from and .ts_ns <= $to);
def off($tid; $b; $e): [$switches[] | select(.fields.prev_pid == $tid or .fields.next_pid == $tid)] as $own |
	([$own[] | select(.ts_ns <= $b)] | last) as $out |
	([$own[] | select(.ts_ns > $b)] | first) as $in |
	([$own[] | select(.ts_ns < $out.ts_ns)] | last) as $came |
	$out.fields.prev_pid == $tid and $in.fields.next_pid == $tid and $in.ts_ns >= $e and
	whole($out.ts_ns; $in.ts_ns) and
	($out.fields.prev_state % 256 == 0 or woken($tid; $out.ts_ns; $b) or
		((woken($tid; $out.ts_ns; $in.ts_ns) | not) and
			$came.fields.next_pid == $tid and woken($tid; $came.ts_ns; $out.ts_ns)));
def busy($cpu; $b): [$guest[] | select(.cpu == $cpu and .ts_ns < $b)] | last | .fields.next_pid > 0;
[$spins[] | . as [$b, $e] | select(
	($tids | all(off(.; $b; $e))) and ([0, 1] | all(busy(.; $b))) and
	($flagged | all(. < $b - 500000000 or . > $e + 500000000)))]
EOT
check "the events say of which spins all is known" eval '"$xvtrace" export --format jsonl "$trace" "$work/trace.jsonl" &&
	jq -n --argjson cpu $cpu --arg spins "$(cat "$work/spins.txt")" --arg tids "$tids" -f "$work/known.jq" "$work/trace.jsonl" >"$work/known.json"'
need "there are such spins" jq -e 'length > 0' "$work/known.json"

# A spin is inside one stall of each vCPU. If another thread had more of that stall, it had at least
# as much as this one, from which interrupts of the host and threads of a higher priority may have
# taken some of the spin.
cat >"$work/judge.jq" <<'EOT'
$a[0] as $a |
def had($from; $to): [$times[0][] | [([.[0], $from] | max), ([.[1], $to] | min)] | select(.[0] < .[1]) | .[1] - .[0]] | add // 0;
map(. as [$b, $e] | {
	spin: ., stalls: [$a.stalls[] | select(.begin_ns <= $b and .end_ns >= $e)] }) |
map(. + { vcpus: (.stalls | map(.cpu) | unique | length),
	  named: (.stalls | length > 0 and all(.verdict == "proven" and ((.most // "" | startswith("noisy-")) or .most_ns >= had(.begin_ns; .end_ns)))) }) |
{ known: length, found: map(select(.vcpus == 2)) | length, named: map(select(.named)) | length }
EOT
jq -nc '[inputs | select(.vm == "host" and .event == "sched_switch") |
	select(.fields.prev_comm == "noisy" or .fields.next_comm == "noisy")] |
	[range(1; length) as $i | select(.[$i - 1].fields.next_comm == "noisy" and .[$i].fields.prev_comm == "noisy") |
		[.[$i - 1].ts_ns, .[$i].ts_ns]]' "$work/trace.jsonl" >"$work/times.json"
jq --slurpfile a "$work/analyze.json" --slurpfile times "$work/times.json" -f "$work/judge.jq" "$work/known.json" >"$work/judged.json"
jq -c . "$work/judged.json"
check "each of them is in a stall of both vCPUs" jq -e '.found == .known' "$work/judged.json"
check "each stall has the thread, or one that had more" jq -e '.named == .known' "$work/judged.json"
check "no event is impossible" jq -e '.impossible == 0' "$work/analyze.json"
check "the thread took both vCPUs for these times" jq -e --argjson spins "$(jq -c . "$work/judged.json")" '
	[.lines[] | select(.kind == "taken_by" and (.what | startswith("noisy-"))) | .wall.sum_ns] |
	length == 2 and all(. >= $spins.named * 7000000)' "$work/analyze.json"
finish
