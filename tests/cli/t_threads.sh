#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# export, analyze, summary and query by several threads: the same bytes, messages and exit status as by one.
set -u
. "$(dirname "$0")/lib.sh"
trap 'cleanup 2>/dev/null' EXIT
tools=$BUILD/tests/tools

# digest PATH: of a file or of all files of a folder. trace.dat has the names of tasks at its begin, in an order that
# no two runs have in common: of that part, which version 7 compresses, the bytes are compared without their order.
digest() {
	local f
	find "$1" -type f | sort | while read -r f; do
		echo "${f#"$1"}"
		case $f in
		*.dat)
			head -c 262144 "$f" | od -An -v -tu1 -w1 | sort | uniq -c | sha256sum
			tail -c +262145 "$f" | sha256sum
			;;
		*) sha256sum <"$f" ;;
		esac
	done
}
# by N COMMAND...: what the command writes by so many threads; the export's OUT is $work/to
by() {
	local n=$1 command=$2
	shift 2
	rm -rf "$work/to"
	"$xvtrace" "$command" --threads "$n" "$@" >"$work/out" 2>"$work/err"
	echo "exit $?" >>"$work/err"
	[ -e "$work/to" ] && digest "$work/to" >>"$work/out"
	cat "$work/out" "$work/err"
}
# same COMMAND...: by 2, 3 and 7 threads as by one; something is written
same() {
	local n
	by 1 "$@" >"$work/one"
	[ "$(wc -c <"$work/one")" -gt 20 ] || return 1
	for n in 2 3 7; do
		by $n "$@" >"$work/several"
		cmp "$work/one" "$work/several" || return 1
	done
}
# all NAME FILE...: of a trace, or several as one
all() {
	local name=$1 format
	shift
	for format in text jsonl ctf "dat --dat-version 6" perfetto; do
		# shellcheck disable=SC2086
		check "$name: export to $format" same export --format $format "$@" "$work/to"
	done
	check "$name: the times of the recording" same export --format jsonl --no-reclock "$@" "$work/to"
	check "$name: records about rings, too" same export --format text --all "$@" "$work/to"
	check "$name: analyze" same analyze cpu,stalls,sched,irq,timer,latency,losses --json "$@"
	check "$name: summary" same summary --json "$@"
	check "$name: query" same query --csv "$@" 'SELECT name, count(*), max(ts), max(task) FROM events GROUP BY name'
	check "$name: a pass of analyze/, and a join" same query --json "$@" \
		'SELECT count(*), sum(dur) FROM slices; SELECT count(*) FROM machines m JOIN events e ON e.vm = m.name'
}

# Traces from 4 MiB on have threads. These have all kinds of records; tasks that change their names; no format.
"$tools/xvt-mktrace" 200000 0 "$work/made.xvt" >/dev/null || exit 1
"$tools/xvt-mktrace" 200000 1 "$work/killed.xvt" >/dev/null || exit 1
"$tools/xvt-bigtrace" ftrace 16 200000 "$work/big.xvt" zstd || exit 1
"$tools/xvt-bigtrace" u64 64 300000 "$work/u64.xvt" || exit 1
check "they have threads" eval '[ "$(stat -c %s "$work/made.xvt")" -ge $((4 << 20)) ] && [ "$(stat -c %s "$work/u64.xvt")" -ge $((4 << 20)) ]'
all made "$work/made.xvt"
all killed "$work/killed.xvt"
all big "$work/big.xvt"
all u64 "$work/u64.xvt"
cp "$work/made.xvt" "$work/bad.xvt"
# In the middle of its records.
printf 'damage' | dd of="$work/bad.xvt" bs=1 seek=$(($(stat -c %s "$work/bad.xvt") / 2)) conv=notrunc status=none
all damaged "$work/bad.xvt"
check "which is said" eval 'by 2 analyze cpu "$work/bad.xvt" >/dev/null; grep -q damaged "$work/err"'
# A folder of files, and one of which a file is missing.
"$xvtrace" region create "$work/g" --size 1M --rings 2 || exit 1
"$BUILD/xvt-emit" "$work/g" --rings 2 --count 100000000 --size 64 --rate 10000 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record -q -o "$work/set/" -r g="$work/g" --rotate-time 0.2 2>"$work/errors" &
pids+=($!)
has_files() { [ "$(find "$work/set" -name '*.xvt' 2>/dev/null | wc -l)" -ge 5 ]; }
check "there are files" poll has_files
kill "${pids[-1]}" && wait "${pids[-1]}"
for what in "a folder" "a folder with a missing file"; do
	check "$what" same export --format jsonl "$work/set" "$work/to"
	check "$what: summary" same summary --json "$work/set"
	check "$what: analyze" same analyze losses --json "$work/set"
	rm -f "$work/set/00000003.xvt"
done
check "without the sandbox" eval 'XVTRACE_SANDBOX=off same export --format jsonl "$work/made.xvt" "$work/to"'
check "a choice" same export --format jsonl -e 'sched*' --comm '*a*' "$work/made.xvt" "$work/to"
check "no more than 1000 events" same export --format jsonl -n 1000 "$work/made.xvt" "$work/to"
check "the last 1000" same export --format text -n -1000 "$work/made.xvt" "$work/to"
check "a full disk" same export --format text "$work/made.xvt" /dev/full
check "no trace" same export --format text "$work/no.xvt" "$work/to"
for command in "export --format text" "analyze cpu" summary "query"; do
	# shellcheck disable=SC2086
	check "$command: no threads" eval '! "$xvtrace" $command --threads 0 "$work/made.xvt" x 2>"$work/err" && grep -q -- --threads "$work/err"'
done
