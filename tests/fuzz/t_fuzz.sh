#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# Every input of the corpus and every earlier finding, through every target; then some thousand new
# ones each, with libFuzzer (a fixed number of runs from a fixed seed) and shortly with AFL++.
# `make fuzz` goes on from there.
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
FUZZ_TARGETS=${FUZZ_TARGETS:-region relayed trace formats text doorbell ftrace kernels}
source tests/fuzz/lib.sh
mkdir -p "$out"
learned=$BUILD/fuzz/corpus-short # from the corpus in the tree alone, so that each run is the same
rm -rf "$learned"
failures=0

# New inputs a target gets in about ten seconds.
runs() {
	case $1 in
	region | relayed) echo 2500 ;;
	trace) echo 1500 ;;
	formats) echo 4000 ;;
	doorbell) echo 50000 ;;
	*) echo 100000 ;;
	esac
}

# told WHAT LOG: what was found, and the input itself: the log may be read far from the machine that
# made it. What is said before "not ok" is what tests/run.sh shows.
told() {
	local f
	grep -E '^SUMMARY|finding|ERROR|runtime error|    #[0-9]+ .* (in )?[a-z_]+ .*(host|shared)/' "$2" | head -n 10 | sed 's/^/# /'
	for f in $(sed -n 's/.*Test unit written to //p' "$2") "$BUILD/fuzz/afl-out/${1%%:*}"/default/{crashes,hangs}/id*; do
		[ ! -e "$f" ] || echo "# it goes through gzip and base64: $(gzip -9c "$f" | base64 -w 0 | head -c 20000)"
	done | head -n 3
	echo "not ok - $1"
	failures=$((failures + 1))
}

# build DRIVER: as fuzz_build, but what our sources are to blame for ends the test
build() {
	fuzz_build "$1"
	local built=$?
	[ $built -ne 2 ] || { echo "not ok - $1: $why"; exit 1; }
	return $built
}

if build libfuzzer; then
	driver=libfuzzer
else
	echo "skip - new inputs: $why; what is known is still run"
	driver=plain
	build plain || { echo "skip - fuzzing: $why"; exit 77; }
fi

if cmp -s <(tests/fuzz/pack.sh "$corpus") <(xz -dc tests/fuzz/corpus.tar.xz); then
	echo "ok - the archive of known inputs is what their files give"
else
	echo "not ok - the archive of known inputs is not what their files give: make fuzz-pack"
	failures=$((failures + 1))
fi

for t in $FUZZ_TARGETS; do
	n=$(known "$t" | wc -l)
	log=$out/$t.replay
	if "$BUILD/fuzz/$driver/$t" $(known "$t") >"$log" 2>&1; then
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

if build afl; then
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
