#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2046,SC2317
# `record --order`: whether the recorder or the reader merges the rings, the trace has the same events in order of time,
# and every event is delivered, discarded or counted as lost.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run

# record WAY NAME SIZE RECORD-OPTIONS... -- CMD...: into $work/NAME.WAY.xvt
record() {
	local way=$1 name=$2 size=$3
	shift 3
	"$xvtrace" region create "$work/$name.$way" --size "$size" --rings 3 >/dev/null
	"$xvtrace" record -o "$work/$name.$way.xvt" --order "$way" -r "g=$work/$name.$way" "$@" >"$work/out" 2>"$work/err" && return
	cat "$work/err"
	return 1
}

emit() { echo "$BUILD/xvt-emit" "$work/$1" --rings 3 --linger 1 "${@:2}"; }

# loose FILE: number of its LOOSE chunks
loose() { "$BUILD/tests/tools/xvt-raw" "$1" chunks | grep -c "^chunk 18 "; }

for way in auto now later; do
	check "$way: a load that fits" record $way slow 4M -q -- $(emit slow.$way --count 4000 --rate 4000)
	check "$way: it verifies" "$xvtrace" verify "$work/slow.$way.xvt"
	check "$way: each event is there" test "$(stat_sum "$work/slow.$way.xvt" events)" -eq 12000
	check "$way: each ring's events once, in order" eval '"$xvtrace" report "$work/slow.$way.xvt" |
		awk "/ u64: / { if (\$NF != next_of[\$(NF - 1)]++) wrong++ }
		END { exit wrong != 0 || next_of[0] + next_of[1] + next_of[2] != 12000 }"'
	check "$way: in order of time" eval '"$xvtrace" report "$work/slow.$way.xvt" |
		awk "\$1 < last { wrong++ } { last = \$1 } END { exit wrong != 0 || NR < 12000 }"'
	check "$way: the sums" adds_up "$work/slow.$way.xvt" 12000
	check "$way: a load that does not fit" record $way fast 256K -q -- $(emit fast.$way --count 200000)
	check "$way: it verifies" "$xvtrace" verify "$work/fast.$way.xvt"
	check "$way: no order is violated" eval '"$xvtrace" stat --json "$work/fast.$way.xvt" | jq -e ".order_violations == 0" >/dev/null'
	check "$way: the sums" adds_up "$work/fast.$way.xvt" 600000
	check "$way: no loss stands before its ring's events" eval '"$xvtrace" report "$work/fast.$way.xvt" |
		awk "\$3 == \"LOST\" { wrong += !(\$2 in seen) || \$1 == 0 } { seen[\$2] = 1 } END { exit wrong > 0 }"'
	check "$way: a load in overwrite mode" record $way over 256K -q --mode overwrite -- $(emit over.$way --count 200000)
	check "$way: it verifies" "$xvtrace" verify "$work/over.$way.xvt"
	check "$way: the sums" adds_up "$work/over.$way.xvt" 600000
done

check "now: the recorder merges all" test "$(loose "$work/slow.now.xvt") $(loose "$work/fast.now.xvt")" = "0 0"
check "later: the reader merges all" eval 'test "$(loose "$work/slow.later.xvt")" -gt 0 &&
	! "$BUILD/tests/tools/xvt-raw" "$work/slow.later.xvt" | grep -q "^event main"'
events() { "$xvtrace" report "$1" | sed -n 's/.* u64: //p' | sort; }
check "now and later give the same events" cmp <(events "$work/slow.now.xvt") <(events "$work/slow.later.xvt")

