#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# xvtrace control, and the protocol of the control socket: what a recorder does when it is asked,
# what it refuses, and that clients which stall or send nonsense change nothing.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
mkdir "$XVTRACE_RUN_DIR"
conf=$work/xvtrace.conf
"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1
"$xvtrace" region create "$work/h" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 2000 >/dev/null 2>&1 &
pids+=($!)

control() { "$xvtrace" control "$@" >"$work/out" 2>"$work/err"; }
check "no recorder: exit 1" eval '! control rotate && grep -q "no recorder" "$work/err"'
check "no request: wrong usage" eval 'control; [ $? -eq 2 ] && grep -q "reload, rotate, snapshot, start MACHINE..., stop MACHINE..." "$work/err"'

printf 'output = %s/set/\nregion = g=%s/g\nrotate-size = 64M\nrotate-time = 0\n' "$work" "$work" >"$conf"
"$xvtrace" daemon -c "$conf" 2>"$work/log" &
daemon=$!
pids+=($daemon)
socket=$XVTRACE_RUN_DIR/record-$daemon
check "a recorder listens" poll listens "$socket"
records() { "$xvtrace" status --json --control "$socket" 2>/dev/null | jq -e '.recorders[0].events > 0' >/dev/null; }
check "it records" poll records

# -- rotate, reload
goes_on_in() { grep -q "^rotate: the recording goes on in $work/set/*0000000$1.xvt\$" "$work/out" && [ -e "$work/set/0000000$1.xvt" ]; }
check "rotate: done when there is an answer" eval 'control rotate && goes_on_in 2'
check "and again" eval 'control rotate --json && jq -e ".format == \"xvtrace-control/1\" and .done == \"rotate\" and .end and (.file | endswith(\"/00000003.xvt\"))" "$work/out" >/dev/null'
printf 'output = %s/set/\nregion = g=%s/g\nrotate-size = 32M\nmode = overwrite\n' "$work" "$work" >"$conf"
check "status: an answer for programs" eval '! control status && [ ! -s "$work/out" ] && grep -q "status: the recorder.s answer is one for programs: --json prints it" "$work/err"'
check "... which --json prints" eval 'control status --json && grep -q "^{.*\"pid\":" "$work/out"'
check "reload: done" eval 'control reload && grep -qx reload "$work/out"'
check "reload: what takes a restart is in the log by then" grep -q '^xvtrace: mode: warning: changed' "$work/log"
echo 'keep-size = wrong' >"$conf"
check "reload: a wrong configuration is an error" eval '! control reload && grep -q "^xvtrace: reload: the configuration has errors" "$work/err"'

# -- the protocol
# says LINE: the recorder's answer, one line for each of its lines
says() { printf '%s\n' "$1" | timeout 60 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.stdin.buffer.read())
while data := s.recv(65536):
    sys.stdout.buffer.write(data)' "$socket"; }
# refuses LINE WORDS: that is an error, and the whole answer
refuses() { says "$1" >"$work/said" && [ "$(wc -l <"$work/said")" -eq 1 ] && jq -r .error "$work/said" | grep -q -- "$2"; }
check "a status without a version, as of older clients" eval 'says "{\"do\":\"status\"}" | jq -se ".[0].format == \"xvtrace-status/1\" and .[1].name == \"g\" and .[-1].end" >/dev/null'
check "and with it" eval 'says "{\"version\":1,\"do\":\"status\"}" | jq -se ".[-1].end" >/dev/null'
check "another version" refuses '{"version":2,"do":"rotate"}' 'knows version 1'
check "a version that is no number" refuses '{"version":"1","do":"rotate"}' 'knows version 1'
check "an unknown request" refuses '{"version":1,"do":"format-disk"}' 'it knows status metrics rotate reload snapshot stop start events'
check "no request" refuses '{"version":1}' '"do" is one of'
check "a stop of nothing" refuses '{"version":1,"do":"stop"}' 'stop needs "machines"'
check "a start of what is no name" refuses '{"version":1,"do":"start","machines":["g",7]}' 'start needs "machines"'
check "events of no machine" refuses '{"version":1,"do":"events","events":["a:b"]}' 'events needs "machines"'
check "no events" refuses '{"version":1,"do":"events","machines":["g"],"events":[]}' 'events needs "events"'
check "an event with a line of its own" refuses '{"version":1,"do":"events","machines":["g"],"events":["a:b\n-c:d"]}' 'an event is SYSTEM:EVENT'
check "events of an unknown machine" refuses '{"version":1,"do":"events","machines":["no"],"events":["a:b"]}' 'no machine of this recorder'
check "no object" refuses '[1,2]' '"do" is one of'
check "no JSON" refuses 'rotate' '.'
check "nothing" refuses '' '.'
check "too deep" eval 'refuses "$(printf "[%.0s" {1..3000})" .'
check "none of these changed anything" test "$(find "$work/set" -name '*.xvt' | wc -l)" -eq 3
too_long() { says "$(head -c 5000 /dev/zero | tr '\0' x)" >"$work/said" 2>/dev/null; [ ! -s "$work/said" ]; }
check "a line that is too long gets no answer" too_long

