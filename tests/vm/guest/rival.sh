#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest that writes all the time, until the console is told to end: its module says in the log when another one takes
# its region.
. /lib.sh
echo 1 >$tracing/events/sched/enable
xvt-guest sync
say up
until dmesg | grep -q 'another machine writes to this region'; do usleep 100000; done
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY log 0000/p'
cat /sys/class/misc/xvtrace/generation | sed 's/^/XVT-SAY generation /'
xvt-guest sync >/dev/null 2>&1 && say sync succeeded
say given way
rmmod xvtrace && insmod "/lib/modules/$(uname -r)/xvtrace.ko" && say again
while :; do usleep 100000; done
