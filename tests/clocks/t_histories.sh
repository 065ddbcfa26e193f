#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# shellcheck disable=SC2317
# Recordings of simulated guests with crooked clocks (README.md): the time of every event is right
# within its bound, or the event has a flag; as recorded and re-clocked. A history is a ring of a
# recording.
#
#   XVT_HISTORIES=10000    how many, at least
#   XVT_SEED=n             of the first recording, the next ones count on; else by the time of day
#   XVT_MODES="set kill"   of the recorder, in turn; one of them and a seed repeat a recording
#   XVT_KINDS=freeze,jump  kinds of clocks; else all
#   XVT_REFERENCE=1        a bound that claims more than was seen fails, too
#   XVT_KEEP=DIR           logs, traces and what judges printed stay in that new folder
set -u
. "$(dirname "$0")/../cli/lib.sh"
clocks=$BUILD/tests/clocks
histories=${XVT_HISTORIES:-10000}
seed=${XVT_SEED:-$(date +%s)}
read -ra modes <<<"${XVT_MODES:-plain starved now later set kill snapshot salvage few}"
declare -A rings=([plain]=1300 [starved]=500 [now]=1300 [later]=1300 [set]=1300 [kill]=1000
	[snapshot]=1000 [salvage]=500 [few]=120)
seconds=4.5
regions=$(mktemp -d /dev/shm/xvt-histories.XXXXXX)
if [ -n "${XVT_KEEP:-}" ]; then
	rmdir "$work"
	work=$XVT_KEEP
	mkdir "$work" || exit 1
fi
guests='' recorder='' judges=() before=() number=0 planned=0 broken=0

