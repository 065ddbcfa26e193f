#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2016,SC2317
# query: the tables of the guests' time beside `analyze --json` of the same trace: each row of the
# tables of figures is a line of it, and sums over vcpu_states and messages are its sums.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$BUILD/tests/tools
if ! "$xvtrace" --version | grep -q '+sqlite'; then
	echo "skip - query: it was built without SQLite"
	exit 77
fi

# Each state of a vCPU's thread, messages of each verdict, timers, KVM's interrupts, and losses.
"$tools/xvt-story" "$work/states.xvt" <<'EOT' || exit 1
host 3
guest g1 2 2000
guest g2 1 2000
guest g3 2 2000
thread 501 g1:vcpu0
thread 502 g1:vcpu1
thread 601 g2:vcpu0
thread 701 g3:vcpus
comm 600 qemu
comm 901 xvtrace
process 901 901
0     h:0  switch swapper-0 R x-501
1     h:1  switch swapper-0 R x-601
2     h:2  switch swapper-0 R x-502
10    g1:0 switch swapper-0 R work-10
12    g2:0 switch swapper-0 R job-20
15    g1:1 switch boot-1 S swapper-0
20    g1:0 soft 9
30    g1:0 send 1 work-10
60    g2:0 recv 1 job-20
62    g1:0 send 2 work-10
63    g2:0 recv 2 job-20
70    g1:0 send 3 work-10
71    g1:0 send 3 work-10
75    g2:0 recv 3 job-20
76    g2:0 recv 3 job-20
80    g1:0 send 4 work-10
81    g2:0 recv 5 job-20
100   h:0  switch x-501 R bash-900
200   h:0  switch bash-900 R xvtrace-901
3000  h:0  switch xvtrace-901 S x-501
3010  g1:0 softx 9
3050  h:1  switch x-601 S swapper-0
4000  h:1  waking x-601 1 qemu-600
4500  h:1  switch swapper-0 R x-601
4510  g2:0 timer 7 4600
4520  g2:0 switch job-20 S swapper-0
4530  g2:0 wakeup job-20 0
4600  h:1  switch x-601 S swapper-0
5000  h:1  accept 0 33 x-601
5005  h:2  switch x-502 S swapper-0
5010  h:1  switch swapper-0 R x-601
5011  h:1  inject 33 x-601
5020  g2:0 expire 7 5015
5030  g2:0 switch swapper-0 R job-20
5100  h:1  switch x-601 D swapper-0
5300  h:1  switch swapper-0 R x-601
5310  g2:0 switch job-20 S swapper-0
5400  h:1  switch x-601 S swapper-0
5440  h:2  waking x-502 2 qemu-600
5450  g1:0 wakeup more-21 1
5480  h:2  switch swapper-0 R x-502
5490  g1:1 switch swapper-0 R more-21
5500  h:1  switch swapper-0 R x-601
5520  g2:0 switch swapper-0 R job-20
5600  h:1  switch x-601 T swapper-0
5800  h:1  switch swapper-0 R x-601
5805  g2:0 irq 5 eth0
5806  g2:0 irqx 5
5810  g1:0 send 6 work-10
5815  g2:0 lost 12
5820  g2:0 recv 6 job-20
5830  g1:0 send 7 work-10
5831  g1:0 send 7 work-10
6000  h:0  switch x-501 S swapper-0
6001  h:0  switch swapper-0 R x-501
6001.5 g1:0 switch work-10 S swapper-0
7000  h:0  switch x-501 S x-701
7100  g3:0 switch swapper-0 R one-30
7120  g3:1 switch swapper-0 R two-31
7200  h:0  switch x-701 R kw-902
7800  h:0  switch kw-902 S x-701
8000  g2 paused
8010  h:1  switch x-601 S swapper-0
8500  h:1  switch swapper-0 R x-601
8600  g2 runs 8010
8700  g3:0 switch one-30 S swapper-0
8710  h:0  switch x-701 S swapper-0
9000  h:1  switch x-601 R bash-900
9500  g2:0 irq 5 eth0
counts 2 3 0
EOT
"$tools/xvt-mktrace" 3000 0 "$work/made.xvt" >/dev/null || exit 1
"$tools/xvt-doubled" "$work/doubled.xvt" || exit 1

