#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# xvtrace control stop and start: the recording of one machine ends in order while that of the others goes on, its region
# is free for another recorder, and it is recorded again when it is started. No event is there twice, and none is missing.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm
export LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR"
me="by request of uid $(id -u)"

# emits REGION SIZE ARG...: a region with a program that records into it; its pid is $writer
emits() {
	local region=$1 size=$2
	shift 2
	"$xvtrace" region create "$region" --size "$size" --rings 2 || exit 1
	"$BUILD/xvt-emit" "$region" --count 1000000000000000 "$@" >/dev/null 2>&1 &
	writer=$!
	pids+=($writer)
}
# records ARG...: a recorder; its pid is $recorder
records() {
	"$xvtrace" record --join-timeout 5 --stall-timeout 0.5 --control "$work/control" "$@" 2>"$work/log" &
	recorder=$!
	pids+=($recorder)
	poll listens "$work/control"
}
ends() {
	kill -TERM $recorder
	wait $recorder
}
control() { "$xvtrace" control "$@" --control "$work/control" >"$work/out" 2>"$work/err"; }
# says STATUS FILE TEXT WORDS...: control WORDS has that exit status, and TEXT alone in the file
says() {
	local status=$1 file=$2 text=$3
	shift 3
	control "$@"
	[ $? -eq "$status" ] && [ "$(cat "$work/$file")" = "$text" ] && return
	sed 's/^/# /' "$work/out" "$work/err"
	return 1
}
done_says() { says 0 out "$@"; }
refuses() { says 1 err "$@"; }
# vm MACHINE FILTER: of its status
vm() { "$xvtrace" status --json --control "$work/control" 2>/dev/null | jq -e --arg n "$1" --arg me "$me" "[.recorders[0].vms[] | select(.name == \$n)][0] | $2" >/dev/null; }
is() { vm "$1" ".phase == \"$2\""; }
has_events() { vm "$1" '.phase == "attached" and .rings[0].events > 0'; }
attempted() { "$xvtrace" region show --json "$1" | jq '[.rings[].attempted] | add'; }
enabled() { "$xvtrace" region show --json "$1" | jq -e 'any(.rings[]; .enable != 0)' >/dev/null; }
# attempts TRACE MACHINE...: what these attempted, in all
attempts() {
	local trace=$1
	shift
	"$xvtrace" stat --json "$trace" | jq --args '[.vms[] | select(.name as $n | any($ARGS.positional[]; . == $n)) | .rings[].attempted] | add // 0' "$@"
}
balanced() { adds_up "$1" "$(stat_sum "$1" attempted)"; }
# numbers TRACE MACHINE-PATTERN: of its events
numbers() { "$xvtrace" export --format jsonl "$1" - 2>/dev/null | sed -n 's/.*"vm":"'"$2"'.*"values":\[0,\([0-9]*\)\].*/\1/p'; }

# --- one of three
emits "$work/a" 1M --rate 3000
a=$writer
emits "$work/b" 1M --rate 3000
b=$writer
emits "$work/c" 1M --rate 3000
check "a recorder of three machines" records -o "$work/set/" -r a="$work/a" -r b="$work/b" -r c="$work/c"
check "it records them" poll eval 'has_events a && has_events b && has_events c'
check "stop needs a machine" eval 'control stop; [ $? -eq 2 ] && grep -q "give the machines" "$work/err"'
check "rotate takes none" eval 'control rotate a; [ $? -eq 2 ]'
check "an unknown machine is an error" refuses "xvtrace: stop: zz: no machine of this recorder has that name (xvtrace status shows them)" stop b zz
check "and nothing was done" is b attached
check "a machine is stopped when there is an answer" done_says "stop: a" stop a
check "status says so, and who asked" vm a '.phase == "stopped" and .why == $me'
check "so does top" eval '"$xvtrace" top -n 1 --control "$work/control" | grep -q "^a  *stopped .*$me"'
check "so does the log" grep -q "xvtrace: a: warning: the recording of a is stopped, $me" "$work/log"
check "its rings are switched off" eval '! enabled "$work/a"'
check "the others' are not" enabled "$work/b"
before=$("$xvtrace" status --json --control "$work/control" | jq '.recorders[0].vms[1].rings[0].events')
check "the others are recorded" poll vm b ".rings[0].events > $before"
check "the other one, too" is c attached
check "what is stopped cannot be stopped" refuses "xvtrace: stop: a: it is stopped already" stop a
check "what is recorded cannot be started" refuses "xvtrace: start: b: it is not stopped" start b
check "nor can what is not there" refuses "xvtrace: start: zz: no machine of this recorder has that name (xvtrace status shows them)" start zz
taken=$(attempted "$work/a")

