#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A guest with several ivshmem devices: the module takes the one that its parameter `device` names, or the one that holds
# a region, leaves the others alone, and says what is wrong with an address.
set -u
. "$(dirname "$0")/lib.sh"
# A region of 2M and one of 1M, and 512K for the one that is plugged in later.
second=$XVT_SHM_DIR/${XVT_SHM_PREFIX}second third=$XVT_SHM_DIR/${XVT_SHM_PREFIX}third
trap 'rm -f "$second" "$third"; vm_cleanup' EXIT
(umask 077 && truncate -s 2M "$second" && truncate -s 512K "$third")
need "a guest starts" vm_start g1 --vcpus 1 --region-size 1M --mod none --overlay "$(overlay device.sh)" \
	--qemu-arg -object --qemu-arg "memory-backend-file,id=shm2,size=2M,mem-path=$second,share=on" \
	--qemu-arg -object --qemu-arg "memory-backend-file,id=shm3,size=512K,mem-path=$third,share=on" \
	--qemu-arg -device --qemu-arg "ivshmem-plain,memdev=shm2,addr=0x9"
says() { vm_wait_log g1 "^XVT-SAY $1" 600; }
said() { grep -qaE -- "^XVT-SAY $1" "$(vm_log g1)"; }
formatted() { [ "$(head -c 8 "$1" | tr -d "\0")" = XVTRACE1 ]; }
wrong() { said "wrong refused $1" && said "wrong log .*device=$1 is no PCI address, such as 0000:00:05.0"; }

need "it gets to the empty slot" says waiting
for address in nonsense 0000:00:05 00:20.0 0000:00:05.0y; do
	check "device=$address is refused, and that is said" wrong $address
done
check "the host bridge is refused, since it is no ivshmem device" eval 'said "bridge refused" && said "bridge log .*device=0000:00:00.0 is no ivshmem device"'
check "of two without a region none is taken" said "either refused"
check "and it is said how to choose" eval 'said "either log .*other ivshmem devices.*device=0000:00:" && [ "$(grep -a "^XVT-SAY either log .* stays as it is" "$(vm_log g1)" | sort -u | wc -l)" = 2 ]'
check "the second device is taken" eval 'said "second loaded" && said "second size 2097152"'
check "without a word on the first one" eval '! grep -a "^XVT-SAY second log" "$(vm_log g1)" | grep -v 0000:00:09.0'
check "without an address the one with a region is taken" eval 'said "found loaded" && said "found size 2097152"'
check "it is said why" said "found log .*taken because it holds a region"
check "and it is said that the other is left" said "found log .*other ivshmem devices"
check "the first one is taken, by an address without a domain" said "first loaded"
check "one that another driver has is refused" eval 'said "kept refused" && said "kept log .*another driver"'
check "an empty slot is told" eval 'said "later loaded" && said "later log .*device=0000:00:1e.0: there is no such PCI device; waiting for one"'
check "xvt-guest says that the module has no device" said "later tool xvt-guest: no region: the module xvtrace found no device, or refused it: dmesg "
generation() { "$xvtrace" region show --json "$1" | jq .generation; }
check "each was formatted once, for its own load" eval 'formatted "$second" && formatted "$(vm_region g1)" && [ "$(generation "$second")" = 2 ] && [ "$(generation "$(vm_region g1)")" = 1 ]'
check "and the one that is not plugged in was not" eval '! formatted "$third"'
vm_qmp g1 '{"execute": "device_add", "arguments": {"driver": "ivshmem-plain", "memdev": "shm3", "addr": "0x1e", "id": "third"}}' >/dev/null
check "a device that is plugged in there is taken" eval 'says "later size 524288" && formatted "$third"'
check "the module took no other one meanwhile" eval '[ "$(generation "$second")" = 2 ] && [ "$(generation "$(vm_region g1)")" = 1 ]'
vm_kill g1

# --- memory of another program, and new memory that is too small for 8 CPUs, are no rivals of new memory
other=$XVT_SHM_DIR/${XVT_SHM_PREFIX}other small=$XVT_SHM_DIR/${XVT_SHM_PREFIX}small ours=$XVT_SHM_DIR/${XVT_SHM_PREFIX}ours
trap 'rm -f "$second" "$third" "$other" "$small" "$ours"; vm_cleanup' EXIT
(umask 077 && head -c 1048576 /dev/urandom >"$other" && truncate -s 16K "$small" && truncate -s 1M "$ours")
sum=$(sha256sum <"$other")
need "a guest starts with these" vm_start g2 --vcpus 8 --mem 512 --region-size 1M --region "$other" --mod none --overlay "$(overlay takes.sh)" \
	--qemu-arg -object --qemu-arg "memory-backend-file,id=shm2,size=16K,mem-path=$small,share=on" \
	--qemu-arg -object --qemu-arg "memory-backend-file,id=shm3,size=1M,mem-path=$ours,share=on" \
	--qemu-arg -device --qemu-arg "ivshmem-plain,memdev=shm2,addr=0x9" --qemu-arg -device --qemu-arg "ivshmem-plain,memdev=shm3,addr=0xa"
check "it ends" vm_wait g2 600
takes() { grep -qaE -- "^XVT-SAY $1" "$(vm_log g2)"; }
grep -a "^XVT-SAY" "$(vm_log g2)" | cut -c 1-160
check "the new memory that fits is taken, and why is said" eval 'takes taken && takes "log 0000:00:0a.0: region .*; taken because it is the only one that is new and fits" && formatted "$ours"'
check "memory of another program is refused and left alone" eval 'takes "log .*holds something else" && [ "$sum" = "$(sha256sum <"$other")" ]'
check "memory that is too small is left alone" eval '! formatted "$small"'
finish
