# SPDX-License-Identifier: GPL-2.0
# What run.sh and t_fuzz.sh share: building the targets and running them with each fuzzer.
out=$BUILD/fuzz/logs
findings=$BUILD/fuzz/findings
corpus=$BUILD/fuzz/known # the files of corpus.tar.xz, unpacked by make
regress=tests/fuzz/regress
learned=$BUILD/fuzz/corpus # by the long runs
rss_mb=1024
timeout_s=20
# A finding ends the run at once and is told; leaks count, allocations that fail do not end it.
export ASAN_OPTIONS=abort_on_error=1:allocator_may_return_null=1:symbolize=1:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
why=""

# Longest input worth trying.
max_len() {
	case $1 in
	trace) echo 20000 ;;
	formats) echo 8000 ;;
	kernels) echo 10000 ;;
	*) echo 4096 ;;
	esac
}

# Where known inputs lie; a target without an earlier finding has no folder for them.
known_dirs() {
	echo "$corpus/$1"
	[ ! -d "$regress/$1" ] || echo "$regress/$1"
}

# fuzz_build libfuzzer|afl|plain: 1 and a reason in $why when this machine cannot build it; 2 when our sources do not
fuzz_build() {
	local log=$BUILD/fuzz/build-$1.log
	local probe='int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n ? 0 : 0; }'
	mkdir -p "$BUILD/fuzz"
	case $1 in
	libfuzzer)
		echo "$probe" | clang -fsanitize=fuzzer,address -x c -o "$BUILD/fuzz/probe" - >"$log" 2>&1 ||
			{ why="clang or its fuzzer runtime is missing (Debian packages clang, libclang-rt-14-dev)"; return 1; }
		;;
	afl)
		command -v afl-clang-fast >"$log" && command -v afl-fuzz >"$log" ||
			{ why="no afl-clang-fast (Debian package afl++)"; return 1; }
		echo "$probe" | AFL_QUIET=1 afl-clang-fast -fsanitize=fuzzer,address -x c -o "$BUILD/fuzz/probe" - >"$log" 2>&1 ||
			{ why="afl-clang-fast builds nothing here"; return 1; }
		;;
	plain)
		echo 'int main(void) { return 0; }' | ${CC:-gcc} -fsanitize=address,undefined -x c -o "$BUILD/fuzz/probe" - >"$log" 2>&1 ||
			{ why="no sanitizers for ${CC:-gcc}"; return 1; }
		;;
	esac
	# Two at a time at most: sanitized compilations are hungry.
	if ! make --no-print-directory -j2 BUILD="$BUILD" "fuzz-$1" >"$log" 2>&1; then
		why="does not build: $(grep -m1 -i 'error' "$log")"
		tail -n 5 "$log" >&2
		return 2
	fi
}

known() {
	find $(known_dirs "$1") -type f | LC_ALL=C sort
}

# Addresses are among what libFuzzer compares, and the order of a folder is the file system's: with
# both fixed, the same seed finds the same inputs again.
still="setarch -R"
$still true 2>/dev/null || still=""

# libfuzzer TARGET LOG OPTIONS...: from the corpus in the tree and what was learned before
libfuzzer() {
	local t=$1 log=$2
	shift 2
	mkdir -p "$learned/$t" "$findings"
	known "$t" | paste -sd, >"$out/$t.known"
	$still "$BUILD/fuzz/libfuzzer/$t" -reload=0 -seed_inputs="@$out/$t.known" -rss_limit_mb=$rss_mb -timeout=$timeout_s -max_len="$(max_len "$t")" \
		$([ -e "tests/fuzz/$t.dict" ] && echo "-dict=tests/fuzz/$t.dict") -artifact_prefix="$findings/$t-" -print_final_stats=1 "$@" \
		"$learned/$t" >"$log" 2>&1
}

libfuzzer_figures() {
	local cov
	cov=$(grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [0-9]+' "$1" | tail -n 1)
	echo "$(sed -n 's/^stat::number_of_executed_units: *//p' "$1") executions," \
		"$(sed -n 's/^stat::average_exec_per_sec: *//p' "$1") a second," \
		"covered edges ${cov:-?} of $(sed -n 's/^INFO: Loaded 1 modules *(\([0-9]*\).*/\1/p' "$1")"
	grep -E '^SUMMARY|^fuzz: finding' "$1"
}

# afl TARGET LOG OPTIONS...
afl() {
	local t=$1 log=$2 seeds=$BUILD/fuzz/afl-seeds/$1
	shift 2
	rm -rf "$seeds"
	mkdir -p "$seeds" "$findings" "$BUILD/fuzz/afl-out"
	cp "$corpus/$t"/* "$regress/$t"/* "$seeds" 2>/dev/null
	[ -e "$BUILD/fuzz/afl-out/$t/default" ] && seeds=-
	AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_UI=1 AFL_QUIET=1 \
		ASAN_OPTIONS=abort_on_error=1:symbolize=0:allocator_may_return_null=1:detect_leaks=0 \
		afl-fuzz -i "$seeds" -o "$BUILD/fuzz/afl-out/$t" -m none -t $((timeout_s * 1000)) \
		$([ -e "tests/fuzz/$t.dict" ] && echo "-x tests/fuzz/$t.dict") "$@" \
		-- "$BUILD/fuzz/afl/$t" >"$log" 2>&1 || return 1
	cp "$BUILD/fuzz/afl-out/$t"/default/crashes/id* "$BUILD/fuzz/afl-out/$t"/default/hangs/id* "$findings" 2>/dev/null
	[ "$(afl_value "$t" saved_crashes)" = 0 ] && [ "$(afl_value "$t" saved_hangs)" = 0 ]
}

afl_value() {
	sed -n "s/^$2 *: *//p" "$BUILD/fuzz/afl-out/$1/default/fuzzer_stats"
}

afl_figures() {
	echo "$(afl_value "$1" execs_done) executions, $(afl_value "$1" execs_per_sec) a second," \
		"covered $(afl_value "$1" bitmap_cvg) of the edges, $(afl_value "$1" saved_crashes) crashes, $(afl_value "$1" saved_hangs) hangs"
}
