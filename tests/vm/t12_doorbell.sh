#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# One guest with a doorbell, idle but for bursts of events: the recorder sleeps, the guest's module rings when a sub-buffer
# is full, and that wakes it. Another recorder comes, and the module anew, while QEMU and the server go on.
set -u
. "$(dirname "$0")/lib.sh"

# burst N: the console has told of N more
burst() {
	local want=$(($(grep -ac '^XVT-SAY burst' "$(vm_log g1)") + $1))
	vm_poll 300 eval "vm_ended g1 || [ \$(grep -ac '^XVT-SAY burst' '$(vm_log g1)') -ge $want ]" && vm_alive g1
}

# one NAME: a recording of some bursts, and what it says
one() {
	local trace=$work/$1.xvt raw=$work/$1.raw note
	record_start "$trace" -r g1="$(vm_region g1)" --doorbell g1="$(vm_bell g1)"
	need "$1: the guest has bursts" burst 2
	check "$1: it shows that it can ring" vm_poll 120 grep -qsa 'its doorbell works' "$trace"
	need "$1: the guest has more bursts" burst 10
	check "$1: the recorder ends cleanly" record_stop
	cat "$trace.err"
	raw "$trace"
	note=$(grep -a 'its doorbell rang' "$raw")
	echo "$note"
	check "$1: it is not said that it does not ring" eval '! grep -q "does not ring" "$raw"'
	check "$1: the guest rang, and that woke the recorder" eval '[[ $note =~ rang\ ([0-9]+)\ times.*from\ ([0-9]+)\ of ]] && [ ${BASH_REMATCH[1]} -gt 1 ] && [ ${BASH_REMATCH[2]} -ge 1 ]'
	check "$1: nothing lost, late or out of order" stat_says "$trace" '.lost == 0 and .late == 0 and .order_violations == 0 and .in_flight == 0'
	check "$1: attempted == events + discarded + lost + in flight" adds_up "$trace"
	check "$1: every number from the first to the last" eval 'numbers "$trace" g1 0 | contiguous'
	check "$1: verify passes" "$xvtrace" verify "$trace"
}

vm_start g1 --vcpus 2 --region-size 1M --doorbell --mod 'subbuf_size=4096' --overlay "$(overlay bell.sh)" || exit 1
one first
need "the module is loaded anew" vm_poll 120 eval '[ "$(grep -ac "^XVT-SAY ready" "$(vm_log g1)")" = 2 ]'
one second
check "the guest powers off" vm_wait g1 600
check "the module found the doorbell both times" grep -qa '^XVT-SAY doorbells 2' "$(vm_log g1)"
check "... in order" eval '[ "$(vm_rc g1)" = 0 ]'

# The same recorder, and a guest that has none: all is as it was.
"$xvtrace" region serve "$(vm_region g1)" --socket "$work/other.sock" >"$work/other.log" &
server=$!
need "a server for a guest that does not know it" vm_poll 60 test -s "$work/other.log"
vm_start plain --vcpus 1 --region "$(vm_region g1)" --region-size 1M --mod 'subbuf_size=4096' --overlay "$(overlay bell.sh)" || exit 1
record_start "$work/plain.xvt" -r g1="$(vm_region plain)" --doorbell g1="$work/other.sock"
check "ivshmem-plain: it is said that it does not ring" vm_poll 120 grep -qsa 'it is polled' "$work/plain.xvt"
check "ivshmem-plain: it is recorded" vm_poll 300 recorded
check "ivshmem-plain: the recorder ends cleanly" record_stop
check "ivshmem-plain: nothing is lost" stat_says "$work/plain.xvt" '.lost == 0 and .events > 0'
kill "$server"
vm_kill plain
finish
