#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# record --follow: machines come, come back and leave while it records. JOINS=2000 for longer.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

export XVTRACE_SHM_DIR=$work/shm
export LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
export XVTRACE_RUN_DIR=$work/run
mkdir "$XVTRACE_SHM_DIR" "$XVTRACE_RUN_DIR"
shm=$XVTRACE_SHM_DIR
joins=${JOINS:-480}
batch=80

# follow FILE ARG...
follow() {
	local file=$1
	shift
	"$xvtrace" record --follow -o "$file" --join-timeout 0 --stall-timeout 0.2 "$@" >/dev/null 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	poll test -s "$file"
}
stop() {
	kill -INT $recorder
	wait $recorder
}
# vms: each machine of the recorder, as the recorder says
vms() { "$xvtrace" status --json 2>/dev/null | jq -c '.recorders[0].vms[]'; }
# state MACHINE PHASE
state() { vms | grep -F '"name":"'"$1"'"' | grep -qE "\"region\":\"[^\"]*\",\"phase\":\"$2\""; }
# emitted MACHINE EVENTS
emitted() { vms | grep -F '"name":"'"$1"'"' | grep -qF "\"events\":$2,"; }
# count PHASE NUMBER
count() { [ "$(vms | grep -cE "\"region\":\"[^\"]*\",\"phase\":\"$1\"")" -eq "$2" ]; }
# emits MACHINE ARG...: a region with a program that records into it
emits() {
	local name=$1
	shift
	"$xvtrace" region create "$shm/xvtrace-$name" --size 256K --rings 1 || exit 1
	timeout 300 "$BUILD/xvt-emit" "$shm/xvtrace-$name" "$@" >"$work/emit" || echo "# xvt-emit $name: $?"
}
told() { grep -qE -- "$1" "$work/err"; }

# --- machines with events
follow "$work/t.xvt"
check "nothing is there yet: it waits" eval 'kill -0 $recorder && ! test -s "$work/err" || ! grep -v machines "$work/err"'
check "it tells status" poll eval '"$xvtrace" status >/dev/null 2>&1'
emits a --count 1000
check "a machine that comes is recorded" poll emitted a 1000
printf 'not a region' >"$shm/xvtrace-bad"
truncate -s 64K "$shm/xvtrace-bad"
exec {bad}<>"$shm/xvtrace-bad"
check "a file that is no region is a warning" poll told "xvtrace-bad: warning: left out: .*not an xvtrace region"
rm "$shm/xvtrace-a"
check "a machine leaves with its file" poll state a gone
emits a --count 500
check "it comes back" poll emitted a.2 500
emits b --count 700
check "another one comes" poll emitted b 700
check "the bad one was told once" test "$(grep -c xvtrace-bad "$work/err")" -eq 1
check "the recorder ends cleanly" stop
check "all are in the trace, with all events" test "$("$xvtrace" stat --json "$work/t.xvt" | jq -c '[.vms[] | [.name, .rings[0].events]]')" = '[["a",1000],["a.2",500],["b",700]]'
check "the sums add up" adds_up "$work/t.xvt" 2200
check "verify passes" "$xvtrace" verify -q "$work/t.xvt"
rm "$shm"/*
exec {bad}>&-

# --- what is chosen by name may come later, too
follow "$work/t.xvt" -r x="$work/x" -r "$work/p-*"
"$xvtrace" region create "$work/x" --size 256K --rings 1
"$xvtrace" region create "$work/p-1" --size 256K --rings 1
"$xvtrace" region create "$shm/xvtrace-no" --size 256K --rings 1
exec {no}<>"$shm/xvtrace-no"
check "-r NAME=PATH comes later" poll state x attached
check "-r PATTERN in another folder comes later" poll state p-1 attached
check "the recorder ends cleanly" stop
check "no other machine was recorded" test "$("$xvtrace" stat --json "$work/t.xvt" | jq -c '[.vms[].name] | sort')" = '["p-1","x"]'
"$xvtrace" record --follow -o "$work/t.xvt" -r x=,rings=0 2>"$work/err"
check "a wrong -r is an error at once" test $? -eq 2
rm "$shm"/*
exec {no}>&-

# --- many joins and leaves
# What machines take is in the heap. The buffers of the file, which a busy disk fills, are not.
resident() { awk '/\[heap\]/ { heap = 1 } heap && /^Rss:/ { print $2; exit }' "/proc/$recorder/smaps"; }
descriptors() { find "/proc/$recorder/fd" | wc -l; }
attached=0 # all the time
batch_comes_and_goes() {
	local i fds=()
	for ((i = 0; i < batch; i++)); do
		cp "$work/blank" "$shm/.new" && mv "$shm/.new" "$shm/xvtrace-$1-$i"
		exec {fd}<>"$shm/xvtrace-$1-$i"
		fds+=("$fd")
	done
	poll count attached $((batch + attached)) || return 1
	rm "$shm"/xvtrace-*
	for fd in "${fds[@]}"; do exec {fd}>&-; done
	poll count attached $attached
}
"$xvtrace" region create "$work/blank" --size 64K --rings 1
follow "$work/many.xvt" -q
check "machines come and go" batch_comes_and_goes 0
check "the recorder ends cleanly" stop
check "verify passes" "$xvtrace" verify -q "$work/many.xvt"
check "each machine is in the trace" test "$("$xvtrace" stat --json "$work/many.xvt" | jq '.vms | length')" -eq $batch

attached=1
# --- the same for long, in files that follow each other within seconds instead of hours
keep=$((4 << 20)) first=0 rss=0 tasks=0
set=$work/set
mkdir "$set"
newest() { find "$set" -name '*.xvt' -printf '%f\n' | sort | tail -n 1; }
# Nothing is in the files that were begun before a machine left but what is removed with them.
next_file() {
	local now
	now=$(newest)
	kill -USR2 $recorder
	poll eval '[[ $(newest) > $now ]]'
}
left_behind() { "$xvtrace" status --json 2>/dev/null | jq -e ".recorders[0].left.machines >= $1" >/dev/null; }
# Its own: the kernel adds and ends the workers of io_uring as it sees fit.
threads() { grep -Lx 'iou-.*' /proc/"$recorder"/task/*/comm | wc -l; }
# One machine stays, and fills the files.
"$xvtrace" region create "$work/busy" --size 1M --rings 1
"$BUILD/xvt-emit" "$work/busy" --count 100000000 --rate 20000 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record --follow -q -r busy="$work/busy" -r "$shm/xvtrace-*" -o "$set/" --rotate-size 1M --rotate-time 1 --keep-size $keep --keep-free 0 --join-timeout 0 --stall-timeout 0.2 >/dev/null 2>"$work/err" &
recorder=$!
pids+=($recorder)
check "it begins" poll eval 'test -n "$(newest)"'
for ((n = 0; n < joins / batch; n++)); do
	batch_comes_and_goes $n && next_file || break
	measure "$set"
	# The next come into the memory of these: how many are there at once is not the disk's to decide.
	poll left_behind $(((n + 1) * batch)) || break
	if [ $n -eq 1 ]; then
		first=$(descriptors) tasks=$(threads)
	fi
	# The heap is as large as the disk was slow: the largest of one half is compared with the end of the other.
	heap=$(resident)
	[ $n -ge $((joins / batch / 2)) ] || [ "$heap" -le $rss ] || rss=$heap
done
check "$joins joins and leaves" test "$n" -ge $((joins / batch))
check "the machines that left are counted" left_behind $((joins / batch * batch))
grown=$(($(resident) - rss))
echo "# descriptors $first, then $(descriptors); threads $tasks, then $(threads); heap $rss KiB, then $grown KiB more; disk at most $most"
# To a byte it is checked in tests/unit/session/test_session_rotate.c; here the heap has holes.
check "a machine that has left keeps no memory" test $grown -le 512
# While a file follows another there are some more.
no_more() { [ "$($1)" -le "$2" ]; }
check "descriptors stay" poll no_more descriptors "$first"
check "threads do not get more" poll no_more threads "$tasks"
check "the set takes no more than it may" test $most -le $((keep + keep / 2))
check "the recorder ends cleanly" stop
check "verify passes" "$xvtrace" verify -q "$set/"
[ $failures -eq 0 ]
