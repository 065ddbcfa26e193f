#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest whose device comes and goes while it runs: events all the time, whatever has a ring. It
# runs until it is ended from outside.
. /lib.sh
events sched/sched_waking
# xvt.systems=A,B: all that the guest can record of these systems is said, and sent to a device that comes.
systems=$(sed -n 's/.*xvt.systems=\([a-z,]*\).*/\1/p' /proc/cmdline | tr ',' ' ')
for system in $systems; do
	for event in "$tracing/events/$system"/*/format; do
		event=${event%/format}
		say can "$system:${event##*/}"
	done
done
tell() {
	while [ -e $rings ]; do usleep 20000; done
	until [ -e $rings ]; do usleep 20000; done
	# shellcheck disable=SC2086 # words
	xvt-guest formats $systems && say told
}
[ -z "$systems" ] || tell &
say ready
while :; do
	usleep 20000
done
