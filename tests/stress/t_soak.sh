#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# alone: judges rates
# shellcheck disable=SC2034,SC2317
# The recorder for a long time at full rate. Two machines' writers go as fast as they can, a third one's slowly; the
# positions of all rings wrap past 2^64 on the way, the low bits of their clocks again and again, and the low half of
# the loss counters once. The trace goes into a pipe, so it takes no room, and a program at its other end checks all of it.
# Meanwhile the recorder's memory and its descriptors stay what they are. Then the same for a moment into a file, which
# `xvtrace verify` reads.
#
#   SOAK_SECONDS=15   from when all rings have wrapped
set -u
. "$(dirname "$0")/../cli/lib.sh"
seconds=${SOAK_SECONDS:-15}
follow=$BUILD/tests/stress/follow
position=$BUILD/tests/tools/xvt-position
writers=() recorder= follower=
declare -A now=() warm=() most=() most_lately=()
cleanup() {
	kill -9 ${recorder:+"$recorder"} ${follower:+"$follower"} "${writers[@]}"
	wait
	rm -rf "$work"
} 2>/dev/null
trap cleanup EXIT

# region NAME SIZE RINGS BYTES BITS: one whose positions have BYTES to go until they wrap, and whose stamps have BITS bits
region() {
	rm -f "$work/$1"
	"$xvtrace" region create "$work/$1" --size "$2" --rings "$3" && "$position" "$work/$1" "$4" 100000 "$5"
}

# regions BYTES: so far goes the second machine's
regions() {
	region a 16M 2 $((16 << 20)) 32 && region b 8M 1 "$1" 32 && region c 256K 1 $((16 << 10)) 20
}

# write NAME RINGS OPTION...: until it is killed
write() {
	"$BUILD/xvt-emit" "$work/$1" --rings "$2" --count 100000000000000 --yield "${@:3}" >/dev/null 2>&1 &
	writers+=($!)
}

stop_writers() {
	kill -9 "${writers[@]}"
	wait "${writers[@]}"
	writers=()
} 2>/dev/null

# --order now: the recorder merges whatever the pressure is, and the memory of that is measured here. The follower reads
# from a pipe and keeps 1,024 RAW chunks. With --order auto one machine's data may be written for long while another's,
# already in RAW, waits for its turn in ORDER.
record() {
	HEAP_TALLY=$work/heap LD_PRELOAD=$BUILD/tests/stress/heap.so "$xvtrace" record -q -o "$1" -r a="$work/a" \
		-r b="$work/b" -r c="$work/c" --memory ${memory_kib}K --order now --join-timeout 3600 --stall-timeout 3600 2>"$work/err" &
	recorder=$!
}

# end_recorder: in order, and then the writers
end_recorder() {
	local status
	kill -TERM "$recorder"
	wait "$recorder"
	status=$?
	recorder=
	stop_writers
	cat "$work/err"
	return $status
}

# rings FILTER: jq's filter is true of the array of all rings
rings() {
	for r in a b c; do "$xvtrace" region show --json "$work/$r"; done | jq -s -e "[.[].rings[]] | $1" >/dev/null
}

alive() { kill -0 "$recorder" && kill -0 "${writers[@]}"; } 2>/dev/null

# positions REGION...: up to which the recorder has taken their rings, as text: numbers of JSON end at 2^63
positions() {
	for r; do "$xvtrace" region show "$work/$r"; done | awk 'NF == 11 && $1 != "ring" { print $8 }'
}

# wrapped REGION...: all of theirs
wrapped() { positions "$@" | awk '$1 >= 2 ^ 63 { n++ } END { exit n || !NR }'; }
begins() { positions a b c | awk '$1 < 2 ^ 64 - 2 ^ 26 { n++ } END { exit n || !NR }'; }
# settled: the third machine has filled its ring several times since it wrapped
settled() { ! alive || positions c | awk '$1 < 2 ^ 20 || $1 >= 2 ^ 63 { n++ } END { exit n || !NR }'; }
# until_wrapped REGION...: or a program is gone
until_wrapped() { ! alive || wrapped "$@"; }

# full: the recorder has taken nothing more from a and b for a second, and they have lost events
full() {
	local now
	alive || return 0
	now=$(positions a b)
	[ "$now" = "$taken" ] || { taken=$now && since=$(date +%s%N); }
	[ $(($(date +%s%N) - since)) -gt 1000000000 ] && rings '[.[:3][].lost_by.full] | min > 4294967296'
}

