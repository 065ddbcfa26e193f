#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Real KVM: interrupts that KVM accepts for a vCPU, injects, and the guest handles, paired by (APIC id, vector). jq pairs
# them, over the lines of export, and says which order the bounds prove; then `xvtrace analyze latency` must say the same.
# No event of the guest lies outside the spans of its vCPU. Runs in the lab: qemu/lab-run.sh tests/vm/lab/t05_interrupts.sh
set -u
. "$(dirname "$0")/../lib.sh"
. tests/vm/lab/lib.sh

trace=$work/trace.xvt
check "the guests have KVM" eval '[ "$(vm_accel 2>/dev/null)" = kvm ]'
vm_start g1 --vcpus 2 --overlay "$(overlay interrupts.sh)" || exit 1
need "the guest is ready" vm_wait_log g1 '^XVT-SAY ready' 300
record_start "$trace" --host vcpu --host-buffer 16M -r g1="$(vm_region g1)"
need "the guest runs its load" vm_wait_log g1 '^XVT-SAY done' 600
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 300
cat "$trace.err"
"$xvtrace" stat "$trace"
check "nothing is lost" stat_says "$trace" '.lost == 0 and .events > 0'
check "verify passes" "$xvtrace" verify -q "$trace"

# --- Between kvm_entry and kvm_exit lie the guest's events.
in_spans "$trace" g1 >"$work/judged" && read -r in_span outside median bound <"$work/judged" || exit 1
echo "$in_span events of the guest in the spans of their vCPUs, $outside outside; bound $bound ns, median span $median ns"
check "events of the guest lie between entries and exits" test "$in_span" -gt 100
check "none lies outside" test "$outside" -eq 0

# --- accept -> inject -> guest. Both events of KVM have the host's clock.
host=$(jq -n 'reduce inputs as $e (0; if $e.vm == "host" and ($e.bound_ns // 0) > . then $e.bound_ns else . end)' "$trace.jsonl")
# judge TRACE: figures NAME=NUMBER of what jq pairs
judge() {
	jq -n -r -f tests/vm/lab/interrupts.jq "$1.jsonl" >"$1.interrupts" || return
	awk -F '\t' -v host="$host" '
		# An event at NS within BOUND is later than the injection, for certain.
		function later(ns, bnd, flags) { return bnd != "-" && ns > $5 + bnd + host && flags !~ /[UC]/ }
		{ n++; of[$1 " " $2] }
		$3 == "-" { unaccepted++ }
		$3 != "-" { pairs++; if ($3 < $5) ordered++ }
		$4 == "-" { no_begin++ }
		$4 != "-" { known++; known_ns += $5 - $4 }
		$7 != "-" {
			if (($6 == "-" || $6 < $5) && later($7, $8, $9)) { next_n++; next_ns += $7 - $5 }
			else { next_open++; next_open_ns += $7 > $5 ? $7 - $5 : 0 }
		}
		$10 != "-" {
			if ($3 != "-") { triples++; if ($3 < $5 && later($10, $11, $12)) proven++; else print "# not proven: " $0 }
			if (($6 == "-" || $6 < $5) && later($10, $11, $12)) { handler_n++; handler_ns += $10 - $5 }
			else { handler_open++; handler_open_ns += $10 > $5 ? $10 - $5 : 0 }
		}
		END {
			for (k in of) kinds++
			printf "injected=%d kinds=%d unaccepted=%d pairs=%d ordered=%d triples=%d proven=%d\n", n, kinds, unaccepted, pairs, ordered, triples, proven
			printf "known=%d known_ns=%d no_begin=%d next=%d next_ns=%d next_open=%d next_open_ns=%d handler=%d handler_ns=%d handler_open=%d handler_open_ns=%d\n",
				known, known_ns, no_begin, next_n, next_ns, next_open, next_open_ns, handler_n, handler_ns, handler_open, handler_open_ns
		}' "$1.interrupts"
}
judge "$trace" >"$work/figures" || exit 1
cat "$work/figures"
echo "pairs by (APIC id, vector):"
cut -f 1,2 "$work/trace.xvt.interrupts" | sort | uniq -c | sort -rn | head -n 12
pairs=$(figure "$work/figures" pairs) triples=$(figure "$work/figures" triples)
check "interrupts of several vectors were accepted and injected" test "$pairs" -ge 100 -a "$(figure "$work/figures" kinds)" -ge 3
check "... in this order, all" test "$(figure "$work/figures" ordered)" -eq "$pairs"
check "... and handled by the guest" test "$triples" -ge 100
check "the order accepted, injected, handled is proven in all" test "$(figure "$work/figures" proven)" -eq "$triples"
# Moved to before the injection the order is not.
"$BUILD/tests/tools/xvt-shift" g1 "-$median" "$trace" "$work/shifted.xvt" &&
	"$xvtrace" export -q --format jsonl "$work/shifted.xvt" "$work/shifted.xvt.jsonl" || exit 1
judge "$work/shifted.xvt" | grep -v '^#' >"$work/shifted.figures" || exit 1
cat "$work/shifted.figures"
check "moved by the median span, not in all" test "$(figure "$work/shifted.figures" proven)" -lt "$(figure "$work/shifted.figures" triples)"

# --- What xvtrace says.
"$xvtrace" analyze -q --no-pager latency "$trace"
"$xvtrace" analyze -q --json latency "$trace" >"$work/latency.json"
# said KIND FILTER: a sum over the vCPUs
said() {
	jq --arg kind "$1" "[.lines[] | select(.kind == \$kind) | $2] | add // 0" "$work/latency.json"
}
# agrees KIND NUMBER SUM OPEN
agrees() {
	local n ns open
	n=$(said "$1" '.wall.n // 0') ns=$(said "$1" '.wall.sum_ns // 0') open=$(said "$1" .untold)
	echo "$1: analyze has $n, sum $ns ns, $open left open; jq has $(figure "$work/figures" "$2"), sum $(figure "$work/figures" "$3") ns, $4 left open"
	[ "$n" = "$(figure "$work/figures" "$2")" ] && [ "$ns" = "$(figure "$work/figures" "$3")" ] && [ "$open" = "$4" ]
}
check "accepted to injected is what jq has" agrees accept_inject known known_ns 0
check "... and as many have no acceptance by a thread of the VMM" test "$(said accept_inject .no_begin)" = "$(figure "$work/figures" no_begin)"
check "injected to the guest's next event is" agrees inject_guest next next_ns "$(figure "$work/figures" next_open)"
check "injected to the handler of the vector is" agrees inject_handler handler handler_ns "$(figure "$work/figures" handler_open)"
finish
