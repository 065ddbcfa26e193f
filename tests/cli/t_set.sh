#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# The files of a folder as one trace: report, stat, verify and export of it, and what they say if a file is missing,
# damaged or there twice.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

for vm in g h; do
	"$xvtrace" region create "$work/$vm" --size 1M --rings 2 || exit 1
	"$BUILD/xvt-emit" "$work/$vm" --rings 2 --count 100000000 --size 64 --rate 10000 >/dev/null 2>&1 &
	pids+=($!)
done
set=$work/set
has_files() { [ -d "$set" ] && [ "$(find "$set" -name '*.xvt' | wc -l)" -ge "$1" ]; }
record() {
	"$xvtrace" record -q -o "$set/" -r g="$work/g" -r h="$work/h" --control "$work/control" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
}
events() { "$xvtrace" status --json --control "$work/control" 2>/dev/null | jq '.recorders[0].events'; }
# Each file has events, however long the recorder takes for them.
record
check "it records" tests/recorded.sh "$work/control" g h
for i in 1 2 3 4 5; do
	now=$(events)
	"$xvtrace" control rotate --control "$work/control" >/dev/null
	poll eval '[ "$(events)" -gt $((now + 1500)) ]'
done
check "there are files" has_files 6
kill -TERM $recorder
wait $recorder

for file in "$set"/*; do "$xvtrace" report --no-reclock --no-task "$file"; done >"$work/each" 2>/dev/null
"$xvtrace" report --no-reclock --no-task "$set" >"$work/all" 2>/dev/null
check "report of the folder has what the files have" cmp <(sort "$work/each") <(sort "$work/all")
check "in order of time" sort -c -s -n -k 1,1 "$work/all"
check "and not little" test "$(wc -l <"$work/all")" -gt 5000
sum() { "$xvtrace" stat -q --json "$1" | jq "[.vms[].rings[].$2] | add"; }
for key in attempted events discarded lost late in_flight; do
	each=$(for file in "$set"/*; do sum "$file" $key; done | jq -s add)
	check "stat of the folder: $key is the sum of the files ($each)" [ "$(sum "$set" $key)" = "$each" ]
done
check "stat of the folder: no event is out of order" [ "$("$xvtrace" stat -q --json "$set" | jq .order_violations)" = 0 ]
check "a machine and its rings are the same in all files" [ "$("$xvtrace" stat -q --json "$set" |
	jq -c '[.vms[] | [.name, (.rings | length)]]')" = '[["g",2],["h",2]]' ]
"$xvtrace" verify -q "$set" >"$work/verify"
check "verify of the folder finds nothing" test $? -eq 0
borders=$(($(find "$set" -name '*.xvt' | wc -l) - 1))
check "and has compared $borders borders" grep -q " $borders borders between" "$work/verify"
"$xvtrace" export -q --format jsonl "$set" "$work/jsonl"
check "export of the folder has all events" [ "$(grep -vc '"event":"waits"' "$work/jsonl")" = "$(sum "$set" events)" ]
from=$("$xvtrace" report --no-reclock --no-task "$set/00000004.xvt" 2>/dev/null | head -n 1 | awk '{ print $1 }')
to=$("$xvtrace" report --no-reclock --no-task "$set/00000005.xvt" 2>/dev/null | tail -n 1 | awk '{ print $1 }')
in_range() { awk -v from="$from" -v to="$to" '$1 >= from && $1 <= to' "$work/all"; }
check "a range over two files" cmp <(in_range) <("$xvtrace" report --no-reclock --no-task --from "$from" --to "$to" "$set" 2>/dev/null)
check "with bounds and new clocks" [ "$("$xvtrace" report --bound --reclock "$set" 2>/dev/null | wc -l)" = "$(wc -l <"$work/all")" ]

# -- not whole

# verify_says WORDS
verify_says() {
	"$xvtrace" verify -q "$bad" >"$work/verify" 2>&1 && return 1
	grep -qE -- "$1" "$work/verify" && return
	cat "$work/verify"
	return 1
}
# report_says WORDS: and gives the events of the other files
report_says() {
	"$xvtrace" report --no-task "$bad" >"$work/out" 2>"$work/err" && return 1
	grep -qE -- "$1" "$work/err" && [ "$(wc -l <"$work/out")" -gt 2000 ] && return
	cat "$work/err"
	return 1
}
new() { rm -rf "$work/bad" && cp -r "$set" "$work/bad" && bad=$work/bad; }

new
rm "$bad/00000003.xvt"
check "a file is missing: report says so" report_says "of 00000004.xvt \(files are missing before this one\)"
check "verify says so" verify_says "before 00000004.xvt 1 files are missing"
check "and that the recording has a gap" verify_says "it is file 4 of its recording, the one before is file 2"
new
dd if=/dev/zero of="$bad/00000003.xvt" bs=1 seek=20000 count=5000 conv=notrunc status=none
check "a file is damaged: report says where" report_says "at byte [0-9]+ of 00000003.xvt"
check "verify says so" verify_says "00000003.xvt: [0-9]+ violation"
check "the other files count in stat" test "$(sum "$bad" events)" -gt 2000
new
dd if=/dev/zero of="$bad/00000003.xvt" bs=1 count=500 conv=notrunc status=none
check "a file has no begin: report says so" report_says "of 00000004.xvt \(a file before this one cannot be read\)"
check "verify says so" verify_says "00000003.xvt: is not an xvtrace trace"
new
cp "$bad/00000003.xvt" "$bad/00000004.xvt"
check "a file is there twice: verify says so" verify_says "it is file 3 of its recording, the one before is file 3"
new
rm "$bad"/*
check "a folder without files is refused" verify_says "without files of a trace"
"$xvtrace" report "$bad" 2>"$work/err"
check "by report, too" grep -q "without files of a trace" "$work/err"

# -- two recorders, of which the first was killed

record --rotate-time 0.2
check "there are more files" poll has_files $((borders + 4))
kill -KILL $recorder
wait $recorder 2>/dev/null
record --rotate-time 0.2
check "and files of the next recorder" poll has_files $((borders + 8))
kill -TERM $recorder
wait $recorder
"$xvtrace" verify -q "$set" >"$work/verify"
check "killed: verify finds nothing" test $? -eq 0
find "$set" -size 0 -delete
for file in "$set"/*; do "$xvtrace" report --no-reclock --no-task "$file"; done >"$work/each" 2>/dev/null
"$xvtrace" report --no-reclock --no-task "$set" >"$work/all" 2>/dev/null
check "killed: report has what the files have" cmp <(sort "$work/each") <(sort "$work/all")
each=$(for file in "$set"/*; do sum "$file" attempted; done | jq -s add)
check "killed: so has stat ($each)" [ "$(sum "$set" attempted)" = "$each" ]
check "killed: each machine is one" [ "$("$xvtrace" stat -q --json "$set" | jq -c '[.vms[].name]')" = '["g","h"]' ]
[ $failures -eq 0 ]
