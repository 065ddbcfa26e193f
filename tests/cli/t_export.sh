#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The command line of export: formats, the range, and the older names of these options; progress, ^C,
# and the memory that an export takes.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
trace=$work/t.xvt

"$BUILD/tests/tools/xvt-mktrace" 300 0 "$trace" >/dev/null || exit 1
"$xvtrace" report "$trace" >"$work/all" || exit 1
from=$(awk 'NR == 40 { print $1 }' "$work/all")
to=$(awk 'NR == 200 { print $1 }' "$work/all")
"$xvtrace" report --from "$from" --to "$to" "$trace" >"$work/part" || exit 1
awk "\$1 <= \"$to\"" "$work/all" >"$work/begin"

# same WANTED OPTION...: export with these options writes that file, and no word on stderr but on events whose format the
# trace does not have
same() {
	local want=$1
	shift
	"$xvtrace" export "$@" "$trace" "$work/out" 2>"$work/err" && ! grep -qv 'events have no format' "$work/err" && cmp -s "$want" "$work/out"
}
check "--format" same "$work/all" --format text
check "--format with a range as in report" same "$work/part" --format text --from "$from" --to "$to"
check "--to FORMAT" same "$work/all" --to text
check "--to FORMAT with a range by its older names" same "$work/part" --to text --begin "$from" --end "$to"
check "--to FORMAT with --from" same "$work/part" --to text --from "$from" --end "$to"
check "--format and --to as a time alone" same "$work/begin" --format text --to "$to"

