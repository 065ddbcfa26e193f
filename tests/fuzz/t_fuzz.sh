#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every input of the corpus and every earlier finding, through every target; then some thousand new
# ones each, with libFuzzer (a fixed number of runs from a fixed seed) and shortly with AFL++.
# `make fuzz` goes on from there.
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
FUZZ_TARGETS=${FUZZ_TARGETS:-region trace formats text}
source tests/fuzz/lib.sh
mkdir -p "$out"
learned=$BUILD/fuzz/corpus-short # from the corpus in the tree alone, so that each run is the same
rm -rf "$learned"
failures=0

# New inputs a target gets in about ten seconds.
runs() {
	case $1 in
	region) echo 2500 ;;
	trace) echo 1500 ;;
	formats) echo 4000 ;;
	*) echo 100000 ;;
	esac
}

told() {
	echo "not ok - $1"
	grep -E '^SUMMARY|finding|ERROR|runtime error|    #[0-9]+ .* (in )?[a-z_]+ .*(host|shared)/' "$2" | head -n 12 | sed 's/^/# /'
	failures=$((failures + 1))
}

if fuzz_build libfuzzer; then
	driver=libfuzzer
elif ! fuzz_build plain; then
	echo "skip - fuzzing: $why"
	exit 77
else
	driver=plain
	echo "skip - new inputs: $why; what is known is still run"
	fuzz_build plain
fi

for t in $FUZZ_TARGETS; do
	n=$(find $(known_dirs "$t") -type f | wc -l)
	log=$out/$t.replay
	if "$BUILD/fuzz/$driver/$t" $(find $(known_dirs "$t") -type f | sort) >"$log" 2>&1; then
		echo "ok - $t: $n known inputs"
	else
		told "$t: one of $n known inputs" "$log"
	fi
	[ $driver = libfuzzer ] || continue
	log=$out/$t.short
	if libfuzzer "$t" "$log" -seed=1 -runs=$((n + $(runs "$t"))) -reduce_inputs=0; then
		echo "ok - $t: new inputs: $(libfuzzer_figures "$log")"
	else
		told "$t: new inputs" "$log"
	fi
done

if fuzz_build afl; then
	for t in $FUZZ_TARGETS; do
		log=$out/$t.afl.short
		rm -rf "$BUILD/fuzz/afl-out/$t"
		if afl "$t" "$log" -V 5 -s 1; then
			echo "ok - $t: AFL++: $(afl_figures "$t")"
		else
			told "$t: AFL++" "$log"
		fi
	done
else
	echo "skip - AFL++: $why"
fi
[ $failures -eq 0 ]
