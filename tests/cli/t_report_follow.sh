#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# report -f prints the events of a trace while it is written, and ends with it; of a set, it goes on
# with the next file.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

for vm in g h; do
	"$xvtrace" region create "$work/$vm" --size 1M --rings 1 || exit 1
done
"$BUILD/xvt-emit" "$work/g" --count 100000000 --size 40 --rate 5000 >/dev/null 2>&1 &
pids+=($!)
# record NAME OPTION...: its process is $recorder
record() {
	local out=$1
	shift
	"$xvtrace" record -q -o "$work/$out" "$@" 2>>"$work/err" &
	recorder=$!
	pids+=("$recorder")
}
# follows NAME PATH OPTION...: report -f, into NAME; its process is $follower
follows() {
	"$xvtrace" report -f "${@:3}" "$work/$2" >"$work/$1" 2>"$work/$1.err" &
	follower=$!
	pids+=("$follower")
}
# Without the line of a machine whose clock is not known at once.
events() { grep -v " WAITS: " "$work/$1"; }
lines() { wc -l 2>/dev/null <"$work/$1" || echo 0; }
more() { [ "$(lines "$1")" -gt "$2" ]; }
# ends SIGNAL PROCESS STATUS
ends() {
	[ "$1" = 0 ] || kill "-$1" "$2"
	wait "$2"
	[ $? -eq "$3" ]
}
at_work() { [ -e "$work/$1" ]; }
report() { "$xvtrace" report --no-reclock -q "$@" 2>/dev/null; }

record t.xvt -r g="$work/g" -r h="$work/h" --join-timeout 0.1
check "a recorder is at work" poll at_work t.xvt
follows all t.xvt
all=$follower
follows few t.xvt -n 100
few=$follower
follows one t.xvt --vm h
one=$follower
follows cut t.xvt
check "events are printed while it is" poll more all 500
check "... and more of them as they come" poll more all $(($(lines all) + 500))
check "-n: it ends after so many" ends 0 "$few" 0
check "... and they are the first" cmp <(events few) <(events all | head -n 100)
check "^C ends it with status 0" ends INT "$follower" 0
check "... after whole lines" eval '[ "$(tail -c 1 "$work/cut" | wc -l)" = 1 ]'
check "nothing of a machine that has not come" eval '! events one'
"$BUILD/xvt-emit" "$work/h" --count 300 --size 40 >/dev/null
check "... and of one that comes" poll more one 200
kill -TERM "$recorder"
wait "$recorder"
check "it ends with the trace" ends 0 "$all" 0
check "... as do the others" ends 0 "$one" 0
check "the lines are those of report" cmp <(sort "$work/all") <(report "$work/t.xvt" | sort)
check "... in order, but for what came late" eval 'events all | grep -v "^[^ ]* *[^ ]* *L" | sort -s -c -n -k 1,1'
check "of one machine, too" cmp <(sort "$work/one") <(report --vm h "$work/t.xvt" | sort)
check "nothing is said" [ ! -s "$work/all.err" ]
check "a trace that has its end: all of it" cmp <("$xvtrace" report -f "$work/t.xvt" | sort) <(sort "$work/all")

# A line of what was lost is no event: the ring is too small for what is written while the recorder stands still.
"$xvtrace" region create "$work/l" --size 256K --rings 1
record l.xvt -r l="$work/l" --control "$work/l.control"
attached() { "$xvtrace" status --json --control "$work/l.control" 2>/dev/null | jq -e '.recorders[0].vms[0].phase == "attached"' >/dev/null; }
check "a recorder with a small ring" poll attached
follows lost l.xvt -n 30000
"$BUILD/xvt-emit" "$work/l" --count 100000000 --rate 20000 >/dev/null 2>&1 &
emit=$!
pids+=($emit)
check "... its events come" poll more lost 9
freeze "$recorder"
ring_lost() { "$xvtrace" region show --json "$work/l" | jq -e '.rings[0].lost_by.full > 0' >/dev/null; }
check "... until they are too many" poll ring_lost
kill -CONT "$recorder"
has_lost() { grep -q " LOST " "$work/lost"; }
check "... and a loss is told" poll has_lost
check "-n: it ends after so many" ends 0 "$follower" 0
kill -TERM "$recorder"
wait "$recorder"
kill -KILL $emit
wait $emit 2>/dev/null
check "... and counts no line of a loss" [ "$(grep -vcE "^[^ ]+ +[^ ]+ +(LOST |WAITS: )" "$work/lost")" = 30000 ]

