#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# /run.sh of the lab's first-level machine (busybox, in the initramfs): puts the Debian system together, loads KVM and
# runs /script in it, from /lab. What the script leaves below /lab/build/tests/run goes out by /dev/vda.

fail() {
	echo "XVT-LAB-ERROR: $*"
	exit 125
}

# Else it gets out between the script's own lines.
dmesg -n 1
for module in crc32c_generic ext4; do
	modprobe $module || fail "modprobe $module: failed"
done
# One that can nest would only be slower, and nothing nests in here.
if grep -qw svm /proc/cpuinfo; then
	modprobe kvm_amd nested=0 || fail "modprobe kvm_amd: failed"
elif grep -qw vmx /proc/cpuinfo; then
	modprobe kvm_intel nested=0 || fail "modprobe kvm_intel: failed"
else
	fail "this machine's CPUs have neither svm nor vmx: the one beneath it does not nest"
fi

# Switching an event on also has the names of tasks recorded, by patching the scheduler. With a thread for each vCPU,
# QEMU 7.2 can hang over a patch in so hot a place (qemu/guest-lib.sh); instances take this over when they are made.
echo norecord-cmd >/sys/kernel/tracing/trace_options || fail "trace_options: cannot be written"

root=/mnt
mkdir $root
mount -t ext4 -o ro /dev/vdb $root || fail "/dev/vdb: cannot be mounted"
mount -t ext4 /dev/vdc $root/lab || fail "/dev/vdc: cannot be mounted"
for dir in dev proc sys; do
	mount --rbind /$dir $root/$dir || fail "/$dir: cannot be mounted"
done
mkdir /dev/shm
for dir in dev/shm run tmp var/tmp; do
	mount -t tmpfs tmpfs $root/$dir || fail "/$dir: cannot be mounted"
done
cp /script /arguments $root/run/

# Where the script lies in the checkout is where it finds what it sources.
chroot $root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp BUILD=/lab/build VM_KERNEL=/lab/build/guest/kernel \
	VM_POLL_SECONDS=0.5 \
	bash -c 'cd /lab && mapfile -t words </run/arguments && install -D -m 755 /run/script "${words[0]}" && mkdir -p build/tests/run &&
		echo XVT-LAB-BEGIN && exec bash "${words[@]}"' </dev/null
rc=$?
echo "XVT-LAB-END rc=$rc"
echo "XVT-LAB-UPTIME $(cut -d . -f 1 /proc/uptime)"
chroot $root /usr/bin/tar -c -S -f /dev/vda -C /lab/build/tests/run . || echo "XVT-LAB-ERROR: the files could not be written"
exit $rc
