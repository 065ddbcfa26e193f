#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# stat by several threads: the same bytes, messages and exit status as by one, of any trace; under the sandbox.
set -u
. "$(dirname "$0")/lib.sh"
trap 'cleanup 2>/dev/null' EXIT
tools=$BUILD/tests/tools

# -- in parts of any size, which the command does not make of a small trace

# parts WAY FILE...: the statistics are those of one reader; WAY (a pattern) is what comes out for most numbers of parts
parts() {
	local way=$1
	shift
	"$tools/xvt-parts" "${events:-200}" "$@" >"$work/out" 2>"$work/err" &&
		[[ $(sort "$work/out" | sed 's/.*: //' | sort | uniq -c | sort -n | tail -n 1 | awk '{ print $2 }') =~ ^($way)$ ]] && return
	sed 's/^/# /' "$work/out" "$work/err" | head -n 20
	return 1
}
"$tools/xvt-mktrace" 20000 0 "$work/made.xvt" >/dev/null || exit 1
"$tools/xvt-mktrace" 20000 1 "$work/killed.xvt" >/dev/null || exit 1
check "a trace with all kinds of events" parts parts "$work/made.xvt"
check "one that a killed recorder left" parts parts "$work/killed.xvt"
check "one of an earlier version, whose parts share their records" eval 'events=20 parts again tests/abi/trace-v2.xvt'
check "one without events" eval '"$tools/xvt-mktrace" 0 0 "$work/none.xvt" >/dev/null && parts alone "$work/none.xvt"'
for kind in u64 ftrace; do
	for how in "" killed zstd; do
		# shellcheck disable=SC2086
		"$tools/xvt-bigtrace" $kind 16 100000 "$work/big.xvt" $how || exit 1
		check "a large one, $kind ${how:-ended}" eval 'events=5000 parts parts "$work/big.xvt"'
	done
done
# A folder of two recorders, of which the first was killed, so that the order of events begins anew; then two recorders'
# traces as one.
for vm in g h; do
	"$xvtrace" region create "$work/$vm" --size 1M --rings 2 || exit 1
	"$BUILD/xvt-emit" "$work/$vm" --rings 2 --count 100000000 --size 64 --rate 10000 >/dev/null 2>&1 &
	pids+=($!)
done
files() { find "$work/set" -name '*.xvt' 2>/dev/null | wc -l; }
has_files() { [ "$(files)" -ge "$1" ]; }
record() { # FILES SIGNAL: until there are so many
	"$xvtrace" record -q -o "$work/set/" -r g="$work/g" -r h="$work/h" --rotate-time 0.2 2>>"$work/errors" &
	pids+=($!)
	check "there are $1 files" poll has_files "$1"
	kill "-$2" "${pids[-1]}"
	wait "${pids[-1]}" 2>/dev/null
}
record 5 KILL
record 10 TERM
check "a folder of two recordings" parts parts "$work/set"
rm "$work/set/00000003.xvt"
check "one with a missing file" parts alone "$work/set"
# record_one VM FILE: until it has enough events for parts, however slow this machine is
has_events() { [ "$("$xvtrace" status --json --control "$work/control" 2>/dev/null | jq '[.recorders[].vms[].rings[].events] | add')" -ge 20000 ] 2>/dev/null; }
record_one() {
	"$xvtrace" record -q -o "$2" -r "$1=$work/$1" --control "$work/control" &
	pids+=($!)
	poll has_events && kill "${pids[-1]}" && wait "${pids[-1]}"
}
record_one g "$work/a.xvt" && record_one h "$work/b.xvt" || exit 1
least=$(($(stat_sum "$work/a.xvt" events) / 20))
check "two traces as one" parts parts "$work/a.xvt" "$work/b.xvt"
for what in swap number byte order time clock; do
	cp "$work/a.xvt" "$work/bad.xvt"
	"$tools/xvt-spoil" "$work/bad.xvt" $what >/dev/null || exit 1
	check "one with a wrong $what" eval 'events=$least parts "$([ $what = byte ] && echo again || echo parts)" "$work/bad.xvt"'
