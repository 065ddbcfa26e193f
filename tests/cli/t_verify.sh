#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# verify is a judge that can say no: a clock map moved by more than a message takes is found by
# causality alone, because everything else in the file was moved with it.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT

# shifted NS: g2's clock moved by so much; verify's verdict in $work/out
shifted() {
	"$BUILD/tests/tools/xvt-shift" g2 "$1" "$work/good.xvt" "$work/shifted.xvt" || return 2
	"$xvtrace" verify "$work/shifted.xvt" >"$work/out" 2>&1
}

"$BUILD/tests/tools/xvt-mktrace" 2000 0 "$work/good.xvt" >/dev/null || exit 1
"$xvtrace" verify "$work/good.xvt" >"$work/out"
check "a good trace passes" [ $? -eq 0 ]
check "with its exchanges measured both ways" grep -qE '[0-9]+ exchanges: g1 to g2 median 60\.0 us \([0-9]+\), g2 to g1 median 60\.0 us' "$work/out"

# A message is 60 us on its way here.
for ns in 40000 -40000; do
	shifted $ns
	check "moved by $ns ns: less than the way, not provable" [ $? -eq 0 ]
done
for ns in 61000 -61000 5000000 -5000000; do
	shifted $ns
	check "moved by $ns ns: found" [ $? -eq 1 ]
	only() { ! grep '^violation: ' "$work/out" | grep -v 'effect before cause'; }
	check "and by causality only" only
done

# With marks, each seen by the host to 400 ns, that which no message shows is found too.
"$BUILD/tests/tools/xvt-mktrace" 2000 16 "$work/good.xvt" >/dev/null || exit 1
"$xvtrace" verify "$work/good.xvt" >"$work/out"
check "a good trace with marks passes" [ $? -eq 0 ]
check "and its marks are counted" grep -qE ' samples, [1-9][0-9]* marks; ' "$work/out"
for ns in 300 -300; do
	shifted $ns
	check "moved by $ns ns: less than the marks show" [ $? -eq 0 ]
done
for ns in 500 -500 40000 -40000; do
	shifted $ns
	check "moved by $ns ns: found" [ $? -eq 1 ]
	only() { ! grep '^violation: ' "$work/out" | grep -vE "ns by the host's clock, but its stamp says|ns, by its mark"; }
	check "and by marks only" only
done

# And so is what the host's kernel tells of the vCPUs: each of these runs 500 ns about its event.
"$BUILD/tests/tools/xvt-mktrace" 2000 32 "$work/good.xvt" >/dev/null || exit 1
"$xvtrace" verify "$work/good.xvt" >"$work/out"
check "a good trace with run spans passes" [ $? -eq 0 ]
check "and its events in them are counted" grep -qE '; [1-9][0-9]* events inside run spans' "$work/out"
for ns in 400 -400; do
	shifted $ns
	check "moved by $ns ns: still inside" [ $? -eq 0 ]
done
for ns in 700 -700 40000 -40000; do
	shifted $ns
	check "moved by $ns ns: found" [ $? -eq 1 ]
	only() { ! grep '^violation: ' "$work/out" | grep -v "but its vCPU was out of its guest"; }
	check "and by run spans only" only
done
[ $failures -eq 0 ]
