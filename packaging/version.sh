#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# version.sh RELEASE: prints the version of these sources. In a clone of git it is RELEASE+gitN.HASH, the Nth commit, so that
# packages of later commits upgrade those of earlier ones, and this release all before it. Elsewhere, as in a tarball, it is
# RELEASE. It depends on the commit alone, so that what is built again is the same.
cd "$(dirname "$0")/.." || exit 1
# A copy of the sources may lie in the clone of something else.
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] && hash=$(git rev-parse --short=7 HEAD 2>/dev/null); then
	# A shallow clone cannot count.
	n=$([ "$(git rev-parse --is-shallow-repository)" = true ] && echo 0 || git rev-list --count HEAD)
	echo "$1+git$n.$hash"
else
	echo "$1"
fi
