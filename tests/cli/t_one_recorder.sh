#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The host's words of a region have one writer: a second recorder is refused while the first one is
# there, and taken when that is gone, however it went.
set -u
. "$(dirname "$0")/lib.sh"
trap 'kill -KILL $recorder $writer 2>/dev/null; rm -rf "$work"' EXIT
recorder='' writer=''

# attached: a recorder has switched the region on
attached() {
	"$xvtrace" region show --json "$work/g" | jq -e '.rings[0].attempted > 0' >/dev/null
}

"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 1000 >/dev/null &
writer=$!
"$xvtrace" record -q -o "$work/a.xvt" -r g="$work/g" &
recorder=$!
poll attached || exit 1
"$xvtrace" record -q -o "$work/b.xvt" -r g="$work/g" --duration 1 2>"$work/err"
check "a second recorder is refused" test $? -eq 1
check "and says why" grep -q 'another xvtrace is at work on this region' "$work/err"
kill -KILL $recorder
wait $recorder 2>/dev/null
"$xvtrace" record -q -o "$work/c.xvt" -r g="$work/g" --control "$work/control" -- tests/recorded.sh "$work/control" g
check "when the first one was killed, the next one records" test $? -eq 0
check "and its trace verifies" "$xvtrace" verify "$work/c.xvt"

# One region under two names, as two domains have it when one is a clone of the other.
ln -s "$work/g" "$work/clone"
for clone in "$work/g" "$work/clone"; do
	"$xvtrace" record -q -o "$work/d.xvt" -r g="$work/g" -r clone="$clone" --duration 1 2>"$work/err"
	check "a recorder refuses one region under two names" test $? -ne 0
	check "and names the first one" grep -q "$clone: its region is that of g, which is recorded already; each machine needs a region of its own" "$work/err"
done

# A recorder that was killed is gone before its helpers, which have its files. salvage waits for that and does not say
# that a recorder is at work. Here flock has ended, which its shell has waited for, and sleep has the file for a while
# longer.
kill -KILL $writer
wait $writer 2>/dev/null
(flock 9 && : >"$work/locked" && exec sleep 1) 9<"$work/g" &
poll test -e "$work/locked"
check "salvage of a region that a process has locked which has ended" "$xvtrace" salvage "$work/g" -o "$work/e.xvt" 2>"$work/err"
check "... speaks of no recorder at work" eval '! grep "at work" "$work/err"'
[ $failures -eq 0 ]
