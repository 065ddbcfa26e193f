#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# The processes that a recorder starts for itself: none dies or stands still without a word. Each
# child of a recorder is killed in a recording of its own, so a new helper is met here, too.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR"

"$xvtrace" region create "$XVTRACE_SHM_DIR/xvtrace-armed" --size 1M --rings 1 --overwrite || exit 1
for region in g h i; do
	"$xvtrace" region create "$work/$region" --size 1M --rings 1 || exit 1
	"$BUILD/xvt-emit" "$work/$region" --count 100000000 --rate 2000 >/dev/null &
	pids+=($!)
done

# record DIR REGION PATTERN: a recorder with each kind of helper
record() {
	"$xvtrace" record -q -o "$1/" -r g="$work/$2" --rotate-size 1M --compress idle --flight-recorder "$3" \
		--snapshot-when 'event text txet == 1' --control "$1.control" 2>"$1.err" &
	recorder=$!
	pids+=($recorder)
	poll is_recording "$1" && poll confined
}
is_recording() {
	"$xvtrace" status --json --control "$1.control" 2>/dev/null |
		jq -e '[.. | objects | select(.name? == "g") | .. | objects | .events? | numbers] | any(. > 0)' >/dev/null
}
confined() { [ "$(pgrep -c -x xvtrace-opener -P $recorder)" -ge 1 ] || ! has_opener; }
has_opener() { "$xvtrace" doctor --json | jq -e .sandbox >/dev/null; }
# of_helper DIR: the line about it
of_helper() { grep "^xvtrace: record: the recorder's process that .* was ended by signal 9 " "$1.err"; }
killed() { # NUMBER OF THE CHILD
	local dir=$work/k$1 child status
	record "$dir" g 'armed*' || return 1
	child=$(pgrep -P $recorder | sed -n "$1p")
	kill -KILL "$child"
	wait $recorder
	status=$?
	cat "$dir.err"
	[ $status -eq 1 ] && [ "$(of_helper "$dir" | wc -l)" -eq 1 ] && of_helper "$dir" >>"$work/said" &&
		"$xvtrace" verify --notes "$dir" >"$work/notes" && grep -q "note: error: .*the recorder's process that .* was ended by signal 9" "$work/notes" &&
		"$xvtrace" stat --json "$dir" | jq -e .cleanly_ended >/dev/null && ! pgrep -P $recorder >/dev/null
}

# The one that stands still is met last: it takes half a minute to say that it does.
record "$work/stopped" h 'none*' || exit 1
still=$recorder
children=$(pgrep -P $still | wc -l)
# So is one whose opener stands still: it waits in its next open, and ^C cannot end it sooner.
if has_opener; then
	record "$work/waits" i 'none*' || exit 1
	waits=$recorder
	freeze $(pgrep -P $waits -x xvtrace-opener)
	kill -USR2 $waits
	kill -INT $waits
fi
check "a recorder has processes of its own" test "$children" -ge 3
for child in $(seq "$children"); do
	check "child $child is killed: the recording ends in order, and says so" killed "$child"
done
check "each has another business, which the line names" eval 'test "$(sort -u "$work/said" | wc -l)" -eq "$children"'
for does in "looks for events" "reads flight recorders" "compresses finished files"; do
	check "the process that $does" grep -q "process that $does was ended" "$work/said"
done
! has_opener || check "the process that opens files" grep -q "process that opens files was ended" "$work/said"

# The recorder has another user than the command behind --, which the opener ends for it.
has_own_user() { "$xvtrace" doctor --json | jq -e .own_user >/dev/null; }
left_running() {
	local child status
	"$xvtrace" record -q -o "$work/command.xvt" -r g="$work/g" --control "$work/command.control" -- sleep 1000 2>"$work/command.err" &
	recorder=$!
	pids+=($recorder)
	poll is_recording "$work/command" && poll confined
	child=$(pgrep -P $recorder -x sleep)
	pids+=("$child")
	kill -KILL "$(pgrep -P $recorder -x xvtrace-opener)"
	wait $recorder
	status=$?
	cat "$work/command.err"
	[ $status -eq 1 ] && kill -0 "$child" &&
		grep -q "warning: the command runs on as process $child: the helper that has the right to end it was killed" "$work/command.err"
}
! has_own_user || check "a command that the recorder cannot end any more: it is told" left_running

freeze $(pgrep -P $still -x xvtrace)
if has_opener; then
	wait $waits
	check "the process that opens files stands still: the recording ends with 1" test $? -eq 1
	check "and it is told" grep -qE "sandbox: .*process that opens files has not answered for [0-9]+ s: it was stopped" "$work/waits.err"
	check "its file is whole" "$xvtrace" verify -q "$work/waits"
	check "and no process is left" eval '! pgrep -P $waits >/dev/null'
fi
check "a process that looks for events stands still: it is told" \
	poll grep -qE "warning: .*process that looks for events \(process [0-9]+\) has not answered for ([3-9][0-9]|[0-9]{3,}) s" "$work/stopped.err"
check "the recording goes on" is_recording "$work/stopped"
kill -INT $still
wait $still
check "and ends in order" test $? -eq 0
[ $failures -eq 0 ]
