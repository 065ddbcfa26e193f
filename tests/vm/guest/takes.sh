#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Which of several ivshmem devices the module takes, and what it says of that.
. /lib.sh
insmod "/lib/modules/$(uname -r)/xvtrace.ko" && say taken
dmesg | sed -n 's/^.*xvtrace 0000/XVT-SAY log 0000/p'
