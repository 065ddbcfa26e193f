#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What filters select is all of what was asked for, and what they do not find is said: report and export
# against the lines of a report without filters.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
trace=$work/t.xvt

"$BUILD/tests/tools/xvt-mktrace" 300 0 "$trace" >/dev/null || exit 1
"$xvtrace" report --no-task -s "$trace" >"$work/all" || exit 1
"$xvtrace" report --no-task -s -w "$trace" >"$work/wall" || exit 1

# same AWK OPTION...: report with these options gives the lines for which AWK is true, and no word on stderr
same() {
	local want=$1
	shift
	"$xvtrace" report -q --no-task -s "$@" "$trace" >"$work/out" 2>"$work/err" || return 1
	awk "$want" "$work/all" >"$work/want"
	[ -s "$work/want" ] && [ ! -s "$work/err" ] && cmp -s "$work/want" "$work/out"
}
# The event is the fourth word.
check "one event" same '$4 == "test:numbers:"' -e numbers
check "two events: both" same '$4 ~ /^test:(numbers|names):$/' -e numbers -e test:names
check "globs: all that are like one of them" same '$4 ~ /^test:n|:sched_switch:$/' -e 'test:n*' -e '*_switch'
check "one machine" same '$2 ~ /^g2:/' --vm g2
check "two machines: both" same '1' --vm g1 --vm g2
check "both kinds: events of one machine" same '$2 ~ /^g1:/ && $4 ~ /^test:(numbers|lists):$/' --vm g1 -e numbers -e lists
check "one CPU, of both machines" same '$2 ~ /:1$/' --cpu 1
check "CPUs: a list, and again" same '$2 ~ /:[013]$/' --cpu 0-1 --cpu 3,7
check "a CPU of a machine" same '$2 == "g1:0"' --cpu 0 --vm g1

