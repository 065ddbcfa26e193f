#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt and tracefs
# xvtrace doctor: the contract's keys and plausible values, with and without /dev/kvm, as root
# and as nobody.
set -u
. "$(dirname "$0")/lib.sh"
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT

# holds FILE JQ-EXPRESSION
holds() {
	jq -e "$2" "$1" >/dev/null && return
	echo "does not hold: ${2//[$'\n\t']/ }"
	jq -c . "$1"
	return 1
}

# judge TEXT FILE STATUS: what is true of every answer
judge() {
	check "$1: exit status says whether something blocks" \
		test "$3" -eq "$(jq 'if any(.problems[]; .blocks) then 1 else 0 end' "$2")"
	check "$1: all keys of the contract" holds "$2" '
		.format == "xvtrace-doctor/1" and
		([.kvm.present, .kvm.hardware, .io_uring, .tsc.invariant] | all(type == "boolean")) and
		(.tsc.hz | type == "number") and
		([has("qemu", "libvirt", "rdtsc_ns", "event_ns", "event_over_rdtsc")] | all) and
		(.clock | has("source") and has("bound_ns") and has("true_error_ns")) and
		(.problems | type == "array" and all(.what and .fix))'
	check "$1: an event costs a clock read and something, not hundreds of it" holds "$2" '
		.rdtsc_ns > 0.1 and .event_ns > 0.1 and .event_over_rdtsc > 0.5 and .event_over_rdtsc < 100 and
		((.event_ns / .rdtsc_ns - .event_over_rdtsc) | fabs) < 0.001'
	check "$1: the counter runs between 1 MHz and 20 GHz" holds "$2" '.tsc.hz > 1e6 and .tsc.hz < 2e10'
	check "$1: the clock's true error lies within its bound" holds "$2" '
		.clock.source == "handshake" and .clock.bound_ns > 0 and
		(.clock.true_error_ns == null or .clock.true_error_ns <= .clock.bound_ns)'
}

"$xvtrace" doctor --json >"$work/here"
judge "here" "$work/here" $?
if [ -w /dev/kvm ]; then
	check "with /dev/kvm: measured in a micro-VM" holds "$work/here" '.kvm.present and .measured_in == "micro-vm"'
else
	echo "skip - with /dev/kvm: it is not here, or not for us"
fi
if grep -qwE 'svm|vmx' /proc/cpuinfo; then
	check "svm or vmx: KVM is real" holds "$work/here" '.kvm.present == false or .kvm.hardware'
else
	check "neither svm nor vmx: KVM is not real" holds "$work/here" '.kvm.hardware == false'
fi
if command -v qemu-system-x86_64 >/dev/null; then
	check "QEMU's version is the one that it tells" \
		test "$(jq -r .qemu "$work/here")" = "$(qemu-system-x86_64 --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')"
	mkdir "$work/bin"
	ln -s "$(command -v sh)" "$work/bin/sh"
	PATH=$work/bin "$xvtrace" doctor --json >"$work/no-qemu"
	check "without QEMU: null, and how to get it" holds "$work/no-qemu" \
		'.qemu == null and any(.problems[]; .fix | contains("install qemu-system"))'
else
	check "without QEMU: null, and how to get it" holds "$work/here" \
		'.qemu == null and any(.problems[]; .fix | contains("install qemu-system"))'
fi

# A /dev with nothing in it but what programs need.
if unshare -rm true 2>/dev/null && unshare -rm sh -c 'mount -t tmpfs t /dev/shm' 2>/dev/null; then
	touch "$work/nothing"
	mkdir "$work/dev"
	unshare -rm sh -c "
		mount -t tmpfs t '$work/dev' && mkdir '$work/dev/shm' && touch '$work/dev/null' &&
		mount --bind /dev/null '$work/dev/null' && mount -t tmpfs t '$work/dev/shm' &&
		mount --rbind '$work/dev' /dev && exec '$xvtrace' doctor --json" >"$work/no-kvm"
	judge "without /dev/kvm" "$work/no-kvm" $?
	check "without /dev/kvm: measured in the process, and how to get it" holds "$work/no-kvm" '
		.kvm.present == false and .kvm.hardware == false and .measured_in == "process" and
		any(.problems[]; .what | contains("/dev/kvm is missing"))'
	unshare -rm sh -c "mount --bind /proc/self /dev/shm && exec '$xvtrace' doctor --json" >"$work/no-shm"
	check "without /dev/shm in memory: said, with the mount command" holds "$work/no-shm" \
		'any(.problems[]; .what | contains("/dev/shm is no memory"))'
else
	echo "skip - without /dev/kvm: mounting in a user namespace is not allowed here"
fi

# As a user without rights. The program must be reachable for that user: a copy.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	install -m 755 "$xvtrace" "$work/xvtrace"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$work/xvtrace" doctor --json >"$work/nobody"
	judge "as nobody" "$work/nobody" $?
	if [ -e /dev/kvm ] && ! setpriv --reuid 65534 --regid 65534 --clear-groups test -w /dev/kvm; then
		check "as nobody: /dev/kvm is there, and how to be let in" holds "$work/nobody" '
			.kvm.present and .measured_in == "process" and
			any(.problems[]; .fix | contains("usermod -aG kvm"))'
	fi
else
	echo "skip - as nobody: needs root and setpriv"
fi

"$xvtrace" doctor >"$work/text"
check "as text: cost, clock and each problem with its fix" eval \
	'grep -q "^event .* ns of 16 bytes" "$work/text" && grep -q "^clock " "$work/text" &&
	 test "$(grep -cE "^(ERROR|warning):" "$work/text")" -eq "$(grep -c "^    fix: " "$work/text")"'
cat "$work/text"
[ $failures -eq 0 ]
