#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every schedule of the short configurations, over the real writer, for both back-ends.
set -u
cd "$(dirname "$0")/../../.."
BUILD=${BUILD:-build}
failed=0

for ring in cas xadd; do
	log=$BUILD/tests/proof/nest/$ring.log
	"$BUILD/tests/proof/nest/xvt-nest-$ring" short >"$log"
	status=$?
	# BACKEND CONFIGURATION N schedules N three deep N wrong ...
	awk -v ring=$ring '
		$1 == ring && $8 == 0 && !/WRONG/ {
			printf "ok - %s %s: %d schedules, none wrong\n", ring, $2, $3
			all += $3; deep += $5
		}
		END { printf "# %s: %d schedules, %d of them three deep\n", ring, all, deep }' "$log"
	if [ $status -ne 0 ]; then
		grep -v "^$ring .* 0 wrong.*k/s\$" "$log"
		echo "not ok - $ring: a schedule breaks a rule (xvt-nest-$ring ended with $status)"
		failed=1
	fi
done
exit $failed
