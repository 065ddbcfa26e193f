#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Nothing, and then two thousand numbered markers at once, again and again, until recording is switched off; that for two
# recordings, with the module loaded anew between them.
. /lib.sh
n=0

bursts() {
	xvt-guest sync >/dev/null
	say ready
	until_rings stop
	until all_rings off; do
		usleep 2000000
		xvt-mark 2000 --start $n --cpu 0 >/dev/null
		n=$((n + 2000))
		say "burst to $n"
	done
}

echo nop >$tracing/current_tracer
bursts
rmmod xvtrace && insmod "/lib/modules/$(uname -r)/xvtrace.ko" subbuf_size=4096 || exit 1
bursts
say "doorbells $(dmesg | grep -c 'xvtrace.*with a doorbell')"
dmesg | grep -E 'BUG:|WARNING:|Oops' && exit 1
exit 0
