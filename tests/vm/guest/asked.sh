#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# As plugged.sh, a guest whose device comes and goes while it runs, with events all the time. It
# runs until it is ended from outside. In the place of udev it runs xvt-guest whenever the device
# comes and goes. Of the devices the third comes without its owner's consent to the host's choice of
# events, and all from the fourth on with it; at the fourth, that is heard only when the host has
# been refused.
. /lib.sh
host=/sys/class/misc/xvtrace/host
mkdir -p /etc/xvtrace
number=0
appeared() {
	number=$((number + 1))
	: >/etc/xvtrace/guest.conf
	[ $number -lt 4 ] || echo "host_events=yes" >/etc/xvtrace/guest.conf
	if [ $number -eq 4 ]; then
		until ! [ -e /dev/xvtrace ] || awk '$1 == "request_ack" { n = $2 } $1 == "request_result" { exit !(n && $2 == -1) }' $host; do
			usleep 20000
		done
		say "device 4 has refused, and says $(awk '$1 == "host_events" { print $2 }' $host)"
	fi
	xvt-guest start >/dev/null && say "device $number"
}
events sched/sched_waking
say ready
# The file is another one for each device, however soon one follows the other.
seen=
while :; do
	file=$(ls -i /dev/xvtrace 2>/dev/null)
	if [ "$file" != "$seen" ]; then
		[ -z "$seen" ] || xvt-guest stop
		[ -z "$file" ] || appeared
		seen=$file
	fi
	usleep 20000
done
