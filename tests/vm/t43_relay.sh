#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# A guest without the module: xvt-guest relays what its kernel's ftrace records. The guest's own view
# of its ring is the judge of stamps and count, its counters are that of losses. A relay that is
# killed is told, and the next one goes on with what the kernel has kept meanwhile.
set -u
. "$(dirname "$0")/lib.sh"
export VM_INITRD=$work/initramfs.gz
mkdir "$work/programs"
cp "$BUILD/guest/bin/xvt-guest" "$work/programs"
need "an image with xvt-guest and without the module" eval \
	'XVTRACE_KO=$work/none GUEST_PROGRAMS=$work/programs GUEST_IMAGE=$VM_INITRD qemu/build-image.sh 2>"$work/image.err"'
vm_start r --vcpus 2 --mem 256 --mod none --region-size 4M --overlay "$(overlay relayed.sh)" --out-disk "$work/r.tar" 16M
trace=$work/r.xvt
# The recorder waits so long for the relay that goes on with what the killed one left.
record_start "$trace" --stall-timeout 300 -r "r=$(cat "$VM_RUN_DIR/r/region")"
check "the guest has done its work" vm_wait r 300
check "the recording ends well" record_stop
cat "$trace.err"
grep -a "XVT-SAY\|xvt-guest:" "$(vm_log r)"
# said TEXT: of the guest
said() {
	grep -aq "XVT-SAY $1" "$(vm_log r)"
}
check "the relay that was killed is told in the guest" said 'killed rc=1'
check "the relays that are ended remove what is theirs" eval 'said "ended rc=0 left=.\{0,1\}$" && said "short rc=0"'
check "verify finds nothing wrong" eval '"$xvtrace" verify --notes "$trace" >"$work/verify" 2>&1'
cat "$work/verify"
"$xvtrace" stat "$trace"
check "the counts add up" adds_up "$trace"
written=$(grep -ao 'XVT-SAY [a-z]* written=[0-9]*' "$(vm_log r)" | awk -F = '{ n += $2 } END { print n + 0 }')
check "they are those of the guest's own rings: $written events were written" \
	stat_says "$trace" "([.vms[].rings[].attempted] | add) == $written"
check "no event contradicts its clock" stat_says "$trace" '[.vms[].rings[].clock_violations] | add == 0'
"$xvtrace" report --vm r "$trace" >"$work/text" 2>"$work/text.err"
check "no event comes too late for its place" stat_says "$trace" '[.vms[].rings[].late] | add == 0'
check "all events have names" eval '[ ! -s "$work/text.err" ] && ! grep -q " unknown" "$work/text"'
# marks PART: how many different ones of it are there
marks() {
	grep -o "mark $1\.[01]\.[0-9]*" "$work/text" | sort -u | wc -l
}
for part in 1 2 3; do
	check "part $part: all 2000 marks" [ "$(marks $part)" -eq 2000 ]
done
check "no mark is there twice" [ -z "$(grep -o 'mark [0-9.]*' "$work/text" | sort | uniq -d)" ]

# What was in the kernel's ring when the second relay began.
mkdir "$work/out"
tar xf "$work/r.tar" -C "$work/out" 2>/dev/null
"$BUILD/tests/tools/xvt-raw" "$trace" | awk '$1 == "event"' >"$work/raw"
for cpu in 0 1; do
	sort -n "$work/out/cpu$cpu" >"$work/guest$cpu"
	awk '{ for (i = 2; i <= NF; i++) print $i }' "$work/raw" | sort -n | uniq >"$work/words"
	n=$(wc -l <"$work/guest$cpu")
	check "cpu $cpu: each of $n stamps of the guest's own view is in the trace" eval \
		'[ "$n" -ge 1000 ] && [ -z "$(sort -u "$work/guest$cpu" | comm -23 - <(sort -u "$work/words"))" ]'
done

# The short buffer: what the kernel has overwritten is what the trace says is lost.
overrun=$(sed -n 's/.*XVT-SAY short overrun=\([0-9]*\).*/\1/p' "$(vm_log r)" | tr -d '\r')
check "the short buffer has lost events ($overrun)" [ "${overrun:-0}" -gt 0 ]
check "the trace says the same" stat_says "$trace" "([.vms[].rings[].lost] | add) == $overrun"
finish
