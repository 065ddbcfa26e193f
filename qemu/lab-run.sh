#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a script in the lab: in a Debian system that has real KVM (kvm_amd or kvm_intel with debugfs and tracepoints),
# whatever this machine has. Where this one cannot nest, its CPUs are emulated, with AMD's SVM.
#
# usage: lab-run.sh [OPTION]... SCRIPT [OUT [ARGUMENT]...]
#   SCRIPT            a bash script of this checkout. It runs as root in /lab, the lab's copy of this checkout with
#                     BUILD=/lab/build, where qemu/guest-lib.sh starts guests with KVM
#   OUT               a folder for what the script leaves in $BUILD/tests/run, emptied first (default: $BUILD/lab/out/NAME)
#   --timeout SEC     (default 900)
#   --vcpus N         (default: this machine's, 4 at most)
#   --mem MB          (default 3000)
#
# stdout is the script's stdout and stderr, at its end; the exit status is the script's, or 125 when the lab failed.
# qemu/lab-image.sh builds what it needs. VM_ACCEL chooses the accelerator beneath.
set -eu

# Everything of use is copied to OUT, so this folder goes away at the end, with 4 GB of sparse disk.
own_run_dir=''
[ -n "${VM_RUN_DIR:-}" ] || own_run_dir=yes
. "$(dirname "$0")/guest-lib.sh"

usage() {
	sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

lab=$BUILD/lab
top=$(dirname "$qemu_dir")
timeout=900 mem=3000
vcpus=$(nproc)
[ "$vcpus" -le 4 ] || vcpus=4
while [ $# -gt 0 ]; do
	case $1 in
	-*) [ $# -ge 2 ] || usage ;;
	*) break ;;
	esac
	case $1 in
	--timeout) timeout=$2 ;;
	--vcpus) vcpus=$2 ;;
	--mem) mem=$2 ;;
	*) usage ;;
	esac
	shift 2
done
[[ $# -ge 1 && $timeout$vcpus$mem =~ ^[0-9]+$ ]] || usage
script=$(realpath -m --relative-to="$top" "$1")
[[ -f $top/$script && $script != ../* ]] || qemu_die "$1: no script of this checkout"
name=$(basename "$script" .sh)
out=${2:-$lab/out/$name}
shift $(($# > 1 ? 2 : 1))

# nests: does this machine give its guests svm or vmx?
nests() {
	[ -z "$(qemu_no_kvm)" ] && grep -qs '^[1Y]' /sys/module/kvm_amd/parameters/nested /sys/module/kvm_intel/parameters/nested
}

cpu=max
if [ -z "${VM_ACCEL:-}" ]; then
	nests && VM_ACCEL=kvm || VM_ACCEL=tcg
fi
if [ "$VM_ACCEL" = tcg ]; then
	# A thread for each vCPU, unlike guest-lib.sh's default: in one thread they take turns of 100 ms, and the host's
	# and the guest's side of a handshake would never meet. What guest-lib.sh is afraid of needs a kernel that patches
	# hot places; lab-init.sh sees to it that here none does.
	VM_ACCEL=tcg,thread=multi
fi
if [[ $VM_ACCEL == tcg* ]]; then
	# Without nested paging: with it QEMU 7.2 now and then walks a second-level guest's pages wrongly after VMRUN, and
	# that guest ends in a triple fault (exit info: #PF of an instruction fetch, after an exit by WRMSR).
	cpu=max,svm=on,npt=off
fi

for file in base.img programs.img initramfs.gz; do
	[ -f "$lab/$file" ] || qemu_die "$lab/$file: not there; run qemu/lab-image.sh"
done
vm_trap
trap 'trap "" HUP INT TERM; vm_cleanup; [ -z "$own_run_dir" ] || rm -rf "$VM_RUN_DIR"' EXIT
rm -rf "$out"
mkdir -p "$VM_RUN_DIR/overlay" "$out"
cp "$qemu_dir/lab-init.sh" "$VM_RUN_DIR/overlay/run.sh"
cp "$top/$script" "$VM_RUN_DIR/overlay/script"
printf '%s\n' "$script" "$@" >"$VM_RUN_DIR/overlay/arguments"

# What it writes to its disks is forgotten.
export VM_INITRD=$lab/initramfs.gz TMPDIR=$VM_RUN_DIR
started=$SECONDS
vm_start lab --vcpus "$vcpus" --mem "$mem" --region-size 64K --mod none --overlay "$VM_RUN_DIR/overlay" \
	--out-disk "$VM_RUN_DIR/out.tar" 4G \
	--qemu-arg -cpu --qemu-arg "$cpu" \
	--qemu-arg -drive --qemu-arg "file=$lab/base.img,format=raw,if=virtio,readonly=on" \
	--qemu-arg -drive --qemu-arg "file=$lab/programs.img,format=raw,if=virtio,snapshot=on"

rc=125
if vm_wait lab "$timeout"; then
	rc=$(vm_rc lab) || rc=125
	vm_out lab "$out" || rc=125
else
	qemu_say "$script: still runs after $timeout s"
	vm_kill lab
fi
cp "$(vm_log lab)" "$out/console.log"
# They differ by a few seconds; if by much more, the lab's clock was wrong, and no limit in it meant what it says.
uptime=$(sed -n 's/^XVT-LAB-UPTIME //p' "$out/console.log")
qemu_say "$name: $((SECONDS - started)) s, ${uptime:-?} s by the lab's own clock"
sed '0,/XVT-LAB-BEGIN/d; /^XVT-LAB-END/,$d' "$out/console.log"
[ "$rc" != 125 ] || { qemu_say "the lab failed; the end of $out/console.log is" && tail -n 20 "$out/console.log" >&2; }
exit "$rc"
