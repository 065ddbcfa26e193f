#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# The empty root of a recorder, and its network and IPC: it has them with each loop, and where it lacks one, doctor and status
# say so; log and trace, too, where the kernel refused what the recorder may make.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
if [ "$(id -u)" -ne 0 ] || ! "$xvtrace" doctor --json | jq -e '.sandbox' >/dev/null; then
	echo "skip - the empty root: not root here, or no sandbox"
	exit 77
fi
mkdir "$work/run"
chmod 755 "$work"
"$xvtrace" region create "$work/g" --size 256K --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 1000 >/dev/null 2>&1 &
pids+=($!)
control=$work/control

# record NAME COMMAND...: COMMAND xvtrace record, until it answers; its process is $recorder
record() {
	name=$1
	rm -f "$control" "$work/$name.xvt"
	"${@:2}" "$xvtrace" record -q -o "$work/$name.xvt" -r g="$work/g" --join-timeout 0 --control "$control" 2>"$work/$name.err" &
	job=$!
	pids+=($job)
	poll answers || { cat "$work/$name.err" && return 1; }
	recorder=$(jq '.recorders[0].pid' "$work/status")
}
answers() { "$xvtrace" status --json --control "$control" >"$work/status" 2>/dev/null; }
# says FIELD: status has it
says() { jq -e ".recorders[0].$1" "$work/status" >/dev/null; }
text() { "$xvtrace" status --control "$control" | grep -qF -- "$1"; }
# It may end before its machine has a clock, which is an error of its own.
ended() {
	kill -INT "$recorder" || return
	wait $job
	ended_idle $? "$work/$name.err" && "$xvtrace" verify -q "$work/$name.xvt" >/dev/null
}
# own KIND: no thread of it has this namespace of ours
own() {
	local task
	for task in /proc/"$recorder"/task/*; do
		[ "$(readlink "$task/ns/$1")" != "$(readlink "/proc/self/ns/$1")" ] || return 1
	done
}
empty_root() {
	local task
	for task in /proc/"$recorder"/task/*; do
		[[ $(readlink "$task/root") == *xvtrace-root-*"(deleted)" && $(readlink "$task/cwd") == *xvtrace-root-*"(deleted)" ]] || return 1
	done
}
warning='sandbox: warning: the recorder has .* of the host, since another could not be made'
noted() { "$xvtrace" verify --notes "$work/$name.xvt" | grep -q 'of the host, since another could not be made'; }

for loop in io_uring epoll; do
	[ $loop = epoll ] || "$xvtrace" doctor --json | jq -e .io_uring >/dev/null || continue
	check "$loop: it records" record $loop env XVTRACE_LOOP=${loop/io_uring/}
	check "$loop: its root and its folder are removed" empty_root
	check "... and hold nothing, also for root" eval '[ -z "$(ls -A "/proc/$recorder/root/")" ]'
	check "... its network is its own, of each thread" own net
	check "... so is its IPC" own ipc
	check "... status names no wall that lacks" eval '! says no_empty_root && ! says no_namespaces'
	check "... and tells where it was started" test "$(jq -r '.recorders[0].cwd' "$work/status")" = "$PWD"
	check "... all ends in order" ended
	check "... without a word of it" eval '! grep -q "$warning" "$work/$loop.err" && ! noted'
done
check "no folder of it is left" eval '! ls -d /run/xvtrace-root-* /tmp/xvtrace-root-* 2>/dev/null'
check "doctor says that a recorder has these walls" eval '"$xvtrace" doctor --json | jq -e ".empty_root and .namespaces" >/dev/null'

# Without the capabilities, as in a container or the unit.
without=(setpriv "--bounding-set=-sys_admin,-sys_chroot" "--inh-caps=-sys_admin,-sys_chroot")
check "without the capabilities: it records" record without "${without[@]}"
check "... in the host's root and network, which status says" eval 'says no_empty_root && says no_namespaces'
check "... in its text, too" text 'it has the root directory, the network and the IPC of the host'
check "... all ends in order" ended
check "... the log says nothing: it is as it has to be" eval '! grep -q "$warning" "$work/without.err" && ! noted'
check "... doctor says so, as no problem" eval '"${without[@]}" "$xvtrace" doctor --json |
	jq -e "(.empty_root or .namespaces or any(.problems[]; .what | contains(\"of the host\"))) | not" >/dev/null'

# Another user's recorder.
user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
install -d -o 65534 "$work/user" && rm -f "$work/user/"* && cp "$work/g" "$work/user/g" && chown 65534 "$work/user/g"
user "$xvtrace" record -q -o "$work/user/t.xvt" -r g="$work/user/g" --join-timeout 0 --control "$work/user/control" 2>"$work/user/err" &
job=$! control=$work/user/control name=user/t
pids+=($job)
check "another user than root records" poll answers
recorder=$(jq '.recorders[0].pid' "$work/status")
check "... its status says what it has of the host" eval 'says no_empty_root && says no_namespaces'
kill -INT "$recorder"
wait $job
check "... and ends in order" ended_idle $? "$work/user/err"
control=$work/control

# A kernel that gives none, here by a limit, which holds in a user namespace alone.
refused=(unshare --user --map-root-user --mount sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' sh)
if "${refused[@]}" true 2>/dev/null; then
	check "a kernel that refuses a network: it records" record refused "${refused[@]}"
	check "... in an empty root" empty_root
	check "... and in the host's network, which status says" eval 'says no_namespaces && ! says no_empty_root'
	check "... in its text, too" text 'it has the network and the IPC of the host'
	check "... all ends in order" ended
	check "... its log says it" grep -q "$warning" "$work/refused.err"
	check "... so does its trace" noted
	check "... doctor says it, with the remedy" eval '"${refused[@]}" "$xvtrace" doctor --json |
		jq -e ".empty_root and (.namespaces | not) and any(.problems[]; .fix | contains(\"max_net_namespaces\"))" >/dev/null'
else
	echo "skip - a kernel that refuses a network: no user namespaces here"
fi
[ $failures -eq 0 ]
