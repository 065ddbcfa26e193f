#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# docs/writing-a-writer.md says each field of a region as shared/xvt_abi.h has it, and a writer in Python that has its
# offsets from the page alone is recorded: its events are all there, once, in order, or counted.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/layout.sh"
trap cleanup EXIT
doc=docs/writing-a-writer.md

# What the host alone uses is no part of the page: its place in the host's half is.
hosts_own='^xvt_(clock_line|clock_page|ring_settled|vmm_clock) '
page $doc >"$work/page"
header shared/xvt_abi.h | grep -vE "$hosts_own" >"$work/header"
check "the header has fields" [ "$(wc -l <"$work/header")" -gt 100 ]
check "the page is the header" same "$work/page" "$work/header"
sed 's/^| 192 | 8 | commit |/| 200 | 8 | commit |/' $doc >"$work/changed.md"
page "$work/changed.md" >"$work/other"
check "an offset changed in the page is seen" differ "$work/page" "$work/other"
sed 's/uint32_t displaced;/uint32_t replaced;/' shared/xvt_abi.h >"$work/changed.h"
header "$work/changed.h" | grep -vE "$hosts_own" >"$work/other"
check "a field with another name in the header is seen" differ "$work/header" "$work/other"

# The numbers of the page: each constant of the header, and how the page says it.
cat >"$work/numbers" <<'END'
XVT_MAGIC 3550317829084698200 0x3145434152545658: the text `XVTRACE1`
XVT_RING_MAGIC 1381258840 0x52545658, `XVTR`
XVT_SUBBUF_MAGIC 1398036056 0x53545658, `XVTS`
XVT_KIND_USER 2 2 program
XVT_CLOCK_CALLER 3 3 a function of the writer's
XVT_RING_THREAD 2 2 thread
XVT_RING_OFFLINE 2 2 offline
XVT_ENABLE_OVERWRITE 2 2 overwrite mode
XVT_LOST_FULL 0 0 FULL
XVT_LOST_WRAP 1 1 WRAP
XVT_LOST_BIG 2 2 BIG
XVT_LOST_NEST 3 3 NEST
XVT_LOST_RETRY 4 4 RETRY
XVT_ID_PAD_END 1 1 PAD_END
XVT_ID_DISCARDED 2 2 DISCARDED
XVT_ID_CLOCK_SYNC 3 3 CLOCK_SYNC
XVT_ID_MARK 5 5 MARK
XVT_ID_FTRACE_PAGE 6 6 FTRACE_PAGE
XVT_INCOMPAT_RELAYED 1 incompat 1: [relayed]
XVT_RELAYED_F_FULL 1 Flag 1: what is missing
XVT_RELAYED_PAGE_MAX 4096 16 to 4096
XVT_RELAYED_SUBBUF 16384 at least
XVT_ID_FTRACE 16 16 FTRACE
XVT_ID_TEXT 17 17 TEXT
XVT_ID_U64 18 18 U64
XVT_ID_PANIC 19 19 PANIC
XVT_ID_USER 1024 from 1024 on your own
XVT_META_FORMAT 1 1 FORMAT
XVT_META_COMM 2 2 COMM
XVT_META_KSYMS 3 3 KSYMS
XVT_META_PRINTK_FORMATS 4 4 PRINTK_FORMATS
XVT_META_CLOCK 5 5 CLOCK,
XVT_META_HEADER_PAGE 6 6 HEADER_PAGE
XVT_META_TEXT 7 7 TEXT,
XVT_META_THREAD 8 8 THREAD
END
{
	printf '#include <stdio.h>\n#include "xvt_abi.h"\nint main(void) {\n'
	awk '{ printf "printf(\"%s %%llu\\n\", (unsigned long long)%s);\n", $1, $1 }' "$work/numbers"
	echo '}'
} >"$work/numbers.c"
numbers() {
	${CC:-gcc} -std=gnu11 -Ishared -o "$work/say" "$work/numbers.c" && "$work/say" >"$work/said" &&
		cut -d ' ' -f 1,2 "$work/numbers" | diff - "$work/said"
}
check "the numbers are the header's" numbers
in_page() {
	local text bad=0
	while read -r _ _ text; do
		grep -qF -- "$text" $doc || { echo "# not in the page: $text" && bad=1; }
	done <"$work/numbers"
	return $bad
}
check "and the page has them" in_page

# recorded NAME COUNT BURST OPTION...: what a recorder makes of one run of the writer
recorded() {
	local name=$1 count=$2 writer recorder rc
	python3 tests/cli/page_writer.py $doc "$work/region" "$count" "$3" &
	writer=$!
	pids+=($writer)
	shift 3
	"$xvtrace" record -q -o "$work/$name.xvt" -r "page=$work/region" "$@" 2>"$work/$name.err" &
	recorder=$!
	pids+=($recorder)
	wait $writer || return 1
	kill -INT $recorder
	wait $recorder
	rc=$?
	"$xvtrace" report "$work/$name.xvt" | awk '/ u64: / { print $NF }' >"$work/$name.numbers"
	[ $rc -eq 0 ] && "$xvtrace" verify "$work/$name.xvt" >"$work/verified" && adds_up "$work/$name.xvt" "$count"
}
whole() { seq 0 $(($2 - 1)) | cmp -s - "$work/$1.numbers"; }
holds() { "$xvtrace" stat --json "$work/$1.xvt" | jq -e ".vms[0].rings[0] | $2" >"$work/out"; }

truncate -s 256K "$work/region"
check "a region that the page's writer formats is recorded" recorded first 3000 100
check "each event is there, in order" whole first 3000
check "by the kind and the name of the writer" eval '"$xvtrace" region show "$work/region" | grep -q "^kind  *user, generation 1"'
check "its clock is measured" holds first '.clock.source == "handshake"'
check "a second generation of it is recorded" recorded second 2000 50
check "each event of that is there" whole second 2000
check "what does not fit is counted" recorded full 20000 20000
check "and something did not fit, or all is there" eval 'holds full ".lost_by.full > 0" || whole full 20000'
rm "$work/region"
"$xvtrace" region create "$work/region" --size 256K --rings 1
check "a region of the host's is recorded" recorded host 3000 100
check "each event of that is there, too" whole host 3000
[ $failures -eq 0 ]
