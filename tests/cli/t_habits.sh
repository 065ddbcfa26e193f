#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What hands type that know other tracers: each habit is answered, or refused with the name that
# xvtrace has for it.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$(realpath "$BUILD")/tests/tools
xvtrace=$(realpath "$xvtrace")
mkdir "$work/here" "$work/empty"
cd "$work/here" || exit 1
"$tools/xvt-mktrace" 300 0 xvtrace.xvt >/dev/null || exit 1

# -- without a file ------------------------------------------------------------------

# as_named WORDS...: the command's output is that with the file's name
as_named() {
	"$xvtrace" "$@" xvtrace.xvt >"$work/named" 2>&1
	"$xvtrace" "$@" >"$work/out" 2>&1 && [ -s "$work/out" ] && cmp "$work/named" "$work/out"
}
for words in report stat "stat --json" verify; do
	# shellcheck disable=SC2086
	check "$words: reads xvtrace.xvt" as_named $words
done
exports_default() {
	"$xvtrace" export --format jsonl xvtrace.xvt "$work/named" && "$xvtrace" export --format jsonl "$work/out" &&
		[ -s "$work/out" ] && cmp "$work/named" "$work/out"
}
check "export: reads xvtrace.xvt" exports_default

# refused WORDS COMMAND...: wrong usage, in one line with WORDS
refused() {
	local words=$1
	shift
	"$xvtrace" "$@" >"$work/out" 2>"$work/err"
	[ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qE -- "$words" "$work/err" && return
	sed 's/^/# /' "$work/err"
	return 1
}
kept() { # a trace that stands alone behind export is no place for its output
	cp xvtrace.xvt "$work/a.xvt"
	cp xvtrace.xvt "$work/plain"
	refused "where to write" export --format jsonl "$work/a.xvt" && refused "where to write" export --format jsonl "$work/plain" &&
		cmp xvtrace.xvt "$work/a.xvt" && cmp xvtrace.xvt "$work/plain"
}
check "export: a trace alone is not overwritten" kept
cd "$work/empty" || exit 1
for words in report stat verify "export --format jsonl -"; do
	# shellcheck disable=SC2086
	check "$words: says which file is missing" refused "this folder has no xvtrace.xvt" $words
done
cd "$work/here" || exit 1

exit $((failures > 0))
