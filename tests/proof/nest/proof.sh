#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The long configurations for both back-ends, on all cores; then the tables of
# docs/xvt-proof.md: each historic version and each mutant, counted in full.
set -u
cd "$(dirname "$0")/../../.."
export BUILD=${BUILD:-build}
parts=$(nproc)
logs=$BUILD/tests/proof/nest/proof
mkdir -p "$logs"
failed=0

for ring in cas xadd; do
	pids=()
	for ((part = 0; part < parts; part++)); do
		"$BUILD/tests/proof/nest/xvt-nest-$ring" -p "$part/$parts" short proof >"$logs/$ring.$part" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
	cat "$logs/$ring".* | awk -v ring=$ring '
		$1 != ring { print; next }
		!($2 in all) { name[++names] = $2 }
		{ all[$2] += $3; deep[$2] += $5; wrong[$2] += $8 }
		END {
			for (i = 1; i <= names; i++) {
				n = name[i]
				printf "| %-4s | %-18s | %10d | %10d | %5d |\n", ring, n, all[n], deep[n], wrong[n]
				sum += all[n]; sumdeep += deep[n]; bad += wrong[n]
			}
			printf "| %-4s | %-18s | %10d | %10d | %5d |\n", ring, "all", sum, sumdeep, bad
		}'
done
"$BUILD/tests/proof/nest/xvt-nest-history" short || failed=1
"$BUILD/tests/proof/nest/xvt-nest-history" proof || failed=1
bash tests/proof/nest/t_mutants.sh --table || failed=1
exit $failed
