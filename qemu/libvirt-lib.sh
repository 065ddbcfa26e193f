# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Guests under libvirt, by the side of those of guest-lib.sh, which this file sources. To be sourced by a bash script:
#
#	. qemu/libvirt-lib.sh
#	lv_trap
#	lv_start || exit			# 77: cannot be done here, the reason is on stderr
#	lv_create g1 --vcpus 2 --overlay DIR
#	build/xvtrace record -d "$(lv_domain g1)" ...
#	vm_wait g1 60
#
# lv_start			uses the libvirtd that runs, or starts one and a virtlogd (needs root); $LV_CONF: the
#				configuration of the one that it starts
# lv_create NAME [OPTION]...	creates a transient domain. Options: those of make-domain.sh except --kernel, --initrd,
#				--log, --shm; and --overlay DIR, which may be repeated
# lv_domain NAME		prints the domain's name, $LV_PREFIX$NAME. Its region is /dev/shm/xvtrace-DOMAIN.
# lv_virsh ARG...		virsh, connected
# lv_destroy NAME		ends the domain without asking it
# lv_stop			stops the daemons that lv_start started, and no others
# lv_cleanup, lv_trap		as vm_cleanup and vm_trap, with domains and daemons
#
# vm_region, vm_log, vm_pid, vm_alive, vm_wait, vm_wait_log, vm_rc and vm_kill work on these guests too. For QMP there
# is lv_virsh qemu-monitor-command DOMAIN JSON.

qemu_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$qemu_dir/guest-lib.sh"

LV_URI=${LV_URI:-qemu:///system}
# Other people's domains live in the same name space.
LV_PREFIX=${LV_PREFIX-xvt$$-}

# lv_skip REASON
lv_skip() {
	qemu_say "skipped: libvirt: $*"
	return 77
}

lv_virsh() {
	timeout "$VM_TIMEOUT" virsh -q -c "$LV_URI" "$@"
}

lv_start() {
	local daemon
	command -v virsh >/dev/null || { lv_skip "virsh not found; install the package libvirt-clients" || return; }
	# On a machine with systemd this may start it.
	! lv_virsh version >/dev/null 2>&1 || return 0
	[ "$(id -u)" = 0 ] || { lv_skip "no libvirtd at $LV_URI answers, and only root can start one" || return; }
	mkdir -p "$VM_RUN_DIR"
	# virtlogd first: libvirtd needs it for the console's log.
	for daemon in virtlogd libvirtd; do
		command -v $daemon >/dev/null || { lv_skip "$daemon not found; install the package libvirt-daemon-system" || return; }
		# One that runs is another user's; a pid file of ours must not hide theirs. Users may have some for their sessions,
		# and containers theirs.
		! pgrep --ns $$ --nslist pid -x -U 0 $daemon >/dev/null || continue
		# -d returns when it answers. -t: where nothing is left to stop it, it ends by itself when it has no clients
		# and no domains.
		# shellcheck disable=SC2046,SC2086 # no words if there is no configuration
		lv_without_kvm $daemon -d -t 600 -p "$VM_RUN_DIR/$daemon.pid" $([ $daemon != libvirtd ] || echo ${LV_CONF:+-f "$LV_CONF"}) || { lv_skip "$daemon did not start" || return; }
	done
	lv_virsh version >/dev/null || lv_skip "libvirtd runs, but does not answer at $LV_URI"
}

# lv_without_kvm COMMAND...: hides a /dev/kvm that is of no use. Where QEMU can open it and libvirt's user cannot,
# libvirt 9 finds its cached capabilities outdated at each call and asks QEMU again: a domain took 53 s to create.
lv_without_kvm() {
	if [ ! -e /dev/kvm ] || [ -z "$(qemu_no_kvm)" ]; then
		"$@"
		return
	fi
	install -m 0 /dev/null "$VM_RUN_DIR/no-kvm" || return
	# A domain's own /dev cannot be made with a file mounted in it.
	{ cat /etc/libvirt/qemu.conf && echo 'namespaces = [ ]'; } >"$VM_RUN_DIR/qemu.conf" || return
	# shellcheck disable=SC2016 # the inner shell's
	(cd "$VM_RUN_DIR" && unshare --mount sh -c \
		'mount --bind no-kvm /dev/kvm && mount --bind qemu.conf /etc/libvirt/qemu.conf && exec "$@"' sh "$@")
}

lv_stop() {
	local daemon pid
	for daemon in libvirtd virtlogd; do
		# The file has no newline.
		pid=$(cat "$VM_RUN_DIR/$daemon.pid" 2>/dev/null) || continue
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = $daemon ] || continue
		kill "$pid"
		vm_poll "$VM_TIMEOUT" lv_gone "$pid" || qemu_say "$daemon, process $pid: does not end"
	done
}

