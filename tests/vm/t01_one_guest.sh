#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# One guest: its kernel's events, by name and field, from every context; the host asks for an
# event and is obeyed only where the guest's owner allowed it; a module that cannot work says why.
set -u
. "$(dirname "$0")/lib.sh"

trace=$work/trace.xvt
vm_start g1 --vcpus 2 --mod host_control=1 --overlay "$(overlay contexts.sh)" || exit 1
record_start "$trace" -r g1="$(vm_region g1)" -e sched:sched_wakeup
need "the guest runs its load" vm_wait_log g1 '^XVT-SAY done' 600
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 600
cat "$trace.err"
"$xvtrace" stat "$trace"
check "nothing lost, late or out of order" stat_says "$trace" '.lost == 0 and .late == 0 and .order_violations == 0 and .in_flight == 0'
check "attempted == events + discarded + lost + in flight" adds_up "$trace"
check "verify passes" "$xvtrace" verify "$trace"
check "with marks that the guest wrote for the host" eval '"$xvtrace" verify "$trace" | grep -qE ", [1-9][0-9]* marks;"'
check_pairs g1 "$trace"
# Marks are seen to some ms on a busy machine; nothing but they can tell, with one guest alone.
"$BUILD/tests/tools/xvt-shift" g1 3000000000 "$trace" "$work/shifted.xvt" || exit 1
check "the same trace with all its times moved is found out by them" eval '! "$xvtrace" verify "$work/shifted.xvt" >"$work/shifted.out" && grep -q "but its stamp says" "$work/shifted.out"'
"$xvtrace" export --format jsonl "$trace" - >"$work/events.jsonl"
for event in sched_switch sched_waking irq_handler_entry irq_handler_exit hrtimer_expire_entry softirq_entry print; do
	check "$event is there, with fields" eval "jq -e -n '[limit(1; inputs | select(.event == \"$event\" and (.fields | length) > 0))] | length == 1' '$work/events.jsonl' >'$work/jq.out'"
done
check "the event that the host asked for is there" grep -q '"event":"sched_wakeup"' "$work/events.jsonl"
check "the probe of sched_switch is found under the kernel's name" eval '"$xvtrace" report "$trace" -s -e sched:sched_switch -n 9 | grep -q " xvt:sched_switch: "'
check "wake-ups are the module's probe's, without an option" eval '"$xvtrace" report "$trace" -s -e sched:sched_waking >"$work/wakings" && grep -q " xvt:sched_waking: " "$work/wakings" && ! grep -q " sched:sched_waking: " "$work/wakings"'
check "... so that it is known how long tasks waited" eval '"$xvtrace" analyze -q --json sched "$trace" | jq -e "any(.lines[]; .kind == \"wait\" and .wall.n > 0)" >/dev/null'
check "a marker's text" eval '"$xvtrace" report "$trace" --event print | grep -q "print: hello from g1$"'
check "from hard and soft interrupts and tasks" eval "\"$xvtrace\" report \"$trace\" | awk '\$3 ~ /h/ { h++ } \$3 ~ /s/ { s++ } \$3 !~ /[hsH]/ { t++ } END { print h + 0, s + 0, t + 0; exit !(h > 100 && s > 100 && t > 100) }'"

# Each of these must refuse to load, with a message that names the reason.
mkdir "$work/bad"
head -c 4194304 /dev/urandom >"$work/bad/magic"
"$xvtrace" region create "$work/bad/rings" --size 4M --rings 1 || exit 1
"$xvtrace" region create "$work/bad/newer" --size 4M --rings 4 && printf '\002\000\000\000\002' | dd of="$work/bad/newer" bs=1 seek=8 conv=notrunc status=none
"$xvtrace" region create "$work/bad/damaged" --size 4M --rings 4 && printf '\001' | dd of="$work/bad/damaged" bs=1 seek=84 conv=notrunc status=none
refused() {
	vm_wait "$1" 600 && [ "$(vm_rc "$1")" = 1 ] && grep -aq "xvtrace.*$2" "$(vm_log "$1")" && ! grep -aqE 'BUG:|WARNING:|Oops' "$(vm_log "$1")"
}
for kind in magic rings newer damaged; do
	vm_start bad-$kind --vcpus 2 --region "$work/bad/$kind" || exit 1
done
vm_start bad-small --vcpus 8 --region-size 64K || exit 1
vm_start asked --vcpus 1 --overlay "$(overlay hold.sh)" || exit 1
check "wrong magic is refused" refused bad-magic 'holds something else (magic 0x'
check "a region with too few rings is refused" refused bad-rings 'formatted with 1 rings, this kernel has 2 CPUs'
check "a newer version is refused" refused bad-newer 'version 2'
check "damaged geometry is refused" refused bad-damaged 'damaged: subbuf_size = '
check "a region too small for the CPUs is refused, with the size that it needs" refused bad-small 'too small for 8 CPUs.*it needs'
"$xvtrace" record -q -o "$work/asked.xvt" -r g="$(vm_region asked)" -e sched:sched_wakeup --duration 8 2>"$work/asked.err"
rc=$?
cat "$work/asked.err"
check "without host_control=1 the host's wish is refused, and it says so" eval 'test $rc -eq 1 && grep -q host_control=1 "$work/asked.err"'
finish