# look: what the recorder has, into `now`: KiB of pages that have no name, which are malloc's, and its heap's (heap), KiB of all other
# pages (rest), KiB that malloc has given it for events that wait (pieces) and for all else (others; heap.c tells), descriptors (fds)
look() {
	local heap rest pieces others open
	read -r heap rest < <(awk '/^[0-9a-f]+-/ { is_heap = $6 == "" || $6 == "[heap]" } $1 == "Rss:" { kib[is_heap] += $2 }
		END { print kib[1] + 0, kib[0] + 0 }' "/proc/$recorder/smaps") || heap=0 rest=0
	read -r pieces others < <(od -An -t d8 "$work/heap")
	open=("/proc/$recorder/fd/"*)
	now=([heap]=$heap [rest]=$rest [pieces]=$((pieces / 1024)) [others]=$((others / 1024)) [fds]=${#open[@]})
} 2>/dev/null

# keep_most ARRAY: what is more now than there
keep_most() {
	local -n top=$1
	local what
	for what in "${!now[@]}"; do
		[ "${now[$what]}" -le "${top[$what]:--1}" ] || top[$what]=${now[$what]}
	done
}

# told WHEN ARRAY
told() {
	local -n of=$2
	echo "memory, $1: $((${of[heap]} + ${of[rest]})) KiB, heap ${of[heap]}; pieces ${of[pieces]}, others ${of[others]}"
}

# stays WHAT KIB: it has grown by no more than that
stays() { [ $((${most[$1]} - ${warm[$1]})) -le "$2" ]; }

opened() { ls -l "/proc/$recorder/fd" | sed -n 's/.* \([0-9]* -> .*\)/\1/p' | sort; }
same_opened() { ! alive || [ "$(opened)" = "$descriptors" ]; }

# sum FIELD: what the follower says of all rings
sum() {
	sed -n "s/^all .*\b$1=\([^ ]*\).*/\1/p" "$work/followed"
}

# wrote: the events that the regions say were written, which no recorder has any part in
wrote() {
	for r in a b c; do "$xvtrace" region show --json "$work/$r"; done |
		jq -s '[.[].rings[] | .attempted - .discarded - ([.lost_by[]] | add)] | add'
}

# The pieces for events that wait are what --memory allows. All else that malloc gave to a recorder with which all three machines are
# is to stay what it was, but for what it has for a moment only, for nodes of clocks, and for arrays that grow to the largest window and
# chunk that there ever was: each of them a few times, by its size, within others_kib in all. How large a window is depends on how
# long the recorder was kept from the CPU. A leak is told from that by growing again and again: by steps of more than step_kib in no
# more than steps_most tenths of the time.
others_kib=2048
step_kib=6
steps_most=4
# In pages the heap also has what is not given out. When all pieces are used up, free ones of one size are given back for one of another
# (host/base/pool.c). If no hole is large enough for that, the heap grows, by a piece and what malloc asks for in advance, 192 KiB; ever
# more seldom. And the third machine's pieces, whose ring holds 128 KiB, come to be as many of each size as were ever needed at a
# time. Both depend on how long the recorder was kept from the CPU: an eighth of what the other two have.
heap_kib=4096
# Elsewhere pages of its libraries and of the third one's region that it had not touched.
rest_kib=512
memory_kib=49152

regions $((24 << 20))
check "positions begin shortly below 2^64" begins
positions a b c
mkfifo "$work/pipe"
"$follow" <"$work/pipe" >"$work/followed" 2>&1 &
follower=$!
record "$work/pipe"
write a 2
write b 1
# The third machine has no clock yet, so all waits for it, in all the memory that there may be.
taken= since=0
check "two machines wait for a third one: what is to wait for them is full" poll full
look
told "when it was full" now
write c 1 --rate 5000
check "it comes, and the positions of all rings wrap" poll until_wrapped a b c
check "they have" wrapped a b c
check "the third one's ring has been filled several times" poll settled

look
descriptors=$(opened) begin=$SECONDS samples=0 tenth=1 steps=0 reached=${now[others]}
for what in "${!now[@]}"; do warm[$what]=${now[$what]} most[$what]=${now[$what]}; done
told "at first" warm
while alive && [ $tenth -le 10 ]; do
	sleep 0.2
	look
	keep_most most
	keep_most most_lately
	samples=$((samples + 1))
	[ $((10 * (SECONDS - begin))) -ge $((tenth * seconds)) ] || continue
	told "at most in tenth $tenth of the time" most_lately
	[ "${most_lately[others]}" -le $((reached + step_kib)) ] || steps=$((steps + 1)) reached=${most_lately[others]}
	tenth=$((tenth + 1)) most_lately=()
done
told "at most in $samples looks over $((SECONDS - begin)) s" most
echo "descriptors: ${warm[fds]} at first, ${most[fds]} at most"
check "the recorder and its writers go on" alive
check "its pieces are no more than it may have, $memory_kib KiB" test "${most[pieces]}" -le $memory_kib
check "what else malloc gave it grows by steps in $steps_most of ten tenths at most, now $steps" test $steps -le $steps_most
check "and by $others_kib KiB in all at most" stays others $others_kib
check "its heap has pages for that and for holes, within $heap_kib KiB" stays heap $heap_kib
check "it has no more pages elsewhere, within $rest_kib KiB" stays rest $rest_kib
positions a b c
check "its descriptors are those that it had" poll same_opened
check "the recorder ends in order" end_recorder
wait "$follower"
status=$? follower=
cat "$work/followed"
check "chunks, order, times, numbers and counts are right, to the event" test $status -eq 0
check "those are the events that were written" test "$(sum events)" = "$(wrote)"
check "some were lost, so that this says something of gaps" test "$(sum lost)" -gt 0
if [ "$(sum low_wraps)" -gt 0 ]; then echo "ok - the low 32 bits of the clocks wrapped"; else
	echo "skip - the low 32 bits of the clocks wrapped: their clock is too slow for $seconds s"
fi
check "the low half of the loss counters wrapped" rings 'any(.lost_by.full > 4294967296)'

# -- into a file

# Two machines slowly, until their positions have wrapped and the clock's low bits should have; then the third one fast.
regions $((256 << 10))
record "$work/t.xvt"
begin=$SECONDS
write b 1 --rate 5000
write c 1 --rate 5000
slow_ones() { ! alive || { wrapped b c && [ $((SECONDS - begin)) -ge 4 ]; }; }
check "again, into a file: two machines' positions wrap" poll slow_ones
write a 2
check "and the third one's, at full rate" poll until_wrapped a
check "they have" wrapped a b c
check "the recorder ends in order" end_recorder
check "the trace verifies" "$xvtrace" verify --complete "$work/t.xvt"
check "and by the follower" eval '"$follow" <"$work/t.xvt" >"$work/followed"'
cat "$work/followed"
check "those are the events that were written" test "$(sum events)" = "$(wrote)"

# -- would the follower notice?

# refused REASON: it says so of its input
refused() {
	! "$follow" >"$work/out" && grep -q "wrong: .*$1" "$work/out" && return
	cat "$work/out"
	return 1
}

# spoiled WHAT REASON: of the first few chunks
spoiled() {
	head -c "${offsets[8]}" "$work/t.xvt" >"$work/spoiled" &&
		"$BUILD/tests/tools/xvt-spoil" "$work/spoiled" "$1" && refused "$2" <"$work/spoiled"
}

# without N M: the file but for what lies between the N-th and the M-th chunk of events
without() {
	head -c "${offsets[$1]}" "$work/t.xvt"
	tail -c +$((offsets[$2] + 1)) "$work/t.xvt" | head -c 1M
}

mapfile -t offsets < <("$BUILD/tests/tools/xvt-raw" "$work/t.xvt" chunks | awk '$2 == 7 { print $3 } ++n == 10000 { exit }')
check "two events swapped are noticed" spoiled swap "where .* is due"
check "their times swapped" spoiled order "ns after"
check "a number that is not the next one" spoiled number "where .* is due"
check "a time that the clock's nodes do not give" spoiled time "by its nodes"
check "a guest clock that goes back" spoiled clock "guest clock"
check "a flipped bit" spoiled byte "checksum"
check "a chunk that is missing" eval 'without 4 5 | refused "its number"'
check "an end that is missing" eval 'head -c "${offsets[8]}" "$work/t.xvt" | refused "without an end"'
[ $failures -eq 0 ]
