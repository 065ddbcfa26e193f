#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Functions have names without a command in the guest: in function traces, stacks and events that print a function. The
# guest's own /proc/kallsyms is the judge. A guest whose owner refuses has addresses, and one note says so.
set -u
. "$(dirname "$0")/lib.sh"

trace=$work/trace.xvt
dir=$(overlay names.sh)
vm_start g1 --vcpus 2 --mem 512 --region-size 32M --overlay "$dir" --out-disk "$work/disk" 64M || exit 1
vm_start g2 --vcpus 1 --mem 256 --region-size 32M --overlay "$dir" --mod 'symbols=0' || exit 1
record_start "$trace" -r g1="$(vm_region g1)" -r g2="$(vm_region g2)"
need "g1 did its work" vm_wait_log g1 '^XVT-SAY done' 600
need "g2 did its work" vm_wait_log g2 '^XVT-SAY done' 600
check "the recorder ends cleanly" record_stop
check "g1 powers off" vm_wait g1 600
check "g2 powers off" vm_wait g2 600
cat "$trace.err"
for g in g1 g2; do
	sed -n "s/\r\$//; s/^XVT-SAY symbols/$g: symbols/p" "$(vm_log $g)"
	check "$g: its kernel has nothing to complain about" grep -qE '^XVT-SAY warnings 0' "$(vm_log $g)"
	check "$g: no command failed" eval '! grep -a XVT-GUEST-ERROR "$(vm_log $g)"'
done
vm_out g1 "$work/out" || exit 1

"$xvtrace" report --no-task "$trace" --vm g1 >"$work/report.txt"
"$xvtrace" export -q --format jsonl "$trace" - >"$work/events.jsonl"
"$xvtrace" export -q --format dat "$trace" "$work/dat" 2>"$work/dat.err" || cat "$work/dat.err"
check "report: functions have names" grep -qE ' function: +vfs_[a-z_]+ <-- [a-z_]' "$work/report.txt"
check "report: stacks have names" grep -qE ' kernel_stack: .*hrtimer_start_range_ns.*do_syscall_64' "$work/report.txt"
check "report: a function of a module" grep -q "hrtimer_expire_entry: .* function=timer_fired " "$work/report.txt"
check "report: the function of a timer, and of a work item" eval 'grep -qE "hrtimer_start: .* function=[a-z_]+ " "$work/report.txt" && grep -qE "workqueue_execute_start: .* function [a-z_]+$" "$work/report.txt"'
# The kernel names no address in the entry code of ftrace, which an interrupt may hit as well.
while read -r begin _; do
	sed -i "s/ <- 0x${begin%???}[0-9a-f]\{3\}//g" "$work/report.txt"
done <"$work/out/entry_code"
check "no function, stack or timer of g1 is a number, but in the entry code of ftrace" eval 'test -s "$work/out/entry_code" && ! grep -E " function: +.*0x[0-9a-f]{16}| kernel_stack: .*0x[0-9a-f]{16}|function=0x[0-9a-f]{16}" "$work/report.txt" | head -n 5 | grep .'
check "... down to the last event: the recorder waited for its name" eval 'grep -qE " function: +proc_[a-z_]+ <-- " "$work/report.txt"'
judged=$(tests/vm/judge-names.py "$work/out/kallsyms" g1 "$work/events.jsonl")
check "jsonl: the names are those of the guest's /proc/kallsyms: $judged" test $? = 0
if command -v trace-cmd >/dev/null; then
	trace-cmd report -i "$work/dat/g1.dat" >"$work/dat.txt" 2>"$work/dat.err"
	check "trace.dat: trace-cmd has the names" grep -qE ' function: +vfs_[a-z_]+' "$work/dat.txt"
else
	echo "skip - trace.dat: no trace-cmd"
fi

"$xvtrace" report --no-task "$trace" --vm g2 >"$work/g2.txt"
check "g2 refuses: its functions are numbers" eval 'grep -qE " function: +0xffffffff[0-9a-f]+ <-- 0x" "$work/g2.txt" && ! grep -qE " function: +[a-z]" "$work/g2.txt"'
check "... and one note says so" test "$("$xvtrace" verify --notes "$trace" | grep -c 'names no functions (symbols=0)')" = 1
finish
