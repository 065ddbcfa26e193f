#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Real KVM: the host as a machine of the trace. Between kvm_entry and kvm_exit of a vCPU's thread lie the events of that
# vCPU, by the merged times alone. Runs in the lab: qemu/lab-run.sh tests/vm/lab/t04_host_events.sh
set -u
. "$(dirname "$0")/../lib.sh"
. tests/vm/lab/lib.sh

trace=$work/trace.xvt
check "the guests have KVM" eval '[ "$(vm_accel 2>/dev/null)" = kvm ]'
vm_start g1 --vcpus 2 --overlay "$(overlay contexts.sh)" || exit 1
need "the guest is ready" vm_wait_log g1 '^XVT-SAY ready' 300
record_start "$trace" -H kvm:kvm_entry -H kvm:kvm_exit --host-buffer 16M -r g1="$(vm_region g1)"
need "the guest runs its load" vm_wait_log g1 '^XVT-SAY done' 300
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 120
cat "$trace.err"
"$xvtrace" stat "$trace"
check "verify passes" "$xvtrace" verify -q "$trace"

in_spans "$trace" g1 >"$work/judged" && read -r in_span outside median bound <"$work/judged" || exit 1
echo "$in_span events of the guest in the spans of their vCPUs, $outside outside; bound $bound ns, median span $median ns"
check "events of the guest lie between entries and exits" test "$in_span" -gt 100
check "none lies outside" test "$outside" -eq 0
"$BUILD/tests/tools/xvt-shift" g1 "$median" "$trace" "$work/shifted.xvt" || exit 1
in_spans "$work/shifted.xvt" g1 >"$work/judged" && read -r _ outside _ <"$work/judged" || exit 1
check "moved by the median span, some do: $outside" test "$outside" -gt 0
finish
