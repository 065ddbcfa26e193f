#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The file of a region is deleted and made anew while it is recorded, as when a machine is started again: said, and
# the new one is recorded, too, under a name of its own.
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

write() {
	"$BUILD/xvt-emit" "$work/g" --rings 2 --rate 2000 --count 1000000000 --first "$1" >/dev/null 2>&1 &
	writers+=($!)
}

# taken N: of each ring of the file that has the name now
taken() {
	[ "$("$xvtrace" region show --json "$work/g" | jq '[.rings[].cons] | min')" -gt "$1" ]
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
: >"$work/g" # who makes a new one does so in steps
truncate -s 1M "$work/g"
rm "$work/g"
"$xvtrace" region create "$work/new" --size 2M --rings 2 && mv "$work/new" "$work/g"
kill -9 "${writers[0]}" && wait "${writers[0]}" 2>/dev/null
write 5000
check "another file under its name is recorded" poll taken 20000
check "that is said" grep -q "g: warning: another file came" "$work/err"
rm "$work/g"
"$xvtrace" region create "$work/g" --size 1M --rings 2
kill -9 "${writers[1]}" && wait "${writers[1]}" 2>/dev/null
write 9000
check "and a third one" poll taken 20000
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
[ $failures -eq 0 ]
