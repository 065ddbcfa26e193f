#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A machine that is put back to a snapshot of libvirt's, one that libvirt migrates to another host and
# back, and one that QMP migrates within a host to a QEMU with another region, while they are recorded:
# each reason is noted, the sums add up, no event is twice in a trace, and no time is wrong.
set -u
. "$(dirname "$0")/lib.sh"
. tests/vm/hosts-lib.sh
d=xvt$$-g
trace=$work/near.xvt

# notes FILE: one on a line, in order
notes() { "$xvtrace" verify --notes "$1" | sed -n 's/^note: //p'; }
# told FILE NUMBER WORDS: so many notes of a file that is being written have these words
told() { [ "$(grep -aoE -- "$3" "$1" 2>/dev/null | wc -l)" -ge "$2" ]; }
# soon TEXT FILE NUMBER WORDS
soon() { check "$1" vm_poll 60 told "$2" "$3" "$4"; }
# sound FILE [rewound]: what holds of each trace
sound() {
	check "$(basename "$1"): verify passes" "$xvtrace" verify -q "$1"
	check "$(basename "$1"): the sums add up" adds_up "$1"
	raw "$1"
	check "$(basename "$1"): no event twice" repeats "${1%.xvt}.raw" "${2-}"
	# XVT_EVENT_F_CLOCK is the highest flag.
	check "$(basename "$1"): no event contradicts its clock" \
		awk '$1 == "event" && length($7) > 8 { n++ } END { print n + 0; exit n > 0 }' "${1%.xvt}.raw"
}
# in_order FILE WORDS...: notes with these words are there, in this order, the first of each
in_order() {
	local at=0 now file=$1 all
	all=$(notes "$file")
	shift
	for words in "$@"; do
		now=$(tail -n +$((at + 1)) <<<"$all" | grep -nE -m 1 -- "$words" | cut -d: -f1)
		[ -n "$now" ] || { echo "# no \"$words\" after line $at of:" && echo "$all" && return 1; }
		at=$((at + now))
	done
}

# ------------------------------------------------------------------ libvirt

# define NAME OPTION...: a domain of host near that has a disk, which snapshots need
define() {
	local name=$1 dir=$VM_RUN_DIR/$1 overlays options=() append='' cmdline ip='' mod='' kernel
	shift
	overlays=("$(overlay life.sh)")
	mkdir -p "$dir" && vm_prepare_kernel || return
	[ -f "$LV_DIR/kernel" ] || install -m 644 "$kernel" "$LV_DIR/kernel" || return
	install -m 755 qemu/tcg-single.sh "$LV_DIR/emulator" || return
	install -m 644 "$dir/initrd" "$LV_DIR/initrd" && rm "$dir/initrd"
	qemu-img create -q -f qcow2 "$LV_DIR/$name.qcow2" 1G && chmod 666 "$LV_DIR/$name.qcow2" || return
	qemu/make-domain.sh "$name" --kernel "$LV_DIR/kernel" --initrd "$LV_DIR/initrd" --emulator "$LV_DIR/emulator" \
		--log "$(realpath "$dir")/console.log" --reboot "$@" >"$dir/domain.xml" || return
	: >"$dir/console.log"
}
with_disk() {
	sed -i "s|<controller type='usb'|<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='$LV_DIR/$1.qcow2'/><target dev='vda' bus='virtio'/></disk>&|" "$VM_RUN_DIR/$1/domain.xml"
}
# begin NAME: the domain, until its guest works
begin() { host_virsh near create "$VM_RUN_DIR/$1/domain.xml" && vm_poll 200 grep -q "^XVT-SAY ready" "$VM_RUN_DIR/$1/console.log"; }

