#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# One system call of a recorder fails, each in a recording of two guests of its own: the recording goes
# on, or it ends with a line, and the trace is good. It neither hangs, dies of a signal, nor counts wrongly.
# CALLS: how many of them, spread over the recording (0: each; `make proof-no-syscall`).
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_RUN_DIR"
calls=${CALLS:-6}
LIMIT_S=60 # of a recording of half a second
fails=$BUILD/tests/tools/xvt-fail-call
if [ "$("$fails" 1 "$work/failed" /bin/true >/dev/null 2>&1; echo $?)" != 0 ]; then
	echo "skip - tracing a process is not allowed here"
	exit 77
fi

# record NUMBER OPTION...: a recording of which that call fails; its exit status is $status
record() {
	local number=$1 name emit=()
	shift
	rm -rf "$work/out" "$work/out.xvt" "$work/failed"
	for name in g h; do
		rm -f "$work/$name"
		"$xvtrace" region create "$work/$name" --size 1M --rings 2 || exit 1
		"$BUILD/xvt-emit" "$work/$name" --rings 2 --count 600 --rate 4000 --size 200 --wait 3 >"$work/emit.$name" 2>&1 &
		emit+=($!)
	done
	timeout -s KILL $LIMIT_S "$fails" "$number" "$work/failed" ${only:+"call=$only"} \
		"$xvtrace" record -q -r g="$work/g" -r h="$work/h" --join-timeout 1 --duration 0.3 "$@" 2>"$work/err"
	status=$?
	wait "${emit[@]}"
}
only= # a number: of the calls that count; else each does
# good OUTPUT: what it wrote, if it wrote something. One that could not start may leave an empty file.
good() { [ ! -e "$1" ] || [ $status -ne 0 -a ! -s "$1" ] || "$xvtrace" verify "$1" >"$work/verify" 2>&1 || grep -qE "no event|without files of a trace" "$work/verify"; }
attempted() { awk 'match($0, / attempted=[0-9]+/) { n += substr($0, RSTART + 11, RLENGTH - 11) } END { print n + 0 }' "$work"/emit.?; }
# whole OUTPUT: an end without an error has all that was attempted, or counts it
whole() { [ $status -ne 0 ] || adds_up "$1" "$(attempted)"; }
# ends OUTPUT: 137 without a line of the recorder's is the time limit
ends() {
	[ $status -eq 0 ] || { [ $status -eq 1 ] && [ -s "$work/err" ]; } || return 1
	good "$1" && whole "$1"
}

# all_of NAME OUTPUT OPTION...: until a call is not reached
all_of() {
	local name=$1 output=$2 number tried=0 bad=0 missed=0 step=1 all
	shift 2
	# So many are made: by a search, since each recording differs a little.
	if [ "$calls" -gt 0 ]; then
		for ((all = 64; all < 100000; all *= 2)); do
			record $all -o "$@"
			[ -s "$work/failed" ] || break
			tried=$((tried + 1))
			ends "$output" || { bad=$((bad + 1)) && tell "$name" $all; }
		done
		step=$((all / 2 / calls + 1))
	fi
	for ((number = 1 + RANDOM % step;; number += step)); do
		record "$number" -o "$@"
		# A recording of a busy machine makes fewer.
		[ -s "$work/failed" ] || missed=$((missed + 1))
		[ $missed -lt 2 ] || break
		[ -s "$work/failed" ] || continue
		tried=$((tried + 1))
		ends "$output" || { bad=$((bad + 1)) && tell "$name" "$number"; }
	done
	echo "# $name: $tried of about $number system calls failed, one in each recording"
	check "$name: each ends in order or says that it does not, and its trace is good" test $bad -eq 0
	check "$name: it was tried" test $tried -gt 5
}
# tell NAME NUMBER
tell() {
	echo "# $1: $(head -n 1 "$work/failed"): exit status $status"
	head -n 3 "$work/err" "$work/verify" | sed 's/^/#   /'
}
# The file cannot be emptied (ftruncate): nothing is in it. There were zeros, as many as its first chunks have bytes.
only=77
rm -f "$work/out.xvt"
record 1 -o "$work/out.xvt"
check "a file that cannot be emptied: an error" test $status -eq 1 -a -s "$work/failed"
check "nothing is in it" test ! -s "$work/out.xvt"
only=
all_of "a file" "$work/out.xvt" "$work/out.xvt"
all_of "a folder" "$work/out" "$work/out/" --rotate-time 0.1
XVTRACE_LOOP=epoll all_of "a file, without io_uring" "$work/out.xvt" "$work/out.xvt"
[ $failures -eq 0 ]
