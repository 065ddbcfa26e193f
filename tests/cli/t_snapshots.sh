#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# record -o DIR/ --snapshot-when, and xvtrace control snapshot: the files around a moment stay, whole,
# when the set goes on without them, and they take a bounded space.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
set=$work/set
kept=$set/snapshots

# a is switched on from the beginning, so that it takes an event before a recorder has seen its ring
"$xvtrace" region create "$work/a" --size 1M --rings 1 --overwrite || exit 1
"$xvtrace" region create "$work/b" --size 1M --rings 1 || exit 1
"$xvtrace" region create "$work/small" --size 64K --rings 1 || exit 1
mkfifo "$work/tell"
"$BUILD/tests/tools/xvt-say" "$work/a" <"$work/tell" >"$work/told" &
pids+=($!)
exec 5>"$work/tell"
"$BUILD/xvt-emit" "$work/b" --count 100000000 --rate 5000 >/dev/null 2>&1 &
pids+=($!)
lines=0
say() {
	echo "$1 $2" >&5
	lines=$((lines + 1))
	poll has_lines
}
has_lines() { [ "$(wc -l <"$work/told")" -ge $lines ]; }

# record OPTION...
record() {
	: >"$work/err"
	# The ring of a has no writer before it has said something: that is not waited for.
	"$xvtrace" record -q --join-timeout 0 -o "$set/" -r a="$work/a" -r b="$work/b" --control "$work/control" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	poll at_work
}
# Both machines are recorded, as far as they have a writer.
at_work() { status -e '.recorders[0] | .events > 0 and all(.vms[].rings[]; .phase == "live")' >/dev/null; } 2>/dev/null
# What a has said was recorded: a snapshot has no more than that.
has_said() { status -e ".recorders[0].vms[] | select(.name == \"a\") | [.rings[].events] | add >= $1" >/dev/null; }
end() {
	kill -TERM $recorder
	wait $recorder
}
# two_a_minute COUNT: of snapshots of one machine since $began, where more are to be made
two_a_minute() { [ "$1" -ge 2 ] && [ "$1" -le $((2 + 2 * ((SECONDS - began) / 60))) ]; }
control() { "$xvtrace" control "$@" --control "$work/control" >"$work/out" 2>"$work/control.err"; }
# folder: that the answer names
folder() { sed -n 's/^snapshot: //p' "$work/out"; }
# texts FOLDER TEXT: how often a said it
texts() { "$xvtrace" report -q --filter "text == \"$2\"" "$1" 2>/dev/null | wc -l; }
events() { "$xvtrace" report -q "$1" 2>/dev/null | wc -l; }
has() { [ "$(texts "$1" "$2")" -eq "$3" ]; }
snapshots() { [ ! -d "$kept" ] || find "$kept" -mindepth 1 -maxdepth 1 -name "*$1*" | sort; }
has_snapshot() { [ -n "$(snapshots "$1")" ]; }
is_whole() { grep -q "^xvtrace: note: snapshot: .*$1.* has it: $2" "$work/err"; }
status() { "$xvtrace" status --json --control "$work/control" | jq "$@"; }

# -- a client asks
record --snapshot-after 0.1
say 3 before
poll has_said 3
check "control: a snapshot" control snapshot
first=$(folder)
check "it is in the set's folder" test -d "$first" -a "$(dirname "$first")" -ef "$kept"
check "it has what came before" has "$first" before 3
check "and the other machine's events" test "$(events "$first")" -gt 100
verifies() { "$xvtrace" verify -q "$1" >/dev/null; }
check "it verifies" verifies "$first"
say 2 between
poll has_said 5
check "control: another one" control snapshot --json
check "with the protocol's answer" jq -e -s '.[0] | .done == "snapshot" and .end and (.folder | contains("/snapshots/"))' "$work/out" >/dev/null
second=$(jq -r .folder "$work/out")
check "it has what came between" has "$second" between 2
check "the first one does not change" has "$first" between 0
check "the status counts them" eval '[ "$(status .recorders[0].snapshots)" = 2 ] && [ "$(status .recorders[0].conditions_held)" = 0 ]'
check "and the set ends in order" end
check "the set is whole, and so are they" eval 'verifies "$set/" && verifies "$second"'
noted() { "$xvtrace" verify --notes "$set/" 2>/dev/null | grep -c "snapshots/.* has it"; }
check "the trace has notes about them" test "$(noted)" -eq 2

