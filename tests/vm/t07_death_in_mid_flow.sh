#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# A guest dies between two instructions (kill -9 of QEMU), or panics, while it writes numbered
# markers: the other guest's trace goes on, and what record and salvage found together is 0..n
# without hole or duplicate.
set -u
. "$(dirname "$0")/lib.sh"

# one KIND: kill or panic
one() {
	local kind=$1 victim=v-$1 other=o-$1 trace=$work/$1.xvt after=$work/$1-salvaged.xvt cpu region
	# Large rings: on a busy machine they may not be drained for a while, and this test is about death.
	vm_start "$victim" --vcpus 2 --region-size 64M --mod probes=none --overlay "$(overlay mark.sh)" \
		--append "xvt.marks=100000000 xvt.end=$kind" || exit 1
	vm_start "$other" --vcpus 1 --region-size 64M --mod probes=none --overlay "$(overlay mark.sh)" \
		--append "xvt.marks=100000000 xvt.end=wait" || exit 1
	region=$(vm_region "$victim")
	record_start "$trace" -r v="$region" -r o="$(vm_region "$other")"
	need "$kind: markers flow" eval 'vm_wait_log $victim "^XVT-SAY flowing" 600 && vm_wait_log $other "^XVT-SAY flowing" 600'
	if [ "$kind" = kill ]; then
		# When some thousand are in the ring of each CPU.
		vm_poll 60 enough "$region" || exit 1
		vm_kill "$victim"
	fi
	need "$kind: the victim is gone" vm_wait "$victim" 600
	local at_death
	at_death=$("$xvtrace" region show --json "$(vm_region "$other")" | jq '.rings[0].attempted')
	# The other one goes on: wait until it wrote much more.
	check "$kind: the other guest goes on" vm_poll 60 beyond "$(vm_region "$other")" $((at_death + 20000))
	record_stop
	check "$kind: the recorder ends cleanly" test $? -eq 0
	cat "$trace.err"
	[ "$kind" = kill ] || panic_is_told
	check "$kind: salvage reads the region" "$xvtrace" salvage "$region" -n v -o "$after"
	for cpu in 0 1; do
		{ numbers "$trace" v $cpu && numbers "$after" v $cpu; } | contiguous >"$work/range"
		check "$kind: cpu $cpu: record and salvage give 0..n without hole or duplicate" eval "test ${PIPESTATUS[1]} -eq 0 && grep -q '^0 ' '$work/range'"
		echo "    cpu $cpu: $(cat "$work/range"), of these salvaged: $(numbers "$after" v $cpu | wc -l)"
	done
	check "$kind: what was in flight is counted" adds_up "$trace"
	check "$kind: the salvaged trace adds up" adds_up "$after"
	check "$kind: both traces verify" eval '"$xvtrace" verify "$trace" && "$xvtrace" verify "$after"'
	numbers "$trace" o 0 | contiguous >"$work/range"
	check "$kind: the other guest's numbers have no hole" test "${PIPESTATUS[1]}" -eq 0
	vm_kill "$other"
}

# panic_is_told: by the victim's ring alone, for no VMM was asked, and its QEMU had no pvpanic
panic_is_told() {
	local by='sysrq triggered crash'
	check "panic: the recorder notes it, once" eval '[ "$("$xvtrace" verify --notes "$trace" | grep -c "v: its kernel panicked: $by")" = 1 ]'
	check "panic: its record is in the trace" eval '[ "$("$xvtrace" report -q --vm v "$trace" | grep -c " panic: $by")" = 1 ]'
	check "panic: the machine ended by it" eval '"$xvtrace" stat "$trace" | grep -q "^v: ended (guest panicked) at"'
}

enough() {
	"$xvtrace" region show --json "$1" | jq -e '[.rings[].attempted > 3000] | all' >/dev/null
}

beyond() {
	[ "$("$xvtrace" region show --json "$1" | jq '.rings[0].attempted')" -gt "$2" ]
}

# snapshots REGION: of the flight recorder as it runs
snapshots() {
	local i cpu at now
	for i in 1 2; do
		now=$work/snapshot$i.xvt
		at=$("$xvtrace" region show --json "$1" | jq '.rings[0].attempted')
		check "flight: snapshot $i" "$xvtrace" snapshot -o "$now" -r f="$1"
		check "flight: snapshot $i: the guest goes on" vm_poll 60 beyond "$1" $((at + 1000))
		check "flight: snapshot $i: adds up" adds_up "$now"
		check "flight: snapshot $i: verifies" "$xvtrace" verify --notes "$now"
		for cpu in 0 1; do
			numbers "$now" f $cpu | contiguous >"$work/range"
			check "flight: snapshot $i: cpu $cpu: markers without hole or duplicate" test "${PIPESTATUS[1]}" -eq 0
			echo "    cpu $cpu: $(cat "$work/range")"
		done
		"$xvtrace" stat "$now"
	done
}

# Flight recorder: snapshots while it runs; then, of the dead guest, what the region alone tells of its last moments.
flight() {
	local after=$work/flight.xvt cpu region first last
	vm_start f --vcpus 2 --mod 'probes=none;mode=overwrite' --overlay "$(overlay flight.sh)" || exit 1
	region=$(vm_region f)
	need "flight: markers flow" vm_wait_log f "^XVT-SAY flowing" 600
	vm_poll 60 enough "$region" || exit 1
	snapshots "$region"
	vm_kill f
	check "flight: salvage reads the region" "$xvtrace" salvage "$region" -o "$after"
	for cpu in 0 1; do
		numbers "$after" f $cpu | contiguous >"$work/range"
		check "flight: cpu $cpu: the newest markers without hole or duplicate" test "${PIPESTATUS[1]}" -eq 0
		read -r first last <"$work/range"
		check "flight: cpu $cpu: thousands of them" test $((last - first)) -gt 3000
		echo "    cpu $cpu: $first to $last"
	done
	check "flight: what was overwritten and in flight is counted" adds_up "$after"
	check "flight: verifies" "$xvtrace" verify "$after"
}

one kill
one panic
flight
finish
