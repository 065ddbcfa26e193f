#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Where io_uring is refused, epoll does its work. A note says what refuses it, and does not blame a sysctl that
# allows it. Only --drain io_uring is an error.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
refuse=$BUILD/tests/tools/xvt-refuse
note='^xvtrace: note: .*%s.*; epoll does its work$'

"$refuse" EPERM true
if [ $? -eq 77 ]; then
	echo "skip - seccomp filters cannot be installed here"
	exit 0
fi
sysctl=$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)

# said STATUS WANTED PATTERN: that exit status was WANTED, and one line of stderr is like PATTERN
said() {
	[ "$1" -eq "$2" ] && [ "$(grep -cE "$3" "$work/err")" -eq 1 ] && return
	echo "exit status $1, wanted $2 and: $3" && cat "$work/err"
	return 1
}

# records ERROR TEXT: 3,000 events with that error for io_uring, all of them; a note says TEXT
records() {
	rm -f "$work/g"
	"$xvtrace" region create "$work/g" --size 1M --rings 1 >/dev/null
	"$refuse" "$1" "$xvtrace" record -o "$work/t.xvt" -r g="$work/g" -- \
		"$BUILD/xvt-emit" "$work/g" --count 3000 --rate 30000 >/dev/null 2>"$work/err" </dev/null
	# shellcheck disable=SC2059
	said $? 0 "$(printf "$note" "$2")" && "$xvtrace" verify "$work/t.xvt" && adds_up "$work/t.xvt" 3000
}

# quiet ERROR: nothing is said with -q
quiet() {
	"$refuse" "$1" "$xvtrace" record -q -o "$work/q.xvt" -r "$work/[g]" --duration 0.1 2>"$work/err" &&
		[ ! -s "$work/err" ]
}

# refused ERROR TEXT: --drain io_uring ends with TEXT, and leaves no trace
refused() {
	rm -f "$work/d.xvt"
	"$refuse" "$1" "$xvtrace" record -o "$work/d.xvt" -r g="$work/g" --drain io_uring --duration 1 2>"$work/err"
	said $? 1 "^xvtrace: --drain io_uring: .*$2" && [ ! -e "$work/d.xvt" ]
}

snapshots() {
	rm -f "$work/over"
	"$xvtrace" region create "$work/over" --overwrite --size 1M --rings 1 >/dev/null
	"$BUILD/xvt-emit" "$work/over" --count 1000000000 --rate 5000 >/dev/null 2>&1 &
	local writer=$!
	pids+=($writer)
	"$refuse" "$1" "$xvtrace" snapshot -o "$work/s.xvt" -r g="$work/over" >/dev/null 2>"$work/err"
	local status=$?
	kill -9 $writer
	# shellcheck disable=SC2059
	said $status 0 "$(printf "$note" "$2")" && "$xvtrace" verify "$work/s.xvt"
}

salvages() {
	"$refuse" "$1" "$xvtrace" salvage "$work/g" -o "$work/v.xvt" 2>"$work/err" && "$xvtrace" verify "$work/v.xvt"
}

serves() {
	"$refuse" "$1" "$xvtrace" region serve "$work/over" --socket "$work/sock" --vectors 1 >"$work/serving" 2>"$work/err" &
	local server=$!
	pids+=($server)
	poll grep -q serving "$work/serving" && "$xvtrace" record -q -o "$work/b.xvt" --duration 0.2 -r g="$work/over" \
		--doorbell g="$work/sock"
	local status=$?
	kill -TERM $server
	wait $server && [ $status -eq 0 ]
}

# doctor_says ERROR TEXT: a warning
doctor_says() {
	"$refuse" "$1" "$xvtrace" doctor --json >"$work/doctor"
	jq -e --arg t "$2" '.io_uring == false and
		any(.problems[]; (.blocks | not) and ("\(.what); \(.fix)" | test($t)))' "$work/doctor" >/dev/null && return
	jq -c .problems "$work/doctor"
	return 1
}

# all TEXT ERROR PATTERN WHOLE-PATTERN: every command that uses the loop; the second also says how to get io_uring
all() {
	check "$1: record" records "$2" "$3"
	check "$1: record -q says nothing" quiet "$2"
	check "$1: record --drain io_uring" refused "$2" "$3.*$4"
	check "$1: snapshot" snapshots "$2" "$3"
	check "$1: salvage" salvages "$2"
	check "$1: region serve" serves "$2"
	check "$1: doctor" doctor_says "$2" "$3.*epoll does its work.*$4"
}

case $sysctl in
1 | 2) all "EPERM, sysctl $sysctl" EPERM "kernel.io_uring_disabled is $sysctl" 'kernel.io_uring_disabled=0' ;;
*) all "EPERM, no sysctl forbids it" EPERM 'not because of a sysctl.*seccomp' 'allows io_uring_setup' ;;
esac
if [ -n "$sysctl" ]; then
	check "ENOSYS, though the kernel has io_uring" records ENOSYS 'this kernel has io_uring, but a seccomp filter'
else
	check "ENOSYS" records ENOSYS 'no io_uring, or a seccomp filter'
fi
check "ENOMEM" records ENOMEM 'RLIMIT_MEMLOCK'
check "EACCES" records EACCES 'security module'
check "EINVAL" records EINVAL 'too old'
too_many() {
	rm -f "$work/m.xvt"
	"$refuse" EMFILE "$xvtrace" record -o "$work/m.xvt" -r g="$work/g" --duration 1 2>"$work/err"
	said $? 1 '^xvtrace: event loop: .*RLIMIT_NOFILE.*ulimit -n' && [ ! -e "$work/m.xvt" ]
}
check "too many open files stop both kinds" too_many

exit $((failures > 0))
