#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2046,SC2317
# Both ways of `record --drain`: the same load gives the same events, and every event is delivered, discarded or
# counted as lost. A region whose file shrinks ends with one error, not with a crash.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run

# record WAY NAME REGION-OPTIONS -- EMIT-OPTIONS...: into $work/NAME.WAY.xvt
record() {
	local way=$1 name=$2 size=$3
	shift 3
	"$xvtrace" region create "$work/$name.$way" --size "$size" --rings 3 >/dev/null
	"$xvtrace" record -q -o "$work/$name.$way.xvt" --drain "$way" -r "g=$work/$name.$way" "$@" 2>"$work/err" && return
	cat "$work/err"
	return 1
}

emit() { echo "$BUILD/xvt-emit" "$work/$1" --rings 3 --linger 1 "${@:2}"; }

for way in mapped io_uring; do
	# Room for all of it: nothing may be lost.
	check "$way: a load that fits" record $way slow 4M -- $(emit slow.$way --count 4000 --rate 4000)
	check "$way: it verifies" "$xvtrace" verify "$work/slow.$way.xvt"
	check "$way: each event is there" test "$(stat_sum "$work/slow.$way.xvt" events)" -eq 12000
	check "$way: once, in order" eval '"$xvtrace" report "$work/slow.$way.xvt" | awk "/ u64: / { if (\$NF != next_of[\$(NF - 1)]++) wrong++ }
		END { exit wrong != 0 || next_of[0] + next_of[1] + next_of[2] != 12000 }"'
	check "$way: the sums" adds_up "$work/slow.$way.xvt" 12000
	# Without a rate, into small rings: most of it may be lost, and all of that is counted.
	check "$way: a load that does not fit" record $way fast 256K -- $(emit fast.$way --count 200000)
	check "$way: it verifies" "$xvtrace" verify "$work/fast.$way.xvt"
	check "$way: the sums" adds_up "$work/fast.$way.xvt" 600000
	check "$way: a load in overwrite mode" record $way over 256K --mode overwrite -- $(emit over.$way --count 200000)
	check "$way: it verifies" "$xvtrace" verify "$work/over.$way.xvt"
	check "$way: the sums" adds_up "$work/over.$way.xvt" 600000
done
events() { "$xvtrace" report "$1" | sed -n 's/.* u64: //p' | sort; }
check "both ways give the same events" cmp <(events "$work/slow.mapped.xvt") <(events "$work/slow.io_uring.xvt")

# The control words stay, and the data goes.
"$xvtrace" region create "$work/shrinks" --size 4M --rings 1 >/dev/null
"$BUILD/xvt-emit" "$work/shrinks" --count 1000000000 --rate 5000 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record -q -o "$work/shrinks.xvt" --drain io_uring -r g="$work/shrinks" 2>"$work/err" &
recorder=$!
taken() { [ "$("$xvtrace" region show --json "$work/shrinks" | jq '.rings[0].cons')" -gt 100000 ]; }
check "a region is recorded" poll taken
truncate -s 1M "$work/shrinks"
wait $recorder
check "its file shrinks: exit 1" test $? -eq 1
check "with one error line that says so" eval 'test "$(grep -c "" "$work/err")" -eq 1 && grep -q "truncated" "$work/err"'
cat "$work/err"
check "what was recorded before verifies" "$xvtrace" verify "$work/shrinks.xvt"

"$xvtrace" record -o "$work/t.xvt" -r g="$work/slow.mapped" --drain paper 2>"$work/err"
check "another way is refused: exit 2" test $? -eq 2
check "and the message names both" grep -q -- "--drain paper: it is mapped or io_uring" "$work/err"
[ $failures -eq 0 ]