# -- a set, and a recorder that dies ------------------------------------------------------

record set/ -r g="$work/g" --rotate-time 0.3
check "a set is begun" poll at_work set/00000001.xvt
follows set.all set/
check "events of its files are printed" poll at_work set/00000004.xvt
check "... and go on" poll more set.all $(($(lines set.all) + 500))
kill -TERM "$recorder"
wait "$recorder"
check "it ends with the last file" ends 0 "$follower" 0
check "the lines are those of report of the folder" cmp <(sort "$work/set.all") <(report "$work/set" | sort)

record k.xvt -r g="$work/g"
check "a recorder that is to be killed" poll at_work k.xvt
follows killed k.xvt
check "... is followed" poll more killed 300
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
check "its end ends the report" ends 0 "$follower" 0
check "... which says so" grep -q 'k.xvt: warning: not cleanly ended: ' "$work/killed.err"
check "... and has what is in the file" cmp <(sort "$work/killed") <(report "$work/k.xvt" | sort)

# -- record --print -----------------------------------------------------------------------

prints() { # OPTION...: record prints what it records, and ends in order
	rm -f "$work/printed" # lines of the one before would be taken for its own, and SIGINT come too early
	"$xvtrace" record --print -r g="$work/g" "$@" >"$work/printed" 2>"$work/print.err" &
	recorder=$!
	pids+=("$recorder")
	poll more printed 500
}
check "record --print prints events while it records" prints -o "$work/p.xvt"
check "... ends" ends TERM "$recorder" 0
check "... has printed all of them" cmp <(sort "$work/printed") <(report "$work/p.xvt" | sort)
check "... without progress among them" eval '! grep -q "machines  .* events" "$work/print.err"'
check "of a folder that has files: only what it records" prints -o "$work/set/" --rotate-time 0.3
check "... ends" ends INT "$recorder" 0
last=$(for f in "$work"/set/*.xvt; do echo "$f"; done | tail -n 1)
check "... up to its last event" eval '[ "$(tail -n 1 "$work/printed")" = "$(report "$last" | tail -n 1)" ] || [ -z "$(report "$last")" ]'
check "... of several files" eval '[ "$(report "$work/set" | wc -l)" = $(($(lines set.all) + $(lines printed))) ]'
stuck() { # nobody reads what it prints
	mkfifo "$work/fifo"
	sleep 1000 <>"$work/fifo" &
	pids+=($!)
	"$xvtrace" record --print -r g="$work/g" -o "$work/s.xvt" --control "$work/control" 2>"$work/print.err" >"$work/fifo" -- \
		bash -c 'until [ "$("$1" status --json --control "$2" 2>/dev/null | jq .recorders[0].events)" -gt 5000 ] 2>/dev/null; do sleep 0.05; done' - "$xvtrace" "$work/control"
	[ $? -eq 0 ] && [ "$("$xvtrace" stat --json "$work/s.xvt" | jq .lost)" = 0 ] &&
		[ "$("$xvtrace" stat --json "$work/s.xvt" | jq .events)" -gt 3000 ] &&
		grep -q "print: warning: stopped before all events were printed; 'xvtrace report .*s.xvt' has them" "$work/print.err" && return
	cat "$work/print.err"
	return 1
}
check "a reader of its lines that is stuck does not hold the recorder up, and that is told" stuck
"$xvtrace" record -q --print -r g="$work/g" -o "$work/c.xvt" --control "$work/control" 2>/dev/null -- tests/recorded.sh "$work/control" g | head -n 1 >"$work/out"
check "nor does one that leaves" eval '[ "$(wc -l <"$work/out")" = 1 ] && "$xvtrace" verify -q --complete "$work/c.xvt" >/dev/null'

# -- refused -------------------------------------------------------------------------

# refused WORDS OPTION...
refused() {
	local words=$1
	shift
	"$xvtrace" report -f "$@" >"$work/out" 2>"$work/err"
	[ $? -eq 2 ] && [ ! -s "$work/out" ] && grep -qE -- "$words" "$work/err"
}
check "two traces" refused 'it follows one trace' "$work/t.xvt" "$work/k.xvt"
check "--around" refused 'leave --around out' --around +1 "$work/t.xvt"
check "--reclock" refused 'leave --reclock out' --reclock "$work/t.xvt"

exit $((failures > 0))
