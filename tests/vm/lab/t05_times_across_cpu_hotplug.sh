#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# CPUs of a guest go and come back, are plugged in, taken out and plugged in again, under real KVM: QEMU's TCG often ends
# when a CPU is taken out, so tests/vm/t30 does that here only.
exec bash tests/vm/t30_times_across_cpu_hotplug.sh
