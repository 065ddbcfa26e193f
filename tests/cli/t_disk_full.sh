#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# A disk that runs full under a recording of two guests: it goes on when there is space again, every event is in the
# file or counted, and the file verifies. One guest that writes too much takes nothing of the other's part of the space.
set -u
if [ -z "${XVT_IN_OWN_MOUNTS:-}" ]; then
	if ! unshare -rm true 2>/dev/null || ! unshare -rm mount -t tmpfs t /mnt 2>/dev/null; then
		echo "skip - a full disk: mounting a small tmpfs in a user namespace is not allowed here"
		exit 0
	fi
	XVT_IN_OWN_MOUNTS=1 exec unshare -rm "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
trap 'cleanup; umount "$disk" 2>/dev/null; rm -rf "$work"' EXIT
disk=$work/disk
mkdir "$disk"

# guest NAME [OPTION...]: a region and what writes into it
guest() {
	rm -f "$work/$1"
	"$xvtrace" region create "$work/$1" --size 1M --rings 1 >/dev/null
	"$BUILD/xvt-emit" "$work/$1" --linger 600 "${@:2}" >"$work/$1.out" 2>&1 &
	pids+=($!)
}
# ends NAME...: all writers have ended
ends() {
	kill -TERM "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	pids=()
}

says() { "$xvtrace" stat --json "$1" | jq -e "$2" >/dev/null; }
counted() { "$xvtrace" region show --json "$work/$1" | jq "[.rings[].attempted] | add"; }
# written NAME N: the guest has attempted so many events
written() { [ "$(counted "$1")" -ge "$2" ]; }
adds_up='([., .vms[].rings[]] | all(.attempted == .events + .discarded + .lost + .in_flight))'
messages() { grep -v " machines " "$work/err"; }
said() { grep -q "$1" "$work/err"; }
asked() { "$xvtrace" status --json --control "$work/ctl" >"$work/status" 2>/dev/null && jq -e "$1" "$work/status" >/dev/null; }

record() {
	"$xvtrace" record -o "$disk/t.xvt" --control "$work/ctl" -r a="$work/a" -r b="$work/b" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
}

# -- the disk runs full, and there is space again

small_disk() {
	mountpoint -q "$disk" && umount "$disk"
	mount -t tmpfs -o size="$1" t "$disk"
}
# Whatever is left of it.
fill() { cat /dev/zero >>"$disk/fill" 2>/dev/null; }
fills_up() {
	fill
	asked '.recorders[0].disk_full'
}
lost_full() { [ "$("$xvtrace" region show --json "$work/$1" | jq '[.rings[].lost_by.full] | add')" -gt "$2" ]; }

small_disk 64M
guest a --count 100000000 --rate 4000 --size 1000
guest b --count 100000000 --rate 2000 --size 1000
record --memory 8M
check "two guests are recorded" poll asked '.recorders[0] | (.vms | length) == 2 and all(.vms[]; .rings[0].events > 1000)'
check "the disk runs full under it" poll fills_up
check "the recorder is there, and says so" poll said "the disk is full"
check "what memory does not hold is lost in the guests' rings, and counted" poll lost_full a 2000
now=$(counted a)
check "the guests go on" poll written a $((now + 5000))
check "the recorder answers" asked '.recorders[0].disk_full'
events=$("$xvtrace" status --json --control "$work/ctl" | jq '.recorders[0].events')
rm "$disk/fill"
check "there is space again: it says so" poll said "there is space"
check "and writing goes on" poll asked ".recorders[0] | (.disk_full | not) and .events > $events + 2000"
kill -TERM $recorder
wait $recorder
check "it ends in order" test $? -eq 0
ends
messages
check "the trace verifies" "$xvtrace" verify "$disk/t.xvt"
check "every event is delivered or counted" says "$disk/t.xvt" "$adds_up and .in_flight == 0 and .lost > 2000 and .events > 10000"
check "that the disk was full is in it" eval '"$xvtrace" verify --notes "$disk/t.xvt" | grep -q "the disk is full"'

# -- it is still full when the recording ends

small_disk 64M
guest a --count 100000000 --rate 4000 --size 1000
guest b --count 100000000 --rate 2000 --size 1000
record --memory 8M
check "they are recorded again" poll asked '.recorders[0] | (.vms | length) == 2 and all(.vms[]; .rings[0].events > 1000)'
check "the disk runs full again" poll fills_up
now=$(counted b)
check "the guests go on" poll written b $((now + 2000))
kill -TERM $recorder
wait $recorder
check "it ends in order" test $? -eq 0
ends
messages
check "the trace verifies, and is whole" eval '"$xvtrace" verify "$disk/t.xvt" && says "$disk/t.xvt" .cleanly_ended'
check "what had no space is counted as dropped" says "$disk/t.xvt" "$adds_up and .in_flight == 0 and ([.vms[].rings[].lost_by.dropped] | add) > 0"

# -- a disk that is nearly full is split between the machines