sql() { "$xvtrace" query -q --json "$work/$trace.xvt" "$1" >"$work/sql" && command jq -c '.rows[]' "$work/sql"; }
json() { "$xvtrace" analyze -q --json --min 1ns "$1" "$work/$trace.xvt" >"$work/json" && command jq -c "$2" "$work/json"; }

# same ANALYSIS FILTER SQL [SORT]: the rows are what the filter makes of analyze's JSON, in any order
same() {
	sql "$3" | sort >"$work/ours"
	json "$1" "$2" | sort >"$work/theirs"
	[ -s "$work/theirs" ] && cmp -s "$work/ours" "$work/theirs" && return
	diff "$work/ours" "$work/theirs" | head -n 6 | cut -c 1-600 | sed 's/^/# /'
	return 1
}

defs='def bit: if . == null then null elif . then 1 else 0 end;
	def figure: if . then [.n, .sum_ns, .min_ns, .p50_ns, .p99_ns, .p99_9_ns, .max_ns, .max_at_ns, .max_cpu, (.exact | bit)]
		else [0, null, null, null, null, null, null, null, null, null] end;
	def nulls($n): [range($n) | null];'
lines="$defs"' .lines[] | [.vm, .cpu, (.shared_thread | bit), .kind, .what, .tid, (.recorder | bit), .to]
	+ (.wall | figure) + (.wall | [.bound_ns_median, .bound_ns_max, .unbounded])
	+ (if has("own_most") then (.own_least | figure) + (.own_most | figure) + [.own_unknown] else nulls(21) end)
	+ [.untold, .untold_ns, .no_end, .no_begin, .repeated, .verdict, .needs]'
losses="$defs"' .losses[] | [.vm, .cpu, .attempted, .delivered, .discarded, .lost, .in_flight]
	+ (.holes | figure) + [.holes_open, .span_ns, .verdict, .why]'
causes='.losses[] as $l | $l.causes[] | [$l.vm, $l.cpu, .cause, .counted, .n, .first_ns, .last_ns, .most, .most_at_ns, .helps]'

