#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Two guests with one region, as a cloned domain has it: the second one asks, and is refused while the first one answers. A
# first one that is paused does not; it gives way when it runs again. Logs, recorder, status, guests and trace say so.
set -u
. "$(dirname "$0")/lib.sh"
trace=$work/trace.xvt
says() { vm_wait_log "$1" "^XVT-SAY $2" 600; }
said() { grep -qaE -- "^XVT-SAY $2" "$(vm_log "$1")"; }
# go NAME: the guest's script waits for a line
go() { vm_order "$1" go; }
need "a guest starts" vm_start g1 --vcpus 1 --orders --overlay "$(overlay rival.sh)"
region=$(vm_region g1)
need "it writes" says g1 up
# Not quiet: it is to be seen while the recorder runs.
setpriv --pdeathsig KILL -- "$xvtrace" record -o "$trace" -r g1="$region" 2>"$trace.err" &
recorder=$!
need "it is recorded" vm_poll 120 recorded
generation() { [ "$("$xvtrace" region show --json "$region" | jq .generation)" -eq "$1" ]; }

# --- the first one answers
need "another one starts with the same region" vm_start g2 --vcpus 1 --orders --region "$region" --mod none --overlay "$(overlay second.sh)"
need "it is refused" says g2 refused
check "its module's load fails" said g2 'insmod insmod: .*Device or resource busy'
check "its log says what to do" said g2 'log .*another machine writes to this region, and this one is refused.*memory of its own'
check "it formats nothing, not even with reformat=1" eval '! said g2 reformatted && generation 1'
told() { grep -q "$1" "$trace.err"; }
check "the recorder says so" vm_poll 60 told "another machine has this region's memory: it was refused"
check "status says so" vm_poll 60 eval '"$xvtrace" status | grep -q "^g1 .*another machine has its memory, and was refused"'
XVTRACE_SHM_DIR=$XVT_SHM_DIR "$xvtrace" guests >"$work/guests" 2>&1
check "guests says so" grep -q "^  another machine has this memory, and was refused" "$work/guests"
check "the first one is recorded all the same" eval '"$xvtrace" status --json >"$work/before" && vm_poll 60 more'
more() { [ "$("$xvtrace" status --json | jq '[.recorders[].vms[].rings[].events] | add')" -gt "$(jq '[.recorders[].vms[].rings[].events] | add' <"$work/before")" ]; }

# --- the first one is paused
need "the first one is paused" vm_qmp g1 '{"execute": "stop"}'
go g2
need "the other one takes the region" says g2 took
check "its log says how long it asked" said g2 'second .*the rings were in use, and no machine answered in 800 ms: taken'
check "a generation of its own" generation 2
need "the first one runs again" vm_qmp g1 '{"execute": "cont"}'
need "it gives way" says g1 'given way'
check "its log says that another one asked" said g1 'log .*another machine has this memory, and asked for this region: it was refused'
check "its log says what to do" said g1 'log .*another machine writes to this region: generation 2 .*this one began 1 .*memory of its own'
check "it sends no names any more" eval '! said g1 "sync succeeded"'
check "the recorder says so" vm_poll 60 told 'another machine wrote to this region until this one began'
check "now it is the first one that is refused" says g1 'refused again'
check "... and the other one's region" generation 2

# --- the other one dies
vm_kill g2
go g1
check "the first one has the region again" says g1 back
check "its log says how long it asked" said g1 'last .*no machine answered in 800 ms: taken'
check "a third generation" generation 3
record_stop
check "the recorder ends cleanly" test $? -eq 0
"$xvtrace" verify --notes "$trace" >"$work/notes"
for note in "another machine wrote" "it was refused"; do
	check "the trace has the note: $note" grep -q "$note" "$work/notes"
done
check "the sums add up" adds_up "$trace"
vm_kill g1
finish
