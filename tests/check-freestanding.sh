#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What does shared/ need from outside when there is no C library? Only the four functions that
# compilers call by themselves are allowed; guest/bare supplies them.
set -eu
cc=$1
shift
needed=$(nm -u "$@" | sed -n 's/^ *U //p' | sort -u)
defined=$(nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u)
outside=$(printf '%s\n' "$needed" | grep -vxF "$defined" || true)
bad=$(printf '%s\n' "$outside" | grep -vxE 'memcpy|memset|memmove|memcmp|' || true)
echo "freestanding ($cc): shared/ needs: $(echo $outside)"
if [ -n "$bad" ]; then
	echo "check-freestanding: shared/ must not need:" $bad >&2
	exit 1
fi
