#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# debug.sh SUITE [CASE]: one suite, case or test of a Check program under gdb, in one process.
# CASE may be a case (a group of tests) or one test; then gdb stops where that test begins.
#   make debug SUITE=reader
#   make debug SUITE=order CASE=raw_chunks_in_use_are_loaded_once
#   make debug SUITE=writer PROGRAM=shared-xadd-check    with the other way to reserve
#   make debug SUITE=reader GDB='gdb -batch -ex run -ex bt'
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
GDB=${GDB:-gdb}
suite=${1:-}
case=${2:-}

fail() {
	echo "debug: $*" >&2
	exit 1
}

[ -n "$suite" ] || fail "which suite? make debug SUITE=name [CASE=name]; tests/README.md lists them"
if [ -e "tests/$suite.sh" ]; then
	fail "$suite is a shell test; to see each command: bash -x tests/$suite.sh"
fi
lines=$(tests/find-check.sh "$suite" ${case:+"$case"}) ||
	fail "no Check program has a suite '$suite'${case:+ with a case or test '$case'}"
# The suites of shared/ are linked twice; the second program has the other way to reserve.
[ -n "${PROGRAM:-}" ] || lines=$(grep -v '^shared-xadd-check ' <<<"$lines")
[ -z "${PROGRAM:-}" ] || lines=$(grep "^$PROGRAM " <<<"$lines") ||
	fail "$PROGRAM has no suite '$suite'${case:+ with a case or test '$case'}"
[ "$(wc -l <<<"$lines")" = 1 ] ||
	fail "'$suite' is in several programs: give CASE, or one of" $(sed 's/ .*//; s/^/PROGRAM=/' <<<"$lines")
read -r program suite case test <<<"$lines"
export CK_FORK=no CK_RUN_SUITE=$suite
by_hand="CK_FORK=no CK_RUN_SUITE=$suite"
if [ "$case" != - ]; then
	export CK_RUN_CASE=$case
	by_hand="$by_hand CK_RUN_CASE=$case"
fi
eval "gdb=($GDB)"
command -v "${gdb[0]}" >/dev/null || fail "there is no ${gdb[0]} here (Debian package gdb)." \
	"The same without it: $by_hand $BUILD/tests/$program"
echo "$by_hand $GDB $BUILD/tests/$program" >&2
# Check gives a test's function the name of the test and _fn. The break point comes before what
# GDB says, which may be "run".
stop=()
[ "$test" = - ] || stop=(-ex "break ${test}_fn")
exec "${gdb[0]}" "${stop[@]}" "${gdb[@]:1}" "$BUILD/tests/$program"
