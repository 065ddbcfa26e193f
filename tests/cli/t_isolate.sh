#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# The empty root of a recorder, its network and IPC, and its user: it has them with each loop, and where it lacks one, doctor and
# status say so; log and trace, too, where the kernel refused what the recorder may make.
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
"$xvtrace" region create "$work/armed" --size 256K --rings 1 --overwrite || exit 1
"$BUILD/xvt-emit" "$work/armed" --count 100000000 --rate 1000 >/dev/null 2>&1 &
pids+=($!)

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
# own_user PID: each of its threads has one user and one group with all IDs, which are not root's, no other group, no capability.
# Prints the user.
own_user() {
	awk '$1 ~ /^[UG]id:$/ { for (i = 2; i <= 5; i++) if (!$i || $i != $2) exit 1 }
		$1 == "Groups:" && NF > 1 { exit 1 }
		$1 ~ /^Cap(Inh|Prm|Eff|Amb):$/ && $2 !~ /^0+$/ { exit 1 }
		$1 == "Uid:" { uid = $2 } END { print uid }' /proc/"$1"/task/*/status
}
warning='sandbox: warning: the recorder keeps .*, as it could get no other'
noted() { "$xvtrace" verify --notes "$work/$name.xvt" | grep -q 'the recorder keeps .*, as it could get no other'; }

alone() {
	local uid
	uid=$(own_user "$recorder") && ! getent passwd "$uid" >/dev/null && [ "$uid" -ne 65534 ] && [ "$(pgrep -u "$uid")" = "$recorder" ]
}
for loop in io_uring epoll; do
	[ $loop = epoll ] || "$xvtrace" doctor --json | jq -e .io_uring >/dev/null || continue
	check "$loop: it records" record $loop env XVTRACE_LOOP=${loop/io_uring/}
	check "$loop: its root and its folder are removed" empty_root
	check "... and hold nothing, also for root" eval '[ -z "$(ls -A "/proc/$recorder/root/")" ]'
	check "... its network is its own, of each thread" own net
	check "... so is its IPC" own ipc
	check "... its user is its own, of each thread, without capabilities" eval 'own_user "$recorder" >/dev/null'
	check "... nobody else's: neither a user of this host nor another process has it" alone
	check "... no process of it is readable to that user" test "$(stat -c %u "/proc/$recorder/maps")" = 0
	check "... status names no wall that lacks" eval '! says no_empty_root && ! says no_namespaces && ! says no_own_user'
	check "... and tells where it was started" test "$(jq -r '.recorders[0].cwd' "$work/status")" = "$PWD"
	check "... all ends in order" ended
	check "... its file is root's" test "$(stat -c %u:%g "$work/$loop.xvt")" = 0:0
	check "... without a word of it" eval '! grep -q "$warning" "$work/$loop.err" && ! noted'
done
check "no folder of it is left" eval '! ls -d /run/xvtrace-root-* /tmp/xvtrace-root-* 2>/dev/null'
check "doctor says that a recorder has these walls" eval '"$xvtrace" doctor --json | jq -e ".empty_root and .namespaces and .own_user" >/dev/null'

# Two at once: the first has chosen its user, and has not become it yet, since its opener stands still.
begun=$work/begun
STOP_AT=probe STOP_MARK=$begun LD_PRELOAD=$BUILD/tests/tools/xvt-stop.so "$xvtrace" record -q -o "$work/first.xvt" -r armed="$work/armed" \
	--join-timeout 0 --control "$work/first" 2>"$work/first.err" &
first=$!
pids+=($first)
poll test -e "$begun"
check "another begins meanwhile" record second env
check "... with another user" eval 'one=$(awk "/^Uid:/ { print \$4 }" "/proc/$first/status") && two=$(own_user "$recorder") &&
	[ "$one" -ge 65520 ] && [ "$two" -ge 65520 ] && [ "$one" -ne "$two" ]'
kill -CONT $(pgrep -P $first)
check "... and ends in order" ended
poll "$xvtrace" status --control "$work/first" >/dev/null 2>&1
kill -INT $first
wait $first
check "... so does the first" ended_idle $? "$work/first.err"

# Without the capabilities, as in a container or the unit.
without=(setpriv "--bounding-set=-sys_admin,-sys_chroot,-setuid" "--inh-caps=-sys_admin,-sys_chroot,-setuid")
check "without the capabilities: it records" record without "${without[@]}"
check "... in the host's root and network, as root, which status says" eval 'says no_empty_root && says no_namespaces && says no_own_user'
check "... in its text, too" text "it keeps the host's root directory, the host's network and IPC, its caller's user (docs/security.md)"
check "... all ends in order" ended
check "... the log says nothing: it is as it has to be" eval '! grep -q "$warning" "$work/without.err" && ! noted'
check "... doctor says so, as no problem" eval '"${without[@]}" "$xvtrace" doctor --json |
	jq -e "(.empty_root or .namespaces or .own_user or any(.problems[]; .what | contains(\"recorder keeps\"))) | not" >/dev/null'

# Another user's recorder.
user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
install -d -o 65534 "$work/user" && rm -f "$work/user/"* && cp "$work/g" "$work/user/g" && chown 65534 "$work/user/g"
user "$xvtrace" record -q -o "$work/user/t.xvt" -r g="$work/user/g" --join-timeout 0 --control "$work/user/control" 2>"$work/user/err" &
job=$! control=$work/user/control name=user/t
pids+=($job)
check "another user than root records" poll answers
recorder=$(jq '.recorders[0].pid' "$work/status")
check "... its status says what it keeps" eval 'says no_empty_root && says no_namespaces && says no_own_user'
check "... it has its caller's user" test "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$recorder/status")" = '65534 65534 65534 65534'
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
	check "... a user namespace has one user" says no_own_user
	check "... in its text, too" text "it keeps the host's network and IPC, its caller's user"
	check "... all ends in order" ended
	check "... its log says it" grep -q "$warning" "$work/refused.err"
	check "... so does its trace" noted
	check "... doctor says it, with the remedy" eval '"${refused[@]}" "$xvtrace" doctor --json |
		jq -e ".empty_root and (.namespaces | not) and any(.problems[]; .fix | contains(\"max_net_namespaces\"))" >/dev/null'
