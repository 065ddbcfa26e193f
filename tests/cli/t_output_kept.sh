#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# slow: not in make check
# shellcheck disable=SC2317
# A command that fails before it records anything leaves FILE as it was, and makes none; and it leaves
# the regions that it had opened by then to the next command.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

for g in g1 g2; do
	"$xvtrace" region create "$work/$g" --size 256K --rings 1 || exit 1
done
# What a recording leaves behind: one that is called off must not take it.
"$xvtrace" region create "$work/left" --overwrite --size 256K --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/left" --count 1000 >/dev/null || exit 1
truncate -s 4096 "$work/no-region"
printf 'not a region' | dd of="$work/no-region" conv=notrunc status=none

# keeps RC TEXT COMMAND...: with -o FILE, once where there is a file and once where there is none
keeps() {
	local rc=$1 text=$2 there
	shift 2
	for there in yes no; do
		rm -f "$work/keep.xvt"
		[ $there = no ] || echo "what was there" >"$work/keep.xvt"
		timeout 60 "$@" -o "$work/keep.xvt" >"$work/out" 2>"$work/err"
		check "$text: exit $rc" test $? -eq "$rc"
		check "$text: one line says why" eval 'test "$(grep -c "" "$work/err")" -eq 1'
		if [ $there = yes ]; then
			check "$text: the file is what it was" eval 'test "$(cat "$work/keep.xvt")" = "what was there"'
		else
			check "$text: no file is made" test ! -e "$work/keep.xvt"
		fi
	done
	cat "$work/err"
}

for cmd in record snapshot; do
	keeps 2 "$cmd, a region without a name" "$xvtrace" $cmd -q -r g1
	keeps 2 "$cmd, two regions of one name" "$xvtrace" $cmd -q -r g1="$work/g1" -r g1="$work/g2"
	check "$cmd, two regions of one name: it names them" grep -q "^xvtrace: g1: two machines have this name" "$work/err"
	keeps 2 "$cmd, a region and a domain of one name" "$xvtrace" $cmd -q -r g1="$work/g1" -d g1
	keeps 1 "$cmd, no such region" "$xvtrace" $cmd -q -r g1="$work/typo"
	keeps 1 "$cmd, the second region is none" "$xvtrace" $cmd -q -r left="$work/left" -r g="$work/no-region"
	keeps 1 "$cmd, a libvirt that is not there" "$xvtrace" $cmd -q -r g1="$work/g1" -c "qemu+unix:///system?socket=$work/none" -d g2
	check "$cmd, a libvirt that is not there: what to do" grep -q "; .xvtrace doctor. says how, or name its region by -r$" "$work/err"
done
keeps 2 "record, no such mode" "$xvtrace" record -q -r g1="$work/g1" --mode sometimes
keeps 1 "record, no QMP socket" "$xvtrace" record -q -r left="$work/left" --qmp left="$work/none"
check "record, no QMP socket: what to do" grep -q "; start QEMU with -qmp unix:$work/none,server=on,wait=off$" "$work/err"
keeps 1 "record, no doorbell" "$xvtrace" record -q -r left="$work/left" --doorbell left="$work/none"
keeps 1 "record, no place to be asked at" "$xvtrace" record -q -r left="$work/left" --control "$work/no/socket"
keeps 1 "salvage, no region" "$xvtrace" salvage -q "$work/no-region"

# --- What a region held is still there, and no writer is said to have died.
"$xvtrace" record -o "$work/t.xvt" -r left="$work/left" --mode overwrite --duration 1 --join-timeout 0 2>"$work/err"
check "the next recording ends well" test $? -eq 0
check "it does not take those before for dead" eval '! grep -q "did not end in order" "$work/err"'
check "and has all that the region held" eval 'test "$("$xvtrace" stat --json "$work/t.xvt" | jq .events)" -eq 1000'

# --- A file that is written is written anew, and what is no file takes a trace as before.
head -c 3000000 /dev/urandom >"$work/t.xvt"
"$xvtrace" record -q -o "$work/t.xvt" -r g1="$work/g1" --duration 0.2 --join-timeout 0
check "nothing is left of a longer file" eval '"$xvtrace" verify -q "$work/t.xvt" && test "$(stat -c %s "$work/t.xvt")" -lt 100000'
ln -s to-be-made.xvt "$work/link.xvt"
"$xvtrace" record -q -o "$work/link.xvt" -r g1="$work/g1" --duration 0.2 --join-timeout 0
check "a link to a file that is not there yet" "$xvtrace" verify -q "$work/to-be-made.xvt"
"$xvtrace" record -q -o /dev/stdout -r g1="$work/g1" --duration 0.2 --join-timeout 0 | cat >"$work/p.xvt"
check "a pipe" "$xvtrace" verify -q "$work/p.xvt"
"$xvtrace" record -q -o /dev/stdout -r g1="$work/g1" --duration 0.2 --join-timeout 0 >"$work/s.xvt"
check "stdout that is a file" "$xvtrace" verify -q "$work/s.xvt"
mkfifo "$work/fifo"
cat "$work/fifo" >"$work/f.xvt" &
"$xvtrace" record -q -o "$work/fifo" -r g1="$work/g1" --duration 0.2 --join-timeout 0
wait $!
check "a FIFO" "$xvtrace" verify -q "$work/f.xvt"
# A trace holds what guests did: a new one is its user's, an old one keeps its mode.
"$xvtrace" region create "$work/mode-region" --size 1M --rings 1 >/dev/null
(umask 022 && "$xvtrace" record -q -o "$work/mode.xvt" -r g="$work/mode-region" --join-timeout 0 --duration 0.01) 2>/dev/null
check "a new trace has mode 600" test "$(stat -c %a "$work/mode.xvt")" = 600
chmod 640 "$work/mode.xvt"
"$xvtrace" record -q -o "$work/mode.xvt" -r g="$work/mode-region" --join-timeout 0 --duration 0.01 2>/dev/null
check "one that is replaced keeps its mode" test "$(stat -c %a "$work/mode.xvt")" = 640
[ $failures -eq 0 ]