end_all() {
	[ -z "$recorder" ] || kill -9 -- "-$recorder"
	[ -z "$guests" ] || kill -9 "$guests"
	[ ${#judges[@]} -eq 0 ] || kill "${judges[@]}"
	wait
	rm -rf "$regions"
	[ -n "${XVT_KEEP:-}" ] || rm -rf "$work"
} 2>/dev/null
trap end_all EXIT

# start_guests OPTION...: in the background, until they are ready; their regions are in $machines
start_guests() {
	local r
	: >"$at.guests"
	"$clocks/guests" "$regions" "$seed" "${rings[$mode]}" $seconds \
		${XVT_KINDS:+--kinds "$XVT_KINDS"} "$@" >"$at.guests" 2>&1 &
	guests=$!
	poll grep -q '^ready$' "$at.guests" || return 1
	machines=()
	for r in "$regions"/m*; do machines+=(-r "${r##*/}=$r"); done
}

kill_guests() {
	kill -9 $guests
	wait $guests
	guests=
} 2>/dev/null

end_guests() {
	[ -z "$guests" ] || kill_guests
	rm -f "$regions"/*
}

# start COMMAND...: xvtrace, in a process group of its own
start() {
	setsid "${before[@]}" "$xvtrace" "$@" 2>>"$at.err" &
	recorder=$!
}

# record FILE OPTION...: all machines, in the background
record() {
	start record -q -o "$1" "${machines[@]}" "${@:2}"
}

# ended: as it should
ended() {
	wait $recorder
	local rc=$?
	recorder=
	[ $rc -eq 0 ] || { echo "xvtrace exited with $rc:" && head -n 3 "$at.err"; }
	return $rc
}

# kill_recorder: and all of its processes
kill_recorder() {
	kill -9 -- "-$recorder"
	wait $recorder
	recorder=
} 2>/dev/null

# judge LABEL TRACE...
judge() {
	nice "$clocks/judge" "$1" "$at.guests" "${@:2}" >"$at.$1.judged" 2>&1 ||
		{ cat "$at.$1.judged" && return 1; }
}

# judge_later LABEL TRACE...: in the background; of a set each file alone, too. A judge that fails
# leaves a file: in a long run the numbers of processes are used again, and the shell forgets theirs.
judge_later() {
	{
		judge "$@" && { [ ! -d "$2" ] || judge "alone-$1" "$2"/*.xvt; } &&
			{ [ -n "${XVT_KEEP:-}" ] || rm -rf "${@:2}"; } || touch "$at.failed"
	} &
	judges+=($!)
}

record_whole() {
	record "$at.xvt" --duration $seconds "$@"
	ended && judge_later "$mode" "$at.xvt"
}

mode_plain() { start_guests && record_whole; }
mode_few() { start_guests && record_whole; }
mode_now() { start_guests && record_whole --order now; }
mode_later() { start_guests && record_whole --order later; }

# It runs for 4 of each 150 ms, from 0.8 s on.
mode_starved() {
	local before=("$clocks/starve" 4 150 800 4000)
	start_guests && record_whole
}

mode_set() {
	mkdir -p "$at.set"
	start_guests && record "$at.set/" --duration $seconds --rotate-time 1 && ended &&
		judge_later set "$at.set"
}

mode_kill() {
	start_guests && record "$at.1.xvt" || return
	sleep 2
	kill_recorder
	sleep 0.$((seed % 7))
	record "$at.2.xvt" --duration 2.5 && ended && judge_later kill "$at.1.xvt" "$at.2.xvt"
}

mode_snapshot() {
	start_guests --overwrite || return
	sleep 3.5
	start snapshot -q -o "$at.xvt" "${machines[@]}"
	ended && judge_later snapshot "$at.xvt"
}

# Machines and recorder are gone.
mode_salvage() {
	local r traces=()
	start_guests --each 16 && record "$at.xvt" || return
	sleep 2.5
	kill_recorder
	sleep 0.7
	kill_guests
	for r in "$regions"/m*; do
		traces+=("$at.${r##*/}.xvt")
		"$xvtrace" salvage -q -o "$at.${r##*/}.xvt" "$r" 2>>"$at.err" || return
	done
	judge_later salvage "${traces[@]}"
}

# one_recording MODE
one_recording() {
	mode=$1 at=$work/$number-$1
	echo "recording $number: XVT_MODES=$mode XVT_SEED=$seed"
	"mode_$mode" || broken=$((broken + 1))
	end_guests
	planned=$((planned + rings[$mode]))
	number=$((number + 1)) seed=$((seed + 1))
}

wait_for_judges() {
	local failed
	wait
	judges=()
	for failed in "$work"/*.failed; do [ ! -e "$failed" ] || broken=$((broken + 1)); done
}

# sum CLASS NAME
sum() {
	awk -v class="$1" -v name="$2" '$1 == "sum" && $2 == class && $3 == name { n = $4 }
		END { print n + 0 }' "$work/table"
}

# none NAME CLASS...: no such event, as recorded and re-clocked; else the first ones
none() {
	local class bad=0
	for class in "${@:2}"; do
		[ "$(sum "$class" "$1")" = 0 ] && [ "$(sum "$class" "re-$1")" = 0 ] && continue
		bad=1
		grep -hE "^wrong [^ ]+ [^ ]+ $class (re-)?$1 " "$work"/*.judged | head -n 30
	done
	[ $bad -eq 0 ]
}

# few NAME CLASS: at most one event of 10,000, as recorded and re-clocked; they are shown
few() {
	local n=$(($(sum "$2" "$1") + $(sum "$2" "re-$1")))
	grep -hE "^wrong [^ ]+ [^ ]+ $2 (re-)?$1 " "$work"/*.judged | head -n 10
	[ $((n * 10000)) -le $(($(sum "$2" events) + $(sum "$2" re-events))) ]
}

# A ring without an event is no history.
enough() { [ $broken -eq 0 ] && [ $(($(sum all histories) * 10)) -ge $((histories * 9)) ]; }

while [ $planned -lt "$histories" ] && [ $broken -lt 5 ]; do
	one_recording "${modes[number % ${#modes[@]}]}"
done
wait_for_judges
cat "$work"/*.judged | awk -f tests/clocks/table.awk >"$work/table"
grep -v '^sum' "$work/table"
check "$(sum all histories) histories in $number recordings, and no program failed" enough
check "no event without a flag is outside its bound" none outside promised
check "few clocks leave their class between two measurements far apart" few astray promised
check "no bound of an unconfirmed event is false" none false promised
check "each ring's events are in their order" none disorder promised excluded
check "every event has the clock value that was written" none badvalue promised excluded
if [ -n "${XVT_REFERENCE:-}" ]; then
	check "no bound claims more than was seen" none narrow promised
fi
[ $failures -eq 0 ]