# --- its region is free
"$xvtrace" record -q -o "$work/other.xvt" -r a="$work/a" --control "$work/theirs" &
other=$!
pids+=($other)
check "another recorder takes its region" poll eval '[ "$(attempted "$work/a")" -gt $taken ]'
check "meanwhile it cannot be started" refuses "xvtrace: start: a: another xvtrace is at work on this region: process $other ($(tr '\0' ' ' <"/proc/$other/cmdline" | head -c 100)...), which writes $work/other.xvt; end it first; it stays stopped" start a
check "and stays stopped" is a stopped
kill -TERM $other
wait $other
check "the other recorder ends in order" [ $? -eq 0 ]
check "its trace verifies" "$xvtrace" verify -q "$work/other.xvt"
check "it is started" done_says "start: a.2" start a
check "and recorded, as another machine" poll has_events a.2
check "a pattern, and a name" eval 'control stop --json "[bc]" a && jq -e ".done == \"stop\" and (.machines | sort == [\"a.2\", \"b\", \"c\"]) and .end" "$work/out" >/dev/null'
check "without a machine the recorder goes on" eval 'control rotate && kill -0 $recorder'
check "and is the first one again" eval 'control start c && is c.2 attached'
check "that is recorded" poll has_events c.2
check "it ends in order" ends
check "the set verifies" "$xvtrace" verify -q "$work/set/"
check "the sums add up" balanced "$work/set/"
check "all that was attempted is in one trace" test "$(attempted "$work/a")" -eq $(($(attempts "$work/set/" a a.2) + $(attempts "$work/other.xvt" a)))
check "its events are known by their numbers" test "$(numbers "$work/set/" a | wc -l)" -eq "$(attempts "$work/set/" a a.2)"
check "nothing is there twice" eval 'test -z "$( (numbers "$work/set/" a; numbers "$work/other.xvt" a) | sort | uniq -d)"'
check "the file before has what was there, and the next one no more" test "$("$xvtrace" stat --json "$work/set/00000002.xvt" | jq -c '[.vms[].name]')" = '["c.2"]'
check "the trace says who asked" eval '"$xvtrace" verify --notes "$work/set/" | grep -qEx "note: warning: [0-9]+\.[0-9]{9} a.2: the recording of a.2 is stopped, $me" && "$xvtrace" verify --notes "$work/set/" | grep -qEx "note: info: [0-9]+\.[0-9]{9} a\.[23]: a is started, $me"'

# --- losses, and a ring that overwrites
for mode in stop overwrite; do
	emits "$work/$mode" 64K
	check "$mode: a machine that writes too fast" records -o "$work/$mode.d/" -r l="$work/$mode" -r b="$work/b" --mode $mode
	lost() { vm l '.rings[0].lost > 0'; }
	check "$mode: it loses events" poll lost
	check "$mode: stopped" done_says "stop: l" stop l
	check "$mode: a file follows" control rotate
	check "$mode: started again" done_says "start: l.2" start l
	check "$mode: recorded again" poll has_events l.2
	kill -KILL $writer
	wait $writer 2>/dev/null
	check "$mode: it ends in order" ends
	check "$mode: it verifies" "$xvtrace" verify -q "$work/$mode.d/"
	check "$mode: each file, too" eval '"$xvtrace" verify -q "$work/$mode.d/00000001.xvt" && "$xvtrace" verify -q "$work/$mode.d/00000002.xvt"'
	check "$mode: the first file's sums add up" balanced "$work/$mode.d/00000001.xvt"
	check "$mode: nothing is there twice" eval 'test -z "$(numbers "$work/$mode.d/" l | sort | uniq -d)"'
