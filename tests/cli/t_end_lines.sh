#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# slow: not in make check
# The last lines of a recorder: what was written, what is wrong with it, what to type next; and lines on machines that
# join and stop meanwhile.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
trace=$work/t.xvt
emit=$BUILD/xvt-emit

region() { "$xvtrace" region create "$work/$1" --size "${2:-1M}" --rings 1 "${@:3}"; }
record() { "$xvtrace" record "$@" >/dev/null 2>"$work/err"; }
has() { grep -qE -- "$1" "$work/err"; }
n_th_last() { tail -n "$1" "$work/err" | head -n 1; }
size='[0-9]+\.[0-9] [kMG]B'

# -- one file

region g
region h
record -o "$trace" -r g="$work/g" -r h="$work/h" -- sh -c "'$emit' '$work/g' --count 1200 & '$emit' '$work/h' --count 34; wait"
check "what was written" has "^$trace: $size, 1,234 events of 2 machines in [0-9]+\.[0-9] s, lost 0\$"
check "what to type next, last" test "$(n_th_last 1)" = "next: xvtrace summary $trace"
check "a machine joins" has '^xvtrace: g: joined: its clock is known$'
record -q -o "$trace" -r g="$work/g" -- "$emit" "$work/g" --count 10
check "-q: nothing" test ! -s "$work/err"
(cd "$work" && "$OLDPWD/$xvtrace" record -o "it's.xvt" -r g=./g -- "$OLDPWD/$emit" ./g --count 10 >/dev/null 2>err) # a blank, a quote
if [ "$(id -u)" = 0 ] && unshare -m mount -t tracefs t /mnt 2>/dev/null; then
	counts_host() {
		timeout 60 unshare -m sh -c 'mount -t tracefs t /sys/kernel/tracing; exec "$@"' - "$xvtrace" record -o "$work/host.xvt" --host sched --host-all -r g="$work/host-g" -- \
			sh -c '"$0" "$1" --count 10 >/dev/null' "$emit" "$work/host-g" >"$work/out" 2>&1 && grep -qE "events of 1 machine and the host in " "$work/out"
	}
	"$xvtrace" region create "$work/host-g" --size 1M --rings 1
	check "the host is counted as in summary" counts_host
else
	echo "skip - the host is counted as in summary: the kernel cannot be traced here"
fi
check "a name that a shell reads otherwise" test "$(n_th_last 1)" = "next: xvtrace summary 'it'\\''s.xvt'"

# -- a folder

record -o "$work/set/" --rotate-time 0.3 -r g="$work/g" -- "$emit" "$work/g" --count 1000 --rate 1000
check "a set: its files" has "^$work/set/: [0-9]+ files, 00000001.xvt to 0000000[2-9].xvt, $size, 1,000 events of 1 machine in "

# -- what is wrong

"$xvtrace" region create "$work/tight" --size 64K --rings 1 --subbuf-size 1K
record -o "$trace" -r tight="$work/tight" -- "$emit" "$work/tight" --count 2000000
lost=$("$xvtrace" stat --json "$trace" | jq .lost)
check "losses ($lost)" has "^tight lost $(sed ':a; s/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/; ta' <<<"$lost") events: its rings ran full: a larger region, or fewer events\$"
region n
record -o "$trace" -r n="$work/n" -- "$BUILD/tests/tools/xvt-ftrace-events" "$work/n" 50 307 308:named 4000
check "events without a format" has '^n: 100 of 150 events have no format: xvt-guest sync in the guest, also while it is recorded$'
check "as many as stat counts" test "$("$xvtrace" stat --json "$trace" | jq -c '[.nameless, .vms[0].nameless]')" = '[100,100]'

# -- machines that stop and end

if command -v qemu-system-x86_64 >/dev/null; then
	region q
	bare_qemu "$work/qmp"
	"$emit" "$work/q" --count 1000000000 --rate 1000 >/dev/null 2>&1 &
	writer=$!
	pids+=($writer)
	disown
	"$xvtrace" record -o "$trace" -r q="$work/q" --qmp "q=$work/qmp" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	check "a machine stops" poll has '^xvtrace: q: stopped'
	check "and joins" poll has '^xvtrace: q: joined'
	kill -KILL $writer
	kill -TERM "$qemu"
	check "and ends" poll has '^xvtrace: q: .*its VMM has ended'
	kill -TERM $recorder
	wait $recorder
	check "all in one line" has "^$trace: $size, [0-9,]+ events? of 1 machine in [0-9]+\.[0-9] s, lost 0; q paused [0-9]+\.[0-9]{3} s; q ended"
else
	echo "skip - machines that stop and end: no qemu-system-x86_64"
fi

[ $failures -eq 0 ]
