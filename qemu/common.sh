# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Sourced by every script of this folder. The caller sets $qemu_dir to the folder's path first, because a
# file that a POSIX shell sources cannot find out its own.

BUILD=${BUILD:-$(dirname "$qemu_dir")/build}
# Absolute, so that it still holds after a cd.
case $BUILD in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac

# The flavour of Debian's kernel: amd64, cloud-amd64, rt-amd64, or one of another series, as 6.12-amd64.
FLAVOUR=${FLAVOUR:-amd64}

# qemu_suffix: what the names of a flavour's files end in; nothing for amd64
qemu_suffix() {
	[ "$FLAVOUR" = amd64 ] || echo "-$FLAVOUR"
}

# qemu_say TEXT: progress goes to stderr; stdout is for what another program reads.
qemu_say() {
	echo "${0##*/}: $*" >&2
}

# qemu_die WHAT: WHY; WHAT TO DO
qemu_die() {
	qemu_say "$@"
	exit 1
}

# qemu_need TOOL PACKAGE
qemu_need() {
	command -v "$1" >/dev/null || qemu_die "$1: not found; install the package $2"
}

# qemu_no_kvm: why KVM cannot be used; prints nothing where it can
qemu_no_kvm() {
	if ! grep -qwE 'svm|vmx' /proc/cpuinfo; then
		# /dev/kvm may be there all the same, emulating each instruction: no kernel boots on that in useful time.
		echo "/proc/cpuinfo shows neither svm nor vmx"
	elif ! (true <>/dev/kvm) 2>/dev/null; then
		echo "/dev/kvm cannot be opened"
	fi
}

# qemu_region_size SIZE: in bytes
qemu_region_size() {
	bytes=$(numfmt --from=iec "$1" 2>/dev/null) || bytes=0
	if [ "$bytes" -eq 0 ] || [ $((bytes & (bytes - 1))) -ne 0 ]; then
		qemu_say "--region-size $1: must be a power of two, like 4M: it is a PCI BAR"
		return 1
	fi
	echo "$bytes"
}

# qemu_tsc_words: for the command line of a kernel under TCG, whose TSC is this machine's. A kernel that measures its
# rate while another process has the CPU can take it for a fraction of that: its clock then runs several times too fast,
# its time-outs come early and its watchdogs bark. Prints nothing where the rate is not known.
qemu_tsc_words() {
	khz=$("$BUILD/xvtrace" doctor --json 2>/dev/null | jq '(.tsc.hz // 0) / 1000 | round' 2>/dev/null) || khz=0
	[ "${khz:-0}" = 0 ] || echo "tsc_early_khz=$khz"
}
