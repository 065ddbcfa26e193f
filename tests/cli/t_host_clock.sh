#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The host's clock in a real recording: it is followed, its lines fit each other, and the wall clock
# of an event is what the system's clock was then.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT

says() {
	"$xvtrace" stat --json "$work/t.xvt" | jq -e "$1" >/dev/null
}

# between FROM TO: all events' wall times, in ns since 1970, lie there
between() {
	"$xvtrace" report -q --wall "$work/t.xvt" | cut -d' ' -f1 | date -f - +%s%N |
		awk -v from="$1" -v to="$2" '{ n++; if ($1 < from || $1 > to) bad++ } END { exit !n || bad }'
}

not() {
	! "$@"
}

"$xvtrace" region create "$work/region" --size 1M --rings 1 || exit 1
before=$(date +%s%N)
# Longer than the second after which the clock is looked at for the first time.
"$xvtrace" record -q -o "$work/t.xvt" -r g="$work/region" -- "$BUILD/xvt-emit" "$work/region" --count 100 --linger 3
after=$(date +%s%N)

check "the recording has its events" says '.events == 100'
check "the clock was looked at, and a new line begun" \
	grep -qE '^host clock: within .* of CLOCK_MONOTONIC, ([2-9]|[1-9][0-9]+) lines$' <("$xvtrace" stat "$work/t.xvt")
check "how far it was off is a number" says '.timebase_error_ns_max > 0'
check "its lines and the samples on them verify" "$xvtrace" verify -q "$work/t.xvt"
check "wall times of the events lie between before and after" between "$before" "$after"
check "... and not a minute earlier" not between "$((before - 60000000000))" "$((after - 60000000000))"
[ $failures -eq 0 ]
