#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# trace.dat by other programs: every event and field of a made-up trace by libtracecmd, the order by
# trace-cmd, the streams of KernelShark. Odd traces are in tests/unit/export/test_dat.c, real guests in
# tests/vm/t02_two_guests.sh.
set -u
. "$(dirname "$0")/lib.sh"
. tests/formats.sh
. tests/profile.sh
trap 'rm -rf "$work"' EXIT

"$BUILD/tests/tools/xvt-mktrace" 5000 0 "$work/t.xvt" >/dev/null || exit 1
check "export --format dat" "$xvtrace" export --format dat "$work/t.xvt" "$work/dat"
check "a file for each machine" [ "$(ls "$work/dat")" = $'g1.dat\ng2.dat' ]
number() { "$xvtrace" export --format jsonl --vm "$1" "$work/t.xvt" - | wc -l; }

# judge VM TRACE FOLDER
judge() { "$xvtrace" export --all --format jsonl --vm "$1" "$2" - | "$BUILD/tests/tools/xvt-dat-judge" "$3/$1.dat"; }
said=$(judge g1 "$work/t.xvt" "$work/dat")
if [ $? -eq 77 ]; then
	echo "skip - libtracecmd reads every event and field: it is not installed"
else
	check "libtracecmd reads every event and field of g1" [ "$said" = "$(number g1) events, 15 lost" ]
	check "and of g2" [ "$(judge g2 "$work/t.xvt" "$work/dat")" = "$(number g2) events, 0 lost" ]
	"$xvtrace" export -q --format dat --reclock "$work/t.xvt" "$work/again"
	judged() { "$xvtrace" export -q --all --reclock --format jsonl --vm g1 "$work/t.xvt" - | "$BUILD/tests/tools/xvt-dat-judge" "$work/again/g1.dat" >/dev/null; }
	check "with the times of --reclock" judged
fi

kshark=$(realpath "$BUILD/tests/tools/xvt-kshark")
streams=$("$kshark" "$work/dat/g1.dat" "$work/dat/g2.dat" 2>/dev/null)
status=$?
if [ $status -eq 77 ]; then
	echo "skip - KernelShark's library opens both as streams: it is not installed"
else
	check "KernelShark's library opens both as streams, in order of time" [ $status -eq 0 ]
	check "with all events, and one place with lost ones" [ "$streams" = "$(number g1) 1"$'\n'"$(number g2) 0" ]
fi

if ! command -v trace-cmd >/dev/null; then
	echo "skip - trace-cmd report: it is not installed"
