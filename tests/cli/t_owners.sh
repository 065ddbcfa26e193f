#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# What a local user makes in the folder of regions is no machine, and what is there idle takes nothing
# from those that write: an honest machine beside it, each attack with its control.
# shellcheck disable=SC2317
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
[ "$(id -u)" -eq 0 ] || { echo "skip - files of other users need root"; exit 77; }
chmod 755 "$work"

export XVTRACE_SHM_DIR=$work/shm XVTRACE_RUN_DIR=$work/run
export LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
shm=$XVTRACE_SHM_DIR
mkdir "$XVTRACE_RUN_DIR"
many=$(realpath "$BUILD/tests/tools/xvt-many")
install -m 755 "$many" "$work/many"
STRANGER=65534
options=() # of the recorder

# fresh: an empty folder of regions, which all users may write
fresh() {
	mkdir -m 1777 -p "$shm"
	find "$shm" -type f -delete
}
stranger=(setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups) # COMMAND...
status() { "$xvtrace" status --json --control "$work/run/record-$recorder" 2>/dev/null; }
# says FILTER: of the recorder
says() { status | jq -e ".recorders[0] | $1" >/dev/null; }
# events NAME NUMBER: or more are recorded
events() { says "[.vms[] | select(.name == \"$1\") | .rings[].events] | add >= $2"; }
# region NAME SIZE: at once under its name
region() { "$xvtrace" region create "$work/new" --size "$2" --rings 1 && mv "$work/new" "$shm/xvtrace-$1"; }
record() {
	# As for a service: with this, 1,500 descriptors are too many.
	(ulimit -n 1024 && exec "$xvtrace" record -q --follow -o "$work/out/" --join-timeout 1 "${options[@]}" "$@") 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	poll status >/dev/null
}
end() {
	kill -INT $recorder
	wait $recorder
	check "$case: the recorder ends in order" test $? -eq 0
}
# sums NAME: events, lost and late of a machine in the trace
sums() {
	"$xvtrace" stat --json "$work/out" | jq -r --arg n "$1" '[.vms[] | select(.name == $n).rings[]] |
		"\(map(.events) | add) events, \(map(.lost + .dropped) | add) lost, \(map(.late) | add) late"'
}
# emit NAME COUNT: 2,000 events of 500 bytes a second; $emitter, whose output is in $work/NAME
emit() {
	timeout 300 "$BUILD/xvt-emit" "$shm/xvtrace-$1" --count "$2" --rate 2000 --size 500 --wait 60 >"$work/$1" &
	emitter=$!
	pids+=($emitter)
}
# beside CASE COMMAND...: an honest machine beside what the command makes, and another that comes then
beside() {
	local made=
	case=$1
	shift
	fresh
	rm -rf "$work/out"
	region honest 4M
	emit honest 10000
	record
	check "$case: the honest machine is recorded" poll events honest 100
	if [ $# -gt 0 ]; then
		"$@" >"$work/made" &
		made=$!
		pids+=($made)
		check "$case: all is made" poll test -s "$work/made"
	fi
	region late 1M
	emit late 1000
	check "$case: a machine that comes is recorded" poll events late 1000
	wait $emitter
	check "$case: all events of the honest one" poll events honest 10000
	[ $# -eq 0 ] || check "$case: $seen" poll says "$filter"
	end
	[ -z "$made" ] || { kill "$made"; wait "$made"; } 2>/dev/null
	check "$case: nothing of it is late or lost" test "$(sums honest)" = "10000 events, 0 lost, 0 late"
	check "$case: nor of the one that came" test "$(sums late)" = "1000 events, 0 lost, 0 late"
	sed "s/^/# /" "$work/err" | head -n 3
}

beside "control"
seen="status says how many are left out, of whom" filter=".left_out_files == 1500 and .left_out_of == [{\"uid\": $STRANGER, \"files\": 1500}] and .machines == 2"
beside "1,500 files of another user" "${stranger[@]}" "$work/many" "$shm" evil 1500
check "1,500 files: one line in the log" eval 'test "$(grep -c "" "$work/err")" -eq 1 && grep -q "files of uid $STRANGER are left out" "$work/err"'
beside "1,500 that answer" "${stranger[@]}" "$work/many" "$shm" evil 1500 answer
seen="they are machines" filter=".machines == 202"
beside "200 of one's own" "$work/many" "$shm" idle 200 answer
options=(--max-size 24M) # 10 MB of it for each of the two that write
beside "200 of one's own, in a file that has a largest size" "$work/many" "$shm" idle 200
options=()

# --- descriptors are kept for what is named
fresh
rm -rf "$work/out"
"$work/many" "$shm" idle 900 >"$work/made" &
crowd=$!
pids+=($crowd)
poll test -s "$work/made"
record -r "$shm/xvtrace-idle*" -r named="$shm/xvtrace-late"
check "900 machines of a pattern: some are left out for want of descriptors" poll grep -q "left out: too few descriptors" "$work/err"
region late 1M
emit late 100
check "one that is named comes all the same" poll events named 100
kill -INT $recorder
wait $recorder
{ kill $crowd && wait $crowd; } 2>/dev/null

# --- a machine of another user's QEMU, and a file in the place of another one
fresh
rm -rf "$work/out"
region mine 1M
emit mine 100
record
check "a machine of root" poll events mine 100
install -m 755 "$many" "$work/qemu-many"
"${stranger[@]}" "$work/qemu-many" "$shm" mine 1 answer >"$work/made" &
pids+=($!)
check "what a QEMU of its owner maps is a machine, with its user in its name" poll says "any(.vms[]; .name == \"mine0@$STRANGER\")"
wait $emitter
rm "$shm/xvtrace-mine"
"${stranger[@]}" cp "$shm/xvtrace-mine0" "$shm/xvtrace-mine"
check "another user's file in the place of a machine's is refused" poll grep -q "mine.* another file came under the name .*: it is of another user, uid $STRANGER" "$work/err"
check "it is no machine" says 'all(.vms[]; .name != "mine.2")'
kill -INT $recorder
wait $recorder
[ $failures -eq 0 ]
