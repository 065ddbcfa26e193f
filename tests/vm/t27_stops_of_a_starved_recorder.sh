#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest is stopped two or three times while its recorder has no CPU, and once in the first second
# of a recording, when its clock's rate is not known yet. A second witness (xvt-watch), which has
# CPU, says between which times each event was written: the event's time must be right within its
# bound, or it has a flag; told of the stops by QMP and not told; as recorded and re-clocked.
#
#   STOPS_ROUNDS=3     how many pairs of stops a recording has; make proof-stops: 12
#   STOPS_MOMENTS=9    at how many moments of the first 1.2 s a recording is met; there: 50
#   STOPS_CASES='two-*' those recordings only
#   STOPS_KEEP=1       traces stay in build/tests/run/t27.../
set -u
. "$(dirname "$0")/lib.sh"
rounds=${STOPS_ROUNDS:-3}
even_rounds=$((rounds < 10 ? 10 : rounds))
moments=${STOPS_MOMENTS:-9}
tools=$(realpath "$BUILD/tests/tools")
before=()
busy=

# played NAME: is it one of those that were asked for?
played() {
	# shellcheck disable=SC2053 # a pattern
	[[ $1 == ${STOPS_CASES:-*} ]]
}

attempted() {
	"$xvtrace" region show --json "$(vm_region g)" | jq '[.rings[] | select(.state == "online") | .attempted] | min // 0'
}

# start NAME told|untold: a recorder, in the background
start() {
	local qmp=() die=(setpriv --pdeathsig KILL --)
	trace=$work/$1.xvt
	[ "$2" = untold ] || qmp=(--qmp g="$(vm_qmp_path g)")
	"${die[@]}" ${before[@]+"${before[@]}"} "${die[@]}" "$xvtrace" record -q -o "$trace" -r g="$(vm_region g)" \
		"${qmp[@]}" 2>"$trace.err" &
	recorder=$!
}

# flows: the recorder takes part: its rings are on
flows() {
	local at=$1
	[ "$(attempted)" -gt "$at" ]
}

# watch MS GAP:LENGTH...: stop it so, and see
watch() {
	(cd "$work/g" && exec "$tools/xvt-watch" "$(vm_region g)" stops.sock "$@") >"${trace%.xvt}.watch"
}

stop_recorder() {
	kill -INT $recorder
	wait $recorder
}

# many_come: to judge by. A recorder at SCHED_IDLE loses what the CPU that it gets is too little for.
many_come() {
	local both
	both=$(figure "$judged" both)
	[ "$both" -ge 1000 ] || [ $((both * 2)) -gt "$(figure "$judged" events)" ]
}

# judge NAME STOPS: the trace, as recorded and re-clocked; sets $judged
judge() {
	local name=$1 how
	for how in '' reclock; do
		judged=$work/$name.judged$how
		# shellcheck disable=SC2086 # no word if there is none
		"$tools/xvt-watch-judge" "$work/$name.watch" "$trace" g $how >"$judged"
		sed "s/^/$name${how:+, re-clocked}: /" "$judged"
		check "$name${how:+, re-clocked}: no event's bound says that it was written when it was not" \
			zero "$judged" outside inside false
		check "$name${how:+, re-clocked}: nothing is without a bound but beside the stops" zero "$judged" beyond
	done
	judged=$work/$name.judged
	check "$name: no epoch but by the stops" test "$(figure "$judged" epochs)" -le $(($2 + 1))
	check "$name: the witness saw $2 stops" test "$(figure "$judged" stops)" = "$2"
	check "$name: most events come, or many" many_come
}

# ------------------------------------------------------------------ a starved recorder

# plan REST SPREAD LENGTH GAP:LENGTH...: the rounds, each after REST ms and up to SPREAD more
plan() {
	local i
	for ((i = 0; i < rounds; i++)); do
		echo "$(($1 + i * 67 % $2)):$3" "${@:4}"
	done
}

