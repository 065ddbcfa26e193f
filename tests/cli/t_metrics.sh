#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# xvtrace status --metrics: what Prometheus reads is well formed, and has the values of status --json.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
mkdir "$XVTRACE_RUN_DIR"
odd='a"b\c'

"$xvtrace" region create "$work/a" --size 1M --rings 2 >/dev/null
"$xvtrace" region create "$work/b" --size 1M --rings 1 >/dev/null
"$xvtrace" region create "$work/c" --size 64K --rings 1 >/dev/null
"$xvtrace" record -q -o "$work/one.xvt" -r "$odd=$work/a" -r b="$work/b" --join-timeout 0.1 2>"$work/err" &
one=$!
"$xvtrace" record -q -o "$work/two.xvt" -r c="$work/c" --join-timeout 0.1 2>>"$work/err" &
two=$!
pids+=($one $two)
metrics() { "$xvtrace" status --metrics >"$work/metrics" 2>"$work/err"; }
both() { metrics && [ "$(grep -c '^xvtrace_recorder_info{' "$work/metrics")" -eq 2 ]; }
check "two recorders are shown" poll both

# Writers that have written: the counters stand still. The ring of c has no room for all.
"$BUILD/xvt-emit" "$work/a" --rings 2 --count 4000 --rate 20000 --linger 600 >/dev/null &
pids+=($!)
"$BUILD/xvt-emit" "$work/c" --count 200000 --linger 600 >/dev/null &
pids+=($!)

# value NAME LABELS: the value of that sample
value() { key="$1{$2}" awk '{ key = ENVIRON["key"] } index($0, key " ") == 1 { print substr($0, length(key) + 2) }' "$work/metrics"; }
# settled: all that was written has been counted
settled() {
	metrics && [ "$(value xvtrace_machine_events_total "recorder=\"$one\",machine=\"a\\\"b\\\\c\"")" = 8000 ] &&
		[ "$(value xvtrace_machine_attempted_events_total "recorder=\"$two\",machine=\"c\"")" = 200000 ]
}
check "the events of each machine are counted, whatever its name" poll settled

# one_moment: the figures did not change between the metrics and the JSON
figures() { jq -c '[.recorders[].vms[] | .phase, (.rings[] | .attempted, .events, .lost, .late, .discarded, .clock)]' "$work/$1"; }
one_moment() {
	"$xvtrace" status --json >"$work/before" && metrics && "$xvtrace" status --json >"$work/json" &&
		[ "$(figures before)" = "$(figures json)" ]
}
check "they are asked for at one moment" poll one_moment

# like NAME FILTER: the samples of NAME are what FILTER makes of the JSON, in the order of the recorders
like() {
	cmp <(sed -n "s/^$1{.*} //p" "$work/metrics") <(jq -r "[.recorders[] | $2][]" "$work/json") && return
	grep "^$1{" "$work/metrics"
	return 1
}
for of in attempted:attempted_events events:events lost:lost_events discarded:discarded_events late:late_events; do
	check "xvtrace_machine_${of#*:}_total is ${of%:*} of the JSON" \
		like "xvtrace_machine_${of#*:}_total" ".vms[] | [.rings[].${of%:*}] | add // 0"
done
check "something was lost" [ "$(jq '[.recorders[].lost] | add > 0' "$work/json")" = true ]
check "the size of the rings" like xvtrace_machine_ring_size_bytes '.vms[] | [.rings[].size_bytes] | add // 0'
check "a machine that has not begun is not up" like xvtrace_machine_up '.vms[] | if .phase == "attached" then 1 else 0 end'
bound='.vms[] | [.rings[].clock | select(.source != "none").bound_ns_max] | select(length > 0) | max'
whole() { like xvtrace_machine_clock_bound_seconds "$bound | ((. / 1e9 | floor | tostring) + \".\" + (\"000000000\" + (. % 1000000000 | tostring) | .[-9:]))"; }
check "the greatest bound, in seconds, of machines with a clock" whole
check "the trace's path" grep -qF "output=\"$work/one.xvt\",mode=\"stop\"} 1" "$work/metrics"

# The format: each family once, HELP and TYPE before it, its samples together, names by the conventions.
well_formed() {
	awk '/^# HELP / { help = $3; next }
		/^# TYPE / { if ($3 != help || seen[$3]++) exit bad = 1
			if (($4 == "counter") != ($3 ~ /_total$/)) exit bad = 1
			name = $3; next }
		{ sub(/\{.*/, ""); if ($0 != name) exit bad = 1; n++ }
		END { exit bad || n < 50 }' "$work/metrics"
}
check "each family is one block, and only counters end in _total" well_formed
documented() {
	local name
	for name in $(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$work/metrics"); do
		grep -q "^| \`$name\`" docs/xvtrace-status.1.md || { echo "$name is not documented" && return 1; }
	done
}
check "each is documented" documented
if command -v promtool >/dev/null; then
	check "promtool finds nothing wrong" eval 'promtool check metrics <"$work/metrics" >"$work/out" 2>&1 && [ ! -s "$work/out" ]'
	cat "$work/out"
else
	echo "skip - promtool's own check: promtool is not installed (Debian: prometheus)"
fi
"$xvtrace" status --metrics --json >/dev/null 2>"$work/err"
check "--metrics and --json: exit 2" test $? -eq 2
kill -TERM $one $two
wait $one $two
[ $failures -eq 0 ]
