#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# slow: not in make check
# A machine that gives no event: what it lacks is on the line of progress, in status, in the trace, and at the end.
# One test for each kind.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
mkdir "$work/run"

# begin NAME OPTION...: a recorder of machine NAME until end; its words go to $work/err
begin() {
	local name=$1
	shift
	trace=$work/$name.xvt
	"$xvtrace" record -o "$trace" --control "$work/control" -r "$name=$work/$name" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
}
end() {
	kill -TERM $recorder
	wait $recorder
	rc=$?
}
status() { "$xvtrace" status --control "$work/control" "$@"; }
words() { grep -qF -- "$1" "$work/err"; }
in_status() { status 2>/dev/null | grep -qF "waits for it: $1"; }
in_json() { [ "$(status --json 2>/dev/null | jq -r '.recorders[0].vms[0].waits')" = "$1" ]; }
noted() { "$xvtrace" verify --notes "$trace" | grep -q "^note: info: .* $1: no event has come: $2\$"; }
shown() { "$xvtrace" report "$trace" 2>/dev/null | grep -qE " $1 +WAITS: $2\$"; }
whole() { "$xvtrace" verify -q "$trace" >/dev/null; }
# A note is written of what lasts; it is there at the latest when the recorder has counted for the second time.
counted() { status --json 2>/dev/null | jq -e '.recorders[0] | .counted_ns - .started_ns > 1500000000' >/dev/null; }

# lacks NAME WORD READY TEXT [OPTION...]: all that is said of machine NAME
lacks() {
	local name=$1 word=$2 ready=$3 text=$4
	shift 4
	begin "$name" "$@"
	check "$name: the line of progress" poll words "$ready/1 machines, waits for $name ($text)"
	check "$name: status" poll in_status "$text"
	check "$name: status --json" poll in_json "$word"
	check "$name: for a second" poll counted
	end
	check "$name: exit status 1" test $rc -eq 1
	check "$name: an error at the end" words "xvtrace: $name: no event of it came: $text; "
	check "$name: a note in the trace" noted "$name" "$text"
	check "$name: a line of report" shown "$name" "$text"
	check "$name: the trace is whole" whole
}

# -- no guest has formatted it, it has no room for a ring, a guest began to

truncate -s 4M "$work/blank"
lacks blank module 0 "no module yet"
truncate -s 4K "$work/small"
lacks small size 0 "its region is 4 KiB, too small"
"$xvtrace" region create "$work/begun" --size 1M --rings 1 || exit 1
printf '\0\0\0\0\0\0\0\0' | dd of="$work/begun" bs=1 conv=notrunc status=none # the magic, which is written last
lacks begun format 0 "not formatted"

# -- no writer; one that does not answer; one that writes nothing

"$xvtrace" region create "$work/idle" --size 1M --rings 1 || exit 1
lacks idle writer 0 "no ring in use yet"
held() { [ "$(sed -E 's/.*\) (.).*/\1/' "/proc/$1/stat")" = T ]; }
"$xvtrace" region create "$work/held" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/held" --rings 1 --rate 100 --count 1000000 >/dev/null 2>&1 &
writer=$!
pids+=($writer)
disown
used() { "$xvtrace" region show --json "$work/held" | jq -e '.rings[0].state == "online"' >/dev/null; }
poll used
freeze "$writer"
poll held $writer
lacks held clock 0 "no clock yet"
kill -KILL $writer

"$xvtrace" region create "$work/quiet" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/quiet" --rings 1 --count 0 --linger 600 >/dev/null 2>&1 &
pids+=($!)
disown
lacks quiet event 1 "no event yet"

# -- one that stands still, as its VMM says

if command -v qemu-system-x86_64 >/dev/null; then
	truncate -s 4M "$work/still"
	bare_qemu "$work/qmp"
	lacks still paused 0 "paused" --qmp "still=$work/qmp"
else
	echo "skip - one that stands still: no qemu-system-x86_64"
fi

# -- a trace without events

empty() { # STATUS WORDS COMMAND...
	"$xvtrace" "${@:3}" >"$work/out" 2>"$work/err"
	[ $? -eq "$1" ] && [ "$(grep -c . "$work/err")" -eq 1 ] &&
		words "xvtrace: $trace: ${2}no event in it: blank waited (no module yet), small waited (its region is 4 KiB, too small)"
}
trace=$work/two.xvt
"$xvtrace" record -q -o "$trace" --duration 0.2 -r blank="$work/blank" -r small="$work/small" 2>"$work/err"
check "report says so, and fails" empty 1 "" report "$trace"
check "also where events are chosen" empty 1 "" report -e 'sched:*' "$trace"
check "export to JSON" empty 1 "" export --format jsonl "$trace" -
check "export to CTF" empty 1 "" export --format ctf "$trace" "$work/ctf"
check "export to dat" empty 1 "" export --format dat "$trace" "$work/dat"
check "export to perfetto" empty 1 "" export --format perfetto "$trace" "$work/pftrace"
check "summary has its screen, and fails" eval '"$xvtrace" summary "$trace" >"$work/out" 2>"$work/err"; [ $? -eq 1 ] && grep -q " 0 events of 2 machines" "$work/out" && grep -q "^xvtrace: $trace: no event in it: blank waited" "$work/err"'
check "trim" empty 1 "" trim -o "$work/part.xvt" "$trace"
check "... leaves no part" [ ! -e "$work/part.xvt" ]
check "verify warns" empty 0 "warning: " verify "$trace"
"$xvtrace" verify -q "$trace" >/dev/null 2>"$work/err"
check "but not with -q" eval '[ $? -eq 0 ] && [ ! -s "$work/err" ]'

# -- what does not fail: machines that were found, and -q

found() { # OPTION...
	"$xvtrace" record -o "$work/f.xvt" --duration 0.2 "$@" 2>"$work/err"
	[ $? -eq 0 ] && words "xvtrace: blank: warning: no event of it came: no module yet"
}
check "a pattern: a warning" found -r "$work/b[l]ank"
check "--follow: a warning" found --follow -r blank="$work/blank"
"$xvtrace" record -q -o "$work/f.xvt" --duration 0.2 -r blank="$work/blank" 2>"$work/err"
check "-q: exit status 1 as well" test $? -eq 1
check "and the error alone" test "$(wc -l <"$work/err")" -eq 1
"$xvtrace" record -q -o "$work/f.xvt" --duration 0.2 -r "$work/b[l]ank" 2>"$work/err"
check "-q, a pattern: nothing" eval '[ $? -eq 0 ] && [ ! -s "$work/err" ]'

# -- one that gives events is not waited for

"$xvtrace" region create "$work/gives" --size 1M --rings 1 || exit 1
"$xvtrace" record -o "$work/f.xvt" -r gives="$work/gives" -- "$BUILD/xvt-emit" "$work/gives" --rings 1 --count 100 \
	>/dev/null 2>"$work/err"
check "one that gives events: exit status 0" test $? -eq 0
check "no word of it" eval '! words "no event"'
# A recorder that gets little of the CPU may note what it waits for until there is one.
first=$("$xvtrace" report -q -e '!waits' -n 1 "$work/f.xvt" | cut -d ' ' -f 1)
check "no note of it behind its first event" eval '[ "$first" ] && ! "$xvtrace" verify --notes "$work/f.xvt" | grep "no event" | awk "\$3 >= $first { n++ } END { exit !n }"'

[ $failures -eq 0 ]
