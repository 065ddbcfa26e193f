#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# shellcheck disable=SC2317
# slow: builds all Debian packages
# `make deb`: the packages are built, lintian has no complaint, and in a system with what this one has
# installed they can be installed, used and purged. `make proof` does the same in a fresh system and
# builds the module with dkms.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
for tool in dpkg-buildpackage dh dh_dkms lintian lowdown; do
	command -v $tool >/dev/null || { echo "skip - packages: $tool is missing" && exit 77; }
done

made() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s deb BUILD="$BUILD" >"$work/out" 2>&1 && return
	cat "$work/out"
	return 1
}
check "make deb" made
deb=$(realpath "$BUILD")/deb
[ -n "$(ls "$deb"/*.deb 2>/dev/null)" ] || exit 1
version=$(dpkg-deb -f "$deb"/xvtrace_*.deb Version)
check "their version is the program's: $version" [ "$("$xvtrace" --version | head -n 1)" = "xvtrace $version" ]
lintian --allow-root -I "$deb"/*.changes >"$work/lintian" 2>&1
sed 's/^/# /' "$work/lintian"
check "lintian has no error and no warning" lintian --allow-root --fail-on error,warning "$deb"/*.changes

# These are installed where the guest's tools are built.
guest='/(xvt-guest|guest\.conf|xvtrace-guest\.service|70-xvtrace-guest\.rules)$'
# What make install puts in place is in one package each, and nothing else but dpkg's own documents.
check "make install" env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install BUILD="$BUILD" DESTDIR="$work/root" PREFIX=/usr \
	LIBDIR="/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
(cd "$work/root" && find . ! -type d | grep -vE "$guest" | sort) >"$work/installed"
for package in "$deb"/*.deb; do
	case $package in *-dbgsym_* | *-dkms_*) ;; *) dpkg-deb -c "$package" | sed -E 's/.* (\.\/[^ ]*)( -> .*)?$/\1/; s/\.gz$//; /\/$/d' ;; esac
done | grep -vE "/(copyright|changelog)$|$guest" | sort >"$work/packed"
check "the packages have the same files: $(wc -l <"$work/packed")" diff "$work/installed" "$work/packed"

# A system like this one, in layers over it: what is written goes into the upper one.
cat >"$work/layered" <<SCRIPT
set -e
mount -t tmpfs t "$work/layers"
mkdir "$work/layers/upper" "$work/layers/work" "$work/layers/root"
mount -t overlay -o "lowerdir=/,upperdir=$work/layers/upper,workdir=$work/layers/work" o "$work/layers/root"
mount -t tmpfs t "$work/layers/root/tmp"
mkdir "$work/layers/root/tmp/deb"
cp tests/cli/packages_inside.sh "$deb"/*.deb "$work/layers/root/tmp/deb"
rm "$work/layers/root/tmp/deb/"*-dbgsym_*
mount --rbind /dev "$work/layers/root/dev"
mount -t proc p "$work/layers/root/proc"
exec chroot "$work/layers/root" bash /tmp/deb/packages_inside.sh /tmp/deb
SCRIPT
mkdir "$work/layers"
if [ "$(id -u)" != 0 ] || ! unshare -m sh -c 'mount -t tmpfs t /mnt' 2>/dev/null; then
	echo "skip - the packages are installed and purged: only root can, where mounts are allowed"
else
	unshare -m --propagation private sh "$work/layered" 2>&1 | tee "$work/inside"
	check "all of that in a system of its own" [ "${PIPESTATUS[0]}" -eq 0 ]
fi
[ $failures -eq 0 ]
