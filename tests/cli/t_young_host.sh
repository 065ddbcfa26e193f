#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A recorder that starts with its host: CLOCK_MONOTONIC is near 0, so no time that lies further back
# can be computed from it. A name space of times stands in for such a host.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

# young COMMAND...: the host has been up for a second
young() {
	local up
	up=$(cut -d. -f1 /proc/uptime)
	exec unshare -T --monotonic -$((up - 1)) --boottime -$((up - 1)) -- "$@"
}
up=$( (young cut -d. -f1 /proc/uptime) 2>/dev/null)
[ -n "$up" ] && [ "$up" -lt 30 ] || { echo "skip - a host that has just been started: no name spaces of times here" && exit 77; }

set=$work/set
"$xvtrace" region create "$work/a" --size 1M --rings 1 --overwrite || exit 1
mkfifo "$work/tell"
"$BUILD/tests/tools/xvt-say" "$work/a" <"$work/tell" >"$work/told" &
pids+=($!)
exec 5>"$work/tell"
lines=0
has_lines() { [ "$(wc -l <"$work/told")" -ge $lines ]; }
say() {
	echo "$1 $2" >&5
	lines=$((lines + 1))
	poll has_lines
}
status() { "$xvtrace" status --json --control "$work/control" | jq "$1"; }
at_work() { [ "$(status '.recorders | length')" = 1 ]; } 2>/dev/null
held() { [ "$(status .recorders[0].conditions_held)" -ge "$1" ]; }
has_snapshot() { [ -n "$(find "$set/snapshots" -mindepth 1 -maxdepth 1 2>/dev/null)" ]; }
is_whole() { grep -q "^xvtrace: note: snapshot: .* has it: " "$work/err"; }

(young "$xvtrace" record -q --join-timeout 0 -o "$set/" -r a="$work/a" --control "$work/control" --snapshot-before 3600 \
	--snapshot-after 0.1 --snapshot-per-minute 1 --snapshot-when 'event text text == "boom"' 2>"$work/err") &
recorder=$!
pids+=($recorder)
check "it records" poll at_work
say 10 others
say 1 boom
check "a condition holds" poll held 1
check "there is a snapshot" poll has_snapshot
check "which is whole" poll is_whole
say 1 boom
check "the condition holds again" poll held 2
check "a moment beyond the most in a minute is told" \
	poll grep -q 'conditions held 1 more times, which is beyond --snapshot-per-minute' "$work/err"
kill -TERM "$recorder"
wait "$recorder"
check "it ends in order" test $? -eq 0
check "the set verifies" "$xvtrace" verify -q "$set"
check "times begin with the host" eval '"$xvtrace" report "$set" | awk "\$1 > 300 { exit 1 } END { exit NR < 12 }"'
check "and so do ways to choose them" test "$("$xvtrace" report -q --around 1 --span 1000s "$set" | wc -l)" -ge 12
[ $failures -eq 0 ]
