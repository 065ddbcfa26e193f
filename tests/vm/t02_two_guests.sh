#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two guests exchange numbered requests and replies: everything in causal order, nothing lost,
# nothing late; and a clock map that is wrong by more than the one-way time is noticed. With the
# host's events beside theirs, every format of an export has the same events by its own readers.
set -u
. "$(dirname "$0")/lib.sh"
. tests/lttng.sh
. tests/formats.sh

trace=$work/trace.xvt
vm_start g1 --vcpus 2 --overlay "$(overlay demo.sh)" --net "$work/net.sock:server" --ip 10.77.0.1/24 || exit 1
vm_start g2 --vcpus 2 --overlay "$(overlay demo.sh)" --net "$work/net.sock:client" --ip 10.77.0.2/24 || exit 1
record_start "$trace" -r g1="$(vm_region g1)" -r g2="$(vm_region g2)" --host sched --host-buffer 8M
need "both guests finish their exchanges" eval 'vm_wait_log g1 "^XVT-SAY done" 600 && vm_wait_log g2 "^XVT-SAY done" 600'
check "the recorder ends cleanly" record_stop
check "both guests power off" eval 'vm_wait g1 600 && vm_wait g2 600'
cat "$trace.err"

check "two guests with two rings each" stat_says "$trace" '[.vms[] | select(.kind != "host") | .rings | length] == [2, 2]'
check "at least 5000 events on each ring" stat_says "$trace" '[.vms[] | select(.kind != "host") | .rings[].events >= 5000] | all'
check "nothing lost, late or out of order" stat_says "$trace" '
	([.vms[] | select(.kind != "host") | .lost] | add) == 0 and .late == 0 and .order_violations == 0 and .in_flight == 0'
# How tight is the host's scheduler's matter where vCPUs share its cores: 0.1 to 1 ms. The exchanges
# below say whether it is true.
echo "widest bound: $("$xvtrace" stat --json "$trace" | jq '[.vms[].rings[].clock.bound_ns_max] | max / 1000') us"
check "clocks by handshake, each with a bound" stat_says "$trace" '[.vms[] | select(.kind != "host") | .rings[].clock | .source == "handshake" and .bound_ns_max > 0] | all'
check "attempted == events + discarded + lost + in flight" adds_up "$trace"
"$xvtrace" stat "$trace"
"$xvtrace" verify "$trace" >"$work/verify.txt" 2>&1
check "verify passes" test $? -eq 0
cat "$work/verify.txt"

"$xvtrace" report "$trace" --event print >"$work/markers.txt"
awk '
	match($0, /xvt-p[io]ng (send|recv) [0-9]+/) { split(substr($0, RSTART, RLENGTH), f, " "); at[f[1] " " f[2], f[3]] = NR; if (f[3] > max) max = f[3] }
	END {
		for (n = 0; n <= max; n++) {
			if (!((("xvt-ping send", n) in at) && (("xvt-ping recv", n) in at) && (("xvt-pong send", n) in at) && (("xvt-pong recv", n) in at))) continue
			all++
			if (at["xvt-ping send", n] < at["xvt-ping recv", n] && at["xvt-ping recv", n] < at["xvt-pong send", n] && at["xvt-pong send", n] < at["xvt-pong recv", n]) good++
		}
		print good " of " all " exchanges in causal order"
		exit !(all >= 1000 && good == all)
	}' "$work/markers.txt"
check "at least 1000 exchanges, each in causal order both ways" test $? -eq 0
"$xvtrace" report --no-task "$trace" -e 'hrtimer_*' | grep -o ' function=[^ ]*' | sort | uniq -c >"$work/functions.txt"
check "functions in the guests' events have names, without a command for it" eval 'grep -q " function=tick_sched_timer$" "$work/functions.txt" && ! grep " function=0x" "$work/functions.txt"'

# Shift one machine's clock by more than the median one-way time, everything else kept right.
median=$(grep -oE 'median [0-9.]+ (ns|us|ms|s)' "$work/verify.txt" |
	awk '{ f = $3 == "s" ? 1e9 : $3 == "ms" ? 1e6 : $3 == "us" ? 1e3 : 1; if ($2 * f > max) max = $2 * f } END { printf "%d\n", max }')
need "verify tells the median one-way time" test "$median" -gt 0
for by in $((median * 3 / 2)) $((-median * 3 / 2)); do
	"$BUILD/tests/tools/xvt-shift" g2 $by "$trace" "$work/shifted.xvt" || exit 1
	"$xvtrace" verify "$work/shifted.xvt" >"$work/shifted.txt" 2>&1
	check "verify fails when g2's clock is shifted by $by ns" test $? -eq 1
	tail -n 2 "$work/shifted.txt"
done

machines="g1 g2 host"
if [ "$("$xvtrace" stat --json "$trace" | jq '[.vms[] | select(.kind == "host" and .events > 0)] | length')" != 1 ]; then
	echo "skip - the host's events in every format: tracefs cannot be used here"
	machines="g1 g2"
fi
# The last 60,000 events: the exchanges.
from=$("$xvtrace" report --no-task "$trace" | tail -n 60000 | awk 'NR == 1 { print $1 }')
all_formats "$trace" --from "$from"
check "they have events of each machine: $machines" eval '[ "$(cut -d " " -f 2 "$work/formats/want" | sort -u | paste -sd " ")" = "$machines" ]'
trace-cmd report --profile -i "$work/formats/dat/g1.dat" >"$work/profile.txt" 2>&1
check "trace-cmd's profile knows tasks of the guest" grep -q '^task: ' "$work/profile.txt"

"$xvtrace" export --format ctf "$trace" "$work/ctf" || failures=1
for vm in g1 g2; do
	if command -v lttng-irqstats >/dev/null; then
		check "lttng-irqstats has the counts and durations of jsonl: $vm" irqs_agree "$xvtrace" "$trace" $vm "$work/ctf/$vm"
	else
		echo "skip - lttng-irqstats has the counts and durations of jsonl: $vm: it is not installed"
	fi
done
finish
