#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest with a long life: numbered markers all the time, whatever has a ring. Each boot begins with
# a number of its own, so that no marker is like another one of this or of another boot. Its keyboard
# can crash it, and it tells its VMM of that. It runs until it is ended from outside.
. /lib.sh
modprobe pvpanic_mmio || exit 1
echo 1 >/proc/sys/kernel/sysrq
next=$(($(od -An -N4 -tu4 /dev/urandom) * 1000000))
say ready
while :; do
	# A device that came has no format of markers yet.
	[ -e /tmp/told ] || [ ! -e $rings ] || ! xvt-guest formats ftrace:print || touch /tmp/told
	xvt-mark 200 --start $next --cpu 0 >/dev/null
	next=$((next + 200))
	usleep 20000
done
