#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: tracefs
# shellcheck disable=SC2317
# The host as one more machine: its events beside a machine's, only those of the machine's threads
# unless asked otherwise, what the kernel lost, and an instance that is removed whatever happens.
set -u
tracing=/sys/kernel/tracing
# Mount tracefs for this test alone, where it is not mounted.
if [ ! -d $tracing/instances ] && [ -z "${XVT_HOST_MOUNTED-}" ] &&
	unshare -m sh -c "mount -t tracefs t $tracing" 2>/dev/null; then
	XVT_HOST_MOUNTED=1 exec unshare -m sh -c "mount -t tracefs t $tracing && exec \"\$0\"" "$0"
fi
. "$(dirname "$0")/lib.sh"
. tests/formats.sh
trap cleanup EXIT

# holds FILTER: what jq finds in the host's part of the statistics
holds() {
	jq -e '[.vms[] | select(.kind == "host") | .rings[]] | '"$1" "$work/stat" >/dev/null
}

"$xvtrace" region create "$work/g" --size 256K --rings 2 || exit 1
usage() {
	"$xvtrace" record -q -o "$work/u.xvt" -r g="$work/g" --duration 0.1 "$@" 2>"$work/err"
	[ $? -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
}
check "an event without its system is wrong usage" usage -H sched_switch
check "an unknown preset is wrong usage" usage --host schedule
check "--host-all without an event is wrong usage" usage --host-all
check "--host-buffer without an event is wrong usage" usage --host-buffer 2M
check "--host-buffer has a limit" usage --host sched --host-buffer 2G

# Without the right to trace, the machines are recorded all the same.
chmod 777 "$work"
chmod 666 "$work/g"
if [ "$(id -u)" = 0 ] && [ -d $tracing/instances ]; then
	setpriv --reuid 65534 --regid 65534 --clear-groups -- \
		"$xvtrace" record -o "$work/n.xvt" -r g="$work/g" --host sched --duration 0.2 2>"$work/err"
	check "a user who may not trace the kernel: no failure" ended_idle $? "$work/err"
	check "and one warning, which says what to do" [ "$(grep -c 'host: warning: .*run as root' "$work/err")$(grep -c ': warning: ' "$work/err")" = 11 ]
	check "the trace has no machine host" eval '! "$xvtrace" stat "$work/n.xvt" | grep -q "^host  "'
fi
if ! [ -w $tracing/instances ] || ! grep -q x86-tsc $tracing/trace_clock 2>/dev/null; then
	echo "skip - the host's events: the kernel cannot be traced here"
	[ $failures -eq 0 ]
	exit
fi

check "an event that the kernel does not have is an error" usage -H sched:no_such_event
check "it is named, and where its events are" grep -q 'sched:no_such_event: .*no such event.*/sys/kernel/tracing/events' "$work/err"
"$xvtrace" region create "$work/host" --size 256K --rings 2 || exit 1
"$xvtrace" record -q -o "$work/u.xvt" -r host="$work/host" -H sched:sched_switch --duration 0.1 2>"$work/err"
check "another machine of the name host is refused" [ $? -eq 2 ]

named() {
	jq -se "$@" >/dev/null
}

# instances PID: the instances of a recorder
instances() {
	find $tracing/instances -maxdepth 1 -name "xvtrace-host-$1-*"
}

# machine_recorded NAME: its events come. One that has none by the end is an error of the recording.
machine_recorded() {
	"$xvtrace" status --json --control "$work/control" 2>/dev/null |
		jq -e --arg name "$1" '[.. | objects | select(.name? == $name) | .. | objects | .events? | numbers] | any(. > 0)' >/dev/null
}

# A machine: a program with a ring, which sleeps a thousand times a second.
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 1000 >/dev/null &
emit=$!
pids+=($emit)
RECORDED_EVENTS=500 "$xvtrace" record -q -o "$work/t.xvt" -r g="$work/g" -H sched:sched_switch --control "$work/control" \
	2>"$work/err" -- tests/recorded.sh "$work/control" g host &
recorder=$!
pids+=($recorder)
poll eval '[ -n "$(instances $recorder)" ]'
wait $recorder
check "a program and its threads: exit 0" [ $? -eq 0 ]
check "nothing is left in the kernel" [ -z "$(instances $recorder)" ]
# A signal in the moment in which the recorder has made its instance, and has not begun to record.
"${CC:-gcc}" -shared -fPIC -D_GNU_SOURCE -o "$work/early.so" -x c - -ldl <<'EOT' || exit 1
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

int mkdir(const char *path, mode_t mode)
{
	int (*real)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
	int err = real(path, mode);

	if (!err && strstr(path, "/instances/"))
		raise(atoi(getenv("EARLY_SIGNAL")));
	return err;
}
EOT
ends_early() {
	EARLY_SIGNAL=$1 LD_PRELOAD=$work/early.so "$xvtrace" record -q -o "$work/early.xvt" -r g="$work/g" --host sched \
		2>"$work/err" &
	recorder=$!
	wait $recorder
	[ $? -le 1 ] && [ -z "$(instances $recorder)" ] && "$xvtrace" verify "$work/early.xvt" >/dev/null
}
# SIGTERM, SIGINT (ignored in the background of a shell), SIGHUP
for signal in 15 2 1; do
	check "signal $signal before the first event ends the recorder, and its tracing" ends_early $signal
done
"$xvtrace" verify "$work/t.xvt" >"$work/verify"
check "the trace is right" [ $? -eq 0 ]
check "its events are held against the host's switches" grep -qE '; [1-9][0-9]* events while their threads were on a CPU of the host' "$work/verify"
"$xvtrace" stat --json "$work/t.xvt" >"$work/stat"
# Each of its events is followed by a sleep of nearly a millisecond.
if jq -e '.vms[] | select(.name == "g") | .bound_ns_median < 50000' "$work/stat" >/dev/null; then
	"$BUILD/tests/tools/xvt-shift" g 300000 "$work/t.xvt" "$work/s.xvt"
	"$xvtrace" verify "$work/s.xvt" >"$work/verify"
	check "a clock that is 300 us off is found by them" grep -q "but its thread was on no CPU of the host" "$work/verify"
else
	echo "skip - a clock that is off: half of its times are bounded by more than 50 us, beside sleeps of a millisecond"
fi
check "the host has a ring for each CPU" \
	holds "length == $(find $tracing/per_cpu -maxdepth 1 -name 'cpu*' | wc -l)"
check "its clock is the host's, within 100 ns" \
	holds 'all(.clock.source == "host" and .clock.bound_ns_max < 100)'
"$xvtrace" report "$work/t.xvt" --vm host --event sched_switch >"$work/switches"
threads=$(cd /proc/$emit/task && echo * | tr ' ' '|')
check "it has events" [ -s "$work/switches" ]
check "only those of the machine's threads" \
	eval '! grep -qvE "(prev|next)_pid=($threads) " "$work/switches"'
check "the machine's own events are there, too" [ -n "$("$xvtrace" report "$work/t.xvt" --vm g | head -1)" ]
"$xvtrace" export --to jsonl "$work/t.xvt" "$work/t.jsonl"
check "a thread is called after its machine" \
	named --arg tids "$threads" '($tids | split("|") | map(tonumber)) as $tids |
		[.[] | select(.vm == "host" and ([.pid] | inside($tids))) | .comm] |
		length > 0 and all(startswith("g:xvt-"))' "$work/t.jsonl"
if command -v protoc >/dev/null; then
	"$xvtrace" export -q --format perfetto "$work/t.xvt" - | perfetto_decode >"$work/t.txt"
	check "a thread is one of its process" awk -v of="$emit" '
		$1 == "tid:" { tid = $2 } $1 == "tgid:" && $2 == of && tid != of { found = 1 } END { exit !found }' "$work/t.txt"
else
	echo "skip - processes of the host's threads: protoc is not installed"
fi

# --host sched: the switches of all threads; of the rest what concerns the machine's.
"$xvtrace" record -q -o "$work/c.xvt" -r g="$work/g" --host sched --control "$work/control" 2>"$work/err" &
recorder=$!
pids+=($recorder)
poll eval 'machine_recorded g && machine_recorded host'
seq 1000000 | cat >/dev/null
# on CPU: the machine's thread that writes events has run there
writer=$(find /proc/$emit/task -mindepth 1 -maxdepth 1 | sort -V | tail -n 1)
on() {
	taskset -ap "$((1 << $1))" $emit >/dev/null
	poll eval '[ "$(cut -d " " -f 39 "$writer/stat")" = '"$1"' ]'
}
check "the machine's thread moves" eval 'on 0 && on 1 && on 0 && on 1'
kill -INT $recorder
wait $recorder
check "--host sched: exit 0, and nothing is missing" [ "$?$(cat "$work/err")" = 0 ]
"$xvtrace" verify "$work/c.xvt" >"$work/verify"
check "the trace is right" [ $? -eq 0 ]
"$xvtrace" export --to jsonl "$work/c.xvt" "$work/c.jsonl"
# kept WORDS: of the events of the host, in .[]; own(PID) is whether a thread is the machine's
kept() {
	named --arg tids "$threads" '($tids | split("|") | map({ key: ., value: true }) | from_entries) as $own |
		def own(p): $own[p | tostring] // false;
		[.[] | select(.vm == "host" and .system == "sched")] | '"$1" "$work/c.jsonl"
}
check "switches of other threads are there" \
	kept 'any(.[]; .event == "sched_switch" and (own(.fields.prev_pid) or own(.fields.next_pid) | not) and .fields.next_comm == "seq")'
check "all other events concern the machine's threads" \
	kept 'map(select(.event != "sched_switch")) | length > 0 and all(own(.pid) or own(.fields.pid))'
check "also where another thread wakes or moves them" \
	kept 'def by($e): any(.[]; .event == $e and own(.fields.pid) and (own(.pid) | not)); by("sched_waking") and by("sched_migrate_task")'
check "and no others than switches, wake-ups and moves" \
	kept 'map(.event) | unique - ["sched_switch", "sched_waking", "sched_wakeup_new", "sched_migrate_task"] == []'
if unshare -m true 2>/dev/null; then
	# A kernel without KVM: it has no such folder.
	unshare -m sh -c "mount -t tmpfs t $tracing/events/kvm && exec \"\$@\"" - \
		"$xvtrace" record -o "$work/v.xvt" -r g="$work/g" --host vcpu --duration 1 2>"$work/err"
	check "--host vcpu without KVM: one note says what is missing" \
		[ "$(grep -c 'kvm:' "$work/err")$(grep -c 'this kernel does not have kvm:kvm_entry, kvm:kvm_exit, .*kvm:kvm_msi_set_irq; they are not recorded' "$work/err")" = 11 ]
	check "and the switches are recorded" \
		eval '"$xvtrace" report "$work/v.xvt" --vm host -e sched_switch | grep -q .'
fi

# A machine whose program comes later: a search that goes on in steps finds it.
"$xvtrace" region create "$work/late" --size 256K --rings 2 || exit 1
"$xvtrace" record -q -o "$work/a.xvt" -r late="$work/late" -H sched:sched_switch --join-timeout 0 \
	--control "$work/control" 2>"$work/err" &
recorder=$!
pids+=($recorder)
poll listens "$work/control"
"$xvtrace" status --json --control "$work/control" >"$work/status"
check "status: the host is a machine of its own kind, without a region" \
	jq -e '[.. | objects | select(.name? == "host")] | length == 1 and all(.kind == "host" and .region == null)' "$work/status"
"$BUILD/xvt-emit" "$work/late" --count 100000000 --rate 1000 >/dev/null &
late=$!
pids+=($late)
check "a program that comes later is found" poll grep -qa 'late:xvt-' "$work/a.xvt"
kill -INT $recorder
wait $recorder
check "and the recorder ends cleanly" [ $? -eq 0 ]
kill $late

# Functions in the host's events have names: a thread that sleeps starts a timer.
"$xvtrace" record -q -o "$work/f.xvt" -r g="$work/g" -H timer:hrtimer_start --control "$work/control" 2>"$work/err" -- \
	tests/recorded.sh "$work/control" g host
# Perfetto decodes the states of tasks by it.
check "the file says which kernel the host has" \
	eval '"$xvtrace" export -q --format perfetto "$work/f.xvt" - | grep -aF "$(uname -r)" >/dev/null'
if grep -q '^0*[1-9a-f].* hrtimer_wakeup$' /proc/kallsyms; then
	check "a function of the host's kernel has its name" \
		eval '"$xvtrace" report "$work/f.xvt" --vm host | grep "function=hrtimer_wakeup " >/dev/null'
	check "only the symbols that are needed are in the trace" \
		test "$(strings -n 20 "$work/f.xvt" | grep -cE '^[0-9a-f]{16} t ')" -lt 100
else
	echo "skip - names of functions: the kernel hides its addresses"
fi

# A QEMU that does not name its threads: QMP says which run the vCPUs.
if command -v qemu-system-x86_64 >/dev/null; then
	"$xvtrace" region create "$work/q" --size 256K --rings 2 || exit 1
	qemu-system-x86_64 -display none -nodefaults -accel tcg,thread=multi -smp 2 -m 32 \
		-object "memory-backend-file,id=m,size=256K,mem-path=$work/q,share=on" \
		-qmp "unix:$work/qmp,server=on,wait=off" >"$work/qemu.err" 2>&1 &
	pids+=($!)
	poll listens "$work/qmp" || cat "$work/qemu.err"
	"$xvtrace" record -q -o "$work/q.xvt" -r q="$work/q" --qmp q="$work/qmp" --host all-vcpus \
		--join-timeout 0 2>"$work/err" -- \
		timeout 120 sh -c 'until grep -qa q:vcpu0 "$1" && grep -qa q:qemu "$1"; do sleep 0.05; done' - "$work/q.xvt"
	check "a QEMU without names for its threads: no failure" ended_idle $? "$work/err"
	"$xvtrace" export --to jsonl "$work/q.xvt" "$work/q.jsonl"
	check "a thread that runs a vCPU is called after it" named 'any(.[]; .comm == "q:vcpu0")' "$work/q.jsonl"
	check "other threads of QEMU are called after the machine" \
		named 'any(.[]; .comm | tostring | test("^q:qemu"))' "$work/q.jsonl"
else
	echo "skip - names of vCPUs by QMP: qemu-system-x86_64 not found"
fi

# What the threads are, with the time from which they are it: vCPUs that come, a QEMU that is started again.
if command -v qemu-system-x86_64 >/dev/null && command -v socat >/dev/null; then
	"$xvtrace" region create "$work/r" --size 256K --rings 2 || exit 1
	start_named() {
		qemu-system-x86_64 -name r,debug-threads=on -display none -nodefaults -S -accel tcg,thread=multi \
			-cpu qemu64 -smp 1,maxcpus=2,sockets=2,cores=1,threads=1 -m 32 -object iothread,id=one \
			-object "memory-backend-file,id=m,size=256K,mem-path=$work/r,share=on" \
			-qmp "unix:$work/own,server=on,wait=off" >"$work/qemu.err" 2>&1 &
		qemu=$!
		pids+=($qemu)
		disown $qemu
		poll eval 'grep -qs "^CPU 0/TCG" /proc/$qemu/task/*/comm' || cat "$work/qemu.err"
	}
	start_named
	first=$qemu
	"$xvtrace" record -q -o "$work/r.xvt" -r r="$work/r" --host sched --join-timeout 0 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	stated() { # TGID WORDS: of one of its threads
		"$BUILD/tests/tools/xvt-threads" "$work/r.xvt" 2>/dev/null | grep -qE "^[0-9]+ $1 $2 r [0-9]+$"
	}
	poll stated $first "vcpu 0"
	printf '%s\n' '{"execute": "qmp_capabilities"}' '{"execute": "device_add", "arguments": {"driver": "qemu64-x86_64-cpu",
		"id": "c", "socket-id": 1, "core-id": 0, "thread-id": 0}}' | socat -t 5 - "UNIX-CONNECT:$work/own" >"$work/qmp.out"
	check "a vCPU that is plugged in" poll stated $first "vcpu 1"
	kill -KILL $first
	poll eval '[ ! -d /proc/$first ]'
	rm -f "$work/own"
	start_named
	check "a QEMU that is started again" poll stated $qemu "vcpu 0"
	over() {
		"$BUILD/tests/tools/xvt-threads" "$work/r.xvt" 2>/dev/null | awk -v a=$first '
			$2 == a { was[$1] = $6 } $3 == "none" && $6 > was[$1] { over[$1] = 1 }
			END { for (t in was) { n++; if (!over[t]) exit 1 } exit !n }'
	}
	check "what has ended is it no longer" poll over
	kill -INT $recorder
	wait $recorder
	"$BUILD/tests/tools/xvt-threads" "$work/r.xvt" >"$work/threads"
	check "its first thread, and one for I/O" eval 'stated $first "main 0" && stated $first "io 0"'
	# Times of threads are told in ticks of 10 ms.
	check "each from its start: the plugged one later, the second QEMU later still" awk -v a=$first -v b=$qemu '
		$2 == a && $3 == "vcpu" { at[$4] = $6 }
		$2 == b && $3 == "vcpu" { second = $6 }
		END { exit !(at[0] > 0 && at[0] + 1e7 < at[1] && at[1] < second) }' "$work/threads"
	check "which the whole trace has, too" over
	kill $qemu
