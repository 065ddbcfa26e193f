#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Two guests with one region, as a cloned domain has it: the one that came first gives way, once it finds the other one's
# generation; its log, the recorder and the trace say so, and the other one is recorded whole.
set -u
. "$(dirname "$0")/lib.sh"
trace=$work/trace.xvt
says() { vm_wait_log "$1" "^XVT-SAY $2" 200; }
said() { grep -qaE -- "^XVT-SAY $2" "$(vm_log "$1")"; }
need "a guest starts" vm_start g1 --vcpus 1 --overlay "$(overlay rival.sh)"
region=$(vm_region g1)
need "it writes" says g1 up
# Not quiet: it is to be seen while the recorder runs.
setpriv --pdeathsig KILL -- "$xvtrace" record -o "$trace" -r g1="$region" 2>"$trace.err" &
recorder=$!
generation() { [ "$("$xvtrace" region show --json "$region" | jq .generation)" = "$1" ]; }
need "another one starts with the same region" vm_start g2 --vcpus 1 --region "$region" --overlay "$(overlay rival.sh)"
need "it writes, too" says g2 up
need "the first one gives way" says g1 'given way'
check "its log says what to do" said g1 'log .*another machine writes to this region: generation 2 .*this one began 1 .*memory of its own'
check "it sends no names any more" eval '! said g1 "sync succeeded"'
told() { grep -q 'another machine wrote to this region until this one began' "$trace.err"; }
check "the recorder says so" vm_poll 60 told
# What comes when the first one's module is loaded again: now the other one gives way.
check "the other one gives way to a third generation" eval 'says g2 "given way" && generation 3 || generation 4'
record_stop
check "the recorder ends cleanly" test $? -eq 0
check "the trace has the note" eval '"$xvtrace" verify --notes "$trace" | grep -q "another machine wrote"'
vm_kill g1
vm_kill g2
finish
