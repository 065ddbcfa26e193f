#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fuzzes targets for FUZZ_SECONDS each, with libFuzzer and then, a quarter as long, with AFL++. What
# they learn stays below $BUILD/fuzz/corpus and is where the next run begins. A finding fails:
# its input lies in $BUILD/fuzz/findings.
#   tests/fuzz/run.sh [TARGET...]        (make fuzz FUZZ_SECONDS=n)
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
seconds=${FUZZ_SECONDS:-600}
targets=${*:-region relayed trace formats text doorbell ftrace kernels}
source tests/fuzz/lib.sh
mkdir -p "$out"
failed=0

# build DRIVER NAME: what our sources are to blame for is no skip
build() {
	fuzz_build "$1"
	case $? in
	1) echo "fuzz: $2 was skipped: $why" ;;
	2) echo "fuzz: $2: $why" && exit 1 ;;
	esac
}

build libfuzzer libFuzzer
for t in $targets; do
	[ -x "$BUILD/fuzz/libfuzzer/$t" ] || continue
	echo "== $t, libFuzzer, $seconds s"
	libfuzzer "$t" "$out/$t.log" -max_total_time="$seconds" || failed=1
	libfuzzer_figures "$out/$t.log"
done
build afl AFL++
for t in $targets; do
	[ -x "$BUILD/fuzz/afl/$t" ] || continue
	echo "== $t, AFL++, $((seconds / 4 + 1)) s"
	afl "$t" "$out/$t.afl.log" -V $((seconds / 4 + 1)) || failed=1
	afl_figures "$t"
done
[ $failed -eq 0 ] || { echo "fuzz: findings, in $findings:"; ls "$findings"; }
exit $failed
