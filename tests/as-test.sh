#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# as-test.sh TEXT COMMAND...: one command as one test.
text=$1
shift
if "$@"; then
	echo "ok - $text"
else
	echo "not ok - $text"
	exit 1
fi