small_disk 24M
guest a --count 100000000 --rate 20000 --size 2000
guest b --count 100000000 --rate 500 --size 100
record
dropped() { asked ".recorders[0].vms[] | select(.name == \"$1\") | .rings[0].lost_by.dropped > $2"; }
check "one guest writes too much: what comes of it is dropped" poll dropped a 2000
now=$(counted b)
check "the other goes on" poll written b $((now + 500))
check "and there is space for it" asked '.recorders[0].disk_full | not'
check "it is said" said "the disk, which is nearly full"
kill -TERM $recorder
wait $recorder
check "it ends in order" test $? -eq 0
ends
messages
check "the trace verifies" "$xvtrace" verify "$disk/t.xvt"
check "everything adds up" says "$disk/t.xvt" "$adds_up"
check "nothing of the other is missing" says "$disk/t.xvt" '.vms[] | select(.name == "b") | .lost == 0 and .events >= 500'

# -- machines that write little lend what they have of it: 8 MiB are left, the files of one recording take 4

# beside NUMBER: a guest's events beside so many machines, of which each has an event a second
beside() {
	local crowd=
	mountpoint -q "$disk" && umount "$disk"
	mount -t tmpfs -o size=100M t "$disk"
	head -c 92M /dev/zero >"$disk/fill"
	rm -rf "$work/made" "$work/crowd"
	mkdir "$work/crowd"
	guest a --count 10000 --rate 1000 --size 1000
	if [ "$1" -gt 0 ]; then
		"$BUILD/tests/tools/xvt-many" "$work/crowd" idle "$1" write >"$work/made" &
		pids+=($!)
		poll test -s "$work/made"
	fi
	"$xvtrace" record -o "$disk/set/" --control "$work/ctl" -r a="$work/a" -r "$work/crowd/*" --rotate-size 1M --keep-size 4M 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	check "$1 machines beside it: they write" poll asked ".recorders[0].vms | length == $1 + 1 and all(.rings[0].events > 0)"
	# Where the host holds the recorder up, the ring runs full: that is another loss.
	check "$1 machines: what the guest writes comes" poll asked '.recorders[0].vms[] | select(.name == "a") | .rings[0] | .events + ([.lost_by[]] | add) >= 10000'
	check "$1 machines: nothing of it is dropped" asked '.recorders[0].vms[] | select(.name == "a") | .rings[0].lost_by.dropped == 0'
	check "$1 machines: the disk was split" said "the disk is nearly full"
	kill -TERM $recorder
	wait $recorder
	check "$1 machines: it ends in order" test $? -eq 0
	ends
	messages
}
beside 1
beside 200

# -- a file that has a largest size

umount "$disk"
guest a --count 100000000 --rate 5000 --size 1000
guest b --count 100000000 --rate 500 --size 100
record --max-size 4M
check "--max-size: the one has its part" poll dropped a 2000
now=$(counted b)
check "the other goes on" poll written b $((now + 500))
kill -TERM $recorder
wait $recorder
check "it ends in order" test $? -eq 0
ends
messages
check "it says that its part was used up" said "its part of --max-size"
size=$(stat -c %s "$disk/t.xvt")
check "the file is no larger" test "$size" -le $((4 << 20))
check "the one had half of it" test "$size" -gt $((3 << 19))
check "the trace verifies" "$xvtrace" verify "$disk/t.xvt"
check "everything adds up" says "$disk/t.xvt" "$adds_up"
check "nothing of the other is missing" says "$disk/t.xvt" '.vms[] | select(.name == "b") | .lost == 0 and .events >= 500'

for compress in 0 1; do
	guest a --count 100000000 --rate 20000 --size 1000
	"$xvtrace" record -o "$disk/t.xvt" --control "$work/ctl" -r a="$work/a" --max-size 2M --compress $compress 2>"$work/err"
	check "-z $compress, alone it has all: the recording ends by itself" test $? -eq 0
	ends
	check "and says why" said "max-size is reached"
	size=$(stat -c %s "$disk/t.xvt")
	check "the file is no larger" test "$size" -le $((2 << 20))
	check "and not much smaller" test "$size" -gt $((1 << 20))
	check "it verifies, and is whole" eval '"$xvtrace" verify "$disk/t.xvt" && says "$disk/t.xvt" .cleanly_ended'
	check "it adds up" says "$disk/t.xvt" "$adds_up and .events > 1000"
done
"$xvtrace" record -o "$disk/t.xvt" -r a="$work/a" --max-size 1K 2>"$work/err"
check "a size that holds no trace is wrong usage" test $? -eq 2

# -- what cannot wait for space

small_disk 2M
fill
guest a --count 5000 --size 1000 --wait 1
"$xvtrace" snapshot -q -o "$disk/t.xvt" -r a="$work/a" 2>"$work/err"
check "a snapshot to a full disk: exit 1" test $? -eq 1
check "with an error that says so" eval 'grep -qi "no space" "$work/err"'
messages
ends
"$xvtrace" salvage "$work/a" -o "$disk/s.xvt" 2>"$work/err"
check "salvage to a full disk: exit 1" test $? -eq 1
check "with an error that says so" eval 'grep -qi "no space" "$work/err"'
messages
umount "$disk"
[ $failures -eq 0 ]
