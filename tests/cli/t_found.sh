#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What `make` built before a library was installed is built again after it was, and only then. A
# pkg-config that knows no libzstd stands in for a machine without it.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
known=$(command -v pkg-config) && pkg-config --exists libzstd || { echo "skip - a library that appears: there is no libzstd" && exit 77; }
mkdir "$work/bin"
cat >"$work/bin/pkg-config" <<SCRIPT
#!/bin/sh
case "\$*" in
*libzstd*) exit 1 ;;
esac
exec $known "\$@"
SCRIPT
chmod +x "$work/bin/pkg-config"

# built PATH: make two objects that depend on what is installed
objects="$work/b/host/base/compress.o $work/b/pic/host/base/compress.o"
built() {
	# shellcheck disable=SC2086 # two words
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u RING PATH="$1" \
		make -s BUILD="$work/b" CC="${CC:-gcc}" "${@:2}" $objects >"$work/out" 2>&1
}
# compresses: both of them use the library
compresses() {
	local o
	for o in $objects; do
		nm "$o" | grep -q ' U ZSTD_' || return
	done
}
times() {
	# shellcheck disable=SC2086
	stat -c %y $objects
}

check "make without the library" built "$work/bin:$PATH"
check "... builds objects that do without it" eval '! compresses'
before=$(times)
check "make once more builds nothing" built "$work/bin:$PATH" -q
check "make when it is installed" built "$PATH"
check "... builds them again, with it" compresses
check "make once more builds nothing" built "$PATH" -q
check "make when it is gone" built "$work/bin:$PATH"
check "... builds them again, without it" eval '! compresses && [ "$before" != "$(times)" ]'
[ $failures -eq 0 ]
