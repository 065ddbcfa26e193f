#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Times of report and export: as they are shown, as they may be given, and what lies around one.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
trace=$work/t.xvt

"$BUILD/tests/tools/xvt-mktrace" 300 0 "$trace" >/dev/null || exit 1
# Names of tasks are told by earlier events, which a range leaves out.
report() { "$xvtrace" report -q --no-task "$@" "$trace"; }
report >"$work/all" || exit 1
report -w >"$work/wall" || exit 1
"$xvtrace" export -q --format jsonl "$trace" "$work/jsonl" || exit 1

# ns FILE: the first column in ns
ns() { awk '{ split($1, t, "."); sub(/^\+/, "", t[1]); printf "%.0f\n", t[1] * 1000000000 + t[2] }' "$@"; }
rest() { cut -d' ' -f2- "$1"; }
column() { awk -v n="$2" 'NR == n { print $1 }' "$1"; }

report --relative >"$work/relative"
since() { ns "$work/all" | awk 'NR == 1 { first = $1 } { printf "%.0f\n", $1 - first }' | cmp - <(ns "$work/relative"); }
check "--relative: times since the first event" since
check "and nothing else is different" cmp <(rest "$work/all") <(rest "$work/relative")
check "with a sign, so that --from takes them" cmp <(tail -n +50 "$work/all") <(report --from "$(column "$work/relative" 50)")
report --delta >"$work/delta"
deltas() { ns "$work/all" | awk 'NR > 1 { d = $1 - before } { before = $1; printf "(+%.0f.%09.0f)\n", int(d / 1000000000), d % 1000000000 }'; }
check "--delta: the time since the line before" cmp <(deltas) <(cut -d' ' -f2 "$work/delta")
check "and nothing else is different" cmp "$work/all" <(sed -E 's/ \([+-][0-9.]+\)//' "$work/delta")
check "the wall clock is set back and forth: a sign" eval 'report -w --delta | grep -c "(+1.0" >"$work/n"; [ "$(cat "$work/n")" = 1 ]'

# What -w prints is what --from and --to take, with -w and without.
from=$(column "$work/wall" 20) to=$(column "$work/wall" 90)
check "--from and --to take times of the wall clock" cmp <(sed -n 20,90p "$work/all") <(report --from "$from" --to "$to")
check "they are dates" eval '[[ $from == 2023-11-1[345]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9]* ]]'
check "and so are seconds since 1970" cmp <(sed -n 20,90p "$work/all") <(report --from "$(date -d "${from%.*}" +%s).${from#*.}" --to "$to")
check "with -w as well" cmp <(sed -n 20,90p "$work/wall") <(report -w --from "$from" --to "$to")
check "and with -w times of the host's clock" cmp <(sed -n 20,90p "$work/wall") \
	<(report -w --from "$(column "$work/all" 20)" --to "$(column "$work/all" 90)")
