#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The compiled writer, interrupted at every instruction and at every pair of instructions, and
# stopped there for ever; for each compiler and each way to reserve. The tables that the
# programs print are in the log.
#
#   STEP_LEVELS="O2"   optimisation levels
#   STEP_EVERY=16      of every n-th boundary: two interrupts of the same event, one after the
#                      other; and interrupts each time that it comes back to this address
set -u
cd "$(dirname "$0")/../../.."
BUILD=${BUILD:-build}
levels=${STEP_LEVELS:-O2}
every=${STEP_EVERY:-16}
step=$BUILD/tests/proof/step
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
skipped=0
shown=0

say() {
	echo "$1 - $2"
	[ "$1" = ok ] || failures=$((failures + 1))
	shown=$((shown + 1))
}

# The last line of a table: interrupts and deaths over all its scenarios.
sum() {
	awk '$2 == "all" { print $6 " single, " $7 " pairs, " $8 " twice, " $9 " storms, " $11 " deaths" }' "$work/out"
}

# interrupts BUILD WHAT ARGUMENTS...
interrupts() {
	local name=$1 rc text="$1, $2"
	shift 2
	"$step/step-$name" --build "$name" "$@" >"$work/out" 2>&1
	rc=$?
	cat "$work/out"
	case $rc in
	0) say ok "$text: $(sum)" ;;
	77)
		echo "skip - $text: $(head -1 "$work/out")"
		skipped=$((skipped + 1))
		;;
	*) say "not ok" "$text: exit $rc" ;;
	esac
	return $rc
}

# salvage BUILD: each scenario's dead rings, one for each instruction, by the real command
salvage() {
	local name=$1 region bad=0 rings=0
	for region in "$work"/images/*.region; do
		"$BUILD/xvtrace" salvage -q "$region" -o "$work/t.xvt" 2>"$work/err" &&
			"$step/judge" "$work/t.xvt" "$region.expect" >"$work/judged" || bad=$((bad + 1))
		echo "$name $(basename "$region" .region): $(cat "$work/err" "$work/judged")"
		rings=$((rings + $(sed -nE 's/^([0-9]+) rings.*/\1/p' "$work/judged")))
	done
	if [ $bad -eq 0 ] && [ $rings -gt 0 ]; then
		say ok "$name: xvtrace salvage of $rings dead rings: every finished record, nothing else"
	else
		say "not ok" "$name: xvtrace salvage of $rings dead rings"
	fi
}

for level in $levels; do
	for ring in cas xadd; do
		for cc in gcc clang; do
			name=$ring-$cc-$level
			rm -rf "$work/images"
			mkdir "$work/images"
			interrupts "$name" "own clock" --storm "$every" --images "$work/images" && salvage "$name"
			interrupts "$name" "cpu clock" --cpu-clock --twice "$every"
			for scenario in commit full-stamp; do
				interrupts "$name" "$scenario twice" --scenario $scenario --twice 1
			done
		done
	done
done
[ $failures -eq 0 ] || exit 1
[ $shown -gt 0 ] || exit 77
