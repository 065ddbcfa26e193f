#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# Which libraries the program maps: few, and libvirt only where a domain is asked for. Without
# libvirt everything else works.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
region=$work/region
"$xvtrace" region create "$region" --size 64K --rings 1 >/dev/null || exit 1

# mapped ARG...: the libraries that a command maps, by the dynamic linker's own account
mapped() {
	LD_DEBUG=files LD_DEBUG_OUTPUT=$work/ld "$xvtrace" "$@" >/dev/null 2>&1
	sed -n 's|.*calling init: .*/||p' "$work"/ld.* | sort -u
	rm -f "$work"/ld.*
}

# few ARG...: at most twelve, and only those that are named here
few() {
	local names unknown
	names=$(mapped "$@")
	[ -n "$names" ] && [ "$(wc -l <<<"$names")" -le 12 ] || { echo "$names" && return 1; }
	unknown=$(grep -vE '^(ld-linux.*|lib(c|uring|tracefs|traceevent|jansson|zstd|seccomp))\.so' <<<"$names")
	[ -z "$unknown" ] || { echo "$unknown" && return 1; }
}

if nm "$xvtrace" | grep -q __asan_init; then
	echo "skip - the libraries of each command: sanitizers bring theirs"
else
	check "--version maps few libraries" few --version
	check "region show maps few libraries" few region show "$region"
	check "record -r maps few libraries" few record -q -o "$work/t.xvt" --duration 0.1 -r g="$region"
	check "report maps few libraries" few report "$work/t.xvt"
	check "record -d maps libvirt" grep -q '^libvirt\.so' <(mapped record -o "$work/d.xvt" -d test -c test:///default)
fi

check "a domain of libvirt's own test driver is asked for its region" \
	grep -q 'test: it has no <shmem' <("$xvtrace" record -o "$work/d.xvt" -d test -c test:///default 2>&1)

# without TEXT COMMAND...: what holds where COMMAND... runs xvtrace without libvirt
without() {
	local text=$1
	shift
	"$@" record -q -o "$work/d.xvt" -d test >"$work/out" 2>&1
	check "$text: record -d fails" test $? -eq 1
	check "$text: it says what is missing and what to install" \
		grep -q 'test: libvirt cannot be loaded: .*libvirt\.so.*libvirt0.*-r$' "$work/out"
	"$@" record -q -o "$work/r.xvt" --duration 0.1 -r g="$region" 2>"$work/err"
	check "$text: record -r works" ended_idle $? "$work/err"
	"$@" doctor --json >"$work/doctor"
	check "$text: doctor says how to get it" test "$(jq '.libvirt == null and
		any(.problems[]; .fix | contains("install libvirt0"))' "$work/doctor")" = true
}

# A library that is damaged.
soname=$(strings -a "$xvtrace" | grep -m 1 '^libvirt\.so')
mkdir "$work/stub"
: >"$work/stub/$soname"
without "with a libvirt of 0 bytes" env LD_LIBRARY_PATH="$work/stub" "$xvtrace"

# One that lacks a function.
echo 'void virConnectOpen(void); void virConnectOpen(void) { }' |
	"${CC:-gcc}" -shared -fPIC -x c -o "$work/stub/$soname" - || exit 1
check "with an old libvirt: the function that it lacks is named" \
	grep -qE "test: $soname has no vir[A-Za-z]+\(\) and is too old; .*libvirt0" \
	<(LD_LIBRARY_PATH=$work/stub "$xvtrace" record -o "$work/d.xvt" -d test 2>&1)

# None: the folder that holds it, in a name space of our own, less that file.
found=$(LD_DEBUG=files LD_DEBUG_OUTPUT=$work/ld "$xvtrace" record -o "$work/d.xvt" -d test -c test:///default >/dev/null 2>&1
	sed -n "s|.*calling init: \(.*/$soname\)\$|\1|p" "$work"/ld.*)
folder=$(dirname "$(readlink -f "${found:-/nowhere/x}")")
cat >"$work/hidden" <<SCRIPT
set -e
mount -t tmpfs t "$work/layers"
mkdir "$work/layers/upper" "$work/layers/work"
mount -t overlay -o "lowerdir=$folder,upperdir=$work/layers/upper,workdir=$work/layers/work,userxattr" o "$folder"
rm "$folder/$soname"*
exec "\$@"
SCRIPT
mkdir "$work/layers"
if [ -z "$found" ]; then
	echo "skip - without libvirt: it is not installed here"
elif ! unshare -rm sh "$work/hidden" true 2>/dev/null; then
	echo "skip - without libvirt: overlays in a name space of our own are not allowed here"
else
	without "without libvirt" unshare -rm sh "$work/hidden" "$xvtrace"
fi
[ $failures -eq 0 ]
