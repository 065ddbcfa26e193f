#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Numbered markers on each CPU, a few at a time, until the recorder ends. xvt.do=KIND says what this guest does to its own
# clock or CPUs in the middle of it:
#   msr      sets the TSC of CPU 0 forward
#   back     sets the TSC of CPU 0 backward
#   suspend  suspends to RAM; somebody outside must wake it
#   offline  takes CPU 1 away and brings it back
#   nothing  somebody outside does something, or nobody
. /lib.sh
what=$(sed -n 's/.*xvt.do=\([a-z0-9]*\).*/\1/p' /proc/cmdline)

# marks CPU FIRST: numbers from FIRST, until /tmp/stop-CPU is there; then /tmp/next-CPU has the number to go on with
marks() {
	next=$2
	while [ ! -f "/tmp/stop-$1" ]; do
		xvt-mark 50 --start "$next" --cpu "$1" >/dev/null || break
		next=$((next + 50))
		# So that a recorder with little CPU time keeps up; nothing depends on it.
		usleep 50000
	done
	echo "$next" >"/tmp/next-$1"
}

# flow N: until each online ring has N more of them
flow() {
	awk 'NR > 1 && $4 == "online" { print $2, $11 }' $rings >/tmp/flow
	until awk -v n="$1" 'NR == FNR { was[$1] = $2; next } FNR > 1 && $4 == "online" && $11 - was[$2] < n { few = 1 }
		END { exit few }' /tmp/flow $rings; do
		usleep 200000
	done
}

# tsc_set BYTES: the TSC of CPU 0, through the MSR 0x10; the lowest byte first. 8 bytes at 8 * 2 are one access.
tsc_set() {
	modprobe msr
	# shellcheck disable=SC2059 # they are the format
	printf "$1" | dd of=/dev/cpu/0/msr bs=8 seek=2 count=1 conv=notrunc 2>/dev/null || echo "XVT-GUEST-ERROR: msr"
}

# Bits: 7 died, 9 warned. That a starved machine's watchdog barks (14) is no fault of ours.
bad_taint() {
	echo $(($(cat /proc/sys/kernel/tainted) & (1 << 7 | 1 << 9)))
}

taint=$(bad_taint)
xvt-guest formats ftrace:print
say ready
until_rings stop
marks 0 0 &
marks 1 0 &
flow 500
say flowing
case $what in
msr)
	# 2^40: minutes ahead. Not hours: the kernel would find itself stuck for as long.
	tsc_set '\0\0\0\0\0\001\0\0'
	;;
back)
	# 2^28: a tenth of a second, and it has run for longer
	tsc_set '\0\0\0\020\0\0\0\0'
	;;
suspend)
	echo deep >/sys/power/mem_sleep
	echo mem >/sys/power/state
	;;
offline)
	# Its markers stop, else they would go on in the other CPU's ring.
	touch /tmp/stop-1
	until [ -f /tmp/next-1 ]; do
		usleep 200000
	done
	echo 0 >/sys/devices/system/cpu/cpu1/online
	flow 500
	echo 1 >/sys/devices/system/cpu/cpu1/online
	rm /tmp/stop-1
	marks 1 "$(cat /tmp/next-1)" &
	;;
esac
say disturbed
until_rings off
touch /tmp/stop-0 /tmp/stop-1
wait
[ "$(bad_taint)" = "$taint" ] || { dmesg | tail -n 100 && exit 1; }
