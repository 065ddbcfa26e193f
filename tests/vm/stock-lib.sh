# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by tests of guests with Linux 6.12 and nothing of xvtrace, behind lib.sh and FLAVOUR.

if ! qemu/guest-packages.sh 2>"$work/packages.err"; then
	echo "skip - a guest with the kernel of linux-image-$FLAVOUR: $(tail -n 1 "$work/packages.err")"
	exit 77
fi
eval "$(qemu/guest-packages.sh --print)"
export VM_INITRD=$work/initramfs.gz
need "an image without a module and programs of ours" eval \
	'XVTRACE_KO=$work/none GUEST_PROGRAMS=$work/none GUEST_IMAGE=$VM_INITRD qemu/build-image.sh 2>"$work/image.err"'

# plan NAME SIZE: what `xvtrace doctor --guest` prints for the guest: a ring of its own in the RAM at 128 MiB. SIZE "any": the
# whole RAM is a file, and the guest's kernel chooses the place. The file is made anew by the command that is printed.
plan() {
	local name=$1 size=$2 form=(--ring 4M)
	[ "$size" != any ] || form+=(--device reserve)
	"$xvtrace" doctor --guest "$KRELEASE" --json --name "$name" --cpus 2 --memory 256M --events sched,irq,timer "${form[@]}" \
		--file "$XVT_SHM_DIR/$XVT_SHM_PREFIX$name-ring" >"$work/$name.plan" && sh -c "$(planned "$name" prepare)"
}

# planned NAME KEY: a text of the plan
planned() {
	jq -r ".$2" "$work/$1.plan"
}

# planned_region NAME: what follows -r in the plan's command for the recorder
planned_region() {
	planned "$1" record | sed 's/.* -r \([^ ]*\) .*/\1/'
}

# guest NAME SIZE SCRIPT OPTION...: start it by its plan. The shortest ring of a plan is 1 MiB; a shorter SIZE is put in its place.
guest() {
	local name=$1 size=$2 script=$3 words args
	shift 3
	words=$(planned "$name" kernel_words)
	[ "$size" = any ] || words=${words/:4M,/:$size,}
	readarray -t args < <(planned "$name" 'qemu[] | "--qemu-arg", .')
	vm_start "$name" --vcpus 2 --mem 256 --mod none "$@" --overlay "$(overlay "$script")" --out-disk "$work/$name.tar" 16M \
		--append "$words" "${args[@]}"
}

# said NAME CPU FIGURE: of what the guest's kernel counts
said() {
	sed -n "s/.*XVT-SAY cpu$2 .*\b$3=\([0-9]*\).*/\1/p" "$(vm_log "$1")"
}