# A roll-back: numbers go on without a hole, and go back once for each. The last one before lies before
# the snapshot took the machine's place, and the first one after lies behind that.
# A future that is short may have no number: then the next one goes on where the snapshot was.
went_back() {
	local ends
	ends=$(notes "$trace" | sed -n 's/.*replaced by a snapshot, at //p' | xargs)
	"$xvtrace" report "$trace" --event print | awk -v ends="$ends" 'BEGIN { n = split(ends, end, " ") }
		match($0, /xvt-seq [0-9]+ [0-9]+/) {
			split(substr($0, RSTART, RLENGTH), f, " ")
			if (last && f[3] != last + 1) {
				for (k = 1; k <= n && !(at < end[k] && end[k] < $1); k++)
					;
				if (f[3] > last || k > n) { print "from " last " at " at " to " f[3] " at " $1; bad = 1 }
				back++
			}
			last = f[3]; at = $1
		}
		END { print back + 0 " times back"; exit bad || !back || back > n }'
}

snapshots() {
	need "a domain whose region is no part of snapshots starts" eval 'define peer$$ && with_disk peer$$ && begin peer$$'
	check "libvirt makes no snapshot of it, and says why" \
		eval 'host_virsh near snapshot-create-as peer$$ one 2>&1 | grep "peer mode.* in device .ivshmem"'
	host_virsh near destroy peer$$
	need "a domain starts" eval 'define $d --master && with_disk $d && begin $d'
	host_record near "$d"
	soon "it is recorded" "$trace" 1 "runs, at"
	check "events of it come" host_flows near
	check "a snapshot is made" host_virsh near snapshot-create-as "$d" one
	check "its events go on" host_flows near
	check "it is put back" host_virsh near snapshot-revert "$d" one
	check "its events come again" host_flows near
	check "it is put back once more" host_virsh near snapshot-revert "$d" one
	check "its events come again" host_flows near
	check "it is put back, and stays stopped" host_virsh near snapshot-revert "$d" one --paused
	soon "which is noted" "$trace" 1 "stopped: restored from a snapshot"
	check "it is resumed" host_virsh near resume "$d"
	check "its events come again" host_flows near
	check "the recorder ends cleanly" host_record_end near
	cat "$work/near.err"
	check "each reason is noted, and memory is read when the machine runs" in_order "$trace" \
		"stopped: paused, at" "runs again after" \
		"its VMM has ended: replaced by a snapshot" "runs: started from a snapshot" "its memory went back" \
		"its VMM has ended: replaced by a snapshot" "runs: started from a snapshot" "its memory went back" \
		"its VMM has ended: replaced by a snapshot" "stopped: restored from a snapshot" "runs again after"
	check "no memory is read that is being loaded" eval \
		'[ "$(notes "$trace" | grep -cA1 "replaced by a snapshot, at")" = 3 ] && ! notes "$trace" | grep -A1 "replaced by a snapshot, at" | grep "went back"'
	sound "$trace" rewound
	check "the numbers go back at these times alone" went_back
	host_virsh near destroy "$d"
}

# move FROM TO
move() { host_virsh "$1" migrate --live --p2p "$d" "$(host_uri "$2")" --migrateuri "unix://$LV_DIR/sockets/$1"; }

# What is in both traces: the records that were in the ring when it was copied.
in_both() {
	numbers "$work/near.xvt" "$d" 0 | sort >"$work/near.numbers"
	numbers "$work/far.xvt" "$d" 0 | sort >"$work/far.numbers"
	comm -12 "$work/near.numbers" "$work/far.numbers" | wc -l
}
all_there() { sort -un "$work/near.numbers" "$work/far.numbers" | contiguous; }

migrations() {
	local h panic
	mkdir -m 777 "$LV_DIR/sockets"
	need "another host has a libvirtd" host far
	need "a domain starts" eval 'define $d --master && begin $d'
	host_record near "$d"
	host_record far "$d"
	soon "it is recorded" "$trace" 1 "runs, at"
	check "events of it come" host_flows near
	check "libvirt moves it to the other host" move near far
	check "its events come there" host_flows far
	check "it is moved back" move far near
	check "its events come here again" host_flows near
	for h in near far; do
		check "the recorder of host $h ends cleanly" host_record_end $h
		cat "$work/$h.err"
		sound "$work/$h.xvt"
	done
	check "near: each reason is noted" in_order "$trace" "stopped: migration, at" "moved to another VMM, at" \
		"its VMM has ended: migrated, at" "stopped: migration, at" "arrived from elsewhere, at" "runs again after" \
		"its memory went back to an earlier state"
	check "far: each reason is noted, and no region is taken before it is whole" in_order "$work/far.xvt" \
		"stopped: migration, at" "arrived from elsewhere, at" "runs again after" "it was recorded where it came from" \
		"stopped: migration, at" "moved to another VMM, at" "its VMM has ended: migrated, at"
	echo "# $(in_both) markers are in both traces"
	# Seen once: under TCG, a guest whose stack was corrupt right after the move. It booted again.
	if panic=$(grep -m 1 "Kernel panic" "$VM_RUN_DIR/$d/console.log"); then
		echo "skip - every marker is in one of them: the guest that was moved ended: $panic"
	else
		check "every marker is in one of them" all_there
	fi
	host_virsh near destroy "$d"
}

