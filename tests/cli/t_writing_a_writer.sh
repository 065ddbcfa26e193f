#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The writer of docs/writing-a-writer.md, made from the ABI's text alone: a recorder gets each of
# its numbered events once, in order, or counts it; in stop mode, with a full ring, in overwrite
# mode, and in a second generation of the same region.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
writer=$BUILD/tests/tools/xvt-example-writer
source=docs/examples/writer.c

check "it is shorter than 200 lines ($(wc -l <$source))" [ "$(wc -l <$source)" -lt 200 ]
check "it uses no code of the project but the ABI's header" \
	[ "$(grep -h '^#include "' $source | cut -d'"' -f2)" = xvt_abi.h ]

# record NAME COUNT BURST RECORD-OPTIONS...: a trace of one run of the writer
record() {
	local name=$1 count=$2 burst=$3 pid rc
	shift 3
	"$writer" "$work/region" "$count" "$burst" >"$work/$name.said" &
	pid=$!
	pids+=($pid)
	"$xvtrace" record -q "$@" -r "example=$work/region" -o "$work/$name.xvt" 2>"$work/$name.err" &
	rc=$!
	pids+=($rc)
	check "$name: the writer ends" wait $pid
	kill -INT $rc
	check "$name: the recorder ends well" wait $rc
	check "$name: verify finds nothing" "$xvtrace" verify "$work/$name.xvt"
	"$xvtrace" stat --json "$work/$name.xvt" >"$work/$name.json"
	"$xvtrace" report "$work/$name.xvt" >"$work/$name.txt"
}
# of NAME JQ-EXPRESSION: holds for its one ring
holds() { jq -e ".vms[0].rings[0] | $2" "$work/$1.json" >"$work/out"; }
# What is there is in order, and nothing is there twice.
in_order() { awk '/ u64: / { if (n++ && $NF <= last) bad = 1; last = $NF } END { exit bad || !n }' "$work/$1.txt"; }

"$xvtrace" region create "$work/region" --size 256K --rings 1 || exit 1
record stop 20000 500
check "stop: all 20,000 events are there" holds stop '.attempted == 20000 and .events == 20000 and .lost == 0'
check "stop: in order" in_order stop
check "stop: without a hole" [ "$(grep -c ' u64: ' "$work/stop.txt")" -eq 20000 ]

# Far more than a recorder that looks every millisecond can take out of 128 KiB.
record full 1000000 1000000
check "full: what does not fit is counted" holds full '.attempted == 1000000 and .lost_by.full > 0 and .events + .lost == 1000000'
check "full: the rest is in order" in_order full
check "full: the first ones are there" grep -q " u64: 0 0$" "$work/full.txt"

rm "$work/region"
"$xvtrace" region create "$work/region" --size 128K --rings 1 || exit 1
record lap 1000000 1000000 --mode overwrite
check "lap: what was overwritten is counted" \
	holds lap '.attempted == 1000000 and .lost_by.overwritten > 0 and .events + .lost == 1000000'
check "lap: the last event is there" grep -q " u64: 0 999999$" "$work/lap.txt"
check "lap: in order" in_order lap
record again 3000 100
check "again: a second generation of the same region" holds again '.events == 3000 and .lost == 0'
[ $failures -eq 0 ]
