#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# overlay.sh SCRIPT DIR: makes DIR an overlay in which SCRIPT of this folder is the guest's
# /run.sh, beside /lib.sh.
set -eu
here=$(dirname "$0")
mkdir -p "$2"
cp "$here/lib.sh" "$2/lib.sh"
cp "$here/$1" "$2/run.sh"
chmod 755 "$2/run.sh"
