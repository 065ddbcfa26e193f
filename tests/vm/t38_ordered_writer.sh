#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: a guest with files of its own
# shellcheck disable=SC2317
# A program in a guest writes by ordered reads of its clock. The guest has one vCPU and is never stopped, so its counter is
# the host's plus a constant, and all samples together say which: so the true time of each event is known. Prints how tight
# measurements, bounds and times are; only what must hold at any load is checked.
#
#   ORDERED_SECONDS=3     how long it is recorded; docs/clock.md's figures: 30, on a machine that has nothing else to do
#   ORDERED_BEFORE='taskset -c 1'   before the recorder's command
set -u
. "$(dirname "$0")/lib.sh"
trace=$work/trace.xvt
dir=$(overlay ordered.sh)
case $(vm_accel) in
kvm*) echo "skip - a guest's counter is the host's plus a constant: it takes TCG" && exit 77 ;;
esac
need "the writer is built" "${CC:-gcc}" -O2 -Wall -Wextra -Werror -static -D_GNU_SOURCE -Ishared -o "$dir/xvt-ordered" \
	tests/vm/guest/xvt-ordered.c shared/xvt_region.c shared/xvt_check.c
need "the guest starts" vm_start g --vcpus 1 --mod none --overlay "$dir"
need "the guest runs" vm_wait_log g "^XVT-SAY flowing" 600
read -ra before <<<"${ORDERED_BEFORE:-}"
setpriv --pdeathsig KILL -- "${before[@]}" "$xvtrace" record -q -o "$trace" --duration "${ORDERED_SECONDS:-3}" \
	-r g="$(vm_region g)" 2>"$trace.err"
check "the recorder ends cleanly" test $? -eq 0
cat "$trace.err"
echo "load: $(cut -d ' ' -f 1-4 /proc/loadavg)"
need "the counter is the host's plus a constant" eval '"$BUILD/tests/clocks/offset" "$trace" | tee "$work/judged"; [ "${PIPESTATUS[0]}" = 0 ]'
for how in recorded re-clocked; do
	grep "^$how " "$work/judged" >"$work/judged-$how"
	check "$how: there are events" test "$(figure "$work/judged-$how" events)" -gt 100
	check "$how: no event is outside its bound" zero "$work/judged-$how" outside
done
check "verify passes" "$xvtrace" verify -q "$trace"
# An unordered read has 2 us in each bound.
check "the bounds have no slack for an unordered read" test "$(figure "$work/judged-recorded" bound_least_ns)" -lt \
	$(($(figure "$work/judged-recorded" node_least_ns) + 2000))

# A judge that never says no is none.
"$BUILD/tests/clocks/offset" "$trace" 1000000000 >"$work/moved.judged"
check "the judge says no to true times that are a second off" \
	test "$(figure "$work/moved.judged" outside)" -gt 100
vm_kill g
finish
