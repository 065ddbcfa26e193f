#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# alone: judges times
# slow: not in make check
# t_hostile_guest.sh with `record --drain io_uring`, and other seeds.
set -u
SEEDS=${SEEDS:-"4 5"} DRAIN=io_uring exec bash "$(dirname "$0")/t_hostile_guest.sh"
