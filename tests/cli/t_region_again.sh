#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# The file of a region is deleted and made anew while it is recorded, as when a machine is started again: said, and
# the new one is recorded, too, under a name of its own; also when it cannot be had at once, when one that is no region
# came before it, or when nothing is left of the old one.
set -u
. "$(dirname "$0")/lib.sh"
writers=() recorder=
cleanup() {
	[ -z "$recorder" ] || kill "$recorder"
	[ ${#writers[@]} -eq 0 ] || kill -9 "${writers[@]}"
	wait
	rm -rf "$work"
} 2>/dev/null
trap cleanup EXIT

# write FIRST [FILE]
write() {
	"$BUILD/xvt-emit" "${2:-$work/g}" --rings 2 --rate 2000 --count 1000000000 --first "$1" >/dev/null 2>&1 &
	writers+=($!)
}

# taken N [FILE]: of each ring of the file that has the name now
taken() {
	[ "$("$xvtrace" region show --json "${2:-$work/g}" | jq '[.rings[].cons] | min')" -gt "$1" ]
}

says() {
	"$xvtrace" stat --json "$work/t.xvt" | jq -e "$1" >/dev/null
}

"$xvtrace" region create "$work/g" --size 1M --rings 2
write 0
"$xvtrace" record -o "$work/t.xvt" -r g="$work/g" 2>"$work/err" &
recorder=$!
check "the first file is recorded" poll taken 20000
rm "$work/g"
check "that it is deleted is said" poll grep -q "g: warning: .*deleted" "$work/err"
: >"$work/g" # a new one is made in steps
truncate -s 1M "$work/g"
rm "$work/g"
"$xvtrace" region create "$work/new" --size 2M --rings 2 && mv "$work/new" "$work/g"
kill -9 "${writers[0]}" && wait "${writers[0]}" 2>/dev/null
write 5000
check "another file under its name is recorded" poll taken 20000
check "that is said" grep -q "g: warning: another file came" "$work/err"
"$xvtrace" region create "$work/new" --size 1M --rings 2
exec 9<"$work/new"
flock 9
mv "$work/new" "$work/g"
check "one that another recorder has is reported" poll grep -q "g.2: warning: .*cannot be recorded yet" "$work/err"
seconds=$(grep -c machines "$work/err")
later() { [ "$(grep -c machines "$work/err")" -gt $((seconds + 2)) ]; }
poll later
check "once" test "$(grep -c 'cannot be recorded yet' "$work/err")" -eq 1
exec 9<&-
kill -9 "${writers[1]}" && wait "${writers[1]}" 2>/dev/null
write 9000
check "and is recorded when it is free: a third one" poll taken 20000
mapped() { grep -q "$work/.* (deleted)" "/proc/$recorder/maps"; }
check "the old ones are not read for ever" poll eval '! mapped'
kill -TERM "$recorder"
wait "$recorder"
check "exit 0: nothing went wrong" test $? -eq 0
recorder=
check "the trace verifies" "$xvtrace" verify --notes "$work/t.xvt"
check "it has three machines with events" says '[.vms[] | select(.events > 500)] | length == 3'
"$BUILD/tests/tools/xvt-chain" "$work/t.xvt"
check "no event twice, none missing" eval '"$BUILD/tests/tools/xvt-chain" "$work/t.xvt" | grep -q "^all .* twice=0 holes=0 "'

rm "$work/g"
"$xvtrace" region create "$work/g" --size 1M --rings 1
"$xvtrace" region create "$work/h" --size 1M --rings 1
"$xvtrace" record -o "$work/u.xvt" -r g="$work/g" -r h="$work/h" 2>"$work/err" &
recorder=$!
poll grep -q "/2 machines" "$work/err"
head -c 8192 /dev/urandom >"$work/new" && mv "$work/new" "$work/g"
check "a file that is no region is refused" poll grep -q "g: another file .*cannot be recorded: not an xvtrace region" "$work/err"
: >"$work/h"
check "one whose file was truncated is gone" poll grep -q "h: .*truncated" "$work/err"
for m in g h; do
	"$xvtrace" region create "$work/new" --size 1M --rings 2 && mv "$work/new" "$work/$m"
	write 0 "$work/$m"
done
check "a region that comes after the file that was none is recorded" poll taken 20000 "$work/g"
check "and one that comes after what was truncated" poll taken 20000 "$work/h"
kill -TERM "$recorder"
wait "$recorder"
check "exit 1: all that was told" test $? -eq 1
recorder=
check "what could not be used was told once" test "$(grep -c 'cannot be recorded: not an xvtrace region' "$work/err")" -eq 1
check "this trace verifies, too" "$xvtrace" verify --notes "$work/u.xvt"
u() { "$xvtrace" stat --json "$work/u.xvt" | jq -e "$1" >/dev/null; }
check "and has both" u '[.vms[] | select(.events > 500) | .name] == ["g.2", "h.2"]'
[ $failures -eq 0 ]