# refused WORDS OPTION...: wrong usage, said in one line, and nothing is written
refused() {
	local words=$1
	shift
	rm -f "$work/out"
	"$xvtrace" export "$@" "$trace" "$work/out" 2>"$work/err"
	[ $? -eq 2 ] && [ ! -e "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qE -- "$words" "$work/err"
}
check "a format in both" refused "ctf: not a time" --format text --to ctf
check "an end of the range twice" refused "are the same; give one" --format text --to "$to" --end "$to"
check "a begin of the range twice" refused "are the same; give one" --format text --from "$from" --begin "$from"
check "no format, but a range" refused "give --format" --to "$to"
check "an unknown format" refused "no such format; there are: .*jsonl" --format xml
check "an unknown format by its older name" refused "no such format; there are: .*jsonl" --to xml
check "a version of trace.dat that is none" refused "there are 6 and 7" --format dat --dat-version 5
check "a version of trace.dat for another format" refused "is for --format dat" --format jsonl --dat-version 6

# --help names what an unknown format's message names.
listed() {
	local name
	"$xvtrace" export --format xml "$trace" - 2>"$work/err"
	"$xvtrace" export --help >"$work/help" || return 1
	for name in $(sed 's/.*there are: //; s/,//g' "$work/err"); do
		grep -qE "^  $name +.*OUT: " "$work/help" || return 1
	done
	[ "$(grep -c 'OUT: ' "$work/help")" -ge 3 ]
}
check "--help lists the formats" listed

# A trace that does not fit in a pipe: while the test reads no more, its export waits.
"$BUILD/tests/tools/xvt-bigtrace" u64 4 400000 "$work/big.xvt" || exit 1
mkfifo "$work/pipe" "$work/loud" "$work/quiet"

# unread: an export to a FIFO that nobody reads ends by the first signal
unread() {
	"$xvtrace" export --format jsonl "$work/big.xvt" "$work/unread" 2>/dev/null &
	pids=($!)
	poll grep -q "wait_for_partner\|fifo_open" "/proc/${pids[0]}/stack" || return
	kill -TERM "${pids[0]}"
	wait "${pids[0]}"
	[ $? -eq 143 ] && pids=()
}
if [ "$(id -u)" -eq 0 ]; then
	mkfifo "$work/unread"
	check "to a FIFO without a reader: the first SIGTERM ends it" unread
fi

# stopped SIGNAL NAME: ends an export in the middle; whole lines, which the message counts, and exit 1
stopped() {
	local status n
	# A job in the background of a script ignores SIGINT, if nothing sets it back.
	env --default-signal=INT "$xvtrace" export --format jsonl "$work/big.xvt" "$work/pipe" 2>"$work/err" &
	pids=($!)
	exec 9<"$work/pipe"
	head -c 300000 <&9 >"$work/out"
	kill -"$1" "${pids[0]}"
	cat <&9 >>"$work/out"
	exec 9<&-
	wait "${pids[0]}"
	status=$?
	pids=()
	n=$(wc -l <"$work/out")
	[ $status -eq 1 ] && [ "$n" -gt 1000 ] && [ "$n" -lt 400000 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
		grep -q "stopped by $2 after $n events; it is complete up to [0-9.]*, and readable" "$work/err" &&
		[ "$(jq -c .ts_ns "$work/out" | wc -l)" -eq "$n" ] && return
	echo "# exit $status, $n lines"
	head -n 3 "$work/err"
	return 1
}
check "^C: what was written is whole, and it is said" stopped INT '^C'
check "SIGTERM: the same" stopped TERM SIGTERM
ignored() {
	(trap '' INT && exec "$xvtrace" export --format jsonl "$work/big.xvt" "$work/pipe") 2>"$work/err" &
	pids=($!)
	exec 9<"$work/pipe"
	head -c 300000 <&9 >"$work/out"
	kill -INT "${pids[0]}"
	cat <&9 >>"$work/out"
	exec 9<&-
	wait "${pids[0]}" && [ "$(wc -l <"$work/out")" -eq 400000 ] && [ ! -s "$work/err" ]
}
check "a SIGINT that was ignored from the start is ignored" ignored

# Progress is for a terminal, and not with -q: both exports are read as slowly until one has shown it.
quoted="'$xvtrace' export --format jsonl '$work/big.xvt'"
on_terminal() { # NAME OPTION: an export of this name, with its messages on a terminal of its own
	script -qefc "$quoted $2 '$work/$1' >/dev/null" "$work/$1.tty" >/dev/null 2>&1 </dev/null &
	pids+=($!)
}
shown() {
	head -c 30000 <&8 >/dev/null
	head -c 30000 <&9 >/dev/null
	grep -qE ' s  [0-9]+ events  [0-9.]+ M/s  at [0-9]+% of the trace' "$work/loud.tty"
}
progress() {
	on_terminal loud ""
	on_terminal quiet -q
	exec 8<"$work/loud" 9<"$work/quiet"
	poll shown || return 1
	exec 8<&- 9<&-
	! grep -q 'events' "$work/quiet.tty"
}
if script -qec true /dev/null >/dev/null 2>&1; then
	check "progress on a terminal, none with -q" progress
	wait "${pids[@]}"
	pids=()
else
	echo "skip - progress on a terminal: script(1) gives none here"
fi

# The address space that is enough for a small trace is enough for one of twenty times its size.
"$BUILD/tests/tools/xvt-bigtrace" u64 4 20000 "$work/small.xvt" || exit 1
bounded() { # KIB TRACE FORMAT
	(ulimit -v "$1" && rm -rf "$work/out" && exec "$xvtrace" export --format "$3" "$2" "$work/out") 2>"$work/err"
}
same_memory() {
	local kib
	for ((kib = 8192; kib < 4000000; kib = kib * 9 / 8)); do
		bounded $kib "$work/small.xvt" "$1" && break
	done
	bounded $((kib * 9 / 8)) "$work/big.xvt" "$1" && return
	echo "# $kib KiB for the small trace"
	cat "$work/err"
	return 1
}
if nm "$xvtrace" | grep -q __asan_init; then
	echo "skip - the memory of an export: sanitizers take their own"
else
	for format in $("$xvtrace" export --help | sed -n 's/^  \([a-z0-9]*\) .*OUT: .*/\1/p'); do
		check "memory does not grow with the trace: $format" same_memory "$format"
	done
fi
[ $failures -eq 0 ]
