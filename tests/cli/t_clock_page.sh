#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# The clock page from end to end: a program that records reads it in its region, another program of
# the host in the recorder's file; both are right, neither goes back, and active time stands while
# the machine does.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
clock=$BUILD/tests/tools/xvt-clock

# get KEY LINE
get() {
	sed -nE "s/.*\\b$1=([0-9]+).*/\\1/p" <<<"$2"
}

# --- Writers read their own pages.
"$xvtrace" region create "$work/g" --size 1M --rings 2 || exit 1
"$xvtrace" record -q -o "$work/t.xvt" -r g="$work/g" --clock-page "$work/pages" -- \
	sh -c "'$BUILD/xvt-emit' '$work/g' --rings 2 --count 1500 --rate 1000 --clock 100000 --linger 1 >'$work/emit'
		'$clock' '$work/pages/g.0' 100000 >'$work/host'; ls '$work/pages' >'$work/files'"
check "the recording succeeds" test $? -eq 0
cat "$work/emit" "$work/host"
check "both threads read the time" test "$(grep -c 'clock_reads=100000 back=0 far=0' "$work/emit")" -eq 2
check "with a bound" test "$(get bound_ns "$(head -1 "$work/emit")")" -gt 0
check "a program of the host reads it, too" grep -q "active=1 closed=0 back=0" "$work/host"
check "from a file for each ring" test "$(paste -sd' ' "$work/files")" = "g.0 g.1"
check "which ends with the recording" test -z "$(ls "$work/pages")"
check "the trace is good" "$xvtrace" verify "$work/t.xvt" >/dev/null

# --- Without a recorder, and in a region of version 1.0.
"$xvtrace" region create "$work/old" --size 256K --rings 1 || exit 1
printf '\0\0' | dd of="$work/old" bs=1 seek=10 conv=notrunc status=none # minor
"$xvtrace" record -q -o "$work/o.xvt" -r old="$work/old" --clock-page "$work/pages" -- \
	sh -c "'$BUILD/xvt-emit' '$work/old' --count 500 --rate 1000 --clock 10 --linger 1 >'$work/emit'; '$clock' '$work/pages/old.0' >'$work/host'"
check "a region of version 1.0 is recorded" test $? -eq 0
check "without a page in it" grep -q "recorded=500 .*clock_reads=0 " "$work/emit"
check "which is untouched" test "$(od -An -v -tx8 -j $((0x$(od -An -tx8 -j 56 -N 8 "$work/old" | tr -d ' ') + 4096 + 256)) -N 256 "$work/old" | tr -d ' 0\n')" = ""
check "the host's programs have theirs" grep -q "active=1" "$work/host"
"$xvtrace" record -q -o "$work/x.xvt" -r g="$work/g" --clock-page "$work/no/such" --duration 1 2>"$work/err"
check "a folder that cannot be made: exit 1 and a reason" eval "test $? -eq 1"' && grep -q "^xvtrace: .*/no/such: cannot make" "$work/err"'

# --- Pauses, as a real QEMU tells them.
if ! command -v qemu-system-x86_64 >/dev/null || ! command -v socat >/dev/null; then
	echo "skip - active time by QMP: qemu-system-x86_64 or socat not found"
	[ $failures -eq 0 ]
	exit
fi
qemu-system-x86_64 -machine none -S -display none -qmp "unix:$work/own,server=on,wait=off" \
	-qmp "unix:$work/qmp,server=on,wait=off" >"$work/qemu.err" 2>&1 &
pids+=($!)
disown
poll listens "$work/qmp" || { cat "$work/qemu.err"; exit 1; }
coproc qmp { exec socat - "UNIX-CONNECT:$work/own"; }
say() {
	local line answer=''
	printf '{"execute": "%s"}\n' "$1" >&"${qmp[1]}"
	until [[ $answer = *'"return"'* ]]; do
		read -r -t 60 line <&"${qmp[0]}" || return 1
		answer=$line
	done
}
say qmp_capabilities && say cont || exit 1
"$BUILD/xvt-emit" "$work/g" --rings 2 --rate 1000 --count 100000000 --linger 3600 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record -q -o "$work/p.xvt" -r g="$work/g" --qmp g="$work/qmp" --clock-page "$work/pages" 2>"$work/err" &
recorder=$!
is() {
	grep -q "active=$1 .*confirmed=$2" <<<"$("$clock" "$work/pages/g.1" 2>&1)"
}
check "the machine is active" poll is 1 1
start=$("$clock" "$work/pages/g.1")
sleep 0.5 # active
say stop
check "paused, it is not" poll is 0 .
first=$("$clock" "$work/pages/g.1")
sleep 1.2 # paused
second=$("$clock" "$work/pages/g.1" 1000)
check "its active time stands" test "$(get active_ns "$first")" = "$(get active_ns "$second")"
check "and host time goes on" test $(($(get host_ns "$second") - $(get host_ns "$first"))) -ge 1200000000
say cont
check "it is active again, and a sample confirms the map" poll is 1 1
sleep 0.5 # active
last=$("$clock" "$work/pages/g.1" 1000)
printf '%s\n' "$start" "$first" "$second" "$last"
check "on a counter that did not stop: the map is still good" eval 'off=$(($(get guest_host_ns "$last") - $(get host_ns "$last"))); test ${off#-} -le $(get guest_bound_ns "$last")'
kill -INT $recorder
wait $recorder
check "the recorder ends cleanly" eval 'test $? -eq 0 && test ! -s "$work/err"'
cat "$work/err"
active=$(($(get active_ns "$last") - $(get active_ns "$start")))
host=$(($(get host_ns "$last") - $(get host_ns "$start")))
paused=$("$xvtrace" stat --json "$work/p.xvt" | jq .vms[0].paused_ns)
echo "active $active of $host ns, paused $paused ns"
check "active time is host time without the pause, to the nanosecond" test $((host - active)) -eq "$paused"
[ $failures -eq 0 ]
