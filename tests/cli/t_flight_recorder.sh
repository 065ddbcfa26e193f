#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# record --flight-recorder: machines that a recorder keeps armed and does not record. A snapshot has what they hold; nothing of
# theirs is consumed, and nothing that they do delays the recorder.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm
export LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR"
set=$work/set

# emits REGION ARG...: a program that records into it; its pid is $writer
emits() {
	"$BUILD/xvt-emit" "$1" --count 1000000000000000 "${@:2}" >/dev/null 2>&1 &
	writer=$!
	pids+=($writer)
}
# speaker NAME FD: a program that says what say() tells it
speaker() {
	mkfifo "$work/tell-$1"
	"$BUILD/tests/tools/xvt-say" "$work/$1" <"$work/tell-$1" >"$work/told-$1" &
	pids+=($!)
	eval "exec $2>$work/tell-$1"
}
# say NAME FD N TEXT
say() {
	local lines
	lines=$(wc -l <"$work/told-$1")
	echo "$3 $4" >&"$2"
	poll eval '[ "$(wc -l <"$work/told-'"$1"'")" -gt '"$lines"' ]'
}
stall=1 # s
records() {
	"$xvtrace" record -q --join-timeout 0 --stall-timeout "$stall" -o "$set/" --control "$work/control" "$@" 2>"$work/log" &
	recorder=$!
	pids+=($recorder)
	poll listens "$work/control"
}
ends() {
	kill -TERM $recorder
	wait $recorder
	ended_idle $? "$work/log"
}
control() { "$xvtrace" control "$@" --control "$work/control" >"$work/out" 2>"$work/err"; }
folder() { sed -n 's/^snapshot: //p' "$work/out"; }
status() { "$xvtrace" status --json --control "$work/control" | jq -e ".recorders[0] | $1" >/dev/null; }
recorded() { status "any(.vms[]; .name == \"$1\" and .phase == \"attached\" and any(.rings[]; .events > 0))"; }
armed() { status "any(.flight_recorders[]?; .name == \"$1\" and .rings > 0 and .armed == .rings and .why == null)"; }
enabled() { "$xvtrace" region show --json "$1" | jq -e "all(.rings[]; .enable == $2)" >/dev/null; }
attempted() { "$xvtrace" region show --json "$1" | jq '[.rings[].attempted] | add'; }
has() { [ "$("$xvtrace" report -q --filter "text == \"$2\"" "$1" 2>/dev/null | wc -l)" -eq "$3" ]; }
names() { "$xvtrace" stat --json "$1" | jq -c '[.vms[].name] | sort'; }
verifies() { "$xvtrace" verify -q "$1"; }
balanced() { "$xvtrace" stat --json "$1" | jq -e 'all(.vms[].rings[]; .attempted == .events + .discarded + .lost + .in_flight)' >/dev/null; }
number() { od -An -t "u$2" -j "$3" -N "$2" "$1" | tr -d ' '; }
# host_words FILE: what the host leaves in the region: who is at work; of each ring cons, enable, epoch; and the account
host_words() {
	local ctl stride rings i at
	ctl=$(number "$1" 8 56) stride=$(number "$1" 4 76) rings=$(number "$1" 4 80)
	number "$1" 8 $((4096 + 8))
	for ((i = 0; i < rings; i++)); do
		at=$((ctl + i * stride + stride / 2))
		od -An -t u8 -j $at -N 24 "$1"
		od -An -t u8 -j $((at + 192)) -N 64 "$1"
	done
}

"$xvtrace" region create "$work/f" --size 1M --rings 2 --overwrite || exit 1
"$xvtrace" region create "$work/n" --size 1M --rings 2 || exit 1
"$xvtrace" region create "$work/b" --size 1M --rings 1 --overwrite || exit 1
speaker f 5
emits "$work/n" --rate 1000
speaker b 6

# --- a moment
say f 5 3 early
words=$(host_words "$work/f")
check "a recorder, beside two machines that it keeps armed" records -r "$work/[fn]" -r b="$work/b" --flight-recorder f --flight-recorder 'n*' \
	--snapshot-when 'event b:xvt:text text == "boom"' --snapshot-after 0.1 --snapshot-most 2
check "one that was is armed" poll armed f
check "one that was not is armed, too" poll armed n
check "it was told" grep -q '^xvtrace: n: warning: 2 of its 2 rings were not in overwrite mode; they are armed now' "$work/log"
check "and its guest records" poll eval '[ "$(attempted "$work/n")" -gt 100 ]'
check "neither is recorded" status '.machines == 1 and [.vms[].name] == ["b"] and .flight_kept == 2 and .flight_armed == 2'
check "status shows them" eval '"$xvtrace" status --control "$work/control" | grep -q "^f .* flight recorder, 2 of 2 rings armed$"'
check "so does top" eval '"$xvtrace" top -n 1 --control "$work/control" | grep -q "^n .* flight recorder, 2 of 2 rings armed$"'
check "so do the metrics" eval '"$xvtrace" status --metrics --control "$work/control" | grep -q "^xvtrace_recorder_flight_armed{recorder=\"$recorder\"} 2$"'
check "start says what it is" eval '! control start f && grep -qx "xvtrace: start: f: it is a flight recorder, which is kept armed and not recorded (flight-recorder)" "$work/err"'
say f 5 2 before
say b 6 1 boom
check "a moment" poll grep -q 'snapshot: .*event-b has it' "$work/log"
moment=$(find "$set/snapshots" -name '*event-b')
flight=$moment/flight.xvt
check "it has what they held" grep -q "flight.xvt has what 2 flight recorders held" "$work/log"
check "all of it" eval 'has "$flight" before 2 && has "$flight" early 3'
check "of both" test "$(names "$flight")" = '["f","n"]'
check "it verifies" verifies "$flight"
check "it adds up" balanced "$flight"
check "the set's files are there, too" eval 'has "$moment" boom 1 && test "$(names "$moment")" = "[\"b\"]"'
check "and verify, with the others" eval 'verifies "$moment" >"$work/out" && grep -q "^$flight: ok: " "$work/out" && grep -q "^$moment: ok: 1 files" "$work/out"'
# said COMMAND...: how often it names the command that reads the other trace
said() { "$xvtrace" "$@" 2>&1 >/dev/null | grep -cx "xvtrace: note: the flight recorders of this snapshot are a trace of their own, which is not included: 'xvtrace $1 $flight'; given together they are read as one"; }
for i in "report $moment" "report -n 1 $moment" "stat $moment" "stat --json $moment" "export --format jsonl $moment -"; do
	check "${i/$work\//}: says where the others are, once" test "$(said $i)" -eq 1
done
for i in "report -q $moment" "stat -q $moment" "export -q --format jsonl $moment -" "report $flight" "report $moment/00000001.xvt"; do
	check "${i/$work\//}: does not" test "$(said $i)" -eq 0
done
check "both as one" test "$("$xvtrace" stat --json "$moment" "$flight" 2>"$work/err" | jq -c '[.vms[].name]')" = '["b","f","n"]'
check "... without that note" test ! -s "$work/err"
cp "$flight" "$work/whole.xvt"
printf broken | dd of="$flight" bs=1 seek=3000 conv=notrunc status=none
check "verify of the folder finds what is wrong in it" eval '! verifies "$moment" >"$work/out" && grep -q "^$moment: not ok: " "$work/out"'
cp "$work/whole.xvt" "$flight"
check "what the host wrote in the region is as it was" test "$words" = "$(host_words "$work/f")"

# --- a client; another snapshot has it again, and the oldest is removed
say f 5 1 later
check "a client's snapshot" control snapshot
second=$(folder)
check "it has what came later" has "$second/flight.xvt" later 1
check "the first one does not change" has "$flight" later 0
check "a third one" control snapshot
check "the first one is removed" test ! -e "$moment"
check "the newer ones stay" test -e "$second/flight.xvt"

# --- another command has one of them
"$xvtrace" record -q --control "$work/theirs" -o "$work/other.xvt" -r f="$work/f" &
other=$!
pids+=($other)
some() { "$xvtrace" region show --json "$work/f" | jq -e "any(.rings[]; .enable == $1)" >/dev/null; }
check "another recorder takes one" poll some 1
check "status says that it is not armed" poll status 'any(.flight_recorders[]; .name == "f" and .armed < .rings and (.why | startswith("another xvtrace is at work")))'
check "a snapshot meanwhile" control snapshot
check "has the other one" test "$(names "$(folder)/flight.xvt")" = '["n"]'
kill -TERM $other
wait $other
check "the other recorder ends in order" test $? -eq 0
check "and it is armed again" poll armed f
check "in overwrite mode" enabled "$work/f" 2
say f 5 1 again
check "a snapshot" control snapshot
check "has it again" has "$(folder)/flight.xvt" again 1

# --- one that stands still inside an event delays nothing of the recorder
freeze $writer
begun() { find "$set/snapshots" -name flight.xvt -newer "$work/mark" | grep -q .; }
children() { pgrep -s 0 -x xvtrace-flight >/dev/null; }
: >"$work/mark"
"$xvtrace" control snapshot --control "$work/control" >"$work/slow" 2>&1 &
slow=$!
pids+=($slow)
check "a snapshot of a machine that does not answer begins" poll begun
say b 6 1 meanwhile
check "meanwhile the recorder goes on" control rotate
check "it is whole" eval 'wait $slow && verifies "$(sed -n "s/^snapshot: //p" "$work/slow")/flight.xvt"'

# --- kill -9 in the middle
: >"$work/mark"
"$xvtrace" control snapshot --control "$work/control" >/dev/null 2>&1 &
pids+=($!)
poll begun
kill -KILL $recorder
wait $recorder 2>/dev/null
check "killed: no process of it is left" poll eval '! pgrep -P $$ xvtrace >/dev/null && ! children'
kill -CONT $writer
rm -f "$work/control"
# All answer, however late.
stall=60 check "the next recorder" records -r "$work/[fn]" -r b="$work/b" --flight-recorder '[fn]' --snapshot-after 0.1 --snapshot-before 0.5 --snapshot-most 2
check "has them armed" poll eval 'armed f && armed n'
poll status '.now_ns - .started_ns > 1000000000'
say f 5 1 fresh
asked_ns=$("$xvtrace" status --json --control "$work/control" | jq '[.. | .now_ns? // empty][0]')
check "and makes snapshots" control snapshot
check "that are whole" eval 'verifies "$(folder)/flight.xvt" && has "$(folder)/flight.xvt" fresh 1'
# Its ring holds some four seconds, a sub-buffer half of one.
begin_ns=$("$xvtrace" export --format jsonl --vm n "$(folder)/flight.xvt" - | jq -s 'map(.ts_ns // empty) | min')
check "what is older than --snapshot-before is left out" test "$begin_ns" -gt $((asked_ns - 2000000000))
check "a second and third" eval 'control snapshot && control snapshot'
check "what the killed one left is removed" test "$(find "$set/snapshots" -mindepth 1 -maxdepth 1 | wc -l)" -eq 2
check "it ends in order" ends
check "the rings stay armed" eval 'enabled "$work/f" 2 && enabled "$work/n" 2'
check "and verifies" verifies "$set/"

# --- only machines that are kept armed; within --keep-size
rm -rf "$set"
check "a recorder with no other machine" records -r f="$work/f" -r n="$work/n" --flight-recorder '*' --rotate-size 1M --keep-size 6M --snapshot-after 0 --snapshot-most 100
check "it goes on" poll armed n
kill -KILL $writer
"$BUILD/xvt-emit" "$work/n" --count 100000 --size 64 >/dev/null 2>&1
sizes() { until [ -e "$work/enough" ]; do measure "$set" && echo $most; done; }
sizes >"$work/sizes" &
watch=$!
pids+=($watch)
whole=0
for i in 1 2 3 4 5 6; do
	control snapshot && whole=$((whole + 1)) && control rotate
done
touch "$work/enough"
wait $watch
check "all of them are whole" test $whole -eq 6
gone() { echo $((10#$(ls "$set" | sed -n 's/\.xvt$//p' | tail -n 1) - $(find "$set" -maxdepth 1 -name '*.xvt' | wc -l))); }
check "status counts the files that are gone, also for a snapshot" status ".files_removed == $(gone) and $(gone) > 0"
check "the set is within --keep-size at each moment" test "$(tail -n 1 "$work/sizes")" -le $((6 << 20))
newest=$(find "$set/snapshots" -mindepth 1 -maxdepth 1 | sort | tail -n 1)/flight.xvt
# last_of FILE: the newest event of n, without its time
last_of() { "$xvtrace" report -q --vm n "$1" | grep -v ' LOST ' | tail -n 1 | cut -d ' ' -f 2-; }
"$xvtrace" snapshot -q -o "$work/now.xvt" -r n="$work/n"
check "with the newest events of what does not fit" eval '[ -n "$(last_of "$newest")" ] && [ "$(last_of "$work/now.xvt")" = "$(last_of "$newest")" ]'
check "which adds up" balanced "$newest"
check "and verifies" verifies "$newest"
most=0
measure "$set/snapshots"
check "snapshots stay within half of --keep-size" test $most -gt 0 -a $most -le $((3 << 20))
check "the newest one is there" test -e "$(find "$set/snapshots" -mindepth 1 -maxdepth 1 | sort | tail -n 1)/flight.xvt"
check "it ends in order" ends

# --- their own crashes, losses and standstills are moments, too
kept() { find "$set/snapshots" -mindepth 1 -maxdepth 1 -name "*$1" 2>/dev/null | grep -q . && grep -q "snapshot: .*$1 has it" "$work/log"; }
flight_of() { echo "$(find "$set/snapshots" -mindepth 1 -maxdepth 1 -name "*$1")/flight.xvt"; }
rm -rf "$set"
"$xvtrace" region create "$work/l" --size 1M --rings 1 --subbuf-size 4K --overwrite || exit 1
emits "$work/n" --rate 1000
qmp=()
if command -v qemu-system-x86_64 >/dev/null; then
	bare_qemu "$work/qmp"
	qmp=(--qmp f="$work/qmp")
fi
records -r f="$work/f" -r n="$work/n" -r l="$work/l" -r b="$work/b" --flight-recorder '[fnl]' "${qmp[@]}" --snapshot-after 0.1 --snapshot-per-minute 60 \
	--snapshot-when 'crash' --snapshot-when 'loss l' --snapshot-when 'still 2 n'
check "three that are kept armed" poll eval 'armed n && armed f && armed l'
busy() { [ "$(attempted "$work/n")" -gt $((begin + 3000)) ]; }
begin=$(attempted "$work/n")
check "one of them works for some seconds" poll busy
check "which is no moment" eval '[ ! -e "$set/snapshots" ] || [ -z "$(ls "$set/snapshots")" ]'
kill -KILL $writer
check "it stands still: a moment" poll kept still-n
check "with what it held" eval '[ "$("$xvtrace" stat --json "$(flight_of still-n)" | jq "[.vms[] | select(.name == \"n\").rings[].events] | add")" -gt 3000 ]'
check "it stands still for longer: no second one" test "$(find "$set/snapshots" -mindepth 1 -maxdepth 1 -name '*-n' | wc -l)" -eq 1
"$BUILD/xvt-emit" "$work/l" --count 10 --size 8192 >/dev/null 2>&1
check "one loses events: a moment" poll kept loss-l
check "which says how many" grep -q 'loss-l has it: l lost 10 events, at' "$work/log"
if [ ${#qmp[@]} -gt 0 ]; then
	kill -KILL $qemu
	check "the QEMU of one is killed: a moment" poll kept crash-f
	check "with what it held" has "$(flight_of crash-f)" again 1
else
	echo "skip - the QEMU of a flight recorder is killed: qemu-system-x86_64 not found"
fi
check "it ends in order" ends

# --- events of one that is kept armed
rm -rf "$set"
words=$(host_words "$work/f")
held() { status ".conditions_held == $1"; }
at_rest() { [ "$words" = "$(host_words "$work/f")" ]; }
say f 5 1 fire
emits "$work/n" --rate 1000
records -r f="$work/f" -r n="$work/n" -r b="$work/b" --flight-recorder '[fn]' --snapshot-after 0.1 --snapshot-per-minute 2 \
	--snapshot-when 'event xvt:text text == "fire"' --snapshot-when 'event f:xvt:text txet == "x"'
check "two that are kept armed, with a condition on events" poll eval 'armed n && armed f'
say f 5 100 others
say f 5 1 fire
check "an event: a moment" poll kept event-f
check "which says what it was" grep -q 'event-f has it: f xvt:text: fire, at [0-9.]*$' "$work/log"
check "with what it held, also from before" has "$(flight_of event-f)" fire 2
check "and the other one's" test "$(names "$(flight_of event-f)")" = '["f","n"]'
check "it verifies" verifies "$(flight_of event-f)"
check "only the event that came later counts" held 1
check "a field that no event has is told" poll grep -q "^xvtrace: --snapshot-when: warning: event xvt:text txet == .x.: no event has a field 'txet'; text has: text" "$work/log"
say b 6 1 fire
check "one of a recorded machine counts, too" poll held 2
# What comes while its snapshot is open is in that one.
check "in a snapshot of its own" poll kept event-b
say f 5 5000 fire
say f 5 5000 fire
check "10,000 more: all are counted" poll held 10002
check "in two snapshots of it, which is the most in a minute, and one of the other's" poll eval '[ "$(find "$set/snapshots" -mindepth 1 -maxdepth 1 -name "*-event-f" | wc -l) $(find "$set/snapshots" -mindepth 1 -maxdepth 1 | wc -l)" = "2 3" ]'
check "between looks its region is as it was" poll at_rest
check "it ends in order" ends
check "at the end, too" at_rest
kill -KILL $writer

# --- reload
shm=$XVTRACE_SHM_DIR
for i in x y; do
	"$xvtrace" region create "$shm/xvtrace-$i" --size 1M --rings 1 || exit 1
	emits "$shm/xvtrace-$i" --rate 1000
done
configure() { printf 'output = %s/\ncontrol = %s\nsnapshot-after = 0.1\n%s\n' "$work/d" "$work/control" "$1" >"$work/conf"; }
configure "flight-recorder = x"
rm -f "$work/control"
service_manager "$work/notify" "$work/told"
told() { tail -n 2 "$work/told" | grep -q "^STATUS=$1"; }
NOTIFY_SOCKET=$work/notify "$xvtrace" daemon -c "$work/conf" 2>"$work/log" &
recorder=$!
pids+=($recorder)
poll listens "$work/control"
check "daemon: one is recorded, one is armed" poll eval 'recorded y && armed x && status "[.vms[].name] == [\"y\"]"'
check "the service manager knows" poll told '1/1 machines, 1/1 armed  [0-9]* events'
configure "flight-recorder = y"
check "reload" control reload
check "the other way round" poll eval 'recorded x && armed y'
check "the recording of the other one is stopped" status 'any(.vms[]; .name == "y" and .phase == "stopped")'
check "in overwrite mode" enabled "$shm/xvtrace-y" 2
configure ""
check "reload: none" control reload
check "both are recorded" poll eval 'recorded x && recorded y.2'
check "none is armed" status '.flight_kept == null'
check "the service manager knows" poll told '2/[0-9]* machines  [0-9]* events'
# While the recording of one is still being stopped, since its writer stands still, it cannot begin again.
freeze $writer
configure "flight-recorder = y"
check "reload: a machine that stands still is to be kept armed" control reload
configure ""
check "and, before its recording has ended, recorded" control reload
kill -CONT $writer
check "it is, once it can be" poll recorded y.3
check "no message about it needs a restart" eval '! grep -q "after a restart" "$work/log"'
configure "flight-recorder = x"
control reload
check "again" poll armed x
rm "$shm/xvtrace-x"
check "one whose file is gone is forgotten" poll status '.flight_kept == null'
check "it ends in order" ends
check "and verifies" verifies "$work/d/"

# --- misuse
"$xvtrace" record -q -o "$work/x.xvt" -r f="$work/f" --flight-recorder f 2>"$work/err"
check "one file has no snapshots" test $? -eq 2
check "it says so" grep -q '^xvtrace: --flight-recorder: one file has no snapshots; give a folder, like -o .*x.xvt.d/' "$work/err"
exit $((failures > 0))
