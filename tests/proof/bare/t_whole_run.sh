#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: debugfs
# The bare-metal guest as a machine like any other: interrupted hundreds of times, its region
# salvaged after its end, and another one recorded while it runs, clock and all.
set -u
cd "$(dirname "$0")/../../.." || exit 1
BUILD=${BUILD:-build}
bare=$BUILD/tests/proof/bare/xvt-bare
xvtrace=$BUILD/xvtrace
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

check() {
	local text=$1
	shift
	if "$@"; then echo "ok - $text"; else
		echo "not ok - $text"
		failures=$((failures + 1))
	fi
}

# numbers TRACE: of the events in it, sorted
numbers() {
	"$xvtrace" export --to jsonl "$1" "$work/jsonl" &&
		jq -r 'select(.event == "u64") | .fields.values[0]' "$work/jsonl" | sort -n
}

# judge TEXT TRACE NUMBERS
judge() {
	"$xvtrace" stat --json "$2" | jq -c '{attempted, events, discarded, lost, in_flight, late, order_violations}'
	check "$1: verify finds nothing wrong" "$xvtrace" verify "$2"
	# Delivered: reserved (result 0) and not given back (flag 1).
	awk '$3 == 0 && $4 % 2 == 0 { print $1 }' "$3" | sort -n >"$work/want"
	numbers "$2" >"$work/got"
	check "$1: every event once ($(wc -l <"$work/want") of $(wc -l <"$3") attempts)" cmp "$work/want" "$work/got"
	check "$1: as many attempts as the guest made" test "$("$xvtrace" stat --json "$2" | jq .attempted)" -eq "$(wc -l <"$3")"
}

clock() {
	"$xvtrace" stat --json "$work/recorded.xvt" | jq -r ".vms[0].rings[0].clock.$1"
}

# What the drain saw of a ring that fell silent is wider, and that is the machine's load.
exact_nodes_are_tight() {
	"$BUILD/tests/tools/xvt-raw" "$work/recorded.xvt" | awk '
		$1 == "node" && ($3 == 2 || $3 == 6) { n++; if ($8 >= 1000) { print; wide++ } }
		END { print n + 0, "exact nodes"; exit !n || wide > 0 }'
}

# The region's word is used only where asked for, and where debugfs does not tell this VM's clocks.
exact_source() {
	if ls /sys/kernel/debug/kvm/halt_wakeup /sys/kernel/debug/kvm/exits >/dev/null 2>&1; then
		echo kvm
	else
		echo "$1"
	fi
}

# says FILE TEXT: does verify's output of FILE have it?
says() {
	"$xvtrace" verify -q "$1" | grep -qE "$2"
}

# notes TEXT: is it in the recording's notes?
notes() {
	"$xvtrace" verify --notes "$work/recorded.xvt" | grep -qF -e "$1"
}

# What KVM_GET_CLOCK says of guest and wall clock is what its hypercall would; the guest writes it as such.
clock_pairs() {
	local n
	n=$(sed -n 's/^clock pairs //p' "$work/log")
	if [ "$n" = 0 ]; then
		echo "skip - $1: clock pairs: KVM_GET_CLOCK tells no TSC (is the host's clock source tsc?)"
		return
	fi
	"$xvtrace" verify -q "$work/recorded.xvt" | grep -oE '[0-9]+ clock pairs within [0-9]+ ns'
	# On a busy machine a few may have no confirmed time, and claim nothing.
	check "$1: clock pairs agree with the map" says "$work/recorded.xvt" "; [1-9][0-9]* clock pairs within"
	"$BUILD/tests/tools/xvt-shift" bare 20000 "$work/recorded.xvt" "$work/shifted.xvt"
	check "$1: and do not when it is moved by 20 us" says "$work/shifted.xvt" "ns, says its hypervisor, but map and host's clock say"
}

# A software-backed KVM shows an offset in debugfs that its guest does not see. Hardware applies it.
lying_source() {
	local expect
	"$xvtrace" region create "$work/region" --size 256K --rings 1 --subbuf-size 1K
	timeout 300 "$xvtrace" record -q -o "$work/recorded.xvt" -r bare="$work/region" -- \
		"$bare" whole "$BUILD/guest/bare/cas.bin" "$work/region" "$work/numbers" 20 lie >"$work/log" 2>&1
	check "an offset that KVM claims: recorded" test $? -eq 0
	cat "$work/log"
	if ! grep -q "^debugfs offset" "$work/log"; then
		echo "skip - an offset that KVM claims: debugfs is not mounted, or not for us"
		return
	fi
	# Hardware applies it; software does not, and debugfs tells the truth or does not.
	if [ "$("$xvtrace" doctor --json | jq .kvm.hardware)" = true ] || grep -q "^debugfs offset 0$" "$work/log"; then
		expect='kvm []'
	else
		expect='handshake ["kvm"]'
	fi
	check "an offset that KVM claims: believed only where the guest agrees" \
		test "$(clock source) $(clock rejected | jq -c .)" = "$expect"
	judge "an offset that KVM claims" "$work/recorded.xvt" "$work/numbers"
	rm -f "$work/region"
}

for back in cas xadd; do
	image=$BUILD/guest/bare/$back.bin
	if [ ! -e "$image" ]; then
		echo "skip - bare-metal guest: x86-64 only"
		exit 77
	fi
	"$bare" whole "$image" "$work/region" "$work/numbers" 330 >"$work/log"
	rc=$?
	if [ $rc -eq 77 ]; then
		echo "skip - bare-metal guest: $(tail -n 1 "$work/log")"
		exit 77
	fi
	cat "$work/log"
	check "$back: 330 events, each interrupted, its interrupt too" test $rc -eq 0
	"$xvtrace" salvage "$work/region" -o "$work/salvaged.xvt"
	judge "$back, salvaged" "$work/salvaged.xvt" "$work/numbers"
	rm -f "$work/region"

	"$xvtrace" region create "$work/region" --size 256K --rings 1 --subbuf-size 1K
	timeout 300 "$xvtrace" record -q -o "$work/recorded.xvt" -r bare="$work/region" \
		--trust-guest-clock bare -- "$bare" whole "$image" "$work/region" "$work/numbers" 150 live >"$work/log"
	check "$back: recorded while it runs" test $? -eq 0
	judge "$back, recorded" "$work/recorded.xvt" "$work/numbers"
	check "$back, recorded: its clock is what its region says, or KVM, and the guest agrees" \
		test "$(clock source)" = "$(exact_source guest-word)"
	check "$back, recorded: each such node within a microsecond" exact_nodes_are_tight
	clock_pairs "$back, recorded"
	rm -f "$work/region"

	"$xvtrace" region create "$work/region" --size 256K --rings 1 --subbuf-size 1K
	timeout 300 "$xvtrace" record -q -o "$work/recorded.xvt" -r bare="$work/region" -- \
		"$bare" whole "$image" "$work/region" "$work/numbers" 20 live >"$work/log"
	check "$back, without the option: what its region says is not used" \
		test "$(clock source)" = "$(exact_source handshake)"
	check "$back, without the option: a note says so" notes "--trust-guest-clock bare"
	rm -f "$work/region"
done
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
lying_source
[ $failures -eq 0 ]
