#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What can happen to a guest's clock under real KVM, one thing at a time, in one of two guests that record. Nothing may be
# lost, counted twice or put in a wrong place; an epoch begins where the clock jumped, and only there.
# Runs in the lab: qemu/lab-run.sh tests/vm/lab/t02_disturbances.sh [OUT [KIND]...]
set -u
. "$(dirname "$0")/../lib.sh"
. tests/vm/lab/lib.sh

# Each KIND: the epochs of g1's rings by CPU, and what the numbers of its markers look like on each ring:
#   whole    0 and up without a hole
#   restart  the same, and once more from 0: the guest has booted again
#   back     up, back to somewhere, and on without a hole: the guest does not know that it has been there before
kinds='
pause    [1,1]  whole
loadvm   [2,2]  back
reset    [2,2]  restart
msr      [2,1]  whole
back     [2,1]  whole
suspend  [2,2]  whole
offline  [1,1]  whole
'

monitor() {
	vm_qmp g1 "{\"execute\": \"human-monitor-command\", \"arguments\": {\"command-line\": \"$1\"}}"
}

status_is() {
	[[ $(vm_qmp g1 '{"execute": "query-status"}') == *"\"status\": \"$1\""* ]]
}

said_twice() {
	[ "$(grep -c "^XVT-SAY $2" "$(vm_log "$1")")" -ge 2 ]
}

# stop: and count the open events then. Only those may be late or unconfirmed.
stop() {
	vm_qmp g1 '{"execute": "stop"}' &&
		inside=$((inside + $("$xvtrace" region show --json "$(vm_region g1)" | jq '[.rings[].nest] | add')))
}

cont() {
	vm_qmp g1 '{"execute": "cont"}' && status_is running
}

# KVM does not stop a guest's TSC. The other guest goes on meanwhile.
disturb_pause() {
	stop && flows g2 1000 && cont
}

# The snapshot has the region in it, and an event that is open in it is open once more after it.
disturb_loadvm() {
	local again
	stop && again=$inside && monitor "savevm a" && cont && flows g1 500 &&
		stop && monitor "loadvm a" && cont && inside=$((inside + again))
}

# An event that is open then never ends.
disturb_reset() {
	stop && vm_qmp g1 '{"execute": "system_reset"}' && cont && vm_poll 300 said_twice g1 flowing
}

by_itself() {
	vm_wait_log g1 '^XVT-SAY disturbed' 120
}
disturb_msr() { by_itself; }
disturb_back() { by_itself; }
disturb_offline() { by_itself; }

disturb_suspend() {
	vm_poll 120 status_is suspended && flows g2 500 && vm_qmp g1 '{"execute": "system_wakeup"}' && by_itself
}

start_guests() {
	local reboot=()
	# Only a guest that has booted as a PC does finds its way back from S3.
	[ "$kind" != suspend ] || local VM_KERNEL=$BUILD/guest/vmlinuz
	# Else a reset that was not asked for is this guest's end.
	[ "$kind" != reset ] || reboot=(--reboot)
	qemu-img create -q -f qcow2 "$dir/snapshots.qcow2" 1G || return
	# Without TSC_ADJUST: by that the guest's kernel notices that its TSC was set, and sets it back. Without
	# deadlines: those that it has set would lie far ahead of a TSC that went back.
	vm_start g1 --vcpus 2 --master "${reboot[@]}" --region-size 4M --overlay "$dir/overlay" \
		--net "$dir/net:server" --ip 10.77.0.1/24 --append "no_console_suspend xvt.do=$kind xvt.role=server" \
		--qemu-arg -cpu --qemu-arg max,-tsc-adjust,-tsc-deadline \
		--qemu-arg -drive --qemu-arg "file=$(realpath "$dir")/snapshots.qcow2,if=none,format=qcow2,id=d0" || return
	vm_start g2 --vcpus 2 --region-size 4M --overlay "$dir/overlay" \
		--net "$dir/net:client" --ip 10.77.0.2/24 --append "xvt.do=nothing xvt.role=client"
}

# markers_are SHAPE GUEST CPU
markers_are() {
	local shape=$1
	numbers "$trace" "$2" "$3" | runs >"$dir/$2-$3.runs"
	paste -sd , "$dir/$2-$3.runs"
	awk -v shape="$shape" '{ first[NR] = $1; last[NR] = $2 }
		END {
			if (first[1] != 0 || last[1] < 100) exit 1
			if (shape == "whole") exit NR != 1
			if (shape == "restart") exit !(NR == 2 && first[2] == 0 && last[2] > 100)
			exit !(NR == 2 && first[2] > 0 && first[2] <= last[1] && last[2] > first[2] + 100)
		}' "$dir/$2-$3.runs"
}