# `xvtrace order` merges the rings for good: all commands say the same of both traces.
same() {
	for what in report "report --reclock" stat "stat --json" "verify --notes" "export --format jsonl"; do
		# shellcheck disable=SC2086
		cmp <("$xvtrace" $what "$1" 2>/dev/null | sed "s|$1||g; s/ok: [0-9]* chunks//") \
			<("$xvtrace" $what "$2" 2>/dev/null | sed "s|$2||g; s/ok: [0-9]* chunks//") || return 1
	done
}
# ordered NAME RECORDED: writes $work/NAME in order
ordered() {
	check "order: $1: it is written" "$xvtrace" order -o "$work/$1.xvt" "$2"
	check "order: $1: no LOOSE chunk is left" test "$(loose "$work/$1.xvt")" = 0
	check "order: $1: it verifies" "$xvtrace" verify "$work/$1.xvt"
	check "order: $1: all commands say the same" same "$2" "$work/$1.xvt"
}
check "a compressed trace" record later zip 4M -q --compress 3 -- $(emit zip.later --count 4000 --rate 4000)
for name in slow fast over zip; do ordered $name "$work/$name.later.xvt"; done
check "order: a compressed trace stays one" test "$(stat -c %s "$work/zip.xvt")" -lt $(($(stat -c %s "$work/slow.xvt") / 2))
cp "$work/fast.later.xvt" "$work/place.xvt"
chmod 640 "$work/place.xvt"
check "order: in place" "$xvtrace" order "$work/place.xvt"
check "order: the same bytes as with -o" cmp "$work/place.xvt" "$work/fast.xvt"
check "order: the mode stays" test "$(stat -c %a "$work/place.xvt")" = 640
inode=$(stat -c %i "$work/place.xvt")
check "order: what is in order already" "$xvtrace" order "$work/place.xvt" 2>"$work/err"
check "order: is not written again" test "$(stat -c %i "$work/place.xvt")" = "$inode"
size=$(stat -c %s "$work/slow.later.xvt")
head -c $((size / 2)) "$work/slow.later.xvt" >"$work/broken.xvt"
printf 'x' | dd of="$work/broken.xvt" bs=1 seek=$((size / 4)) conv=notrunc 2>/dev/null
cp "$work/broken.xvt" "$work/broken.copy"
"$xvtrace" order "$work/broken.xvt" 2>"$work/err"
check "order: a damaged trace is refused" test $? -eq 1
check "order: and stays as it was" cmp "$work/broken.xvt" "$work/broken.copy"
check "order: a full disk is an error" eval '(ulimit -f 16; trap "" XFSZ; ! "$xvtrace" order "$work/slow.later.xvt" 2>"$work/err")'
check "order: which names it" grep -q "cannot write it: File too large" "$work/err"
check "order: nothing is left behind" eval '! ls "$work"/*.xvt.?????? 2>/dev/null'

# What is made of a trace is of that one's minor version: a later one's fields are not in it.
minor() { od -An -tu2 -j42 -N2 "$1" | tr -d ' '; }
earlier=tests/abi/trace-v2.xvt
check "order: of an earlier version" "$xvtrace" order -o "$work/earlier.xvt" "$earlier"
check "trim: of an earlier version" "$xvtrace" trim -q -o "$work/part.xvt" "$earlier"
check "both are of that version" test "$(minor "$work/earlier.xvt") $(minor "$work/part.xvt")" = "$(minor "$earlier") $(minor "$earlier")"
check "of this version: both are of this one" test "$("$xvtrace" trim -q -o "$work/slow.part.xvt" "$work/slow.xvt" 2>/dev/null; minor "$work/slow.part.xvt")" = "$(minor "$work/slow.later.xvt")"
check "which is a later one" test "$(minor "$work/slow.xvt")" -gt "$(minor "$earlier")"

# A guest's clock is set back by 6 ms, again and again: the events until it has caught up have one time. They stay in the
# order in which they were written, for every reader.
numbers() { awk '/ u64: / { if ($NF != n++) wrong++ } END { exit wrong != 0 || n < 1000 }'; } # of a ring: 0, 1, 2, ...
# setback WAY OUTPUT RECORD-OPTIONS...
setback() {
	"$xvtrace" region create "$work/setback" --size 4M --rings 1 >/dev/null
	"$BUILD/tests/tools/xvt-setback" "$work/setback" 1500 40 6000 >"$work/says" &
	local writer=$!
	pids+=($writer)
	"$xvtrace" record -q -o "$work/$2" --order "$1" -r g="$work/setback" "${@:3}" 2>"$work/err" -- \
		sh -c 'until grep -q written "$1"; do sleep 0.05; done' - "$work/says"
	kill $writer
	wait $writer
	rm "$work/setback"
	grep -q "lost=0" "$work/says"
}
reported() { "$xvtrace" report -q "$@" | numbers; }
exported() { "$xvtrace" export -q --format text "$1" "$work/text" && numbers <"$work/text"; }
in_ring_order() {
	rm -f "$work/text"
	check "clock set back: $1: it verifies" "$xvtrace" verify -q "$work/$1"
	check "clock set back: $1: report" reported "$work/$1"
	check "clock set back: $1: report --reclock" reported --reclock "$work/$1"
	check "clock set back: $1: export" exported "$work/$1"
}
for way in auto now later; do
	check "clock set back: $way" setback $way back.$way.xvt
	in_ring_order back.$way.xvt
