#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guests as libvirt domains, found by name.
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
need "both run their load" eval 'vm_wait_log g1 "^XVT-SAY done" 200 && vm_wait_log g2 "^XVT-SAY done" 60'
check "the recorder ends cleanly" record_stop
check "both domains power off" eval 'vm_wait g1 60 && vm_wait g2 60'
cat "$trace.err"
"$xvtrace" stat "$trace"
check "the machines have their domains' names" stat_says "$trace" "[.vms[].name] == [\"$d1\", \"$d2\"]"
check "and their UUIDs" stat_says "$trace" '[.vms[].uuid | test("[1-9a-f]")] | all'
check "nothing lost, late or out of order" stat_says "$trace" '.lost == 0 and .late == 0 and .order_violations == 0'
check "events on every ring" stat_says "$trace" '[.vms[].rings[].events > 500] | all'
check "verify passes" "$xvtrace" verify "$trace"
finish
