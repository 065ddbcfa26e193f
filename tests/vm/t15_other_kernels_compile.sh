#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module compiles without a warning for the oldest kernel that it is for and for the newest that Debian has, and
# needs no symbol that they keep to themselves. What the archive does not have any more is skipped, and said.
set -u
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build}
work=$BUILD/tests/run/t15
rm -rf "$work"
mkdir -p "$work"
failures=0

check() {
	local text=$1
	shift
	if "$@"; then echo "ok - $text"; else
		echo "not ok - $text"
		failures=$((failures + 1))
	fi
}

# compile KDIR DIR: the module as one object. With this machine's compiler, which may not know each option of the
# headers' own; without kbuild's own programs where these are built for another C library.
compile() {
	mkdir -p "$2"
	ln -sf "$PWD"/guest/linux/*.[ch] "$PWD"/guest/linux/Kbuild "$PWD"/shared/*.h "$PWD"/shared/xvt_region.c "$PWD"/shared/xvt_check.c "$2/"
	make --no-print-directory -C "$1" M="$(realpath "$2")" CC="${CC:-gcc}" KCFLAGS=-Werror CONFIG_OBJTOOL= CONFIG_STACK_VALIDATION= \
		CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= modules >"$2/log" 2>&1
	grep -E 'error:|warning:.*\.[ch]:' "$2/log"
	[ -f "$2/xvtrace.o" ]
}

# kept_back KDIR OBJECT: the symbols that the object needs and the kernel does not export
kept_back() {
	nm -u "$2" | awk '{ print $2 }' | grep -v '^__this_module$' | sort >"$work/needs"
	cut -f 2 "$1/Module.symvers" | sort >"$work/exports"
	comm -23 "$work/needs" "$work/exports"
}

some=''
for suite in bullseye trixie-backports; do
	if ! kdir=$(tests/vm/guest/other-headers.sh $suite 2>"$work/why"); then
		echo "skip - the module for the kernel of $suite: $(tail -n 1 "$work/why")"
		continue
	fi
	some=yes
	release=${kdir##*linux-headers-}
	check "it compiles for $release, of $suite" compile "$kdir" "$work/$suite"
	kept=$(kept_back "$kdir" "$work/$suite/xvtrace.o" 2>&1)
	check "and the kernel exports all that it needs${kept:+, but: $kept}" test -z "$kept"
done
[ -n "$some" ] || exit 77
[ $failures -eq 0 ]