# one KIND EPOCHS SHAPE, in a shell of its own: what fails early does not keep the other kinds from being tried
one() {
	local guest cpu
	kind=$1 dir=$work/$1 trace=$work/$1/trace.xvt inside=0 dead=0
	mkdir -p "$dir/overlay"
	tests/vm/guest/overlay.sh disturbed.sh "$dir/overlay"
	kvm_watch
	need "$kind: two guests" start_guests
	need "$kind: both are ready" eval 'vm_wait_log g1 "^XVT-SAY ready" 300 && vm_wait_log g2 "^XVT-SAY ready" 300'
	# A vCPU of a lab that shares its CPUs can stay out for ten seconds, and what it is inside of would be late.
	record_start "$trace" --stall-timeout 120 -r g1="$(vm_region g1)" -r g2="$(vm_region g2)" \
		--qmp g1="$(vm_qmp_path g1)" --qmp g2="$(vm_qmp_path g2)"
	need "$kind: both flow" eval 'vm_wait_log g1 "^XVT-SAY flowing" 300 && vm_wait_log g2 "^XVT-SAY flowing" 300'
	check "$kind: it happens" eval "disturb_$kind >>'$dir/qmp.log'"
	check "$kind: both flow on" eval 'flows g1 1000 && flows g2 1000'
	for guest in g1 g2; do
		kvm_truth_ever $guest
	done >"$dir/truth"
	check "$kind: the recorder ends cleanly" record_stop
	check "$kind: no guest was reset by a triple fault" no_triple_fault
	check "$kind: both guests end by themselves, with nothing to complain about" eval \
		'vm_wait g1 120 && vm_wait g2 120 && [ "$(vm_rc g1)$(vm_rc g2)" = 00 ]'
	tail -n 20 "$(vm_log g1)" "$(vm_log g2)"
	cat "$trace.err" "$dir/truth"
	"$xvtrace" stat --json "$trace" >"$dir/stat.json"
	"$xvtrace" stat "$trace"
	"$xvtrace" verify --notes "$trace" >"$dir/verify.txt" 2>&1
	check "$kind: verify passes" test $? = 0
	head -n 30 "$dir/verify.txt"
	check "$kind: and it saw no message received before it was sent" grep -qE '; [1-9][0-9]* exchanges' "$dir/verify.txt"
	raw "$trace"
	check "$kind: no event twice" repeats "$dir/trace.raw"
	[ "$kind" != reset ] || dead=$inside
	check "$kind: nothing is out of order, and $dead may be in flight for good" stat_says "$trace" \
		".order_violations == 0 and .in_flight <= $dead"
	check "$kind: the other guest has nothing lost, late, unconfirmed or against its clock" stat_says "$trace" \
		'[.vms[] | select(.name == "g2").rings[] | .lost + .late + .unconfirmed + .clock_violations] == [0, 0]'
	# What a snapshot cannot tell apart is counted as overwritten. One that is late may be against its clock as well.
	check "$kind: $inside of g1 may be late, unconfirmed or against the clock, and nothing lost but by a roll-back" stat_says "$trace" \
		"[.vms[] | select(.name == \"g1\").rings[]] | (map(.late + .unconfirmed) | add) <= $inside and
			(map(.clock_violations) | add) <= $inside and
			all(.lost == if \"$3\" == \"back\" then .lost_by.overwritten else 0 end)"
	check "$kind: attempted == events + discarded + lost + in flight" adds_up "$trace"
	check "$kind: epochs $2, and [1,1] of the other guest" stat_says "$trace" \
		"[.vms | sort_by(.name)[].rings | sort_by(.cpu) | [.[].epochs]] == [$2, [1,1]]"
	for cpu in 0 1; do
		check "$kind: markers of CPU $cpu: $3" markers_are "$3" g1 $cpu
		check "$kind: markers of the other guest's CPU $cpu" markers_are whole g2 $cpu
	done
	check "$kind: every sample and node is true by a formula that KVM had" eval \
		'"$samples" --truth "$dir/truth" "$trace" >"$dir/samples.txt"'
	cat "$dir/samples.txt"
	check "$kind: the clock is KVM's, and nothing was rejected" stat_says "$trace" \
		'[.vms[].rings[].clock | .source == "kvm" and (.rejected // [] | length) == 0] | all'
	if [ "$kind" = pause ]; then
		check "$kind: it is counted, and only for that guest" stat_says "$trace" \
			'[.vms | sort_by(.name)[].paused_ns > 0] == [true, false]'
	fi
	finish
}

wanted=${*:-$(awk 'NF { print $1 }' <<<"$kinds")}
for kind in $wanted; do
	read -r epochs shape <<<"$(awk -v kind="$kind" '$1 == kind { print $2, $3 }' <<<"$kinds")"
	need "$kind is known" test -n "$shape"
	(one "$kind" "$epochs" "$shape") || failures=$((failures + 1))
	cat "$VM_RUN_DIR"/g?/events 2>/dev/null
	for guest in g1 g2; do
		[ ! -f "$(vm_log $guest)" ] || cp "$(vm_log $guest)" "$work/$kind/$guest.log"
	done
	vm_cleanup
	rm -f "$work/$kind/snapshots.qcow2"
done
finish
