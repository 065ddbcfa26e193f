#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# QEMU for libvirt's <emulator>: libvirt has no word for TCG with one thread, and with more QEMU
# 7.2 can hang a guest whose kernel patches its code (see vm_accel in guest-lib.sh).
for arg; do
	shift
	[ "$arg" != tcg ] || arg=tcg,thread=single
	set -- "$@" "$arg"
done
exec "${VM_QEMU:-/usr/bin/qemu-system-x86_64}" "$@"
