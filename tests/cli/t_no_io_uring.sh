#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Where io_uring is refused, each command says what refuses it, and does not blame a sysctl that allows it.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
refuse=$BUILD/tests/tools/xvt-refuse

"$refuse" EPERM true
if [ $? -eq 77 ]; then
	echo "skip - seccomp filters cannot be installed here"
	exit 0
fi
sysctl=$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)
"$xvtrace" region create "$work/g" --size 1M --rings 1 >/dev/null

# fails ERROR TEXT COMMAND...: with that error COMMAND says TEXT of io_uring, ends with 1 and writes no trace
fails() {
	local error=$1 text=$2
	shift 2
	"$refuse" "$error" "$xvtrace" "$@" >"$work/out" 2>"$work/err" </dev/null
	[ $? -eq 1 ] && grep -qE "^xvtrace: io_uring: .*$text" "$work/err" && [ ! -e "$work/t.xvt" ] && return
	cat "$work/err"
	return 1
}

# doctor_says ERROR TEXT: an error, and in what it says
doctor_says() {
	"$refuse" "$1" "$xvtrace" doctor --json >"$work/doctor"
	[ $? -eq 1 ] && jq -e --arg t "$2" '.io_uring == false and
		any(.problems[]; .blocks and ("\(.what); \(.fix)" | test($t)))' "$work/doctor" >/dev/null && return
	jq -c .problems "$work/doctor"
	return 1
}

# all TEXT ERROR PATTERN: every command that needs io_uring
all() {
	check "$1: record" fails "$2" "$3" record -q -o "$work/t.xvt" -r g="$work/g" --duration 1
	check "$1: record --drain io_uring" fails "$2" "$3" record -q -o "$work/t.xvt" -r g="$work/g" --drain io_uring --duration 1
	check "$1: snapshot" fails "$2" "$3" snapshot -o "$work/t.xvt" -r g="$work/g"
	check "$1: salvage" fails "$2" "$3" salvage "$work/g" -o "$work/t.xvt"
	check "$1: region serve" fails "$2" "$3" region serve "$work/g" --socket "$work/s" --vectors 1
	check "$1: doctor" doctor_says "$2" "$3"
}

case $sysctl in
1 | 2) all "EPERM, sysctl $sysctl" EPERM "kernel.io_uring_disabled is $sysctl" ;;
*) all "EPERM, no sysctl forbids it" EPERM 'not because of a sysctl.*seccomp.*allows io_uring_setup' ;;
esac
if [ -n "$sysctl" ]; then
	all "ENOSYS, though the kernel has io_uring" ENOSYS 'this kernel has io_uring, but a seccomp filter'
else
	all "ENOSYS" ENOSYS 'no io_uring, or a seccomp filter'
fi
check "ENOMEM: record" fails ENOMEM 'RLIMIT_MEMLOCK.*ulimit -l' record -q -o "$work/t.xvt" -r g="$work/g" --duration 1
check "EACCES: record" fails EACCES 'security module' record -q -o "$work/t.xvt" -r g="$work/g" --duration 1

exit $((failures > 0))
