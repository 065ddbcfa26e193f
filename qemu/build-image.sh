#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Build the guests' initramfs: busybox, /init, kernel modules, xvtrace.ko and our static programs. Building it twice
# from the same parts gives the same bytes.
#
# usage: build-image.sh
#
# reads:  $BUILD/guest/linux/xvtrace.ko (if it is there; XVTRACE_KO names another one), $BUILD/guest/bin/*
# writes: $BUILD/guest/initramfs.gz
# A FLAVOUR other than amd64 reads linux-$FLAVOUR/xvtrace.ko and writes initramfs-$FLAVOUR.gz instead.
# GUEST_MODULES: more kernel modules to have in the image, for modprobe in /run.sh
# GUEST_PROGRAMS, GUEST_IMAGE: other places for the programs and for what is written
set -eu

qemu_dir=$(cd "$(dirname "$0")" && pwd)
. "$qemu_dir/common.sh"

[ $# -eq 0 ] || {
	sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

suffix=$(qemu_suffix)
XVTRACE_KO=${XVTRACE_KO:-$BUILD/guest/linux$suffix/xvtrace.ko}

# Loaded by /init.
boot_modules='virtio_pci virtio_net virtio_blk'
# For modprobe: msr writes the TSC, pvpanic tells the host of a panic.
more_modules="msr pvpanic_pci pvpanic_mmio ${GUEST_MODULES:-}"

"$qemu_dir/guest-packages.sh"
eval "$("$qemu_dir/guest-packages.sh" --print)"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
stage=$tmp/root

# A file name has - or _ where the module's name has _, and may say how it is compressed; the table is "NAME PATH".
modules=$tmp/modules
mkdir "$stage"
find "$KMODDIR/kernel" -name '*.ko' -o -name '*.ko.xz' -o -name '*.ko.zst' -o -name '*.ko.gz' |
	awk -F / '{ n = $NF; sub(/\.ko(\.[a-z]+)?$/, "", n); gsub(/-/, "_", n); print n, $0 }' >"$modules"

module_path() {
	sed -n "s/^$(echo "$1" | tr - _) //p" "$modules"
}

# modinfo_field FIELD FILE. The section .modinfo is a list of strings; kmod's modinfo may not be installed.
modinfo_field() {
	tr '\0' '\n' <"$2" | sed -n "s/^$1=//p"
}

built_in() {
	tr - _ <"$KMODDIR/modules.builtin" | grep -q "/$(echo "$1" | tr - _)\.ko\$"
}

# unpacked PATH: a module's bytes
unpacked() {
	case $1 in
	*.xz) qemu_need xz xz-utils && xz -dc "$1" ;;
	*.zst) qemu_need zstd zstd && zstd -dcq "$1" ;;
	*.gz) gzip -dc "$1" ;;
	*) cat "$1" ;;
	esac
}

# module_file NAME: where it is in the image, unpacked: the image itself is compressed
module_file() {
	echo "$moddir/$(basename "$(module_path "$1")" | sed 's/\.ko\..*/.ko/')"
}

# add_module NAME: with what it depends on. Only $1 survives the recursion: POSIX functions have no other locals.
add_module() {
	[ ! -f "$(module_file "$1")" ] || return 0
	[ -n "$(module_path "$1")" ] || qemu_die "$1: no such module in $KMODDIR"
	unpacked "$(module_path "$1")" >"$(module_file "$1")"
	for dependency in $(modinfo_field depends "$(module_file "$1")" | tr , ' '); do
		add_module "$dependency"
	done
}

moddir=$stage/lib/modules/$KRELEASE
mkdir -p "$stage/bin" "$stage/dev" "$stage/etc" "$stage/proc" "$stage/sys" "$stage/tmp" "$stage/usr" "$moddir"
ln -s bin "$stage/sbin"
ln -s ../bin "$stage/usr/bin"
ln -s ../bin "$stage/usr/sbin"
cp "$qemu_dir/init.sh" "$stage/init"
chmod 755 "$stage/init"

cp "$BUSYBOX" "$stage/bin/busybox"
for applet in $("$BUSYBOX" --list); do
	[ "$applet" = busybox ] || ln -s busybox "$stage/bin/$applet"
done

: >"$stage/etc/modules"
for module in $boot_modules $more_modules; do
	if [ -n "$(module_path "$module")" ]; then
		add_module "$module"
		case " $boot_modules " in
		*" $module "*) echo "$module" >>"$stage/etc/modules" ;;
		esac
	elif ! built_in "$module"; then
		qemu_die "$module: no such module in $KMODDIR"
	fi
done

if [ -f "$XVTRACE_KO" ]; then
	# insmod in the guest would only say "invalid module format".
	release=$(modinfo_field vermagic "$XVTRACE_KO" | cut -d ' ' -f 1)
	[ "$release" = "$KRELEASE" ] ||
		qemu_die "$XVTRACE_KO: built for kernel $release, the guest has $KRELEASE; build it again with KDIR=$KDIR"
	cp "$XVTRACE_KO" "$moddir/xvtrace.ko"
	for module in $(modinfo_field depends "$XVTRACE_KO" | tr , ' '); do
		add_module "$module"
	done
else
	qemu_say "$XVTRACE_KO: not there; this image has no xvtrace module"
fi

# busybox is static, so it runs here too; its depmod is what its modprobe expects. It lists modules as the file
# system does, in any order.
"$BUSYBOX" depmod -b "$stage" "$KRELEASE"
LC_ALL=C sort -o "$moddir/modules.dep" "$moddir/modules.dep"
rm -f "$moddir/modules.alias" "$moddir/modules.symbols"

for program in "${GUEST_PROGRAMS:-$BUILD/guest/bin}"/*; do
	[ -f "$program" ] || continue
	# Without this the guest's shell says "not found" about a file that is there.
	if command -v readelf >/dev/null && readelf -l "$program" 2>/dev/null | grep -q INTERP; then
		qemu_die "$program: needs shared libraries, the guest has none; link it with -static"
	fi
	rm -f "$stage/bin/${program##*/}"
	cp "$program" "$stage/bin/"
done

"$qemu_dir/overlay.sh" "$stage" "${GUEST_IMAGE:-$BUILD/guest/initramfs$suffix.gz}"
