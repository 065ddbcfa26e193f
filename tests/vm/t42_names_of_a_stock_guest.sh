#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The events of a guest with Linux 6.12 and nothing of xvtrace have names: its kernel is booted once by
# `xvtrace formats --kernel`, and that is all that is needed where the whole RAM is shared, because the
# memory says which build runs. A ring in a file of its own needs the user's word. Formats of another
# kernel are refused.
set -u
export FLAVOUR=${NEWER_FLAVOUR:-6.12-amd64}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/stock-lib.sh"

# run NAME SIZE CLAIM: a guest, recorded from its first event on
run() {
	local name=$1 size=$2 claim=$3
	need "$name: doctor says what it is started with" plan "$name" "$size"
	record_start "$work/$name.xvt" -r "$(planned_region "$name")$claim"
	need "$name: the guest starts" guest "$name" "$size" stock.sh
	check "$name: it has done its work" vm_wait "$name" 300
	check "$name: the recording ends well" record_stop
	rm -f "$XVT_SHM_DIR/$XVT_SHM_PREFIX$name-ring"
	check "$name: verify finds nothing wrong" "$xvtrace" verify --notes "$work/$name.xvt" >"$work/$name.verify" 2>&1
	grep -a 'names\|build\|kernel' "$work/$name.verify"
	"$xvtrace" report --vm "$name" "$work/$name.xvt" >"$work/$name.txt" 2>"$work/$name.err"
}

# named NAME: report shows no event without a name, and many with one
named() {
	[ "$(grep -c ' unknown' "$work/$1.txt")" -eq 0 ] && [ "$(grep -c ' sched_switch: prev_comm=' "$work/$1.txt")" -gt 100 ] &&
		[ "$(grep -c ' print: seq ' "$work/$1.txt")" -ge 4000 ]
}

nameless() {
	[ "$(grep -c ' sched_switch:' "$work/$1.txt")" -eq 0 ] && [ "$(wc -l <"$work/$1.txt")" -gt 4000 ]
}

need "its kernel says its formats" "$xvtrace" formats --kernel "$VMLINUZ"
"$xvtrace" formats
release=$("$xvtrace" formats --json | jq -r '.kernels[0].release')
check "it is the kernel of that release" [ "$release" = "$KRELEASE" ]
check "it has many events" [ "$("$xvtrace" formats --json | jq '.kernels[0].events')" -gt 1000 ]

run found any ''
check "found: its memory says which kernel it is" grep -q 'which its memory names' "$work/found.verify"
check "found: all events have names" named found
"$xvtrace" analyze sched "$work/found.xvt" >"$work/sched" 2>&1
head -n 15 "$work/sched"
check "found: analyze sched gives answers" grep -q 'xvt\|sh\|swapper' "$work/sched"

run stated 4M ",kernel=$KRELEASE"
check "stated: whose word it is, is noted" grep -q 'was stated by kernel=' "$work/stated.verify"
check "stated: all events have names" named stated

# The formats of another kernel, of which the user says that they are its: its events are not as long.
other=$(FLAVOUR=amd64 qemu/guest-packages.sh --print)
need "another kernel says its formats" "$xvtrace" formats -q --kernel "$(eval "$other" && echo "$VMLINUZ")"
run wrong 4M ",kernel=$(eval "$other" && echo "$KRELEASE")"
check "wrong: no event has a name" nameless wrong
check "wrong: and that is noted" grep -q 'its events have no names: they are not of kernel' "$work/wrong.verify"
run silent 4M ''
check "silent: no event has a name" nameless silent
check "silent: what to do is noted" grep -q ',kernel=BUILDID' "$work/silent.verify"
finish
