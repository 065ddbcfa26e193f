#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Real interrupts at every instruction of an event, NMIs at every instruction of an interrupt's
# event, in a KVM micro-VM, with both ways to reserve. The short form; `make proof-bare` runs
# every pair.
set -u
cd "$(dirname "$0")/../../.." || exit 1
BUILD=${BUILD:-build}
how=${1:-quick}
bare=$BUILD/tests/proof/bare/xvt-bare
logs=$BUILD/tests/proof/bare
failures=0

check() {
	local text=$1
	shift
	if "$@"; then echo "ok - $text"; else
		echo "not ok - $text"
		failures=$((failures + 1))
	fi
}

# The exit status goes to a file: both run at once.
inject() {
	local image=$BUILD/guest/bare/$1

	tests/proof/bare/writer-code.sh "$image.elf" >"$logs/$1.code"
	"$bare" inject "$image.bin" "$logs/$1.code" "$how" "$logs/$1.hits" >"$logs/$1.log"
	echo $? >"$logs/$1.status"
}

if [ ! -e "$BUILD/guest/bare/cas.bin" ]; then
	echo "skip - real interrupts: the bare guest is x86-64 only"
	exit 77
fi
rm -f "$logs"/*.status
inject cas &
inject xadd &
wait
for back in cas xadd; do
	rc=$(cat "$logs/$back.status")
	if [ "$rc" -eq 77 ]; then
		echo "skip - real interrupts: $(tail -n 1 "$logs/$back.log")"
		exit 77
	fi
	cat "$logs/$back.log"
	check "$back: no event lost, doubled, misplaced or mistimed, whatever was interrupted" test "$rc" -eq 0
	tests/proof/bare/coverage.sh "$logs/$back.code" "$logs/$back.hits" tests/proof/bare/exceptions >"$logs/$back.coverage"
	rc=$?
	cat "$logs/$back.coverage"
	check "$back: IRQ, NMI and IRQ x NMI at every instruction of the writer" test $rc -eq 0
done
# The way by compare-and-swap begins anew and must end; the other one never does for an IRQ.
check "cas: an event that is interrupted for ever gives up, and is counted" \
	grep -q '^storm-irq .*gave up' "$logs/cas.log"
[ $failures -eq 0 ]
