#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which lines of host/ and shared/ do the known inputs reach? The corpus in the tree, the earlier
# findings, and what the fuzzers learned here. Prints a table a target.
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
source tests/fuzz/lib.sh
suffix=$(clang --version | sed -n 's/.*version \([0-9]*\).*/-\1/p')
for t in ${FUZZ_TARGETS:-region relayed trace formats text doorbell ftrace kernels}; do
	raw=$BUILD/fuzz/coverage/$t.profraw
	LLVM_PROFILE_FILE=$raw "$BUILD/fuzz/coverage/$t" $(known_dirs "$t") \
		$([ -d "$BUILD/fuzz/corpus/$t" ] && echo "$BUILD/fuzz/corpus/$t") || exit 1
	"llvm-profdata$suffix" merge -o "$raw.data" "$raw" || exit 1
	echo "== $t"
	"llvm-cov$suffix" report "$BUILD/fuzz/coverage/$t" -instr-profile="$raw.data" -use-color=0 -show-region-summary=0 \
		-show-branch-summary=0 -ignore-filename-regex=tests/ | awk '/%/ { print $1, $(NF - 2), $(NF - 1), $NF }' | column -t
done
