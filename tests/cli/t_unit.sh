#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: tracefs, and builds
# shellcheck disable=SC2317
# slow: boots a system
# The service, started by a systemd: in a container whose system is this one with a layer over it,
# tests/cli/unit_inside.sh starts, reloads, kills and stops it beneath all that its unit forbids.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
can() {
	[ "$(id -u)" = 0 ] || { echo "only root can boot a container" && return 1; }
	command -v systemd-nspawn >/dev/null || { echo "systemd-nspawn is missing (Debian: systemd-container)" && return 1; }
	[ -x /usr/lib/systemd/systemd ] || [ -x /lib/systemd/systemd ] || { echo "systemd is missing" && return 1; }
	[ -z "${ASAN-}" ] || { echo "a program with sanitizers has no sandbox" && return 1; }
	unshare -m sh -c 'mount -t tmpfs t /mnt' 2>/dev/null || { echo "mounts are not allowed" && return 1; }
}
reason=$(can) || { echo "skip - the service beneath systemd: $reason" && exit 77; }

mkdir "$work/layers"
# Beneath a systemd that runs, nspawn makes a scope for itself.
keep=$([ -d /run/systemd/system ] || echo --keep-unit)
cat >"$work/boot" <<SCRIPT
set -e
mount -t tmpfs t "$work/layers"
mkdir "$work/layers/upper" "$work/layers/work" "$work/layers/root"
mount -t overlay -o "lowerdir=/,upperdir=$work/layers/upper,workdir=$work/layers/work" o "$work/layers/root"
root=$work/layers/root
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install-tools BUILD="$BUILD" DESTDIR="\$root" PREFIX=/usr >/dev/null
cp "$BUILD/xvt-emit" "$BUILD/tests/tools/xvt-escape" tests/cli/unit_inside.sh tests/cli/check.sh "\$root/usr/bin"
# What this system starts at its boot, that one does not.
rm -rf "\$root/var/lib/xvtrace" "\$root/etc/xvtrace" "\$root/run" "\$root/var/log/journal"
mkdir "\$root/run"
cat >"\$root/etc/systemd/system/xvt-test.target" <<UNIT
[Unit]
Requires=basic.target xvt-test.service dbus.socket
After=basic.target
AllowIsolate=yes
UNIT
cat >"\$root/etc/systemd/system/xvt-test.service" <<UNIT
[Unit]
Requires=basic.target
After=basic.target
[Service]
Type=exec
ExecStart=/usr/bin/unit_inside.sh /report
StandardOutput=null
UNIT
status=0
SYSTEMD_SECCOMP=0 timeout -k 5 900 systemd-nspawn -q -D "\$root" -b --register=no $keep --capability=all --private-network \
	--link-journal=no --console=pipe systemd.unit=xvt-test.target </dev/null >"$work/console" 2>&1 || status=\$?
cat "\$root/report" || echo "# nspawn ended with \$status"
SCRIPT
unshare -m --propagation private sh "$work/boot" >"$work/report" 2>"$work/err"
if [ ! -s "$work/report" ] || ! grep -qE '^(ok|not ok) ' "$work/report"; then
	cat "$work/err" "$work/report" | sed 's/^/# /'
	tail -n 5 "$work/console" | tr -cd '[:print:]\n' | sed 's/^/# /'
	echo "skip - the service beneath systemd: no container can be booted here"
	exit 77
fi
cat "$work/report"
check "all of that, to the end" eval 'grep -qx end "$work/report" && ! grep -q "^not ok" "$work/report"'
exit $((failures > 0))
