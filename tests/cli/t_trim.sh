#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# xvtrace trim: a part of a trace is a trace whose lines are those of the whole in that range, with
# the same times and bounds, and which verifies; of files, sets, compressed traces and snapshots.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$(realpath "$BUILD")/tests/tools

# A small ring without a pause between its events loses some.
"$xvtrace" region create "$work/g" --size 1M --rings 2 || exit 1
"$xvtrace" region create "$work/h" --size 64K --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/g" --rings 2 --count 100000000 --size 64 --rate 10000 >/dev/null 2>&1 &
pids+=($!)
size_of() { du -sb "$work/$1" 2>/dev/null | cut -f 1 | grep . || echo 0; }
longer() { [ "$(size_of "$1")" -gt "$2" ]; }
# record NAME SIZE OPTION...: four times until the trace is that much longer, with bursts that the ring of h cannot hold
record() {
	local out=$1 step=$2 to
	shift 2
	"$xvtrace" record -q -o "$work/$out" -r g="$work/g" -r h="$work/h" "$@" 2>>"$work/err" &
	recorder=$!
	pids+=("$recorder")
	for _ in 1 2 3 4; do
		to=$((step + $(size_of "$out")))
		"$BUILD/xvt-emit" "$work/h" --count 5000 --size 40 >/dev/null 2>&1 && poll longer "$out" "$to" || return
	done
	kill -TERM "$recorder" && wait "$recorder"
}
check "a trace" record whole.xvt 400000
cd "$work" || exit 1
xvtrace=$(realpath "$OLDPWD/$xvtrace")
check "with losses" [ "$("$xvtrace" stat -q --json whole.xvt | jq .lost)" -gt 0 ]

# at N: the time of line N of the whole
"$xvtrace" report -q whole.xvt >lines
at() { sed -n "${1}p" lines | awk '{ print $1 }'; }
count=$(wc -l <lines)
verifies() { "$xvtrace" verify -q "$1" >verify 2>&1 && return; cat verify; return 1; }
adds_up_in() { "$xvtrace" stat -q --json "$1" | jq -e '.attempted == .events + .discarded + .lost and .events > 0' >/dev/null; }
# same_lines OPTION... -- CHOICE...: report of the part as of the whole with that choice
same_lines() {
	local how=()
	while [ "$1" != -- ]; do
		how+=("$1")
		shift
	done
	shift
	cmp <("$xvtrace" report -q "${how[@]}" part.xvt) <("$xvtrace" report -q "${how[@]}" "$@" whole.xvt) &&
		[ "$("$xvtrace" report -q part.xvt | wc -l)" -gt 100 ]
}
# part NAME CHOICE...: the part of the whole, with all that is promised of one
part() {
	local name=$1
	shift
	check "$name: is written" "$xvtrace" trim -q whole.xvt -o part.xvt "$@"
	check "$name: verifies" verifies part.xvt
	check "$name: counts add up" adds_up_in part.xvt
	check "$name: the lines of the whole" same_lines -- "$@"
	check "$name: their bounds" same_lines --bound -- "$@"
	check "$name: with systems, wall clock and raw fields" same_lines -s -w -R -- "$@"
	check "$name: what the rings say of themselves" same_lines --all -- "$@"
	check "$name: as JSON" cmp <("$xvtrace" export -q --format jsonl part.xvt -) \
		<("$xvtrace" export -q --format jsonl "$@" whole.xvt -)
}
part "all of it"
part "a range" --from "$(at $((count / 4)))" --to "$(at $((count / 2)))"
# date_at N: the same as a date
"$xvtrace" report -q -w whole.xvt >dates
date_at() { sed -n "${1}p" dates | awk '{ print $1 }'; }
by_dates() {
	local range=(--from "$(date_at $((count / 4)))" --to "$(date_at $((count / 2)))")
	[[ ${range[1]} == 20*T* ]] && "$xvtrace" trim -q whole.xvt -o dated.xvt "${range[@]}" && verifies dated.xvt &&
		[ "$("$xvtrace" stat -q --json dated.xvt | jq .events)" -gt 100 ] &&
		cmp <("$xvtrace" report -q dated.xvt) <("$xvtrace" report -q "${range[@]}" whole.xvt)
}
check "a range by dates" by_dates
losses=$("$xvtrace" report -q part.xvt | grep -c ' LOST ')
check "a range: no note where nothing is missing, and the losses of the range alone" [ "$losses" = "$("$xvtrace" report -q \
	--from "$(at $((count / 4)))" --to "$(at $((count / 2)))" whole.xvt | grep -c ' LOST ')" ]
part "one machine" --vm g
check "one machine: nothing of the other is in it" eval '[ "$("$xvtrace" stat -q --json part.xvt | jq -c "[.vms[].name]")" = "[\"g\"]" ]'
part "a range of one machine" --vm h --from "$(at $((count / 4)))" --to "$(at $((count * 3 / 4)))"
part "from a time on" --from "$(at $((count / 2)))"
recorded() {
	local range=(--no-reclock --from "$(at $((count / 4)))" --to "$(at $((count / 2)))")
	"$xvtrace" trim -q whole.xvt -o part.xvt "${range[@]}" && verifies part.xvt &&
		cmp <("$xvtrace" report -q --no-reclock --bound part.xvt) <("$xvtrace" report -q --bound "${range[@]}" whole.xvt)
}
check "by the times of the recording" recorded
notes() { "$xvtrace" verify --notes part.xvt | grep -q '^note: info: .* trimmed: [0-9]* events of trace '; }
check "the part says that it is one" notes
smaller() { [ "$(stat -c %s part.xvt)" -lt $(($(stat -c %s whole.xvt) / 2)) ]; }
check "it is smaller" smaller
twice() { # a part of a part
	local from to
	"$xvtrace" trim -q whole.xvt -o part.xvt --from "$(at $((count / 4)))"
	from=$(at $((count / 3))) to=$(at $((count / 2)))
	"$xvtrace" trim -q part.xvt -o less.xvt --from "$from" --to "$to" && verifies less.xvt &&
		cmp <("$xvtrace" report -q --bound less.xvt) <("$xvtrace" report -q --bound --from "$from" --to "$to" whole.xvt)
}
check "a part of a part" twice

