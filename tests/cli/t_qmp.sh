#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# alone: judges times
# slow: not in make check
# shellcheck disable=SC2317
# A recording learns from a real QEMU when its machine stands still. The machine has no guest: what
# is asked is what QEMU says and what the recorder makes of it; a program writes into the region.
set -u
. "$(dirname "$0")/lib.sh"
. tests/formats.sh
if ! command -v qemu-system-x86_64 >/dev/null || ! command -v socat >/dev/null; then
	echo "skip - pauses by QMP: qemu-system-x86_64 or socat not found"
	exit 77
fi
trap cleanup EXIT

# told FILE WORDS: the recorder has put such a note into its trace
told() {
	grep -qsaE -- "$2" "$1"
}

# say COMMAND [ARGUMENTS]: on the test's own connection, where QEMU tells the same as to the recorder
say() {
	local line answer=''
	printf '{"execute": "%s", "arguments": %s}\n' "$1" "${2:-{\}}" >&"${qmp[1]}"
	until [[ $answer = *'"return"'* ]]; do
		read -r -t 60 line <&"${qmp[0]}" || return 1
		echo "$line" >>"$work/qemu-said"
		answer=$line
	done
}

# stamps EVENT: QEMU's stamps of it, in microseconds, one a line
stamps() {
	jq -r "select(.event == \"$1\") | .timestamp | .seconds * 1000000 + .microseconds" "$work/qemu-said"
}

qemu-system-x86_64 -machine none -S -display none -qmp "unix:$work/own,server=on,wait=off" \
	-qmp "unix:$work/qmp,server=on,wait=off" >"$work/qemu.err" 2>&1 &
qemu=$!
pids+=($qemu)
disown $qemu
poll listens "$work/qmp" || { cat "$work/qemu.err"; exit 1; }
coproc qmp { exec socat - "UNIX-CONNECT:$work/own"; }
say qmp_capabilities && say cont || exit 1

for g in g1 g2; do
	"$xvtrace" region create "$work/$g" --size 256K --rings 2 || exit 1
done
"$BUILD/xvt-emit" "$work/g1" --rings 2 --rate 1000 --count 100000000 --linger 3600 >/dev/null 2>&1 &
pids+=($!)

# --- Two pauses, from beginning to end within the recording.
"$xvtrace" record -q -o "$work/t.xvt" -r g1="$work/g1" --qmp g1="$work/qmp" --control "$work/control" 2>"$work/err" &
recorder=$!
check "the state at the start is told" poll told "$work/t.xvt" '^runs, at|[^a-z]runs, at'
# An export shows of a pause what lies behind the first event.
has_events() { "$xvtrace" status --json --control "$work/control" 2>/dev/null | jq -e '.recorders[0].events > 0' >/dev/null; }
check "events are recorded" poll has_events
# The socket is in use now, and QEMU says nothing to the next one.
"$xvtrace" record -q -o "$work/busy.xvt" -r g2="$work/g2" --join-timeout 0 --duration 50 --qmp g2="$work/qmp" 2>"$work/busy.err" &
busy=$!
: >"$work/qemu-said"
for length in 1.3 0.7; do
	say stop
	sleep $length # the pause
	say cont
done
say system_reset
poll told "$work/busy.xvt" 'one QMP client at a time'
kill -INT $busy
wait $busy
check "a socket in use: exit 1" test $? -eq 1
check "with one error line that says so" eval 'test "$(grep -vc ": no event of it came: " "$work/busy.err")" -eq 1 && grep -q "^xvtrace: g2: .*one QMP client at a time" "$work/busy.err"'
cat "$work/busy.err"
check "and the recording went on" "$xvtrace" verify "$work/busy.xvt" >/dev/null
check "both pauses and the reset are notes" eval 'poll told "$work/t.xvt" "was reset, at" && test "$(grep -aoE "runs again after [0-9.]+ s" "$work/t.xvt" | wc -l)" -eq 2'
kill -INT $recorder
wait $recorder
check "the recorder ends cleanly, without a word" eval 'test $? -eq 0 && test ! -s "$work/err"'
cat "$work/err"
want=$(($(stamps RESUME | paste -sd+ | bc) - $(stamps STOP | paste -sd+ | bc)))
got=$("$xvtrace" stat --json "$work/t.xvt" | jq '.vms[0].paused_ns / 1000 | floor')
echo "paused by QEMU's stamps $want us, by the trace $got us"
check "QEMU says that it paused for two seconds and more" test "$want" -ge 2000000
check "paused_ns is within 1 % of it" test $(((got - want) * (got - want) * 10000)) -le $((want * want))
# Each pause is a slice of the Perfetto export, as long as QEMU's stamps have it, to a millisecond.
slices() {
	"$xvtrace" export -q --format perfetto "$work/t.xvt" "$work/pf" || return 1
	perfetto_decode <"$work/pf" >"$work/pf.txt" || return 1
	perfetto_events "$work/pf.txt" "$work/beside" >/dev/null
	awk '$1 ~ /^TYPE_SLICE/ && $3 == "g1" && $4 == "paused" { if ($1 == "TYPE_SLICE_BEGIN") begin = $2; else printf "%d\n", ($2 - begin) / 1000 }' "$work/beside" >"$work/slices"
	paste <(stamps STOP) <(stamps RESUME) "$work/slices" |
		awk '{ n++; off = $2 - $1 - $3 } NF != 3 || off > 1000 || off < -1000 { bad = 1 } END { exit bad || n != 2 }' && return
	cat "$work/slices"
	return 1
}
if command -v protoc >/dev/null; then
	check "the pauses are slices of the Perfetto export" slices
