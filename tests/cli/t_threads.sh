#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Several CPUs record: 48 rings of three machines at full rate, by one thread and by four. Every event is there once, in
# order, whoever drained, decoded and merged it; and the threads that lend a hand do have a part in it.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
rings=16 events=20000

# machine NAME: a region, and writers that begin when a host comes
machine() {
	"$xvtrace" region create "$work/$1" --size 4M --rings $rings --subbuf-size 4K || exit 1
	"$BUILD/xvt-emit" "$work/$1" --rings $rings --count $events --linger 3600 --yield >"$work/$1.out" 2>&1 &
	pids+=($!)
}

# crew: what the recorder's other threads are called by, but for those that io_uring has
crew() {
	local t
	for t in "/proc/$recorder/task"/*; do
		[ "${t##*/}" = "$recorder" ] || grep -q '^xvtrace$' "$t/comm" && echo "$t"
	done | grep -v "/$recorder$"
} 2>/dev/null

# worked: how often they were woken, together
worked() {
	local t n=0 more
	for t in $(crew); do
		more=$(sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "$t/status")
		n=$((n + more))
	done
	[ $n -gt "$1" ]
} 2>/dev/null

attempted() { for r in a b c; do "$xvtrace" region show --json "$work/$r"; done | jq -s '[.[].rings[].attempted] | add'; }
all_written() { [ "$(attempted)" -ge $((3 * rings * events)) ]; }

# record NAME N: with so many threads, until the writers have written all of theirs
record() {
	pids=()
	for r in a b c; do rm -f "$work/$r" && machine $r; done
	"$xvtrace" record -q --threads "$2" -o "$work/$1.xvt" -r a="$work/a" -r b="$work/b" -r c="$work/c" 2>"$work/$1.err" &
	recorder=$!
	pids+=($recorder)
	poll all_written
	threads=$(crew | wc -l)
	# A thread that waits for work for the first time has been switched away from once.
	worked "$threads" && busy=yes || busy=no
	kill -INT $recorder && wait $recorder
	status=$?
	kill -TERM "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	return $status
}

sums() { "$xvtrace" stat --json "$1" | jq -e '.attempted == .events + .discarded + .lost + .in_flight and .attempted > 0'; }


for n in 1 4; do
	check "recording by $n threads ends in order" record "by$n" $n
	cat "$work/by$n.err"
	check "it has $((n - 1)) to lend a hand" [ "$threads" -eq $((n - 1)) ]
	[ $n -eq 1 ] || check "they do" [ $busy = yes ]
	check "verify has nothing to say against it" "$xvtrace" verify "$work/by$n.xvt"
	check "attempted == events + discarded + lost + in flight" sums "$work/by$n.xvt"
done
! "$xvtrace" record -q --threads 0 -o "$work/no.xvt" -r a="$work/a" 2>"$work/err"
check "no thread at all is refused, with words" grep -q 'threads: it is 1 to' "$work/err"
[ $failures -eq 0 ]
