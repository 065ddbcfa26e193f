#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest with two ivshmem devices, of which the second is at 00:09.0, and later a third: the module is loaded for
# each address in turn. Its parameters and what the kernel's log says of them go to the console.
. /lib.sh
module=/lib/modules/$(uname -r)/xvtrace.ko

# loads WORD PARAMETER...
loads() {
	word=$1
	shift
	dmesg -c >/dev/null
	if insmod "$module" subbuf_size=4096 "$@" 2>/dev/null; then say "$word loaded"; else say "$word refused ${1#device=}"; fi
	dmesg | sed -n "s/^.*xvtrace/XVT-SAY $word log xvtrace/p"
}
for address in nonsense 0000:00:05 00:20.0 0000:00:05.0y; do
	loads wrong device=$address
done
loads bridge device=0000:00:00.0
loads either
loads second device=0000:00:09.0
say "second size $(sed -n 's/^size //p' /sys/class/misc/xvtrace/region)"
rmmod xvtrace
loads found
say "found size $(sed -n 's/^size //p' /sys/class/misc/xvtrace/region)"
rmmod xvtrace
first=$(cd /sys/bus/pci/devices && grep -l 0x1110 ./*/device | grep -v 0000:00:09.0 | cut -d / -f 2)
loads first device="${first#0000:}"
rmmod xvtrace
echo none >/sys/bus/pci/devices/0000:00:09.0/driver_override
loads kept device=00:09.0
echo >/sys/bus/pci/devices/0000:00:09.0/driver_override
loads later device=0000:00:1e.0
xvt-guest sync 2>&1 | sed 's/^/XVT-SAY later tool /'
say waiting
until [ -d /sys/class/misc/xvtrace ]; do usleep 100000; done
say "later size $(sed -n 's/^size //p' /sys/class/misc/xvtrace/region)"
say end
while :; do
	usleep 100000
done
