#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# What a recorder has taken, salvage does not give again, in either mode; what came after, it does.
set -u
. "$(dirname "$0")/lib.sh"
trap 'kill -KILL $recorder $writer 2>/dev/null; rm -rf "$work"' EXIT
recorder='' writer=''

# says FILE FILTER: jq's filter is true of xvtrace stat
says() {
	"$xvtrace" stat --json "$1" | jq -e "$2" >/dev/null
}

for mode in stop overwrite; do
	region=$work/$mode
	"$xvtrace" region create "$region" --size 1M --rings 1 || exit 1
	"$xvtrace" record -q --mode $mode -o "$work/$mode.xvt" -r g="$region" -- \
		"$BUILD/xvt-emit" "$region" --count 60 --linger 1
	check "$mode: the recorder took all" says "$work/$mode.xvt" '.events == 60 and .attempted == 60'
	"$xvtrace" salvage "$region" -o "$work/$mode-after.xvt" >/dev/null
	check "$mode: salvage finds nothing more" says "$work/$mode-after.xvt" '.events == 0 and .attempted == 0'
	check "$mode: and what it wrote verifies" "$xvtrace" verify "$work/$mode-after.xvt"
	check "$mode: it claims no bound for its one clock node" says "$work/$mode-after.xvt" '.vms[0].rings[0].clock | .source == "handshake" and .bound_ns_max > 9e18'
done
# No recorder was ever there: the guest's own ticks are all the time there is.
"$xvtrace" region create "$work/alone" --size 1M --rings 1 --overwrite || exit 1
"$BUILD/xvt-emit" "$work/alone" --count 60 >/dev/null
"$xvtrace" salvage -q "$work/alone" -o "$work/alone.xvt"
check "without a recorder: no clock, and no bound" says "$work/alone.xvt" '.events == 60 and (.vms[0].rings[0].clock | .source == "none" and .bound_ns_max > 9e18)'
check "and in text" eval '"$xvtrace" stat "$work/alone.xvt" | grep -q "  no clock"'
check "all are flagged as unconfirmed" says "$work/alone.xvt" '.unconfirmed == 60'
# The recorder dies, and then the guest. Between the recorder's file and what salvage finds lies what was taken and not
# written: told, to the event, and nothing comes twice.
sum() { sed -n "s/^all .*\b$1=\([^ ]*\).*/\1/p" "$work/chain"; }
written() { [ "$(stat -c %s "$work/died.xvt" 2>/dev/null || echo 0)" -gt 200000 ]; }
for mode in stop overwrite; do
	region=$work/$mode-died
	"$xvtrace" region create "$region" --size 1M --rings 1 || exit 1
	"$BUILD/xvt-emit" "$region" --count 100000000 --rate 20000 >/dev/null 2>&1 &
	writer=$!
	"$xvtrace" record -q --mode $mode -o "$work/died.xvt" -r g="$region" 2>/dev/null &
	recorder=$!
	poll written || exit 1
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	more=$(($("$xvtrace" region show --json "$region" | jq '.rings[0].attempted') + 2000))
	ahead() { [ "$("$xvtrace" region show --json "$region" | jq '.rings[0].attempted')" -gt $more ]; }
	poll ahead || exit 1
	kill -KILL $writer
	wait $writer 2>/dev/null
	"$xvtrace" salvage "$region" -n g -o "$work/salvaged.xvt" >"$work/out" 2>&1
	check "$mode, recorder and guest died: salvage says so" grep -q "its recorder did not end in order" "$work/out"
	check "$mode: what it saved verifies" "$xvtrace" verify "$work/salvaged.xvt"
	"$BUILD/tests/tools/xvt-chain" "$work/died.xvt" "$work/salvaged.xvt" >"$work/chain"
	tail -n 1 "$work/chain"
	check "$mode: no event is in both files" [ "$(sum twice)" = 0 ]
	check "$mode: each gap is counted, to the event" [ $(($(sum missing) + $(sum holes))) = $(($(sum told) - $(sum in_files))) ]
	check "$mode: and none is said to be inside a writer" says "$work/salvaged.xvt" '.in_flight <= 1'
	check "$mode: what it saved adds up" says "$work/salvaged.xvt" '.attempted == .events + .discarded + .lost + .in_flight and .events >= 2000'
	rm "$work/died.xvt"
done
[ $failures -eq 0 ]
