#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How many rings of a machine are recorded: the host says that, not the guest.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
"$xvtrace" region create "$work/g" --size 1M --rings 6 --subbuf-size 4K || exit 1
for bad in 0 -1 x 65537 "" 99999999999999999999; do
	"$xvtrace" record -q -o "$work/t.xvt" -r "g=$work/g,rings=$bad" --duration 0.1 2>"$work/err"
	rc=$?
	check "rings=$bad is refused" eval '[ $rc -eq 2 ] && grep -q "1 to 65536" "$work/err"'
done
"$xvtrace" record -o "$work/t.xvt" -r "g=$work/g,rings=2" --join-timeout 0 --duration 0.2 2>"$work/err"
check "the rest is told" grep -q "its region has 6 rings; the first 2 are recorded, 4 are not" "$work/err"
check "and stands in the trace" eval '"$xvtrace" verify --notes "$work/t.xvt" | grep -q "the first 2 are recorded"'
cp "$work/g" "$work/g,rings"
"$xvtrace" record -o "$work/t.xvt" -r "g=$work/g,rings" --join-timeout 0 --duration 0.2 2>"$work/err"
check "a comma in a name is no option" ended_idle $? "$work/err"
check "and 6 rings are not too many" eval '! grep -q "are not" "$work/err"'
[ $failures -eq 0 ]
