#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Pages of a region are written back from older copies while it is recorded, as a live migration on one
# host does it (xvt-write-back). No event comes twice, the counts add up, the ring goes on, and the
# machine beside it does not notice.
#
# Not part of make check (no t_ in its name): in about one run of ten a copy that came and went between
# two looks of the recorder leaves undelivered older records behind newer ones, in the first past of a ring;
# their times are then wrong.
set -u
. "$(dirname "$0")/lib.sh"
SEEDS=${SEEDS:-"1 2"}
trap cleanup EXIT
echo "seeds $SEEDS"
many=1000000000 # more than it can write in that time

# sums VM FILTER
sums() {
	jq "[.vms[] | select(.name == \"$1\").rings[]] | $2" "$work/stat.json"
}

for seed in $SEEDS; do
	trace=$work/$seed.xvt
	for g in moved other; do
		"$xvtrace" region create "$work/$g" --size 2M --rings 2 || exit 1
		"$BUILD/xvt-emit" "$work/$g" --rings 2 --count $many --rate 2000 --linger 0 >/dev/null 2>&1 &
		pids+=($!)
		eval "$g=$!"
	done
	"$xvtrace" record -q -o "$trace" --stall-timeout 60 -r moved="$work/moved" -r other="$work/other" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	check "$seed: pages are written back" "$BUILD/tests/tools/xvt-write-back" "$work/moved" "$seed" 150
	before=$("$xvtrace" region show --json "$work/moved" | jq '[.rings[].attempted] | min')
	went_on() { [ "$("$xvtrace" region show --json "$work/moved" | jq '[.rings[].attempted] | min')" -gt $((before + 1000)) ]; }
	check "$seed: its rings go on" poll went_on
	kill -INT $recorder
	wait $recorder
	check "$seed: the recording is complete (exit $?)" test $? -le 1
	cat "$work/err"
	kill -KILL "$moved" "$other"
	wait "$moved" "$other" 2>/dev/null
	pids=()
	"$xvtrace" stat --json "$trace" >"$work/stat.json"
	"$xvtrace" stat "$trace"
	check "$seed: verify passes" "$xvtrace" verify "$trace"
	check "$seed: roll-backs were seen" eval '"$xvtrace" verify --notes "$trace" | grep -q "went back to an earlier state"'
	check "$seed: nothing late, nothing contradicts its clock" eval '[ "$(jq .late "$work/stat.json")" -eq 0 ] && ! "$xvtrace" verify "$trace" | grep "contradict their clock"'
	check "$seed: no ring was given up" eval '! "$xvtrace" verify --notes "$trace" | grep "stopped for good"'
	check "$seed: attempted == events + discarded + lost + in flight" [ "$(sums moved 'all(.attempted == .events + .discarded + .lost + .in_flight)')" = true ]
	check "$seed: the other machine lost nothing" [ "$(sums other 'all(.attempted == .events + .in_flight)')" = true ]
	"$xvtrace" report "$trace" >"$work/report"
	# "... moved:RING ... u64: THREAD NUMBER": what is missing is told; nothing goes back. A record that lies
	# across two pages can be half of one and half of another.
	check "$seed: no event twice, and all of the other machine's" awk '
		!/ u64: / { next }
		$2 ~ /^moved/ && ($NF > 1e8 || $(NF - 1) > 1) { torn++; next }
		{ split($2, at, ":"); ring = at[1] " " $(NF - 1); n = $NF }
		ring in last && n <= last[ring] { print ring ": after " last[ring] " comes " n; bad++ }
		ring in last && n > last[ring] + 1 { missing[at[1]] += n - last[ring] - 1 }
		{ last[ring] = n; seen[at[1]]++ }
		END {
			print torn + 0 " torn, " seen["moved"] " events, " missing["moved"] + 0 " missing; of the other " seen["other"] ", " missing["other"] + 0
			exit bad > 0 || missing["other"] > 0 || !seen["moved"] || torn > 150
		}' "$work/report"
	check "$seed: both rings were there at the end" [ "$(sums moved '(map(.last_ns) | max) - (map(.last_ns) | min) < 1000000000')" = true ]
	rm "$work/moved" "$work/other" "$work/report"
done
[ $failures -eq 0 ]
