#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A client on one vCPU asks a server on the other one through a pipe: path finds the server's work on
# the way of each answer for which the client slept, and both wake-ups. Where the bounds of the times
# leave the order of two wake-ups open, it stops and says so; it never names another task.
set -u
. "$(dirname "$0")/lib.sh"

trace=$work/trace.xvt
asks=40
dir=$(overlay ask.sh)
"${CC:-gcc}" -O2 -Wall -Wextra -Werror -static -D_GNU_SOURCE -o "$dir/xvt-ask" tests/vm/guest/xvt-ask.c || exit 1
vm_start g1 --vcpus 2 --overlay "$dir" || exit 1
record_start "$trace" -r g1="$(vm_region g1)" --host sched
need "the client has its answers" vm_wait_log g1 '^XVT-SAY asked' 600
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 600
cat "$trace.err"

"$xvtrace" report -q --no-pager "$trace" -e print >"$work/marks.txt"
for ((n = 0; n < asks; n++)); do
	begin=$(awk -v n=$n '/xvt-ask begin/ && $NF == n { print $1 }' "$work/marks.txt")
	end=$(awk -v n=$n '/xvt-ask end/ && $NF == n { print $1 }' "$work/marks.txt")
	"$xvtrace" path -q --json "$trace" --vm g1 --task ask-client --between "$begin,$end" | jq -c .
done >"$work/paths.jsonl"
check "each answer has a path" test "$(wc -l <"$work/paths.jsonl")" -eq $asks
set -- "$(awk '/xvt-ask begin 7$/ { print $1 }' "$work/marks.txt")" "$(awk '/xvt-ask end 7$/ { print $1 }' "$work/marks.txt")"
"$xvtrace" path -q --no-pager "$trace" --vm g1 --task ask-client --between "$1,$2"
# By the events of its CPU alone: for which of its questions the client slept. If its vCPU had no CPU
# of the host for long, the answer was there before it looked.
"$xvtrace" export -q --format jsonl --vm g1 "$trace" "$work/trace.jsonl"
jq -cn --argjson asks $asks '
	[inputs | select(.cpu == 0)] as $events |
	def mark($what; $n): [$events[] | select(.event == "print" and (.fields.buf | test("^xvt-ask \($what) \($n)\\n?$"))) | .ts_ns][0];
	[range(0; $asks) | mark("begin"; .) as $from | mark("end"; .) as $to |
		any($events[]; .ts_ns >= $from and .ts_ns <= $to and .event == "sched_switch" and
			.fields.prev_comm == "ask-client" and .fields.prev_state % 256 > 0)]' "$work/trace.jsonl" >"$work/slept.json"
check "the client slept for some" jq -e 'any' "$work/slept.json"
cat >"$work/judge.jq" <<'EOT'
def named: [.steps[].task | select(test("^ask-")) | sub("-[0-9]+$"; "")] | . as $t | [range(0; length) | select(. == 0 or $t[.] != $t[. - 1]) | $t[.]];
map({ end: .end, why: .why, whole: (.end == "begin"),
	order: named,
	proven: all(.steps[]; .grade == "proven"),
	covered: (([.steps[].ns] | add) == .at_ns - .begin_ns),
	server: ([.steps[] | select((.task | startswith("ask-server-")) and .kind == "runs") | .ns] | add),
	bound: ([.steps[].bound_ns] | max) })
EOT
jq -s -f "$work/judge.jq" "$work/paths.jsonl" |
	jq --slurpfile slept "$work/slept.json" '[., $slept[0]] | transpose | map(.[0] + { slept: .[1] })' >"$work/judged.json"
jq -c 'group_by([.end, .why, .order])[] | [length, .[0].end, .[0].why, .[0].order]' "$work/judged.json"
check "all edges are proven" jq -e 'all(.[]; .proven)' "$work/judged.json"
check "the parts have no gap" jq -e 'all(.[]; .covered)' "$work/judged.json"
# The bounds depend on the load beside this test, and so does how many there are.
check "some lead to the server" jq -e 'any(.[]; .whole and .slept)' "$work/judged.json"
check "the others stop where the bounds leave it open" jq -e '
	all(.[]; .whole or (.end == "hole" and (.why | test("bounds leave open|is flagged|were lost"))))' "$work/judged.json"
check "none leads past the server" jq -e '
	all(.[] | select(.whole); .order[0:2] == if .slept then ["ask-client", "ask-server"] else ["ask-client"] end)' "$work/judged.json"
# Where the path ends by a mark of the other CPU, as the bounds allow.
check "the server's work is on each way" jq -e '
	all(.[] | select(.whole and .slept); .server >= 4900000 - .bound)' "$work/judged.json"
finish
