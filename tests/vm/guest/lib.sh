# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Sourced by the scripts that run inside a guest (busybox sh). Waits by looking at state, never
# by the clock.

tracing=/sys/kernel/tracing
rings=/sys/class/misc/xvtrace/rings

# all_rings STATE: does every online ring say STATE (off, stop, overwrite)?
all_rings() {
	awk -v want="$1" 'NR > 1 && $4 == "online" { n++; if ($5 == want) ok++ } END { exit !(n && n == ok) }' $rings
}

# until_rings STATE: wait for it
until_rings() {
	until all_rings "$1"; do
		usleep 50000
	done
}

# events SYSTEM/EVENT...: switch them on
events() {
	for e in "$@"; do
		echo 1 >"$tracing/events/$e/enable" || echo "XVT-GUEST-ERROR: no event $e"
	done
}

say() {
	echo "XVT-SAY $*"
}
