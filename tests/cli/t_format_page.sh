#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# docs/xvt-format.5.md says each field of a trace file as host/trace/format.h has it.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/layout.sh"
trap 'rm -rf "$work"' EXIT

page docs/xvt-format.5.md >"$work/page"
header host/trace/format.h >"$work/header"
check "the header has fields" [ "$(wc -l <"$work/header")" -gt 100 ]
check "the page is the header" same "$work/page" "$work/header"

# And it would be seen.
sed 's/^| 20 | 2 | id |/| 20 | 4 | id |/' docs/xvt-format.5.md >"$work/changed.md"
page "$work/changed.md" >"$work/other"
check "a size changed in the page is seen" differ "$work/page" "$work/other"
sed 's/^| 9 | ROUND |/| 10 | ROUND |/' docs/xvt-format.5.md >"$work/changed.md"
page "$work/changed.md" >"$work/other"
check "so is a type" differ "$work/page" "$work/other"
sed 's/uint64_t guest_clock;/uint64_t guest_counter;/' host/trace/format.h >"$work/changed.h"
header "$work/changed.h" >"$work/other"
check "a field with another name in the header is seen" differ "$work/header" "$work/other"
sed 's/XVT_CHUNK_NOTE = 11/XVT_CHUNK_NOTE = 21/' host/trace/format.h >"$work/changed.h"
header "$work/changed.h" >"$work/other"
check "so is a type with another number" differ "$work/header" "$work/other"
sed 's/^struct xvt_round {/&\n\tuint64_t more;/' host/trace/format.h >"$work/changed.h"
header "$work/changed.h" >"$work/other"
check "and a field more, with what it moves" differ "$work/header" "$work/other"
[ $failures -eq 0 ]
