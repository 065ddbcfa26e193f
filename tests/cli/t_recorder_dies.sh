#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# A recorder was killed and left its rings switched on. The next one finds no clock, because their writer stands still:
# when it ends they are off all the same, for no recorder is left. Or their writer has ended meanwhile: what it left comes
# out, of a ring that the trace knows.
set -u
. "$(dirname "$0")/lib.sh"
trap 'kill -KILL $recorder $writer 2>/dev/null; rm -rf "$work"' EXIT
recorder='' writer=''

show() {
	"$xvtrace" region show --json "$work/g" | jq ".rings[0].$1"
}

attempted() { [ "$(show attempted)" -gt 0 ]; }

"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 1000 >/dev/null &
writer=$!
"$xvtrace" record -q -o "$work/a.xvt" -r g="$work/g" &
recorder=$!
poll attempted || exit 1
kill -KILL $recorder
wait $recorder 2>/dev/null
check "killed, it leaves the ring switched on" test "$(show enable)" = 1
freeze $writer
"$xvtrace" record -q -o "$work/b.xvt" -r g="$work/g" --duration 1 --join-timeout 1 --stall-timeout 1
check "the next one, which no guest answers, ends" test $? -eq 0
check "and leaves it switched off" test "$(show enable)" = 0
check "its trace verifies" "$xvtrace" verify "$work/b.xvt"
kill -CONT $writer
kill -KILL $writer
wait $writer 2>/dev/null

rm "$work/g"
"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/g" --count 3000 --rate 1000 >/dev/null &
writer=$!
"$xvtrace" record -q -o "$work/c.xvt" -r g="$work/g" &
recorder=$!
poll attempted || exit 1
kill -KILL $recorder
wait $recorder 2>/dev/null
wait $writer
check "a writer goes on without a recorder, to its end" test "$(show attempted)" = 3000
"$xvtrace" record -q -o "$work/d.xvt" -r g="$work/g" --duration 1 --join-timeout 1 --stall-timeout 1 2>/dev/null
check "the trace of what it left verifies" "$xvtrace" verify "$work/d.xvt"
check "its events are of a ring that the trace knows" eval \
	'"$xvtrace" stat --json "$work/d.xvt" | jq -e ".vms[0].rings | length == 1 and (.[0] | .events > 0 and .attempted == .events + .discarded + .lost + .in_flight)" >/dev/null'
# What a recorder has in hand is still in the ring until it goes to the file: if it is killed, the next one, or salvage,
# has it. Only a write that had just begun may be missing, so not at each of three deaths.
sum() { sed -n "s/^all .*\b$1=\([^ ]*\).*/\1/p" "$work/chain"; }
grown() { [ "$(stat -c %s "$file" 2>/dev/null || echo 0)" -gt 100000 ]; }
for mode in stop overwrite; do
	rm -f "$work/g"
	# It never runs full, however long a recorder takes to begin: that would be another loss.
	"$xvtrace" region create "$work/g" --size 64M --rings 1 || exit 1
	"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 20000 >/dev/null 2>&1 &
	writer=$!
	for i in 1 2 3; do
		file=$work/in-hand-$i.xvt
		"$xvtrace" record -q --mode $mode -o "$file" -r g="$work/g" 2>/dev/null &
		recorder=$!
		poll grown || exit 1
		freeze $recorder
		sleep 0.1 # for the writes under way
		kill -KILL $recorder
		wait $recorder 2>/dev/null
	done
	kill -KILL $writer
	wait $writer 2>/dev/null
	"$xvtrace" salvage -q "$work/g" -n g -o "$work/in-hand-4.xvt"
	"$BUILD/tests/tools/xvt-chain" "$work"/in-hand-?.xvt >"$work/chain"
	tail -n 1 "$work/chain"
	check "$mode: what a killed recorder had in hand is not lost" [ "$(sum gaps)" -lt 3 ]
	check "$mode: and comes once" [ "$(sum twice)" = 0 ]
	check "$mode: each gap is counted, to the event" [ "$(sum missing)" = $(($(sum told) - $(sum in_files))) ]
	rm "$work"/in-hand-?.xvt
done
# A flight recorder: the second one's first look finds what the first one has delivered, or had taken, and before its second
# look the writer comes round. The lap is told once, to the event.
# ... and some of it is in a file, or there would be none.
taken() { [ "$(stat -c %s "$work/1.xvt" 2>/dev/null || echo 0)" -gt 40000 ] && [ "$(show cons)" -gt 40000 ] && [ "$(show cons)" = "$(show commit)" ]; }
live() { [ "$(show enable)" = 2 ] && "$xvtrace" status --json --control "$work/c" 2>/dev/null | jq -e ".recorders[0].vms[0].rings[0].phase == \"live\"" >/dev/null; }
more() { [ "$(show attempted)" -gt 602600 ]; }
for how in TERM KILL; do
	rm -f "$work"/*.xvt "$work/g"
	"$xvtrace" region create "$work/g" --size 1M --rings 1 --overwrite || exit 1
	"$BUILD/xvt-emit" "$work/g" --count 2500 --rate 20000 --linger 3600 >/dev/null 2>&1 &
	writer=$!
	"$xvtrace" record -q --mode overwrite -o "$work/1.xvt" -r g="$work/g" 2>/dev/null &
	recorder=$!
	check "$how: the first one takes what there is" poll taken
	kill -$how $recorder
	wait $recorder 2>/dev/null
	"$xvtrace" record -q --mode overwrite -o "$work/2.xvt" -r g="$work/g" --control "$work/c" 2>/dev/null &
	recorder=$!
	check "$how: the next one begins" poll live
	freeze $recorder
	kill -KILL $writer
	wait $writer 2>/dev/null
	"$BUILD/xvt-emit" "$work/g" --count 600000 --first 2500 >/dev/null 2>&1
	"$BUILD/xvt-emit" "$work/g" --count 1000000 --rate 10000 --first 602500 >/dev/null 2>&1 &
	writer=$!
	poll more || exit 1
	kill -CONT $recorder
	now=$(show attempted)
	further() { [ "$(show cons)" -gt 0 ] && [ "$(show attempted)" -gt $((now + 2000)) ]; }
	poll further || exit 1
	kill -TERM $recorder
	wait $recorder
	check "$how: it ends in order" test $? -eq 0
	check "$how: its trace verifies" "$xvtrace" verify "$work/2.xvt"
	"$BUILD/tests/tools/xvt-chain" "$work/1.xvt" "$work/2.xvt" >"$work/chain"
	tail -n 1 "$work/chain"
	check "$how: nothing comes twice" [ "$(sum twice)" = 0 ]
	check "$how: laps were told" [ "$(sum told)" -gt 100000 ]
	doubt=$("$xvtrace" stat -q --json "$work/2.xvt" | jq .overwritten_doubt)
	if [ $how = TERM ]; then
		check "$how: none of them may be counted twice" [ "$doubt" = 0 ]
	else
		check "$how: as many may be counted twice as are in the first file, or more" [ "$doubt" -ge "$(sum in_files)" ]
		check "$how: but no more than were there when it came ($doubt)" [ "$doubt" -le 2500 ]
		check "$how: and stat says so where there are any ($doubt)" \
			[ "$([ "$doubt" -gt 0 ] && echo 2 || echo 0)" = "$("$xvtrace" stat -q "$work/2.xvt" | grep -c "overwritten at most [0-9]")" ]
	fi
	check "$how: to the event" [ $(($(sum missing) + $(sum holes))) = $(($(sum told) - $(sum in_files))) ]
	kill -KILL $writer
	wait $writer 2>/dev/null
done
[ $failures -eq 0 ]
