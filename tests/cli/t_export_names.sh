#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Names of machines, tasks, systems, events, fields and symbols as no kernel gives them: "../..", quotes,
# ends of lines, control characters, none, and 300 bytes. Each export is what its own readers take, has all
# events, and writes nothing beside its folder.
set -u
. "$(dirname "$0")/lib.sh"
. tests/formats.sh
[ -x "$BUILD/asan/xvtrace" ] && xvtrace=$BUILD/asan/xvtrace
trap cleanup EXIT
export LC_ALL=C

mkdir "$work/a" "$work/a/b"
"$BUILD/tests/tools/xvt-bad-trace" names 1 "$work/a/b/t.xvt" || exit 1
cd_work() { (cd "$work/a/b" && "$@"); }
xvtrace=$(realpath "$xvtrace")
for format in jsonl ctf dat perfetto text; do
	check "export --format $format" cd_work "$xvtrace" export -q --format $format t.xvt out.$format
done
check "nothing is written anywhere else" [ "$(cd "$work" && find . -mindepth 1 -maxdepth 3 ! -path './a/b/*' | sort | paste -sd ' ')" = "./a ./a/b" ]
check "and not at the path that a name gives" [ ! -e /tmp/xvt-out ]
events=$(wc -l <"$work/a/b/out.jsonl")
check "jsonl: each line is JSON" eval '[ "$(jq -c .ts_ns "$work/a/b/out.jsonl" | wc -l)" = "$events" ]'
check "text: a line for each event" [ "$(wc -l <"$work/a/b/out.text")" = "$events" ]
printable() { iconv -f UTF-8 -t UTF-8 "$1" >/dev/null && ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$1"; }
check "text: nothing that a terminal obeys" printable "$work/a/b/out.text"
check "there are enough events" [ "$events" -ge 30 ]

if have "ctf" babeltrace2; then
	babeltrace2 "$work/a/b/out.ctf" >"$work/bt" 2>"$work/bt.err"
	check "ctf: babeltrace2 reads it without a warning" test $? -eq 0 -a ! -s "$work/bt.err"
	check "ctf: all events" eval '[ "$(wc -l <"$work/bt")" = "$events" ]'
	# babeltrace2 escapes quotes and backslashes as JSON does.
	sed -nE 's/.* xvt_text(_1)? = (".*") \}$/\2/p' "$work/bt" >"$work/texts"
	jq -c 'select(.text) | .text' "$work/a/b/out.jsonl" >"$work/texts.want"
	check "ctf: addresses have the names that jsonl has" first_differences "$work/texts.want" "$work/texts"
	check "ctf: LTTng's field is a number as before, beside the name" grep -q ' timer_hrtimer_expire_entry: .* { function = 2048, xvt_text = "tick_sched_timer+0x0" }$' "$work/bt"
	check "ctf: an event's own field of that name stays" grep -q ' { xvt_text = 2048, xvt_text_1 = "tick_sched_timer+0x0" }$' "$work/bt"
fi
if have "perfetto" protoc; then
	check "perfetto: protoc decodes it" eval 'perfetto_decode <"$work/a/b/out.perfetto" >"$work/pf" 2>"$work/pf.err"'
	check "perfetto: without a warning" [ ! -s "$work/pf.err" ]
	perfetto_events "$work/pf" "$work/beside" >"$work/pf.events"
	check "perfetto: all events" eval '[ "$(wc -l <"$work/pf.events")" = "$events" ]'
	check "perfetto: no unknown field" eval '! grep -E "^(unknown|wrong|packet)" "$work/beside"'
fi
if have "dat" trace-cmd; then
	n=0
	for file in "$work"/a/b/out.dat/*.dat; do
		trace-cmd report -R -t -i "$file" >"$work/tc" 2>"$work/tc.err" || check "dat: trace-cmd reads $(basename "$file")" false
		n=$((n + $(grep -acE -- '-?[0-9]+ +\[[0-9]+\] +[0-9]+\.[0-9]{9}: ' "$work/tc")))
	done
	check "dat: all events, by trace-cmd" [ "$n" = "$events" ]
	[ "$n" = "$events" ] || echo "# $n of $events"
fi
[ $failures -eq 0 ]
