#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-commands.sh [BUILD]: compile_commands.json has one command for each C file, and no others.
# Not for what kbuild or a script compiles, and not for bench/.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
have=$(find host shared guest/user guest/bare guest/formats tests -name '*.c' -not -path 'tests/vm/guest/*' \
	-not -path 'tests/fuzz/seed_*.c' | sort)
named=$(jq -r '.[].file' "$build/compile_commands.json" | grep -v '^bench/\|^docs/' | sort)
wrong=$(diff <(echo "$have") <(echo "$named")) || {
	echo "$wrong" | sed -n 's/^</no command:/p; s/^>/no such file, or twice:/p'
	exit 1
}
