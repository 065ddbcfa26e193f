#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# alone: judges times
# slow: not in make check
# shellcheck disable=SC2317
# Snapshots of flight recorders that real programs write, each region as a guest's: one moment for
# all, no guest is stopped or waited for too long, nothing of the host's is changed.
set -u
. "$(dirname "$0")/lib.sh"
pids=()
trap 'kill -KILL "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT

region() {
	"$xvtrace" region create "$work/$1" --overwrite "${@:2}" || exit 1
}

# start NAME COMMAND...: in the background; its pid in $pid, its output in $work/NAME.out
start() {
	"${@:2}" >"$work/$1.out" 2>&1 &
	pid=$!
	pids+=("$pid")
}

show() {
	"$xvtrace" region show --json "$work/$1" | jq "$2"
}

# wrote NAME N: each of the region's rings has tried so many events
wrote() {
	show "$1" "[.rings[].attempted >= $2] | all" | grep -q true
}

stat_says() {
	"$xvtrace" stat --json "$1" | jq -e "$2" >/dev/null
}

# number NAME SIZE AT: a word of the region
number() {
	od -An -t "u$2" -j "$3" -N "$2" "$work/$1" | tr -d ' '
}

attach_id() {
	number "$1" 8 $((4096 + 8))
}

# host_words NAME: what recorders leave in the region for each other: the name of the one that is there, and of each
# ring cons, enable and epoch, and what is accounted for
host_words() {
	local ctl stride rings i at
	ctl=$(number "$1" 8 56) stride=$(number "$1" 4 76) rings=$(number "$1" 4 80)
	attach_id "$1"
	for ((i = 0; i < rings; i++)); do
		at=$((ctl + i * stride + stride / 2))
		od -An -t u8 -j $at -N 24 "$work/$1"
		od -An -t u8 -j $((at + 192)) -N 64 "$work/$1"
	done
}

not() {
	! "$@"
}

adds_up() {
	stat_says "$1" '[., (.vms[].rings[])] | all(.attempted == .events + .lost + .discarded + .in_flight)'
}

# cut_of FILE: its moment, in ns
cut_of() {
	"$xvtrace" verify --notes "$1" | sed -n 's/.*what the rings held at \([0-9]*\)\.\([0-9]*\),.*/\1\2/p'
}

# newest FILE: the time of its last event, in ns; 0 if writers came round before any was copied. That
# a machine gave none is told at the end.
newest() {
	"$xvtrace" report --no-reclock "$1" | grep -v ' WAITS: ' | awk 'END { sub(/\./, "", $1); print NR ? $1 : 0 }'
}

# --- One sequence over two regions.
region a --size 4M --rings 1
region b --size 4M --rings 1
start relay "$BUILD/tests/tools/xvt-relay" "$work/a" "$work/b"
relay=$pid
poll wrote a 2000 || exit 1
for i in 1 2 3; do
	"$xvtrace" snapshot -q -o "$work/r$i.xvt" -r a="$work/a" -r b="$work/b"
	check "relay $i: snapshot" test $? -eq 0
	check "relay $i: verifies" "$xvtrace" verify "$work/r$i.xvt"
	check "relay $i: adds up" adds_up "$work/r$i.xvt"
	cut=$(cut_of "$work/r$i.xvt")
	check "relay $i: nothing is later than the cut" test "$(newest "$work/r$i.xvt")" -le "$cut"
	# What is further from the cut than both clocks may be wrong must have its cause with it.
	bound=$("$xvtrace" stat --json "$work/r$i.xvt" | jq '[.vms[].rings[].clock.bound_ns_max] | add')
	"$xvtrace" report --no-reclock "$work/r$i.xvt" | awk -v cut="$cut" -v bound="$bound" '
		/ LOST / { next } # the writer came round before its oldest events were copied
		{ ns = $1; sub(/\./, "", ns); vm = substr($2, 1, 1); n = $NF + 0
		  at[n] = ns + 0; if (!(vm in from) || n < from[vm]) from[vm] = n }
		END {
			first = from["a"] > from["b"] ? from["a"] : from["b"]
			for (n in at) {
				if (n + 0 <= first || at[n] > cut - bound) continue
				good++
				if (!((n - 1) in at)) { print "number " n " is there, " n - 1 " is not"; bad++ }
			}
			print good + 0 " numbers held against their causes, clocks within " bound " ns"
			exit bad || good < 1000
		}'
	check "relay $i: no effect without its cause" test $? -eq 0
done
check "relay: a later one holds later events" test "$(newest "$work/r3.xvt")" -gt "$(newest "$work/r1.xvt")"

# --- While a recorder is at work on a region, it alone is.
start recorder "$xvtrace" record -q --mode overwrite -o "$work/rec.xvt" -r a="$work/a"
recorder=$pid
poll show a '.rings[0].cons > 0' >/dev/null
taken() { [ "$(show a '.rings[0].cons')" -gt 0 ]; }
poll taken
"$xvtrace" snapshot -q -o "$work/x.xvt" -r a="$work/a" 2>"$work/err"
check "recorder: refused" test $? -eq 1
check "recorder: and said why" grep -q 'another xvtrace is at work' "$work/err"
kill -INT "$recorder"
wait "$recorder"
check "recorder: goes on undisturbed" test $? -eq 0
kill -TERM "$relay" 2>/dev/null # it ends when it is refused: the recorder switched it off
rm "$work/a" "$work/b"