lv_gone() {
	[ ! -d "/proc/$1" ]
}

lv_domain() {
	echo "$LV_PREFIX$1"
}

lv_create() {
	local name=${1?lv_create needs a name} dir=$VM_RUN_DIR/$1 overlays=() options=() append='' domain
	# vm_prepare_kernel uses these.
	local kernel cmdline ip='' mod=''
	domain=$(lv_domain "$1")
	shift
	while [ $# -gt 0 ]; do
		if [ "$1" = --overlay ]; then
			overlays+=("$2") && shift 2
		else
			options+=("$1") && shift
		fi
	done
	vm_new_dir "$name" || return
	# libvirtd needs a moment to see that the last domain of this name has ended.
	if [ -f "$dir/domain.xml" ] && ! vm_poll "$VM_TIMEOUT" lv_forgotten "$domain"; then
		vm_error "lv_create $name: the domain $domain still exists" || return
	fi
	vm_prepare_kernel || return
	# libvirt runs QEMU as a user of its own, who may not be able to reach the build directory.
	LV_DIR=${LV_DIR:-$(mktemp -d)}
	chmod 755 "$LV_DIR"
	[ -f "$LV_DIR/kernel" ] || install -m 644 "$kernel" "$LV_DIR/kernel" || return
	install -m 755 "$qemu_dir/tcg-single.sh" "$LV_DIR/emulator" || return
	install -m 644 "$dir/initrd" "$LV_DIR/$domain.initrd" && rm "$dir/initrd"
	"$qemu_dir/make-domain.sh" "$domain" --kernel "$LV_DIR/kernel" --initrd "$LV_DIR/$domain.initrd" \
		--emulator "$LV_DIR/emulator" --log "$dir/console.log" --shm "xvtrace-$domain" "${options[@]}" >"$dir/domain.xml" || return
	echo "/dev/shm/xvtrace-$domain" | tee -a "$dir/own-regions" >"$dir/region"
	lv_virsh create "$dir/domain.xml" >"$dir/qemu.err" 2>&1 || { vm_error "virsh create $dir/domain.xml: $(tail -n 1 "$dir/qemu.err")" || return; }
	vm_record_process "$name" "$(cat "/run/libvirt/qemu/$domain.pid")"
}

lv_forgotten() {
	! lv_virsh domstate "$1" >/dev/null 2>&1
}

lv_destroy() {
	lv_virsh destroy "$(lv_domain "$1")" >/dev/null
	vm_wait "$1" "$VM_TIMEOUT"
}

lv_cleanup() {
	local - xml
	set +e
	for xml in "$VM_RUN_DIR"/*/domain.xml; do
		[ ! -f "$xml" ] || lv_virsh destroy "$(lv_domain "$(basename "$(dirname "$xml")")")" >/dev/null 2>&1
	done
	vm_cleanup
	lv_stop
	[ -z "${LV_DIR:-}" ] || rm -rf "$LV_DIR"
}

lv_trap() {
	vm_trap
	trap 'trap "" HUP INT TERM; lv_cleanup' EXIT
}
