#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Numbered markers on each CPU, a few at a time, and exchanges with the other guest (xvt.role=server or client), until the
# recorder ends. xvt.do=KIND says what this guest does to its own clock or CPUs in the middle of it:
#   msr      sets the TSC of CPU 0 forward
#   back     sets the TSC of CPU 0 backward
#   suspend  suspends to RAM; the host must wake it
#   offline  takes CPU 1 away and brings it back
#   nothing  the host does something, or nothing
. /lib.sh
what=$(sed -n 's/.*xvt.do=\([a-z0-9]*\).*/\1/p' /proc/cmdline)
role=$(sed -n 's/.*xvt.role=\([a-z]*\).*/\1/p' /proc/cmdline)

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

# exchange ROLE: without end
exchange() {
	# A server that stands still is not given up: the client would begin anew, with numbers that were there before.
	echo 3600000 >/proc/sys/net/ipv4/neigh/eth0/base_reachable_time_ms
	while :; do
		case $1 in
		server) xvt-pingpong server 7000 ;;
		client) xvt-pingpong client 10.77.0.1 7000 1000000000 ;;
		esac
		usleep 200000
	done >/dev/null 2>&1
}

# flow N: until each online ring has N more of them
flow() {
	awk 'NR > 1 && $4 == "online" { print $2, $11 }' $rings >/tmp/flow
	until awk -v n="$1" 'NR == FNR { was[$1] = $2; next } FNR > 1 && $4 == "online" && $11 - was[$2] < n { few = 1 }
		END { exit few }' /tmp/flow $rings; do
		usleep 200000
	done
}

# tsc_add TICKS: to the TSC of CPU 0, through the MSR 0x10; 8 bytes at 8 * 2 are one access. A few seconds at most: until
# KVM tells it anew, the guest's own clock is off by as much, and what sleeps by that clock sleeps so much longer.
tsc_add() {
	modprobe msr
	now=$((0x$(dd if=/dev/cpu/0/msr bs=8 skip=2 count=1 2>/dev/null | od -An -tx8 | tr -d ' ') + $1))
	bytes=''
	for shift in 0 8 16 24 32 40 48 56; do
		bytes=$bytes$(printf '\\%03o' $((now >> shift & 255)))
	done
	# shellcheck disable=SC2059 # they are the format
	printf "$bytes" | dd of=/dev/cpu/0/msr bs=8 seek=2 count=1 conv=notrunc 2>/dev/null || echo "XVT-GUEST-ERROR: msr"
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
exchange "$role" &
exchanges=$!
flow 500
say flowing
case $what in
msr)
	tsc_add $((1 << 34))
	;;
back)
	tsc_add $((-(1 << 31)))
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
kill $exchanges
killall xvt-pingpong
wait
[ "$(bad_taint)" = "$taint" ] || { dmesg | tail -n 100 && exit 1; }
