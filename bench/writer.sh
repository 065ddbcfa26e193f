#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The writer's benchmark: first what needs help from outside (LTTng-UST, callgrind), where it is
# installed, then bench_writer, which prints all of it and stores it.
#
#   bench/writer.sh BUILD       needs BUILD/bench/writer
set -u
cd "$(dirname "$0")/.."
build=$1
dir=$build/bench
facts=$dir/facts
: >"$facts"

skip() { echo "skip - $1: $2"; }

# The session daemon keeps its files below $dir, and is ours alone.
lttng_run() {
	local session=xvtbench$$ home daemon rc=1
	home=$(realpath "$dir")/lttng-home
	export LTTNG_HOME=$home LTTNG_UST_REGISTER_TIMEOUT=-1
	rm -rf "$home" && mkdir -p "$home"
	lttng-sessiond --no-kernel --daemonize --pidfile="$home/pid" >"$home/log" 2>&1 || return 1
	lttng create $session --snapshot --output="$home/snap" >>"$home/log" 2>&1 &&
		lttng enable-channel -u -s $session --buffers-uid --overwrite --subbuf-size 128k \
			--num-subbuf 4 ch >>"$home/log" 2>&1 &&
		lttng enable-event -u -s $session -c ch 'xvtbench:*' >>"$home/log" 2>&1 &&
		lttng start $session >>"$home/log" 2>&1 &&
		"$dir/lttng" >>"$facts" 2>>"$home/log" && rc=0
	lttng destroy $session >>"$home/log" 2>&1
	daemon=$(cat "$home/pid" 2>/dev/null) && kill "$daemon" 2>/dev/null
	return $rc
}

# Debian's LTTng reads the clock through the vDSO.
if ! pkg-config --exists lttng-ust 2>/dev/null || ! command -v lttng-sessiond >/dev/null; then
	skip "LTTng-UST beside it" "liblttng-ust-dev or lttng-tools is not installed"
elif ! ${CC:-gcc} -std=gnu11 -O2 -Ishared -Ibench -o "$dir/lttng" bench/bench_lttng.c -llttng-ust -ldl; then
	skip "LTTng-UST beside it" "its example does not compile"
elif ! lttng_run; then
	skip "LTTng-UST beside it" "no session: see $dir/lttng-home/log"
fi

# Instructions that one event takes. The loops of two lengths, so that what surrounds them is out.
count() { # BACKEND CLOCK PAYLOAD MODE EVENTS
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="write$3" \
		"$dir/writer" --loop "$1" "$2" "$3" "$4" "$5" 2>&1 |
		sed -nE 's/.*Collected : ([0-9]+).*/\1/p'
}
if ! command -v valgrind >/dev/null; then
	skip "instructions an event" "valgrind is not installed"
else
	for back in cas xadd; do
		for payload in 8 16 64; do
			for mode in stop overwrite; do
				few=$(count $back tsc $payload $mode 1000)
				many=$(count $back tsc $payload $mode 5000)
				[ -n "$few" ] && [ -n "$many" ] &&
					echo "instructions_${back}_${payload}_$mode $(echo "scale=2; ($many - $few) / 4000" | bc)" >>"$facts"
			done
		done
	done
fi
exec "$dir/writer" --facts "$facts" --json "$dir/writer.json"
