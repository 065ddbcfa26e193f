#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Print a libvirt domain for a guest with a region: domain.xml.in, filled in.
#
# usage: make-domain.sh NAME --kernel FILE --initrd FILE --log FILE [OPTION]...
#   --type qemu|kvm   default: kvm where the CPU has it and /dev/kvm opens, else qemu
#   --vcpus N --mem MB --region-size SIZE   default 1, 256, 4M
#   --shm NAME        the region is /dev/shm/NAME (default xvtrace-NAME)
#   --master          the region takes part in snapshots and migration
#   --reboot          a reboot reboots (default: it ends the domain)
#   --mod 'A=1;B=2'   parameters of xvtrace.ko; none: do not load it
#   --append WORDS    more of the kernel's command line
#   --emulator FILE   instead of libvirt's choice
#
# QEMU runs as libvirt's own user: it must be able to read kernel and initrd (libvirt-lib.sh copies them).
set -eu

qemu_dir=$(cd "$(dirname "$0")" && pwd)
. "$qemu_dir/common.sh"

usage() {
	sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

case ${1:--} in
-*) usage ;;
esac
name=$1
shift
type='' vcpus=1 mem=256 size=4M shm=xvtrace-$name role=peer on_reboot=destroy mod='' append='' kernel='' initrd='' log='' emulator=''
while [ $# -gt 0 ]; do
	case $1 in
	--master) role=master && shift && continue ;;
	--reboot) on_reboot=restart && shift && continue ;;
	esac
	[ $# -ge 2 ] || usage
	case $1 in
	--kernel) kernel=$2 ;;
	--initrd) initrd=$2 ;;
	--log) log=$2 ;;
	--type) type=$2 ;;
	--vcpus) vcpus=$2 ;;
	--mem) mem=$2 ;;
	--region-size) size=$2 ;;
	--shm) shm=$2 ;;
	--mod) mod=$2 ;;
	--append) append=" $2" ;;
	--emulator) emulator="<emulator>$2</emulator>" ;;
	*) usage ;;
	esac
	shift 2
done
if [ -z "$kernel" ] || [ -z "$initrd" ] || [ -z "$log" ]; then
	usage
fi
if [ -z "$type" ]; then
	[ -n "$(qemu_no_kvm)" ] && type=qemu || type=kvm
fi

bytes=$(qemu_region_size "$size")
[ "$bytes" -ge 1048576 ] || qemu_die "--region-size $size: libvirt takes 1M at least"
[ "$type" = kvm ] && tsc='' || tsc=$(qemu_tsc_words)
cmdline="console=ttyS0 panic=-1 quiet tsc=reliable no_timer_check $tsc xvt.name=$name${mod:+ xvt.mod=$mod}$append"

# fill WORD VALUE: a sed command that puts the value, escaped for XML and then for sed, in the place of @WORD@
fill() {
	value=$(printf %s "$2" | sed "s/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/'/\&apos;/g" | sed 's/[\&|]/\\&/g')
	printf 's|@%s@|%s|g\n' "$1" "$value"
}

{
	fill TYPE "$type"
	fill NAME "$name"
	fill MEM "$mem"
	fill VCPUS "$vcpus"
	fill KERNEL "$kernel"
	fill INITRD "$initrd"
	fill CMDLINE "$cmdline"
	fill ON_REBOOT "$on_reboot"
	fill LOG "$log"
	fill SHM "$shm"
	fill ROLE "$role"
	fill SIZE $((bytes >> 20))
	if [ -n "$emulator" ]; then
		echo "s|@EMULATOR@|$emulator|"
	else
		echo "/@EMULATOR@/d"
	fi
} | sed -f /dev/stdin "$qemu_dir/domain.xml.in"
