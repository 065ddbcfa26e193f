#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# find-check.sh SUITE [CASE]: which Check programs hold a suite. Prints a line for each,
#   PROGRAM SUITE CASE TEST
# PROGRAM is a file below $BUILD/tests. CASE may be a case (a group of tests) or one test; TEST is
# "-" unless it is one test, CASE is "-" where none was given. A suite is found by its
# suite_create() in tests/unit/: shared/ and guest/ are in shared-check and shared-xadd-check, the
# other folders in host-check. "-" and "_" in its name are the same. Prints nothing and exits with 1
# where no program has the suite and case.
set -eu
cd "$(dirname "$0")/.."
wanted=${1:?usage: find-check.sh SUITE [CASE]}
case=${2:-}
found=1
while IFS=: read -r file suite; do
	suite=${suite#*\"}
	suite=${suite%%\"*}
	[ "${suite//-/_}" = "${wanted//-/_}" ] || continue
	# "GROUP TEST" for each test of the file. A variable holds the group that it was last given.
	line=$(awk -v case="$case" '
		/tcase_add_[^;]*$/ && (getline rest) > 0 { $0 = $0 rest }
		match($0, /[a-z_]+ = tcase_create\("[^"]*"/) {
			split(substr($0, RSTART, RLENGTH), part, /[ "(]+/)
			group[part[1]] = part[4]
			if (case == "" || part[4] == case) { print (case == "" ? "-" : case), "-"; exit }
		}
		match($0, /tcase_add_[a-z_]*test[a-z_]*\([ \t]*[a-z_]+,[ \t]*[a-zA-Z0-9_]+/) {
			split(substr($0, RSTART, RLENGTH), part, /[(, \t]+/)
			if (part[3] == case) { print group[part[2]], case; exit }
		}' "$file")
	[ -n "$line" ] || continue
	found=0
	case $file in
	tests/unit/shared/* | tests/unit/guest/*) programs="shared-check shared-xadd-check" ;;
	*) programs=host-check ;;
	esac
	for program in $programs; do
		echo "$program $suite $line"
	done
done < <(grep -rF 'suite_create("' tests/unit --include='*.c')
exit $found
