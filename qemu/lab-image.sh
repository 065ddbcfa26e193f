#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the lab's first-level machine: a Debian system that can run QEMU with KVM, and what is to be tested in it.
# Each part is built again only when something that it is made of has changed; the system itself (two minutes, needs
# root and the network) when this machine's Debian release or the list of packages has.
#
# usage: lab-image.sh
#
# reads:  $BUILD/xvtrace, $BUILD/tests/tools/*, $BUILD/guest/initramfs.gz, qemu/, tests/
# writes: $BUILD/lab/base.img		/ of that machine, mounted read-only
#         $BUILD/lab/programs.img	/lab in it: this checkout's qemu/ and tests/, and build/
#         $BUILD/lab/initramfs.gz	what it boots: the guests' image with more modules
set -eu

qemu_dir=$(cd "$(dirname "$0")" && pwd)
. "$qemu_dir/common.sh"

[ $# -eq 0 ] || {
	sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

lab=$BUILD/lab
top=$(dirname "$qemu_dir")
# What the scripts of qemu/ and tests/ call. The libraries of xvtrace are found out.
packages="qemu-system-x86 qemu-utils kmod cpio jq socat procps gawk bc xz-utils"
# kvm_intel for a machine that can nest on Intel; crc32c is what ext4 asks for by a name that only an alias knows.
modules="ext4 crc32c_generic overlay kvm_amd kvm_intel"

# temporary files: a mmdebstrap that was killed leaves 500 MB
tmp=$lab/tmp
mkdir -p "$lab"
exec 9>"$lab/lock"
flock 9
rm -rf --one-file-system "$tmp"
mkdir "$tmp"
trap 'rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# library_packages FILE: the packages of the libraries that it names
library_packages() {
	local soname path
	for soname in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		path=$(ldconfig -p | awk -v so="$soname" '$1 == so { print $NF; exit }')
		# dpkg knows the path before or after /lib moved below /usr.
		{ dpkg -S "$path" || dpkg -S "/usr$path" || dpkg -S "${path#/usr}"; } 2>/dev/null | sed 's/:.*//' | head -n 1
	done | sort -u
}

# debian_sources: what this machine installs Debian from, a line each
debian_sources() {
	# shellcheck disable=SC2016 # the variables are apt's
	apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u
}

# make_ext4 DIR IMAGE MB-TO-SPARE. No journal: it is mounted for a run only.
make_ext4() {
	local mb
	mb=$(du -sm --apparent-size "$1" | cut -f 1)
	truncate -s "$((mb + mb / 8 + $3))M" "$2"
	mke2fs -q -F -t ext4 -O ^has_journal -E lazy_itable_init=1 -d "$1" "$2"
}

build_base() {
	local source mirrors=()
	[ "$(id -u)" = 0 ] || qemu_die "$lab/base.img: only root can build it; run make lab once as root"
	qemu_need mmdebstrap mmdebstrap
	while IFS= read -r source; do
		mirrors+=("$source")
	done <"$tmp/sources"
	[ ${#mirrors[@]} -gt 0 ] || qemu_die "apt has no lists of Debian's packages; run apt-get update as root"
	qemu_say "building the lab's system, about two minutes"
	# Proxies and the like hold for that system's apt too.
	apt-config dump --format '%f "%v";%n' Acquire::http Acquire::https Acquire::Check-Valid-Until Acquire::Check-Date |
		grep -v ' "";$' >"$tmp/apt.conf" || :
	# minbase, and no Recommends: a QEMU without displays. /proc is mounted while the hook runs, so no image is made in it.
	# shellcheck disable=SC2016 # $1 is the hook's
	TMPDIR=$tmp nice -n 5 mmdebstrap --quiet --mode=root --variant=minbase --format=directory --aptopt="$tmp/apt.conf" \
		--include="$(tr ' \n' ',,' <"$tmp/packages" | sed 's/,$//')" \
		--customize-hook='mkdir "$1/lab"; rm -rf "$1"/usr/share/locale "$1"/usr/share/doc/* "$1"/usr/share/man/*' \
		"$(sed -n 's/^deb [^ ]* \([^ -]*\) .*/\1/p' "$tmp/sources" | head -n 1)" "$tmp/root" "${mirrors[@]}" >&2 </dev/null ||
		qemu_die "mmdebstrap: failed, see above"
	make_ext4 "$tmp/root" "$tmp/base.img" 64
	mv "$tmp/base.img" "$lab/base.img"
	mv "$tmp/base.made-of" "$lab/base.made-of"
}

if [ ! -x "$BUILD/xvtrace" ] || [ ! -f "$BUILD/guest/initramfs.gz" ]; then
	qemu_die "$BUILD: no xvtrace or no guest/initramfs.gz; run make and make guest, or make lab, which does all"
fi
qemu_need readelf binutils

{ echo "$packages" && library_packages "$BUILD/xvtrace"; } >"$tmp/packages"
debian_sources >"$tmp/sources"
# The sources' hosts are left out: another mirror has the same packages.
{ cat "$tmp/packages" && sed -n 's/^deb [^ ]* //p' "$tmp/sources"; } >"$tmp/base.made-of"
# Without apt's lists nothing tells the release; what is there is used.
if [ ! -f "$lab/base.img" ] || { [ -s "$tmp/sources" ] && ! cmp -s "$tmp/base.made-of" "$lab/base.made-of"; }; then
	build_base
fi

# The modules must be those of the kernel that boots; build-image.sh fetches it.
"$qemu_dir/guest-packages.sh"
eval "$("$qemu_dir/guest-packages.sh" --print)"
echo "$KRELEASE $modules $(cat "$qemu_dir/init.sh" "$qemu_dir/build-image.sh" | cksum)" >"$tmp/initramfs.made-of"
if [ ! -f "$lab/initramfs.gz" ] || ! cmp -s "$tmp/initramfs.made-of" "$lab/initramfs.made-of"; then
	# No programs and no xvtrace.ko: a new one of those is no reason to build this again.
	GUEST_MODULES="$modules" GUEST_IMAGE=$lab/initramfs.gz GUEST_PROGRAMS=/none XVTRACE_KO=/none "$qemu_dir/build-image.sh"
	mv "$tmp/initramfs.made-of" "$lab/initramfs.made-of"
fi

# Copied each time, as it takes less than a second.
stage=$tmp/lab
mkdir -p "$stage/build/guest" "$stage/build/tests/clocks"
cp -R "$top/qemu" "$stage/"
(cd "$top" && find tests \( -name '*.sh' -o -name '*.jq' \) -exec cp --parents {} "$stage" \;)
cp "$BUILD/xvtrace" "$stage/build/"
[ ! -d "$BUILD/tests/tools" ] || cp -R "$BUILD/tests/tools" "$stage/build/tests/"
# tests/vm/t30 starves a recorder.
[ ! -f "$BUILD/tests/clocks/starve" ] || cp "$BUILD/tests/clocks/starve" "$stage/build/tests/clocks/"
cp "$BUILD/guest/initramfs.gz" "$stage/build/guest/"
cp "$KERNEL" "$stage/build/guest/kernel"
# A guest that shall come back from S3 must boot as a PC does.
cp "$VMLINUZ" "$stage/build/guest/vmlinuz"
make_ext4 "$stage" "$tmp/programs.img" 2048
mv "$tmp/programs.img" "$lab/programs.img"
