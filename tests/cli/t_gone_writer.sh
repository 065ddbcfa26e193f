#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# Rings whose writers were gone before the recording began: one that older traces account for is not in the trace, one
# that still holds something is, with its counters.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

record() {
	"$xvtrace" record -q -o "$work/t.xvt" -r g="$work/g" --join-timeout 1 "$@" 2>"$work/err"
}

# says FILTER: jq's filter is true of xvtrace stat
says() {
	"$xvtrace" stat --json "$work/t.xvt" | jq -e "$1" >/dev/null || { "$xvtrace" stat "$work/t.xvt" && return 1; }
}

emit() {
	"$BUILD/xvt-emit" "$work/g" "$@" >/dev/null &
	pids=($!)
}

"$xvtrace" region create "$work/g" --size 1M --rings 2
# Until its writers are gone.
record -- "$BUILD/xvt-emit" "$work/g" --rings 2 --count 1000 >/dev/null
check "two writers record" says '.events == 2000'
record -- "$BUILD/xvt-emit" "$work/g" --rings 1 --count 1000 >/dev/null
check "one comes again" says '.events == 1000'
check "the other one's ring is not in the trace" says '[.vms[].rings[]] | length == 1'
check "the trace verifies" "$xvtrace" verify --complete "$work/t.xvt"
record --duration 1
check "no writer comes: the trace verifies" "$xvtrace" verify --complete "$work/t.xvt"

rm "$work/g"
"$xvtrace" region create "$work/g" --size 1M --rings 2 --overwrite
emit --rings 1 --count 1000
wait "${pids[@]}"
record --mode overwrite --duration 1
check "a flight recorder's writer is gone: its ring is in the trace, with what it attempted" \
	says '[.vms[].rings[]] | length == 1 and .[0].attempted == 1000'
check "the trace verifies" "$xvtrace" verify --complete "$work/t.xvt"
check "its clock was not measured, and that does not read like an exact one" eval '"$xvtrace" stat -q "$work/t.xvt" | grep -q "^g .*  no clock  unconfirmed 1000$"'
check "in the JSON the source is none, and there is no bound" \
	says '.vms[0].rings[0] | .first_ns > 0 and (.clock | .source == "none" and .bound_ns_max > 9e18 and .unconfirmed_bound_ns_max > 9e18)'

# The recorder leaves its measurement of the clock in the region. That places what is there, and bounds none of it.
rm "$work/g"
"$xvtrace" region create "$work/g" --size 1M --rings 1 --overwrite
emit --rings 1 --count 100000000 --rate 1000
"$xvtrace" record -q -o "$work/killed.xvt" -r g="$work/g" --mode overwrite --control "$work/c" 2>/dev/null &
recorder=$!
pids+=($recorder)
has_a_clock() { "$xvtrace" status --json --control "$work/c" 2>/dev/null | jq -e '[.recorders[].vms[].rings[].events] | add > 100' >/dev/null; }
check "a recorder has measured its clock" poll has_a_clock
kill -KILL "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
check "recorder and writer are gone: a snapshot" eval '"$xvtrace" snapshot -q -o "$work/t.xvt" -r g="$work/g" 2>/dev/null'
check "a clock that bounds none of the events is not told as one that does" \
	eval '"$xvtrace" stat -q "$work/t.xvt" | grep -q "  handshake, 1 epoch, unconfirmed without a bound  unconfirmed"'
check "nor in the JSON" says '.vms[0].rings[0].clock.unconfirmed_bound_ns_max > 9e18 and .vms[0].unbounded == .events and .events > 0'
[ $failures -eq 0 ]
