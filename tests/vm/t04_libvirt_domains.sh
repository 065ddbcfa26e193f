#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guests as libvirt domains, found by name. libvirt tells the recorder when one is paused.
set -u
. "$(dirname "$0")/lib.sh"
lv_trap
reason=$(lv_start 2>&1)
if [ $? -eq 77 ]; then
	echo "skip - domains by name: ${reason#*skipped: }"
	exit 77
fi
lv_start || exit 1

trace=$work/trace.xvt
need "two domains start" eval 'lv_create g1 --vcpus 2 --overlay "$(overlay load.sh)" && lv_create g2 --vcpus 2 --overlay "$(overlay load.sh)"'
d1=$(lv_domain g1) d2=$(lv_domain g2)
"$xvtrace" record -q -o "$work/x.xvt" -d no-such-domain 2>"$work/err"
rc=$?
check "an unknown domain is one clear error line" eval 'test $rc -eq 1 && test "$(wc -l <"$work/err")" -eq 1 && grep -q "no domain of this name" "$work/err"'
record_start "$trace" -d "$d1" -d "$d2"
need "both run their load" eval 'vm_wait_log g1 "^XVT-SAY done" 600 && vm_wait_log g2 "^XVT-SAY done" 600'
check "the recorder ends cleanly" record_stop
check "both domains power off" eval 'vm_wait g1 600 && vm_wait g2 600'
cat "$trace.err"
"$xvtrace" stat "$trace"
check "the machines have their domains' names" stat_says "$trace" "[.vms[].name] == [\"$d1\", \"$d2\"]"
check "and their UUIDs" stat_says "$trace" '[.vms[].uuid | test("[1-9a-f]")] | all'
check "nothing lost, late or out of order" stat_says "$trace" '.lost == 0 and .late == 0 and .order_violations == 0'
check "events on every ring" stat_says "$trace" '[.vms[].rings[].events > 500] | all'
check "verify passes" "$xvtrace" verify "$trace"

# A pause: the recorder hears of it from libvirt, without being told to listen.
trace=$work/pause.xvt
# told WORDS: the recorder has put such a note into its trace
told() {
	grep -qsaE -- "$1" "$trace"
}
now() {
	date +%s%N
}
# drained: events of the third domain have arrived
drained() {
	[ "$("$xvtrace" region show --json "$(vm_region g3)" 2>/dev/null | jq '[.rings[].cons] | max')" -gt 0 ] 2>/dev/null
}
need "a third domain starts" eval 'lv_create g3 --vcpus 2 --overlay "$(overlay load.sh)"'
d3=$(lv_domain g3)
# The threads of the host that run its vCPUs have its name, too. There is no QMP socket of ours: /proc knows them.
host=()
if [ -w /sys/kernel/tracing/instances ] && grep -q x86-tsc /sys/kernel/tracing/trace_clock; then
	host=(--host sched)
else
	echo "skip - threads of a domain's vCPUs: the kernel cannot be traced here"
fi
record_start "$trace" -d "$d3" "${host[@]}"
need "it records" eval 'vm_poll 200 told "runs, at" && vm_poll 200 drained'
before=$(now)
check "it is suspended" lv_virsh suspend "$d3"
check "the recorder hears of it" vm_poll 60 told "stopped: paused, at"
told_ns=$(now)
sleep 2 # the pause
resume=$(now)
check "it is resumed" lv_virsh resume "$d3"
check "the recorder hears of that" vm_poll 60 told "runs again after"
after=$(now)
lv_destroy g3
check "and of its end" vm_poll 60 told "its VMM has ended: destroyed"
check "the recorder ends cleanly" record_stop
cat "$trace.err"
if [ ${#host[@]} -gt 0 ]; then
	"$xvtrace" report "$trace" --vm host -e sched_switch >"$work/host.txt"
	# One thread may emulate all vCPUs.
	check "the threads of its vCPUs are called after it" grep -qE "$d3:vcpu(s|0)-" "$work/host.txt"
fi
paused=$("$xvtrace" stat --json "$trace" | jq --arg d "$d3" '.vms[] | select(.name == $d).paused_ns')
echo "paused_ns $paused, from $((resume - told_ns)) to $((after - before))"
check "paused_ns lies between the shortest and the longest that the pause can have been" \
	test "$paused" -ge $((resume - told_ns)) -a "$paused" -le $((after - before))
finish
