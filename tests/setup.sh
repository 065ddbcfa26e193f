#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Brings a fresh Debian 12 to where everything builds and runs. Installs only what is missing;
# a second run does no network and takes a moment. Needs root only when something is missing.
set -eu

packages="gcc clang make pkg-config libc6-dev check git ca-certificates
	liburing-dev libtraceevent-dev libtracefs-dev libjansson-dev libvirt-dev libxml2-dev libzstd-dev libseccomp-dev libncurses-dev libsqlite3-dev
	qemu-system-x86 qemu-utils busybox-static cpio kmod xz-utils zstd socat jq sqlite3 dpkg-dev
	libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients libvirt-daemon-system
	babeltrace2 trace-cmd libtracecmd-dev libkshark-dev libjson-c-dev liblttng-ust-dev lttng-tools python3-lttnganalyses protobuf-compiler valgrind afl++ libclang-rt-14-dev spin bc flex bison libelf-dev tmux util-linux procps systemd-container mmdebstrap e2fsprogs binutils
	prometheus lowdown mandoc man-db bash-completion debhelper dh-dkms lintian"

# Another program may hold apt's locks: on a new machine that is unattended-upgrades. DPkg::Lock::Timeout waits for that of
# dpkg, and no option for that of the lists.
lock_timeout=${XVT_SETUP_LOCK_TIMEOUT:-900}
apt_locked() {
	grep -q -e 'Could not get lock' -e 'Unable to lock directory' -e 'Unable to acquire the dpkg frontend lock' "$log"
}
apt_get() {
	end=$(($(date +%s) + lock_timeout)) said=
	until apt-get -q -o DPkg::Lock::Timeout="$lock_timeout" "$@" >"$log" 2>&1 </dev/null; do
		apt_locked && [ "$(date +%s)" -lt $end ] || return 1
		[ -n "$said" ] || echo "setup: waits for apt's lock, which another program holds:" \
			"$(sed -n 's/.*held by process \([0-9]* ([^)]*)\).*/\1/p' "$log" | head -n 1)"
		said=yes
		sleep "${XVT_SETUP_LOCK_PAUSE:-3}"
	done
}

missing=""
for p in $packages; do
	dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
done
if [ -n "$missing" ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "setup: these packages are missing and only root can install them:$missing" >&2
		exit 1
	fi
	echo "setup: installing:$missing"
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	# A service manager that is not there must not stop the installation.
	{ apt_get update && apt_get install -y --no-install-recommends $missing; } || {
		tail -n 20 "$log" >&2
		echo "setup: apt-get failed (see above)" >&2
		exit 1
	}
	rm -f "$log"
fi
# The guest's kernel is fetched by name, which needs apt's lists even when nothing is missing.
if [ "$(id -u)" = 0 ] && ! apt-cache show linux-image-amd64 >/dev/null 2>&1; then
	apt-get update -q >/dev/null 2>&1 </dev/null || true
fi
