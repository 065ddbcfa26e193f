#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The recorder is killed (SIGKILL) again and again under load, at moments that its own progress
# chooses, and another one takes the same regions up each time. Every file is good to its last
# chunk. Of the numbered events none is in two files, and what is in none is a gap that the next
# file counts.
#
#   RECORDER_KILLS=30   in each of the long runs; the others take a third of them
#   RECORDER_SEED=1     of the moments
set -u
. "$(dirname "$0")/../cli/lib.sh"
kills=${RECORDER_KILLS:-30}
RANDOM=${RECORDER_SEED:-1}
writers=() recorder=
cleanup() {
	[ -z "$recorder" ] || kill -9 "$recorder"
	[ ${#writers[@]} -eq 0 ] || kill -9 "${writers[@]}"
	wait
	rm -rf "$work"
} 2>/dev/null
trap cleanup EXIT

# write REGION OPTION...: a writer of two rings that never ends by itself
write() {
	local region=$1
	shift
	"$BUILD/xvt-emit" "$region" --rings 2 --count 100000000000 "$@" >/dev/null 2>&1 &
	writers+=($!)
}

# stop_writers: as they would die with their guests
stop_writers() {
	kill -9 "${writers[@]}" 2>/dev/null
	wait "${writers[@]}" 2>/dev/null
	writers=()
}

attempted() {
	"$xvtrace" region show --json "$work/a" | jq '[.rings[].attempted] | add'
}

# until_progress: the recorder's file has so many bytes, or its guests have tried so many events
until_progress() {
	local size=$((RANDOM * 10)) more=$((RANDOM / 2)) begin
	case $((RANDOM % 4)) in
	0) size=0 ;; # it has just begun
	1) size=$((RANDOM / 4)) ;;
	2)
		begin=$(attempted)
		while kill -0 "$recorder" 2>/dev/null && [ $(($(attempted) - begin)) -lt $more ]; do sleep 0.01; done
		return
		;;
	esac
	while kill -0 "$recorder" 2>/dev/null && [ "$(stat -c %s "$file" 2>/dev/null || echo -1)" -lt $size ]; do sleep 0.01; done
}

# record FILE OPTION...: of both machines, in the background
record() {
	file=$1
	shift
	"$xvtrace" record -q -o "$file" -r a="$work/a" -r b="$work/b" "$@" 2>>"$work/err" &
	recorder=$!
}

# kill_recorders N OPTION...: the last one ends in order. The files are in $files.
kill_recorders() {
	local n=$1 i
	shift
	files=()
	rm -f "$work"/*.xvt
	: >"$work/err"
	for ((i = 0; i < n; i++)); do
		record "$work/$i.xvt" "$@"
		until_progress
		kill -9 "$recorder" || return 1
		wait "$recorder" 2>/dev/null
		recorder=
		[ ! -s "$file" ] || files+=("$file")
		[ $((i % 4)) -ne 3 ] || "${between[@]}"
	done
	record "$work/last.xvt" --duration 2 "$@"
	files+=("$file")
	wait "$recorder"
	i=$?
	recorder=
	stop_writers
	return $i
}

# verify_all: each file by itself. One that ends before its first chunk is whole is none.
verify_all() {
	local f
	for f in "${files[@]}"; do
		"$xvtrace" verify "$f" >"$work/out" 2>&1 || { cat "$work/out" && return 1; }
	done
}

chain() {
	"$BUILD/tests/tools/xvt-chain" "${files[@]}" >"$work/chain" || return 1
	tail -n 1 "$work/chain"
}

# sum FIELD: of all rings
sum() {
	sed -n "s/^all .*\b$1=\([^ ]*\).*/\1/p" "$work/chain"
}

# guests: what they attempted and did not lose or discard themselves
guests() {
	local r
	for r in a b; do "$xvtrace" region show --json "$work/$r"; done |
		jq -s '[.[].rings[] | .attempted - .discarded - ([.lost_by[]] | add)] | add'
}

# left: what the last one, which has that long to end, left in the rings or could not place; its file counts it
left() {
	"$xvtrace" stat --json "$file" | jq '.in_flight'
}

