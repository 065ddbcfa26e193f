#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2016,SC2317
# The version of a build: which commit it is of, in a clone; the release, in a tarball; and packages of it upgrade.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
version() { "$work/$1/packaging/version.sh" 1.2.3; }
commit() { git -C "$work/$1" -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m "$2" && git -C "$work/$1" rev-parse --short=7 HEAD; }
mkdir -p "$work/tar/packaging"
cp packaging/version.sh packaging/deb-changelog.sh "$work/tar/packaging/"
release=$(sed -n 's/^XVT_RELEASE = //p' Makefile)
built=$("$xvtrace" --version | head -n 1)
check "the program has the release, and of a clone the commit" eval '[[ $built =~ ^xvtrace\ $release(\+git[0-9]+\.[0-9a-f]{7})?$ ]]'

check "a tarball has the release" [ "$(version tar)" = 1.2.3 ]
if command -v git >/dev/null; then
	mkdir "$work/other"
	git -C "$work/other" init -q
	commit other one >/dev/null
	cp -r "$work/tar" "$work/other/tar"
	check "so has one that lies in a clone of something else" [ "$(version other/tar)" = 1.2.3 ]
	cp -r "$work/tar" "$work/clone"
	git -C "$work/clone" init -q
	check "so has a clone without a commit" [ "$(version clone)" = 1.2.3 ]
	first=$(commit clone one)
	check "a clone has the number and the name of its commit" [ "$(version clone)" = "1.2.3+git1.$first" ]
	second=$(commit clone two)
	check "the next one has the next" [ "$(version clone)" = "1.2.3+git2.$second" ]
	git clone -q --depth 1 "file://$work/clone" "$work/shallow"
	cp -r "$work/tar/packaging" "$work/shallow/"
	check "a shallow clone has no number" [ "$(version shallow)" = "1.2.3+git0.$second" ]
fi
if command -v dpkg >/dev/null; then
	order="0.1 0.2.0 0.2.0+git9.fffffff 0.2.0+git10.0000000 0.2.1"
	set -- $order
	while [ $# -gt 1 ]; do
		check "$2 upgrades $1" dpkg --compare-versions "$1" lt "$2"
		shift
	done
fi
check "the packages' own list begins with the release" eval '[[ $(head -n 1 packaging/debian/changelog) == "xvtrace ($release) "* ]]'
changelog() { packaging/deb-changelog.sh "$1" packaging/debian/changelog; }
check "a release is in it once" cmp <(changelog "$release") packaging/debian/changelog
check "a build between two releases has an entry of its own" eval '[[ $(changelog "$release+git7.abcdef0" | head -n 1) == "xvtrace ($release+git7.abcdef0) unstable; "* ]]'
if command -v dpkg-parsechangelog >/dev/null; then
	changelog "$release+git7.abcdef0" >"$work/changelog"
	check "which dpkg reads" [ "$(dpkg-parsechangelog -l "$work/changelog" -S Version)" = "$release+git7.abcdef0" ]
	check "all of it" [ "$(dpkg-parsechangelog -l "$work/changelog" --all -S Version | wc -l)" -ge 1 ]
fi
[ $failures -eq 0 ]
