#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The command line of export: formats, the range, and the older names of these options.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
trace=$work/t.xvt

"$BUILD/tests/tools/xvt-mktrace" 300 0 "$trace" >/dev/null || exit 1
"$xvtrace" report "$trace" >"$work/all" || exit 1
from=$(awk 'NR == 40 { print $1 }' "$work/all")
to=$(awk 'NR == 200 { print $1 }' "$work/all")
awk "\$1 >= \"$from\" && \$1 <= \"$to\"" "$work/all" >"$work/part"
awk "\$1 <= \"$to\"" "$work/all" >"$work/begin"

# same WANTED OPTION...: export with these options writes that file, and no word on stderr
same() {
	local want=$1
	shift
	"$xvtrace" export "$@" "$trace" "$work/out" 2>"$work/err" && [ ! -s "$work/err" ] && cmp -s "$want" "$work/out"
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
[ $failures -eq 0 ]