# starved NAME told|untold STOPS REST SPREAD LENGTH GAP:LENGTH...: STOPS a round
starved() {
	local at name=$1 stops=$(($3 * rounds))
	played "$name" || return 0
	at=$(attempted)
	start "$name" "$2"
	need "$name: the recorder records" vm_poll 60 flows "$at"
	[ -z "$busy" ] || { setpriv --pdeathsig KILL -- taskset -c "$cpu" sh -c 'while :; do :; done' & }
	busy=${busy:+$!}
	# shellcheck disable=SC2046 # words
	need "$name: stopped" watch 400 $(plan "${@:4}")
	[ -z "$busy" ] || { kill "$busy"; wait "$busy"; } 2>/dev/null
	stop_recorder
	check "$name: the recorder ends cleanly" test $? -eq 0
	judge "$name" $stops
	check "$name: verify passes" "$xvtrace" verify -q "$trace"
}

all_starved() {
	local way told
	for told in untold told; do
		for way in turns idle; do
			case $way in
			# 4 ms of each 150 ms, on any machine
			turns) before=("$BUILD/tests/clocks/starve" 4 150 800 60000) busy='' ;;
			# what the kernel leaves it beside a busy loop on its only CPU
			idle)
				before=(chrt -i 0 taskset -c "$cpu") busy=yes
				chrt -i 0 true || { echo "skip - idle-$told: a recorder beside a busy loop: chrt -i is refused" && continue; }
				;;
			esac
			starved "two-$way-$told" $told 2 350 150 60 25:120
			starved "three-$way-$told" $told 3 350 150 60 15:60 15:60
		done
		# In step with the recorder: each time between two of its turns has as much of a stop.
		before=("$BUILD/tests/clocks/starve" 12 600 800 60000) busy=''
		rounds=$even_rounds starved "even-$told" $told 2 395 1 60 25:120
	done
	before=() busy=''
}

# ------------------------------------------------------------------ the first second

# rates_hold: the rate of each ring, as the trace has it, is the witness's within 1/64
rates_hold() {
	"$tools/xvt-raw" "$trace" | awk -v hz="$(figure "$judged" rate_hz)" '
		$1 == "rate" && $2 == "g" { n++; if (($5 - hz) ^ 2 * 64 ^ 2 > hz ^ 2) { print "ring " $3 ": " $5 " Hz, not " hz; bad = 1 } }
		END { exit bad || !n }'
}

# early NAME told|untold MOMENT_MS LENGTH_MS
early() {
	local name=$1
	played "$name" || return 0
	start "$name" "$2"
	need "$name: stopped" watch 700 "$3:$4"
	stop_recorder
	check "$name: the recorder ends cleanly" test $? -eq 0
	judge "$name" 1
	check "$name: the rate is right" rates_hold
}

all_early() {
	local i told at
	for ((i = 0; i < moments; i++)); do
		# Two thirds of them where the first two measurements are.
		if [ $((i % 3)) -ne 2 ]; then
			at=$((80 + i * 180 / moments))
		else
			at=$((i * 1200 / moments))
		fi
		for told in untold told; do
			early "$i-at-$at-ms-$told" $told $at $((300 + i * 37 % 201))
			[ -n "${STOPS_KEEP:-}" ] || [ $((i + 1)) -eq $moments ] || rm -f "$trace"
		done
	done
}

# ------------------------------------------------------------------ all of it

overlay dense.sh >/dev/null
vm_start g --vcpus 2 --region-size 16M --mod probes=none --overlay "$work/overlay-dense.sh" \
	--qemu-arg -qmp --qemu-arg unix:stops.sock,server=on,wait=off || exit 1
need "the guest runs" vm_wait_log g "^XVT-SAY flowing" 600
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
all_starved
all_early

# A witness that never says no is none.
played moved || finish
need "the machine's times are moved by 5 ms" "$tools/xvt-shift" g 5000000 "$trace" "$work/moved.xvt"
"$tools/xvt-watch-judge" "${trace%.xvt}.watch" "$work/moved.xvt" g >"$work/moved.judged"
check "... and the witness says so" test "$(figure "$work/moved.judged" outside)" -gt 0
finish
