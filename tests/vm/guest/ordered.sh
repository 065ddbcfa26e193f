#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A program is the guest's only writer, by the memory of the device. It runs until it is ended from
# outside.
. /lib.sh
for device in /sys/bus/pci/devices/*; do
	[ "$(cat "$device/vendor")" = 0x1af4 ] && [ "$(cat "$device/device")" = 0x1110 ] || continue
	echo 1 >"$device/enable"
	exec /xvt-ordered "$device/resource2" 1000
done
say 'no ivshmem device'
