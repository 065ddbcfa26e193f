#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A Debian package with the module that was built for one kernel, as `dkms mkbmdeb` makes one: guests
# that get it need no compiler and no headers. `make modules-deb` calls this.
#
# usage: modules-deb.sh MODULE.ko VERSION DIR
#
# SIGN: a command that signs the module, called with its path behind. The same module gives the same
# package: times are SOURCE_DATE_EPOCH's, or that of packaging/debian/changelog.
set -eu
[ $# -eq 3 ] || { sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
command -v dpkg-deb >/dev/null || { echo 'modules-deb: dpkg-deb is missing: apt-get install dpkg' >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
: "${SOURCE_DATE_EPOCH:=$(date -d "$(sed -n 's/^ -- .*>  //p' "$here/debian/changelog" | head -n 1)" +%s)}"
export SOURCE_DATE_EPOCH

# A module says for which kernel it is.
kernel=$(tr '\0' '\n' <"$1" | sed -n 's/^vermagic=\([^ ]*\) .*/\1/p')
[ -n "$kernel" ] || { echo "modules-deb: $1: no kernel module" >&2; exit 1; }
name=xvtrace-modules-$(echo "$kernel" | tr 'A-Z_' 'a-z-')
case $(od -An -tu2 -j 18 -N 2 "$1" | tr -d ' ') in
62) arch=amd64 ;;
183) arch=arm64 ;;
*) echo "modules-deb: $1: of an unknown machine" >&2 && exit 1 ;;
esac

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$root"
ko=$root/lib/modules/$kernel/updates/xvtrace/xvtrace.ko
umask 022
mkdir -p "$(dirname "$ko")" "$root/DEBIAN" "$root/usr/share/doc/$name"
cp "$1" "$ko"
chmod 644 "$ko"
# shellcheck disable=SC2086 # a command with its arguments
[ -z "${SIGN:-}" ] || $SIGN "$ko"
cp "$here/debian/copyright" "$root/usr/share/doc/$name/"
cat >"$root/DEBIAN/control" <<CONTROL
Package: $name
Version: $2
Architecture: $arch
Maintainer: $(sed -n 's/^Maintainer: //p' "$here/debian/control")
Section: kernel
Priority: optional
Installed-Size: $(du -sk --apparent-size "$root/lib" | cut -f 1)
Depends: kmod
Recommends: linux-image-$kernel, xvtrace-guest
Provides: xvtrace-modules
Enhances: xvtrace
Description: one timeline for all virtual machines - module for Linux $kernel
 xvtrace records the events of virtual machines and their host on one timeline.
 .
 This package is for guests with the kernel $kernel: it has the module,
 built. The package xvtrace-dkms builds it in the guest, for any kernel.
CONTROL
cat >"$root/DEBIAN/postinst" <<POSTINST
#!/bin/sh
set -e
if [ "\$1" = configure ]; then
	depmod $kernel || true
	# A guest that has its device: udev loads the module, as at the next boot.
	if [ -d /run/systemd/system ] && [ "\$(uname -r)" = "$kernel" ]; then
		udevadm trigger --action=add --subsystem-match=pci --attr-match=vendor=0x1af4 --attr-match=device=0x1110 || true
	fi
fi
POSTINST
cat >"$root/DEBIAN/postrm" <<POSTRM
#!/bin/sh
set -e
if [ "\$1" = remove ] && [ -d /lib/modules/$kernel ]; then
	depmod $kernel || true
fi
POSTRM
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/postrm"
mkdir -p "$3"
dpkg-deb --root-owner-group -b "$root" "$3/${name}_$2_$arch.deb" >/dev/null
echo "$3/${name}_$2_$arch.deb"
