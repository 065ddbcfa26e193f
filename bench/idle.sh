#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What an idle recorder of two machines takes: CPU time, and how often it wakes up. The machines are
# programs that write nothing, or an event each second, answer clock requests as the guests' module
# does, every ten milliseconds, and ring a doorbell when they are asked to.
#
#   bench/idle.sh BUILD     needs BUILD/xvtrace and BUILD/tests/tools/xvt-bell
#   IDLE_SECONDS=26         of each row
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/jq.sh
build=$1
seconds=${IDLE_SECONDS:-26}
dir=$(mktemp -d)
json=$build/bench/idle.json
pids=() rows=()
trap 'kill -KILL "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT

for g in a b; do
	"$build/xvtrace" region create "$dir/$g" --size 256K --rings 1 --subbuf-size 4K || exit 1
	"$build/xvtrace" region serve "$dir/$g" --socket "$dir/$g.sock" >"$dir/$g.server" &
	pids+=($!)
	until [ -S "$dir/$g.sock" ] && [ -s "$dir/$g.server" ]; do
		kill -0 "${pids[-1]}" || exit 1
		sleep 0.1
	done
done

# guests EVENTS: begin anew, each with so many events a second
guests=()
guests() {
	local g
	if [ ${#guests[@]} -gt 0 ]; then
		kill "${guests[@]}"
		wait "${guests[@]}"
	fi
	guests=()
	for g in a b; do
		"$build/tests/tools/xvt-bell" "$dir/$g.sock" "$1" idle >"$dir/$g.guest" &
		guests+=($!)
		pids+=($!)
	done
}

# wakeups PID, ticks PID: of all its threads; of CPU time
wakeups() { awk '/^voluntary_ctxt_switches:/ { n += $2 } END { print n }' /proc/"$1"/task/*/status; }
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }
works() { [ "$(grep -ao 'its doorbell works' "$dir/t.xvt" 2>/dev/null | wc -l)" -eq "$1" ]; }

# row NAME DOORBELLS OPTION...: recorded, and nothing asks the recorder meanwhile
row() {
	local name=$1 bells=$2 from w t
	shift 2
	"$build/xvtrace" record -q -o "$dir/t.xvt" -r a="$dir/a" -r b="$dir/b" --control "$dir/control" "$@" &
	local pid=$!
	pids+=("$pid")
	until "$build/xvtrace" status --json --control "$dir/control" 2>/dev/null | jq -e '[.recorders[0].vms[].rings[] | select(.phase == "live")] | length == 2' >/dev/null && works "$bells"; do
		kill -0 $pid || exit 1
		sleep 0.2
	done
	sleep 30 # clocks that keep their line are measured less and less often
	from=$(cut -d ' ' -f 1 /proc/uptime) w=$(wakeups $pid) t=$(ticks $pid)
	sleep "$seconds"
	w=$(($(wakeups $pid) - w)) t=$(($(ticks $pid) - t))
	rows+=("$(awk -v name="$name" -v w=$w -v t=$t -v hz="$(getconf CLK_TCK)" -v from="$from" -v to="$(cut -d ' ' -f 1 /proc/uptime)" 'BEGIN {
		s = to - from
		printf "%-38s %8.1f wake-ups/s %6.2f %% of a core\n", name, w / s, 100 * t / hz / s >"/dev/stderr"
		printf "{ \"what\": \"%s\", \"seconds\": %.2f, \"wakeups_per_second\": %.1f, \"core_percent\": %.2f }", name, s, w / s, 100 * t / hz / s }')")
	kill -INT $pid
	wait $pid
}

echo "An idle recorder of two machines"
bells=(--doorbell a="$dir/a.sock" --doorbell b="$dir/b.sock")
guests 0
row "no event, polled" 0
row "no event, with doorbells" 2 "${bells[@]}"
guests 1
row "an event each second, polled" 0
row "an event each second, with doorbells" 2 "${bells[@]}"
mkdir -p "$build/bench"
(
	IFS=,
	printf '[%s]\n' "${rows[*]}"
) >"$json"
