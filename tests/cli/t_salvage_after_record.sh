#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What a recorder has taken, salvage does not give again, in either mode; what came after, it does.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT

# says FILE FILTER: jq's filter is true of xvtrace stat
says() {
	"$xvtrace" stat --json "$1" | jq -e "$2" >/dev/null
}

for mode in stop overwrite; do
	region=$work/$mode
	"$xvtrace" region create "$region" --size 1M --rings 1 || exit 1
	"$xvtrace" record -q --mode $mode -o "$work/$mode.xvt" -r g="$region" -- \
		"$BUILD/xvt-emit" "$region" --count 60 --linger 1
	check "$mode: the recorder took all" says "$work/$mode.xvt" '.events == 60 and .attempted == 60'
	"$xvtrace" salvage "$region" -o "$work/$mode-after.xvt" >/dev/null
	check "$mode: salvage finds nothing more" says "$work/$mode-after.xvt" '.events == 0 and .attempted == 0'
	check "$mode: and what it wrote verifies" "$xvtrace" verify "$work/$mode-after.xvt"
done
[ $failures -eq 0 ]
