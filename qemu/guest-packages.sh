#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Bring Debian's kernel image, its headers and a static busybox into $BUILD/guest/packages/RELEASE,
# without installing anything and without root.
#
# usage: guest-packages.sh            fetch what is missing (stdout stays empty)
#        guest-packages.sh --print    print the paths, to be eval'ed; fetches nothing
#
# environment:
#   BUILD           build directory (default: build/ beside this folder)
#   FLAVOUR         what follows linux-image- in a package that depends on the kernel: amd64 (default), cloud-amd64, rt-amd64;
#                   with a series before it where Debian has one, as 6.12-amd64, 6.12-cloud-amd64, 6.12-rt-amd64
#   KERNEL_VERSION  pins the kernel, for example 6.1.0-56; default: what linux-image-$FLAVOUR depends on
#
# --print gives KRELEASE, KDIR (for make -C), VMLINUZ, KERNEL (what to boot, see unpack_kernel), KMODDIR and BUSYBOX.
set -eu

qemu_dir=$(cd "$(dirname "$0")" && pwd)
. "$qemu_dir/common.sh"

packages=$BUILD/guest/packages
# Remembers which release a flavour means, so that a second run needs no answer from apt (0.7 s each).
current=$packages/$FLAVOUR.current
# A release's name ends in the flavour without a series.
kind=$(echo "$FLAVOUR" | sed 's/^[0-9][0-9.]*-//')

# first_file CANDIDATE...: Debian 13 moved /lib and /bin below /usr, Debian 12 did not.
first_file() {
	for candidate; do
		if [ -e "$candidate" ]; then
			echo "$candidate"
			return
		fi
	done
	qemu_die "$1: not in the packages; this Debian release is not known to $0"
}

# quote WORD: the word in single quotes, so that a shell can eval it
quote() {
	printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

print_paths() {
	root=$packages/$1/root
	kmoddir=$(first_file "$root/lib/modules/$1" "$root/usr/lib/modules/$1")
	busybox=$(first_file "$root/bin/busybox" "$root/usr/bin/busybox")
	echo "KRELEASE=$(quote "$1")"
	echo "KDIR=$(quote "$root/usr/src/linux-headers-$1")"
	echo "VMLINUZ=$(quote "$root/boot/vmlinuz-$1")"
	echo "KERNEL=$(quote "$(first_file "$packages/$1/vmlinux" "$root/boot/vmlinuz-$1")")"
	echo "KMODDIR=$(quote "$kmoddir")"
	echo "BUSYBOX=$(quote "$busybox")"
}

# cached_release: the release that can be used without asking apt, or nothing
cached_release() {
	if [ -n "${KERNEL_VERSION:-}" ]; then
		release=$KERNEL_VERSION-$kind
	elif [ -f "$current" ]; then
		release=$(cat "$current")
	else
		return 0
	fi
	[ ! -f "$packages/$release/manifest" ] || echo "$release"
}

# show PACKAGE...: what apt knows about them, from its local lists
show() {
	apt-cache show --no-all-versions "$@" 2>/dev/null || :
}

# depends PATTERN: the names of the dependencies that match, out of the output of show
depends() {
	sed -n 's/^Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/ .*//' | grep -E "^($1)\$" || :
}

# wanted: what to fetch, one PACKAGE=VERSION a line, the kernel image first; fails with a package's name when apt
# does not know it
wanted() {
	if [ -n "${KERNEL_VERSION:-}" ]; then
		image=linux-image-$KERNEL_VERSION-$kind
	else
		image=$(show "linux-image-$FLAVOUR" | depends 'linux-image-[0-9].*')
		[ -n "$image" ] || { echo "linux-image-$FLAVOUR" && return 1; }
	fi
	headers=linux-headers-${image#linux-image-}
	more=$(show "$headers" | depends 'linux-headers-.*-common.*|linux-kbuild-.*')
	[ -n "$more" ] || { echo "$headers" && return 1; }
	# shellcheck disable=SC2086 # two names
	show "$image" "$headers" $more busybox-static |
		awk '/^Package:/ { name = $2 } /^Version:/ { print name "=" $2 }'
}

# release_of LIST
release_of() {
	sed -n '1s/^linux-image-\([^=]*\)=.*/\1/p' "$1"
}

# unpack_kernel VMLINUZ VMLINUX: under TCG half of a boot (3.5 of 7 s) is the kernel unpacking itself. QEMU also boots the
# ELF file inside, by the kernel's PVH entry. Then its addresses are not randomised; for that, boot VMLINUZ.
# A kernel that is compressed by something other than xz and zstd, or where the tool is missing, boots from VMLINUZ.
unpack_kernel() {
	# See the kernel's Documentation/x86/boot.rst: setup_sects, payload_offset, payload_length. The payload ends in
	# four bytes that belong to neither format.
	sectors=$(od -An -tu1 -j 497 -N 1 "$1")
	offset=$(od -An -tu4 -j 584 -N 4 "$1")
	length=$(od -An -tu4 -j 588 -N 4 "$1")
	start=$(((sectors + 1) * 512 + offset))
	case $(od -An -tx1 -j $start -N 4 "$1" | tr -d ' ') in
	fd377a58) tool=xz ;;
	28b52ffd) tool=zstd ;;
	*) return 0 ;;
	esac
	command -v $tool >/dev/null || return 0
	tail -c +$((start + 1)) "$1" | head -c $((length - 4)) | $tool -dcq >"$2" 2>/dev/null || rm -f "$2"
}

