#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Records by itself from the start (mode=overwrite): numbered markers until it is killed.
. /lib.sh
xvt-guest formats ftrace:print
until_rings overwrite
xvt-mark 100000000 --cpu 0 &
xvt-mark 100000000 --cpu 1 &
say flowing
wait
