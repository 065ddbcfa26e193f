# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by lib.sh, and by tests that run in another system, where the sources are not.

failures=0

# check TEXT COMMAND...: one thing that this test shows
check() {
	local text=$1
	shift
	if "$@"; then echo "ok - $text"; else
		echo "not ok - $text"
		failures=$((failures + 1))
	fi
}

# poll COMMAND...: until it succeeds; two minutes are for what hangs, PATIENCE=SECONDS for what may take longer
poll() {
	local end=$((SECONDS + ${PATIENCE:-120}))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# listens SOCKET: connections to it are taken, which is later than that it is there
listens() { awk -v path="$1" '$4 == "00010000" && $8 == path { found = 1 } END { exit !found }' /proc/net/unix; }

# freeze PID...: stops processes. SIGSTOP is handled by one thread, which stops the others: on a busy
# machine they run on for a while after kill has returned.
freeze() { kill -STOP "$@" && poll are_frozen "$@"; }
are_frozen() {
	local pid
	for pid; do
		cat "/proc/$pid/task/"*/status 2>/dev/null | grep -q '^State:[[:space:]]*[^T[:space:]]' && return 1
	done
	return 0
}