done
size=$(stat -c %s "$work/a.xvt")
# What is damaged there differs from recording to recording: an index, without which one reader counts alone, or events.
for at in 3 5 7 9; do
	cp "$work/a.xvt" "$work/bad.xvt"
	printf 'damage' | dd of="$work/bad.xvt" bs=1 seek=$((size / 10 * at)) conv=notrunc status=none
	check "one that is damaged at $at tenths" eval 'events=$least parts "again|alone" "$work/bad.xvt"'
done
cp "$work/a.xvt" "$work/bad.xvt"
truncate -s $((size / 2)) "$work/bad.xvt"
check "one that is cut" eval 'events=$least parts parts "$work/bad.xvt"'
"$xvtrace" region create "$work/left" --size 1M --rings 2 --overwrite && "$BUILD/xvt-emit" "$work/left" --rings 2 --count 5000 >/dev/null 2>&1
check "a region that was salvaged" eval '"$xvtrace" salvage -q "$work/left" -o "$work/saved.xvt" && parts parts "$work/saved.xvt"'

# -- the command

large=$work/large.xvt
"$tools/xvt-bigtrace" ftrace 64 2500000 "$large" || exit 1
# same FILE OPTION...: bytes, messages and exit status by several threads are those by one
same() {
	local n
	"$xvtrace" stat --threads 1 "$@" >"$work/one" 2>"$work/one.err"
	echo $? >>"$work/one.err"
	for n in 2 3 7; do
		"$xvtrace" stat --threads $n "$@" >"$work/by" 2>"$work/by.err"
		echo $? >>"$work/by.err"
		cmp "$work/one" "$work/by" && cmp "$work/one.err" "$work/by.err" || return 1
	done
}
check "the same by several threads" same "$large"
check "as JSON" same --json "$large"
check "with the bounds of the recording" same --no-reclock "$large"
check "without the sandbox" eval 'XVTRACE_SANDBOX=off same "$large"'
check "the usual number" eval 'cmp <("$xvtrace" stat "$large") "$work/one"'
is_counted() { jq -e '.events == 2500000' "$work/one" >/dev/null; }
check "and all events are counted" eval 'same --json "$large" && is_counted'
printf 'damage' | dd of="$large" bs=1 seek=100000000 conv=notrunc status=none
check "the same of a damaged trace" same "$large"
check "which is said" grep -q 'damaged in 1 place' "$work/by.err"
check "no trace" same "$work/no.xvt"
check "no threads" eval '! "$xvtrace" stat --threads 0 "$large" 2>"$work/err" && grep -q -- --threads "$work/err"'
check "too many" eval '! "$xvtrace" stat --threads 65 "$large" 2>"$work/err" && grep -q -- --threads "$work/err"'

# parses N FILE: a command that stands in its parser
parses() {
	XVT_ESCAPE=wait XVT_ESCAPE_STAGE=2 "$tools/xvt-escape" stat --threads "$1" "$2" >/dev/null 2>&1 &
	pids+=($!)
}
has_threads() { [ "$(find "/proc/${pids[-1]}/task" -mindepth 1 -maxdepth 1 | wc -l)" = "$1" ]; }
confined() { [ "$(sed -n 's/^Seccomp:\s*//p' "/proc/${pids[-1]}/task/"*/status | sort | uniq -c | tr -s ' ')" = " $1 2" ]; }
# killed HOW: a parser in a thread that tries it; 31 is SIGSYS
killed() {
	XVT_ESCAPE=$1 XVT_ESCAPE_STAGE=2 XVT_ESCAPE_SKIP=200 XVT_ESCAPE_PATH=$work/escaped "$tools/xvt-escape" stat --threads 3 "$large" >/dev/null 2>"$work/err"
	[ $? -eq $((128 + 31)) ] && [ ! -s "$work/err" ]
} 2>/dev/null # the shell's words on a process that was killed
"$tools/xvt-bigtrace" u64 16 2500000 "$large" || exit 1
parses 3 "$large"
check "a large trace has the threads" poll has_threads 3
if "$xvtrace" doctor --json | jq -e .sandbox >/dev/null; then
	check "all of them are under the filter" poll confined 3
	parses 3 "$work/a.xvt"
	check "a small trace has none" poll confined 1
	for how in socket run fork read write make; do
		check "in a thread: $how: killed" killed $how
	done
else
	echo "skip - the filter: there is no sandbox here"
fi
