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
# that a recorder is at work. As a shell has the file: flock's process has ended, its lock is there.
kill -KILL $writer
wait $writer 2>/dev/null
has_ended() {
	[ ! -e /proc/$salvage/status ] || grep -q '^State:.*zombie' /proc/$salvage/status
}
ended_or_waits() {
	has_ended || grep -q nanosleep /proc/$salvage/wchan
}
if [ -r /proc/self/wchan ] && [ "$(id -u)" = 0 ]; then
	exec 9<"$work/g"
	flock -n 9
	check "the lock of a process that has ended is there" test $? -eq 0
	"$xvtrace" salvage "$work/g" -o "$work/e.xvt" 2>"$work/err" 9<&- &
	salvage=$!
	poll ended_or_waits
	check "salvage waits for it" eval '! has_ended'
	exec 9<&-
	wait $salvage
	check "... ends" test $? -eq 0
	check "... and speaks of no recorder at work" eval '! grep "at work" "$work/err"'
else
	echo "skip - salvage waits for a lock of a process that has ended: /proc/PID/wchan is not to be read"
fi
[ $failures -eq 0 ]
