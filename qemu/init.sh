#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# /init of the guests (busybox). Reads words of the kernel command line:
#   xvt.name=NAME          the guest's name: host name, and $XVT_NAME for /run.sh
#   xvt.ip=ADDRESS/BITS    address of eth0
#   xvt.mod=A=1;B=2        parameters of xvtrace.ko, separated by semicolons; none: do not load it
# Then runs /run.sh (from an overlay), or a shell where there is none, says "XVT-GUEST-EXIT rc=N" and powers off.

export PATH=/bin HOME=/ TERM=vt100
# A star in a module parameter (events=sched:*) is not a file name.
set -f

finish() {
	echo "XVT-GUEST-EXIT rc=$1"
	sync
	# The kernel does not wait for the serial line when it powers off; stty does before it sets anything.
	stty -F /dev/console -onlcr
	poweroff -f
}

fail() {
	echo "XVT-GUEST-ERROR: $*"
	finish 1
}

# PID 1 must not end: the kernel would panic, and this guest would look like a crashed one.
trap 'finish 1' EXIT

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing

XVT_NAME=guest XVT_IP='' mod=''
# shellcheck disable=SC2013 # words are wanted
for word in $(cat /proc/cmdline); do
	case $word in
	xvt.name=*) XVT_NAME=${word#*=} ;;
	xvt.ip=*) XVT_IP=${word#*=} ;;
	xvt.mod=*) mod=${word#*=} ;;
	esac
done
export XVT_NAME XVT_IP
hostname "$XVT_NAME"

while read -r module; do
	modprobe "$module" || fail "modprobe $module: failed"
done </etc/modules

ip link set lo up
if [ -n "$XVT_IP" ]; then
	ip link set eth0 up || fail "eth0: no such device"
	ip addr add "$XVT_IP" dev eth0 || fail "xvt.ip=$XVT_IP: not an address"
fi

xvtrace=/lib/modules/$(uname -r)/xvtrace.ko
if [ "$mod" = none ]; then
	:
elif [ -f "$xvtrace" ]; then
	# shellcheck disable=SC2046 # one word each
	insmod "$xvtrace" $(echo "$mod" | tr ';' ' ') || fail "insmod xvtrace.ko $mod: failed"
elif [ -n "$mod" ]; then
	fail "xvtrace.ko: not in this image; build it before qemu/build-image.sh"
fi

if [ -f /run.sh ]; then
	# The console's log is a file: no carriage returns.
	stty -F /dev/console -onlcr
	(
		set +f
		[ -x /run.sh ] || exec sh /run.sh
		exec /run.sh
	)
else
	# cttyhack makes the console the controlling terminal, so that ^C works.
	setsid cttyhack sh
fi
finish $?
