#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# summary: its figures are those that jq counts in the events of `export --format jsonl`, and its
# screen has the width of the terminal.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$BUILD/tests/tools
export TZ=UTC0 LC_ALL=C.UTF-8
unset COLUMNS NO_COLOR

# What the summary has to say of each machine, from lines of jsonl. $stat: of `stat --json`; $sum: the
# summary, of which the borders of cells are taken. A task runs between two switches of its CPU that
# fit, without pauses; the second record of a switch is none, and what ran in a loss is not known.
cat >"$work/expect.jq" <<'EOF'
def states: ["waits", "paused", "runs", "reset", "asleep", "awake", "crashed", "shutdown", "moved", "arrived", "ended", "unknown"];
def is_state: .cpu == null and .system == "xvt" and (.event as $e | states | index($e)) != null;
def is_lost: .system == "xvt" and .event == "lost";
def is_switch: .event == "sched_switch" and .fields.next_pid != null;
def overlap($b; $e; $from; $to): ([$e, $to] | min) - ([$b, $from] | max) | if . > 0 then . else 0 end;
def runs($pauses):
	reduce .[] as $e ({cpu: {}, ran: {}};
		($e.cpu | tostring) as $c | .cpu[$c] as $r |
		if ($e | is_lost) then .cpu[$c] = null else
			$e.fields.prev_pid as $p | $e.fields.next_pid as $n |
			if $r != null and $r.pid != $p and $r.pid == $n then . else
				(if $r != null and $r.pid == $p and $p != 0 and $e.ts_ns > $r.ns then
					($e.ts_ns - $r.ns - ([$pauses[] | overlap(.[0]; .[1]; $r.ns; $e.ts_ns)] | add // 0)) as $d |
					if $d > 0 then .ran[$p | tostring] += $d else . end
				else . end) | .cpu[$c] = {pid: $n, ns: $e.ts_ns}
			end
		end) | .ran;
def top($n): to_entries | map({pid: (.key | tonumber), v: .value}) | sort_by([-.v, .pid]) | .[:$n];
. as $lines | $sum.vms | map(.name as $vm |
	[$lines[] | select(.vm == $vm)] as $of |
	[$of[] | select((is_state or is_lost) | not)] as $events |
	[$of[] | select(is_state and .event == "runs") | [.ts_ns - .fields.paused_ns, .ts_ns]] as $pauses |
	[$events[] | .bound_ns | select(. != null)] as $bounds |
	([$events[] | is_switch] | any) as $by_switch |
	{ name: $vm,
	  events: ($events | length),
	  lost: ([$stat.vms[] | select(.name == $vm) | .lost] | add),
	  nameless: ([$events[] | select(.system == "xvt" and (.event | test("^type[0-9]+$")))] | length),
	  flagged: ([$events[] | select(.flags | test("[UC]"))] | length),
	  unbounded: ([$events[] | select(.bound_ns == null)] | length),
	  bound_ns_max: ($bounds | max),
	  first_ns: ([$events[].ts_ns] | min // 0),
	  last_ns: ([$events[].ts_ns] | max // 0),
	  paused_ns: ([$pauses[] | .[1] - .[0]] | add // 0),
	  ended: ([$of[] | select(is_state and (.event == "ended" or .event == "paused" or .event == "runs"))] | last | .event == "ended"),
	  cells: (reduce ($events[].ts_ns - $sum.cells_from_ns) as $t ([range(60) | 0];
		.[[[$t, 0] | max / $sum.cell_ns | floor, 59] | min] += 1)),
	  top: ($events | group_by([.system, .event]) | map({system: .[0].system, event: .[0].event, count: length}) |
		sort_by([-.count, .system, .event]) | .[:8]),
	  busy_by: (if $by_switch then "run_ns" else "events" end),
	  busy: (if $by_switch then [$of[] | select(is_lost or is_switch)] | runs($pauses) | top(5)
		else reduce ($events[] | select(.pid != null and .pid > 0).pid | tostring) as $p ({}; .[$p] += 1) | top(5) end) })
EOF
cat >"$work/have.jq" <<'EOF'
.vms | map({name, events, lost, nameless, flagged, unbounded, bound_ns_max, first_ns, last_ns, paused_ns,
	ended: (.ended_ns > 0), cells, top: .top_events, busy_by,
	busy: [.busy_tasks[] | {pid, v: (.run_ns // .events)}]})
EOF
# equal TRACE: all figures, and the sums of the trace
equal() {
	"$xvtrace" summary -q --json "$1" >"$work/sum"
	"$xvtrace" stat -q --json "$1" >"$work/stat"
	"$xvtrace" export -q --all --format jsonl "$1" - 2>/dev/null | jq -c 'select(.system == "xvt" and
		(.event | IN("lost", "idle", "sync", "pad", "clock_sync")) and .event != "lost" | not)' >"$work/lines"
	jq -s -S --slurpfile a "$work/stat" --slurpfile b "$work/sum" "\$a[0] as \$stat | \$b[0] as \$sum | $(cat "$work/expect.jq")" \
		"$work/lines" >"$work/expected" || return 1
	jq -S -f "$work/have.jq" "$work/sum" >"$work/have" || return 1
	cmp -s "$work/expected" "$work/have" || { diff "$work/expected" "$work/have" | head -20; return 1; }
	jq -e -n --slurpfile s "$work/sum" --slurpfile t "$work/stat" '$s[0] as $s | $t[0] as $t |
		$s.format == "xvtrace-summary/1" and $s.events == $t.events and $s.lost == $t.lost and
		$s.damaged == $t.damaged and $s.cleanly_ended == $t.cleanly_ended and
		([$s.vms[].nameless] | add // 0) == $s.nameless and
		(if $t.reclocked and $t.damaged == 0 then ($s.vms | map(.bound_ns_median // 9223372036854775807)) == ($t.vms | map(.bound_ns_median)) else true end)' >/dev/null
}
# shows WORDS...: of the screen of $trace
shows() {
	"$xvtrace" summary -q "$trace" >"$work/out" || return 1
	for words; do
		grep -qE -- "$words" "$work/out" || { sed 's/^/# /' "$work/out"; return 1; }
	done
}

trace=$work/made.xvt
"$tools/xvt-mktrace" 3000 0 "$trace" >/dev/null || exit 1
check "late, nameless and lost events: as jq counts" equal "$trace"
check "they are on the screen" shows '^g1 +2,146 +15 +- +187 ' 'formats of 187 events: xvt-guest sync' '^2023-11-14 22:13:21.123 to '
trace=$work/paused.xvt
"$tools/xvt-paused" "$trace" || exit 1
check "a pause and an end: as jq counts" equal "$trace"
check "the pause is a gap, the end a cross" shows '^g0 +▄ {57}×  +[0-9]+$' '^g0 .* 1.00 s ' 'bash-1034 3.00 ms'
trace=$work/doubled.xvt
"$tools/xvt-doubled" "$trace" || exit 1
check "switches recorded twice, losses, a pause: as jq counts" equal "$trace"
trace=$work/scene.xvt
"$tools/xvt-scene" one "$trace" || exit 1
check "a scene of one guest: as jq counts" equal "$trace"
"$tools/xvt-scene" all "$work/all.xvt" || exit 1
check "the host's vCPUs have their names" eval 'trace=$work/all.xvt && shows "^host .*g1:vcpu0-501 7.01 ms" "record --host kvm"'
"$tools/xvt-story" "$work/taken.xvt" <<'EOT' || exit 1
host 1
guest g1 1 2000
guest g2 1 2000
thread 501 g1:vcpu0
comm 900 xvtrace
0    h:0  switch swapper-0 R x-501
10   g1:0 switch swapper-0 R work-10
15   g2:0 switch swapper-0 R job-20
100  h:0  switch x-501 R xvtrace-900
2100 h:0  switch xvtrace-900 R bash-901
2200 h:0  switch bash-901 S x-501
2300 g1:0 switch work-10 S swapper-0
2310 g1:0 mark xvt-ping send 1
2460 g2:0 mark xvt-ping recv 1
2470 g2:0 mark xvt-pong send 1
2500 g1:0 mark xvt-pong recv 1
EOT
check "who took the most, and the longest stall" eval 'trace=$work/taken.xvt && shows "^g1 +2.10 ms, xvtrace-900 \(the recording\) 2.00 ms, bash-901 100 us,$" "^ +by the recording 80.00% of their time$" "^g1:0 2.10 ms from 1.000100000, work: preempted by xvtrace-900 \(the recording\)$"'
check "of a machine whose threads are not recorded: nothing" eval '! grep -qE "^g2 .*(xvtrace|bash)" "$work/out"'
check "the same as JSON" eval '"$xvtrace" summary -q --json "$work/taken.xvt" | jq -e ".stalls == [{vm: \"g1\", cpu: 0, begin_ns: 1000100000, ns: 2100000, cause: \"preempted\", most: \"xvtrace-900\"}] and ([.vms[] | select(.taken) | [.name, .taken.taken_ns, .taken.by[0].recorder, .taken.by[0].ns, .taken.recorder_ns, .taken.vcpu_ns]] == [[\"g1\", 2100000, true, 2000000, 2000000, 2500000]])" >/dev/null'
check "the slowest message" eval 'trace=$work/taken.xvt && shows "^g1 to g2 150 us from 1.002310000, of 1$"'
check "... as JSON" eval '"$xvtrace" summary -q --json "$work/taken.xvt" | jq -e ".slowest_message == {from: \"g1\", to: \"g2\", begin_ns: 1002310000, ns: 150000, messages: 1}" >/dev/null'
"$tools/xvt-story" "$work/blocked.xvt" <<'EOT' || exit 1
host 1
guest g1 1 2000
thread 501 g1:vcpu0
0    h:0  switch swapper-0 R x-501
10   g1:0 switch swapper-0 R work-10
100  h:0  switch x-501 D swapper-0
2100 h:0  waking x-501 0 irq
2100 h:0  switch swapper-0 R x-501
2200 g1:0 switch work-10 R other-11
2300 h:0  switch x-501 T swapper-0
5300 h:0  waking x-501 0 bash-901
5300 h:0  switch swapper-0 R x-501
5400 g1:0 switch other-11 S swapper-0
EOT
check "a vCPU's thread that was blocked, and stopped" eval 'trace=$work/blocked.xvt && shows "^g1 +5.00 ms, blocked in the host.s kernel 2.00 ms,$" "^ +stopped by a signal or a debugger 3.00 ms,$" "^g1:0 3.00 ms from 1.002300000, other: stopped by a signal or a debugger$" "^g1:0 2.00 ms from 1.000100000, work: blocked in the host.s kernel$"'
# What g1's vCPU was at when it was taken is not recorded; g2's was never off its CPU; g3's was, where events were lost.
"$tools/xvt-story" "$work/open.xvt" <<'EOT' || exit 1
host 3
guest g1 1 2000
guest g2 1 2000
guest g3 1 2000
guest g4 1 2000
thread 501 g1:vcpu0
thread 601 g2:vcpu0
thread 701 g3:vcpu0
0    h:0  switch swapper-0 R x-501
1    h:1  switch swapper-0 R x-601
2    h:2  switch swapper-0 R x-701
10   g1:0 soft 9
11   g3:0 switch swapper-0 R work-10
20   g1:0 softx 9
100  h:0  switch x-501 R bash-900
110  h:2  switch x-701 R bash-902
3100 h:0  switch bash-900 R x-501
3110 h:2  switch bash-902 R x-701
3120 g3:0 lost 4
4000 h:0  switch x-501 R bash-900
EOT
trace=$work/open.xvt
check "what was taken, where nothing can be known" shows "^g2 +0 ns, by the recording 0.00% of their time$" "^g3 +cannot be told$" "^g1 +task switches, wake-ups: echo 1 " "^g4 +0 +0 .* -$"
check "... has no figure" eval '! sed -n "/^TAKEN/,/^$/p" "$work/out" | grep -q "^g1"'
check "... and none as JSON" eval '"$xvtrace" summary -q --json "$trace" | jq -e "[.vms[] | select(.taken) | [.name, .taken.taken_ns, .taken.recorder_ns, .taken.told, .taken.least]] == [[\"g2\", 0, 0, 1, false], [\"g3\", null, null, 0, true]]" >/dev/null'
"$tools/xvt-story" "$work/least.xvt" <<'EOT' || exit 1
host 1
guest g1 1 2000
thread 501 g1:vcpu0
0    h:0  switch swapper-0 R x-501
10   g1:0 soft 9
100  h:0  switch x-501 R bash-900
3100 h:0  switch bash-900 R x-501
3200 g1:0 softx 9
4000 h:0  switch x-501 R bash-900
5000 h:0  switch bash-900 R x-501
EOT
trace=$work/least.xvt
check "where a part is not known, it is at least the rest" shows "^g1 +3.00 ms at least, bash-900 3.00 ms,( by|$)" "by the recording at least 0.00% of their time$"
"$tools/xvt-bigtrace" u64 4 20000 "$work/big.xvt" || exit 1
check "events without tasks: as jq counts" equal "$work/big.xvt"

mkdir "$work/set"
cp "$work/big.xvt" "$work/set/00000001.xvt"
cp "$work/big.xvt" "$work/set/00000002.xvt"
check "a folder of files: as jq counts" equal "$work/set"
head -c $(($(stat -c %s "$work/made.xvt") * 2 / 3)) "$work/made.xvt" >"$work/cut.xvt"
check "a trace without an end: as jq counts" equal "$work/cut.xvt"
check "and that is said" eval '"$xvtrace" summary "$work/cut.xvt" 2>"$work/err" | grep -q "not cleanly ended" && grep -q "not cleanly ended" "$work/err"'

cp "$work/made.xvt" "$work/bad.xvt"
"$tools/xvt-spoil" "$work/bad.xvt" chunk 11 || exit 1
damaged() {
	equal "$work/bad.xvt"
	local same=$?
	"$xvtrace" summary "$work/bad.xvt" >"$work/out" 2>"$work/err"
	[ $? -eq 1 ] && grep -q "damaged" "$work/err" && grep -q "^g1 " "$work/out" && return $same
}
check "a damaged trace: as jq counts, exit 1" damaged

# A recording without an event.
"$xvtrace" region create "$work/region" --size 1M --rings 2 >/dev/null || exit 1
"$xvtrace" record -q -o "$work/empty.xvt" -r g1="$work/region" --duration 0.1 >/dev/null 2>&1
trace=$work/empty.xvt
check "a trace without events: as jq counts" equal "$trace"
check "it has a screen, too, and is told by the exit status" eval '"$xvtrace" summary -q "$trace" >"$work/out" 2>/dev/null; [ $? -eq 1 ] && grep -q "0 events of 1 machine, lost 0" "$work/out" && grep -qE "^g1 +0 +0" "$work/out"'

# -- the screen ----------------------------------------------------------------------

fits() { # WIDTH TRACE: no line is longer, and strips fill what is there
	COLUMNS=$1 "$xvtrace" summary -q "$2" >"$work/out" && [ "$(wc -L <"$work/out")" -eq "$1" ] && return
	sed 's/^/# /' "$work/out"
	return 1
}
for width in 80 120; do
	for trace in made paused doubled all; do
		check "$trace at $width columns" fits $width "$work/$trace.xvt"
	done
done
ascii() {
	LC_ALL=C "$xvtrace" summary -q "$work/paused.xvt" >"$work/out" && ! LC_ALL=C grep -q '[^ -~]' "$work/out" &&
		grep -qE '^g0 +[1-8] +x' "$work/out"
}
check "ASCII where the locale is not UTF-8" ascii
colour() {
	[ "$("$xvtrace" summary -q --color always "$work/made.xvt" | grep -c $'^\x1b\\[36mg1\x1b\\[0m ')" -ge 3 ] &&
		"$xvtrace" summary -q --color always "$work/made.xvt" | grep -q $'\x1b\\[1;31m *15\x1b\\[0m' &&
		! "$xvtrace" summary -q "$work/made.xvt" | grep -q $'\x1b' && "$xvtrace" summary --color red "$work/made.xvt" 2>&1 | grep -q 'it is auto, always or never'
}
check "colours of machines and losses as report has them" colour

exit $((failures > 0))
