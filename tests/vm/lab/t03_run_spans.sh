#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Real KVM: when the kernel says that it had each vCPU in its guest, against each event's time. Runs in the lab:
# qemu/lab-run.sh tests/vm/lab/t03_run_spans.sh
set -u
. "$(dirname "$0")/../lib.sh"
. tests/vm/lab/lib.sh

trace=$work/trace.xvt
check "the guests have KVM" eval '[ "$(vm_accel 2>/dev/null)" = kvm ]'
vm_start g1 --vcpus 2 --overlay "$(overlay contexts.sh)" || exit 1
need "the guest is ready" vm_wait_log g1 '^XVT-SAY ready' 300
record_start "$trace" --run-spans -r g1="$(vm_region g1)"
need "the guest runs its load" vm_wait_log g1 '^XVT-SAY done' 300
# One a second and ring, when the guest gets to it.
marks_there() {
	"$xvtrace" verify "$trace" 2>/dev/null | grep -qE ', [1-9][0-9]* marks;'
}
check "marks are written" eval 'VM_POLL_SECONDS=2 vm_poll 300 marks_there'
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 120
cat "$trace.err"
"$xvtrace" stat "$trace"
"$xvtrace" verify --notes "$trace" | tee "$work/verify.txt" | tail -n 40
check "verify passes" "$xvtrace" verify -q "$trace"
check "events are inside run spans" grep -qE '; [1-9][0-9]* events inside run spans' "$work/verify.txt"
"$BUILD/tests/tools/xvt-shift" g1 5000000 "$trace" "$work/shifted.xvt" || exit 1
check "moved by 5 ms, many are not" eval '! "$xvtrace" verify "$work/shifted.xvt" >"$work/shifted.txt" && grep -q "its vCPU was out of its guest" "$work/shifted.txt"'
head -n 3 "$work/shifted.txt"
finish
