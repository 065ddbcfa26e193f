#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Events that a recording asked its machines for and that are not known to be on when it ends: an error
# that names event and machine, and exit status 1.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

"$xvtrace" region create "$work/g" --size 256K --rings 2 || exit 1
truncate -s 256K "$work/blank"
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 1000 >/dev/null &
pids+=($!)

# A program answers no requests.
asked() {
	"$xvtrace" record -q -o "$work/t.xvt" -r prog="$work/g" --control "$work/control" "$@" 2>"$work/err" -- \
		tests/recorded.sh "$work/control" prog
}
asked
check "nothing asked for: exit 0" [ $? -eq 0 ]
check "and not a word" [ ! -s "$work/err" ]
asked -e sched:sched_switch -e irq:irq_handler_entry
check "no answer until the end: exit 1" [ $? -eq 1 ]
check "the error names machine and event" grep -q '^xvtrace: prog: .*before the guest answered.*sched:sched_switch' "$work/err"
check "once" [ "$(grep -c 'sched:sched_switch' "$work/err")" = 1 ]
check "the trace is whole, and has the error" eval '"$xvtrace" verify --notes "$work/t.xvt" | grep -q "^note: error: .*sched:sched_switch"'
"$xvtrace" record -q -o "$work/t.xvt" -r blank="$work/blank" -e sched:sched_switch --join-timeout 0 --duration 1 2>"$work/err"
check "a machine that never came: exit 1" [ $? -eq 1 ]
check "and named" grep -q '^xvtrace: blank: it never came.*sched:sched_switch' "$work/err"
[ $failures -eq 0 ]
