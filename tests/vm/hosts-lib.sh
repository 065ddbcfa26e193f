# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced after lib.sh by tests that need two hosts with libvirt: namespaces of this one, each with a
# name, a libvirtd, a /dev/shm and processes of its own. What is in them ends with them.

# host NAME: starts one
declare -A host_init
host() {
	local dir=$LV_DIR/$1
	mkdir -p "$dir"/{run/libvirt,run/xvtrace,var/lib/libvirt,var/cache/libvirt,var/log/libvirt,etc}
	cp -a /etc/libvirt "$dir/etc/"
	# libvirt does not migrate to the same host.
	echo "host_uuid = \"$(cat /proc/sys/kernel/random/uuid)\"" >>"$dir/etc/libvirt/libvirtd.conf"
	echo 'namespaces = [ ]' >>"$dir/etc/libvirt/qemu.conf"
	install -m 0 /dev/null "$dir/no-kvm"
	# The first process there waits for those that others leave.
	cat >"$dir/init" <<'END'
mount --make-rprivate / || exit
for d in /run /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do
	mount --bind "$1$d" $d || exit
done
mount -t tmpfs -o mode=1777 none /dev/shm || exit
[ ! -e /dev/kvm ] || [ "$3" = kvm ] || mount --bind "$1/no-kvm" /dev/kvm || exit
umount -R -l /sys/fs/cgroup 2>/dev/null
hostname "$2" && virtlogd -d && libvirtd -d -t 600 && touch "$1/up"
while :; do sleep 1000; done
END
	unshare --mount --uts --pid --fork --mount-proc --kill-child sh "$dir/init" "$dir" "$1" \
		"$([ -n "$(qemu_no_kvm)" ] || echo kvm)" >"$dir/out" 2>&1 &
	host_init[$1]=$!
	vm_poll 60 host_is_up "$1" || { cat "$dir/out" && return 1; }
	host_init[$1]=$(pgrep -P "${host_init[$1]}")
	vm_poll 60 host_virsh "$1" version >/dev/null
}
host_is_up() { [ -e "$LV_DIR/$1/up" ] || ! kill -0 "${host_init[$1]}"; }

hosts_end() {
	local pid
	for pid in "${host_init[@]}"; do kill -KILL "$pid" 2>/dev/null; done
	wait
	rm -rf "$LV_DIR"
}

# on HOST COMMAND...
on() {
	local host=$1
	shift
	nsenter -t "${host_init[$host]}" -m -u -p env XVTRACE_RUN_DIR=/run/xvtrace "$@"
}

host_uri() { echo "qemu+unix:///system?socket=$LV_DIR/$1/run/libvirt/libvirt-sock"; }

# host_virsh HOST ARG...
host_virsh() {
	local host=$1
	shift
	timeout "$VM_TIMEOUT" virsh -q -c "$(host_uri "$host")" "$@"
}

# host_record HOST DOMAIN: records it to $work/HOST.xvt
host_record() {
	on "$1" "$(realpath "$xvtrace")" record -q -o "$(realpath "$work")/$1.xvt" -d "$2" --follow --stall-timeout 60 2>"$work/$1.err" &
	recorders[$1]=$!
}
declare -A recorders

# host_record_end HOST: returns the recorder's exit status
host_record_end() {
	on "$1" pkill -INT -x xvtrace
	wait "${recorders[$1]}"
}

# host_flows HOST: events are recorded there from now on
host_flows() {
	local now
	now=$(host_events "$1")
	vm_poll 60 host_more_than "$1" $((${now:-0} + 2000))
}
host_events() {
	XVTRACE_RUN_DIR=$LV_DIR/$1/run/xvtrace "$xvtrace" status --json 2>/dev/null |
		jq '[.recorders[0].vms[].rings[].events] | add // 0'
}
host_more_than() { [ "$(host_events "$1")" -gt "$2" ] 2>/dev/null; }