# -- metrics
same_metrics() {
	local families='s/^# TYPE \([^ ]*\).*/\1/p'
	control metrics --control "$socket" && "$xvtrace" status --metrics --control "$socket" >"$work/metrics" &&
		cmp <(sed -n "$families" "$work/out") <(sed -n "$families" "$work/metrics") &&
		cmp <(grep -E '^xvtrace_(machine_up|machine_ring_size_bytes|recorder_info)' "$work/out") \
			<(grep -E '^xvtrace_(machine_up|machine_ring_size_bytes|recorder_info)' "$work/metrics")
}
check "metrics: as of status --metrics" same_metrics
check "metrics: lines of JSON with an end" eval 'says "{\"version\":1,\"do\":\"metrics\"}" | jq -se "length > 20 and .[-1].end and all(.[:-1][]; .metrics | endswith(\"\n\"))" >/dev/null'

# -- clients that stall: more than there are places, each in the middle of its line or of its answer
python3 -c '
import socket, sys, time
held = []
for i in range(64):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall([b"{", b"{\"do\":\"status\"}\n", b"{\"do\":\"rotate\"", b"\0" * 100, b"{\"do\":\"metrics\"}\n"][i % 5])
    held.append(s)
print("held", flush=True)
time.sleep(1000)' "$socket" >"$work/held" &
pids+=($!)
check "64 clients stall" poll grep -q held "$work/held"
check "another one is served" eval 'control rotate && goes_on_in 4'
events() { "$xvtrace" status --json --control "$socket" | jq '.recorders[0].events'; }
before=$(events)
grown() { [ "$(events)" -gt "$before" ]; }
check "and the recording goes on" poll grown
kill -KILL "${pids[-1]}"
wait "${pids[-1]}" 2>/dev/null

# -- two recorders, one without a folder or a configuration
"$xvtrace" record -q -o "$work/one.xvt" -r h="$work/h" --join-timeout 0.1 --control "$work/one" 2>/dev/null &
one=$!
pids+=($one)
check "a recorder at a socket of its own" poll listens "$work/one"
check "one file has no next one" eval '! control rotate --control "$work/one" && grep -q "start it with a folder" "$work/err"'
check "record has no configuration" eval '! control reload --control "$work/one" && grep -q "was started by" "$work/err"'
"$xvtrace" region create "$work/i" --size 1M --rings 1 || exit 1
"$xvtrace" record -q -o "$work/two.xvt" -r i="$work/i" --join-timeout 0.1 2>/dev/null &
two=$!
pids+=($two)
check "another one in the folder" poll listens "$XVTRACE_RUN_DIR/record-$two"
check "two to choose from: that is an error" eval '! control rotate && grep -q "2 recorders are at work" "$work/err"'
kill -TERM $one $two $daemon
wait $one $two
wait $daemon
check "the daemon ends in order" [ $? -eq 0 ]
check "a socket without a recorder" eval '! control rotate --control "$socket" && grep -q "cannot connect" "$work/err"'
check "the folder verifies" "$xvtrace" verify -q "$work/set/"

# -- more machines than go into a piece of the metrics
"$xvtrace" region create "$work/p-1" --size 64K --rings 1 || exit 1
for ((i = 2; i <= 250; i++)); do cp "$work/p-1" "$work/p-$i"; done
"$xvtrace" record -q -o "$work/many.xvt" -r "$work/p-*" --join-timeout 0.1 --control "$work/many" 2>/dev/null &
many=$!
pids+=($many)
up() { control metrics --control "$work/many" && [ "$(grep -c '^xvtrace_machine_up{' "$work/out")" -eq 250 ]; }
check "metrics of 250 machines" poll up
check "each machine once" test "$(grep '^xvtrace_machine_up{' "$work/out" | sort -u | wc -l)" -eq 250
check "each family is one block" eval 'test "$(grep -c "^# TYPE" "$work/out")" -eq "$(grep "^# TYPE" "$work/out" | sort -u | wc -l)"'
kill -KILL $many
wait $many 2>/dev/null
[ $failures -eq 0 ]
