#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Linux's versions of the algorithm: each wrong one is caught, no right one is.
set -u
cd "$(dirname "$0")/../../.."
BUILD=${BUILD:-build}
log=$BUILD/tests/proof/nest/history.log

if "$BUILD/tests/proof/nest/xvt-nest-history" short >"$log"; then
	sed -E 's/^\| ([^ ]+) *\| *([0-9]+) \| *([0-9]+) .*/ok - \1: \3 of \2 schedules wrong, as it must be/' "$log"
else
	cat "$log"
	echo "not ok - a wrong version was not caught, or a right one was"
	exit 1
fi
