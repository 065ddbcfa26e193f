#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Pack a folder as a compressed cpio archive for the kernel. The same files give the same bytes, whichever user packs them
# where and when: names are sorted, times fixed, the owner is root, modes are 755 or 644.
#
# usage: overlay.sh DIR OUT.cpio.gz
#
# The kernel unpacks concatenated archives one after the other, so cat initramfs.gz OUT.cpio.gz adds or replaces files.
set -eu

qemu_dir=$(cd "$(dirname "$0")" && pwd)
. "$qemu_dir/common.sh"

[ $# -eq 2 ] || qemu_die "usage: overlay.sh DIR OUT.cpio.gz"
[ -d "$1" ] || qemu_die "$1: not a folder"
qemu_need cpio cpio

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# A copy, because times and modes of the user's own files are the user's.
mkdir "$tmp/root"
cp -RP "$1/." "$tmp/root"
find "$tmp/root" -type d -exec chmod 755 {} +
find "$tmp/root" -type f -perm -u+x -exec chmod 755 {} +
find "$tmp/root" -type f ! -perm -u+x -exec chmod 644 {} +
find "$tmp/root" -exec touch -h -d @0 {} +
(cd "$tmp/root" && find . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 --reproducible) >"$tmp/cpio"
# Level 1: three times faster than the default, and a guest's boot does not notice the size.
gzip -n -1 "$tmp/cpio"
# Beside the target and renamed, so that half a file is never read.
cp "$tmp/cpio.gz" "$2.$$"
mv "$2.$$" "$2"
