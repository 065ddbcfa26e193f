#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One guest is stopped for ten seconds. The trace says how long, to 1 %, and the other guest's
# events do not wait for it.
set -u
. "$(dirname "$0")/lib.sh"
. tests/vm/disturb-lib.sh

pause_s=${PAUSE_S:-10}

now_ns() {
	date +%s%N
}

# stamp EVENT: when QEMU says that it happened to d, in ns
stamp() {
	jq "select(.event == \"$1\").timestamp | (.seconds * 1000000 + .microseconds) * 1000" "$work/d/events" | tail -n 1
}

start_both
record_both pause
# The machine stands still from some moment within the first command to one within the second.
begin_lo=$(now_ns)
qmp '{"execute":"stop"}' || exit 1
begin_hi=$(now_ns)
sleep "$pause_s" # not to order anything: this is the length that is measured
end_lo=$(now_ns)
qmp '{"execute":"cont"}' || exit 1
end_hi=$(now_ns)
check "both go on" flow 2000
judge pause 2

shortest=$((end_lo - begin_hi)) longest=$((end_hi - begin_lo))
true_ns=$(($(stamp RESUME) - $(stamp STOP)))
paused=$(jq '.vms[] | select(.name == "d").paused_ns' "$work/pause.json")
echo "paused $paused ns; by QEMU's stamps $true_ns ns; by the commands $shortest to $longest ns"
check "the pause was as long as it was made" test "$true_ns" -ge $shortest -a "$true_ns" -le $longest
check "paused_ns is right to 1 %" test $((paused * 100)) -ge $((true_ns * 99)) -a $((paused * 100)) -le $((true_ns * 101))
check "the other guest was never paused" stat_says "$trace" '.vms[] | select(.name == "o").paused_ns == 0'

# From one round to the next the watermark stands: just before the next one it is oldest. Below a second here while
# recorder and guests get to run; how long they wait for a CPU is not ours to decide, so what is asked is that the
# others went on: most of what they did during the pause was out before its end.
awk '
	$1 == "note" && $2 == vm && /stopped/ { from = $4 }
	$1 == "note" && $2 == vm && /runs again/ { to = $4 }
	$1 == "round" && $4 { n++; mark[n] = $3; at[n] = $4 }
	END {
		for (i = 2; i <= n; i++)
			if (at[i] - mark[i - 1] > lag)
				lag = at[i] - mark[i - 1]
		for (i = 1; i <= n && at[i] <= to; i++)
			out = mark[i]
		printf "%d rounds, the widest lag %.1f ms; at the end of the pause all but its last %.1f ms was out\n",
			n, lag / 1e6, (to - out) / 1e6
		exit !(n > 100 && from && out - from > (to - from) / 2)
	}' vm="$("$xvtrace" stat --json "$trace" | jq '[.vms[].name] | index("d")')" "$work/pause.raw"
check "the other guest's events flow during the pause" test $? -eq 0
finish
