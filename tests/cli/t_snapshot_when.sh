#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# xvtrace snapshot --when: one event in one of several flight recorders gives one file of all of
# them that has it, many of them a bounded number of files and a count, and none gives nothing.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

for name in a b; do
	"$xvtrace" region create "$work/$name" --size 4M --rings 1 --overwrite || exit 1
done
mkfifo "$work/tell"
"$BUILD/tests/tools/xvt-say" "$work/a" <"$work/tell" >"$work/told" &
pids+=($!)
exec 5>"$work/tell"
"$BUILD/xvt-emit" "$work/b" --count 100000000 --rate 10000 >/dev/null 2>&1 &
pids+=($!)

machines=(-r a="$work/a" -r b="$work/b")

# say N TEXT: the program in a records it, and has done so when this returns
lines=0
say() {
	echo "$1 $2" >&5
	lines=$((lines + 1))
	poll has_lines
}
has_lines() { [ "$(wc -l <"$work/told")" -ge $lines ]; }
# watch OPTION...: in the background, until it waits
watch() {
	: >"$work/err"
	"$xvtrace" snapshot "${machines[@]}" "$@" 2>"$work/err" &
	watcher=$!
	pids+=($watcher)
	poll grep -q 'waits for a' "$work/err"
}
ended() {
	wait $watcher
}
booms() { "$xvtrace" report -q --filter 'text == "boom"' "$1" 2>/dev/null | wc -l; }
of_b() { "$xvtrace" stat --json "$1" | jq '[.vms[] | select(.name == "b").rings[].events] | add'; }

# -- one event
say 1 boom
say 100 others
check "it waits" watch -o "$work/one.xvt" --when 'event text text == "boom"'
say 100 others
check "an event of before, and others, are not meant" test ! -e "$work/one.xvt"
say 1 boom
check "then it ends" ended
check "and has one file, with both events of that text" test "$(booms "$work/one.xvt")" -eq 2
check "and the other machine's events" test "$(of_b "$work/one.xvt")" -gt 0
check "it says which event it was" grep -q "^xvtrace: note: $work/one.xvt: a xvt:text: boom, at [0-9.]*; what 2 machines held at [0-9.]*\$" "$work/err"
check "and how many" grep -q "held for 1 events; 1 files" "$work/err"
check "the file verifies" "$xvtrace" verify -q "$work/one.xvt"

# -- after it
watch -o "$work/after.xvt" --when 'event xvt:text text == "later"' --after 0.3
say 1 later
check "--after: it ends" ended
after() {
	"$xvtrace" report -q "$work/after.xvt" | awk '/: later$/ { at = $1 } { last = $1 } END { exit !(at && last - at >= 0.29) }'
}
check "the file goes on for that long" after

# -- and before it
before() {
	"$xvtrace" report -q "$work/before.xvt" | awk '/: short$/ { at = $1 } $2 ~ /^b:/ && !first { first = $1 } { last = $1 } END { exit !(at && first && at - first >= 0.5 && last - at >= 0.29) }'
}
first_of() { "$xvtrace" report -q "$1" | awk '$2 ~ /^b:/ { print $1; exit }'; }
# The ring of b holds much more than that, with its newest half second.
holds() {
	"$xvtrace" snapshot -q "${machines[@]}" -o "$work/all.xvt" &&
		"$xvtrace" report -q "$work/all.xvt" | awk '$2 ~ /^b:/ { if (!first) first = $1; last = $1 } END { exit !(last - first >= 3) }'
}
# Two snapshots place old events a little apart.
shorter() {
	watch -o "$work/before.xvt" --when 'event xvt:text text == "short"' --before 0.5 --after 0.3
	say 1 short
	ended || return
	"$xvtrace" snapshot -q "${machines[@]}" -o "$work/all.xvt"
	awk -v all="$(first_of "$work/all.xvt")" -v before="$(first_of "$work/before.xvt")" 'BEGIN { exit !(all + 0 && before > all + 0.1) }'
}
check "the rings hold more than is asked for" poll holds
check "--before: the file has less than the rings hold" shorter
check "it verifies" "$xvtrace" verify -q "$work/before.xvt"
check "it begins that long before the event" before

# -- machines and several conditions
watch -o "$work/which.xvt" --when 'event b:xvt:text' --when 'event a:xvt:text text ~ "x*"'
say 1 boom
say 1 xyz
check "a condition for one machine" ended
check "only its event counts" grep -q "a xvt:text: xyz, at .*" "$work/err"

# -- many; one of the files is no region
printf "not a region" >"$work/c"
truncate -s 64K "$work/c"
machines=(-r "$work/[abc]")
begin=$SECONDS
watch -o "$work/many.xvt" --when 'event text text == "boom"' --files 100 --per-minute 2
say 1 boom
check "a first file" poll test -e "$work/many-1.xvt"
say 1 boom
check "a second one" poll test -e "$work/many-2.xvt"
descriptors() { find "/proc/$watcher/fd" | wc -l; }
check "no look leaves a descriptor" test "$(descriptors)" -le 12
say 9998 boom
kill -TERM $watcher
check "it ends by a signal" ended
check "a warning is given once" test "$(grep -c 'warning: left out' "$work/err")" -eq 1
check "all were counted" grep -q "held for 10000 events; [0-9]* files" "$work/err"
most=$((2 + 2 * ((SECONDS - begin) / 60)))
check "two files a minute" test "$(find "$work" -name 'many-*.xvt' | wc -l)" -le $most
for file in "$work"/many-*.xvt; do
	check "${file##*/} verifies" "$xvtrace" verify -q "$file"