else
	echo "skip - a kernel that refuses a network: no user namespaces here"
fi
# A recorder finds its user in /etc/passwd; here in one of its own.
passwd() {
	cat /etc/passwd "$work/users" >"$work/passwd"
	[ "$(unshare --mount mount --bind "$work/passwd" /etc/passwd 2>&1)" = "" ]
}
there=(unshare --mount sh -c 'mount --bind "$1" /etc/passwd && shift && exec "$@"' sh "$work/passwd")
echo 'xvtrace:x:61999:61998::/nonexistent:/usr/sbin/nologin' >"$work/users"
if passwd; then
	check "with a user xvtrace: it records" record named "${there[@]}"
	check "... as that" test "$(own_user "$recorder")" = 61999
	check "... in its group" grep -qP '^Gid:(\t61998){4}$' "/proc/$recorder/status"
	check "... all ends in order" ended
	for uid in $(seq 65520 65533); do echo "u$uid:x:$uid:$uid::/:/bin/sh"; done >"$work/users"
	passwd
	check "all users are taken: it records" record taken "${there[@]}"
	check "... as root, which status says" eval 'says no_own_user && ! says no_empty_root && ! says no_namespaces'
	check "... without a capability" awk '$1 == "CapPrm:" && $2 !~ /^0+$/ { exit 1 }' "/proc/$recorder/status"
	check "... all ends in order" ended
	check "... its log says it" grep -q "$warning" "$work/taken.err"
	check "... so does its trace" noted
	check "... doctor says it, with the remedy" eval '"${there[@]}" "$xvtrace" doctor --json |
		jq -e ".empty_root and (.own_user | not) and any(.problems[]; .fix | contains(\"useradd\"))" >/dev/null'
else
	echo "skip - a user xvtrace: no mount namespaces here"
fi

# So has each child that parses what guests wrote: it stops when it has become that user.
install -d -m 1777 "$work/marks"
parser() { # NAME
	local mark=$work/marks/$1 uid
	"$xvtrace" status --json --control "$control" >/dev/null 2>&1 && return 1
	STOP_AT="user of $1" STOP_MARK=$mark LD_PRELOAD=$BUILD/tests/tools/xvt-stop.so "$xvtrace" record -q -o "$work/$1.d/" -r g="$work/g" \
		-r armed="$work/armed" --flight-recorder armed --snapshot-when 'event text txet == 1' --compress idle --join-timeout 0 \
		--control "$control" 2>"$work/$1.err" &
	job=$!
	pids+=($job)
	poll answers && recorder=$(jq '.recorders[0].pid' "$work/status") && uid=$(own_user "$recorder") || return
	poll records || return
	[ "$1" != xvtrace-packer ] || "$xvtrace" control --control "$control" rotate >/dev/null || return
	if [ "$1" = xvtrace-flight ]; then
		"$xvtrace" control --control "$control" snapshot >/dev/null 2>&1 &
		pids+=($!)
	fi
	poll stops "$mark" "$uid" && child=$(pgrep -u "$uid" | grep -vx "$recorder") && kill -CONT $child
}
records() { answers && jq -e '[.. | objects | .events? | numbers] | any(. > 0)' "$work/status" >/dev/null; }
stops() { [ -e "$1" ] && pgrep -u "$2" | grep -vx "$recorder" | grep -q . && [ "$(stat -c %u "$1")" = "$2" ]; }
for name in xvtrace-flight xvtrace-packer look; do
	check "the process $name of a recorder has its user" parser $name
	kill -INT "$recorder"
	wait $job
	status=$?
	check "... and the recording ends in order" eval '[ $status -eq 0 ] || ! sed "s/^/# /" "$work/$name.err"'
done

# Its helpers, which open files, can be ended by it. A command has all of root's.
dir=$work/set
"$xvtrace" record -q -o "$dir/" -r g="$work/g" -r armed="$work/armed" --flight-recorder armed --snapshot-when 'event text' --compress idle \
	--join-timeout 0 --control "$control" -- sh -c 'id -u; id -g; grep ^Cap /proc/self/status; exec sleep 1000' 2>"$work/set.err" >"$work/command" &
job=$!
pids+=($job)
check "one with helpers and a command records" poll answers
recorder=$(jq '.recorders[0].pid' "$work/status")
helpers() {
	local child uid
	uid=$(own_user "$recorder") || return
	for child in $(pgrep -P "$recorder" xvtrace); do
		awk -v uid="$uid" '$1 == "Uid:" && ($2 || $3 || $4 != uid) { exit 1 }' "/proc/$child/status" || return
	done
}
check "... each helper is root, and this user may end it" helpers
poll eval '[ "$(wc -l <"$work/command")" -ge 7 ]'
check "... its command has the user and the rights of the caller" diff "$work/command" <(id -u && id -g && grep ^Cap /proc/self/status)
command=$(pgrep -P "$recorder" -x sleep)
check "... it takes a snapshot" eval '"$xvtrace" control --control "$control" snapshot >/dev/null'
kill -INT "$recorder"
wait $job
check "... and ends in order" test $? -eq 0
check "... with its command" eval '! kill -0 "$command" 2>/dev/null'
check "... without a warning" eval '! grep -E "warning|error" "$work/set.err"'
[ $failures -eq 0 ]
