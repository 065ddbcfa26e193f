#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# shellcheck disable=SC2317
# The manual pages that are made of docs/: mandoc and groff take them without a complaint, each has a
# NAME that man's index reads, and they say what the documents say.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT

for tool in lowdown mandoc lexgrog man; do
	command -v $tool >/dev/null || { echo "skip - manual pages: $tool is missing" && exit 77; }
done
made() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s man BUILD="$BUILD" >"$work/out" 2>&1 || { cat "$work/out" && return 1; }; }
check "make man" made

# A page of its own has the brief of docs/, and one part of the name: xvtrace-record.
names() {
	local file=$1 name
	name=$(basename "${file%.*}")
	lexgrog "$file" | grep -qE "^$file: \"$name - .+\"\$"
}
quiet() { "$@" >"$work/page" 2>"$work/err" && [ ! -s "$work/err" ] || { head -n 5 "$work/err" && return 1; }; }
lints() { mandoc -Tlint -W style "$1" >"$work/err" 2>&1 || { head -n 5 "$work/err" && return 1; }; }

pages=$(ls "$BUILD"/man/*.[1-8])
check "there are pages of sections 1, 3, 5, 7 and 8" [ "$(sed 's/.*\.//' <<<"$pages" | sort -u | tr -d '\n')" = 13578 ]
for page in $pages; do
	check "$(basename "$page") has no complaint of mandoc" lints "$page"
	check "nor of groff" quiet env LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -P cat -l "$page"
	check "its NAME is read" names "$page"
done

# Words of a document, without its marks, are those of the page: nothing is taken for a mark that is none.
words() { tr -cs 'A-Za-z0-9_^' '\n' | grep -E '[_^]' | sort -u; }
while read -r page doc; do
	LC_ALL=C.UTF-8 MANWIDTH=500 man --nj --nh -P cat -l "$BUILD/man/$page" 2>/dev/null | words >"$work/of-page"
	sed -E 's/\]\([^)]*\)/]/g; s/\*\*?|`//g' "docs/$doc" | words >"$work/of-doc"
	check "$page has each name_with_bars of $doc: $(wc -l <"$work/of-doc")" \
		eval '[ -s "$work/of-doc" ] && ! comm -13 "$work/of-page" "$work/of-doc" | grep .'
done <<-PAGES
	xvt-format.5 xvt-format.5.md
	xvt-region.5 writing-a-writer.md
	xvtrace-record.1 xvtrace-record.1.md
	xvtrace-guest.7 guest.md
PAGES

# Two lists of the commands: each request of control is in both.
control=$(sed -n 's/^| xvtrace-control(1) | has \(.*\) |$/\1/p' docs/xvtrace.1.md)
check "xvtrace(1) says of control what docs/README.md says" \
	eval '[ -n "$control" ] && grep -qF "| have $control; the protocol of its socket |" docs/README.md'

# An option is a term, from which viewers make an index; one minus is one that can be copied.
check "each option of record(1) is a term" \
	[ "$(grep -B 1 '^: ' docs/xvtrace-record.1.md | grep -cE '^\*\*-')" = "$(grep -A 1 '^\.TP' "$BUILD/man/xvtrace-record.1" | grep -c '^.fB.-')" ]
check "a page whose name has a dot is bold, too" grep -qF '\fBxvtrace.conf\fR(5)' "$BUILD/man/xvtrace-daemon.8"
check "its SYNOPSIS fits a terminal of 80 columns" \
	eval '! MANWIDTH=80 man -P cat -l "$BUILD/man/xvtrace-record.1" | sed -n "/^SYN/,/^DESC/p" | grep -E "^.{81}"'
[ $failures -eq 0 ]
