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
record_start "$trace" -r g1="$(vm_region g1)" --host-all -H sched:sched_switch -H sched:sched_waking -H sched:sched_migrate_task
need "the guest is busy" vm_wait_log g1 '^XVT-SAY busy' 200
for task in /proc/"$(vm_pid g1)"/task/*; do
	grep -q 'CPU' "$task/comm" && taskset -pc $cpu "${task##*/}" >/dev/null
done
need "a thread takes their CPU" eval '"$BUILD/tests/tools/xvt-noisy" $cpu 8 $spins 100 >"$work/spins.txt"'
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 60
need "it says when" test "$(wc -l <"$work/spins.txt")" -eq $spins
cat "$trace.err"

check "nothing of the host is lost" stat_says "$trace" '[.vms[] | select(.kind == "host") | .rings[].lost] | add == 0'
check "analyze reads the trace" eval '"$xvtrace" analyze cpu,stalls,irq --json "$trace" >"$work/analyze.json"'
"$xvtrace" analyze stalls "$trace"
# A spin is inside one stall of each vCPU. If another thread had more of that stall, it had at least
# as much as the spin.
cat >"$work/judge.jq" <<'EOT'
[inputs | split(" ") | map(tonumber)] as $spins | $a[0] as $a |
$spins | map(. as [$b, $e] | {
	spin: ., stalls: [$a.stalls[] | select(.begin_ns <= $b and .end_ns >= $e)] }) |
map(. + { vcpus: (.stalls | map(.cpu) | unique | length),
	  named: (.stalls | length > 0 and all(.verdict == "proven" and ((.most // "" | startswith("noisy-")) or .most_ns >= 8000000))),
	  noisy: (.stalls | any(.most // "" | startswith("noisy-"))) }) |
{ spins: length, found: map(select(.vcpus == 2)) | length, named: map(select(.named)) | length, noisy: map(select(.noisy)) | length }
EOT
jq -nR --slurpfile a "$work/analyze.json" -f "$work/judge.jq" "$work/spins.txt" >"$work/judged.json"
jq -c . "$work/judged.json"
# Where a guest's event lies so close to the switch that its bound does not say on which side, the
# time is counted as one that cannot be told, and is no stall.
least=$((spins * 3 / 4))
check "most times are in a stall of both vCPUs" jq -e ".found >= $least" "$work/judged.json"
check "most have the thread, or one that had more" jq -e ".named >= $least" "$work/judged.json"
check "no event is impossible" jq -e '.impossible == 0' "$work/analyze.json"
check "the thread took both vCPUs for these times" jq -e --argjson ns $((least * 8000000)) '[.lines[] | select(.kind == "taken_by" and (.what | startswith("noisy-"))) | .wall.sum_ns] | length == 2 and all(. >= $ns)' "$work/analyze.json"
finish
