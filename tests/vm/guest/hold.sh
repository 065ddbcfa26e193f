#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest that only exists: for tests that load and look from outside, by its console.
. /lib.sh
say ready
until_rings stop
until_rings off
