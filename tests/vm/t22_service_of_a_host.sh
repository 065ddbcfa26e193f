#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The daemon in service, beside a host's domains: two that get a region while they run, and one that
# comes later. They are paused, reset, destroyed, crashed, saved and restored; libvirtd is restarted,
# and the daemon is killed and started again as its unit does. The files of all that are one trace, in
# which no event is twice and each loss is counted, and detach leaves nothing behind.
set -u
. "$(dirname "$0")/lib.sh"
life_trap() {
	for d in "${domains[@]}"; do
		lv_virsh destroy "$d" >/dev/null 2>&1
		lv_virsh undefine "$d" >/dev/null 2>&1
		rm -f "/dev/shm/xvtrace-$d"
	done
	touch "$work/no-restart"
	kill -KILL "$(daemon_pid)" 2>/dev/null
	lv_cleanup
}
domains=()
lv_trap
trap 'trap "" HUP INT TERM; life_trap' EXIT
reason=$(lv_start 2>&1)
if [ $? -eq 77 ]; then
	echo "skip - the daemon beside domains: ${reason#*skipped: }"
	exit 77
fi
lv_start || exit 1

XVTRACE_RUN_DIR=$(realpath "$work")/run
export XVTRACE_RUN_DIR
mkdir -p "$XVTRACE_RUN_DIR"
set=$work/set/
# The domains may be of libvirt's own user, which must reach the kernel.
LV_DIR=$(mktemp -d)
chmod 755 "$LV_DIR"

# domain NAME REGION: defines a domain that stays defined; REGION: "none", or it has one from its start
domain() {
	local name=$1 dir=$VM_RUN_DIR/$1 domain overlays options=() append='' cmdline ip='' mod='' kernel
	domain=$(lv_domain "$1")
	overlays=("$(overlay life.sh)")
	mkdir -p "$dir" && vm_prepare_kernel || return
	[ -f "$LV_DIR/kernel" ] || install -m 644 "$kernel" "$LV_DIR/kernel" || return
	install -m 755 qemu/tcg-single.sh "$LV_DIR/emulator" || return
	install -m 644 "$dir/initrd" "$LV_DIR/$domain.initrd" && rm "$dir/initrd"
	qemu/make-domain.sh "$domain" --kernel "$LV_DIR/kernel" --initrd "$LV_DIR/$domain.initrd" \
		--emulator "$LV_DIR/emulator" --log "$(realpath "$dir")/console.log" --master --reboot >"$dir/domain.xml" || return
	[ "$2" != none ] || sed -i '/<shmem/,/<\/shmem>/d' "$dir/domain.xml"
	sed -i "s|<controller type='usb'|<panic model='isa'/>&|" "$dir/domain.xml"
	: >"$dir/console.log"
	lv_virsh define "$dir/domain.xml" >/dev/null || return
	domains+=("$domain")
	starts "$name"
}
# starts NAME: a domain that does not run, until its guest works
starts() {
	local log=$VM_RUN_DIR/$1/console.log
	: >"$log"
	lv_virsh start "$(lv_domain "$1")" >/dev/null && vm_poll 200 grep -q "^XVT-SAY ready" "$log"
}

# What Restart=on-failure of the unit does.
service() {
	until setpriv --pdeathsig KILL -- "$xvtrace" daemon -c "$work/xvtrace.conf"; do
		[ ! -e "$work/no-restart" ] || break
	done
}
recorder() {
	local answer
	answer=$("$xvtrace" status --json 2>/dev/null) && jq -e "$@" <<<"$answer"
}
daemon_pid() { recorder .recorders[0].pid; }
# events NAME: of the machine and of those that took its place, by the counters of the last second
events() { recorder --arg n "$(lv_domain "$1")" '[.recorders[0].vms[] | select(.name | startswith($n)) | .rings[].events] | add // 0'; }
# flows NAME: events of it are written from now on
more_than() { [ "$(events "$1")" -gt "$2" ] 2>/dev/null; }
flows() {
	local now
	now=$(events "$1")
	vm_poll 200 more_than "$1" "${now:-0}"
}
# attached NAME: a machine of that domain is attached
attached() { recorder --arg n "$(lv_domain "$1")" '[.recorders[0].vms[] | select((.name | startswith($n)) and .phase == "attached")] | length == 1' >/dev/null; }
told() { [ "$(grep -aohE -- "$2" "$set"/*.xvt | wc -l)" -ge "$1" ]; }
# soon TEXT NUMBER WORDS
soon() { check "$1" vm_poll 100 told "$2" "$3"; }

