#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Bring the kernel headers of another Debian release, for a check that the module compiles; prints the folder for
# make -C. Uses apt with lists of its own, and installs nothing. What was fetched before is used where the archive cannot
# be reached. Exits with 1 and a line that says why when there are none.
#
# usage: other-headers.sh SUITE        the newest of amd64 in it, as bullseye or trixie-backports
set -eu

qemu_dir=$(cd "$(dirname "$0")/../../../qemu" && pwd)
. "$qemu_dir/common.sh"

suite=${1?usage: other-headers.sh SUITE}
dir=$BUILD/guest/headers/$suite
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"

# The mirror that this machine uses for Debian.
# shellcheck disable=SC2016 # the variable is apt's
site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | grep '/debian/$' | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] ${site:-http://deb.debian.org/debian/} $suite main" >"$dir/sources.list"

# own APT-TOOL ARG...
own() {
	tool=$1
	shift
	"$tool" -q -q -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" -o Acquire::Languages=none "$@"
}

found() {
	release=$(cat "$dir/current" 2>/dev/null) && [ -f "$dir/$release/whole" ] || qemu_die "kernel headers of $suite: $1"
	echo "$dir/$release/root/usr/src/linux-headers-$release"
	exit 0
}

own apt-get update >"$dir/log" 2>&1 && ! grep -q '^[EW]:' "$dir/log" || found "$(grep '^[EW]:' "$dir/log" | head -n 1)"
release=$(own apt-cache pkgnames linux-headers- | sed -n 's/^linux-headers-\([0-9][0-9.]*[-+0-9a-z]*-amd64\)$/\1/p' |
	grep -vE -- '-(rt|cloud)-' | sort -V | tail -n 1)
[ -n "$release" ] || found "the archive has none any more"
[ -f "$dir/$release/whole" ] || {
	rm -rf "${dir:?}/$release"
	mkdir -p "$dir/$release/root"
	# The headers name the rest: the common part, and kbuild's programs.
	more=$(own apt-cache show --no-all-versions "linux-headers-$release" | sed -n 's/^Depends: //p' | tr ',' '\n' |
		sed 's/^ *//; s/ .*//' | grep -E '^linux-(headers-.*-common|kbuild-.*)$')
	# shellcheck disable=SC2086 # several names
	(cd "$dir/$release" && own apt-get download "linux-headers-$release" $more) >"$dir/log" 2>&1 || found "$(tail -n 1 "$dir/log")"
	for deb in "$dir/$release"/*.deb; do
		dpkg-deb -x "$deb" "$dir/$release/root"
		rm "$deb"
	done
	# As in guest-packages.sh: the package's Makefile has absolute paths.
	# shellcheck disable=SC2016 # the variable is make's
	sed -i 's,/usr/src/,$(dir $(lastword $(MAKEFILE_LIST)))../,' "$dir/$release/root/usr/src/linux-headers-$release/Makefile"
	touch "$dir/$release/whole"
}
echo "$release" >"$dir/current"
found ""
