#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# deb-changelog.sh VERSION CHANGELOG: prints it, with an entry for VERSION if its newest one is of another version: a build of a
# commit between two releases, at the time of that commit.
set -eu
if [ "$(sed -n '1s/^[^(]*(\([^)]*\)).*/\1/p' "$2")" != "$1" ]; then
	date=$(git log -1 --format=%cD 2>/dev/null) || date=$(sed -n '/^ -- /{s/.*>  //p;q}' "$2")
	printf 'xvtrace (%s) unstable; urgency=medium\n\n  * Built between two releases. CHANGELOG.md has what changed.\n\n' "$1"
	printf ' -- The xvtrace authors <xvtrace@example.org>  %s\n\n' "$date"
fi
cat "$2"