# -- other traces --------------------------------------------------------------------

# of_trace NAME PATH: the middle of it, whose lines are those of the whole
of_trace() {
	local n from to
	"$xvtrace" report -q "$2" >lines2 2>/dev/null
	n=$(wc -l <lines2)
	from=$(sed -n "$((n / 4))p" lines2 | awk '{ print $1 }') to=$(sed -n "$((n * 3 / 4))p" lines2 | awk '{ print $1 }')
	"$xvtrace" trim "$2" -o part.xvt --from "$from" --to "$to" 2>err && verifies part.xvt && adds_up_in part.xvt &&
		cmp <("$xvtrace" report -q --bound part.xvt) <("$xvtrace" report -q --bound --from "$from" --to "$to" "$2") &&
		[ "$("$xvtrace" report -q part.xvt | wc -l)" -gt 100 ] && return
	cat err
	return 1
}
work_of() { (cd "$OLDPWD" && record "$@"); }
check "a set is recorded" work_of set/ 400000 --rotate-time 0.3
check "of several files" [ "$(find set -name '*.xvt' | wc -l)" -gt 2 ]
check "a part of a set" of_trace set set
check "a compressed trace is recorded" work_of packed.xvt 100000 --compress 1
check "a part of it" of_trace packed packed.xvt
is_packed() { python3 - part.xvt <<'END'
import struct, sys
data, at, packed = open(sys.argv[1], 'rb').read(), 0, 0
while at + 32 <= len(data):
    magic, kind, flags, length = struct.unpack_from('<IHHI', data, at)
    packed += flags & 1
    at += 32 + (length + 7) // 8 * 8
sys.exit(not packed)
END
}
check "... is compressed, too" is_packed
snapshot() {
	local of=$OLDPWD
	"$xvtrace" region create ring --size 1M --rings 2 --overwrite && exec "$of/$BUILD/xvt-emit" ring --rings 2 --count 3000 --rate 20000 --linger 1000 >/dev/null &
	pids+=($!)
	poll eval '"$xvtrace" snapshot -q -o snapshot.xvt -r g=ring 2>/dev/null && [ "$("$xvtrace" stat -q --json snapshot.xvt | jq .events)" = 6000 ]'
}
check "a snapshot is taken" snapshot
check "a part of it" of_trace snapshot snapshot.xvt
"$tools/xvt-mktrace" 5000 0 made.xvt >/dev/null
check "late events, guesses and epochs" of_trace made made.xvt
# What a guest discarded or had in flight is not of a part.
sums() { "$xvtrace" stat -q --json "$1" | jq -c '.lost, [.vms[].rings[] | [.attempted - .discarded - .in_flight, .events, .lost_by, .late, .backlog, .unconfirmed, .recovered]]'; }
counts_as_whole() {
	"$xvtrace" trim made.xvt -o part.xvt 2>err && sums made.xvt >sums && cmp sums <(sums part.xvt) &&
		grep -q ": $("$xvtrace" stat -q --json part.xvt | jq -r '"\(.events) events, lost \(.lost)"')$" err &&
		jq -se '.[0] > 0 and ([.[1][][2].overwritten] | max) > 0 and ([.[1][][4]] | max) > 0' sums >/dev/null
}
check "all of it: the counts of the whole, with losses of two causes and a backlog" counts_as_whole
killed() {
	head -c $(($(stat -c %s whole.xvt) * 3 / 4)) whole.xvt >cut.xvt
	"$xvtrace" trim cut.xvt -o part.xvt --vm g 2>err && grep -q 'not cleanly ended, and so is the part' err && verifies part.xvt &&
		cmp <("$xvtrace" report -q part.xvt) <("$xvtrace" report -q --vm g cut.xvt)
}
check "a trace without an end" killed

# -- refused -------------------------------------------------------------------------

# refused STATUS WORDS OPTION...
refused() {
	local want=$1 words=$2
	shift 2
	rm -f none.xvt
	"$xvtrace" trim "$@" >out 2>err
	[ $? -eq "$want" ] && [ ! -e none.xvt ] && grep -qE -- "$words" err && [ "$(wc -l <err)" = 1 ] && return
	cat err
	return 1
}
cp whole.xvt kept.xvt
check "no name for the part" refused 2 'give the part a name: -o PART.xvt' whole.xvt
check "the name of the trace" refused 2 'it is the trace that is read' whole.xvt -o whole.xvt
check "... which is as it was" cmp kept.xvt whole.xvt
check "standard output" refused 2 'needs a file' whole.xvt -o -
check "no time" refused 2 'not a time' whole.xvt -o none.xvt --from yesterday
check "a range that ends before it begins" refused 2 'ends at 1.5, before it begins' whole.xvt -o none.xvt --from 2.5 --to 1.5
check "a range without an event" refused 1 'no event is in this part; the trace is from' whole.xvt -o none.xvt --to 0.000000001
check "no such machine" refused 1 "no machine 'x' in this trace; it has: g, h" whole.xvt -o none.xvt --vm x
check "no trace" refused 1 'No such file' absent.xvt -o none.xvt
check "no place to write" refused 1 'cannot write it: No such file' whole.xvt -o absent/none.xvt

exit $((failures > 0))