else
	echo "skip - pauses in the Perfetto export: protoc is not installed"
fi
# And lines of the report, as long as QEMU's stamps have them, to a millisecond.
states() { "$xvtrace" report -q -e paused -e runs "$@"; }
lines() {
	states "$work/t.xvt" >"$work/lines"
	paste <(stamps STOP) <(stamps RESUME) <(sed -nE 's/^[0-9.]+ +g1 +RUNS after ([0-9.]+) s$/\1/p' "$work/lines") \
		<(grep -E '^[0-9.]+ +g1 +PAUSED$' "$work/lines") |
		awk '{ n++; off = $2 - $1 - $3 * 1000000 } NF != 6 || off > 1000 || off < -1000 { bad = 1 } END { exit bad || n != 2 }' &&
		[ "$(wc -l <"$work/lines")" -eq 4 ] && return
	cat "$work/lines"
	return 1
}
check "and lines of the report" lines
runs=$(states "$work/t.xvt" | sed -nE 's/^([0-9.]+) +g1 +RUNS.*/\1/p' | head -n 1)
# after: the line of the machine that runs again, and the first event behind it. Beside load the next pause may come first.
after() {
	"$xvtrace" report -q --from "$runs" -n 1 "$work/t.xvt" >"$work/after"
	head -n 1 "$work/after" | grep -q "^$runs .*RUNS" && tail -n 1 "$work/after" | grep -qE '^[0-9.]+ +g1:[01] ' &&
		! sed '1d;$d' "$work/after" | grep -vqE '^[0-9.]+ +g1 +(PAUSED|RUNS)' && return
	sed 's/^/# /' "$work/after"
	return 1
}
check "the first event behind a pause is found by its time" after
check "what was reset is one, too" eval '"$xvtrace" report -q -e reset "$work/t.xvt" | grep -qE "^[0-9.]+ +g1 +RESET$"'
check "no pause is in another range" eval '! states --to "$(head -n 1 "$work/lines" | cut -d. -f1)" "$work/t.xvt" | grep -q RUNS'
json() { "$xvtrace" export -q --format jsonl -e 'xvt:runs' "$work/t.xvt" - | jq -se 'length == 2 and all(.vm == "g1" and .cpu == null and .system == "xvt" and .fields.paused_ns >= 700000000 and .fields.why == "")' >/dev/null; }
check "jsonl has them" json
check "notes have machine and time, that of the line" eval '"$xvtrace" verify --notes "$work/t.xvt" | grep -q "^note: info: $runs g1: runs again after"'
check "stat counts them" eval '"$xvtrace" stat "$work/t.xvt" | grep -qE "^g1: paused [0-9]+\.[0-9]{3} s \(2\)\$" && [ "$("$xvtrace" stat --json "$work/t.xvt" | jq ".vms[0].pauses")" -eq 2 ]'
check "the trace is good" "$xvtrace" verify "$work/t.xvt" >/dev/null

# --- A pause that is longer than the recording, on both ends.
say stop
begin=$(date +%s%N)
"$xvtrace" record -q -o "$work/p.xvt" -r g1="$work/g1" --qmp g1="$work/qmp" --control "$work/control" 2>"$work/err" -- \
	sh -c 'tests/recorded.sh "$1" g1 && sleep 2' - "$work/control" # the pause
check "a paused machine is recorded" test $? -eq 0
took=$(($(date +%s%N) - begin))
got=$("$xvtrace" stat --json "$work/p.xvt" | jq .vms[0].paused_ns)
echo "paused $got ns of at most $took ns"
check "and was paused for all of the recording" test "$got" -ge 2000000000 -a "$got" -le "$took"
check "as is told at once" told "$work/p.xvt" "stopped: paused, at"

