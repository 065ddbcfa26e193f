# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests of the command line, after `set -u`. The test removes $work when it exits.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=${BUILD:-build}
xvtrace=$BUILD/xvtrace
work=$(mktemp -d)
failures=0

# check TEXT COMMAND...: one thing that this test shows
check() {
	local text=$1
	shift
	if "$@"; then echo "ok - $text"; else
		echo "not ok - $text"
		failures=$((failures + 1))
	fi
}
