#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What is installed works by itself, and each command's --help names a page that is there: in the
# sources, and where it is installed.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT

# Everything is built by now, by another make whose options are none of this one's business.
check "make install" env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install BUILD="$BUILD" DESTDIR="$work" PREFIX=/opt/x >"$work/out" 2>&1
cat "$work/out"
xvtrace=$work/opt/x/bin/xvtrace
commands=$("$xvtrace" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
check "the installed xvtrace lists its commands" [ "$(echo "$commands" | wc -w)" -ge 10 ]
for cmd in $commands; do
	page=$("$xvtrace" "$cmd" --help | sed -n 's/^See also: \(xvtrace-[a-z]*[.]1[.]md\), in docs.*/\1/p')
	check "$cmd --help names a page: $page" [ -n "$page" ]
	check "which is in docs/" [ -s "docs/$page" ]
	check "and is installed" cmp -s "docs/$page" "$work/opt/x/share/doc/xvtrace/$page"
done
[ $failures -eq 0 ]
