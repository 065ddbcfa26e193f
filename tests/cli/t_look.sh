#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# How report looks: columns, tasks, colours, and the pager on a terminal (script makes one).
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
trace=$work/t.xvt
unset NO_COLOR PAGER XVTRACE_PAGER LESS
export TERM=xterm

"$BUILD/tests/tools/xvt-mktrace" 300 0 "$trace" >/dev/null || exit 1
"$BUILD/tests/tools/xvt-bigtrace" ftrace 70 2000 "$work/big.xvt" || exit 1
report() { "$xvtrace" report -q "$@"; }
report "$trace" >"$work/plain"
report --no-task "$trace" >"$work/no-task"

# The flags begin at the same column in all lines: g0:9 is as wide as g0:10.
aligned() {
	report "$work/big.xvt" | awk '{ at = match($0, /[.LBURC][.LBURC][.LBURC][.LBURC][.LBURC][^ ][^ ][^ ][^ ] /) }
		NR == 1 { first = at } at != first { exit 1 } { rings[$2] } END { for (r in rings) n++; exit n < 70 || !first }'
}
check "columns are aligned" aligned
events() { awk '!/ LOST / { at = match($0, /(numbers|lists|probe|empty|sched_switch): /) } at && !/ LOST / { n[at]++ } END { for (a in n) k++; exit k != 1 }' "$work/plain"; }
check "those of the events, too" events
same_events() { jq -r 'if .pid then (.comm // "<...>") + "-" + (.pid | tostring) else "-" end' "$work/jsonl" | cmp - <(grep -v ' LOST ' "$work/plain" | cut -c 28-47 | sed 's/ *$//'); }
"$xvtrace" export --format jsonl "$trace" "$work/jsonl"
check "each has its task" same_events
check "--no-task: it is gone" cmp <(grep -v ' LOST ' "$work/plain" | cut -c 1-27,49-) <(grep -v ' LOST ' "$work/no-task")
check "-t and --task are still taken" cmp "$work/plain" <(report -t --task "$trace")
check "export to text is the same" cmp "$work/plain" <("$xvtrace" export -q --format text "$trace" -)

escape=$'\033'
has_colour() { grep -q "$escape\[[0-9]*mg1:" "$1"; }
report --color always "$trace" >"$work/colour"
check "--color=always: also into a file" has_colour "$work/colour"
check "the text is the same" cmp "$work/plain" <(sed "s/$escape\[[0-9;]*m//g" "$work/colour")
machines() { [ "$(grep -o "$escape\[[0-9;]*mg[12]:" "$work/colour" | tr -d "$escape" | sort -u | tr '\n' ' ')" = '[33mg2: [36mg1: ' ]; }
check "a colour for each machine" machines
check "none without a terminal" cmp "$work/plain" <(report --color auto "$trace")

# tty COMMAND: its output on a terminal; exits as it does
tty() { timeout 60 script -qec "$1" /dev/null </dev/null | tr -d '\r'; return "${PIPESTATUS[0]}"; }
on_tty() { tty "'$xvtrace' report -q $* '$trace'"; }
on_tty --no-pager >"$work/tty"
check "on a terminal: colours" has_colour "$work/tty"
report --legend "$trace" >"$work/people"
check "and all lines, with a legend first" cmp "$work/people" <(sed "s/$escape\[[0-9;]*m//g" "$work/tty")
check "NO_COLOR: none" cmp "$work/people" <(NO_COLOR=1 on_tty --no-pager)
check "an empty NO_COLOR forbids nothing" cmp "$work/tty" <(NO_COLOR='' on_tty --no-pager)
check "--color=always is stronger" cmp "$work/tty" <(NO_COLOR=1 on_tty --no-pager --color=always)
check "--color=never: none" cmp "$work/people" <(on_tty --no-pager --color=never)
check "TERM=dumb: none" cmp "$work/people" <(TERM=dumb on_tty --no-pager)
check "an unknown word is refused" eval '! report --color=green "$trace" 2>"$work/err" && grep -q "color green: it is auto, always or never" "$work/err"'

legend() { [ "$(head -n 1 "$work/people" | wc -L)" -le 80 ] && head -n 1 "$work/people" | grep -q "^# FLAGS: Late Backlog" && tail -n +2 "$work/people" | cmp - "$work/plain"; }
check "the legend is one line of 80 letters, and all else is the same" legend
"$BUILD/tests/tools/xvt-paused" "$work/paused.xvt" || exit 1
states() { report --color always "$work/paused.xvt" | tr '\033' @ | grep -oE '@\[1;3[0-9]m[A-Z]+' | sort -u | tr '\n' ' '; }
check "pauses and ends have colours" [ "$(states)" = '@[1;31mENDED @[1;32mRUNS @[1;33mPAUSED ' ]
aligned() { # the seconds of g2 have one digit more
	"$BUILD/tests/tools/xvt-shift" g2 10000000000 "$trace" "$work/shifted.xvt" >/dev/null &&
		[ "$(report "$work/shifted.xvt" | awk '{ print index($1, ".") }' | sort -u | wc -l)" -eq 2 ] &&
		[ "$(report --legend "$work/shifted.xvt" | awk 'NR > 1 { print index($0, ".") }' | sort -u | wc -l)" -eq 1 ]
}
check "times are aligned" aligned

# What went through the pager begins with P: or Q:.
export NO_COLOR=1
paged() { cmp <(sed "s/^/$1:/" "$work/people") <(on_tty); }
XVTRACE_PAGER='sed s/^/P:/' check "XVTRACE_PAGER is the pager" paged P
PAGER='sed s/^/Q:/' check "so is PAGER" paged Q
PAGER='sed s/^/Q:/' XVTRACE_PAGER='sed s/^/P:/' check "XVTRACE_PAGER comes first" paged P
PAGER='sed s/^/Q:/' XVTRACE_PAGER='' check "an empty one: none" cmp "$work/people" <(PAGER='sed s/^/Q:/' XVTRACE_PAGER='' on_tty)
check "cat: none" cmp "$work/people" <(PAGER=cat on_tty)
check "--no-pager: none" cmp "$work/people" <(PAGER='sed s/^/Q:/' on_tty --no-pager)
check "without a terminal: none" cmp "$work/plain" <(PAGER='sed s/^/Q:/' report "$trace")
check "less is told what git tells it" [ "$(XVTRACE_PAGER='cat >/dev/null; echo $LESS' on_tty)" = FRSX ]
check "but not if LESS is set" [ "$(LESS=S XVTRACE_PAGER='cat >/dev/null; echo $LESS' on_tty)" = S ]
messages() {
	XVTRACE_PAGER='sed s/^/P:/' tty "'$xvtrace' report -e nothing '$trace'" >"$work/out"
	[ $? -eq 1 ] && grep -q "^P:xvtrace: .*no event is like" "$work/out"
}
check "messages go through it, and the exit status is kept" messages
check "what is found before the first event does not" eval '! XVTRACE_PAGER="sed s/^/P:/" tty "'"'$xvtrace'"' report '"$work"'/none" >"$work/out" && grep -q "^xvtrace: " "$work/out"'
leaves() { XVTRACE_PAGER=true tty "'$xvtrace' report '$work/big.xvt'; echo ended" | grep -q ended; }
check "a pager that the user leaves at once ends it" leaves
[ $failures -eq 0 ]
