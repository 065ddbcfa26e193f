#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# In each round one process of a recorder is killed, stopped for up to ten seconds, or gets no further memory, at a
# moment that the recording's progress chooses: the recorder, one of its helpers, or both. Memory is withheld by a limit
# of the process (RLIMIT_AS), so its allocations fail; a kernel that is out of memory would kill it, which is the first
# kind. Exit status and log say what happened, no process is left behind, and another recorder takes the same regions up.
# Of the numbered events none is in two files, and what is in none is a gap that the next file counts.
#
#   PROCESS_ROUNDS=20   rounds
#   PROCESS_SEED=1      of victims and moments
set -u
. "$(dirname "$0")/../cli/lib.sh"
rounds=${PROCESS_ROUNDS:-20}
RANDOM=${PROCESS_SEED:-1}
recorder=
cleanup_all() {
	[ -z "$recorder" ] || pkill -KILL -s "$recorder"
	cleanup
} 2>/dev/null
trap cleanup_all EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR"
"$xvtrace" region create "$XVTRACE_SHM_DIR/xvtrace-armed" --size 1M --rings 1 --overwrite || exit 1
"$xvtrace" region create "$work/a" --size 8M --rings 2 && "$xvtrace" region create "$work/b" --size 2M --rings 2 || exit 1
writers=()
"$BUILD/xvt-emit" "$work/a" --rings 2 --count 100000000000 --rate 6000 >/dev/null 2>&1 & writers+=($!)
"$BUILD/xvt-emit" "$work/b" --rings 2 --count 100000000000 --rate 2000 >/dev/null 2>&1 & writers+=($!)
pids+=("${writers[@]}")

attempted() { "$xvtrace" region show --json "$work/a" | jq '[.rings[].attempted] | add'; }
# lives PID: by one look. The shell may take one that has ended between two.
lives() { grep -q '^State:[[:space:]][^ZX]' "/proc/$1/status" 2>/dev/null; }
# until_more N: the guest has tried so many events more, or the recorder has ended
until_more() {
	local begin
	begin=$(attempted)
	while lives "$recorder" && [ $(($(attempted) - begin)) -lt "$1" ]; do sleep 0.01; done
}
# until_bytes N: the file has so many, or the recorder has ended
until_bytes() {
	while lives "$recorder" && [ "$(stat -c %s "$file" 2>/dev/null || echo -1)" -lt "$1" ]; do sleep 0.01; done
}

# start I [OPTION...]: a recorder with each kind of helper, in a session of its own
start() {
	file=$work/$1/00000001.xvt err=$work/$1.err
	# Its session has the number of its process.
	setsid "$xvtrace" record -q -o "$work/$1/" -r a="$work/a" -r b="$work/b" --rotate-size 1G --compress idle \
		--flight-recorder 'armed*' --snapshot-when 'event text txet == 1' "${@:2}" 2>"$err" &
	recorder=$!
}
none_left() { ! pgrep -s "$recorder" >/dev/null; }
one_line() { [ "$(grep -c "the recorder's process that .* was ended by signal 9 " "$err")" -eq 1 ]; }
cleanly() { "$xvtrace" stat -q --json "$file" | jq -e .cleanly_ended >/dev/null; }
wrong() {
	echo "# round $i, $victim ($name), $what, exit $status: $1"
	sed 's/^/#   /' "$err"
	bad=$((bad + 1))
}

# judge: what the round's recorder left behind
judge() {
	case $what in
	killed)
		if [ $victim = recorder ] || [ $victim = both ]; then
			[ $status -eq 137 ] || [ $victim = both ] || wrong "it was killed"
			[ $victim = both ] || [ ! -s "$file" ] || [ "$had_opener" = no ] ||
				poll grep -q 'the recorder died without ending its trace' "$err" || wrong "no word of its death"
		elif [ $victim = helper ]; then
			[ $status -eq 1 ] || wrong "a helper was killed: it has failed"
			if [ "$records" = yes ]; then
				one_line || wrong "no line, or several, about the helper"
				cleanly || wrong "its file has no end"
			else
				[ -s "$err" ] || wrong "it says nothing"
			fi
		fi
		;;
	stopped)
		[ $status -eq 0 ] || wrong "it goes on"
		cleanly || wrong "its file has no end"
		;;
	starved)
		[ $status -eq 0 ] || [ $status -eq 1 ] || wrong "it has ended in another way"
		[ $status -ne 1 ] || [ -s "$err" ] || wrong "it says nothing"
		[ $status -ne 0 ] || cleanly || wrong "its file has no end"
		;;
	esac
	poll none_left || {
		wrong "processes are left: $(pgrep -s "$recorder" -a | tr '\n' ';')"
		pkill -KILL -s "$recorder"
	}
	[ ! -s "$file" ] || "$xvtrace" verify -q "$file" >"$work/out" 2>&1 || wrong "verify: $(head -n 2 "$work/out")"
}

