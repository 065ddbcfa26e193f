#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# xvtrace doctor --guest: the device, the kernel's command line and the recorder's, for each kind of
# memory and VMM; what is refused, and why. vm/t36 and vm/t39 start guests by these lines.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
unset XVTRACE_SHM_DIR

# plan VERSION OPTION...: as JSON, in $work/plan
plan() {
	"$xvtrace" doctor --json --guest "$@" >"$work/plan" 2>"$work/err"
}

# has JQ-EXPRESSION
has() {
	jq -e "$1" "$work/plan" >/dev/null && return
	jq . "$work/plan"
	return 1
}

# refused TEXT STATUS PART VERSION OPTION...: with this exit status, and a message that has PART
refused() {
	local text=$1 status=$2 part=$3 got
	shift 3
	"$xvtrace" doctor --guest "$@" >"$work/out" 2>"$work/err"
	got=$?
	check "$text: refused" test $got -eq "$status"
	check "$text: the reason is said" grep -qF -- "$part" "$work/err"
	check "$text: nothing is printed as if it were a plan" test ! -s "$work/out"
}

# --- QEMU ---

plan 6.12.117+deb12-amd64 --memory 512M --ring 4M --events sched,irq:irq_handler_entry
check "6.12: a plan" has '.format == "xvtrace-doctor-guest/1" and .possible and .why == null'
check "6.12: the ring is a part of the RAM" has '.device == "ram" and .vmm == "qemu" and .ring_bytes == 4194304'
check "6.12: the ring is a file of its own, and shared" has '
	.qemu | any(. == "memory-backend-file,id=xvt-ring,size=4M,mem-path=/dev/shm/g1-ring,share=on")'
check "6.12: the parts are the RAM" has '
	[.qemu[] | capture("size=(?<n>[0-9]+)M").n | tonumber] | . == [128, 4, 380] and add == 512'
check "6.12: the order is that of the addresses" has '[.qemu[] | capture("nodeid=(?<n>[0-9]).*memdev=(?<m>.*)") | .n + .m] ==
	["0xvt-below", "1xvt-ring", "2xvt-above"]'
check "6.12: the kernel leaves the range alone, and maps its ring there" has '.kernel_words ==
	"memmap=4M$0x8000000 trace_instance=xvt@0x8000000:4M,sched:*,irq:irq_handler_entry"'
check "6.12: the command that records it" has '.record == "xvtrace record -r g1=ftrace:/dev/shm/g1-ring -o g1.xvt"'
check "6.12: the command for the names of its events" has '.formats == "xvtrace formats --kernel vmlinuz-6.12.117+deb12-amd64"'
check "6.12: the ring does not say which kernel it is: that is told" has 'any(.notes[]; contains(",kernel=RELEASE"))'
check "6.12: GRUB's \$ is told" has 'any(.notes[]; contains("memmap=4M\\\\\\$0x8000000"))'

check "6.14: as 6.12" eval 'plan 6.14 && has ".device == \"ram\""'
check "the ring has 8M for each vCPU" eval 'plan 6.12 --cpus 3 && has ".ring_bytes == 25165824"'
check "... as far as the RAM's section has room" eval 'plan 6.12 --cpus 64 && has ".ring_bytes == 67108864"'
check "the vCPUs are in a node with memory" eval 'plan 6.12 --cpus 3 && has "any(.qemu[]; . == \"node,nodeid=0,cpus=0-2,memdev=xvt-below\")"'

plan 6.15.0 --name web-1 --events timer
check "6.15: the memory is a device's" has '.device == "virtio-pmem" and .ring_bytes == 16777216'
check "6.15: the device has the address that the kernel is told" has '
	(.qemu | any(endswith("memaddr=0x100000000"))) and .kernel_words == "trace_instance=xvt@0x100000000:16M,timer:*"'
