#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 48 rings of three machines at full rate: the trace is in order, and every event is in it or counted.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
rings=16 events=20000
regions=()

for r in a b c; do
	"$xvtrace" region create "$work/$r" --size 4M --rings $rings --subbuf-size 4K || exit 1
	"$BUILD/xvt-emit" "$work/$r" --rings $rings --count $events --linger 3600 --yield >"$work/$r.out" 2>&1 &
	pids+=($!)
	regions+=(-r "$r=$work/$r")
done

attempted() { for r in a b c; do "$xvtrace" region show --json "$work/$r"; done | jq -s '[.[].rings[].attempted] | add'; }
all_written() { [ "$(attempted)" -ge $((3 * rings * events)) ]; }
sums() { "$xvtrace" stat --json "$1" | jq -e '.attempted == .events + .discarded + .lost + .in_flight and .attempted > 0'; }

"$xvtrace" record -q -o "$work/t.xvt" "${regions[@]}" 2>"$work/err" &
recorder=$!
pids+=($recorder)
poll all_written
kill -INT $recorder
check "recording ends in order" wait $recorder
cat "$work/err"
check "verify has nothing to say against it" "$xvtrace" verify "$work/t.xvt"
check "attempted == events + discarded + lost + in flight" sums "$work/t.xvt"
[ $failures -eq 0 ]