done

# --- a machine that does not answer holds up neither the others nor its end
records -o "$work/still.xvt" -r a="$work/a" -r b="$work/b"
check "two machines" poll eval 'has_events a && has_events b'
freeze $a
check "one that stands still is stopped" done_says "stop: a" stop a
kill -CONT $a
check "and does not write any more" eval '! enabled "$work/a"'
freeze $b
control stop b &
pids+=($!)
check "an end in the middle of a stop" poll eval '! is b attached'
check "it ends in order" ends
kill -CONT $b
check "and the trace verifies" "$xvtrace" verify -q "$work/still.xvt"
# A writer that was stopped inside an event has that one in flight.
check "its sums add up" eval '"$xvtrace" stat --json "$work/still.xvt" | jq -e "all(.vms[].rings[]; .attempted == .events + .discarded + .lost + .in_flight and .in_flight <= 1)" >/dev/null'

# --- --follow
shm=$XVTRACE_SHM_DIR
emits "$shm/xvtrace-f" 256K --rate 3000
f=$writer
check "it follows" records --follow -o "$work/follow.xvt"
check "a machine joins" poll has_events f
check "it is stopped" done_says "stop: f" stop f
kill -KILL $f
wait $f 2>/dev/null
exec {held}<"$shm/xvtrace-f" # so that the next file does not get its number
rm "$shm/xvtrace-f"
emits "$shm/xvtrace-f" 256K --rate 3000
emits "$shm/xvtrace-g" 256K --rate 3000
check "another machine joins" poll has_events g
# The files of all machines are looked at in each second.
second() { "$xvtrace" status --json --control "$work/control" | jq '.recorders[0].counted_ns'; }
for i in 1 2 3; do
	now=$(second)
	poll eval '[ "$(second)" -gt $now ]'
done
check "what is stopped does not join again, nor does a new file" eval '"$xvtrace" status --json --control "$work/control" | jq -e "[.recorders[0].vms[].name] == [\"f\", \"g\"]" >/dev/null && is f stopped'
check "until it is started" done_says "start: f.2" start f
check "then it is recorded" poll has_events f.2
check "a stop again" done_says "stop: f.2" stop f
rm "$shm/xvtrace-f"
check "a start without a file" done_says "start; to be recorded when it comes: f.2" start f
emits "$shm/xvtrace-f" 256K --rate 3000
check "it is recorded when it comes" poll has_events f.3
check "it ends in order" ends
check "and verifies" "$xvtrace" verify -q "$work/follow.xvt"

# --- machines that come later, where the recorder does not follow
emits "$work/p-1" 256K --rate 3000
check "a pattern" records -o "$work/later.xvt" -r "$work/p-*"
emits "$work/p-2" 256K --rate 3000
check "what it finds now joins when it is started" done_says "start: p-2" start 'p-*2'
check "and is recorded" poll has_events p-2
check "what the options do not name does not" refuses "xvtrace: start: b: no machine of this recorder has that name (xvtrace status shows them)" start b
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$work"
	chmod 666 "$work/control"
	cp "$xvtrace" "$work/xvtrace"
	for what in stop start; do
		setpriv --reuid 65534 --regid 65534 --clear-groups "$work/xvtrace" control $what p-2 --control "$work/control" 2>"$work/err"
		check "$what: not for other users" grep -qx "xvtrace: $what: only root and the recorder's user may change something" "$work/err"
	done
	check "and nothing was done" is p-2 attached
else
	echo "skip - other users: needs root and setpriv"
fi
check "it ends in order" ends
check "and verifies" "$xvtrace" verify -q "$work/later.xvt"
[ $failures -eq 0 ]
