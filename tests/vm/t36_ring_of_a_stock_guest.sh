#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# A guest with Linux 6.12 and nothing of xvtrace: its kernel's command line puts ftrace's ring into
# memory that the host shares. The reader of such rings has all events that the guest's kernel
# counts, with the stamps that it prints; of a ring that is too short for the reader, a part.
set -u
export FLAVOUR=${NEWER_FLAVOUR:-6.12-amd64}
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/stock-lib.sh"

# run NAME SIZE EVENTS SCRIPT OPTION...: read at each millisecond; with EVENTS only until a CPU has so many, and at the end
run() {
	local reader name=$1 size=$2
	need "$name: doctor says what it is started with" plan "$name" "$size"
	"$BUILD/tests/tools/xvt-ftrace-ring" 1000 "$work/$1.events" "$XVT_SHM_DIR/$XVT_SHM_PREFIX$1-ring" $3 >"$work/$1.txt" &
	reader=$!
	shift 3
	need "$name: the guest starts" guest "$name" "$size" "$@"
	# Its ring is read in any case: it need not wait (stock-boots.sh).
	[ "$1" != stock-boots.sh ] || printf ggg | dd of="$work/$name.tar" bs=1 seek=1 conv=notrunc 2>/dev/null
	set -- "$name"
	check "$1: it has done its work" vm_wait "$1" 600
	kill -INT $reader
	check "$1: its ring was found" wait $reader
	rm -f "$XVT_SHM_DIR/$XVT_SHM_PREFIX$1-ring"
	cat "$work/$1.txt"
	grep -a XVT-SAY "$(vm_log "$1")"
}

# had NAME CPU FIGURE
had() {
	sed -n "s/^cpu$2 .*\b$3=\([0-9]*\).*/\1/p" "$work/$1.txt"
}

for ring in "long 4M" "found any"; do
	run $ring '' stock.sh
	ring=${ring% *}
	vm_out $ring "$work/$ring"
	for cpu in 0 1; do
		check "$ring: CPU $cpu: as many events as the guest's kernel counts" \
			[ "$(had $ring $cpu since)" -eq $(($(said $ring $cpu entries) + $(said $ring $cpu overrun))) ]
		check "$ring: CPU $cpu: nothing is missing but for the change of the clock" [ $(($(had $ring $cpu happened) & ~2)) -eq 0 ]
		awk -v cpu=$cpu '$1 == cpu { print $2 }' "$work/$ring.events" | tail -n "$(wc -l <"$work/$ring/cpu$cpu")" >"$work/$ring.stamps$cpu"
		check "$ring: CPU $cpu: the stamps are those of the guest's own trace, in order" cmp "$work/$ring.stamps$cpu" "$work/$ring/cpu$cpu"
		check "$ring: CPU $cpu: these are many" [ "$(wc -l <"$work/$ring/cpu$cpu")" -gt 5000 ]
	done
done

run short 128K 100 stock.sh
vm_out short "$work/short"
for cpu in 0 1; do
	check "short: CPU $cpu: fewer events than the guest's kernel counts" \
		[ "$(had short $cpu since)" -lt $(($(said short $cpu entries) + $(said short $cpu overrun))) ]
	# Its number of pages is a lower bound, which may be 0.
	check "short: CPU $cpu: the reader says that some are missing" [ $(($(had short $cpu happened) & 1)) -eq 1 ]
	check "short: CPU $cpu: no page is bad" [ "$(had short $cpu bad)" -eq 0 ]
	# What the guest still has, it printed; no event of that time is there that it has not.
	awk -v cpu=$cpu 'NR == FNR { own[$1] = 1; if (!first) first = $1; next }
		$1 == cpu && $2 >= first { n++; if (!($2 in own)) bad++ } END { print n + 0, bad + 0; exit !n || bad }' \
		"$work/short/cpu$cpu" "$work/short.events" >"$work/short.judge$cpu"
	check "short: CPU $cpu: no event that the guest has not" [ $? -eq 0 ]
done

# One ring through three boots. Marks are in order, none is there twice, and what was taken away in the guest, by a
# reader or by emptying the ring, is told.
run boots 4M '' stock-boots.sh --reboot
awk '$1 == 0 && $4 == "mark" { if ($5 != last) { print last, n; last = $5; n = 0; next_mark = 0 } if ($6 < next_mark) print "again", $5, $6; next_mark = $6 + 1; n++ }
	END { print last, n }' "$work/boots.events" | sed 's/^ *//' | tail -n +2 >"$work/boots.marks"
cat "$work/boots.marks"
check "boots: all three took place" [ "$(grep -ac "XVT-SAY boot" "$(vm_log boots)")" -eq 3 ]
check "boots: the marks of each part, in order, none twice" [ "$(cut -d ' ' -f 1 "$work/boots.marks" | tr -d '\n')" = abcd ]
check "boots: the reader in the guest is told" [ $(($(had boots 0 happened) & 8)) -ne 0 ]
check "boots: another kernel is told" [ $(($(had boots 0 happened) & 32)) -ne 0 ]
check "boots: all marks of the second kernel" grep -qx 'd 2000' "$work/boots.marks"
check "boots: ... and its last words" grep -q 'last words$' "$work/boots.events"
check "boots: a part without all of its marks is said to miss some" eval \
	'! grep -qv " 2000$" "$work/boots.marks" || [ "$(had boots 0 gaps)" -gt 0 ]'
check "boots: no page is bad" [ "$(had boots 0 bad)" -eq 0 ]
finish