# ------------------------------------------------------------------ two QEMUs of one host

migrated() { [ "$(vm_qmp "$1" '{"execute":"query-migrate"}' | jq -r .return.status)" = completed ]; }
events() { "$xvtrace" status --json 2>/dev/null | jq --arg n "$1" '[.recorders[0].vms[] | select(.name == $n) | .rings[].events] | add // 0'; }
more_than() { [ "$(events "$1")" -gt "$2" ] 2>/dev/null; }
flows() {
	local now
	now=$(events "$1")
	vm_poll 60 more_than "$1" $((${now:-0} + 2000))
}

# The recorder is held up meanwhile, so that there are records in the ring which are copied.
two_regions() {
	local a=old b=new trace=$work/regions.xvt name
	export XVTRACE_RUN_DIR
	XVTRACE_RUN_DIR=$(realpath "$work")/run
	mkdir -p "$XVTRACE_RUN_DIR"
	for name in $a $b; do
		need "QEMU $name starts" vm_start $name --vcpus 1 --region-size 4M --master --reboot --overlay "$(overlay life.sh)" \
			$([ $name = $a ] || echo --qemu-arg -incoming --qemu-arg defer)
	done
	need "the guest works" vm_wait_log $a "^XVT-SAY ready" 600
	record_start "$trace" --follow --stall-timeout 60 -r $a="$(vm_region $a)" -r $b="$(vm_region $b)" \
		--qmp $a="$(vm_qmp_path $a)" --qmp $b="$(vm_qmp_path $b)"
	check "it is recorded" flows $a
	kill -STOP "$recorder"
	check "it is moved to a QEMU with another region" eval '
		vm_qmp $b "{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"unix:$work/migrate\"}}" >>"$work/qmp.log" &&
		vm_qmp $a "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"unix:$work/migrate\"}}" >>"$work/qmp.log" && vm_poll 120 migrated $a'
	kill -CONT "$recorder"
	check "its events come from there" flows $b
	check "the recorder ends cleanly" record_stop
	cat "$trace.err"
	check "the migration is noted" eval 'in_order "$trace" "stopped: inmigrate" "runs again after" && in_order "$trace" "moved to another VMM, at"'
	check "and that the new region goes on" in_order "$trace" "its region is a copy of that of $a: it goes on where that ends"
	sound "$trace"
	for name in $a $b; do numbers "$trace" $name 0 >"$work/$name.numbers"; done
	wc -l "$work"/{$a,$b}.numbers
	check "no marker is twice, and none is missing" eval 'sort -n "$work"/{$a,$b}.numbers | contiguous'
	check "both sums are the guest's own" \
		test "$("$xvtrace" stat --json "$trace" | jq .attempted)" -le "$("$xvtrace" region show --json "$(vm_region $b)" | jq '[.rings[].attempted] | add')"
	vm_kill $a
	vm_kill $b
}

two_regions
if [ "$(id -u)" != 0 ] || ! command -v libvirtd virtlogd virsh >"$work/commands" || ! unshare --mount --uts --pid --fork true; then
	echo "skip - hosts with libvirt: it takes root, libvirtd, and namespaces"
	finish
fi
LV_DIR=$(mktemp -d)
chmod 755 "$LV_DIR"
trap 'trap "" HUP INT TERM; hosts_end; vm_cleanup' EXIT
need "a host has a libvirtd" host near
snapshots
migrations
finish
