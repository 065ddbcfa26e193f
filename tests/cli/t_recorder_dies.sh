#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A recorder was killed and left its rings switched on. The next one finds no clock, because their writer stands still:
# when it ends they are off all the same, for nobody is there any more. Or their writer has ended meanwhile: what it left comes
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
kill -STOP $writer
"$xvtrace" record -q -o "$work/b.xvt" -r g="$work/g" --duration 1 --join-timeout 1 --stall-timeout 1
check "the next one, which nobody answers, ends" test $? -eq 0
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
[ $failures -eq 0 ]