seconds=$(date -d "${from%.*}" +%s)
day=$(TZ=Asia/Kolkata date -d "@$seconds" +%Y-%m-%d) clock=$(TZ=Asia/Kolkata date -d "@$seconds" +%H:%M:%S).${from#*.}
utc=$(TZ=UTC date -d "@$seconds" +%Y-%m-%dT%H:%M:%S).${from#*.}Z
check "a date, local time" cmp <(tail -n +20 "$work/all") <(TZ=Asia/Kolkata report --from "$day $clock")
check "with a T" cmp <(tail -n +20 "$work/all") <(TZ=Asia/Kolkata report --from "${day}T$clock")
check "with a Z: UTC" cmp <(tail -n +20 "$work/all") <(TZ=Asia/Kolkata report --from "$utc")
check "a time of the trace's day" cmp <(tail -n +20 "$work/all") <(TZ=Asia/Kolkata report --from "$clock")

# Around a time, around an event.
# within FILE NS SPAN: the lines of the report whose times are within
within() { paste -d' ' <(ns "$work/all") "$work/all" | awk -v at="$1" -v span="$2" '$1 >= at - span && $1 <= at + span' | cut -d' ' -f2-; }
unmarked() { sed -E 's/^([^ ]+) [ >~] /\1 /' "$1"; }
at=6010100000
report --around 6.0101 --span 700us >"$work/around"
check "--around a time" cmp <(within $at 700000) <(unmarked "$work/around")
check "5 ms are the default" cmp <(within $at 5000000) <(report --around 6.0101 | sed -E 's/^([^ ]+) [ >~] /\1 /')
check "+SEC, too" cmp <(report --around 6.012056446 --span 1ms) <(report --around +0.012 --span 1000us)
check "a time of the wall clock, too" eval '[ "$(report --around "$from" --span 0.3ms | grep -c .)" -gt 4 ]'
check "export takes the same" eval '"$xvtrace" export --format jsonl --around 6.0101 --span 700us "$trace" - | jq .ts_ns | cmp - <(within $at 700000 | grep -v " LOST " | ns)'
# The event of g1:0 before an unconfirmed one of another ring, whose bound is wide.
line=$(awk '$2 == "g1:0" { line = NR } line > 100 && $2 != "g1:0" && $3 ~ /^..U/ { print line; exit }' "$work/all")
report --around @"$line" --span 2ms >"$work/around"
check "--around an event, by the line of the report" [ "$(grep -c '^[^ ]* >' "$work/around")" -eq 1 ]
check "that one is marked >" cmp <(sed -n "${line}p" "$work/all") <(grep '^[^ ]* >' "$work/around" | sed 's/ > / /')
check "the others lie around it" cmp <(within "$(ns "$work/all" | sed -n "${line}p")" 2000000) <(unmarked "$work/around")

# ~ is on the events of other rings whose bounds reach as far as the event.
marks() {
	local first
	first=$(head -n "$line" "$work/all" | grep -c -v ' LOST ')
	jq -rs --argjson n "$first" '.[$n - 1] as $a | .[] | select(((.ts_ns - $a.ts_ns) | fabs) <= 2000000) |
		select([.vm, .cpu] != [$a.vm, $a.cpu]) | select(.bound_ns == null or ((.ts_ns - $a.ts_ns) | fabs) <= .bound_ns + $a.bound_ns) |
		.ts_ns' "$work/jsonl"
}
check "~: it may have been before or after" cmp <(marks) <(grep '^[^ ]* ~' "$work/around" >"$work/marked"; ns "$work/marked")
check "there are such, and others" eval '[ -s "$work/marked" ] && grep -q "^[^ ]*   g2" "$work/around"'
# To the nanosecond.
edge() {
	local at bound
	read -r at bound < <(jq -rs '[.[] | select(.bound_ns != null and .bound_ns < 10000)][50] | "\(.ts_ns) \(.bound_ns)"' "$work/jsonl")
	at=$((at + bound + $1))
	report --around "$((at / 1000000000)).$(printf %09d $((at % 1000000000)))" --span "$((bound + 1))ns" >"$work/out"
	[ "$(wc -l <"$work/out")" -eq 1 ] && grep -q "^[^ ]* $2 " "$work/out"
}
check "as far as the bound reaches" edge 0 "~"
check "and no further" edge 1 " "
said() { "$xvtrace" report --around @"$line" --span 2ms "$trace" 2>&1 >/dev/null | grep -q "~ marks $(wc -l <"$work/marked") of $(grep -c . "$work/around") events: .* the one marked >"; }
check "their number is said" said
quiet() { [ ! -s "$work/err" ] && report --around @"$line" --span 2ms 2>"$work/err" >/dev/null && [ ! -s "$work/err" ]; }
: >"$work/err"
check "not with -q" quiet

check "no such line" misses 1 "@99999: the report of this trace has $(wc -l <"$work/all") lines" --around @99999
check "no number" misses 2 "@x: not an event" --around @x
check "line 0" misses 2 "@0: not an event" --around @0
check "around, and from" misses 2 "give one" --around 6.01 --from 6
check "a span of nothing" misses 2 "it is for --around" --span 5ms
check "a span without a unit is of seconds" cmp <(report --around 6.01 --span 0.001) <(report --around 6.01 --span 1ms)
check "a span that is none" misses 2 "--span 5mm: not seconds such as 2 or 0.5, or a time such as 5ms" --around 6.01 --span 5mm
check "far from the trace" misses 1 "no event matches; the trace is from 6\.0" --around 100
check "a bad time of day" misses 2 "25:00:00: not a time" --from 25:00:00
check "a bad date" misses 2 "not a time" --from '2026-13-01 10:00:00'
check "two clocks" misses 2 "leave --wall out" --relative --wall
[ $failures -eq 0 ]
