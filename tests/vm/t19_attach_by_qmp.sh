#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A region is plugged into a running QEMU without libvirt, by its QMP socket, and taken out.
set -u
. "$(dirname "$0")/lib.sh"

name=$$-plug region=/dev/shm/xvtrace-$$-plug
xvt() {
	"$xvtrace" "$@" >"$work/out" 2>"$work/err"
	rc=$?
	cat "$work/out" "$work/err"
}
says() { test $rc -eq "$1" && test "$(cat "$work/out" "$work/err" | wc -l)" -eq 1 && grep -qE -- "$2" "$work/out" "$work/err"; }

need "a guest starts" vm_start g1 --vcpus 2 --append xvt.systems=sched,irq,timer --overlay "$(overlay plugged.sh)"
need "it runs" vm_wait_log g1 "^XVT-SAY ready" 600
qmp=$(vm_qmp_path g1)
xvt detach "$name" --qmp "$qmp"
check "detach: a QEMU without a region of attach" says 1 "no region by xvtrace attach"
# The device that it was started with: a module takes one.
devices() { vm_qmp g1 '{"execute": "qom-list", "arguments": {"path": "/machine/peripheral-anon"}}' | jq -r '.return[] | select(.type == "child<ivshmem-plain>").name'; }
first=$(devices)
vm_qmp g1 '{"execute": "device_del", "arguments": {"id": "/machine/peripheral-anon/'"$first"'"}}' >/dev/null
need "its first device goes" vm_poll 60 eval 'test -z "$(devices)"'

xvt attach "$name" --qmp "$qmp" --size 4M --timeout 100
check "attach: the guest's module takes it" says 0 "^$name: $region, 2 rings of its linux writer"
check "attach: the file has the size" test "$(stat -c %s "$region")" -eq $((4 << 20))
# What the guest can record of three systems, as it says itself.
check "the guest sends formats" vm_wait_log g1 "^XVT-SAY told" 600
tr -d '\r' <"$(vm_log g1)" | sed -n 's/^XVT-SAY can //p' | sort >"$work/can"
can() { sort | grep -E '^(sched|irq|timer):' | cmp - "$work/can"; }
xvt guests --events "$name"
check "guests --events: all that the guest can record of these systems" eval 'test $rc -eq 0 && test "$(wc -l <"$work/can")" -gt 30 &&
	sed -n "s/^  \([^ ]*:[^ ]*\)\$/\1/p" "$work/out" | can'
check "guests --events: its kernel" grep -qE "^$name: [0-9]+ events have a format in its region; .*[0-9]+\.[0-9]+\." "$work/out"
check "guests --events: what else it sent" grep -q '^  ftrace:print$' "$work/out"
xvt guests --events "$name" --json
check "guests --events --json: the same" eval 'jq -r ".machines[0].events[]" <"$work/out" | can'
xvt attach "$name-2" --qmp "$qmp"
check "attach: a second one" says 1 "has a region by xvtrace attach already"
check "attach: no file is left of it" test ! -e "$region-2"
xvt attach "$name" --qmp "$qmp"
check "attach: a file of that name" says 1 "is there already"
record_start "$work/t.xvt" -r "$region"
check "it is recorded" vm_poll 120 recorded
check "the recorder ends cleanly" record_stop
xvt detach "$name" --qmp "$qmp" --timeout 100
check "detach: the guest gives it back, and the file is removed" test $rc -eq 0 -a ! -s "$work/err" -a ! -e "$region"
xvt guests --events "$name"
check "guests --events: a machine that has no region any more" says 1 "$name: no running domain and no region has this name"
xvt attach "$name" --qmp "$qmp" --bus no-such-bus
check "attach: QEMU refuses: its reason, and no file is left" eval 'says 1 "QEMU: .*no-such-bus" && test ! -e "$region"'
xvt attach "$name" --qmp "$work/none"
check "attach: no socket" says 1 "none: "
xvt attach a/b --qmp "$qmp"
check "attach: a name that no file has" says 2 "no '/'"
xvt attach "$name" --qmp "$qmp" --config
check "attach: --config without libvirt" says 2 "leave out --config"

# --- with a doorbell and its server
bell=$region.doorbell
server_of() { pgrep -f "^xvtrace region serve $region --socket $bell\$"; }
no_server() { ! server_of && ! ls "$region"* 2>/dev/null; }
xvt attach "$name" --qmp "$qmp" --bus no-such-bus --doorbell
check "attach --doorbell: QEMU refuses: its reason, and nothing is left" eval 'says 1 "QEMU: .*no-such-bus" && no_server'
mkdir "$bell"
xvt attach "$name" --qmp "$qmp" --doorbell
check "attach --doorbell: the server cannot listen" eval 'says 1 "server does not start: $bell: exists, and is no socket" && test ! -e "$region" && ! server_of'
rmdir "$bell"
xvt attach "$name" --qmp "$qmp" --doorbell --size 4M --timeout 100
check "attach --doorbell: the guest's module takes it" says 0 "^$name: $region, 2 rings of its linux writer"
check "attach --doorbell: the file has the size" test "$(stat -c %s "$region")" -eq $((4 << 20))
check "attach --doorbell: QEMU's user may connect, and no other one" test "$(stat -c %a:%u "$bell")" = "700:$(stat -c %u "/proc/$(vm_pid g1)")"
server=$(server_of)
check "attach --doorbell: one server runs, in a session of its own" eval 'test -n "$server" && test "$(ps -o sid= -p "$server" | tr -d " ")" = "$server"'
xvt attach "$name-2" --qmp "$qmp" --doorbell
check "attach --doorbell: a second one" eval 'says 1 "has a region by xvtrace attach already" && ! ls "$region-2"* 2>/dev/null && ! pgrep -f "region serve $region-2"'
xvt attach "$name-2" --qmp "$qmp"
check "attach: a second one, without a doorbell" eval 'says 1 "has a region by xvtrace attach already" && ! ls "$region-2"* 2>/dev/null'
record_start "$work/bell.xvt" -r "$name=$region" --doorbell "$name=$bell"
check "attach --doorbell: the guest rings" vm_poll 120 grep -qsa "its doorbell works" "$work/bell.xvt"
check "attach --doorbell: it is recorded" vm_poll 120 recorded
check "attach --doorbell: the recorder ends cleanly" record_stop
check "attach --doorbell: events are in the trace" stat_says "$work/bell.xvt" '.events > 0'
check "attach --doorbell: the sums add up" adds_up "$work/bell.xvt"
# QEMU can crash when such a device is taken out.
xvt detach "$name" --qmp "$qmp"
check "detach: a doorbell stays in a machine that runs" eval 'says 1 "QEMU can crash .*shut the machine down" && server_of >/dev/null && test -S "$bell" && vm_alive g1'
xvt detach "$name" --qmp "$work/none"
check "detach: a wrong QMP socket takes nothing from a machine that runs" eval 'says 1 "is in use by another process" && server_of >/dev/null && test -e "$region"'
vmm=$(vm_pid g1)
vm_kill g1
# Its leading thread may end before the others, which keep its sockets.
need "QEMU ends" vm_poll 60 eval '! vm_alive g1 && ! ls "/proc/$vmm/task" 2>/dev/null'
xvt detach "$name" --qmp "$qmp"
check "detach: after QEMU has ended: server, socket and file are gone" eval 'test $rc -eq 0 -a ! -s "$work/err" && no_server'
xvt detach "$name" --qmp "$qmp"
check "detach: once more" says 1 "cannot connect"
finish
