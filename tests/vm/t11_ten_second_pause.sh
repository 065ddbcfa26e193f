#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One guest is stopped for ten seconds. The trace says how long, to 1 %, and the other guest's
# events do not wait for it: the recorder is never more than a second behind.
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

# From one round to the next the watermark stands: just before the next one it is oldest.
awk '$1 == "round" && $4 {
		if (watermark && $4 - watermark > lag) { lag = $4 - watermark; at = $4 }
		watermark = $3; rounds++
	}
	END { printf "%d rounds, the widest lag %.1f ms\n", rounds, lag / 1e6; exit !(rounds > 100 && lag < 1e9) }' "$work/pause.raw"
check "the watermark never lags by more than a second" test $? -eq 0
finish