else
	echo "skip - roles of threads: qemu-system-x86_64 or socat not found"
fi

# Events that the kernel overwrites while the recorder stands still.
"$xvtrace" record -q -o "$work/l.xvt" -r g="$work/g" -H 'raw_syscalls:*' --host-all --host-buffer 64K \
	--control "$work/control" 2>"$work/err" &
recorder=$!
pids+=($recorder)
stats() {
	cat "$(instances $recorder)"/per_cpu/cpu*/stats 2>/dev/null
}
poll eval 'stats | grep -q "^read events: [1-9]" && machine_recorded g'
freeze $recorder
dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null
overrun() {
	stats | awk '/^(commit )?overrun:|^dropped/ { n += $NF } END { print n + 0 }'
}
check "the kernel's buffer is overrun" [ "$(overrun)" -gt 0 ]
kill -CONT $recorder
kill -TERM $recorder
wait $recorder
check "an end after losses: exit 0" [ $? -eq 0 ]
"$xvtrace" verify "$work/l.xvt" >/dev/null
check "the trace is right" [ $? -eq 0 ]
"$xvtrace" stat --json "$work/l.xvt" >"$work/stat"
check "what was attempted is in the trace, or counted as overwritten" \
	holds '(map(.lost_by.overwritten) | add) > 0 and all(.attempted == .events + .discarded + .lost + .in_flight)'
check "the report has losses among the host's events" \
	eval '"$xvtrace" report "$work/l.xvt" --vm host | grep " LOST .*overwritten=[1-9]" >/dev/null'

# A recorder that is killed leaves its instance; the next one removes it, and no one else's.
"$xvtrace" record -q -o "$work/k.xvt" -r g="$work/g" --host sched 2>"$work/err" &
recorder=$!
poll eval '[ -n "$(instances $recorder)" ]'
kill -KILL $recorder
wait $recorder 2>/dev/null
check "a recorder that is killed leaves its instance" [ -n "$(instances $recorder)" ]
mkdir $tracing/instances/xvtrace-host-$$-1
"$xvtrace" record -q -o "$work/k.xvt" -r g="$work/g" --host sched --duration 0.2 2>"$work/err"
check "the next one removes it" [ -z "$(instances $recorder)" ]
check "and that of another process with a number that is used again" [ -z "$(instances $$)" ]
[ $failures -eq 0 ]
