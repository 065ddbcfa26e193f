#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# Rings of the smallest size under a heavy load of numbered markers: what is lost is counted, by
# counters that know nothing of each other, and shown between the right two numbers.
set -u
. "$(dirname "$0")/lib.sh"

trace=$work/trace.xvt
marks=20000
# 64 KiB: header, host page, 32 KiB metadata, 2 control blocks; what is left is 2 x 4 x 1 KiB.
vm_start g1 --vcpus 2 --region-size 64K --mod 'subbuf_size=1024;meta_size=32768;probes=none' \
	--overlay "$(overlay mark.sh)" --append "xvt.marks=$marks xvt.end=wait" || exit 1
record_start "$trace" -r g1="$(vm_region g1)"
need "the guest writes its markers" vm_wait_log g1 '^XVT-SAY marked' 600
"$xvtrace" region show "$(vm_region g1)"
check "the recorder ends cleanly" record_stop
vm_wait g1 600
cat "$trace.err"
"$xvtrace" stat "$trace"
check "verify passes" "$xvtrace" verify "$trace"
check "something was lost, or this shows nothing" stat_says "$trace" '.lost > 0'
check "attempted == events + discarded + lost + in flight" adds_up "$trace"
check "each marker was one attempt" stat_says "$trace" "[.vms[0].rings[].attempted >= $marks] | all"
check "only full rings lost, by cause" stat_says "$trace" '[.vms[0].rings[] | .lost == .lost_by.full] | all'

for cpu in 0 1; do
	"$xvtrace" report "$trace" --vm g1 | awk -v ring="g1:$cpu" -v marks=$marks '
		BEGIN { last = -1 } # the first marker is number 0
		$2 != ring { next }
		/ LOST / { match($0, /full=[0-9]+/); told = substr($0, RSTART + 5, RLENGTH - 5); lost += told; gap += told; next }
		match($0, /xvt-seq [0-9]+ [0-9]+/) {
			split(substr($0, RSTART, RLENGTH), f, " ")
			n = f[3]
			if (n != last + gap + 1) { print ring ": after " last " and " gap " told as lost comes " n; bad = 1 }
			last = n; gap = 0; seen++
		}
		END {
			if (last + gap != marks - 1) { print ring ": ends at " last " + " gap " lost, of " marks; bad = 1 }
			print ring ": " seen " delivered + " lost " lost = " seen + lost " of " marks
			exit bad
		}'
	check "cpu $cpu: every gap lies between the right two numbers" test $? -eq 0
done
finish
