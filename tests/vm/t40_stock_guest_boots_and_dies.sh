#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# record --follow of a guest with Linux 6.12 and nothing of xvtrace, through what becomes of guests:
# a reader of its ring in the guest, a ring that is emptied, a reboot, a panic, an end, and another
# VMM with a new file at the same path. Each is a note, what the panicking kernel wrote last is there,
# and verify finds nothing wrong.
set -u
export FLAVOUR=${NEWER_FLAVOUR:-6.12-amd64}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/stock-lib.sh"
file=$XVT_SHM_DIR/${XVT_SHM_PREFIX}life-ring
trap 'vm_cleanup; rm -f "$file"' EXIT

# of_recorder JQ-EXPRESSION: what the recorder says of itself
of_recorder() {
	"$xvtrace" status --json --control "$work/control" 2>/dev/null | jq -e ".recorders[0] | $1" >/dev/null
}

need "doctor says what it is started with" plan life 4M
record_start "$work/life.xvt" --follow --control "$work/control" -r "$(planned_region life)"
need "the guest starts" guest life 4M stock-boots.sh --reboot
# It is slow to know the guest's clock, and the guest may be quick.
need "it records the guest" vm_poll 300 of_recorder '[.vms[0].rings[].events] | add > 0'
# seen BYTE: say it to the guest (stock-boots.sh)
seen() {
	printf g | dd of="$work/life.tar" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
# told NAME TEXT: a note of the machine
told() {
	"$xvtrace" verify --notes "$work/life.xvt" 2>&1 | grep -E "^note: .* $1: .*$2" >/dev/null
}
seen 1
check "the reader in the guest is told" vm_poll 300 told life 'a reader in the guest took events out of its ring'
seen 2
check "the emptied ring is told" vm_poll 300 told life 'its ring was emptied'
seen 3
check "it boots three times, and ends" vm_wait life 600
grep -a XVT-SAY "$(vm_log life)"
check "all three took place" [ "$(grep -ac "XVT-SAY boot" "$(vm_log life)")" -eq 3 ]
check "the recorder goes on" of_recorder '.vms[0] | .name == "life" and .way == "ftrace"'
first=$("$xvtrace" status --json --control "$work/control" | jq '[.recorders[0].vms[0].rings[].events] | add')
check "it has recorded the guest ($first events)" [ "${first:-0}" -gt 6000 ]

# The same machine again, as its owner starts it: the file is made anew.
mv "$work/life.plan" "$work/life.plan.1"
need "the file is made anew" plan life 4M
check "the lines are the same" cmp "$work/life.plan.1" "$work/life.plan"
need "another VMM starts" guest life 4M stock.sh
check "it has done its work" vm_wait life 300
check "the recording ends well" record_stop
cat "$work/life.xvt.err"
"$xvtrace" stat "$work/life.xvt" | tee "$work/life.stat"
check "verify finds nothing wrong" eval '"$xvtrace" verify --notes "$work/life.xvt" >"$work/life.verify" 2>&1'
cat "$work/life.verify"

check "the reboot and the panic are told" told life '(another kernel has its ring: the guest booted|its kernel began the ring.s newest page anew)'
check "a guest's panic and end are no error" eval '! grep -q "^note: error" "$work/life.verify"'

# A mark is an event of type 5 in all kernels. Without a format its bytes are shown.
"$xvtrace" report "$work/life.xvt" | sed -n 's/.* type5: //p' | tr -d ' ' >"$work/life.marks"
# hex TEXT
hex() {
	printf %s "$1" | od -An -v -tx1 | tr -d ' \n'
}
# marks LETTER: of that part
marks() {
	grep -c "$(hex "mark $1 ")" "$work/life.marks"
}
# twice LETTER: marks of that part that are there twice
twice() {
	grep "$(hex "mark $1 ")" "$work/life.marks" | sort | uniq -d
}
for part in a b c d; do
	echo "marks $part: $(marks $part)"
done
check "the marks of each part that had time to be read" eval '[ "$(marks a)" -gt 0 ] && [ "$(marks c)" -gt 0 ] && [ "$(marks d)" -eq 2000 ]'
check "no mark is there twice" [ -z "$(for part in a b c d; do twice $part; done)" ]
check "the last words before the panic" grep -q "$(hex 'last words')" "$work/life.marks"
finish
