#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# verify as a judge: of valid traces one thing after the other is made wrong, and all else made to fit
# it (tests/tools/xvt-lie.c). verify finds each of these lies in one of the traces, but for those
# below, which the file cannot show.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
lie=$BUILD/tests/tools/xvt-lie

# Lies that nothing else in the file contradicts, and why.
cat >"$work/hidden" <<'END'
file-host-name        no other place has the host's name
vm-name               nor a machine's
vm-boot               nor its boot's number
vm-region-kind        the guest's own word
ring-type             the guest's own word
ring-clock-id         the guest's own word
ring-start            begins anew when the ring does
ring-tid              the guest's own word
ring-before           says something of other files, with which a set is compared
timebase-wall-clock   the wall clock may have been set, and has no witness but clock pairs
timebase-error        no other place has what the recorder measured then
timebase-apart        looks like a short sleep of the host
marks-cut             a mark that was not seen is not missed
record-payload        a guest may record what it likes
stats-discarded       only the guest counts what it gives back
stats-in-flight       only the guest counts what it began
stats-in-flight-lost  only the guest counts what it began
stats-paused          pauses are in notes, as text
stats-nest            only the guest counts its writers
stats-doubt           a larger doubt allows more, and may be true
note-vm               a machine that never joined has notes
note-time             what a note tells may have happened at any time
END

# -- the traces: one of two rings, of which nothing is lost; two of a ring that overflows, merged and
# not merged; and one that is made up

"$xvtrace" region create "$work/g" --size 1M --rings 2 || exit 1
"$xvtrace" record -q -o "$work/plain.xvt" -r g="$work/g" -- \
	"$BUILD/xvt-emit" "$work/g" --rings 2 --count 2500 --rate 1000 --linger 1 >/dev/null
for order in now later; do
	"$xvtrace" region create "$work/$order" --size 64K --rings 1 || exit 1
	"$xvtrace" record -q --order $order -o "$work/$order.xvt" -r g="$work/$order" -- \
		"$BUILD/xvt-emit" "$work/$order" --count 200000 --linger 1 >/dev/null
done
# Marks, runs, what the drain saw and what confirms it, clock pairs.
"$BUILD/tests/tools/xvt-mktrace" 2000 $((16 + 32 + 64 + 128 + 256)) "$work/made.xvt" >/dev/null || exit 1
traces="plain now later made"

for trace in $traces; do
	check "$trace: verify finds nothing" "$xvtrace" verify -q --complete "$work/$trace.xvt"
	cp "$work/$trace.xvt" "$work/told.xvt"
	check "$trace: made to fit without a lie" "$lie" "$work/told.xvt" none
	check "$trace: is as it was" cmp "$work/$trace.xvt" "$work/told.xvt"
done
check "something was lost" [ "$(stat_sum "$work/now.xvt" lost)" -gt 0 ]

# found LIE: in one of the traces. 1: in none; 2: there is nothing of which to tell it
found() {
	local trace status told=2
	for trace in $traces; do
		cp "$work/$trace.xvt" "$work/told.xvt"
		"$lie" "$work/told.xvt" "$1"
		status=$?
		[ $status -eq 3 ] && continue
		[ $status -eq 0 ] || return $status
		told=1
		"$xvtrace" verify -q --complete "$work/told.xvt" >"$work/out" 2>&1 || return 0
	done
	return $told
}
is_hidden() { grep -q "^$1 " "$work/hidden"; }

lies=0 found=0
for name in $("$lie"); do
	lies=$((lies + 1))
	found "$name"
	status=$?
	[ $status -eq 0 ] && found=$((found + 1))
	[ $status -le 1 ] || check "$name: can be told ($status)" false
	[ $status -ne 1 ] || is_hidden "$name" || check "$name: is found" false
done
cp "$work/now.xvt" "$work/told.xvt"
"$lie" "$work/told.xvt" events-forgotten || exit 1
"$xvtrace" verify -q "$work/told.xvt" >"$work/out" 2>&1
said="between positions [0-9]+ and [0-9]+ its writer counted"
check "which events are missing is said" grep -qE "^violation: g:[0-9]+ .ring 0.: $said" "$work/out"
cp "$work/later.xvt" "$work/told.xvt"
ordered() {
	"$xvtrace" order "$work/told.xvt" && "$xvtrace" verify -q --complete "$work/told.xvt" && "$lie" "$work/told.xvt" events-forgotten &&
		! "$xvtrace" verify -q "$work/told.xvt" >"$work/out" 2>&1 && grep -qE "$said" "$work/out"
}
check "order keeps the counters that show it" ordered
echo "    $found of $lies lies are found"
check "nearly all lies are found" [ $found -ge 140 ]
known() { ! awk '{ print $1 }' "$work/hidden" | grep -vxF -f <("$lie"); }
check "those that are not are lies" known

# -- the border of two files

"$BUILD/xvt-emit" "$work/g" --rings 2 --count 100000000 --rate 5000 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record -q -o "$work/set/" -r g="$work/g" --rotate-time 0.3 --control "$work/control" 2>"$work/err" &
recorder=$!
pids+=($recorder)
has_files() { [ "$(find "$work/set/" -name '*.xvt' 2>/dev/null | wc -l)" -ge "$1" ]; }
check "a set is recorded" tests/recorded.sh "$work/control" g
third=$(($(find "$work/set/" -name '*.xvt' | wc -l) + 2)) # or a later one: it and the one before have events
check "of several files" poll has_files $((third + 1))
kill -TERM $recorder
wait $recorder
check "a set: verify finds nothing" "$xvtrace" verify -q "$work/set"

# border LIE WORDS: in that file; verify says so
border() {
	rm -rf "$work/told"
	cp -r "$work/set" "$work/told"
	"$lie" "$(printf "$work/told/%08d.xvt" $third)" "$1" || return 1
	! "$xvtrace" verify -q "$work/told" >"$work/out" 2>&1 &&
		grep -qE "$2" "$work/out" && return
	cat "$work/out"
	return 1
}
check "events that are in neither file" border ring-before "events between this file and the one before are in neither"
check "the host's clock is another one" border file-base-ns "the host's clock from counter [0-9]+ on is not that of the file before"
check "its rate is" border file-mult "the host's clock from counter [0-9]+ on is not that of the file before"
check "a node that goes on has another bound" border node-carried-bound "its clock node at [0-9]+ ns is another one in the file before"
check "or another time" border node-carried-time "its clock node at [0-9]+ ns is another one in the file before"
check "or another clock" border node-carried-guest "its clock node at [0-9]+ ns is not in the file before"
[ $failures -eq 0 ]
