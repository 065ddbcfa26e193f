# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by tests of guests with Linux 6.12 and nothing of xvtrace, behind lib.sh and FLAVOUR.

if ! qemu/guest-packages.sh 2>"$work/packages.err"; then
	echo "skip - a guest with the kernel of linux-image-$FLAVOUR: $(tail -n 1 "$work/packages.err")"
	exit 77
fi
export VM_INITRD=$work/initramfs.gz
need "an image without a module and programs of ours" eval \
	'XVTRACE_KO=$work/none GUEST_PROGRAMS=$work/none GUEST_IMAGE=$VM_INITRD qemu/build-image.sh 2>"$work/image.err"'

# guest NAME SIZE SCRIPT OPTION...: the ring is a file of its own, a part of the guest's RAM at 128 MiB. SIZE "any": the
# whole RAM is a file, and the guest's kernel chooses the place.
guest() {
	local name=$1 size=$2 script=$3 shm=$XVT_SHM_DIR/$XVT_SHM_PREFIX$1-ring
	shift 3
	if [ "$size" = any ]; then
		vm_start "$name" --vcpus 2 --mem 256 --mod none "$@" --overlay "$(overlay "$script")" --out-disk "$work/$name.tar" 16M \
			--append "reserve_mem=4M:4096:xvt trace_instance=xvt@xvt,sched:*,irq:*,timer:*" \
			--qemu-arg -object --qemu-arg "memory-backend-file,id=ram,size=256M,mem-path=$shm,share=on" \
			--qemu-arg -machine --qemu-arg memory-backend=ram
		return
	fi
	vm_start "$name" --vcpus 2 --mem 256 --mod none "$@" --overlay "$(overlay "$script")" --out-disk "$work/$name.tar" 16M \
		--append "memmap=4M\$0x8000000 trace_instance=xvt@0x8000000:$size,sched:*,irq:*,timer:*" \
		--qemu-arg -object --qemu-arg memory-backend-ram,id=m0,size=128M \
		--qemu-arg -object --qemu-arg "memory-backend-file,id=m1,size=4M,mem-path=$shm,share=on" \
		--qemu-arg -object --qemu-arg memory-backend-ram,id=m2,size=124M \
		--qemu-arg -numa --qemu-arg node,nodeid=0,cpus=0-1,memdev=m0 \
		--qemu-arg -numa --qemu-arg node,nodeid=1,memdev=m1 \
		--qemu-arg -numa --qemu-arg node,nodeid=2,memdev=m2
}

# said NAME CPU FIGURE: of what the guest's kernel counts
said() {
	sed -n "s/.*XVT-SAY cpu$2 .*\b$3=\([0-9]*\).*/\1/p" "$(vm_log "$1")"
}