done
check "clock set back: events have one time" eval '"$xvtrace" report -q "$work/back.later.xvt" |
	awk "\$1 == last && \$3 ~ /C/ { n++ } { last = \$1 } END { exit n < 100 }"'
check "clock set back: order" "$xvtrace" order -o "$work/back.ordered.xvt" "$work/back.later.xvt"
in_ring_order back.ordered.xvt
mkdir "$work/back.set"
check "clock set back: a set of files" setback later back.set/ --rotate-time 0.5
in_ring_order back.set/

# A machine's memory is set back to an earlier state: places in its ring begin again, and that is no fault of the order.
went_back() {
	local r=$work/went.back emit="$BUILD/xvt-emit $work/went.back --count 500 --rate 20000"
	"$xvtrace" region create "$r" --size 1M --rings 1 >/dev/null
	"$xvtrace" record -q -o "$work/went.$1.xvt" --order "$1" -r g="$r" --control "$work/ctl.went" 2>"$work/err" &
	local recorder=$!
	pids+=($recorder)
	drained() { "$xvtrace" status --json --control "$work/ctl.went" 2>/dev/null | jq -e ".recorders[0] | .events >= $1" >/dev/null; }
	$emit >/dev/null && poll drained 500 || return
	cp "$r" "$r.copy"
	$emit --first 500 >/dev/null && poll drained 1000 || return
	cat "$r.copy" 1<>"$r"
	$emit --first 1000 --linger 1 >/dev/null && poll drained 1500 || return
	kill -INT $recorder
	wait $recorder
	rm "$r"
}
for way in now later; do
	check "memory went back: $way" went_back $way
	check "memory went back: $way: the trace says so" eval '"$BUILD/tests/tools/xvt-raw" "$work/went.$way.xvt" | grep -q "^lost .* 1$"'
	check "memory went back: $way: it verifies" "$xvtrace" verify -q "$work/went.$way.xvt"
done

# A recorder that was killed between the records and their order: how much that is, is said.
raw=$("$BUILD/tests/tools/xvt-raw" "$work/slow.now.xvt" chunks | awk '$2 == 17 { raw = 1; next } $2 == 7 && raw { last = $3 } { raw = 0 } END { print last }')
head -c "$raw" "$work/slow.now.xvt" >"$work/cut.xvt"
check "records without an order are counted" eval '"$xvtrace" stat -q --json "$work/cut.xvt" | jq -e ".unordered_bytes > 0 and (.cleanly_ended | not)" >/dev/null'
for what in report stat verify; do
	check "$what says so" eval '"$xvtrace" $what "$work/cut.xvt" 2>&1 >/dev/null | grep -q "bytes of records have no order"'
done
check "a whole trace has none" eval '"$xvtrace" stat --json "$work/slow.now.xvt" | jq -e ".unordered_bytes == 0" >/dev/null'

# What a killed recorder has written is read in order.
"$xvtrace" region create "$work/killed" --size 4M --rings 3 >/dev/null
"$BUILD/xvt-emit" "$work/killed" --rings 3 --count 1000000000 --rate 20000 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record -q -o "$work/killed.xvt" --order later --control "$work/ctl" -r g="$work/killed" 2>"$work/err" &
recorder=$!
asked() { "$xvtrace" status --json --control "$work/ctl" 2>/dev/null | jq -e "$1" >/dev/null; }
check "later: a recorder writes" poll asked '.recorders[0] | .loose_events > 50000 and .vms[0].loose'
kill -9 $recorder
wait $recorder 2>/dev/null
check "later: a killed recorder's trace verifies" "$xvtrace" verify "$work/killed.xvt"
check "later: and is in order of time" eval '"$xvtrace" report -q "$work/killed.xvt" |
	awk "\$1 < last { wrong++ } { last = \$1 } END { exit wrong != 0 || NR < 1000 }"'
ordered killed-ordered "$work/killed.xvt"

"$xvtrace" record --order never -r g="$work/killed" -o "$work/x.xvt" 2>"$work/err"
check "an order that does not exist is wrong usage" test $? -eq 2
check "the message says which there are" grep -q "auto, now or later" "$work/err"
