#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# alone: judges times
# slow: not in make check
# Hostile guests beside an honest one: the recorder neither crashes nor hangs nor grows, every
# event of the honest machine is there once, in order, in time, and what the hostile ones leave
# behind can be read (AddressSanitizer where that build is there).
set -u
. "$(dirname "$0")/lib.sh"
SEEDS=${SEEDS:-"1 2 3"}
rss_limit_mib=256
if [ -x "$BUILD/asan/xvtrace" ]; then
	xvtrace=$BUILD/asan/xvtrace
	# Freed memory is kept for a while, and each byte has a shadow.
	export ASAN_OPTIONS=quarantine_size_mb=16:${ASAN_OPTIONS:-}
	rss_limit_mib=512
fi
hostile=$BUILD/tests/hostile/xvt-hostile
threads=2
events=4000 # of each thread
cleanup() {
	local jobs
	jobs=$(jobs -p)
	[ -z "$jobs" ] || kill -KILL $jobs 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
echo "with $xvtrace, seeds $SEEDS, --drain ${DRAIN:-mapped}"

# survives TEXT COMMAND...: exit 0 or 1 in good time, no sanitizer's report
survives() {
	local text=$1 rc
	shift
	timeout -s KILL 20 "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	if [ $rc -le 1 ] && ! grep -q "Sanitizer\|runtime error" "$work/err"; then
		echo "ok - $text (exit $rc)"
	else
		echo "not ok - $text (exit $rc)"
		head -20 "$work/err"
		failures=$((failures + 1))
	fi
}

guests=()
regions=(-r "honest=$work/honest")
"$xvtrace" region create "$work/honest" --size 2M --rings $threads || exit 1
for seed in $SEEDS; do
	"$xvtrace" region create "$work/evil$seed" --size 4M --rings 20 || exit 1
	"$hostile" "$work/evil$seed" mixed "$seed" >"$work/evil$seed.out" &
	guests+=($!)
	regions+=(-r "evil$seed=$work/evil$seed")
done
"$BUILD/xvt-emit" "$work/honest" --rings $threads --count $events --rate 1000 --linger 2 >"$work/emit" &
emit=$!
"$xvtrace" record -q -o "$work/t.xvt" --drain "${DRAIN:-mapped}" --memory 64M --join-timeout 3 "${regions[@]}" 2>"$work/record.err" &
recorder=$!
# Ends by itself if the guests stall it; the kernel then counts for us.
( trap 'kill $pid 2>/dev/null' TERM; sleep 30 & pid=$!; wait $pid && kill -KILL $recorder 2>/dev/null ) &
guard=$!
check "the honest machine's writer ends well" wait $emit
check "each hostile machine got as far as being recorded" eval '[ "$(grep -L "enabled [1-9]" "$work"/evil*.out | wc -l)" -eq 0 ]'
# Its last event is some seconds old and the hostile ones go on: it must be out by now.
honest_events() { "$xvtrace" report "$work/t.xvt" --vm honest 2>/dev/null | grep -c " u64: "; }
before_end=$(honest_events)
check "its events are in the file before the end ($before_end of $((threads * events)))" [ "$before_end" -eq $((threads * events)) ]
peak_kib=$(awk '/VmHWM/ { print $2 }' "/proc/$recorder/status")
begin=$(date +%s%N)
kill -INT $recorder
wait $recorder
rc=$?
took_ms=$((($(date +%s%N) - begin) / 1000000))
kill $guard "${guests[@]}" 2>/dev/null
wait "${guests[@]}"
check "the recorder survives (exit $rc)" [ $rc -le 1 ]
check "no sanitizer complains" eval '! grep -q "Sanitizer\|runtime error" "$work/record.err"'
grep -A 12 "Sanitizer\|runtime error" "$work/record.err" | head -30
# Three times the stall time-out and a second each is what guests that go on may take (docs/security.md).
check "it ends soon when told to ($took_ms ms)" [ $took_ms -lt 20000 ]
check "its memory stays below $rss_limit_mib MiB (${peak_kib:-none} KiB)" [ "${peak_kib:-99999999}" -lt $((rss_limit_mib * 1024)) ]
check "it does not flood the recorder's errors ($(wc -l <"$work/record.err") lines)" [ "$(wc -l <"$work/record.err")" -lt 1000 ]

"$xvtrace" report "$work/t.xvt" --vm honest >"$work/honest.txt" 2>/dev/null
# "... u64: THREAD NUMBER": each thread 0, 1, 2, ... and nothing else.
check "the honest machine's events are all there, once, in order" awk -v n=$events -v t=$threads '
	/ u64: / { if ($NF != next_of[$(NF - 1)]++) wrong++ }
	END { for (i = 0; i < t; i++) if (next_of[i] != n) wrong++; exit wrong != 0 }' "$work/honest.txt"
"$xvtrace" stat --json "$work/t.xvt" >"$work/stat.json" 2>"$work/err"
honest() { jq "[.vms[] | select(.name == \"honest\").rings[].$1] | add" "$work/stat.json"; }
check "none of them lost" [ "$(honest lost)" = 0 ]
check "none of them late" [ "$(honest late)" = 0 ]

for command in stat report verify "stat --json"; do
	survives "$command of that trace" "$xvtrace" $command "$work/t.xvt"
done
for seed in $SEEDS; do
	survives "salvage of region $seed" "$xvtrace" salvage "$work/evil$seed" -o "$work/s$seed.xvt"
	if [ -s "$work/s$seed.xvt" ]; then
		for command in stat report verify; do
			survives "$command of what was salvaged of $seed" "$xvtrace" $command "$work/s$seed.xvt"
		done
	fi
done
[ $failures -eq 0 ]
