#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A writer and a reader at the same time, on a CPU each. Every event has a number: none is
# missing that was not counted, none comes twice, none is torn, the order holds; also when the
# writer is killed in between and begins again.
#
#   STRESS_EVENTS=300000   task events of a run of two processes (others nest in them)
#   STRESS_KILLS=20        in the runs with kills
#   STRESS_THREADS=100000  task events of a run of two threads under ThreadSanitizer
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
events=${STRESS_EVENTS:-300000}
kills=${STRESS_KILLS:-20}
threads=${STRESS_THREADS:-100000}
stress=$BUILD/tests/stress
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# show TEXT COMMAND...
show() {
	local text=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		echo "ok - $text: $(tail -1 "$work/out")"
	else
		echo "not ok - $text"
		cat "$work/out"
		failures=$((failures + 1))
	fi
}

# ThreadSanitizer knows where memory may lie; random addresses may be elsewhere.
plain=
if setarch -R true 2>/dev/null; then plain="setarch -R"; fi

for ring in cas xadd; do
	for mode in stop overwrite; do
		for k in 0 "$kills"; do
			show "two processes, $ring, $mode, $k kills" \
				"$stress/reader" --writer "$stress/writer-$ring" --dir "$work" \
				--mode $mode --events "$events" --kills "$k"
		done
		show "two threads, $ring, $mode" $plain "$stress/threads-$ring" $mode "$threads"
	done
done
[ $failures -eq 0 ]
