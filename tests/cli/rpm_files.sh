#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rpm_files.sh: the RPMs in build/rpm have the files that `make install` and `make install-dkms` put in
# place, each in one package. Called by `make proof`, after `make rpm`.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
run_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s "$@" >"$work/out" 2>&1 || { cat "$work/out" && return 1; }; }
installed() {
	run_make guest-tools BUILD="$BUILD" && run_make install install-dkms BUILD="$BUILD" DESTDIR="$work/root" PREFIX=/usr \
		LIBDIR="$(rpm --eval '%{_libdir}')" && find "$work/root" ! -type d -printf '/%P\n' | sort >"$work/installed"
}
check "make install" installed
for package in "$BUILD"/rpm/*.rpm; do
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$package" 2>/dev/null
done | sed -n '/^d/!s/^[^ ]* //p' | grep -vE '/\.build-id|/licenses/|/LICENSE$' | sed 's/\.gz$//' | sort >"$work/packed"
check "the RPMs have the same files: $(wc -l <"$work/packed")" diff "$work/installed" "$work/packed"
[ $failures -eq 0 ]
