#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# Damage is told by every command that reads a trace, whatever chunk it is in and whether or not the
# command needs that chunk: on stderr, by the exit status, and in stat's JSON.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
spoil=$BUILD/tests/tools/xvt-spoil

# With marks and run spans, not compressed: a chunk of every type.
"$BUILD/tests/tools/xvt-mktrace" 300 48 "$work/good.xvt" >/dev/null || exit 1

# said STATUS WORDS COMMAND...: that exit status, and WORDS; on stderr one line, and one of a filter without a match
said() {
	local want=$1 words=$2 status
	shift 2
	"$xvtrace" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	# The trace has events without a format, which are told as well.
	sed -i '/ events have no format: /d' "$work/err"
	[ $status -eq "$want" ] && [ "$(wc -l <"$work/err")" -le 2 ] &&
		cat "$work/err" "$work/out" | grep -qE -- "$words" && return
	echo "# exit $status (wanted $want, '$words'): $*"
	head -n 3 "$work/err" | sed 's/^/# /'
	return 1
}

# every STATUS WORDS FILE
every() {
	said "$1" "$2" report "$3" || return 1
	said "$1" "$2" report --vm g2 --all "$3" || return 1
	said "$1" "$2" stat "$3" || return 1
	said "$1" "$2" verify "$3" || return 1
	said "$1" "$2" export --to text "$3" - || return 1
	said "$1" "$2" export --to jsonl "$3" - || return 1
	rm -rf "$work/ctf"
	said "$1" "$2" export --to ctf "$3" "$work/ctf" || return 1
	rm -rf "$work/dat"
	said "$1" "$2" export --format dat "$3" "$work/dat" || return 1
}

# The JSON counts what the text says.
json() {
	"$xvtrace" stat -q --json "$2" >"$work/json" 2>"$work/err"
	[ $? -eq "$1" ] && [ ! -s "$work/err" ] || return 1
	case $1 in
	1) grep -qE '"damaged": ?[1-9]' "$work/json" ;;
	0) grep -qE '"damaged": ?0' "$work/json" && grep -qE "\"cleanly_ended\": ?$3" "$work/json" ;;
	esac
}

spoiled() {
	cp "$work/good.xvt" "$work/bad.xvt" && "$spoil" "$work/bad.xvt" "$@"
}

check "a good trace: nothing is said" json 0 "$work/good.xvt" true
for type in 2 3 4 5 6 7 8 9 10 11 12 14 15 16; do
	check "type $type is in the trace" spoiled chunk $type
	check "type $type, a bit: every command tells" every 1 'damaged|^violation: byte .* checksum' "$work/bad.xvt"
	check "type $type, a bit: stat counts it" json 1 "$work/bad.xvt"
	spoiled flags $type
	check "type $type, an unknown flag: every command tells" every 1 'flags that this xvtrace does not know' "$work/bad.xvt"
	check "type $type, an unknown flag: stat counts it" json 1 "$work/bad.xvt"
done
for type in 2 3 5 6 14 15 16; do
	spoiled short $type
	check "type $type, too short: every command tells" every 1 'makes no sense|its length' "$work/bad.xvt"
done

# A trace whose end is not there is what a killed recorder leaves.
spoiled chunk 13
check "the end, a bit: said" every 0 'not cleanly ended' "$work/bad.xvt"
check "the end, a bit: not cleanly ended in the JSON" json 0 "$work/bad.xvt" false

spoiled chunk 1
check "the first chunk, a bit: refused" every 1 'first chunk is damaged' "$work/bad.xvt"
spoiled flags 1
check "the first chunk, an unknown flag: refused" every 1 'use a newer one' "$work/bad.xvt"
spoiled uuid 1
check "two identities: refused" every 1 'two identities' "$work/bad.xvt"

# Of a part of a trace, what is not read is not checked: but what is read is.
spoiled flags 7
check "a part: events that cannot be read are told" said 1 'flags that this' report --from +0 "$work/bad.xvt"
check "a part, to a time: the same" said 1 'flags that this' report --to +9999 "$work/bad.xvt"
# Bytes that a program does not write are of no known type: skipped, as the format says.
[ $failures -eq 0 ]
