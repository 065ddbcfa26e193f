#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A libvirtd that hangs: it is stopped by a signal, so it accepts connections and does not answer. The
# recording of all machines goes on and ends in order, and each command says so instead of waiting.
set -u
. "$(dirname "$0")/lib.sh"
lv_trap
hung_cleanup() {
	trap "" HUP INT TERM
	[ -z "${libvirtd:-}" ] || kill -CONT "$libvirtd"
	kill -KILL "${pids[@]}" 2>/dev/null
	lv_cleanup
}
pids=()
trap hung_cleanup EXIT
reason=$(lv_start 2>&1)
if [ $? -eq 77 ]; then
	echo "skip - a libvirtd that hangs: ${reason#*skipped: }"
	exit 77
fi
lv_start || exit 1
if [ ! -s "$VM_RUN_DIR/libvirtd.pid" ]; then
	echo "skip - a libvirtd that hangs: the one that runs is not of this test"
	exit 77
fi
libvirtd=$(cat "$VM_RUN_DIR/libvirtd.pid")
hangs() { kill -STOP "$libvirtd"; }
goes_on() { kill -CONT "$libvirtd"; }

trace=$work/trace.xvt
told() { [ "$(grep -aoE -- "$2" "$1" | wc -l)" -ge "$3" ]; }
soon() { check "$1" vm_poll 100 told "$2" "$3" "$4"; }
# events CONTROL NAME: of the machine, by the counters of the last second
events() { "$xvtrace" status --json --control "$1" 2>/dev/null | jq --arg n "$2" '[.recorders[0].vms[] | select(.name == $n) | .rings[].events] | add // 0'; }
more_than() { [ "$(events "$1" "$2")" -gt "$3" ] 2>/dev/null; }
flows() {
	local now
	now=$(events "$1" "$2")
	vm_poll 100 more_than "$1" "$2" "${now:-0}"
}
emit() {
	"$xvtrace" region create "$work/$1" --size 1M --rings 1 || return
	"$BUILD/xvt-emit" "$work/$1" --count 1000000000 --rate 1000 >/dev/null &
	pids+=($!)
}
# says TEXT WORDS COMMAND...: it ends within a minute, and says that in one line
says() {
	local text=$1 words=$2 rc
	shift 2
	timeout 60 "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	check "$text" eval '[ $rc -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q -- "$words" "$work/err"'
	sed "s/^/# exit $rc: /" "$work/err"
}

need "a domain starts" eval 'lv_create g1 --vcpus 1 --overlay "$(overlay plugged.sh)"'
d1=$(lv_domain g1)
need "its guest runs" vm_wait_log g1 "^XVT-SAY ready" 600
need "two other machines write" eval 'emit a && emit b'
# Two connections to libvirt: that of --follow, and the domain's own.
record_start "$trace" --follow -d "$d1" -r a="$work/a" --join-timeout 0 --control "$work/control"
first=$recorder
soon "the recorder listens to the domain" "$trace" "runs, at" 1
check "events of both come" eval 'flows "$work/control" "$d1" && flows "$work/control" a'

hangs
soon "libvirtd hangs: the trace says so" "$trace" "nothing is known of its pauses from here on: libvirt's daemon does not answer" 1
check "so does the recorder" vm_poll 100 grep -q "^xvtrace: libvirt: warning: its daemon does not answer; it is tried again every 5 s" "$trace.err"
check "the other machine is recorded" flows "$work/control" a
check "and the domain" flows "$work/control" "$d1"

answer="libvirt's daemon does not answer within 10 s; restart it, or name regions by -r"
says "attach says so" "^xvtrace: $d1: $answer" "$xvtrace" attach "$d1"
says "detach says so" "^xvtrace: $d1: $answer" "$xvtrace" detach "$d1"
says "record of the domain says so" "^xvtrace: $d1: $answer" "$xvtrace" record -q -o "$work/no.xvt" -d "$d1"
says "record of a pattern says so" "^xvtrace: $d1\*: $answer" "$xvtrace" record -q -o "$work/no.xvt" -d "$d1*"
guests() { timeout 60 "$xvtrace" guests --json | jq -e --arg a "$answer" '.libvirt_problem == $a' >/dev/null; }
check "guests says so, and lists what there is" guests
doctor() { timeout 60 "$xvtrace" doctor --json >"$work/doctor"; [ $? -le 1 ] && grep -q "does not answer" "$work/doctor"; }
check "doctor says so" doctor

record_start "$work/second.xvt" --follow -d "$d1" -r b="$work/b" --join-timeout 0 --control "$work/control2"
check "a recorder that starts says so" vm_poll 100 grep -q "^xvtrace: libvirt: warning: $answer; it is tried again" "$work/second.xvt.err"
check "and records the other machine" vm_poll 100 more_than "$work/control2" b 0
check "it ends in order" record_stop
check "its trace verifies" "$xvtrace" verify -q "$work/second.xvt"

goes_on
recorder=$first
soon "libvirtd goes on: the recorder listens again" "$trace" "runs, at" 2
check "the domain is paused" lv_virsh suspend "$d1"
soon "which is noted" "$trace" "stopped: paused, at" 1
check "and resumed" lv_virsh resume "$d1"
soon "which is noted, too" "$trace" "runs again after" 1

# In the seconds in which nothing has noticed it.
hangs
kill -INT "$recorder"
ended() { [ ! -d "/proc/$recorder" ] || grep -q "^State:.Z" "/proc/$recorder/status"; }
check "libvirtd hangs again: the recorder ends" vm_poll 100 ended
wait "$recorder"
check "in order" test $? -eq 0
goes_on
cat "$trace.err"
"$xvtrace" verify --notes "$trace"
check "verify passes" "$xvtrace" verify -q "$trace"
check "the sums add up" adds_up "$trace"
lv_destroy g1
finish