done

# -- what is no event
held() { grep -q "^xvtrace: note: $work/$1.xvt: $2, at [0-9.]*; what 2 machines held at [0-9.]*\$" "$work/err"; }
machines=(-r a="$work/a" -r l="$work/l")
"$xvtrace" region create "$work/l" --size 256K --rings 1 --subbuf-size 4K --overwrite || exit 1
watch -o "$work/loss.xvt" --when 'loss l' --when 'loss none'
say 100 others
check "a loss is waited for" test ! -e "$work/loss.xvt"
"$BUILD/xvt-emit" "$work/l" --count 10 --size 8192 >/dev/null 2>&1
check "then it ends" ended
check "and says what was lost" held loss 'l lost 10 events'
check "the file has the other machine's events" test "$("$xvtrace" report -q --filter 'text == "others"' "$work/loss.xvt" | wc -l)" -ge 100
check "it verifies" "$xvtrace" verify -q "$work/loss.xvt"
watch -o "$work/still.xvt" --when 'still 1 l'
"$BUILD/xvt-emit" "$work/l" --count 100 >/dev/null 2>&1
check "a standstill, after some events" ended
check "is told" held still 'l had no event for 1\.[0-9]* s'
check "the file has these" test "$("$xvtrace" stat --json "$work/still.xvt" | jq '[.vms[] | select(.name == "l").rings[].events] | add')" -ge 100
if command -v qemu-system-x86_64 >/dev/null; then
	bare_qemu "$work/qmp"
	watch -o "$work/crash.xvt" --when crash --qmp a="$work/qmp" --when 'event nothing'
	say 100 others
	kill -KILL $qemu
	check "a machine's QEMU is killed" ended
	check "that is told" grep -q "^xvtrace: note: $work/crash.xvt: a crashed, at [0-9.]*, last event at [0-9.]*; what 2 machines held at [0-9.]*\$" "$work/err"
	last=$(sed -n 's/.*, last event at \([0-9.]*\); what.*/\1/p' "$work/err")
	check "and its last event is where that says" eval '"$xvtrace" report -q --vm a --around "$last" --span 1ms "$work/crash.xvt" | grep -q " others" && [ "$("$xvtrace" report -q --vm a --from "$last" "$work/crash.xvt" | wc -l)" -le 2 ]'
	check "the file verifies" "$xvtrace" verify -q "$work/crash.xvt"
	watch -o "$work/none.xvt" --when 'crash l'
	kill -TERM $watcher
	check "none crashes: it ends by a signal" ended
	check "and leaves no file" test ! -e "$work/none.xvt"
else
	echo "skip - a machine's QEMU is killed: qemu-system-x86_64 not found"
fi
machines=(-r "$work/[abc]")

# -- none, and misuse
watch -o "$work/none.xvt" --when 'event text text == "no"' --when 'event text txet == "boom"'
say 1 boom
told_field() { grep -q "warning: event text txet == \"boom\": no event has a field 'txet'; text has: text" "$work/err"; }
check "a field that no event has is told" poll told_field
more_looks() { [ "$(grep -c . "$work/err")" -ge 1 ] && say 1 boom; }
check "and it goes on to wait" more_looks
kill -INT $watcher
check "it ends in order" ended
check "the field was told once" test "$(grep -c txet "$work/err")" -eq 1
watch -o "$work/none.xvt" --when 'event nothing'
kill -INT $watcher
check "no event: it ends in order" ended
check "and leaves no file" test ! -e "$work/none.xvt"
wrong() { # STATUS WORDS OPTION...
	timeout 60 "$xvtrace" snapshot -o "$work/x.xvt" -r a="$work/a" "${@:3}" 2>"$work/err"
	[ $? -eq "$1" ] && grep -q -- "$2" "$work/err" && [ ! -e "$work/x.xvt" ] && return
	cat "$work/err"
	return 1
}
check "no condition" wrong 2 'a condition is: event GLOB' --when 'boom'
check "no event in it" wrong 2 'a condition is: event GLOB' --when 'event '
check "a wrong filter" wrong 2 'a value is missing' --when 'event text text =='
check "too many files a minute" wrong 2 'at most 60' --when 'event text' --per-minute 61
check "options without a condition" wrong 2 'belong to --when' --files 3
check "a socket without a condition" wrong 2 'belong to --when' --qmp a=x
no_folder() {
	timeout 60 "$xvtrace" snapshot -o "$work/no/x.xvt" -r a="$work/a" --when 'event text' 2>"$work/err"
	[ $? -eq 1 ] && grep -q "cannot write there" "$work/err"
}
check "a folder that is not there is an error at once" no_folder
[ $failures -eq 0 ]