# --- A machine that is moved away, and a QEMU that is killed: warnings; the region is drained as before.
"$xvtrace" record -o "$work/k.xvt" -r g1="$work/g1" --qmp g1="$work/qmp" --control "$work/control" 2>"$work/err" &
recorder=$!
check "a paused machine goes on" eval 'poll told "$work/k.xvt" "stopped: paused, at" && say cont && poll told "$work/k.xvt" "runs again after"'
check "... its events are recorded" tests/recorded.sh "$work/control" g1
check "and is moved away" eval 'say migrate "{\"uri\": \"exec:cat >/dev/null\"}" && poll grep -q "^xvtrace: .*moved to another VMM" "$work/err"'
kill -KILL $qemu
check "a QEMU that is killed is noticed" poll grep -q "^xvtrace: .*without a shutdown" "$work/err"
kill -INT $recorder
wait $recorder
check "and the recording is complete" test $? -eq 0
# Behind it are its last event and the time of that one.
ended() {
	local line last
	line=$("$xvtrace" report -q -e ended "$work/k.xvt" | sed -nE 's/^[0-9.]+ +g1 +ENDED: .*without a shutdown.*; last event at ([0-9.]+)$/\1/p')
	last=$("$xvtrace" report -q --from "$line" -n 1 "$work/k.xvt" | head -n 1)
	[ -n "$line" ] && [[ $last = "$line "*g1:* ]]
}
check "that it was killed is a line with the machine's last event" ended
check "and in stat" eval '"$xvtrace" stat "$work/k.xvt" | grep -qE "^g1: paused [0-9.]+ s \([12]\), ended at [0-9.]+\$"'
check "its pause ended with it" eval '"$xvtrace" verify "$work/k.xvt" >/dev/null && test "$("$xvtrace" stat --json "$work/k.xvt" | jq .vms[0].paused_ns)" -gt 0'

# --- The same between two QEMUs, the second of which is started later: a pause lasts from the stop in
# the one to the start in the other, and pauses there are known as well.
start_qemu() {
	qemu-system-x86_64 -machine none -S -display none -qmp "unix:$work/$1.own,server=on,wait=off" \
		-qmp "unix:$work/$1.qmp,server=on,wait=off" "${@:2}" >"$work/$1.err" 2>&1 &
	qemu=$!
	pids+=($qemu)
	disown $qemu
	poll listens "$work/$1.qmp" || { cat "$work/$1.err"; exit 1; }
	# The last one's connection goes with its QEMU.
	poll eval '[ -z "${qmp_PID:-}" ]'
	coproc qmp { exec socat - "UNIX-CONNECT:$work/$1.own"; }
	say qmp_capabilities
}
# times N FILE WORDS: it has put so many of them
times() {
	[ "$(grep -aoE "$3" "$2" | wc -l)" -eq "$1" ]
}
start_qemu from
from=$qemu
say cont
"$xvtrace" record -o "$work/m.xvt" -r g1="$work/g1" --qmp g1="$work/from.qmp" --qmp g1="$work/to.qmp" --control "$work/control" 2>"$work/err" &
recorder=$!
check "of two QEMUs one is there: that it runs is told" poll told "$work/m.xvt" '^runs, at|[^a-z]runs, at'
say migrate "{\"uri\": \"exec:cat >$work/state\"}"
check "it stands still" poll told "$work/m.xvt" 'stopped, at'
check "no other VMM is there yet: it has moved" poll grep -q "^xvtrace: .*moved to another VMM" "$work/err"
kill -KILL "$from"
start_qemu to -incoming "exec:cat $work/state"
say cont
# It is met after its state has come, or before: then it was paused until now.
there() {
	times 2 "$work/m.xvt" "runs, at" || times 1 "$work/m.xvt" "runs again after"
}
check "the one that it moved to is found" poll there
again=$(grep -aoE "runs again after" "$work/m.xvt" | wc -l)
say stop
check "and what it says counts" poll times 2 "$work/m.xvt" "stopped, at"
say cont
check "likewise that it goes on" poll times $((again + 1)) "$work/m.xvt" "runs again after"
check "its events are recorded" tests/recorded.sh "$work/control" g1
kill -INT $recorder
wait $recorder
check "the recording is complete" test $? -eq 0
kill -KILL "$qemu"

# --- Wrong usage and sockets that are none.
refuses() {
	local text=$1 rc=$2 words=$3
	shift 3
	"$xvtrace" record -q -o "$work/x.xvt" --duration 1 -r g1="$work/g1" "$@" 2>"$work/err"
	check "$text" eval "test $? -eq $rc"' && test "$(grep -c "" "$work/err")" -eq 1 && grep -q "$words" "$work/err"'
}
refuses "a name that no -r has" 2 "none has that name" --qmp "g2=$work/qmp"
refuses "no name at all" 2 "NAME=SOCKET" --qmp "$work/qmp"
refuses "the same socket twice" 2 "given twice" --qmp "g1=$work/qmp" --qmp "g1=$work/qmp"
refuses "two sockets, and none listens" 1 "refused" --qmp "g1=$work/qmp" --qmp "g1=$work/none"
refuses "a socket that does not listen" 1 "refused" --qmp "g1=$work/qmp"
refuses "no socket" 1 "No such file or directory; start QEMU with -qmp unix:$work/none,server=on,wait=off" --qmp "g1=$work/none"
[ $failures -eq 0 ]
