#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A Debian guest with systemd that has the package of the built module and what `make install-guest`
# installs: at each boot, and when the module comes again, the events of /etc/xvtrace/guest.conf and that
# of `record -e` are on and have their formats, by no hand in the guest.
set -u
. "$(dirname "$0")/lib.sh"
trace=$work/trace.xvt root=$(realpath "$work")/root
skip() { echo "skip - a whole guest: $*" && exit 77; }
[ "$(id -u)" = 0 ] || skip "only root can make one"
for tool in mmdebstrap mke2fs dpkg-deb; do
	command -v $tool >/dev/null || skip "$tool is missing"
done
eval "$(qemu/guest-packages.sh --print)"

# --- its disk
apt-config dump --format '%f "%v";%n' Acquire::http Acquire::https Acquire::Check-Valid-Until Acquire::Check-Date |
	grep -v ' "";$' >"$work/apt.conf"
TMPDIR=$work mmdebstrap --quiet --mode=root --variant=minbase --format=directory --aptopt="$work/apt.conf" \
	--include=systemd,systemd-sysv,udev,kmod bookworm "$root" >"$work/log" 2>&1 </dev/null ||
	skip "no packages of Debian can be fetched: $(tail -n 1 "$work/log")"
deb=$(packaging/modules-deb.sh "$BUILD/guest/linux$(qemu_suffix)/xvtrace.ko" 1 "$work")
again=$(packaging/modules-deb.sh "$BUILD/guest/linux$(qemu_suffix)/xvtrace.ko" 1 "$work/again")
check "the module's package is the same when it is built again" cmp "$deb" "$again"
cp "$deb" "$root/tmp"
check "it is installed, without other packages" eval 'chroot "$root" dpkg -i "/tmp/$(basename "$deb")" >"$work/dpkg" 2>&1'
check "depmod knows the module by its device" grep -q 'pci:v00001AF4d00001110.* xvtrace$' "$root/lib/modules/$KRELEASE/modules.alias"
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install-guest BUILD="$BUILD" PREFIX=/usr DESTDIR="$root" || exit 1
check "the configuration has no event on" eval '! grep -v "^#" "$root/etc/xvtrace/guest.conf"'
printf 'event sched:sched_wak*  # a pattern\nevent timer\nhost_events=yes\n' >>"$root/etc/xvtrace/guest.conf"
install -m 755 tests/vm/guest/whole.sh "$root/whole.sh"
cat >"$root/etc/systemd/system/whole.service" <<'UNIT'
[Service]
ExecStart=/whole.sh
[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl -q enable whole.service
# It hangs up the console.
chroot "$root" systemctl -q mask serial-getty@ttyS0.service
truncate -s 1G "$work/disk" && mke2fs -q -t ext4 -d "$root" "$work/disk" && rm -rf "$root" || exit 1

# --- its kernel comes with the tests' image, which mounts that disk
need "an image with a file system" eval 'GUEST_MODULES="ext4 crc32c_generic" GUEST_IMAGE=$work/initramfs.gz qemu/build-image.sh 2>"$work/image.err" || { cat "$work/image.err"; false; }'
export VM_INITRD=$work/initramfs.gz
mkdir "$work/overlay"
cat >"$work/overlay/init" <<'INIT'
#!/bin/sh
export PATH=/bin
mount -t devtmpfs d /dev
mount -t proc p /proc
for m in virtio_pci virtio_blk crc32c_generic ext4; do modprobe $m; done
mkdir -p /disk
mount -t ext4 /dev/vda /disk
umount /proc
exec switch_root /disk /sbin/init
INIT
chmod +x "$work/overlay/init"
# A boot may take that long to say that the host may choose events.
record_start "$trace" --follow --join-timeout 300 -e irq:softirq_entry -r g1="$XVT_SHM_DIR/${XVT_SHM_PREFIX}g1"
need "it starts" vm_start g1 --vcpus 2 --mem 512 --region-size 8M --reboot --overlay "$work/overlay" \
	--qemu-arg -drive --qemu-arg "file=$(realpath "$work/disk"),format=raw,if=virtio"
said() { tr -d '\r' <"$(vm_log g1)" | grep -aqE "^XVT-SAY $1"; }
need "it reboots twice, and the module goes and comes" vm_wait_log g1 '^XVT-SAY done' 500
check "the recorder ends cleanly" record_stop
vm_kill g1
grep -a '^XVT-SAY' "$(vm_log g1)"
cat "$trace.err"
for boot in 1 2 3; do
	check "boot $boot: the events of the configuration are on, in an instance of their own" said "boot $boot on 1 sched X top 0 result success"
done
for boot in 1 2 3; do
	check "boot $boot: the host may choose events, as the configuration says" said "boot $boot host events 1"
done
for boot in 1 2 3; do
	check "boot $boot: after an orderly end it asks for no other machine" said "boot $boot asked 0"
done
check "when the module goes and comes, it may again" said "back host events 1"
for what in "'host_events=no': 0 header 1 " "'host_events yes': 1 header 2 " "'host_events = yes': 1 header 2 " "'': 0 header 1 " \
	"'host_events=perhaps': 0 header 1 host_events is yes or no, not 'perhaps'"; do
	check "configuration $what" said "host events $what\$"
done
check "when the module goes, they are off" said gone
check "when it comes again, they are on" said back
check "a pattern that no event is like is told, and the others hold" eval 'said "wrong 1 timer 0" && said "start xvt-guest: /etc/xvtrace/guest.conf:[0-9]*: no event is like .no_such:thing"'
"$xvtrace" report --no-task "$trace" | awk '{ sub(/:$/, "", $4); n[$4]++ } END { for (e in n) print e, n[e] }' | sort >"$work/names"
check "no event is without its format" eval '! grep -E "^type[0-9]" "$work/names"'
for event in sched_waking sched_wakeup hrtimer_start timer_start softirq_entry print; do
	check "$event is there" grep -q "^$event " "$work/names"
done
"$xvtrace" report --no-task "$trace" -e print -e softirq_entry >"$work/boots"
# asked_for BOOT: the event of -e is between this boot's first and last line
asked_for() { awk -v boot="whole boot $1\$" '$0 ~ boot { n += held; held = 0; seen = 1 } seen && / softirq_entry: / { held++ } END { exit !n }' "$work/boots"; }
for boot in 1 2 3; do
	check "boot $boot is recorded" [ "$(grep -c "whole boot $boot" "$work/boots")" -eq 20 ]
	check "boot $boot: the event that the host asks for is on" asked_for $boot
done
check "the sums add up" adds_up "$trace"
finish
