#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The packages in a fresh Debian 12, made by mmdebstrap: installed, used, the module built by dkms for
# kernels 6.1 and 6.12, and purged. Some minutes and 1 GB: called by `make proof`, after `make deb`.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
deb=$BUILD/deb
[ "$(id -u)" = 0 ] || { echo "skip - packages in a fresh system: only root can make one" && exit 77; }
command -v mmdebstrap >/dev/null || { echo "skip - packages in a fresh system: mmdebstrap is missing" && exit 77; }
[ -n "$(ls "$deb"/xvtrace_*.deb 2>/dev/null)" ] || { echo "not ok - $deb: no packages; make deb" && exit 1; }

# What the packages need, and for their users a compiler, man, completion, and headers of two series.
depends=$(for p in "$deb"/*.deb; do dpkg-deb -f "$p" Depends; echo; done | tr ',' '\n' | sed 's/ *(.*//; s/^ *//' |
	grep -vE '^(lib)?xvt' | sort -u | grep .)
include=$(printf '%s\n' $depends bash-completion man-db openssl gcc libc6-dev pkg-config kmod linux-headers-amd64 linux-headers-6.12-amd64 |
	sort -u | paste -sd,)
# Proxies and the like hold for that system's apt too.
apt-config dump --format '%f "%v";%n' Acquire::http Acquire::https Acquire::Check-Valid-Until Acquire::Check-Date |
	grep -v ' "";$' >"$work/apt.conf"
if ! TMPDIR=$work mmdebstrap --quiet --mode=root --variant=minbase --format=directory --aptopt="$work/apt.conf" \
	--include="$include" bookworm "$work/root" >"$work/log" 2>&1 </dev/null; then
	tail -n 5 "$work/log" | sed 's/^/# /'
	echo "skip - packages in a fresh system: no packages of Debian can be fetched"
	exit 77
fi
mkdir "$work/root/tmp/deb"
find "$deb" -name '*.deb' ! -name '*-dbgsym_*' -exec cp {} "$work/root/tmp/deb" \;
cp tests/cli/packages_inside.sh "$work/root/tmp/deb"
cat >"$work/in" <<SCRIPT
mount -t proc p "$work/root/proc" && mount --rbind /dev "$work/root/dev" &&
	exec chroot "$work/root" bash /tmp/deb/packages_inside.sh /tmp/deb $(ls "$work/root/lib/modules" | grep amd64 | paste -sd' ')
SCRIPT
check "headers of two series are there" [ "$(ls "$work/root/lib/modules" | grep -cE '^6\.(1|12)\.')" = 2 ]
unshare -m --propagation private sh "$work/in"
check "all of that in a fresh system" [ $? -eq 0 ]
[ $failures -eq 0 ]
