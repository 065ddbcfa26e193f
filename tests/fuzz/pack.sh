#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# pack.sh DIR: the known inputs in DIR, in a folder for each target, as a tar file on stdout. The
# same files give the same bytes: names are sorted, owners, times and modes are fixed.
#   make fuzz-pack [CORPUS=DIR]     writes tests/fuzz/corpus.tar.xz
set -eu
exec env LC_ALL=C tar -C "$1" --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
	--mode=a=r,u+w,a+X -cf - $(cd "$1" && LC_ALL=C ls)
