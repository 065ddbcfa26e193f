#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# ftrace is the judge: a real guest keeps the same events in ftrace's own ring and in ours.
# Every entry must be in both, once, with the same bytes, in its place. See xvt-judge.c.
set -euo pipefail
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build}
# The module with which back-end: cas is the one in the image.
backend=${JUDGE_BACKEND:-cas}
out=$BUILD/tests/t03-$backend
VM_RUN_DIR=$out/run
. qemu/guest-lib.sh
. tests/jq.sh
vm_trap

judge=$BUILD/tests/tools/xvt-judge
trace=$out/trace.xvt
failed=0
rm -rf "$out"
mkdir -p "$out"
tests/vm/guest/overlay.sh judge.sh "$out/overlay"
if [ "$backend" != cas ]; then
	eval "$(qemu/guest-packages.sh --print)"
	install -D -m 644 "$BUILD/guest/linux-$backend$(qemu_suffix)/xvtrace.ko" "$out/overlay/lib/modules/$KRELEASE/xvtrace.ko"
fi

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

# What a probe of the module records, the export leaves out.
vm_start g1 --vcpus 2 --mem 512 --region-size 64M --mod probes=none --said --overlay "$out/overlay" --out-disk "$out/disk" 128M
"$BUILD/xvtrace" record -q -o "$trace" -r g1="$(vm_region g1)" &
recorder=$!
vm_wait_log g1 '^XVT-SAY nmi' 600
check "the rings are written by the back-end $backend" eval \
	'"$BUILD/xvtrace" region show --json "$(vm_region g1)" | jq -e --arg b "$backend" "[.rings[].backend == \$b] | all" >/dev/null'
# The one context that the guest's own work does not reach. CPU 0 gets them.
while ! grep -q '^XVT-SAY done' "$(vm_said g1)" && [ $SECONDS -lt 300 ]; do
	vm_qmp g1 '{"execute": "inject-nmi"}' >/dev/null
done
vm_wait_log g1 '^XVT-SAY done' 1
kill -INT $recorder
check "the recorder ends cleanly" wait $recorder
vm_wait g1 600
check "the guest ran to its end" test "$(vm_rc g1)" = 0
vm_out g1 "$out/ftrace"

check "each entry of ftrace's ring is in our trace, once, same bytes, in its place" \
	"$judge" "$trace" "$out/ftrace" >"$out/judge.txt" 2>&1
cat "$out/judge.txt"

# The judgement means something only if there was something to judge.
cpus=0 softirq=0 hardirq=0 nmi=0 inversions=0
sums=$(awk '/^cpu / { for (i = 3; i < NF; i++) { if ($i == "entries") { e += $(i + 1); if ($(i + 1) > 1000) cpus++ }
		if ($i == "softirq") s += $(i + 1); if ($i == "hardirq") h += $(i + 1); if ($i == "nmi") m += $(i + 1)
		if ($i == "inversions") v += $(i + 1) } }
	END { printf "cpus=%d entries=%d softirq=%d hardirq=%d nmi=%d inversions=%d", cpus, e, s, h, m, v }' "$out/judge.txt")
eval "$sums"
check "both CPUs and all contexts were judged: $sums" \
	test "$cpus" = 2 -a "$softirq" -gt 1000 -a "$hardirq" -gt 1000 -a "$nmi" -gt 10
check "entries overtook each other, so the rule for that was used" test "$inversions" -gt 0

for kind in flip pad drop twice early late swap; do
	rc=0
	"$judge" --break $kind "$trace" "$out/ftrace" >"$out/$kind.txt" 2>&1 || rc=$?
	check "the judge notices one fault: $kind" test $rc = 1 -a "$(grep -c ^mismatch: "$out/$kind.txt")" -gt 0
done
exit $failed
