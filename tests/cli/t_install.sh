#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# shellcheck disable=SC2317
# What is installed works by itself, each command's --help names a page that is there, as a document
# and for man, and nothing is left when it is uninstalled.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
root=$work/root

# Everything is built by now, by another make whose options are none of this one's business.
run_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s "$1" BUILD="$BUILD" DESTDIR="$root" PREFIX=/opt/x >"$work/out" 2>&1 &&
		return
	cat "$work/out"
	return 1
}

check "make install" run_make install
xvtrace=$root/opt/x/bin/xvtrace
commands=$("$xvtrace" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
check "the installed xvtrace lists its commands" [ "$(echo "$commands" | wc -w)" -ge 10 ]

# documented COMMAND: its --help names a page of docs/, which is installed, and xvtrace(1) lists it
documented() {
	local page
	"$xvtrace" "$1" --help | grep -q "^See also: man xvtrace-$1; .* xvtrace-$1\.\*\.md, in docs/" || return
	page=$(ls "docs/xvtrace-$1".[18].md) && cmp "$page" "$root/opt/x/share/doc/xvtrace/${page#docs/}" &&
		page=${page#docs/xvtrace-*.} && grep -q "^| xvtrace-$1(${page%.md}) |" docs/xvtrace.1.md
}
for cmd in $commands; do
	check "$cmd --help names a page that is installed, and xvtrace(1) lists it" documented "$cmd"
done

# lists_man NAME SECTION TEXT: man finds the page below the root, and TEXT in it
lists_man() {
	MANPATH=$root/opt/x/share/man man -P cat "$2" "$1" 2>"$work/err" | grep -q -e "$3" && [ ! -s "$work/err" ]
}
if ! command -v lowdown >/dev/null || ! command -v man >/dev/null; then
	echo "skip - man finds the installed pages: lowdown or man-db is missing"
else
	check "man finds xvtrace-record(1) and its options" lists_man xvtrace-record 1 '^ *-o, --output FILE.xvt'
	check "man finds xvtrace(7)" lists_man xvtrace 7 'FIRST STEPS'
	check "man finds xvtrace.conf(5)" lists_man xvtrace.conf 5 '^ *keep-size = SIZE'
	check "man finds xvt-guest(8), a part of a document" lists_man xvt-guest 8 'xvt-guest printk-formats'
	check "man finds xvt-region(5), a document" lists_man xvt-region 5 'XVTRACE1'
fi

check "bash finds the completion by the program's name" \
	cmp packaging/completion.bash "$root/opt/x/share/bash-completion/completions/xvtrace"

# A program that writes events is built with what pkg-config says.
echo '#include <xvt.h>
int main(void) { return !xvt_open("/nonexistent", 0); }' >"$work/writer.c"
check "a writer is built by libxvt.pc" "${CC:-gcc}" ${ASAN:+-fsanitize=address,undefined} -o "$work/writer" "$work/writer.c" \
	$(PKG_CONFIG_PATH=$root/opt/x/lib/pkgconfig pkg-config --define-variable=prefix="$root/opt/x" \
		--define-variable=libdir="$root/opt/x/lib" --cflags --libs libxvt)

echo mine >"$root/opt/x/share/doc/other"
check "make uninstall" run_make uninstall
check "it leaves no file of ours and all others" [ "$(find "$root" ! -type d)" = "$root/opt/x/share/doc/other" ]
check "and no folder of ours" [ -z "$(find "$root" -name '*xvt*')" ]
[ $failures -eq 0 ]
