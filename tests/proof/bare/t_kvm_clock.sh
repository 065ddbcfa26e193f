#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: tracefs and debugfs
# What KVM tells of a vCPU's clock, and whether it is true: the tracepoint, debugfs, and the
# handshake, all of one micro-VM. Mounts what it needs in a mount namespace of its own.
set -u
cd "$(dirname "$0")/../../.." || exit 1
tool=${BUILD:-build}/tests/tools/xvt-kvm-clock

if [ "${1:-}" != inside ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "skip - KVM's clocks: only root may trace the kernel and read debugfs"
		exit 77
	fi
	if [ ! -w /dev/kvm ]; then
		echo "skip - KVM's clocks: there is no /dev/kvm"
		exit 77
	fi
	exec unshare --mount --propagation private "$0" inside
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
run() { "$tool" "$@" || failures=$((failures + 1)); }

while umount -l /sys/kernel/tracing 2>/dev/null; do :; done
while umount -l /sys/kernel/debug 2>/dev/null; do :; done
run absent
if ! mount -t tracefs tracefs /sys/kernel/tracing || ! mount -t debugfs debugfs /sys/kernel/debug; then
	echo "skip - KVM's clocks: this kernel has no tracefs or no debugfs for us"
	exit $((failures ? 1 : 77))
fi
run denied
"$tool" all "$work"
rc=$?
[ $rc -eq 77 ] && [ $failures -eq 0 ] && exit 77
[ $rc -eq 0 ] && [ $failures -eq 0 ]
