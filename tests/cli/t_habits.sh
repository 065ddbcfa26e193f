#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What hands type that know other tracers: each habit is answered, or refused with the name that
# xvtrace has for it.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$(realpath "$BUILD")/tests/tools
xvtrace=$(realpath "$xvtrace")
mkdir "$work/here" "$work/empty"
cd "$work/here" || exit 1
"$tools/xvt-mktrace" 300 0 xvtrace.xvt >/dev/null || exit 1

# -- without a file ------------------------------------------------------------------

# as_named WORDS...: the command's output is that with the file's name
as_named() {
	"$xvtrace" "$@" xvtrace.xvt >"$work/named" 2>&1
	"$xvtrace" "$@" >"$work/out" 2>&1 && [ -s "$work/out" ] && cmp "$work/named" "$work/out"
}
for words in report stat "stat --json" verify summary "trim -o part.xvt"; do
	# shellcheck disable=SC2086
	check "$words: reads xvtrace.xvt" as_named $words
done
exports_default() {
	"$xvtrace" export --format jsonl xvtrace.xvt "$work/named" && "$xvtrace" export --format jsonl "$work/out" &&
		[ -s "$work/out" ] && cmp "$work/named" "$work/out"
}
check "export: reads xvtrace.xvt" exports_default

# refused WORDS COMMAND...: wrong usage, in one line with WORDS
refused() {
	local words=$1
	shift
	"$xvtrace" "$@" >"$work/out" 2>"$work/err"
	[ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qE -- "$words" "$work/err" && return
	sed 's/^/# /' "$work/err"
	return 1
}
kept() { # a trace that stands alone behind export is no place for its output
	cp xvtrace.xvt "$work/a.xvt"
	cp xvtrace.xvt "$work/plain"
	refused "where to write" export --format jsonl "$work/a.xvt" && refused "where to write" export --format jsonl "$work/plain" &&
		cmp xvtrace.xvt "$work/a.xvt" && cmp xvtrace.xvt "$work/plain"
}
check "export: a trace alone is not overwritten" kept
cd "$work/empty" || exit 1
for words in report stat verify "export --format jsonl -"; do
	# shellcheck disable=SC2086
	check "$words: says which file is missing" refused "this folder has no xvtrace.xvt" $words
done
cd "$work/here" || exit 1

# -- what each command has -----------------------------------------------------------

commands=$("$xvtrace" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
each_helps() {
	local cmd
	for cmd in $commands; do
		"$xvtrace" "$cmd" --help >"$work/named" && "$xvtrace" "$cmd" -h 2>"$work/err" | cmp - "$work/named" &&
			grep -q -- '-h, --help' "$work/named" || return 1
	done
	"$xvtrace" -h | cmp - <("$xvtrace" --help)
}
check "-h of each command: $(wc -w <<<"$commands")" each_helps
each_version() {
	local words cmd
	"$xvtrace" --version >"$work/version" || return 1
	for words in version -V; do "$xvtrace" $words | cmp - "$work/version" || return 1; done
	for cmd in $commands; do
		"$xvtrace" "$cmd" --version | cmp - "$work/version" && "$xvtrace" "$cmd" -V | cmp - "$work/version" || return 1
	done
	head -n 1 "$work/version" | grep -qE '^xvtrace [0-9]' && grep -qE '^built: (gcc|clang) ' "$work/version" && grep -qE '^features: ([+-][a-z]+ ?)+$' "$work/version"
}
check "the version, also behind a command: $("$xvtrace" version | head -n 1)" each_version

# -- choices -------------------------------------------------------------------------

report() { "$xvtrace" report -q --no-task "$@"; }
report -s >"$work/all"
# chosen AWK OPTION...: the lines of the report for which AWK is true; $2 is the machine, $4 the event
chosen() {
	local want=$1
	shift
	awk "$want" "$work/all" >"$work/want"
	[ -s "$work/want" ] && report -s "$@" 2>"$work/err" | cmp - "$work/want" && [ ! -s "$work/err" ] && return
	sed 's/^/# /' "$work/err"
	return 1
}
check "--vm g1,g2" chosen '1' --vm g1,g2
check "--vm '!g1'" chosen '$2 ~ /^g2:/' --vm '!g1'
check "-e with a comma" chosen '$4 ~ /^(test:names|xvt:u64):$/' -e test:names,u64
check "-e with a set of letters, which has no comma" chosen '$4 ~ /^test:names:$/' -e 'nam[d,e]s'
check "-e SYSTEM" chosen '$4 ~ /^test:/' -e test
check "-e SYSTEM is the kernel's of a probe, too" chosen '$4 ~ /:sched_switch:$/' -e sched
check "-e '!GLOB'" chosen '$4 !~ /^(test:|xvt:u)/' -e '!test,!xvt:u*'
check "-e GLOB,'!GLOB'" chosen '$4 ~ /^test:/ && $4 !~ /^test:n/' -e 'test,!n*'
check "--cpu 0,1" chosen '$2 ~ /:[01]$/' --cpu 0,1
check "--pid with a comma" eval 'report --pid 100,200 | cmp - <(report --pid 100 --pid 200)'
check "a machine that is not there" eval '! "$xvtrace" report --vm g1,g9 2>"$work/err" && grep -q "no machine .g9. in this trace; it has: g1, g2" "$work/err"'
check "no machine is left" eval '! "$xvtrace" report --vm "!g1,!g2" 2>"$work/err" && grep -q "leaves out all machines" "$work/err"'
check "an empty word" refused "an empty word beside a comma" report --vm g1,

check "-n -20: the last 20" eval '[ "$(report -n -20 | tee "$work/out" | grep -vc " LOST ")" -eq 20 ] && report | tail -n "$(wc -l <"$work/out")" | cmp - "$work/out"'
check "-n -20 of an export" eval '"$xvtrace" export -q --format jsonl -n -20 - | cmp - <("$xvtrace" export -q --format jsonl - | tail -n 20)'
check "-n beyond all" eval 'report -n -100000 | cmp - <(report)'
last=$(report | awk 'END { split($1, t, "."); printf "%.0f\n", t[1] * 1000000000 + t[2] }')
late() { report | awk -v from=$((last - $1)) '{ split($1, t, "."); if (t[1] * 1000000000 + t[2] >= from) print }'; }
check "--last 500us" eval '[ "$(report --last 500us | tee "$work/out" | wc -l)" -gt 5 ] && late 500000 | cmp - "$work/out"'
check "--from -500us" eval 'report --from -500us | cmp - "$work/out"'
check "--from -0.0005" eval 'report --from -0.0005 | cmp - "$work/out"'
check "--from +SEC with a unit" eval 'report --from +1ms | cmp - <(report --from +0.001)'
check "--to -TIME, also of export, which had its format there" eval '"$xvtrace" export --format text -q --to -500us - | wc -l >"$work/n" && [ "$(cat "$work/n")" -gt 5 ]'
check "--last and --from: one of them" refused "is a range of time" report --last 5ms --from +0
check "--span in seconds" eval 'report --around +0.001 --span 0.0005 | cmp - <(report --around +1ms --span 500us)'
wall() { report --wall | sed -n "$1 s/ .*//p"; }
check "--wall prints dates that --from takes" eval '[[ $(wall 30) == 2023-11-*T*:*:*.* ]] && report --from "$(wall 30)" --to "$(wall 90)" | cmp - <(report | sed -n 30,90p)'

"$xvtrace" region create "$work/region" --size 1M --rings 2 >/dev/null || exit 1
timed() { "$xvtrace" record -q -o "$work/o.xvt" -r g="$work/region" --duration "$1" >/dev/null 2>"$work/err"; [ $? -ne 2 ] && ! grep -q duration "$work/err"; }
for time in 0.1 0.1s 100ms; do check "record --duration $time" timed $time; done

# -- names of others -----------------------------------------------------------------

# named OPTION OURS COMMAND: the option is refused with the name that it has here
named() { check "$3 $1: $2" refused "$1: no such option; .*$2" "$3" "$1" x; }
named -F --filter report
named --time "--from and --to" report
named -C --cpu report
named --task --comm analyze
named --comm --task path
for cmd in summary stat verify; do for option in --from --to --last --vm; do named $option "see 'xvtrace trim'" $cmd; done; done
check "report --task NAME: --comm" refused "xvt\*: no such file; --task takes no name: .* --comm" report --task 'xvt*'
named --tid --pid report
named -v "-e '!GLOB'" report
named -i "an argument: xvtrace report \\[FILE" report
named -i "an argument: xvtrace stat \\[FILE" stat
named -o "an argument: xvtrace export .* OUT" export
named --since --from report
named --tail "-n -N" report
named --count "see 'xvtrace summary'" report
named -A "-r or -d" record
named --grep --filter report
named --until --to export
named --machine --vm report
named --last "--from -D" trim
named -p --pid report
named --no-color "--color never" report
named --output-format --format export

# command THEIRS OURS
command_() { check "$1: $2" refused "^xvtrace: $1: no such command; (see|did you mean) 'xvtrace $2" "$1"; }
for theirs in stream live trace; do command_ $theirs "record --print, or report -f'"; done
for theirs in view show script dump rep reprot; do command_ $theirs "report'"; done
command_ convert "export'"
command_ split "trim'"
command_ list "guests --events'"
for theirs in hist profile; do command_ $theirs "summary'"; done
command_ start "record, or daemon'"
command_ stop "control stop'"
check "help report" eval '"$xvtrace" help report | cmp - <("$xvtrace" report --help)'

# -- near names ----------------------------------------------------------------------

near() { "$xvtrace" report "${@:2}" >"$work/out" 2>"$work/err"; [ $? -eq 1 ] && grep -qE -- "$1" "$work/err"; }
check "an event's name that is misspelt" near "no event is like 'sched_swich'; the nearest that there are: sched:sched_switch" -e sched_swich
check "a field's" near "no event has a field 'prev_com'; the nearest that there are: prev_comm" --filter 'prev_com == "x"'
check "a time with a unit of days" refused "^xvtrace: 1d: not a time; give seconds such as 12.5" report --from 1d
check "--duration much" refused "not seconds such as 2 or 0.5, or a time such as 5ms" record --duration much

# -- machines of a part --------------------------------------------------------------

part() { "$xvtrace" trim -q -o "$work/part.xvt" "$@" && "$xvtrace" report -q "$work/part.xvt"; }
check "trim --vm g1,g2" eval 'part --vm g1,g2 | cmp - <("$xvtrace" report -q)'
check "trim --vm '!g1'" eval 'part --vm "!g1" | cmp - <("$xvtrace" report -q --vm "!g1")'
check "trim --vm 'g1,g2,!g2'" eval 'part --vm "g1,g2,!g2" | cmp - <("$xvtrace" report -q --vm g1)'

check "an option that nobody has" refused "^xvtrace: report: --nonsense: no such option; 'xvtrace report --help'" report --nonsense

exit $((failures > 0))
