#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A compressed trace is smaller, and everything reads it as it reads others.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT

"$BUILD/tests/tools/xvt-bigtrace" ftrace 8 40000 "$work/plain.xvt" || exit 1
if ! "$BUILD/tests/tools/xvt-bigtrace" ftrace 8 40000 "$work/packed.xvt" zstd 2>"$work/err"; then
	echo "skip - built without zstd"
	exit 0
fi
size() { stat -c %s "$1"; }
check "it is less than half as long" [ "$(size "$work/packed.xvt")" -lt $(($(size "$work/plain.xvt") / 2)) ]
same() {
	"$xvtrace" "$@" "$work/plain.xvt" >"$work/a" 2>&1 && "$xvtrace" "$@" "$work/packed.xvt" >"$work/b" 2>&1 &&
		[ -s "$work/a" ] && cmp -s "$work/a" "$work/b"
}
check "report shows the same" same report --system --task
check "so it does by the index" same report --from +0.001 --to +0.002
check "and placed again" same report -q --reclock
check "stat counts the same" same stat --json
exported() {
	"$xvtrace" export --to jsonl "$work/plain.xvt" "$work/a" && "$xvtrace" export --to jsonl "$work/packed.xvt" "$work/b" &&
		[ -s "$work/a" ] && cmp -s "$work/a" "$work/b"
}
check "the export has the same" exported
check "verify finds nothing" "$xvtrace" verify -q "$work/packed.xvt"

"$xvtrace" region create "$work/r" --size 1M --rings 1 --subbuf-size 4K
"$xvtrace" record -q -z 3 -o "$work/t.xvt" -r "g=$work/r" -- "$BUILD/xvt-emit" "$work/r" --count 3000 >/dev/null 2>"$work/err"
check "record writes one" [ $? -eq 0 ]
check "which passes verify" "$xvtrace" verify --complete "$work/t.xvt"
check "and has its events" [ "$("$xvtrace" report "$work/t.xvt" | wc -l)" -eq 3000 ]
packed() { [ "$(od -An -tu2 -w8 -v "$work/t.xvt" | awk '$1 == 22104 && $2 == 17236 && $3 == 7 && $4 == 1' | wc -l)" -gt 0 ]; }
check "in compressed chunks" packed
"$xvtrace" record -q -z 20 -o "$work/t.xvt" --duration 1 -r "g=$work/r" 2>"$work/err"
check "a level that is none is refused" [ $? -eq 2 ]
[ $failures -eq 0 ]
