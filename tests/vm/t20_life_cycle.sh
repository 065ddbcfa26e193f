#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What happens to a domain while it is recorded, as libvirt tells it, is in the trace: reset, save
# and restore, destroy and start, rename; and libvirtd may be restarted meanwhile.
set -u
. "$(dirname "$0")/lib.sh"
lv_trap
reason=$(lv_start 2>&1)
if [ $? -eq 77 ]; then
	echo "skip - the life of a domain: ${reason#*skipped: }"
	exit 77
fi
lv_start || exit 1

trace=$work/trace.xvt
# told NUMBER WORDS: so many notes of the trace have these words
told() {
	[ "$(grep -aoE -- "$2" "$trace" | wc -l)" -ge "$1" ]
}
# soon TEXT NUMBER WORDS
soon() { check "$1" vm_poll 60 told "$2" "$3"; }
generation() { "$xvtrace" region show --json "$(vm_region g1)" 2>/dev/null | jq .generation; }
formatted() { [ "$(generation)" -gt "$1" ] 2>/dev/null; }

need "a domain starts" eval 'lv_create g1 --vcpus 1 --master --reboot --overlay "$(overlay plugged.sh)"'
d1=$(lv_domain g1)
need "its guest runs" vm_wait_log g1 "^XVT-SAY ready" 600
record_start "$trace" -d "$d1"
soon "the recorder listens to it" 1 "runs, at"

before=$(generation)
check "it is reset" lv_virsh reset "$d1"
soon "the trace has the reset" 1 "was reset, at"
check "its guest comes again" vm_poll 200 formatted "${before:-0}"

check "it is saved" lv_virsh save "$d1" "$LV_DIR/saved"
soon "the trace has the save" 1 "its VMM has ended: saved, at"
check "it is restored" lv_virsh restore "$LV_DIR/saved"
soon "the trace has the restore" 1 "arrived from elsewhere: restored from a file, at"
vm_record_process g1 "$(cat "/run/libvirt/qemu/$d1.pid")"

if [ -s "$VM_RUN_DIR/libvirtd.pid" ]; then
	daemon=$(cat "$VM_RUN_DIR/libvirtd.pid")
	kill "$daemon"
	vm_poll 60 lv_gone "$daemon"
	soon "libvirtd ends: the trace says that nothing is known" 1 "nothing is known of its pauses from here on: the connection to libvirt is lost"
	need "libvirtd starts again" lv_start
	soon "the recorder connects again" 2 "runs, at"
	paused=$(grep -aoE "stopped: paused, at" "$trace" | wc -l)
	check "it is paused" lv_virsh suspend "$d1"
	soon "the trace has the pause's begin" $((paused + 1)) "stopped: paused, at"
	check "it is resumed" lv_virsh resume "$d1"
	soon "the trace has the pause's end" 1 "runs again after"
else
	echo "skip - libvirtd is restarted: the one that runs is not of this test"
fi

lv_virsh dumpxml --inactive "$d1" >"$work/defined.xml"
check "it gets a definition" lv_virsh define "$work/defined.xml"
lv_destroy g1
soon "the trace has the end" 1 "its VMM has ended: destroyed, at"
check "it is renamed" lv_virsh domrename "$d1" "$d1-new"
soon "the trace has the new name" 1 "was renamed: $d1-new, at"
check "it starts again" lv_virsh start "$d1-new"
soon "the trace has the start" 1 "runs: booted, at"
lv_virsh destroy "$d1-new" >/dev/null
soon "the trace has that end" 2 "its VMM has ended: destroyed, at"
lv_virsh undefine "$d1-new" >/dev/null
check "the recorder ends cleanly" record_stop
cat "$trace.err"
"$xvtrace" verify --notes "$trace"
check "verify passes" "$xvtrace" verify -q "$trace"
check "the sums add up" adds_up "$trace"
finish
