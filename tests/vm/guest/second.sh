#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest whose memory is another one's, without the module at first.
. /lib.sh
hear_orders
module=/lib/modules/$(uname -r)/xvtrace.ko
# The other one answers: waiting for it has no end that a busy host could reach.
insmod "$module" ask_ms=600000 2>&1 | sed 's/^/XVT-SAY insmod /'
insmod "$module" ask_ms=600000 reformat=1 2>/dev/null && say reformatted
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY log 0000/p'
say refused
read -r _ <&3 # now the other one is paused
insmod "$module" || exit 1
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY second 0000/p'
say took
while :; do usleep 100000; done
