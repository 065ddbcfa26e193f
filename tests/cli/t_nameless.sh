#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Events whose format the trace does not have: they are counted, and no name is guessed of them.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
help="events have no format: xvt-guest sync in the guest, also while it is recorded"

"$BUILD/tests/tools/xvt-paused" "$work/good.xvt" || exit 1
"$BUILD/tests/tools/xvt-paused" "$work/n.xvt" nameless || exit 1
report() { "$xvtrace" report "$@" >"$work/out" 2>"$work/err"; }
last_word() { [ "$(tail -n 1 "$work/err")" = "$1" ]; }

report "$work/good.xvt"
check "a trace with all formats: nothing is said" test ! -s "$work/err"
check "stat: none" eval '"$xvtrace" stat --json "$work/good.xvt" | jq -e ".nameless == 0 and all(.vms[]; .nameless == 0)" >/dev/null'

report "$work/n.xvt"
check "report is no failure" test $? -eq 0
check "its last line counts them" last_word "xvtrace: g1: warning: 1 of 1 $help"
check "they are shown" grep -q ' type314: ' "$work/out"
report -q "$work/n.xvt"
check "not with -q" test ! -s "$work/err"
report --vm g0 "$work/n.xvt"
check "nor of a machine that was not chosen" test ! -s "$work/err"
check "stat: by machine" eval '"$xvtrace" stat "$work/n.xvt" | grep -qx "g1: 1 of 1 $help"'
check "stat --json" eval '"$xvtrace" stat --json "$work/n.xvt" | jq -e ".nameless == 1 and [.vms[].nameless] == [0, 1]" >/dev/null'

# A name that no event has may be that of one without a format; the number of its type is no answer.
report -e sched_switch "$work/n.xvt"
check "nor where events are chosen that there are" test ! -s "$work/err"
report --vm g1 -e sched_wakeup "$work/n.xvt"
check "a name of none: a failure" test $? -eq 1
check "no number is near it" eval '! grep -q type "$work/err"'
check "but a format is missing" last_word "xvtrace: g1: 1 of 1 $help"
check "which is said once" test "$(grep -c 'no format' "$work/err")" -eq 1
report -e sched_wakeup "$work/n.xvt"
check "what is near by name is said as well" grep -q "no event is like 'sched_wakeup'; the nearest that there are: sched:sched_switch" "$work/err"
report -e type314 "$work/n.xvt"
check "the number can be chosen" grep -q ' type314: ' "$work/out"

[ $failures -eq 0 ]
