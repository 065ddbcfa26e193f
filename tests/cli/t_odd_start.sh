#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# Programs that are started in a way that nobody means: without descriptors 0, 1 or 2, as supervisors and `2>&-` do.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run

# -- descriptors that are closed: as with /dev/null there

# closed REDIRECTIONS COMMAND...: runs it so
closed() {
	local to=$1
	shift
	timeout -k 1 120 bash -c 'exec "$@" '"$to" - "$@" 2>"$work/bash.err"
}
recorded() { # REDIRECTIONS OPTION...
	local to=$1
	shift
	rm -f "$work/r" "$work/r.xvt"
	"$xvtrace" region create "$work/r" --size 1M --rings 1 || return 1
	closed "$to" "$xvtrace" record "$@" -o "$work/r.xvt" -r p="$work/r" -- "$BUILD/xvt-emit" "$work/r" --rings 1 --count 800 || return 1
	"$xvtrace" verify "$work/r.xvt" >/dev/null && adds_up "$work/r.xvt" 800
}
check "all three open to /dev/null" recorded '</dev/null >/dev/null 2>/dev/null'
check "0, 1 and 2 closed" recorded '<&- >&- 2>&-'
check "0, 1 and 2 closed, and quiet" recorded '<&- >&- 2>&-' -q
check "0 and 1 closed" recorded '<&- >&-'
check "0 closed" recorded '<&-'
check "1 closed" recorded '>&-'
check "2 closed" recorded '2>&-'
cp "$work/r.xvt" "$work/kept.xvt"
for command in stat verify report; do
	check "$command with 0, 1 and 2 closed" closed '<&- >&- 2>&-' "$xvtrace" $command "$work/r.xvt"
	check "the trace is as it was" cmp -s "$work/r.xvt" "$work/kept.xvt"
done
check "export with 0, 1 and 2 closed" closed '<&- >&- 2>&-' "$xvtrace" export --format perfetto "$work/r.xvt" "$work/closed.pb"
"$xvtrace" export --format perfetto "$work/r.xvt" "$work/open.pb"
check "writes what it writes else" cmp "$work/closed.pb" "$work/open.pb"
closed '2>&-' "$xvtrace" report "$work/none.xvt"
check "a failure is one without a descriptor for its message" test $? -eq 1

# A program's messages on a descriptor that is closed do not go into the region.
"$xvtrace" region create "$work/g" --size 1M --rings 1
"$BUILD/xvt-emit" "$work/g" --rings 1 --count 1000000000 <&- >&- 2>&- &
emit=$!
pids+=("$emit")
region_fds() {
	find "/proc/$emit/fd" -lname "$work/g" -printf '%f\n' >"$work/fds" 2>/dev/null
	[ -s "$work/fds" ] && ! grep -qx '[012]' "$work/fds"
}
check "a writer's region is never descriptor 0, 1 or 2" poll region_fds
kill -KILL $emit
wait $emit 2>/dev/null
[ $failures -eq 0 ]
