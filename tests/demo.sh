#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make demo: two guests with two vCPUs each, joined by a socket, recorded live into one trace.
set -euo pipefail
cd "$(dirname "$0")/.."
# The host's own events need tracefs, which a new machine has not mounted. Only this demo sees it.
if ! grep -q ' tracefs ' /proc/self/mounts && unshare -m mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; then
	# shellcheck disable=SC2016
	exec unshare -m bash -c 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"' - tests/demo.sh
fi
export BUILD=${BUILD:-build}
VM_RUN_DIR=$BUILD/demo/run
. qemu/guest-lib.sh
vm_trap
# And no recorder either: without its guests it would wait for them for some seconds.
recorder=
trap 'trap "" HUP INT TERM; [ -z "$recorder" ] || { kill -KILL $recorder; wait $recorder; } 2>/dev/null || :; vm_cleanup' EXIT

out=$BUILD/demo
xvtrace=$BUILD/xvtrace
trace=$out/trace.xvt
rm -rf "$out"
mkdir -p "$out"
tests/vm/guest/overlay.sh demo.sh "$out/overlay"

step() {
	printf '\n\033[1m== %s\033[0m\n' "$*"
}

kernel=$(eval "$(qemu/guest-packages.sh --print)" && echo "$KRELEASE")
step "two guests with Linux $kernel, two vCPUs each, a ring per vCPU in shared memory, a cable between them"
vm_start g1 --vcpus 2 --overlay "$out/overlay" --net "$VM_RUN_DIR/net.sock:server" --ip 10.77.0.1/24
vm_start g2 --vcpus 2 --overlay "$out/overlay" --net "$VM_RUN_DIR/net.sock:client" --ip 10.77.0.2/24

step "xvtrace record -o $trace -r g1=$(vm_region g1) -r g2=$(vm_region g2) --host sched"
setpriv --pdeathsig KILL -- "$xvtrace" record -o "$trace" -r g1="$(vm_region g1)" -r g2="$(vm_region g2)" --host sched &
recorder=$!
for g in g1 g2; do
	vm_wait_log $g '^XVT-SAY done' 120
done
kill -INT $recorder
wait $recorder
recorder=
for g in g1 g2; do
	vm_wait $g 30
	[ "$(vm_rc $g)" = 0 ]
done

step "what the trace holds"
"$xvtrace" stat "$trace"

step "both machines around one exchange (pinned by host time, not by hand)"
"$xvtrace" report --no-task "$trace" --event print >"$out/markers.txt"
at=$(awk '/xvt-ping send 600$/ { print $1; exit }' "$out/markers.txt")
to=$(awk '/xvt-pong recv 600$/ { print $1; exit }' "$out/markers.txt")
"$xvtrace" report --no-task "$trace" --from "$at" --to "$to" >"$out/exchange.txt"
# The markers, and what lies right around them.
awk '{ line[NR] = $0 } /xvt-p[io]ng/ { for (i = NR - 2; i <= NR + 2; i++) show[i] = 1 }
	END { for (i = 1; i <= NR; i++) if (show[i]) { if (i > 1 && !show[i - 1]) print "          ..."; print line[i] } }' \
	"$out/exchange.txt" | cut -c1-150

# verify fails where a receipt is before its send by more than the bounds of the two clocks, which on a busy host are wide.
step "proof"
"$xvtrace" verify "$trace" | tee "$out/verify.txt"
awk '
	match($0, /xvt-p[io]ng (send|recv) [0-9]+/) { split(substr($0, RSTART, RLENGTH), f, " "); at[f[1] f[2], f[3]] = NR; if (f[3] > max) max = f[3] }
	END {
		for (n = 0; n <= max; n++)
			if (at["xvt-pingsend", n] && at["xvt-pongrecv", n]) {
				all++
				good += at["xvt-pingsend", n] < at["xvt-pingrecv", n] && at["xvt-pingrecv", n] < at["xvt-pongsend", n] && at["xvt-pongsend", n] < at["xvt-pongrecv", n]
			}
		print good " of " all " exchanges with send before receipt on both ways" \
			(good < all ? "; the others are nearer to each other than their clocks are known, as verify says" : "")
		exit all < 1000
	}' "$out/markers.txt"
echo "median one-way times: $(grep -oE '[^ ]+ to [^ ]+ median [0-9.]+ [a-z]+' "$out/verify.txt" | paste -sd, | sed 's/,/, /'); widest clock bound: $("$xvtrace" stat --json "$trace" | jq '[.vms[].rings[].clock.bound_ns_max] | max / 1000') us"

step "a foreign reader"
"$xvtrace" export --format ctf "$trace" "$out/ctf"
babeltrace2 "$out/ctf" >"$out/babeltrace.txt" 2>"$out/babeltrace.err"
# A busy host may overwrite events of its own before they are read: the foreign reader counts them, too.
if grep -v '^WARNING: Tracer discarded [0-9]* event' "$out/babeltrace.err" >&2; then
	echo "demo: babeltrace2 has more to say than which events are lost" >&2
	exit 1
fi
# What happened to a machine (xvtrace-export(1)) is an event of CTF, and none of the trace's.
states=$(grep -cE '^[^{]* xvt:[a-z]+: ' "$out/babeltrace.txt" || :)
read=$(($(wc -l <"$out/babeltrace.txt") - states))
lost=$(awk '/^WARNING: Tracer discarded/ { n += $4 } END { print n + 0 }' "$out/babeltrace.err")
known=$("$xvtrace" stat --json "$trace" | jq -r '"\(.events) \(.lost)"')
echo "CTF: $out/ctf: babeltrace2 read $read events and $states states of machines, and counts $lost lost events"
if [ "$read $lost" != "$known" ]; then
	echo "demo: xvtrace stat counts $known of them" >&2
	exit 1
fi
echo
echo "Look further:  $xvtrace report $trace | less      man pages: docs/"
echo "Other kernels: make demo FLAVOUR=6.12-amd64                  (docs/guest.md, Build)"
