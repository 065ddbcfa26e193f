#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2059
# What a guest or a file calls itself reaches a terminal as text that only stands there: no control
# characters, none that end lines or turn text around. The texts of events: tests/unit/view.
set -u
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/asan/xvtrace" ] && xvtrace=$BUILD/asan/xvtrace
trap cleanup EXIT

# clean COMMAND...: what it says is UTF-8 without such characters, and it says something
clean() {
	"$@" >"$work/said" 2>&1 </dev/null
	[ -s "$work/said" ] || { echo "# says nothing: $*"; return 1; }
	iconv -f UTF-8 -t UTF-8 "$work/said" >/dev/null || return 1
	if LC_ALL=C.UTF-8 grep -nP '[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]' "$work/said" | cat -v | sed 's/^/# /' | grep .; then
		return 1
	fi
}
lines() { "${@:2}" >"$work/said" 2>&1 </dev/null; [ "$(wc -l <"$work/said")" -eq "$1" ]; }

bad='a\nb\033[2Jc\302\233d\342\200\256e\233f'
"$xvtrace" region create "$work/r" --size 1M --rings 1 || exit 1
poke() { printf "$1" | dd of="$work/r" bs=1 seek=168 conv=notrunc status=none; }
show_lines=$("$xvtrace" region show "$work/r" | wc -l)
poke "$bad"
check "region show: the guest's name" clean "$xvtrace" region show "$work/r"
check "it is one line" lines "$show_lines" "$xvtrace" region show "$work/r"
check "it is there, escaped" grep -qF 'a\nb\x1b[2Jc\x9bd\u202ee' "$work/said"
check "region show --json" clean "$xvtrace" region show --json "$work/r"
"$xvtrace" region show --json "$work/r" >"$work/json"
check "that is JSON with the name in it" sh -c "jq -e '.name | startswith(\"a\nb\u001b[2Jc\u009bd\u202ee\")' '$work/json' >/dev/null"
check "salvage: the guest's name" sh -c "'$xvtrace' salvage -o '$work/s.xvt' '$work/r' && '$xvtrace' stat '$work/s.xvt'"
check "and what shows the trace" clean "$xvtrace" stat --json "$work/s.xvt"
poke "$(printf 'N%.0s' {1..64})"
"$xvtrace" region show --json "$work/r" >"$work/json"
check "a name without an end" sh -c "jq -e '.name | test(\"^N{63,64}\$\")' '$work/json' >/dev/null"

"$BUILD/tests/tools/xvt-bad-trace" text 1 "$work/t.xvt" || exit 1
check "report" clean "$xvtrace" report -st "$work/t.xvt"
check "report: a line an event" lines 2 "$xvtrace" report "$work/t.xvt"
check "stat" clean "$xvtrace" stat "$work/t.xvt"
check "stat --json" clean "$xvtrace" stat --json "$work/t.xvt"
check "verify: notes" clean "$xvtrace" verify --notes "$work/t.xvt"
check "the note is there, escaped" grep -qF 'note: warning: 0.000000000: a\nb\x1b[2Jc\x9bd\u202ee' "$work/said"
check "export --to jsonl" clean "$xvtrace" export --to jsonl "$work/t.xvt" -
check "no such machine: those that there are" clean "$xvtrace" report --vm x "$work/t.xvt"
check "errors: the name of a file" clean "$xvtrace" report "$(printf "$bad")"
check "errors: one line" lines 1 "$xvtrace" report "$(printf "$bad")"
[ $failures -eq 0 ]
