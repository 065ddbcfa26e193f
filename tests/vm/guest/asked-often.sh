#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The host asks for events without end; what does the kernel's log have of it?
. /lib.sh
say ready
until grep -q '^request_ack 300$' /sys/class/misc/xvtrace/host; do
	usleep 50000
done
# The number of those left out comes when their interval is over.
until dmesg | grep "host's request" | tail -n 1 | grep -q 'are left out$'; do
	usleep 100000
done
dmesg | awk '/host.s request [0-9]+ to switch/ { shown++ }
	/further lines about the host.s requests are left out/ { for (i = 1; i < NF; i++) if ($(i + 1) == "further") out += $i; told++ }
	END { print "XVT-SAY log", shown + 0, out + 0, told + 0 }'
say done
