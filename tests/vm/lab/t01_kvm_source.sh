#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Real KVM: its own knowledge of a guest's clock (debugfs) against what the handshake measured, sample by sample. Runs in
# the lab: qemu/lab-run.sh tests/vm/lab/t01_kvm_source.sh
set -u
. "$(dirname "$0")/../lib.sh"
. tests/vm/lab/lib.sh

trace=$work/trace.xvt
check "the guests have KVM" eval '[ "$(vm_accel 2>/dev/null)" = kvm ]'
vm_start g1 --vcpus 2 --overlay "$(overlay contexts.sh)" || exit 1
need "the guest is ready" vm_wait_log g1 '^XVT-SAY ready' 300
record_start "$trace" -r g1="$(vm_region g1)"
need "the guest runs its load" vm_wait_log g1 '^XVT-SAY done' 300
check "debugfs knows both vCPUs" eval 'kvm_truth g1 >"$work/truth" && [ "$(wc -l <"$work/truth")" = 2 ]'
# Two rings, ten bursts a second and at most two samples of each: half a minute; on a busy machine many times as long.
# To count them is to read the whole trace, so not too often: guest and recorder need the CPUs.
check "1,000 samples of the handshake" eval 'VM_POLL_SECONDS=15 vm_poll 2400 samples_at_least "$trace" 1000'
kvm_truth g1 >"$work/truth.after"
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 120
cat "$trace.err" "$work/truth"
"$xvtrace" stat "$trace"

check "KVM's formula is the same before and after" cmp "$work/truth" "$work/truth.after"
check "nothing lost, late or out of order" stat_says "$trace" '.lost == 0 and .late == 0 and .order_violations == 0 and .in_flight == 0'
check "attempted == events + discarded + lost + in flight" adds_up "$trace"
check "verify passes" "$xvtrace" verify "$trace"
check_pairs g1 "$trace"
check "one epoch for each ring" stat_says "$trace" '[.vms[].rings[].epochs] == [1, 1]'

check "every sample and node is true by KVM's formula" eval '"$samples" --truth "$work/truth" "$trace" >"$work/samples.txt"'
cat "$work/samples.txt"
# The check can fail. Only a sample narrower than this tells, and on a busy machine few are.
while read -r vm hw_id offset scaling; do
	echo "$vm $hw_id $((offset + 1000000)) $scaling"
done <"$work/truth" >"$work/false"
check "beside the truth they are not" eval '! "$samples" --truth "$work/false" "$trace" >"$work/false.txt"'
tail -n 1 "$work/false.txt"
check "the clock is KVM's" stat_says "$trace" '[.vms[].rings[].clock.source] == ["kvm", "kvm"]'
check "nothing was rejected" stat_says "$trace" '[.vms[].rings[].clock.rejected // [] | length] == [0, 0]'
finish
