# SPDX-License-Identifier: GPL-2.0
# Interrupts of one guest, g1, from the lines of `xvtrace export --format jsonl`: a line for each that KVM
# injected, with tabs between
#
#   vCPU, vector, when it was accepted; the same of acceptances by a thread of the guest's VMM alone,
#   injected, until when the event of the vCPU before that may have been,
#   time, bound and flags of the vCPU's next event, the same of its vector's handler
#
# All times are ns; "-" is none. An interrupt that is pending already is not accepted twice. Of one whose entry
# failed KVM says again that it is injected (reinjected): that is no other one.

def is_set: . == true or . == 1;
def in_interrupt: (.context // "")[2:3] | test("[hHsSzZ]");
def begins_handler: .event == "irq_handler_entry" or (.system == "irq_vectors" and (.event | endswith("_entry")));
def or_none: . // "-";
def end_of: if . then [.ts_ns, .bound_ns // "-", .flags] else ["-", "-", "-"] end;
def line: [.vcpu, .vector, (.accepted | or_none), (.known | or_none), .injected, (.before | or_none)] + (.next | end_of) + (.handler | end_of) | map(tostring) | join("\t");

# State, by vCPU, and by vCPU and vector. KVM's number of a vCPU is its APIC id.
foreach (inputs, null) as $e ({open: {}, accepted: {}, known: {}, before: {}};
	.out = [] |
	if $e == null then
		.out = [.open[]]
	elif $e.event == "kvm_apic_accept_irq" then
		"\($e.fields.apicid) \($e.fields.vec)" as $key |
		.accepted[$key] //= $e.ts_ns |
		if ($e.comm | startswith("g1:")) and ($e | in_interrupt | not) then .known[$key] //= $e.ts_ns else . end
	elif $e.event == "kvm_inj_virq" and ($e.fields.reinjected | is_set | not) and ($e.comm | startswith("g1:vcpu")) then
		$e.comm[7:] as $vcpu | ($e.fields.vector // $e.fields.irq) as $vector | "\($vcpu) \($vector)" as $key |
		.out = [.open[$vcpu] // empty] |
		.open[$vcpu] = {$vcpu, $vector, accepted: .accepted[$key], known: .known[$key], injected: $e.ts_ns, before: .before[$vcpu]} |
		.accepted[$key] = null | .known[$key] = null
	elif $e.vm == "g1" then
		($e.cpu | tostring) as $vcpu |
		(if .open[$vcpu] and (.open[$vcpu].next | not) then .open[$vcpu].next = $e else . end) |
		(if .open[$vcpu] and (.open[$vcpu].handler | not) and ($e | begins_handler) and $e.fields.vector == .open[$vcpu].vector then
			.open[$vcpu].handler = $e else . end) |
		.before[$vcpu] = $e.ts_ns + ($e.bound_ns // 0)
	else . end;
	.out[] | line)
