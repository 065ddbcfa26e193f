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

# The types of META, with their numbers in the region.
awk '/^enum xvt_meta_type/ { on = 1 } /^}/ { on = 0 } on && match($0, /XVT_META_[A-Z_]+ = [0-9]+/) {
	split(substr($0, RSTART + 9, RLENGTH - 9), w, / = /); print "| " w[1] " | " w[2] " |" }' shared/xvt_abi.h >"$work/metas"
has_metas() {
	local row bad=0
	[ "$(wc -l <"$work/metas")" -ge 8 ] || return 1
	while read -r row; do
		grep -qF "$row" docs/xvt-format.5.md || { echo "# not in the page: $row" && bad=1; }
	done <"$work/metas"
	return $bad
}
check "the page has the types of META" has_metas

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

# What the page says of a seq that comes twice, and of zeros behind END.
"$xvtrace" region create "$work/r" --size 256K --rings 1 &&
	"$xvtrace" record -q -o "$work/t.xvt" -r g="$work/r" -- "$BUILD/xvt-emit" "$work/r" --rings 1 --count 50 >/dev/null || exit 1
cat >"$work/twice.py" <<'END'
import struct
import sys
data, at = open(sys.argv[1], "rb").read(), 0
while struct.unpack_from("<H", data, at + 4)[0] != 7:  # ORDER
    at += 32 + -(-struct.unpack_from("<I", data, at + 8)[0] // 8) * 8
end = at + 32 + -(-struct.unpack_from("<I", data, at + 8)[0] // 8) * 8
open(sys.argv[2], "wb").write(data[:end] + data[at:end] + data[end:])
open(sys.argv[3], "wb").write(data + bytes(4096))
END
python3 "$work/twice.py" "$work/t.xvt" "$work/twice.xvt" "$work/zeros.xvt"
is_damage() { # FILE WORDS: that is said, and each event is there once
	"$xvtrace" verify "$work/$1.xvt" >"$work/verified" 2>&1
	[ $? -eq 1 ] && grep -q "$2" "$work/verified" && [ "$("$xvtrace" report "$work/$1.xvt" 2>/dev/null | grep -c ' u64: ')" -eq 50 ]
}
check "a chunk that comes twice is damage, and counts once" is_damage twice 'a chunk that was there before'
check "zeros behind END are damage" is_damage zeros 'no chunk begins here'
[ $failures -eq 0 ]
