#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# xvtrace record -- CMD: the recording ends with the command, and the command with the recording, whether it wants to
# or not.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run

# record CMD...: its last words are in $work/err. The machine, which has no writer, is given as a pattern: that no event of
# it comes is no error then.
record() {
	"$xvtrace" record -q -o "$work/t.xvt" -r "$work/[g]" --join-timeout 0 -- "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# ended: the recorder, once its command is at work and it is told to
begun() { [ -s "$work/pid" ]; }
ended() {
	poll begun || return 1
	child=$(cat "$work/pid")
	kill -TERM "$recorder"
	poll gone "$recorder" && return
	pids+=("$child")
	return 1
}

"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1

record true
wait $recorder
check "it ends with its command, and well" test $? -eq 0

record bash -c 'echo $$ >"$1"; exec sleep 1000' - "$work/pid"
check "a command that obeys ends with it" ended
check "and is gone" gone "$child"
wait "$recorder"
check "that is no failure of its own" test $? -eq 0
record bash -c 'exit 3'
wait "$recorder"
check "one that fails is" test $? -eq 1
check "with its status" grep -qx "xvtrace: bash: the command failed with exit status 3" "$work/err"
check "no process had to be killed" eval '! grep -q killing "$work/err"'

rm "$work/pid"
record bash -c 'trap "" TERM; echo $$ >"$1"; exec sleep 1000' - "$work/pid"
check "one that does not obey does not keep it" ended
check "and is gone as well" gone "$child"
check "that is told" grep -q "killing" "$work/err"
check "the trace is whole" "$xvtrace" verify "$work/t.xvt"
# Five requests are not answered by a recorder that ends with its first pass.
"$xvtrace" record -q -o "$work/long.xvt" -r "$work/[g]" --join-timeout 0 --duration 18446744073 --control "$work/control" -- \
	sh -c 'for i in 1 2 3 4 5; do "$1" status --control "$2" || exit 1; done >/dev/null; touch "$3"' - \
	"$xvtrace" "$work/control" "$work/lasts" 2>/dev/null
check "a duration of centuries is not over at once" test -e "$work/lasts"
# What the recorder ignores is not ignored by its command (bits of SIGPIPE and SIGXFSZ).
"$xvtrace" region create "$work/signals" --size 1M --rings 1 >/dev/null
"$xvtrace" record -q -o "$work/signals.xvt" -r g="$work/signals" --join-timeout 0 -- sh -c "grep SigIgn: /proc/self/status >'$work/ignored'" 2>/dev/null
ignored=0x$(awk '{ print $2 }' "$work/ignored")
check "its command does not ignore SIGPIPE and SIGXFSZ" test $((ignored & (1 << 12 | 1 << 24))) -eq 0
[ $failures -eq 0 ]
