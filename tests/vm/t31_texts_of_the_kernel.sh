#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The text of events, judged by the kernel of a guest: what its `trace` file says of each event,
# `xvtrace report` says. As many events as can be provoked; exceptions are those that
# xvtrace-report(1) lists, each with its reason.
set -u
. "$(dirname "$0")/lib.sh"

trace=$work/trace.xvt
for tool in python3 mke2fs; do
	command -v $tool >/dev/null || { echo "skip - the texts of a guest's kernel: no $tool" && exit 77; }
done
dir=$(overlay texts.sh)
"${CC:-gcc}" -O2 -static -no-pie -o "$dir/xvt-provoke" tests/vm/guest/xvt-provoke.c || exit 1
main=$(nm "$dir/xvt-provoke" | sed -n 's/^0*\([0-9a-f]*\) T main$/0x\1/p')
# Where it is in the file.
printf '0x%x\n' $((main - 0x400000)) >"$dir/entry"
need "an image with more modules" eval 'GUEST_MODULES="ext4 crc32c_generic dummy bfq kyber-iosched" GUEST_IMAGE=$work/initramfs.gz qemu/build-image.sh 2>"$work/image.err" || { cat "$work/image.err"; false; }'
export VM_INITRD=$work/initramfs.gz
truncate -s 8M "$work/ext4" && mke2fs -q -t ext4 "$work/ext4" || exit 1
vm_start g1 --vcpus 2 --mem 512 --region-size 64M --overlay "$dir" --mod 'meta_size=16777216;probes=none' --out-disk "$work/disk" 64M \
	--append 'vsyscall=xonly no_hash_pointers' --qemu-arg -netdev --qemu-arg user,id=u,restrict=on --qemu-arg -device --qemu-arg virtio-net-pci,netdev=u,romfile= \
	--qemu-arg -drive --qemu-arg "file=$(realpath "$work/ext4"),format=raw,if=virtio" || exit 1
record_start "$trace" -r g1="$(vm_region g1)"
need "the guest did its work" vm_wait_log g1 '^XVT-SAY done' 300
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 600
cat "$trace.err"
vm_out g1 "$work/out" || exit 1

"$xvtrace" report -q --vm g1 "$trace" >"$work/report.txt" 2>"$work/report.err"
check "nothing is lost, here and there" eval 'stat_says "$trace" ".lost == 0" && ! grep -E "^(overrun|dropped events): [1-9]" "$work/out/stats"'
python3 tests/cli/kernel_text.py "$work/out/trace" "$work/report.txt" "$work/out/events" 0 >"$work/judged"
result=$?
grep '^#' "$work/judged"
judged=$(tail -n 1 "$work/judged")
check "many events occurred" [ "${judged%% *}" -ge 200 ]
check "each text is the kernel's ($judged)" [ $result -eq 0 ]
finish
