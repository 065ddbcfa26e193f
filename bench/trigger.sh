#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How long after a marker in one flight recorder the file with all machines' events is whole: by
# `snapshot --when`, and by a recorder that keeps them armed. Beside it a snapshot that is asked for.
# Two machines; one has 1,000 events a second.
#
#   bench/trigger.sh BUILD     needs BUILD/xvtrace, BUILD/xvt-emit and BUILD/tests/tools/xvt-say
#   TRIGGERS=10                of each row
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/jq.sh
build=$(realpath "$1")
n=${TRIGGERS:-10}
dir=$(mktemp -d)
json=$build/bench/trigger.json
pids=() rows=() base=
trap 'kill -KILL "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
export XVTRACE_RUN_DIR=$dir/run
mkdir "$XVTRACE_RUN_DIR"

for g in a b; do
	"$build/xvtrace" region create "$dir/$g" --size 4M --rings 1 --overwrite || exit 1
done
mkfifo "$dir/tell"
"$build/tests/tools/xvt-say" "$dir/a" <"$dir/tell" >"$dir/told" &
pids+=($!)
exec 5>"$dir/tell"
"$build/xvt-emit" "$dir/b" --count 100000000000 --rate 1000 >/dev/null 2>&1 &
pids+=($!)
machines=(-r a="$dir/a" -r b="$dir/b")

until_true() {
	until "$@"; do
		kill -0 "${pids[-1]}" || exit 1
		sleep 0.002
	done
}
waits() { grep -q 'waits for' "$dir/log" 2>/dev/null; }
is_armed() { "$build/xvtrace" status --json --control "$dir/control" 2>/dev/null | jq -e '.recorders[0].flight_armed == 2' >/dev/null; }
whole() { [ "$(grep -cE 'has it:|machines held at' "$dir/log")" -gt "$1" ]; }

# row NAME MS...: their median, as a part of the first row's, too
row() {
	local name=$1 sorted
	mapfile -t sorted < <(printf '%s\n' "${@:2}" | sort -n)
	local median=${sorted[$((${#sorted[@]} / 2))]} most=${sorted[-1]}
	base=${base:-$median}
	rows+=("$(awk -v name="$name" -v m="$median" -v most="$most" -v base="$base" 'BEGIN {
		printf "%-38s %6d ms, at most %6d ms %8.1f times a snapshot\n", name, m, most, m / base >"/dev/stderr"
		printf "{ \"what\": \"%s\", \"median_ms\": %d, \"most_ms\": %d, \"of_snapshot\": %.2f }", name, m, most, m / base }')")
}
ms() { echo $(($(date +%s%N) / 1000000)); }

echo "From a marker in a flight recorder to the file of all machines, $n times"
took=()
for ((i = 0; i < n; i++)); do
	from=$(ms)
	"$build/xvtrace" snapshot -q -o "$dir/x.xvt" "${machines[@]}" || exit 1
	took+=($(($(ms) - from)))
done
row "a snapshot that is asked for" "${took[@]}"

# booms: in $took
booms() {
	local i from had
	took=()
	for ((i = 0; i < n; i++)); do
		had=$(grep -cE 'has it:|machines held at' "$dir/log")
		sleep "0.$((RANDOM % 9))" # looks come at fixed times
		from=$(ms)
		echo "1 boom" >&5
		until_true whole "$had"
		took+=($(($(ms) - from)))
		sleep 1.2
	done
}
"$build/xvtrace" snapshot -o "$dir/when.xvt" "${machines[@]}" --files 1000 --per-minute 60 --when 'event text text == "boom"' 2>"$dir/log" &
pids+=($!)
until_true waits
booms
row "snapshot --when" "${took[@]}"
kill "${pids[-1]}"
wait "${pids[-1]}"
unset 'pids[-1]'

"$build/xvtrace" record -q -o "$dir/set/" "${machines[@]}" --flight-recorder '[ab]' --control "$dir/control" --snapshot-after 0 \
	--snapshot-per-minute 60 --snapshot-when 'event a:xvt:text text == "boom"' 2>"$dir/log" &
pids+=($!)
until_true is_armed
booms
row "a recorder that keeps them armed" "${took[@]}"
mkdir -p "$build/bench"
(
	IFS=,
	printf '[%s]\n' "${rows[*]}"
) >"$json"
