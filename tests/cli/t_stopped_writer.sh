#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Two writers are stopped by SIGSTOP inside an event, one before its commit, one with its time stamp in
# its hand and nothing reserved. The others' events flow on after the time-out; the one event that
# was in flight and nothing else comes late, and report and export show it at its true place.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
raw=$BUILD/tests/tools/xvt-raw
trace=$work/t.xvt

stopped() {
	[ "$(sed -E 's/.*\) (.).*/\1/' "/proc/$1/stat")" = T ]
}

# The newest watermark in the file, as far as it is written.
watermark() {
	"$raw" "$trace" 2>/dev/null | awk '$1 == "round" { w = $3 } END { print w ? w : 0 }'
}

# get KEY FILE
get() {
	sed -nE "s/.*\\b$1=([0-9]+).*/\\1/p" "$2"
}

# is FILTER JSON: jq's filter is true of it
is() {
	jq -e "$1" >/dev/null <<<"$2"
}

for vm in free clock commit; do
	"$xvtrace" region create "$work/$vm" --size 1M --rings 1 || exit 1
done
"$BUILD/xvt-emit" "$work/free" --rate 1000 --count 1000000 >/dev/null 2>&1 &
pids+=($!)
disown
writer=()
for where in clock commit; do
	"$BUILD/tests/tools/xvt-stopped" "$work/$where" $where 50 200 >"$work/$where.says" &
	pids+=($!)
	writer+=($!)
done
"$xvtrace" record -q -o "$trace" --stall-timeout 1 -r free="$work/free" -r clock="$work/clock" \
	-r commit="$work/commit" 2>"$work/err" &
recorder=$!
pids+=($recorder)

check "both writers are stopped inside an event" eval 'poll stopped ${writer[0]} && poll stopped ${writer[1]}'
# The past is said to be whole up to a moment well after the stop: the two are no longer waited for.
flows() {
	[ "$(watermark)" -gt $(($(get after_ns "$work/$1.says") + 100000000)) ]
}
check "the others' events flow on while they are" eval 'poll flows clock && poll flows commit'
check "and they are still stopped" eval 'stopped ${writer[0]} && stopped ${writer[1]}'
kill -CONT "${writer[@]}"
all_written() {
	[ "$("$raw" "$trace" 2>/dev/null | grep -cE '^event [a-z]+ (clock|commit) [0-9]+ [0-9]+ [0-9]+ 0x[0-9a-f]+ 18 ')" -eq 400 ]
}
check "continued, they deliver all" poll all_written
kill -INT $recorder
wait $recorder
check "the recorder ends cleanly" test $? -eq 0
kill -TERM "${writer[@]}"
wait "${writer[@]}"
cat "$work/err" "$work"/*.says

check "the trace verifies" "$xvtrace" verify "$trace"
# A recorder may be killed at any moment: what places an event is in the file before it.
each_beginning() {
	local off n=0
	for off in $("$raw" "$trace" chunks | awk '$2 == 6 { print $3 }'); do
		head -c "$off" "$trace" >"$work/beginning"
		"$xvtrace" verify "$work/beginning" >"$work/says" 2>&1 || { cat "$work/says" && return 1; }
		n=$((n + 1))
	done
	echo "$n beginnings, each up to a clock node"
	[ $n -gt 10 ]
}
check "and so does each beginning of it that lacks a clock node" each_beginning
"$xvtrace" stat --json "$trace" >"$work/stat"
check "one event is late, of the writer that was stopped before its commit" eval \
	'jq -c "[.vms[] | {(.name): .late}] | add" "$work/stat" | grep -qx "{\"free\":0,\"clock\":0,\"commit\":1}"'
check "nothing was lost" is '.lost == 0 and ([.vms[] | select(.name != "free") | .events] == [200, 200])' "$(cat "$work/stat")"

"$xvtrace" report "$trace" >"$work/report"
"$xvtrace" export --to jsonl "$trace" "$work/jsonl"
"$xvtrace" export --to text "$trace" "$work/text"
check "report and export to text are one" cmp "$work/report" "$work/text"
check "report is in order of time" eval 'cut -d" " -f1 "$work/report" | tr -d " " | sort -c -n'
check "so is jsonl" eval 'jq .ts_ns "$work/jsonl" | sort -c -n'
check "report flags the one that is late" test "$(grep -cE '^ *[0-9.]+ [a-z]+:[0-9]+ +L' "$work/report")" -eq 1
check "and it is that writer's" grep -qE '^ *[0-9.]+ commit:[0-9]+ +L' "$work/report"

# event WHERE: what the file has of that writer's stopped event; bound WHERE: and of its clock
event() {
	jq -sc "[.[] | select(.vm == \"$1\" and .event != \"waits\")] | .[50]" "$work/jsonl"
}
bound() {
	jq "[.vms[] | select(.name == \"$1\") | .. | .bound_ns_max? // empty] | max" "$work/stat"
}
event commit
check "jsonl flags it, too" is '.flags == "L"' "$(event commit)"
check "it stands where its clock was read, within the bound" is \
	".ts_ns >= $(get before_ns "$work/commit.says") - $(bound commit) and .ts_ns <= $(get after_ns "$work/commit.says") + $(bound commit)" \
	"$(event commit)"
# The epoch word was set while it slept, so it has thrown the stamp away and read another one.
event clock
check "the one stopped before its reservation began again: it is not late" is '.flags == ""' "$(event clock)"
check "its time is that after it was continued" is \
	".ts_ns >= $(get continued_ns "$work/clock.says") - $(bound clock)" "$(event clock)"

# By what the file says of itself: it had told that the past was whole before the writers went on.
gone_on() {
	"$raw" "$trace" | awk -v after="$1" -v continued="$2" \
		'$1 == "round" && $3 > after && $4 < continued { n++ } END { exit n < 2 }'
}
for where in clock commit; do
	check "$where: the others had gone on before it was continued" gone_on \
		"$(get after_ns "$work/$where.says")" "$(get continued_ns "$work/$where.says")"
done
[ $failures -eq 0 ]