# What cpu has sums of: each state of a vCPU.
states='[.lines[] | select(.wall or .untold > 0) | [.vm, .cpu, .kind, .wall.sum_ns // 0, .untold_ns]]
	| map(if .[2] == "taken" then [.[0], .[1], "off", .[4]]
		else [.[0], .[1], ({on_cpu: "running", taken_by: "waits", unknown: "off"}[.[2]] // .[2]), .[3]] end)
	| group_by(.[:3])[] | [.[0][0], .[0][1], .[0][2], (map(.[3]) | add)] | select(.[3] > 0)'
as_states="SELECT vm, on_cpu, CASE WHEN state IN ('preempted', 'waits') THEN 'waits' ELSE state END s, sum(dur) FROM vcpu_states GROUP BY 1, 2, 3"
messages='[.lines[] | select(.kind == "message")] | group_by(.vm)[] | .[0]
	| [.vm, .wall.n // 0, .wall.sum_ns // 0, .untold, .untold_ns, .no_end, .no_begin, .repeated]'
as_messages="SELECT coalesce(vm, to_vm), sum(verdict = 'proven'), sum(iif(verdict = 'proven', dur, 0)),
	sum(iif(in_order = 0, n, 0)), sum(iif(in_order = 0, max(dur, 0), 0)), sum(iif(recv_ts IS NULL, n, 0)),
	sum(iif(vm IS NULL, n, 0)), sum(iif(sent_ts IS NULL AND vm IS NOT NULL, n, 0)) FROM messages GROUP BY 1"

for trace in states made doubled; do
	for analysis in cpu stalls sched irq timer latency; do
		check "$trace: figures of $analysis" same "$analysis" "$lines" "SELECT * FROM analyze_$analysis"
	done
	check "$trace: figures of losses" same losses "$losses" 'SELECT * FROM analyze_losses'
done
trace=states
check "sums of the states of vCPUs are those of cpu" same cpu "$states" "$as_states"
for trace in states made; do
	check "$trace: messages are those of latency" same latency "$messages" "$as_messages"
done
trace=states
check "causes of losses" same losses "$causes" 'SELECT * FROM analyze_loss_causes'
check "stalls are parts of the states: of each its occupants' waits" same stalls '[.lines[] | .wall.sum_ns // 0] | [add]' \
	"SELECT sum(dur) FROM vcpu_states WHERE guest IS NOT NULL"

# gives SQL ROWS
gives() {
	local got
	got=$(sql "$1" 2>&1 | command jq -sc .)
	[ "$got" = "$2" ] && return
	echo "# $got"
	return 1
}
check "each state of one vCPU, by whom, and its bound" gives \
	"SELECT ts - 1000000000, dur, bound_ns > 1000, state, guest, task, task_pid, most, most_ns, recorder, waker, verdict FROM vcpu_states WHERE vm = 'g2' AND ts BETWEEN 1003050000 AND 1005800000 AND state <> 'running' ORDER BY ts" \
	'[[3050000,950000,0,"asleep","task","job",20,null,null,0,null,"proven"],[4000000,500000,0,"waits","task","job",20,"an idle host CPU",500000,0,"qemu-600","proven"],[4600000,410000,0,"asleep","woken","swapper",0,null,null,0,null,"proven"],[5100000,200000,0,"blocked","task","job",20,null,null,0,null,"proven"],[5400000,100000,0,"idle",null,null,null,null,null,0,null,"proven"],[5600000,200000,0,"stopped","task","job",20,null,null,0,null,"proven"]]'
check "the recording is named" gives \
	"SELECT dur, most, most_ns, recorder FROM vcpu_states WHERE vm = 'g1' AND state = 'preempted'" '[[2900000,"xvtrace-901",2800000,1]]'
check "an idle vCPU whose thread waits before a task does" gives \
	"SELECT ts - 1000000000, dur, bound_ns, state, guest, waker FROM vcpu_states WHERE vm = 'g1' AND on_cpu = 1 AND state <> 'running' ORDER BY ts" \
	'[[5005000,445000,2002,"idle",null,null],[5450000,30000,2002,"waits","woken","qemu-600"]]'
check "what the bounds leave open, a pause, an end" gives \
	"SELECT vm, dur, state, verdict, open FROM vcpu_states WHERE state IN ('off', 'paused') OR open ORDER BY ts, ring" \
	'[["g1",4020000,"running","proven",1],["g1",1000,"off","cannot be told",0],["g1",2500000,"idle","proven",1],["g2",490000,"paused","proven",0],["g3",790000,"idle","proven",1],["g3",790000,"asleep","proven",1],["g2",500000,"off","cannot be told",1]]'
check "one thread for all vCPUs: off is of each, on is of none" gives \
	"SELECT on_cpu, state, sum(dur), shared, verdict FROM vcpu_states WHERE vm = 'g3' GROUP BY 1, 2 ORDER BY 1, 2" \
	'[[0,"idle",790000,1,"proven"],[0,"preempted",600000,1,"proven"],[0,"running",1110000,1,"cannot be told"],[1,"asleep",790000,1,"proven"],[1,"preempted",600000,1,"proven"],[1,"running",1110000,1,"cannot be told"]]'
check "no two states of a vCPU meet" gives \
	"SELECT count(*) > 20, sum(next < ts + dur), sum(next > ts + dur) FROM (SELECT *, lead(ts) OVER (PARTITION BY ring ORDER BY ts) next FROM vcpu_states)" '[[1,0,0]]'
check "messages: their ends, order and reasons" gives \
	"SELECT key, n, vm, to_vm, sent_ts - 1000000000, recv_ts - 1000000000, dur, bound_ns, in_order, verdict, why FROM messages ORDER BY key, recv_ts" \
	'[[1,1,"g1","g2",30000,60000,30000,4000,1,"proven",null],[2,1,"g1","g2",62000,63000,1000,4000,0,"cannot be told","the bounds leave the order open"],[3,1,"g1","g2",null,75000,null,null,null,"cannot be told","the key was used again before its end"],[3,1,"g1","g2",null,76000,null,null,null,"cannot be told","the key was used again before its end"],[4,1,"g1",null,80000,null,null,null,null,"not recorded","no receipt was found"],[5,1,null,"g2",null,81000,null,null,null,"not recorded","no sending was found"],[6,1,"g1","g2",5810000,5820000,10000,4000,0,"cannot be told","events were lost meanwhile"],[7,2,"g1",null,5830000,null,null,null,null,"not recorded","no receipt was found"]]'
[ $failures -eq 0 ]
