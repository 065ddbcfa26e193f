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

# The most that a time of the guest may be off.
bound=$("$xvtrace" stat --json "$trace" | jq '[.vms[] | select(.name == "g1") | .rings[] | select(.events > 0) | .clock.bound_ns_max] | max')

# judge TRACE: events of the guest that were inside, and outside, of the spans of their vCPU by more than the bound, and
# the median span in ns. Some kernels enter again without an event: then a span begins with the exit before.
judge() {
	"$xvtrace" export --to jsonl "$1" "$1.jsonl" || return
	jq -r '[.vm, .ts_ns, .event, .cpu, (.comm // "" | tostring)] | @tsv' "$1.jsonl" |
		awk -F '\t' -v bound="$bound" '
			$1 == "host" && match($5, /^g1:vcpu[0-9]+$/) {
				v = substr($5, 8)
				if ($3 == "kvm_entry") { if (!inside[v]) { inside[v] = 1; from[v] = $2 } }
				else if ($3 == "kvm_exit") {
					if (!inside[v]) from[v] = left[v]
					if (from[v]) { n[v]++; lo[v, n[v]] = from[v]; hi[v, n[v]] = $2; span[++spans] = $2 - from[v] }
					inside[v] = 0
					left[v] = $2
				}
			}
			$1 == "g1" { ev[++evs] = $2; cpu[evs] = $4 }
			END {
				for (i = 1; i <= evs; i++) {
					v = cpu[i]
					if (!n[v] || ev[i] < lo[v, 1] + bound || ev[i] > hi[v, n[v]] - bound)
						continue
					while (at[v] < n[v] && hi[v, at[v] + 1] < ev[i] - bound) at[v]++
					if (lo[v, at[v] + 1] <= ev[i] + bound) in_span++; else outside++
				}
				for (i = 1; i <= spans; i++) print span[i] | "sort -n >'"$work"'/spans"
				close("sort -n >'"$work"'/spans")
				for (i = 1; (getline line <"'"$work"'/spans") > 0; i++) if (i == int((spans + 1) / 2)) median = line
				print in_span + 0, outside + 0, median + 0
			}'
}
judge "$trace" >"$work/judged" && read -r in_span outside median <"$work/judged" || exit 1
echo "$in_span events of the guest in the spans of their vCPUs, $outside outside; bound $bound ns, median span $median ns"
check "events of the guest lie between entries and exits" test "$in_span" -gt 100
check "none lies outside" test "$outside" -eq 0
"$BUILD/tests/tools/xvt-shift" g1 "$median" "$trace" "$work/shifted.xvt" || exit 1
judge "$work/shifted.xvt" >"$work/judged" && read -r _ outside _ <"$work/judged" || exit 1
check "moved by the median span, some do: $outside" test "$outside" -gt 0
finish
