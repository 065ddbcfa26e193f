#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# `guests --events`: the events that the metadata of regions name, and what it says of what they do not. A script
# writes the metadata of a guest.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_SHM_DIR=$work LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
for name in g1 blank; do
	"$xvtrace" region create "$work/xvtrace-$name" --size 1M --rings 1 || exit 1
done
"$xvtrace" region create "$work/xvtrace-prog" --size 1M --rings 1 --overwrite || exit 1
truncate -s 1M "$work/xvtrace-new"
"$BUILD/xvt-emit" "$work/xvtrace-prog" --rings 1 --count 10 >/dev/null || exit 1
metadata() { python3 tests/cli/metadata.py "$work/xvtrace-g1" "$@" || exit 1; }
# events [NAME]: $rc, and what it prints in out and err
events() {
	"$xvtrace" guests --events "$@" >"$work/out" 2>"$work/err"
	rc=$?
}
listed() { sed -n 's/^  \([^ ]*:[^ ]*\)$/\1/p' "$work/out" | paste -sd ' '; }

metadata sched:sched_wakeup irq:irq_handler_entry sched:sched_switch sched:sched_wakeup old:gone@6
events g1
check "the events of this generation are listed, by name and each once ($(listed))" \
	[ "$rc $(listed)" = "0 irq:irq_handler_entry sched:sched_switch sched:sched_wakeup" ]
check "with their number and the kernel" grep -qx 'g1: 3 events have a format in its region; Linux 6.1.0-test x86_64' "$work/out"
check "what is not known is told, with what makes it known" eval 'grep -q "not known: events that.*xvt-guest formats --all" "$work/out" &&
	grep -q "not known: which are on now.*set_event" "$work/out" && grep -q "not known: its module.s probes.*xvt-guest status" "$work/out"'
check "no other machine is shown" [ "$(grep -c '^[a-z]' "$work/out")" = 1 ]
check "as JSON" eval '"$xvtrace" guests --events --json g1 | jq -e ".machines | length == 1 and .[0].kernel == \"Linux 6.1.0-test x86_64\" and
	.[0].events == [\"irq:irq_handler_entry\", \"sched:sched_switch\", \"sched:sched_wakeup\"]" >/dev/null'
check "without --events there are none" eval '"$xvtrace" guests --json | jq -e ".machines | all(has(\"events\") | not)" >/dev/null'
# consent BYTE: what the header of g1 says then in the table, as JSON, and in the list
consent() {
	printf "\\x$1" | dd of="$work/xvtrace-g1" bs=1 seek=164 conv=notrunc status=none
	"$xvtrace" guests | awk '$1 == "g1" { printf "%s ", $7 }'
	"$xvtrace" guests --json | jq -r '.machines[] | select(.name == "g1") | .host_events // "null"' | tr '\n' ' '
	events g1
	grep -oE 'owner allows|owner does not allow|whether the host may choose' "$work/out"
}
check "whether the host may choose events: not known" test "$(consent 00)" = "- null whether the host may choose"
check "no" test "$(consent 01)" = "no refused owner does not allow"
check "yes" test "$(consent 02)" = "yes allowed owner allows"
check "a guest that writes something else" test "$(consent ff)" = "- null whether the host may choose"
events
check "all machines, without a name" [ "$rc $(grep -oE '^(blank|g1|new|prog):' "$work/out" | paste -sd ' ')" = "0 blank: g1: new: prog:" ]
check "a program chooses its events itself" grep -q '  its writer is no kernel' "$work/out"
check "a blank region has had no guest" grep -q '  no guest has used the region yet' "$work/out"
check "why libvirt is not asked is told" grep -q "libvirt's domains are not listed" "$work/out"
events new
check "a region that is not formatted: exit 1, and why" eval '[ $rc = 1 ] && grep -q "^new: its events are not known: ." "$work/out"'
events no-such
check "a machine that is none: exit 1" eval '[ $rc = 1 ] && grep -q "^xvtrace: no-such: no running domain and no region" "$work/err"'
events g1 blank
check "two names: exit 2" [ $rc = 2 ]
"$xvtrace" guests g1 2>"$work/err"
rc=$?
check "a name without --events: exit 2, and what takes one" eval '[ $rc = 2 ] && grep -q -- --events "$work/err"'

# --- hostile metadata
metadata a:b - c:d "$(printf 'e:%0300d' 0)"
events g1
check "entries without a name are counted, and the others shown" eval '[ "$rc $(listed)" = "0 a:b c:d" ] && grep -q "left out: 2 " "$work/out"'
escape=$(printf '\033')
metadata "a:$escape[31mred"
events g1
check "names are escaped" eval '[ $rc = 0 ] && ! grep -q "$escape" "$work/out" && grep -q "1 events have" "$work/out"'
metadata a:b bad c:d
events g1
check "damage is told, and exit 1" eval '[ $rc = 1 ] && grep -q "not all: its metadata cannot be read" "$work/out"'
check "what precedes it is shown" [ "$(listed)" = a:b ]
[ $failures -eq 0 ]