# -- the oldest are removed, by their number
rm -rf "$set"
record --snapshot-after 0 --snapshot-most 3
for i in 1 2 3 4 5; do
	say 1 "n$i"
	control snapshot || break
done
check "five were made" test "$(status .recorders[0].snapshots)" -eq 5
check "three stay" test "$(snapshots control | wc -l)" -eq 3
check "the newest ones" has "$(snapshots control | tail -n 1)" n5 1
end

# -- files that the set removes stay in a snapshot, within --keep-size
rm -rf "$set"
record --rotate-size 1M --keep-size 5M --snapshot-after 0
say 1 precious
control snapshot
precious=$(folder)
"$BUILD/xvt-emit" "$work/b" --count 300000 --size 64 >/dev/null 2>&1
removed() { [ "$(status .recorders[0].files_removed)" -gt 2 ]; }
more() { "$BUILD/xvt-emit" "$work/b" --count 50000 --size 64 >/dev/null 2>&1; removed; }
check "the set removes files" poll more
end
check "its first file is not there" test ! -e "$set/00000001.xvt"
check "but in the snapshot" has "$precious" precious 1
check "which verifies" verifies "$precious"
# and what the two rings have for a recorder that was held up
check "all of it together has its bound" test "$(du -sb "$set" | cut -f 1)" -le $((6 << 20))

# -- a machine loses events; beyond the number in a minute they are counted only. What was lost is counted with the next event
# of the ring, which comes once the recorder has made room: after the moment.
rm -rf "$set"
"$xvtrace" region create "$work/other" --size 128K --rings 1 || exit 1
began=$SECONDS
record -r small="$work/small" -r other="$work/other" --snapshot-when 'loss small' --snapshot-when 'loss other' --snapshot-when 'crash b' --snapshot-after 1 --snapshot-per-minute 2
unseen() { grep -c "^xvtrace: $1: warning: the condition .crash. cannot see how it ends: no VMM is asked; give its QMP socket by --qmp" "$work/err"; }
check "a crash that cannot be seen is told" eval '[ "$(unseen b)" = 1 ] && [ "$(unseen "[^:]*")" = 1 ]'
"$BUILD/xvt-emit" "$work/small" --count 100000000 --rate 20000 >/dev/null 2>&1 &
pids+=($!)
attempted() { "$xvtrace" region show --json "$work/small" | jq '[.rings[].attempted] | add'; }
poll eval '[ "$(attempted)" -gt 0 ]'
lost() { "$xvtrace" region show --json "$work/small" | jq '[.rings[].lost_by | add] | add'; }
# lose: while the recorder is stopped, the ring runs full
lose() {
	local before
	freeze $recorder
	before=$(lost)
	poll eval '[ "$(lost)" -gt '"$before"' ]'
	kill -CONT $recorder
}
held() { [ "$(status .recorders[0].conditions_held)" -ge "$1" ]; }
for i in 1 2 3 4; do
	lose
	check "loss $i: the condition holds" poll held $i
	poll eval '[ "$(status .recorders[0].snapshots)" -ge '$((i < 2 ? i : 2))' ]'
done
check "two snapshots" two_a_minute "$(snapshots loss-small | wc -l)"
"$BUILD/xvt-emit" "$work/other" --count 100000000 --rate 20000 >/dev/null 2>&1 &
pids+=($!)
attempted() { "$xvtrace" region show --json "$work/other" | jq '[.rings[].attempted] | add'; }
poll eval '[ "$(attempted)" -gt 0 ]'
lost() { "$xvtrace" region show --json "$work/other" | jq '[.rings[].lost_by | add] | add'; }
lose
check "another machine has its own" poll eval '[ "$(snapshots loss-other | wc -l)" -eq 1 ]'
poll eval '[ "$(status .recorders[0].snapshots)" -ge 3 ]'
check "and the first one no more" two_a_minute "$(snapshots loss-small | wc -l)"
check "the log has the moment and the number" is_whole loss-small 'small lost [0-9]* events, at [0-9.]*$'
check "the snapshot has the loss" eval '[ "$("$xvtrace" stat --json "$(snapshots loss-small | head -n 1)" | jq "[.vms[].rings[].lost] | add")" -gt 0 ]'
end
check "the others are told by number" grep -q "conditions held [0-9]* more times" "$work/err"

# -- a panic, told by QMP, and a machine that stands still
rm -rf "$set"
python3 - "$work/qmp" "$work/panic" <<'PY' &
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(1)
c = s.accept()[0]
f = c.makefile("rw")
def tell(o):
    f.write(json.dumps(o) + "\r\n")
    f.flush()
