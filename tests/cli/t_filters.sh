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
"$xvtrace" report -s "$trace" >"$work/all" || exit 1
"$xvtrace" report -s -w "$trace" >"$work/wall" || exit 1

# same AWK OPTION...: report with these options gives the lines for which AWK is true, and no word on stderr
same() {
	local want=$1
	shift
	"$xvtrace" report -s "$@" "$trace" >"$work/out" 2>"$work/err" || return 1
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
	"$xvtrace" report -s -w "$@" "$trace" >"$work/out" 2>"$work/err" || return 1
	awk "\$1 >= \"$wall_from\" && \$1 <= \"$wall_to\"" "$work/wall" >"$work/want"
	[ -s "$work/want" ] && [ ! -s "$work/err" ] && cmp -s "$work/want" "$work/out"
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

# misses STATUS WORDS OPTION...: that exit status, WORDS on stderr
misses() {
	local want=$1 words=$2
	shift 2
	"$xvtrace" report "$@" "$trace" >"$work/out" 2>"$work/err"
	[ $? -eq "$want" ] && grep -qE -- "$words" "$work/err" && return
	head -n 3 "$work/err" | sed 's/^/# /'
	return 1
}
check "an event that is not there: said, with those near it" misses 1 "no event is like 'sched_swich'.*: sched:sched_switch" -e sched_swich
check "one of two events: said, and the other is shown" misses 0 "no event is like 'nmbers'.*: test:numbers" -e nmbers -e lists
check "and shown it is" grep -q ' lists: ' "$work/out"
check "a glob that is like none" misses 1 "no event is like 'timer:\*'" -e 'timer:*'
check "a machine that is not there" misses 1 "no machine 'g3' in this trace; it has: g1, g2" --vm g1 --vm g3
check "a time behind the trace" misses 1 "no event matches; the trace is from 6\.0[0-9]* to 6\.0" --from 100
check "a time of the wall clock without --wall" misses 1 "for report --wall" --from "$wall_from"
check "a time before the trace, to" misses 1 "no event matches" --to 1
check "a range that ends before it begins" misses 2 "before it begins" --from 6.1 --to 6.0
check "no more than 0 events" misses 2 "not a number from 1 on" -n 0
limited() {
	[ "$("$xvtrace" report -n 1 -e numbers -e sched_swich "$trace" 2>&1 | wc -l)" -eq 1 ]
}
check "a limit that is reached: nothing is known, or said, of the rest" limited
check "one value twice" misses 2 "from: given twice" --from 6.0 --from 6.1
nothing_to_export() {
	"$xvtrace" export --to jsonl -e nothing "$trace" "$work/jsonl" 2>"$work/err"
	[ $? -eq 1 ] && [ ! -s "$work/jsonl" ] && grep -q "no event is like 'nothing'" "$work/err"
}
check "export says the same" nothing_to_export
[ $failures -eq 0 ]
