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

# say WORDS: a line for the host
said=1
say() {
	echo "XVT-SAY $*" >&"$said"
}

# hear_orders: what vm_order sends from now on can be read from descriptor 3
hear_orders() {
	exec 3</dev/ttyS1
	stty -F /dev/ttyS1 -echo
}

# say_apart: the console has messages of the kernel while this guest speaks
say_apart() {
	exec 4>/dev/ttyS1
	stty -F /dev/ttyS1 -onlcr
	said=4
}