# fetch LIST: download and unpack in a temporary folder and rename it, so that a folder that is there is whole
fetch() {
	qemu_need dpkg-deb dpkg
	release=$(release_of "$1")
	tmp=$packages/$release.new
	rm -rf "$tmp"
	mkdir -p "$tmp/debs" "$tmp/root"
	qemu_say "fetching $(tr '\n' ' ' <"$1")"
	# The sandbox user only gives a warning here, because it cannot write into a folder of ours.
	(cd "$tmp/debs" && xargs apt-get -q -q -o APT::Sandbox::User=root download) <"$1" >&2 ||
		qemu_die "apt-get download: failed, see above; if a file was not found, run apt-get update as root"

	echo "# package version sha256" >"$tmp/manifest"
	for deb in "$tmp"/debs/*.deb; do
		dpkg-deb -x "$deb" "$tmp/root"
		# shellcheck disable=SC2016 # the variables are dpkg-deb's
		dpkg-deb -W --showformat='${Package} ${Version} ' "$deb" >>"$tmp/manifest"
		sha256sum "$deb" | cut -d ' ' -f 1 >>"$tmp/manifest"
	done
	rm -r "$tmp/debs"

	# The headers' Makefile includes the common one by the absolute path of an installed package. Everything
	# else in there is relative already, so with this the tree can be moved, or cached on another machine.
	# shellcheck disable=SC2016 # the variable is make's
	sed -i 's,/usr/src/,$(dir $(lastword $(MAKEFILE_LIST)))../,' "$tmp/root/usr/src/linux-headers-$release/Makefile"
	for link in "$tmp"/root/lib/modules/*/build "$tmp"/root/lib/modules/*/source; do
		[ ! -L "$link" ] || ln -sfn "../../..$(readlink "$link")" "$link"
	done

	unpack_kernel "$tmp/root/boot/vmlinuz-$release" "$tmp/vmlinux"

	rm -rf "${packages:?}/$release"
	mv "$tmp" "$packages/$release"
}

# same_as_fetched LIST: do the packages unpacked here have these versions?
same_as_fetched() {
	release=$(release_of "$1")
	[ -f "$packages/$release/manifest" ] || return 1
	[ "$(sed -n '/^#/d; s/ /=/; s/ .*//p' "$packages/$release/manifest" | sort)" = "$(sort "$1")" ]
}

case ${1:-} in
--print)
	release=$(cached_release)
	[ -n "$release" ] || qemu_die "kernel for $FLAVOUR${KERNEL_VERSION:+ $KERNEL_VERSION}: not fetched yet; run qemu/guest-packages.sh"
	print_paths "$release"
	exit
	;;
'') ;;
*)
	sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
	;;
esac

qemu_need apt-get "apt (this needs Debian)"
qemu_need flock util-linux
mkdir -p "$packages"
exec 9>"$packages/lock"
flock 9

cached=$(cached_release)
if [ -n "$cached" ]; then
	# A pinned kernel does not change. Otherwise the answer can only be another one after an apt-get update,
	# which writes into the folder of the lists.
	[ -z "${KERNEL_VERSION:-}" ] || exit 0
	lists=
	eval "$(apt-config shell lists Dir::State::lists/d)"
	[ -n "$(find "$lists" -maxdepth 0 -newer "$current")" ] || exit 0
fi

list=$packages/$FLAVOUR.wanted
if ! wanted >"$list"; then
	# A machine with a cached build directory and without lists of packages is a usual thing in CI.
	[ -z "$cached" ] || { qemu_say "apt knows no $(cat "$list"); using $cached, fetched before" && exit 0; }
	qemu_die "$(cat "$list"): apt does not know this package; run apt-get update as root, or choose another FLAVOUR or KERNEL_VERSION"
fi
same_as_fetched "$list" || fetch "$list"
[ -n "${KERNEL_VERSION:-}" ] || release_of "$list" >"$current"