# Tasks and fields, beside jq on all events.
"$xvtrace" export --format jsonl "$trace" "$work/all.jsonl" || exit 1
# chosen JQ OPTION...: export with these options gives the events for which JQ is true, and not all or none
chosen() {
	local want=$1
	shift
	"$xvtrace" export -q --format jsonl "$@" "$trace" "$work/out" 2>"$work/err" || { cat "$work/err" && return 1; }
	jq -c "select($want)" "$work/all.jsonl" >"$work/want"
	[ -s "$work/want" ] && [ "$(wc -l <"$work/want")" -lt "$(wc -l <"$work/all.jsonl")" ] &&
		[ ! -s "$work/err" ] && cmp -s "$work/want" <(jq -c . "$work/out")
}
check "a task" chosen '.pid == 300' --pid 300
check "tasks: both" chosen '.pid == 300 or .pid == 100' --pid 300 --pid 100
check "a task by name" chosen '.comm == "from-meta"' --comm from-meta
check "tasks by name: globs, and again" chosen '(.comm // "") | test("^kw.*[0-9]$|^x$")' --comm 'kw*[0-9]' --comm x
check "tasks without a known name" chosen '.pid and .comm == null' --comm '<...>'
check "a task of a machine, of an event" chosen '.pid == 400 and .vm == "g2" and .event == "numbers"' --pid 400 --vm g2 -e numbers
filters() {
	while IFS='	' read -r filter want; do
		check "--filter '$filter'" chosen "$want" --filter "$filter"
	done <<'FILTERS'
prev_pid == 200	.fields.prev_pid == 200
prev_pid != 200	.fields.prev_pid and .fields.prev_pid != 200
!(prev_pid == 200)	.fields.prev_pid and .fields.prev_pid != 200
prev_comm == bash	.fields.prev_comm == "bash"
comm == "a b" || next_comm == 'x'	(.fields.comm // .comm) == "a b" or .fields.next_comm == "x"
prev_comm != bash && prev_comm != 'a b'	.fields.prev_comm and .fields.prev_comm != "bash" and .fields.prev_comm != "a b"
next_comm ~ k*	(.fields.next_comm // "") | test("^k")
!(next_comm ~ "k*")	.fields.next_comm and (.fields.next_comm | test("^k") | not)
a < -1	.fields.a and .fields.a < -1
a>=0x7d	.fields.a and .fields.a >= 125
b == -1	.fields.b == 255
b > 127	.fields.b and .fields.b > 127
e <= -2147483648	.fields.e and .fields.e <= -2147483648
d & 0x8000	.fields.d and .fields.d >= 32768
!(d & 0x8000)	.fields.d != null and .fields.d < 32768
(a > 0 && a < 100) || (b == 0 && !(c > 0)) || x == 0	(.fields.a and .fields.a > 0 and .fields.a < 100) or (.fields.b == 0 and .fields.c <= 0) or .fields.x == 0
!(a > 0 || b > 9)	.fields.a != null and .fields.a <= 0 and .fields.b <= 9
!(a > 0 && b > 9)	.fields.a != null and (.fields.a <= 0 or .fields.b <= 9)
CPU == 3 && common_pid > 100	.cpu == 3 and .pid and .pid > 100
CPU != 0	.cpu != 0
COMM == x && common_flags != 0	.comm == "x" and .context[0:3] != "..."
COMM ~ '*ash'	.comm == "bash"
common_pid == 0	.pid == 0
FILTERS
}
filters
check "a filter and an event" chosen '.event == "numbers" and .fields.a < 0' -e numbers --filter 'a < 0'
same_jsonl() {
	"$xvtrace" export --to jsonl --vm g2 -e numbers -e names "$trace" "$work/jsonl" || return 1
	[ "$(wc -l <"$work/jsonl")" -eq "$(awk '$2 ~ /^g2:/ && $4 ~ /^test:(numbers|names):$/' "$work/all" | wc -l)" ]
}
check "export filters by the same" same_jsonl

# Times are taken as they are printed, and both ends are in the range.
from=$(awk 'NR == 40 { print $1 }' "$work/all")
to=$(awk 'NR == 200 { print $1 }' "$work/all")
check "a range of printed times, with its ends" same "\$1 >= \"$from\" && \$1 <= \"$to\"" --from "$from" --to "$to"
# The wall clock of this trace is set forward by a second in the middle.
same_wall() {
	"$xvtrace" report --no-task -s -w "$@" "$trace" >"$work/out" 2>"$work/err" || return 1
	awk "\$1 >= \"$wall_from\" && \$1 <= \"$wall_to\"" "$work/wall" >"$work/want"
	[ -s "$work/want" ] && ! grep -qv 'events have no format' "$work/err" && cmp -s "$work/want" "$work/out"
}
last=$(wc -l <"$work/wall")
for rows in "5 20" "20 $last" "$((last - 9)) $((last - 3))" "$((last / 2)) $((last / 2))"; do
	wall_from=$(awk "NR == ${rows% *} { print \$1 }" "$work/wall")
	wall_to=$(awk "NR == ${rows#* } { print \$1 }" "$work/wall")
	check "a range of the wall clock's times, as --wall prints them ($rows)" same_wall --from "$wall_from" --to "$wall_to"
done
wall_to=9
relative() {
	"$xvtrace" report --from +0.015 "$trace" | wc -l >"$work/want"
	[ "$(cat "$work/want")" -gt 9 ] && "$xvtrace" report -w --from +0.015 "$trace" | wc -l | cmp -s - "$work/want"
}
check "with --wall +SEC is from the start of the trace, too" relative

check "an event that is not there: said, with those near it" misses 1 "no event is like 'sched_swich'.*: sched:sched_switch" -e sched_swich
check "one of two events: said, and the other is shown" misses 0 "no event is like 'nmbers'.*: test:numbers" -e nmbers -e lists
check "and shown it is" grep -q ' lists: ' "$work/out"
check "a glob that is like none" misses 1 "no event is like 'timer:\*'" -e 'timer:*'
check "a machine that is not there" misses 1 "no machine 'g3' in this trace; it has: g1, g2" --vm g1 --vm g3
check "a CPU that is not there" misses 1 "no CPU 2,9 in this trace" --cpu 2,9
check "CPUs that are none" misses 2 "0-x: not CPUs" --cpu 0-x
check "CPUs the wrong way round" misses 2 "3-1: not CPUs" --cpu 3-1
check "a task that is not there" misses 1 "no event matches; the trace is from 6\.0" --pid 77
check "a task that is none" misses 2 "bash: not the number of a task; --comm" --pid bash
check "a name of no task, with those near it" misses 1 "no event is of a task like 'bahs'.*: .*bash" --comm bahs
check "one of two names: said, and the other is shown" misses 0 "no event is of a task like 'bahs'" --comm bahs --comm bash
check "no filter: what and where" misses 2 "'prev_pid = 1': character 10, at '= 1': an operator is missing; there are ==" --filter 'prev_pid = 1'
check "a field that no event has, with those near it" misses 1 "no event has a field 'prev_pdi'.* are: prev_pid" --filter 'prev_pdi == 1'
check "of one event: its fields" misses 1 "no event has a field 'nope'; sched_switch has: prev_comm, prev_pid," -e sched_switch --filter 'nope == 1'
check "one of two fields: said, and the other chooses" misses 0 "no event has a field 'nope'" --filter 'nope == 1 || prev_pid == 200'
check "a text is no number" misses 1 "prev_comm of sched_switch is a text" --filter 'prev_comm < 1'
check "a number is no text" misses 1 "prev_pid of sched_switch is a number, and 'x' is none" --filter 'prev_pid == x'
check "a number that does not fit" misses 1 "300 does not fit into the 8 bits of a" --filter 'a == 300'
check "a list" misses 1 "fixed of lists is a list" --filter 'fixed == 3'
check "a filter that nothing passes" misses 1 "no event matches; the trace is from" --filter 'a == 5 && a == 6'
check "two filters" misses 2 "filter: given twice" --filter 'a == 1' --filter 'a == 2'
check "a time behind the trace" misses 1 "no event matches; the trace is from 6\.0[0-9]* to 6\.0" --from 100
check "a time before the trace, to" misses 1 "no event matches" --to 1
check "a range that ends before it begins" misses 2 "before it begins" --from 6.1 --to 6.0
check "no more than 0 events" misses 2 "not a number such as 20" -n 0
# 15 events were lost in g1:0.
lost() { misses 0 "note: 15 events were lost in the chosen machines" "$@"; }
check "losses that the choice does not show are said" lost -e numbers
check "with a filter, too" lost --filter 'prev_pid == 200' --vm g1 --cpu 0
check "and with a task" lost --comm bash
silent() { "$xvtrace" report "$@" "$trace" >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ]; }
check "not those of another machine" silent -e numbers --vm g2
check "nor with -q" silent -q -e numbers
check "nor where they are shown" silent -e numbers -e lost
check "which they are" grep -q ' LOST full=12 ' "$work/out"
limited() {
	[ "$("$xvtrace" report -n 1 -e numbers -e sched_swich "$trace" 2>&1 | wc -l)" -eq 1 ]
}
check "a limit that is reached: nothing is known, or said, of the rest" limited
check "one value twice" misses 2 "from: given twice" --from 6.0 --from 6.1
nothing_to_export() {
	"$xvtrace" export --to jsonl -e nothing "$trace" "$work/nothing" 2>"$work/err"
	[ $? -eq 1 ] && [ ! -e "$work/nothing" ] && grep -q "no event is like 'nothing'" "$work/err"
}
check "export says the same" nothing_to_export
[ $failures -eq 0 ]
