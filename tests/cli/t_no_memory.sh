#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# One allocation of a recorder fails, each in a recording of its own: the recording goes on, or it
# ends with a line, and the trace is good. It neither hangs, dies of a signal, nor counts wrongly.
# STEP: every how many allocations (1: `make proof-no-memory`).
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_RUN_DIR"
step=${STEP:-15}
LIMIT_S=60 # of a recording of half a second

# record NUMBER OPTION...: a recording of which that allocation fails; its exit status is $status
record() {
	local number=$1
	shift
	rm -rf "$work/out" "$work/out.xvt" "$work/g" "$work/failed"
	"$xvtrace" region create "$work/g" --size 1M --rings 2 || exit 1
	"$BUILD/xvt-emit" "$work/g" --rings 2 --count 1200 --rate 4000 --size 200 --wait 3 >"$work/emit" 2>&1 &
	local emit=$!
	XVT_NO_MEMORY=$number XVT_NO_MEMORY_LOG=$work/failed timeout -s KILL $LIMIT_S \
		"$BUILD/tests/tools/xvt-no-memory" record -q -r g="$work/g" --join-timeout 1 --duration 0.4 "$@" 2>"$work/err"
	status=$?
	wait $emit
}
# said: a line says that memory was short, or that the machine's events had not come by then
said() { grep -qiE "memory|allocate|: no event of it came: " "$work/err"; }
# good OUTPUT: what it wrote, if it wrote something. One that could not start may leave an empty file.
good() { [ ! -e "$1" ] || [ $status -ne 0 -a ! -s "$1" ] || "$xvtrace" verify "$1" >"$work/verify" 2>&1 || grep -qE "no event|without files of a trace" "$work/verify"; }
attempted() { awk 'match($0, / attempted=[0-9]+/) { n += substr($0, RSTART + 11, RLENGTH - 11) } END { print n + 0 }' "$work/emit"; }
# whole OUTPUT: an end without an error has all that was attempted, or counts it
whole() { [ $status -ne 0 ] || adds_up "$1" "$(attempted)"; }
# ends OUTPUT
ends() {
	[ $status -eq 0 ] || { [ $status -eq 1 ] && said; } || return 1
	good "$1" && whole "$1"
}

# all_of NAME OUTPUT OPTION...: until an allocation is not reached
all_of() {
	local name=$1 output=$2 number tried=0 bad=0 missed=0
	shift 2
	for ((number = 1 + RANDOM % step;; number += step)); do
		record "$number" -o "$@"
		# A recording of a busy machine makes fewer.
		[ -s "$work/failed" ] || missed=$((missed + 1))
		[ $missed -lt 3 ] || break
		[ -s "$work/failed" ] || continue
		tried=$((tried + 1))
		ends "$output" && continue
		bad=$((bad + 1))
		echo "# $name: allocation $number, $(head -n 1 "$work/failed"): exit status $status"
		head -n 3 "$work/err" "$work/verify" "$work/emit" | sed 's/^/# /'
	done
	echo "# $name: $tried of about $number allocations failed, one in each recording"
	check "$name: each ends in order or says that it does not, and its trace is good" test $bad -eq 0
	check "$name: it was tried" test $tried -gt $((30 / step))
}
all_of "a file" "$work/out.xvt" "$work/out.xvt"
all_of "a folder" "$work/out" "$work/out/" --rotate-time 0.1 --compress idle --snapshot-when 'event text txet == 1'
all_of "a compressed file, put in order later" "$work/out.xvt" "$work/out.xvt" -z 1 --order later
# An export that ends with an error, because an allocation failed: the file is whole, or not there, or
# said to be incomplete.
{
	printf 'host 2\nguest g1 1 2000\nthread 501 g1:vcpu0\n0 h:0 switch swapper-0 R x-501\n'
	seq 1 100 | awk '{ printf "%d g1:0 mark text%d\n", 10 * $1, $1 }'
} | "$BUILD/tests/tools/xvt-story" "$work/story.xvt" || exit 1
# incomplete FORMAT: until an allocation is not reached; some ended with a part of the file
incomplete() {
	local number rc parts=0
	"$xvtrace" export -q --format "$1" "$work/story.xvt" "$work/whole" || return 1
	for ((number = 1; ; number++)); do
		rm -f "$work/part" "$work/failed"
		XVT_NO_MEMORY=$number XVT_NO_MEMORY_LOG=$work/failed timeout -s KILL $LIMIT_S \
			"$BUILD/tests/tools/xvt-no-memory" export -q --format "$1" "$work/story.xvt" "$work/part" 2>"$work/err"
		rc=$?
		[ -s "$work/failed" ] || break
		if [ $rc -ne 0 ] && [ -e "$work/part" ] && ! cmp -s "$work/part" "$work/whole"; then
			grep -q "incomplete" "$work/err" || { cat "$work/err"; return 1; }
			parts=$((parts + 1))
		fi
	done
	[ $number -gt 50 ] && [ $parts -gt 0 ]
}
check "export to Perfetto says of a part of a file that it is one" incomplete perfetto

[ $failures -eq 0 ]
