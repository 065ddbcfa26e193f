#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ^C in the middle of the demo leaves no process and no region behind.
set -u
. "$(dirname "$0")/lib.sh"

# A job of its own, so that the signal reaches all of it, as from a terminal.
set -m
BUILD=$work/build-demo
mkdir -p "$BUILD"
for part in xvtrace guest; do
	ln -s "$(realpath "$xvtrace" | sed 's,/xvtrace$,,')/$part" "$BUILD/$part"
done
BUILD=$BUILD bash tests/demo.sh >"$work/demo.log" 2>&1 &
demo=$!
flowing() {
	grep -qE '[1-9][0-9]* events' "$work/demo.log" || ! kill -0 $demo 2>/dev/null
}
check "the demo runs and events flow" eval 'vm_poll 120 flowing && kill -0 $demo'
pids=$(pgrep -g $demo | paste -sd,)
kill -INT -- -$demo
wait $demo
# 130, or that of the command which the same signal ended first.
check "it ends, and not with success" test $? -ne 0
# What has ended and waits for its new parent to notice is not left.
check "no process of it is left" eval '! ps -o stat=,pid=,args= -p "$pids" | grep -v ^Z'
check "no region of it is left" eval '! ls /dev/shm/xvtrace-$demo-* 2>/dev/null'
finish