cat >"$work/xvtrace.conf" <<END
output = $set
domain = ${LV_PREFIX}g*
rotate-size = 4M
keep-size = 1G
keep-free = 0
END

need "two domains without a region start" eval 'domain g1 none && domain g2 none'
d1=$(lv_domain g1) d2=$(lv_domain g2) d3=$(lv_domain g3)
check "g1: a region is attached, also for its next start" "$xvtrace" attach "$d1" --config --timeout 200
check "g2: a region is attached" "$xvtrace" attach "$d2" --timeout 200
service 2>"$work/log" &
check "the daemon records both" vm_poll 200 eval 'attached g1 && attached g2'
check "events of both come" eval 'flows g1 && flows g2'
check "a third domain, defined and started later" domain g3 region
check "joins" vm_poll 200 attached g3

check "g1 is paused" lv_virsh suspend "$d1"
soon "the pause is noted" 1 "stopped: paused, at"
check "g1 is resumed" lv_virsh resume "$d1"
soon "its end is noted" 1 "runs again after"

: >"$VM_RUN_DIR/g2/console.log"
check "g2 is reset" lv_virsh reset "$d2"
soon "the reset is noted" 1 "was reset, at"
check "its guest comes again" vm_poll 200 grep -q "^XVT-SAY ready" "$VM_RUN_DIR/g2/console.log"
check "and its events" flows g2

check "g1 is destroyed" lv_virsh destroy "$d1"
soon "the end is noted" 1 "its VMM has ended: destroyed, at"
check "g1 starts again, with a region" starts g1
check "it is recorded again" flows g1

check "g3 is saved" lv_virsh save "$d3" "$LV_DIR/saved"
soon "the save is noted" 1 "its VMM has ended: saved, at"
check "g3 is restored" lv_virsh restore "$LV_DIR/saved"
soon "the restore is noted" 1 "restored from a file, at"
check "its events come again" flows g3

if [ -s "$VM_RUN_DIR/libvirtd.pid" ]; then
	libvirtd=$(cat "$VM_RUN_DIR/libvirtd.pid")
	kill "$libvirtd"
	vm_poll 60 lv_gone "$libvirtd"
	soon "libvirtd ends, which is noted" 1 "the connection to libvirt is lost"
	need "libvirtd starts again" lv_start
	soon "the recorder listens again" 3 "nothing is known of its pauses|runs, at"
else
	echo "skip - libvirtd is restarted: the one that runs is not of this test"
fi

first=$(daemon_pid)
kill -KILL "$first"
other_pid() { local now && now=$(daemon_pid) && [ "$now" != "$first" ]; }
check "the daemon is killed, and starts again" vm_poll 100 other_pid
check "it records all" eval 'flows g1 && flows g2 && flows g3'
soon "the death is noted" 1 "an earlier recorder did not end in order"

check "g2's keyboard crashes it" lv_virsh send-key "$d2" KEY_LEFTALT KEY_SYSRQ KEY_C
soon "the crash is noted" 1 "panicked|crashed"
left() { [ "$(lv_virsh domstate "$d2")" = "shut off" ]; }
check "its domain ends" vm_poll 100 left
check "the others go on" eval 'flows g1 && flows g3'

for d in "$d1" "$d2" "$d3"; do check "${d##*-}: detach" "$xvtrace" detach "$d" --timeout 200; done
touch "$work/no-restart"
check "the daemon ends" eval 'kill -TERM "$(daemon_pid)" && wait'
cat "$work/log"

for d in "$d1" "$d2" "$d3"; do lv_virsh dumpxml "$d" && lv_virsh dumpxml --inactive "$d"; done >"$work/all.xml"
check "no domain has a device of a region left" eval '! grep -q "<shmem name=.xvtrace-\($d1\|$d2\)" "$work/all.xml"'
check "no region is left" eval '! ls /dev/shm/xvtrace-"$LV_PREFIX"*'
ls -l "$set"
"$xvtrace" verify --notes "$set"
check "verify passes" "$xvtrace" verify -q "$set"
check "the sums add up" adds_up "$set"
check "there are several files" test "$(find "$set" -name '*.xvt' | wc -l)" -ge 3
"$xvtrace" report "$set" --event print | grep -oE '[^ ]+:0 .*xvt-seq [0-9]+ [0-9]+' | awk '{ print $1, $NF }' | sort >"$work/markers"
for d in "$d1" "$d2" "$d3"; do check "there are markers of ${d##*-}" grep -q "^$d" "$work/markers"; done
check "no marker is twice" test -z "$(sed "s/^[^ ]* //" "$work/markers" | sort | uniq -d | head -n 3)"
finish