check "6.15: there is room for the device" has '.qemu | any(. == "2048M,slots=1,maxmem=4096M")'
check "6.15: it is called as the user says" has '.name == "web-1" and .file == "/dev/shm/web-1-ring"'
check "7.3: as 6.15" eval 'plan 7.3.4+deb13-cloud-amd64 && has ".device == \"virtio-pmem\""'
check "with more RAM the device lies behind it, for q35 and for pc" eval 'plan 7.3 -m 4G && has "
	any(.qemu[]; endswith(\"memaddr=0x180000000\")) and (.kernel_words | contains(\"@0x180000000:\"))"'
check "... also where the RAM ends at no border" eval 'plan 7.3 -m 5121M && has "any(.qemu[]; endswith(\"memaddr=0x200000000\"))"'
check "7.3: RAM, where that is asked for" eval 'plan 7.3 --device ram && has "
	.device == \"ram\" and (.kernel_words | startswith(\"memmap=16M\$0x8000000 \"))"'

plan 6.12 --device reserve --file /srv/ram -m 1G
check "reserve: the whole RAM is the file" has '
	.qemu == ["-m", "1024M", "-object", "memory-backend-file,id=xvt-ram,size=1024M,mem-path=/srv/ram,share=on", "-machine", "memory-backend=xvt-ram"]'
check "reserve: the kernel chooses the place" has '.kernel_words == "reserve_mem=16M:4096:xvt trace_instance=xvt@xvt,sched:*,irq:*"'
check "reserve: the recorder looks for it, and that it opens all is told" has '
	.record == "xvtrace record -r g1=ftrace:/srv/ram -o g1.xvt" and any(.notes[]; contains("all of the guest"))'

check "the command before the start makes a file of the ring's size" eval '
	plan 6.12 --file "$work/ring" --ring 4M && echo old >"$work/ring" && sh -c "$(jq -r .prepare "$work/plan")" &&
	[ "$(stat -c "%s %a" "$work/ring")" = "4194304 600" ] && [ ! -s <(tr -d "\0" <"$work/ring") ]'

# What QEMU itself says of the arguments.
if command -v qemu-system-x86_64 >/dev/null; then
	for form in "6.12 -m 512M" "7.3 -m 512M" "7.3 -m 3G" "7.3 -m 5121M" "6.12 -m 512M --device reserve"; do
		# shellcheck disable=SC2086
		plan $form --file "$work/ring" --ring 1M
		readarray -t args < <(jq -r '.qemu[]' "$work/plan")
		for machine in pc q35; do
			echo quit | qemu-system-x86_64 -accel tcg -S -display none -nodefaults -M $machine -smp 2 "${args[@]}" \
				-monitor stdio >"$work/qemu" 2>&1
			check "QEMU's $machine takes the arguments of $form" test "$?" -eq 0
			rm -f "$work/ring"
		done
	done
else
	echo "skip - QEMU takes the arguments: it is not installed"
fi

# --- libvirt ---

plan 6.12 --vmm libvirt --name web-1 -m 1G
check "libvirt, 6.12: cells of the RAM, of which one is shared" has '
	.vmm == "libvirt" and .prepare == null and
	([.domain[] | select(contains("<cell"))] | length == 3 and map(contains("memAccess='\''shared'\''")) == [false, true, false])'
check "libvirt, 6.12: the file is where libvirt has it, by the domain's number" has '
	.file == "/var/lib/libvirt/qemu/ram/$(virsh domid web-1)-web-1/ram-node1" and
	.record == "xvtrace record -r \"web-1=ftrace:" + .file + "\" -o web-1.xvt"'
plan 7.3 --vmm libvirt --name web-1 -m 4G
check "libvirt, 7.3: the device, and its address by QEMU's option" has '
	(.domain | any(contains("<memory model='\''virtio-pmem'\'' access='\''shared'\''>"))) and
	(.domain | any(contains("virtio-pmem.memaddr=0x180000000"))) and (.domain | any(contains("/dev/shm/web-1-ring")))'
check "libvirt, reserve: all of the RAM is shared" eval 'plan 6.12 --vmm libvirt --device reserve && has "
	(.file | endswith(\"/pc.ram\")) and (.domain | any(contains(\"<access mode='\''shared'\''/>\")))"'
if command -v xmllint >/dev/null; then
	for form in "6.12" "7.3" "6.12 --device reserve"; do
		# shellcheck disable=SC2086
		plan $form --vmm libvirt
		check "libvirt: the lines for $form are XML" eval 'jq -r ".domain[]" "$work/plan" | xmllint --noout -'
	done
else
	echo "skip - libvirt: the lines are XML: xmllint is missing"
fi

# --- what is refused ---

refused "6.1" 1 'Take the module' 6.1.0-56-amd64
refused "6.11" 1 'before 6.12' 6.11.9
refused "5.14" 1 'before 6.12' 5.14.0-427.el9.x86_64
refused "ivshmem" 1 'hangs for ever' 6.12 --device ivshmem
refused "ivshmem of a newer kernel" 1 'PCI BAR' 7.3 --device ivshmem
refused "6.14 on virtio-pmem" 1 'into RAM alone' 6.14.1 --device virtio-pmem
check "as JSON a refusal is an answer, with the same status" eval '
	! plan 6.1.0 && has ".possible == false and (.why | contains(\"module\")) and (has(\"qemu\") | not)"'
check "ivshmem: JSON has the reason, too" eval '! plan 6.12 --device ivshmem && has ".possible == false and (.why | contains(\"hangs\"))"'

for version in '' 6 v6.12 6. .12 '6.12 x' 6.12345 "6.12'" linux; do
	refused "'$version'" 2 'uname -r' "$version"
done
refused "a comma in the file's name" 2 '--file: an absolute path' 6.12 --file /dev/shm/a,b
refused "a relative path" 2 '--file: an absolute path' 6.12 --file ring
refused "libvirt's file of the RAM" 2 'libvirt chooses' 6.12 --vmm libvirt --file /dev/shm/x
refused "a name with a quote" 2 '--name: letters' 6.12 --name "a'b"
refused "a name that libvirt cuts" 2 '20 letters' 6.12 --vmm libvirt --name abcdefghijklmnopqrstu
refused "events with a blank" 2 '--events: SYSTEM' 6.12 --events 'sched irq'
refused "a ring of 1.5M" 2 'multiple of 1M' 6.12 --ring 1536K
refused "a ring of 128M in the RAM" 2 '64M at most' 6.12 --ring 128M
refused "RAM of 200M" 2 'too small' 6.12 --memory 200M
refused "a ring that is most of the RAM" 2 'too small' 6.12 --device reserve --memory 20M
refused "a VMM that is none" 2 'qemu or libvirt' 6.12 --vmm xen
"$xvtrace" doctor --vmm libvirt >"$work/out" 2>"$work/err"
check "an option of --guest without it" eval '[ '$?' -eq 2 ] && grep -q -- "--vmm belongs to --guest VERSION" "$work/err"'

# --- as text ---

"$xvtrace" doctor --guest 6.12 --memory 512M >"$work/text"
check "as text: the steps are numbered" [ "$(grep -oE '^[0-9]\.' "$work/text" | tr -d '\n')" = 1.2.3.4.5.6. ]
check "as text: QEMU's arguments are one command of a shell" eval '
	sed -n "/^2\./,/^3\./p" "$work/text" | grep -v "^[23]\.\|^$" | sed "1s/^/printf %s\\\\\\\\n /" | sh | cmp - <(
		"$xvtrace" doctor --guest 6.12 --memory 512M --json | jq -r ".qemu[]")'
check "as text: the command line is that of the JSON" eval '
	grep -qxF "    $("$xvtrace" doctor --guest 6.12 --memory 512M --json | jq -r .kernel_words)" "$work/text"'
cat "$work/text"
[ $failures -eq 0 ]
