# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the lab's tests after tests/vm/lib.sh: what only a host with real KVM can tell.

# kvm_truth GUEST: what KVM knows of each vCPU, a line "GUEST HWID OFFSET RATIO FRAC", as xvt-samples wants it. KVM calls
# a vCPU by its APIC id. Without scaling its files are not there.
kvm_truth() {
	local dir ratio frac found=''
	for dir in /sys/kernel/debug/kvm/"$(vm_pid "$1")"-*/vcpu*; do
		[ -f "$dir/tsc-offset" ] || continue
		found=yes
		ratio=1 frac=0
		[ ! -f "$dir/tsc-scaling-ratio" ] || { ratio=$(cat "$dir/tsc-scaling-ratio") && frac=$(cat "$dir/tsc-scaling-ratio-frac-bits"); }
		echo "$1 ${dir##*vcpu} $(cat "$dir/tsc-offset") $ratio $frac"
	done
	[ -n "$found" ]
}

# samples_at_least FILE N: by handshake, in a trace that is being written
samples_at_least() {
	local n
	n=$("$samples" --count "$1" 2>/dev/null) && [ "$n" -ge "$2" ]
}

samples=$BUILD/tests/tools/xvt-samples

# kvm_watch: from here on each TSC offset that KVM sets is remembered, and each triple fault of a guest (SVM's exit 127,
# VMX's 2), in an ftrace instance of our own. The ring is small, and so are the events.
kvm_watch() {
	kvm_instance=/sys/kernel/tracing/instances/xvtrace-lab
	mkdir -p $kvm_instance
	echo >$kvm_instance/trace
	echo '(isa == 2 && exit_reason == 127) || (isa == 1 && exit_reason == 2)' >$kvm_instance/events/kvm/kvm_exit/filter
	echo 1 >$kvm_instance/events/kvm/kvm_exit/enable
	echo 1 >$kvm_instance/events/kvm/kvm_write_tsc_offset/enable
}

# no_triple_fault: KVM saw none since kvm_watch. A guest's kernel that gives up panics first, and says so on its console;
# one that is reset without a word was run wrongly by what is beneath it.
no_triple_fault() {
	! grep kvm_exit: $kvm_instance/trace
}

# kvm_truth_ever GUEST: as kvm_truth, with every offset since kvm_watch. The event says which vCPU, and its thread which
# guest; QEMU must still be there.
kvm_truth_ever() {
	local now threads
	now=$(kvm_truth "$1") || return
	threads=$(ls "/proc/$(vm_pid "$1")/task") || return
	# "CPU 0/KVM-1234 [001] ..... 12.345678: kvm_write_tsc_offset: vcpu=0 prev=0 next=18446744001417581978"
	{
		echo "$now"
		sed -nE 's/^.*-([0-9]+) +\[[0-9]+\].* kvm_write_tsc_offset: vcpu=([0-9]+) prev=[0-9]+ next=([0-9]+)$/\1 \2 \3/p' "$kvm_instance/trace" |
			while read -r thread hw_id offset; do
				! grep -qx "$thread" <<<"$threads" || echo "$now" | while read -r vm id _ scaling; do
					# printf makes a signed number of it.
					[ "$id" != "$hw_id" ] || printf '%s %s %d %s\n' "$vm" "$id" "$((offset))" "$scaling"
				done
			done
	} | sort -u
}

# attempted GUEST: by the ring that has the fewest, of those that are online
attempted() {
	"$xvtrace" region show --json "$(vm_region "$1")" 2>/dev/null | jq '[.rings[] | select(.state == "online") | .attempted] | min // 0'
}

attempted_at_least() {
	[ "$(attempted "$1")" -ge "$2" ]
}

# flows GUEST N: until each of its rings has N events more than now
flows() {
	vm_poll 120 attempted_at_least "$1" $(($(attempted "$1") + $2))
}

# runs: of the numbers on stdin, each line FIRST LAST of a stretch that goes up by one
runs() {
	awk 'NR > 1 && $1 != last + 1 { print first, last; first = $1 } NR == 1 { first = $1 } { last = $1 } END { if (NR) print first, last }'
}

# in_spans TRACE GUEST: events of the guest that were inside, and outside, of the times between kvm_entry and kvm_exit of
# their vCPU by more than the largest bound of a time of the guest, the median of those times in ns, and that bound. Some
# kernels enter again without an event: then a span begins with the exit before. Events go to TRACE.jsonl.
in_spans() {
	local bound
	bound=$("$xvtrace" stat --json "$1" | jq --arg vm "$2" '[.vms[] | select(.name == $vm) | .rings[] | select(.events > 0) | .clock.bound_ns_max] | max') || return
	"$xvtrace" export -q --format jsonl "$1" "$1.jsonl" || return
	jq -r '[.vm, .ts_ns, .event, .cpu, (.comm // "" | tostring)] | @tsv' "$1.jsonl" |
		awk -F '\t' -v bound="$bound" -v vm="$2" -v sorted="$work/spans" '
			$1 == "host" && index($5, vm ":vcpu") == 1 {
				v = substr($5, length(vm) + 6)
				if ($3 == "kvm_entry") { if (!inside[v]) { inside[v] = 1; from[v] = $2 } }
				else if ($3 == "kvm_exit") {
					if (!inside[v]) from[v] = left[v]
					if (from[v]) { n[v]++; lo[v, n[v]] = from[v]; hi[v, n[v]] = $2; span[++spans] = $2 - from[v] }
					inside[v] = 0
					left[v] = $2
				}
			}
			$1 == vm { ev[++evs] = $2; cpu[evs] = $4 }
			END {
				for (i = 1; i <= evs; i++) {
					v = cpu[i]
					if (!n[v] || ev[i] < lo[v, 1] + bound || ev[i] > hi[v, n[v]] - bound)
						continue
					while (at[v] < n[v] && hi[v, at[v] + 1] < ev[i] - bound) at[v]++
					if (lo[v, at[v] + 1] <= ev[i] + bound) in_span++; else outside++
				}
				for (i = 1; i <= spans; i++) print span[i] | ("sort -n >" sorted)
				close("sort -n >" sorted)
				for (i = 1; (getline line <sorted) > 0; i++) if (i == int((spans + 1) / 2)) median = line
				print in_span + 0, outside + 0, median + 0, bound
			}'
}
