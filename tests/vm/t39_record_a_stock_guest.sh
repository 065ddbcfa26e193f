#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# record -r NAME=ftrace:FILE of a guest with Linux 6.12 and nothing of xvtrace, beside the host, by the
# very lines that doctor --guest prints: all events that the guest's kernel counts are in the trace, in
# order with the host's, and verify finds nothing wrong.
set -u
export FLAVOUR=${NEWER_FLAVOUR:-6.12-amd64}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/stock-lib.sh"

# run NAME SIZE SCRIPT OPTIONS ARG...: a guest, recorded from its first event on
run() {
	local name=$1 size=$2 script=$3 options=$4
	shift 4
	need "$name: doctor says what it is started with" plan "$name" "$size"
	record_start "$work/$name.xvt" -r "$(planned_region "$name")" "$@"
	# shellcheck disable=SC2086
	need "$name: the guest starts" guest "$name" "$size" "$script" $options
	check "$name: it has done its work" vm_wait "$name" 300
	check "$name: the recording ends well" record_stop
	rm -f "$XVT_SHM_DIR/$XVT_SHM_PREFIX$name-ring"
	grep -a XVT-SAY "$(vm_log "$name")"
	"$xvtrace" stat "$work/$name.xvt" | tee "$work/$name.stat"
	check "$name: verify finds nothing wrong" "$xvtrace" verify --notes "$work/$name.xvt" >"$work/$name.verify" 2>&1
	cat "$work/$name.verify"
	"$xvtrace" report --vm "$name" "$work/$name.xvt" >"$work/$name.txt"
}

# since NAME CPU: events in the trace since the ring was emptied last
since() {
	awk -v at="$1:$2" '$2 == at { if ($3 == "LOST") n = 0; else n++ } END { print n + 0 }' "$work/$1.txt"
}

run long 4M stock.sh '' --host sched
for cpu in 0 1; do
	check "long: CPU $cpu: as many events as the guest's kernel counts ($(since long $cpu))" \
		[ "$(since long $cpu)" -eq $(($(said long $cpu entries) + $(said long $cpu overrun))) ]
done
check "long: the change of its clock is told" grep -q 'long: cpu 0: its ring was emptied' "$work/long.verify"
check "long: its clock is seen, and that is said" grep -q '^long .* seen, .*, no later than seen' "$work/long.stat"
check "long: the host is there, too" grep -q '^host ' "$work/long.stat"

finish
