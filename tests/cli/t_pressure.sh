#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# A trace that cannot be written as fast as guests write, or no further: the recorder stays within its memory, the
# guests are not held up, they drop and count, and the file adds up.
set -u
. "$(dirname "$0")/lib.sh"
writer= recorder=
cleanup() {
	for p in $writer $recorder; do kill -9 "$p"; done
	wait
	rm -rf "$work"
} 2>/dev/null
trap cleanup EXIT

write() {
	"$xvtrace" region create "$1" --size 1M --rings 2
	"$BUILD/xvt-emit" "$1" --rings 2 --count 100000000000 >/dev/null 2>&1 &
	writer=$!
}

# lost N: so many events have found their ring full
lost() {
	[ "$("$xvtrace" region show --json "$region" | jq '[.rings[].lost_by.full] | add')" -gt "$1" ]
}

# says FILTER: jq's filter is true of xvtrace stat
says() {
	"$xvtrace" stat --json "$work/t.xvt" | jq -e "$1" >/dev/null
}

# high: most memory that the recorder ever had, in KiB
high() {
	awk '/^VmHWM/ { print $2 }' "/proc/$recorder/status"
}

adds_up='.attempted == .events + .discarded + .lost + .in_flight'

# -- a pipe that is not read for a while

region=$work/pipe-region
mkfifo "$work/pipe"
write "$region"
exec 3<>"$work/pipe"
"$xvtrace" record -q -o "$work/pipe" -r g="$region" --memory 8M --stall-timeout 0.1 2>"$work/err" 3>&- &
recorder=$!
check "no reader: the guests drop and count" poll lost 1000000
now=$("$xvtrace" region show --json "$region" | jq '[.rings[].lost_by.full] | add')
check "and go on" poll lost $((now + 1000000))
cons() { "$xvtrace" region show --json "$region" | jq '[.rings[].cons] | add'; }
# Nothing has been taken for so long: it waits for its reader, and not just since now.
stuck() {
	[ "$(cons)" = "$last" ] || last=$(cons) since=$(date +%s%N)
	[ $(($(date +%s%N) - since)) -gt 1500000000 ]
}
# Nothing is left in the rings.
empty() {
	"$xvtrace" region show --json "$region" | jq -e 'all(.rings[]; .cons == .commit)' >/dev/null
}
last= since=0
check "and their rings are not emptied" poll stuck
echo "most memory: $(high) KiB"
check "the recorder keeps to its memory (8 MiB, and 40 for itself)" test "$(high)" -lt $((48 * 1024))
exec 4<"$work/pipe" 3>&-
cat <&4 >"$work/t.xvt" &
reader=$!
exec 4<&-
more() { [ "$(cons)" -gt $((begin + 10000000)) ]; }
begin=$(cons)
check "once it is read, events flow" poll more
check "still within its memory" test "$(high)" -lt $((48 * 1024))
# It is to end while the pipe is not read, for longer than it waits for rings.
freeze $reader
kill -TERM "$recorder"
last=
check "the pipe is not read while it ends" poll stuck
kill -CONT $reader
wait "$recorder"
check "the recorder ends in order" test $? -eq 0
recorder=
wait $reader
kill -9 "$writer" && wait "$writer" 2>/dev/null
check "the trace verifies" "$xvtrace" verify "$work/t.xvt"
check "and adds up, with what the guests lost" says "$adds_up and .lost > 2000000"
check "and nothing of it was left behind" empty
check "that it was held up is in it" eval '"$xvtrace" verify --notes "$work/t.xvt" | grep -q "slower than the guests"'

# -- records that wait for a machine that does not come

region=$work/wait-region
write "$region"
truncate -s 1M "$work/blank"
"$xvtrace" record -q -o "$work/w.xvt" -r g="$region" -r w="$work/blank" --join-timeout 600 --memory 16M 2>"$work/err" &
recorder=$!
check "another machine is waited for: the guests drop and count" poll lost 60000000
echo "most memory: $(high) KiB"
check "the recorder keeps to its memory (a half of 16 MiB, and 40 for itself)" test "$(high)" -lt $((48 * 1024))
kill -TERM "$recorder"
wait "$recorder"
recorder=
kill -9 "$writer" && wait "$writer" 2>/dev/null
check "the trace verifies" "$xvtrace" verify "$work/w.xvt"
check "and what waited is in it, to the last one" eval 'empty && "$xvtrace" stat --json "$work/w.xvt" | jq -e ".in_flight == 0" >/dev/null'

# -- a file that may not grow further

region=$work/limit-region
write "$region"
(
	ulimit -f 2048
	exec "$xvtrace" record -q -o "$work/t.xvt" -r g="$region" 2>"$work/err"
)
check "a file that may not grow: exit 1" test $? -eq 1
cat "$work/err"
check "with one error line that says so" eval 'test "$(grep -c "" "$work/err")" -eq 1 && grep -q "too large" "$work/err"'
check "the guest runs on" kill -0 "$writer"
check "the trace is good up to there" "$xvtrace" verify "$work/t.xvt"
check "and has most of what fits" says ".events > 20000"
"$xvtrace" record -o "$work/next.xvt" -r g="$region" --duration 1 2>"$work/err"
check "the next recorder goes on" test $? -eq 0
check "and says that events are missing" grep -q "earlier recorder" "$work/err"
"$BUILD/tests/tools/xvt-chain" "$work/t.xvt" "$work/next.xvt" | tee "$work/chain"
check "none comes twice" grep -q "^all .* twice=0 " "$work/chain"
[ $failures -eq 0 ]