# --- Full speed: three in a row.
region c --size 16M --rings 2
region d --size 1M --rings 1
start c "$BUILD/xvt-emit" "$work/c" --rings 2 --count 1000000000000
writer=$pid
start d "$BUILD/xvt-emit" "$work/d" --count 1000000000000
poll wrote c 2000000 || exit 1
poll wrote d 200000 || exit 1
before=$(host_words c; host_words d)
for i in 1 2 3; do
	attempted=$(show c '.rings[0].attempted')
	"$xvtrace" snapshot -q -o "$work/s$i.xvt" -r c="$work/c" -r d="$work/d"
	check "speed $i: snapshot" test $? -eq 0
	check "speed $i: verifies" "$xvtrace" verify "$work/s$i.xvt"
	check "speed $i: adds up" adds_up "$work/s$i.xvt"
	check "speed $i: nothing is later than the cut" test "$(newest "$work/s$i.xvt")" -le "$(cut_of "$work/s$i.xvt")"
	"$xvtrace" stat --json "$work/s$i.xvt" | jq -c '.vms[] | .name, [.rings[] | .events, .lost_by.overwritten]'
	poll wrote c $((attempted + 1000000))
	check "speed $i: the writers go on" test $? -eq 0
done
check "speed: the host's words are what they were" test "$before" = "$(host_words c; host_words d)"
check "speed: no recorder is said to be at work on it" test "$(attach_id c)" = 0

# The next reader accounts for all of the ring's life: no snapshot has taken anything from it.
kill -KILL "$writer"
wait "$writer" 2>/dev/null
"$xvtrace" salvage -q "$work/c" -o "$work/salvaged.xvt"
check "speed: salvage has all that was ever tried" stat_says "$work/salvaged.xvt" ".attempted == $(show c '[.rings[].attempted] | add')"
check "speed: and adds up" adds_up "$work/salvaged.xvt"

# --- A program that stands still, one that is dead, one that has ended: what they held is there.
region e --size 1M --rings 1
region f --size 1M --rings 1
start e "$BUILD/xvt-emit" "$work/e" --count 1000000000000 --rate 1000
e=$pid
start f "$BUILD/xvt-emit" "$work/f" --count 500
wait "$pid"
start g "$BUILD/xvt-emit" "$work/f" --count 0 --linger 600
poll wrote e 500 || exit 1
freeze "$e"
n=$(show e '.rings[0].attempted')
before=$(host_words e; host_words f; host_words d)
begin=$(date +%s%N)
"$xvtrace" snapshot -o "$work/p.xvt" --stall-timeout 1 -r e="$work/e" -r f="$work/f" -r d="$work/d" 2>"$work/err"
check "still: snapshot" test $? -eq 0
took=$((($(date +%s%N) - begin) / 1000000))
echo "took $took ms"
check "still: the host's words are what they were" test "$before" = "$(host_words e; host_words f; host_words d)"
check "still: bounded (two waits of a second each, and the copying)" test $took -lt 10000
check "still: said" grep -q "clock cannot be measured" "$work/err"
check "still: verifies" "$xvtrace" verify "$work/p.xvt"
check "still: adds up" adds_up "$work/p.xvt"
check "still: all that it held is there, unconfirmed" stat_says "$work/p.xvt" \
	".vms[] | select(.name == \"e\").rings[0] | .events + .in_flight == $n and .unconfirmed == .events"
check "ended: all that it held is there" stat_says "$work/p.xvt" '[.vms[] | select(.name == "f").rings[].events] | add == 500'
check "still: the others are there" stat_says "$work/p.xvt" '.vms[] | select(.name == "d").rings[0].attempted > 1000'
"$xvtrace" snapshot -q -o "$work/q.xvt" --stall-timeout 1 -r e="$work/e"
check "still: it alone: all that it held is there" stat_says "$work/q.xvt" "[.vms[].rings[].events] | add == $n"
check "still: it alone: verifies" "$xvtrace" verify "$work/q.xvt"
kill -CONT "$e"

# --- A recorder was killed: what it left is the next recorder's, whichever snapshots are taken meanwhile. A snapshot that was
# killed is no recorder.
region k --size 1M --rings 1
start k "$BUILD/xvt-emit" "$work/k" --count 1000000000000 --rate 5000
writer=$pid
start killed "$xvtrace" record -q --mode overwrite -o "$work/k0.xvt" -r k="$work/k"
accounted() { [ "$(number k 8 $(($(number k 8 56) + $(number k 4 76) / 2 + 192)))" -gt 0 ]; }
poll accounted
check "killed: the region says how far its file got" test $? -eq 0
kill -KILL "$pid"
wait "$pid" 2>/dev/null
before=$(host_words k)
check "killed: and which one it was" test "$(attach_id k)" != 0 -a "$(attach_id k)" != 1
"$xvtrace" snapshot -o "$work/k1.xvt" -r k="$work/k" 2>"$work/err"
check "killed: snapshot" test $? -eq 0
check "killed: verifies" "$xvtrace" verify --notes "$work/k1.xvt"
check "killed: adds up" adds_up "$work/k1.xvt"
check "killed: a snapshot does not come after a recorder" not grep 'did not end in order' "$work/err"
check "killed: and leaves what that left" test "$before" = "$(host_words k)"
"$xvtrace" record --mode overwrite --duration 1 -o "$work/k2.xvt" -r k="$work/k" 2>"$work/err"
check "killed: the next recorder knows of the first" grep -q 'did not end in order' "$work/err"
check "killed: its trace adds up" adds_up "$work/k2.xvt"
check "killed: and is the last word" test "$(attach_id k)" = 0

