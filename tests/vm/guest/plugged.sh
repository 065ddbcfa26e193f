#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest whose device comes and goes while it runs: events all the time, whatever has a ring. It
# runs until it is ended from outside.
. /lib.sh
events sched/sched_waking
say ready
while :; do
	usleep 20000
done