tell({"QMP": {"version": {}, "capabilities": []}})
for line in f:
    do = json.loads(line)
    answer = {"status": "running", "running": True} if do["execute"] == "query-status" else {}
    tell({"return": answer, **({"id": do["id"]} if "id" in do else {})})
    if do["execute"] == "query-status":
        break
open(sys.argv[2] + ".ready", "w").close()
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
now = time.time()
tell({"event": "GUEST_PANICKED", "data": {"action": "pause"}, "timestamp": {"seconds": int(now), "microseconds": 0}})
time.sleep(1000)
PY
pids+=($!)
poll listens "$work/qmp"
record --qmp a="$work/qmp" --snapshot-when 'crash a' --snapshot-when 'crash b' --snapshot-when 'still 1 a' --snapshot-after 0.2
check "not of the one whose QEMU is asked" eval '[ "$(unseen a)" = 0 ] && [ "$(unseen b)" = 1 ]'
say 1 last
check "a is still: a snapshot" poll is_whole still-a 'a had no event for [0-9]*[.]'
check "which has its last event" has "$(snapshots still-a)" last 1
check "it was one condition, once" test "$(status .recorders[0].conditions_held)" -eq 1
say 1 words
poll test -e "$work/panic.ready"
: >"$work/panic"
check "a panics: a snapshot" poll is_whole crash-a 'a crashed'
check "which has its last words" has "$(snapshots crash-a)" words 1
last=$(sed -n 's/^xvtrace: note: snapshot: .*crash-a.* has it: a crashed, at [0-9.]*, last event at \([0-9.]*\)$/\1/p' "$work/err")
check "and says when they were" eval '"$xvtrace" report -q --vm a --around "$last" --span 1ms "$(snapshots crash-a)" | grep -q words'
end

# -- an event; many; and one in the file before
rm -rf "$set"
began=$SECONDS
record --snapshot-when 'event text text == "boom"' --snapshot-when 'event b:none' --snapshot-when 'event text txet == 1' --snapshot-after 0.2 --snapshot-per-minute 2
say 100 others
say 1 boom
check "an event: a snapshot" poll is_whole event-a 'a xvt:text: boom, at [0-9.]*$'
check "which has it" has "$(snapshots event-a)" boom 1
check "it was one event" poll held 1
check "a field that no event has is told" poll grep -q "^xvtrace: --snapshot-when: warning: event text txet == 1: no event has a field 'txet'; text has: text" "$work/err"
say 5000 boom
say 5000 boom
check "10,000 more: all are counted" poll held 10001
check "in a second snapshot" poll eval '[ "$(status .recorders[0].snapshots)" -ge 2 ]'
check "each file goes on where the one before ended" control rotate
say 3 boom
check "in the next file, too" poll held 10004
check "but there is no third snapshot" two_a_minute "$(snapshots event-a | wc -l)"
check "that was told once" test "$(grep -c txet "$work/err")" -eq 1
check "and none is counted twice" eval 'say 100 others; say 1 boom; poll held 10005 && [ "$(status .recorders[0].conditions_held)" -eq 10005 ]'
check "it ends in order" end
processes() { pgrep -P $$ xvtrace; }
check "and leaves no process" eval '! processes >/dev/null'

# -- what is refused
refused() {
	"$xvtrace" record -q -r a="$work/a" "${@:2}" 2>"$work/refused"
	[ $? -eq 2 ] && grep -q -- "$1" "$work/refused"
}
check "one file has no snapshots" refused 'one file has no snapshots; give a folder' -o "$work/x.xvt" --snapshot-when loss
for wrong in '' fire 'still' 'still soon' 'still 0' 'loss a b' 'crash a b' 'event' 'event  '; do
	check "no condition: '$wrong'" refused 'a condition is: event' -o "$work/x/" --snapshot-when "$wrong"
done
check "a wrong filter" refused "event text text === 1: filter: character 8, at '= 1': there is no such operator" -o "$work/x/" --snapshot-when 'event text text === 1'
check "too many in a minute" refused 'it is at most 60' -o "$work/x/" --snapshot-per-minute 61
"$xvtrace" record -q -o "$work/one.xvt" -r a="$work/a" --control "$work/control" 2>/dev/null &
recorder=$!
pids+=($recorder)
poll listens "$work/control"
check "a recorder of one file refuses it" eval '! control snapshot && grep -q "start it with a folder" "$work/control.err"'
end
exit $((failures > 0))
