#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# shellcheck disable=SC2317
# A guest of 2 CPUs that may get 16: those that are there have the room, one that comes has a ring before its first event,
# and one for which none is left is told, in the guest's log and by the recorder.
set -u
. "$(dirname "$0")/lib.sh"
trace=$work/trace.xvt
says() { vm_wait_log g1 "^XVT-SAY $1" 600; }
said() { grep -qaE -- "^XVT-SAY $1" "$(vm_log g1)"; }
rings() { "$xvtrace" region show --json "$(vm_region g1)" | jq -e "$1" >/dev/null; }
plug() { # CPU
	vm_qmp g1 "{\"execute\": \"device_add\", \"arguments\": {\"driver\": \"max-x86_64-cpu\", \"id\": \"cpu$1\",
		\"socket-id\": $1, \"core-id\": 0, \"thread-id\": 0}}"
}
need "a guest starts" vm_start g1 --vcpus 2,maxcpus=16,sockets=16,cores=1,threads=1 --region-size 1M --mem 512 --overlay "$(overlay cpus.sh)"
need "it is up" says 'cpus 2'
check "it has a ring for one more CPU" rings '.rings | length == 3'
check "of at least 128 KiB" rings '.subbuf_size * .subbuf_count >= 131072'
check "the log has both numbers" said 'log .*: 3 rings of .* for 2 of 16 possible CPUs'
check "the third ring is nobody's" rings '.rings[2].type == "unused"'
setpriv --pdeathsig KILL -- "$xvtrace" record -o "$trace" -r g1="$(vm_region g1)" 2>"$trace.err" &
recorder=$!
need "both rings record" vm_poll 60 rings '[.rings[:2][] | .attempted > 0] | all'
need "a CPU is plugged in" plug 2
need "the guest has it" says 'cpus 3'
check "its ring records" vm_poll 60 rings '.rings[2] | .type == "vcpu" and .cpu == 2 and .state == "online" and .attempted > 0'
need "one more is plugged in" plug 3
need "the guest has that, too" says 'cpus 4'
check "its log says that it has no ring, and what to do" said 'log .*CPU 3 has no ring.*reformat=1 rings=4'
told() { grep -q '1 CPUs that came up in the guest have no ring' "$trace.err"; }
check "the recorder says so" vm_poll 60 told
record_stop
check "the recorder ends cleanly" test $? -eq 0
check "the trace has events of three CPUs" stat_says "$trace" '[.vms[].rings[] | select(.events > 0)] | length == 3'
check "attempted == events + discarded + lost + in flight" adds_up "$trace"
check "it verifies" "$xvtrace" verify "$trace"
vm_kill g1
finish