freeze "$writer"
start snapshot "$xvtrace" snapshot -q --stall-timeout 600 -o "$work/k3.xvt" -r k="$work/k"
looked() { [ "$(attach_id k)" = 1 ]; }
poll looked
check "killed snapshot: was there" test $? -eq 0
kill -KILL "$pid"
wait "$pid" 2>/dev/null
kill -CONT "$writer"
"$xvtrace" record --mode overwrite --duration 1 -o "$work/k4.xvt" -r k="$work/k" 2>"$work/err"
check "killed snapshot: the next recorder records" test $? -eq 0
check "killed snapshot: and misses nothing" not grep 'did not end in order' "$work/err"
check "killed snapshot: adds up" adds_up "$work/k4.xvt"

# --- --before: the last second of some.
region h --size 1M --rings 1
start h "$BUILD/xvt-emit" "$work/h" --count 1000000000000 --rate 5000
poll wrote h 12000 || exit 1
"$xvtrace" snapshot -q -o "$work/h1.xvt" -r h="$work/h"
"$xvtrace" snapshot -q --before 1 -o "$work/h2.xvt" -r h="$work/h"
check "before: snapshot" test $? -eq 0
check "before: verifies" "$xvtrace" verify "$work/h2.xvt"
check "before: adds up" adds_up "$work/h2.xvt"
# older FILE: the number of events from more than a second before its moment
older() { "$xvtrace" report -q --no-reclock "$1" | awk -v cut="$(cut_of "$1")" '{ sub(/\./, "", $1); n += $1 + 0 < cut - 1000000000 } END { print n + 0 }'; }
"$xvtrace" region show --json "$work/h" >"$work/h.json"
check "before: without it, all that the ring holds" test "$(older "$work/h1.xvt")" -gt 0
# An event takes 24 bytes.
check "before: from the sub-buffer on that has the begin" eval 'n=$(older "$work/h2.xvt"); [ "$n" -gt 0 ] && [ "$n" -le $(($(jq .subbuf_size "$work/h.json") / 24)) ]'
check "before: which is less" test "$(older "$work/h2.xvt")" -lt "$(older "$work/h1.xvt")"
"$xvtrace" snapshot -q --before 0 -o "$work/h3.xvt" -r h="$work/h"
check "before: nothing, but the sub-buffer of the moment" test $? -eq 0
check "before: it is the least" eval '[ "$(stat_says "$work/h3.xvt" "[.vms[].rings[].events] | add < $(jq .subbuf_size "$work/h.json") / 12"; echo $?)" = 0 ]'

# --- What was written before the clock was measured costs no more than the rest: an event takes 24 bytes.
region u --size 4M --rings 1
start u "$BUILD/xvt-emit" "$work/u" --count 100000 --linger 60
poll wrote u 100000 || exit 1
"$xvtrace" snapshot -q -o "$work/u.xvt" -r u="$work/u"
check "unconfirmed: snapshot" test $? -eq 0
check "unconfirmed: verifies" "$xvtrace" verify "$work/u.xvt"
check "unconfirmed: all of it is" stat_says "$work/u.xvt" '.vms[0].rings[0] | .events > 40000 and .unconfirmed == .events'
each=$(($(stat -c %s "$work/u.xvt") / $(stat_sum "$work/u.xvt" events)))
check "unconfirmed: $each bytes for an event" test $each -le 28
order() { "$xvtrace" report -q --no-task "$work/u.xvt" | awk 'NR > 1 && $NF != last + 1 { exit 1 } { last = $NF }'; }
check "unconfirmed: they are in order" order

# --- What is no flight recorder is an error; so is wrong usage.
"$xvtrace" region create "$work/off" --size 1M --rings 1 || exit 1
"$xvtrace" snapshot -q -o "$work/off.xvt" -r off="$work/off" --stall-timeout 1 2>"$work/err"
check "off: is an error" test $? -eq 1
check "off: and says what to do" grep -q 'none of its rings records in overwrite mode' "$work/err"
for args in "-r a=$work/d" "-o $work/x.xvt" "-o $work/x.xvt -r nonsense" "-o $work/x.xvt -r a=$work/d more"; do
	# shellcheck disable=SC2086
	"$xvtrace" snapshot $args 2>"$work/err"
	check "usage: $args" test $? -eq 2
done
[ $failures -eq 0 ]