# adds_up LEAST MOST: what is in the files and what they count as gone is what the guests wrote, but for so many that
# writers died in
adds_up() {
	local apart=$(($(guests) - $(sum events) - $(sum told) + $(sum in_files) - $(left)))
	echo "left: $(left)"
	echo "apart: $apart"
	[ $apart -ge "$1" ] && [ $apart -le "$2" ]
}

causes='[.lost_by | .full + .wrap + .big + .nest + .retry] | add'

# losses: those that the files tell, and how many the guests had. What a file tells and its region did not know yet is in
# the next one as well.
losses() {
	local f r told had
	told=$(for f in "${files[@]}"; do "$xvtrace" stat -q --json "$f"; done | jq -s "[.[].vms[].rings[] | $causes] | add")
	had=$(for r in a b; do "$xvtrace" region show --json "$work/$r"; done | jq -s "[.[].rings[] | $causes] | add")
	echo "lost: $had, told: $told"
	[ "$had" -gt 0 ] && [ "$told" -ge "$had" ]
}

regions() {
	rm -f "$work/a" "$work/b"
	"$xvtrace" region create "$work/a" --size 8M --rings 2 && "$xvtrace" region create "$work/b" --size 1M --rings 2
}

none_twice() { [ "$(sum twice)" = 0 ] && [ "$(sum events)" -gt 0 ]; }
# On a machine that gives the recorder no CPU for many seconds, rings run full even at this rate. These losses are told
# by their own count, which the sums below compare.
each_gap() {
	[ "$(sum full)" = 0 ] || echo "rings were full for $(sum full) events"
	[ "$(sum wrong)" = 0 ] && { [ "$(sum full)" -gt 0 ] || [ "$(sum missing)" = $(($(sum told) - $(sum in_files))) ]; }
}
laps_and_gaps() { [ $(($(sum missing) + $(sum holes))) = $(($(sum told) - $(sum in_files))) ]; }
# The opener of a killed recorder says that it died.
no_errors() { ! grep -v -e ' warning: ' -e ': the recorder died without ending its trace' "$work/err"; }

between=(true)
regions
write "$work/a" --rate 10000
write "$work/b" --rate 3000
check "$kills recorders killed, the next one goes on" kill_recorders "$kills"
check "every file verifies" verify_all
chain
check "no event is in two files" none_twice
check "no region says more than its file holds" [ "$(sum claimed)" = 0 ]
check "each gap is counted, to the event" each_gap
check "together that is what the guests wrote" adds_up 0 4
check "no recorder had an error" no_errors

regions
write "$work/a"
write "$work/b" --rate 20000
check "$((kills / 3)) killed at full speed, rings full" kill_recorders $((kills / 3))
check "every file verifies" verify_all
chain
check "no event is in two files" none_twice
check "no region says more than its file holds" [ "$(sum claimed)" = 0 ]
check "gaps and events are what the guests wrote" adds_up 0 4
check "some were missing, so that this says something" [ "$(sum missing)" -gt 0 ]
check "no loss is untold" losses
check "no recorder had an error" no_errors

# The writers die as well, and others take their rings over.
first=0
restart_writers() {
	stop_writers
	first=$((first + 1000000000))
	write "$work/a" --rate 10000 --first $first
	write "$work/b" --rate 3000 --first $first
}
between=(restart_writers)
regions
restart_writers
check "$((kills / 3)) killed, and their writers from time to time" kill_recorders $((kills / 3))
check "every file verifies" verify_all
chain
check "no event is in two files" none_twice
check "no region says more than its file holds" [ "$(sum claimed)" = 0 ]
check "gaps and events are what the guests wrote" adds_up 0 $((4 + kills))
check "no recorder had an error" no_errors

between=(true)
regions
write "$work/a" --rate 10000
write "$work/b"
check "$((kills / 3)) killed in overwrite mode" kill_recorders $((kills / 3)) --mode overwrite
check "every file verifies" verify_all
chain
check "no event is in two files" none_twice
check "no region says more than its file holds" [ "$(sum claimed)" = 0 ]
check "each lap and each gap is counted, to the event" laps_and_gaps
check "together that is what the guests wrote" adds_up 0 4
check "laps were among them" [ "$(sum holes)" -gt 1000 ]
check "no recorder had an error" no_errors
[ $failures -eq 0 ]