# round I: sets victim, what, records
round() {
	local helpers pid signal=KILL
	i=$1 what=killed records=no name=xvtrace had_opener=no status=
	start "$i"
	case $((RANDOM % 4)) in
	0) until_bytes 0 ;; # it has just begun
	1) until_more $((RANDOM / 8)) ;;
	*)
		until_bytes $((1 + RANDOM * 2))
		records=yes
		;;
	esac
	lives "$recorder" || { echo "# round $i: it has ended by itself" && sed 's/^/#   /' "$err" && bad=$((bad + 1)) && return; }
	# At the beginning these come one after another.
	mapfile -t helpers < <(pgrep -P "$recorder")
	! pgrep -x xvtrace-opener -P "$recorder" >/dev/null || had_opener=yes
	victim=recorder pid=$recorder
	if [ ${#helpers[@]} -gt 0 ] && [ $((RANDOM % 4)) -ne 0 ]; then
		victim=helper pid=${helpers[RANDOM % ${#helpers[@]}]}
		name=$(cat "/proc/$pid/comm" 2>/dev/null)
	fi
	# How long it is stopped is told by what the guest writes, which it does while it is recorded.
	[ $records = no ] || [ $((RANDOM % 3)) -ne 0 ] || { signal=STOP && what=stopped; }
	[ $records = no ] || [ $what = stopped ] || [ $((RANDOM % 4)) -ne 0 ] || what=starved
	[ $what != killed ] || [ $victim = recorder ] || [ $((RANDOM % 4)) -ne 0 ] || victim=both
	[ $what = starved ] || kill -$signal "$pid"
	if [ $what = stopped ]; then
		begin=$(attempted)
		if [ $((RANDOM % 4)) -eq 0 ]; then
			sleep 10 # what the round is about; no limit of the recorder's is as short
		else
			while [ $(($(attempted) - begin)) -lt $((RANDOM / 4)) ]; do sleep 0.01; done
		fi
		kill -CONT "$pid"
		until_bytes 100000
		kill -INT "$recorder" 2>/dev/null
	elif [ $what = starved ]; then
		# What it has, and a little for its stack, which would end it.
		prlimit --pid "$pid" --as="$(awk '/^VmSize:/ { print ($2 + 256) * 1024 }' "/proc/$pid/status")" 2>/dev/null
		until_more $((RANDOM * 2))
		kill -INT "$recorder" 2>/dev/null
	elif [ $victim = both ]; then
		[ $((RANDOM % 2)) -eq 0 ] || until_more $((RANDOM / 16))
		kill -KILL "$recorder" 2>/dev/null
	fi
	# One that should end has ended long before this, or it never does: beside many others it may take longer than its own
	# limits, which are of half a minute.
	for ((waited = 0; waited < 1200; waited++)); do
		lives "$recorder" || break
		sleep 0.1
	done
	! lives "$recorder" || {
		status=none && wrong "it goes on: $(ps -o pid=,stat=,wchan=,comm= -L -s "$recorder" | tr '\n' ';')"
		# Pending: a signal that it has not taken. The call: what it waits in.
		grep -H -E '^(State|SigPnd|ShdPnd|SigBlk):' "/proc/$recorder"/task/*/status | sed 's/^/#   /'
		tail -n +1 "/proc/$recorder"/task/*/{syscall,stack} 2>/dev/null | sed 's/^/#   /'
		pkill -KILL -s "$recorder"
	}
	wait "$recorder" 2>/dev/null
	status=$?
	judge
	# A recorder that is killed leaves the space that it reserved for its file, as much as --rotate-size.
	[ ! -s "$file" ] || truncate -s "$(stat -c %s "$file")" "$file"
	recorder=
	kinds[$victim $what]=$((${kinds[$victim $what]:-0} + 1))
	[ $victim != both ] || ending+="$file "
	[ ! -s "$file" ] || files+=("$file")
	fate[$file]="$victim $name $what, exit $status, records: $records"
}

declare -A kinds=() fate=()
files=() ending=" " bad=0
for ((n = 0; n < rounds; n++)); do
	# On a full disk the lines that are looked for cannot be written.
	if [ "$(df --output=avail -k "$work" | tail -n 1)" -lt 1048576 ]; then
		echo "not ok - a gigabyte is free before round $n"
		exit 1
	fi
	round $n
done
for k in "${!kinds[@]}"; do echo "$k: ${kinds[$k]}"; done | sort
check "$rounds rounds: status and log say what happened, files verify, no process is left" [ $bad -eq 0 ]
start last --duration 2
wait "$recorder"
check "the last one ends in order" [ $? -eq 0 ]
files+=("$file")
kill -9 "${writers[@]}"
wait "${writers[@]}" 2>/dev/null

"$BUILD/tests/tools/xvt-chain" "${files[@]}" >"$work/chain" || exit 1
tail -n 1 "$work/chain"
sum() { sed -n "s/^all .*\b$1=\([^ ]*\).*/\1/p" "$work/chain"; }
check "no event is in two files" [ "$(sum twice)" = 0 ]
check "no region says more than its file holds" [ "$(sum claimed)" = 0 ]
# Behind a recorder that ends in order recording is off: what the guest would write then has a number, and is no event. So gaps
# are judged between a file and those before it back to the last that was ended so. Where the recorder was killed as it ended for
# want of a helper, it may have switched recording off already.
each_gap() {
	local run=() f
	: >"$work/gaps"
	for f in "${files[@]}"; do
		run+=("$f")
		[ "$f" = "$file" ] || "$xvtrace" stat -q --json "$f" | jq -e .cleanly_ended >/dev/null || [[ $ending == *" $f "* ]] || continue
		"$BUILD/tests/tools/xvt-chain" "${run[@]}" | tail -n 1 >>"$work/gaps"
		tail -n 1 "$work/gaps" | grep -q ' wrong=0 ' || for f in "${run[@]}"; do echo "# ${f#"$work/"}: ${fate[$f]-}"; done
		run=()
	done
	echo "$(grep -c . "$work/gaps") runs of files, of which $(grep -vc ' wrong=0 ' "$work/gaps") have a gap that is counted wrongly"
	! grep -v ' wrong=0 ' "$work/gaps"
}
check "each gap is counted, to the event" each_gap
adds_up() {
	local guests left apart
	guests=$(for r in a b; do "$xvtrace" region show --json "$work/$r"; done |
		jq -s '[.[].rings[] | .attempted - .discarded - ([.lost_by[]] | add)] | add')
	left=$("$xvtrace" stat -q --json "$file" | jq .in_flight)
	apart=$((guests - $(sum events) - $(sum told) + $(sum in_files) - left))
	echo "guests wrote $guests, apart: $apart"
	[ $apart -ge 0 ] && [ $apart -le 4 ]
}
check "together that is what the guests wrote" adds_up
[ $failures -eq 0 ]
