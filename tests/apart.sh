#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# apart.sh COMMAND...: with processes, a /dev/shm and a folder of recorders (/run/xvtrace) of its own, so
# that it may run beside others (tests/run.sh). Takes root. What it leaves running ends with it.
#   apart.sh --possible    is that so here?
if [ "$1" = --possible ]; then
	mkdir -p /run/xvtrace 2>/dev/null && exec "$0" true 2>/dev/null
	exit 1
fi
if [ "$1" != --inside ]; then
	exec unshare --mount --pid --fork --kill-child --mount-proc "$0" --inside "$@"
fi
shift
mount -t tmpfs -o mode=1777 none /dev/shm && mount -t tmpfs -o mode=755 none /run/xvtrace || exit 125
# Not exec: the first process here waits for those that others leave.
"$@"
exit $?
