#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A guest's kernel panics, and no VMM is asked: what its ring says of it is in the trace, in the notes, in the last line and in
# status, and the conditions hold; once a generation, and of a machine that is kept armed by the header alone.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
trace=$work/t.xvt

# guest NAME FD: a region and its guest, which FD tells what to do
guest() {
	"$xvtrace" region create "$work/$1" --size 1M --rings 1 --overwrite || exit 1
	mkfifo "$work/tell-$1"
	"$BUILD/tests/tools/xvt-panic" "$work/$1" <"$work/tell-$1" >"$work/told-$1" &
	pids+=($!)
	eval "exec $2>\"\$work/tell-$1\""
}
# tell NAME FD LINE: done when this returns
tell() {
	local before
	before=$(wc -l <"$work/told-$1")
	echo "$3" >&"$2"
	poll eval '[ "$(wc -l <"$work/told-'"$1"'")" -gt '"$before"' ]'
}
guest g 5
guest f 6
record() {
	: >"$work/err"
	"$xvtrace" record --control "$work/control" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	poll joined
}
joined() { [ "$(status '[.recorders[0].vms[] | select(.name == "g").rings[].phase] | .[0]')" = '"live"' ]; } 2>/dev/null
status() { "$xvtrace" status --json --control "$work/control" | jq "$1"; }
end() {
	kill -TERM $recorder
	wait $recorder
}
said() { grep -qE -- "$1" "$work/err"; }
crashes() { [ "$(grep -c 'its kernel panicked' "$work/err")" -eq "$1" ]; }

# -- recorded
record -o "$trace" -r g="$work/g"
tell g 5 'events 100'
tell g 5 "panic Fatal $(printf '\033')[2J exception"
tell g 5 'panic another one'
tell g 5 die
check "a panic is told" poll said '^xvtrace: g: warning: its kernel panicked: Fatal .x1b.2J exception, at [0-9.]*$'
status_is() { [ "$(status '.recorders[0].vms[0].phase')" = "$1" ]; }
check "status has the machine as ended" poll status_is '"ended"'
check "it ends in order" end
check "once in a generation" crashes 1
check "the last line says how it ended" said '102 events of 1 machine in .*; g ended \(guest panicked\)$'
check "report shows it, and its text is one line" eval '"$xvtrace" report -q "$trace" | grep -qE "^[0-9.]* g:0 .* panic: Fatal .x1b.2J exception\$"'
check "and the state" eval '"$xvtrace" report -q "$trace" | grep -qE "^[0-9.]* g +CRASHED: Fatal .*; last event at [0-9.]*\$"'
check "stat says how it ended" eval '"$xvtrace" stat "$trace" | grep -qE "^g: ended \(guest panicked\) at [0-9.]*\$"'
check "and its JSON" eval '[ "$("$xvtrace" stat --json "$trace" | jq -c "[.vms[0] | .panicked, .ended_ns > 0]")" = "[true,true]" ]'
check "summary has its end" eval '[ "$("$xvtrace" summary --json "$trace" | jq ".vms[0].ended_ns > 0")" = true ]'
check "jsonl has it" eval '"$xvtrace" export --format jsonl "$trace" - | jq -e -s "any(.event == \"panic\" and (.fields.text | startswith(\"Fatal\")))" >/dev/null'
check "ctf has it" eval '"$xvtrace" export --format ctf "$trace" "$work/ctf" && grep -rqa "panic" "$work/ctf"'
check "perfetto has it" eval '"$xvtrace" export --format perfetto "$trace" "$work/p" && grep -qa "panic" "$work/p"'
check "it verifies" "$xvtrace" verify -q "$trace"

# -- it boots again; then a panic for whose record no ring had room
tell g 5 boot
record -o "$trace" -r g="$work/g"
check "a panic before the recording is no state of it" eval '! said "its kernel panicked"'
tell g 5 'panic one'
check "a panic of the next kernel is told" poll said 'its kernel panicked: one'
tell g 5 boot
check "it boots again" poll status_is '"attached"'
check "which is a reset" poll said '^ *xvtrace: g: was reset: its kernel booted again, at'
tell g 5 'events 10'
tell g 5 lost
check "a panic whose record was lost is told" poll said 'its kernel panicked, at [0-9.]*$'
check "it ends in order" end
check "there were two" crashes 2
check "the last line says it" said '; g ended \(guest panicked\)$'

# -- conditions: of a machine that is recorded, and of one that is kept armed
tell g 5 boot
record -q -o "$work/set/" -r g="$work/g" -r f="$work/f" --flight-recorder f --snapshot-when crash --snapshot-after 0.1 --snapshot-per-minute 60
check "what cannot be seen is told" said 'g: warning: the condition .crash. cannot see how it ends: .*; a panic is seen where its module tells it$'
kept() { grep -q "snapshot: .*$1 has it: $2 crashed, at" "$work/err"; }
poll eval '[ "$(status ".recorders[0].flight_armed")" = 1 ]'
tell f 6 'panic now'
check "one that is kept armed: a snapshot" poll kept crash-f f
panics() { "$xvtrace" report -q --vm "$1" "$work"/set/snapshots/*crash-"$1"/"$2" | grep -c ' panic: '; }
check "which has the record" eval '[ "$(panics f flight.xvt)" = 1 ]'
tell f 6 'panic again'
tell g 5 'panic now'
check "one that is recorded: a snapshot" poll kept crash-g g
check "which has the record" eval '[ "$(panics g "")" = 1 ]'
tell f 6 boot
tell f 6 'panic of another kernel'
check "another kernel's panic: another snapshot" poll eval '[ "$(find "$work/set/snapshots" -mindepth 1 -maxdepth 1 -name "*crash-f*" | wc -l)" -eq 2 ]'
check "there were three" poll eval '[ "$(status ".recorders[0].conditions_held")" = 3 ]'
check "it ends in order" end
tell f 6 boot
"$xvtrace" snapshot -o "$work/when.xvt" -r f="$work/f" --when crash 2>"$work/err" &
watcher=$!
pids+=($watcher)
poll said 'waits for a condition'
tell f 6 'panic last'
check "snapshot --when crash" wait $watcher
check "says which machine" said 'when.xvt: f crashed, at [0-9.]*, last event at'
exit $((failures > 0))
