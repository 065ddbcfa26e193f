# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests of the command line, after `set -u`. The test removes $work when it exits.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/jq.sh
BUILD=${BUILD:-build}
xvtrace=$BUILD/xvtrace
work=$(mktemp -d)
export XVT_FORMATS_DIR=$work/formats # not the cache of the user that runs the tests
. tests/cli/check.sh

# What a test starts and may leave running: their pids go into $pids, and `trap cleanup EXIT` ends them.
pids=()
cleanup() {
	[ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}

# stat_sum FILE FIELD: over all rings
stat_sum() { "$xvtrace" stat --json "$1" | jq "[.vms[].rings[].$2] | add"; }

# adds_up FILE ATTEMPTED: of that many attempted, each is delivered, discarded or lost
adds_up() {
	"$xvtrace" stat --json "$1" | jq -e --argjson n "$2" '[.vms[].rings[]] |
		(map(.attempted) | add) == $n and
		(map(.events + .discarded + .lost) | add) == $n and all(.[]; .in_flight == 0)' >/dev/null && return
	"$xvtrace" stat "$1"
	return 1
}

# measure FOLDER: $most is the most bytes of the disk that its files took together, a file of several names once. Files of
# different moments do not count: while they are looked at, the oldest may be removed and others begun.
most=0
measure() {
	local names now
	names=$(find "$1" 2>/dev/null)
	now=$(find "$1" -type f -printf '%i %b\n' 2>/dev/null | sort -u -k 1,1 | awk '{ sum += $2 * 512 } END { print sum + 0 }')
	[ "$(find "$1" 2>/dev/null)" != "$names" ] || [ "$now" -le "$most" ] || most=$now
}

# ended_idle STATUS [FILE]: of a recorder whose named machines gave no event: it failed for that alone, which is no failure
# of these tests. Its stderr is in FILE, out of which that is taken.
ended_idle() {
	local said
	[ "$1" -eq 0 ] && return
	[ "$1" -eq 1 ] && [ -n "${2-}" ] || return
	said=$(grep -v ': no event of it came: ' "$2")
	[ "$(grep -c . <<<"$said")" -lt "$(grep -c . "$2")" ] || return
	printf '%s' "${said:+$said$'\n'}" >"$2"
}

# misses STATUS WORDS OPTION...: report of $trace with these options has that exit status, and WORDS on stderr
misses() {
	local want=$1 words=$2
	shift 2
	"$xvtrace" report "$@" "$trace" >"$work/out" 2>"$work/err"
	[ $? -eq "$want" ] && grep -qE -- "$words" "$work/err" && return
	head -n 3 "$work/err" | sed 's/^/# /'
	return 1
}

# bare_qemu SOCKET: a QEMU without a machine, by whose end a test stands in for a crash; its pid is $qemu
bare_qemu() {
	qemu-system-x86_64 -machine none -S -display none -qmp "unix:$1,server=on,wait=off" >/dev/null 2>&1 &
	qemu=$!
	pids+=("$qemu")
	disown "$qemu"
	poll listens "$1"
}

# service_manager SOCKET FILE: what listens to sd_notify(), and writes each message to FILE
service_manager() {
	cat >"$work/manager.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)
END
	python3 "$work/manager.py" "$1" >"$2" &
	pids+=($!)
	poll test -S "$1"
}
