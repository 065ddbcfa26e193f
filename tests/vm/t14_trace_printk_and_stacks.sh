#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What ftrace does not export: trace_printk(), trace_puts() and kernel stacks, from every
# context. ftrace's own ring is the judge: the same records, with the same bytes.
set -u
. "$(dirname "$0")/lib.sh"

judge=$BUILD/tests/tools/xvt-judge
trace=$work/trace.xvt
dir=$(overlay talk.sh)
install -m 644 "$BUILD/guest/talk$(qemu_suffix)/xvt_talk.ko" "$dir/" || exit 1
vm_start g1 --vcpus 2 --mem 512 --region-size 64M --overlay "$dir" --mod 'meta_size=8388608' --out-disk "$work/disk" 64M || exit 1
record_start "$trace" -r g1="$(vm_region g1)"
need "the guest says its lines" vm_wait_log g1 '^XVT-SAY done' 300
check "the recorder ends cleanly" record_stop
record_start "$work/again.xvt" -r g1="$(vm_region g1)"
need "the guest makes stacks inside a kprobe" vm_wait_log g1 '^XVT-SAY missed' 600
check "the second recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 600
cat "$trace.err"
vm_out g1 "$work/ftrace" || exit 1
said=$(sed -n 's/\r$//; s/^XVT-SAY //p' "$(vm_log g1)")
grep '^hook' <<<"$said"
check "every hook is in its place and has missed nothing" test "$(grep -c '^hook .* error 0 missed 0$' <<<"$said")" = 5
check "the kernel has nothing to complain about" grep -qx 'warnings 0' <<<"$said"
check "verify passes" "$xvtrace" verify "$trace"

missed=$(sed -n 's/^missed //p' <<<"$said")
check "what cannot be recorded inside a kprobe is missed: ${missed:-nothing}" test "${missed:-0}" -ge 5
check "and counted as lost in the trace" stat_says "$work/again.xvt" "[.vms[].rings[].lost_by.nest] | add == $missed"
check "where the identity holds" adds_up "$work/again.xvt"

"$xvtrace" report "$trace" >"$work/report.txt"
check "report says what a trace_printk and a trace_puts said" eval 'grep -q "xvt-talk binary 3 from hardirq, say" "$work/report.txt" && grep -q "bputs: say: xvt-talk constant" "$work/report.txt"'
check "and a stack by the names of its functions" grep -qE 'kernel_stack: .*do_init_module' "$work/report.txt"

# By type: stacks, print, bprint, bputs.
bputs=$(sed -n 's/^bputs //p' <<<"$said")
for type in 4 5 6 "$bputs"; do
	"$judge" --hooked "$type" "$trace" "$work/ftrace" >"$work/judge-$type.txt" 2>&1
	check "records of type $type are those of ftrace's ring, once each, byte by byte" test $? = 0
	sed 's/stamp_ticks.*//' "$work/judge-$type.txt"
	counts=$(awk '/^cpu / { cpus++; for (i = 3; i < NF; i++) { if ($i == "entries") e += $(i + 1)
		if ($i == "task") t += $(i + 1); if ($i == "softirq") s += $(i + 1); if ($i == "hardirq") h += $(i + 1) } }
		END { print e + 0, t + 0, s + 0, h + 0 }' "$work/judge-$type.txt")
	check "of type $type from tasks, soft and hard interrupts: $counts" eval 'set -- $counts && test "$1" -ge 100 -a "$2" -gt 0 -a "$3" -gt 0 -a "$4" -gt 0'
done
"$judge" --break drop --hooked 4,5,6,"$bputs" "$trace" "$work/ftrace" >"$work/drop.txt" 2>&1
check "the judge notices one that is missing" test $? = 1
finish