else
	# The raw form: this trace has print formats that divide by 0.
	trace-cmd report -R -t -i "$work/dat/g1.dat" -i "$work/dat/g2.dat" >"$work/tc" 2>"$work/tc.err"
	check "trace-cmd report merges both files" [ $? -eq 0 ]
	check "and prints no warning" [ ! -s "$work/tc.err" ]
	check "and the number of lost events" [ "$(grep -ac 'EVENTS DROPPED' "$work/tc") $(grep -ac 'CPU:0 \[15 EVENTS DROPPED\]' "$work/tc")" = "1 1" ]
	LC_ALL=C tracecmd_texts "$work/tc" | cut -d ' ' -f 1-5 >"$work/tc.events"
	"$xvtrace" export --format jsonl "$work/t.xvt" - | jq -r '"\(.ts_ns) \(.vm) \(.cpu) \(.pid // -1) \(.event)"' >"$work/events"
	check "and shows the same events in the same order" cmp "$work/tc.events" "$work/events"
	check "and as text" sh -c "trace-cmd report -i '$work/dat/g1.dat' >/dev/null"
	# A machine that is paused for a second, and ends: its states, and switches away from its task and
	# back, which nothing but the name "paused" marks.
	"$BUILD/tests/tools/xvt-paused" "$work/p.xvt" && "$xvtrace" export -q --format dat "$work/p.xvt" "$work/paused"
	states() { trace-cmd report -t -R -i "$work/paused/$1.dat" 2>&1 | sed -En 's/^.*\[00([0-9])\] +([0-9.]+): (paused|runs|ended): *(.*)$/\2 \1 \3 \4/p'; }
	check "states of machines are events" [ "$(states g0)" = '1.001000000 0 paused why=
2.001000000 0 runs paused_ns=1000000000 why=
2.006000000 0 ended last_event_ns=2005000000 why=guest panicked' ]
	check "of each machine" [ "$(states g1)" = '1.500000000 0 paused why=paused
1.600000000 0 runs paused_ns=100000000 why=' ]
	made() { trace-cmd report -t -i "$work/paused/g0.dat" 2>&1 | sed -En 's/^.*\[000\] +([0-9.]+): sched_switch: +(.*(paused:0).*)$/\1 \2/p'; }
	check "no task seems to run in a pause" [ "$(made)" = '1.001000000 bash:1034 [120] R ==> paused:0 [120]
2.001000000 paused:0 [120] R ==> bash:1034 [120]
2.006000000 bash:1034 [120] R ==> paused:0 [120]' ]
	# Each switch and interrupt twice on two CPUs, by ftrace and by the module's probe.
	"$BUILD/tests/tools/xvt-doubled" "$work/d.xvt" && "$BUILD/tests/tools/xvt-doubled" "$work/o.xvt" once || exit 1
	check "an export says which of two records of an event was written" [ "$("$xvtrace" export --format dat "$work/d.xvt" "$work/doubled" 2>&1 | grep -c 'recorded twice.*written once, as by')" -eq 2 ]
	"$xvtrace" export -q --format dat "$work/o.xvt" "$work/single"
	events() { trace-cmd report -t -R -i "$1/g0.dat" 2>/dev/null; }
	check "an event that was recorded twice is there once" cmp <(events "$work/doubled") <(events "$work/single")
	# A pause, a loss, and on one CPU first the probe's records, then ftrace's.
	# Events of programs have no task.
	check "trace-cmd's profile reads a trace with events of no task" sh -c "trace-cmd report --profile -i '$work/dat/g2.dat' >/dev/null 2>&1"
	check "which are shown as of one that is unknown" [ "$(trace-cmd report -i "$work/dat/g1.dat" 2>/dev/null | grep -c '^ *unknown-2147483647 .* u64: ')" -gt 0 ]
	check "trace-cmd's profile reads a trace with states of machines" sh -c "trace-cmd report --profile -i '$work/paused/g0.dat' >/dev/null 2>&1"
	one_type() { trace-cmd dump --all -i "$1/g0.dat" 2>/dev/null | grep -c 'name: irq_handler_entry$'; }
	check "events by the probe and by ftrace, whose records differ, are one type" [ "$(one_type "$work/doubled")" = 1 ]
	# ftrace's has no vector.
	from=$("$xvtrace" report -s "$work/o.xvt" | awk '/ irq:irq_handler_entry/ { print $1; exit }')
	"$xvtrace" export -q --format dat --from "$from" "$work/o.xvt" "$work/ftrace"
	check "also where ftrace's come first" [ "$(one_type "$work/ftrace")" = 1 ]
	named() { events "$work/doubled" | sed -En 's/^.*irq_handler_entry: .*name=([^ ]*).*$/\1/p' | sort -u; }
	check "with all names" [ "$(named)" = virtio0 ]
	profile_table "$xvtrace" "$work/o.xvt" >"$work/profile.want"
	tracecmd_profile "$work/doubled/g0.dat" >"$work/profile.got"
	check "trace-cmd's profile has the figures of jsonl" cmp "$work/profile.want" "$work/profile.got"
	check "of switches, wake-ups and interrupts" [ "$(cut -d ' ' -f 2 "$work/profile.got" | sort -u | paste -sd ' ')" = "irq:24 irq:25 sched_switch:R sched_switch:S sched_wakeup" ]
	check "names the clock" sh -c "trace-cmd dump --all -i '$work/dat/g1.dat' | grep -q '\[mono\]'"
fi

# The other version: the same by each reader.
"$xvtrace" export -q --format dat --dat-version 6 "$work/t.xvt" "$work/dat6"
versions() { head -c 11 "$work/dat/g1.dat" | grep -q tracing7 && head -c 11 "$work/dat6/g1.dat" | grep -q tracing6; }
if ! versions && ! "$xvtrace" export -q --format dat --dat-version 7 "$work/t.xvt" "$work/dat7" 2>/dev/null; then
	echo "skip - version 7: xvtrace is built without zstd"
else
	check "version 7, and 6 by --dat-version 6" versions
	smaller() { [ $(($(stat -c %s "$work/dat/g1.dat") * 3 / 2)) -lt "$(stat -c %s "$work/dat6/g1.dat")" ]; }
	check "version 7 is smaller" smaller
	# both COMMAND: it prints the same of the files of both versions
	both() { diff <(cd "$work/dat" && eval "$1" 2>&1) <(cd "$work/dat6" && eval "$1" 2>&1) >"$work/diff" || ! head -n 4 "$work/diff"; }
	judge g1 "$work/t.xvt" "$work/dat6" >/dev/null
	[ $? -eq 77 ] || check "libtracecmd reads every event and field of version 6" judge g1 "$work/t.xvt" "$work/dat6"
	check "KernelShark's library finds the same in both" both '"$kshark" --events g1.dat g2.dat'
	if command -v trace-cmd >/dev/null; then
		check "trace-cmd report prints the same of both" both 'trace-cmd report -t -R -i g1.dat -i g2.dat'
		check "trace-cmd converts version 7" sh -c "trace-cmd convert --compression none -i '$work/dat/g1.dat' -o '$work/g1.dat' >/dev/null"
		check "and finds the same in that" cmp <(cd "$work/dat" && trace-cmd report -t -R -i g1.dat 2>&1) <(cd "$work" && trace-cmd report -t -R -i g1.dat 2>&1)
	fi
fi

# What the module probes itself is the kernel's for viewers; nothing is left beside the files.
check "nothing else in the folder" [ "$(find "$work/dat" -mindepth 1 | wc -l)" -eq 2 ]
check "a part: one machine, no other file" sh -c "'$xvtrace' export -q --format dat --vm g2 '$work/t.xvt' '$work/part' && [ \"\$(ls '$work/part')\" = g2.dat ]"
[ $failures -eq 0 ]
