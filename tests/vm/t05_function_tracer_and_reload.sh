#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# The module is loaded and unloaded in a loop under the function tracer, in a guest that panics
# at the first warning, while the host records. Nothing may break, and every count must hold.
set -euo pipefail
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build}
out=$BUILD/tests/t05${FLAVOUR:+-$FLAVOUR}
VM_RUN_DIR=$out/run
# How often the module is loaded again.
reloads=${RELOADS:-12}
. qemu/guest-lib.sh
. tests/jq.sh
vm_trap

xvtrace=$BUILD/xvtrace
trace=$out/trace.xvt
failed=0
rm -rf "$out"
mkdir -p "$out"
tests/vm/guest/overlay.sh reload.sh "$out/overlay"

# check TEXT COMMAND...
check() {
	local text=$1
	shift
	if "$@"; then
		echo "ok - $text"
	else
		echo "not ok - $text"
		failed=1
	fi
}

vm_start g1 --vcpus 2 --mem 512 --region-size 64M --said --overlay "$out/overlay" --append "panic_on_warn=1 oops=panic xvt.reloads=$reloads"
"$xvtrace" record -q -o "$trace" -r g1="$(vm_region g1)" &
recorder=$!
vm_wait_log g1 '^XVT-SAY generation' 600
# The one context that the guest's own work does not reach.
while vm_alive g1 && ! grep -q '^XVT-SAY done' "$(vm_said g1)" && [ $SECONDS -lt 400 ]; do
	vm_qmp g1 '{"execute": "inject-nmi"}' >/dev/null || break
done
if ! vm_wait_log g1 '^XVT-SAY done' 1; then
	echo "not ok - the guest lived through the loop"
	grep -avE 'NMI received|Dazed' "$(vm_log g1)" | tail -n 60
	kill -INT $recorder
	wait $recorder || :
	exit 1
fi
said=$(sed -n 's/^XVT-SAY //p' "$(vm_said g1)")
loads=$(sed -n 's/^loads //p' <<<"$said")
"$xvtrace" region show --json "$(vm_region g1)" >"$out/region.json"
kill -INT $recorder
check "the recorder ends cleanly" wait $recorder
vm_wait g1 600
check "the guest ran to its end" test "$(vm_rc g1)" = 0
check "none of the module's own functions can be traced" grep -qx 'functions [0-9]* own 0' <<<"$said"
grep '^functions' <<<"$said"
check "no warning, bug or oops in the guest's log" grep -qx 'dmesg-bad 0 taint 0' <<<"$said"
check "the module was loaded again ${loads:-0} times" test "${loads:-0}" = "$reloads"

generations=$(sed -n 's/^generation //p' <<<"$said")
check "each load began the next generation" \
	test "$generations" = "$(seq "$(head -n 1 <<<"$generations")" $(($(head -n 1 <<<"$generations") + loads)))"
check "region show says the last one" \
	test "$(jq .generation "$out/region.json")" = "$(tail -n 1 <<<"$generations")"

check "the trace verifies" "$xvtrace" verify "$trace"

"$xvtrace" report "$trace" >"$out/report.txt"
awk '/xvt-reload [0-9]+ begin/ { sub(/.*xvt-reload /, ""); n = $1; in_work = 1; next }
	/xvt-reload [0-9]+ end/ { in_work = 0; next }
	in_work && / function:/ { functions[n]++ }
	in_work && /xvt-seq/ { marks[n]++ }
	in_work && !/ function:/ && !/ print:/ { events[n]++ }
	END { for (n in events) print n, functions[n] + 0, marks[n] + 0, events[n] }' \
	"$out/report.txt" | sort -n >"$out/generations.txt"
sed 's/^/load, functions, marks, events: /' "$out/generations.txt"
check "each generation recorded functions, markers and events" \
	test "$(awk '$2 > 100 && $3 > 0 && $4 > 100' "$out/generations.txt" | wc -l)" = $((loads + 1))

"$xvtrace" stat --json "$trace" >"$out/stat.json"
jq -c '{attempted, events, discarded, lost, in_flight, late, order_violations}' "$out/stat.json"
check "both rings' counts add up: attempted == events + discarded + lost + in_flight" \
	jq -e '[.vms[].rings[] | select(.attempted > 0)] | length == 2 and
		all(.attempted == .events + .discarded + .lost + .in_flight)' "$out/stat.json"
check "nothing is in flight at the end, and nothing out of order" \
	jq -e '.in_flight == 0 and .order_violations == 0' "$out/stat.json"
exit $failed
