#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest that writes all the time, and has lost its region to another machine at some time: its log, and what the module
# does when it is loaded again, while the other machine is there and when it is not.
. /lib.sh
hear_orders
module=/lib/modules/$(uname -r)/xvtrace.ko
echo 1 >$tracing/events/sched/enable
xvt-guest sync
say up
until dmesg | grep -q 'another machine writes to this region: generation'; do usleep 100000; done
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY log 0000/p'
xvt-guest sync >/dev/null 2>&1 && say sync succeeded
say given way
rmmod xvtrace
# What answers is there: waiting for it has no end that a busy host could reach.
insmod "$module" ask_ms=600000 2>/dev/null || say refused again
read -r _ <&3 # now the other machine is gone
insmod "$module" || exit 1
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY last 0000/p'
say back
while :; do usleep 100000; done
