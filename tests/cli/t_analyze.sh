#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# analyze: what it says of traces in which it is known what happened (tests/unit/analyze has more of
# them), its choices of lines, and its times as others take them.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$BUILD/tests/tools
unset COLUMNS NO_COLOR
trace=$work/story.xvt

# g1's vCPU 0 is taken for 3 ms by three threads, in a softirq; g2's vCPU sleeps while its guest works.
"$tools/xvt-story" "$trace" <<'EOT' || exit 1
host 2
guest g1 2 2000
guest g2 1 2000
thread 501 g1:vcpu0
thread 502 g1:vcpu1
thread 601 g2:vcpu0
comm 600 qemu
0     h:0  switch swapper-0 R x-501
1     h:1  switch swapper-0 R x-601
10    g1:0 switch swapper-0 R work-10
12    g2:0 switch swapper-0 R job-20
20    g1:0 soft 9
30    h:1  switch x-601 S swapper-0
100   h:0  switch x-501 R bash-900
200   h:0  switch bash-900 R noisy-901
3000  h:0  switch noisy-901 S kw-902
3100  h:0  switch kw-902 S x-501
3120  g1:0 softx 9
3130  g1:0 soft 1
3133  g1:0 softx 1
3200  g1:0 switch work-10 S swapper-0
8000  h:1  waking x-601 1 qemu-600
8010  h:1  switch swapper-0 R x-601
8020  g2:0 switch job-20 S swapper-0
9000  h:0  switch x-501 S swapper-0
EOT
a=("$xvtrace" analyze -q --no-reclock --no-pager)
# says ANALYSIS WORDS OPTION...: a line of the text is like that
says() {
	local analysis=$1 words=$2
	shift 2
	"${a[@]}" "$analysis" "$@" "$trace" >"$work/out" 2>"$work/err" || { cat "$work/err"; return 1; }
	grep -qE -- "$words" "$work/out" && return
	sed 's/^/# /' "$work/out"
	return 1
}
# json ANALYSIS FILTER OPTION...: holds for the JSON
json() {
	local analysis=$1 filter=$2
	shift 2
	"${a[@]}" "$analysis" --json "$@" "$trace" >"$work/json" && jq -e "$filter" "$work/json" >/dev/null && return
	sed 's/^/# /' "$work/json"
	return 1
}

check "the longest stall first, with its cause" says stalls '^ +7\.980 ms  1\.000030000  g2:0 +task +job-20: slept in the VMM, woken by qemu-600$'
check "the main occupant, beside the first and the last" says stalls '^ +3\.000 ms  1\.000100000  g1:0 +softirq +work-10: preempted by noisy-901 2\.800 ms \(93%\); first bash-900, last kw-902$'
check "who took which vCPU" says cpu '^g1:0 +by noisy-901 +1 2\.800 ms '
check "a softirq's wall" says irq '^g1 +softirq RCU +1 3\.100 ms '
check "and its own" says irq '^ +own +1 100\.0 us '
check "a vCPU whose thread is not recorded" says cpu '^g1:1 +taken +0  not recorded: record --host sched$'
check "wake-ups that are not recorded" says sched '^g1 +wait, all tasks +0  not recorded: '
check "several in one pass" says cpu,irq '^g1 +softirq RCU '
check "a histogram" says irq '^ +2\.048 us\.\. +1 \|#+$' --hist
check "the JSON has the same" json stalls '.format == "xvtrace-analyze/1" and (.stalls | map([.vm, .cpu, .ns, .cause, .most]) == [["g2", 0, 7980000, "sleeps", "an idle host CPU"], ["g1", 0, 3000000, "preempted", "noisy-901"]])'
check "wall and own" json irq '[.lines[] | select(.what == "softirq RCU")] | length == 1 and (.[0] | .wall.sum_ns == 3100000 and .own_least.sum_ns == 100000 and .own_most.sum_ns == 100000 and .wall.max_at_ns == 1000020000 and .wall.bound_ns_max == 4000 and .verdict == "proven")'
check "a histogram" json irq '[.lines[] | select(.what == "softirq RCU")][0].wall.hist == [{"from_ns": 2097152, "n": 1}]' --hist

check "one machine's lines; the host's threads are named all the same" json stalls '.stalls | length == 1 and .[0].most == "noisy-901"' --vm g1
check "all but one machine" json stalls '.stalls | length == 1 and .[0].vm == "g2"' --vm '!g1'
check "one vCPU's lines" json cpu '[.lines[].cpu] | unique == [1]' --cpu 1
check "what one task waited for" json cpu,stalls '(.stalls | length == 1 and .[0].pid == 20) and ([.lines[] | select(.kind == "taken" and .wall) | .vm] == ["g2"]) and all(.lines[]; .kind != "on_cpu")' --pid 20,21
# Between two tasks, whose switch may be on either side of the 600 us: it is of neither.
"$tools/xvt-story" "$work/between.xvt" <<'EOT' || exit 1
host 1
guest g1 1 1000000
thread 501 g1:vcpu0
0    h:0  switch swapper-0 R x-501
10   g1:0 switch swapper-0 R work-10
3000 h:0  switch x-501 R bash-900
3300 g1:0 switch work-10 R other-11
3600 h:0  switch bash-900 S x-501
8000 g1:0 switch other-11 S swapper-0
9000 h:0  switch x-501 S swapper-0
12000 h:0 switch swapper-0 R x-501
14000 g1:0 switch swapper-0 R other-11
EOT
# What its vCPU was at is not recorded.
"$tools/xvt-story" "$work/unknown.xvt" <<'EOT' || exit 1
host 1
guest g1 1 2000
thread 501 g1:vcpu0
0    h:0  switch swapper-0 R x-501
10   g1:0 soft 9
20   g1:0 softx 9
100  h:0  switch x-501 R bash-900
3100 h:0  switch bash-900 R x-501
3200 g1:0 soft 9
EOT
trace=$work/unknown.xvt
for some in "" "--pid 10" "--comm work"; do
	# shellcheck disable=SC2086
	check "that nothing was taken is not known without the guest's switches: '$some'" says cpu,stalls '^g1:0 +taken +0  not recorded: .*record -e sched:sched_switch' $some
	check "... nor that there were no stalls" grep -qE '^g1:0 +stalls +0  not recorded: .*record -e sched:sched_switch' "$work/out"
done
"$tools/xvt-story" "$work/first.xvt" <<'EOT' || exit 1
host 1
guest g1 1 2000
25   g1:0 lost 3
30   g1:0 soft 9
EOT
trace=$work/first.xvt
check "a loss before the first event is a hole of unknown length" says losses '^g1 +4 +1 +0 +3 +0 +1 +- +- +- '
trace=$work/between.xvt
for pid in 10 11; do
	check "what one of two tasks waited for is of neither: $pid" json cpu,stalls '(.stalls | length == 0) and all(.lines[]; .kind != "taken" or (.wall == null and .untold == 0)) and all(.lines[]; .kind != "taken_by")' --pid $pid --min 1us
done
check "... and is told without a choice" json cpu,stalls '(.stalls | length == 1 and .[0].pid == -1) and ([.lines[] | select(.kind == "taken") | .wall.sum_ns] == [600000])' --min 1us
check "an idle vCPU's time is of its swapper" json cpu '[.lines[] | select(.wall) | [.kind, .wall.sum_ns]] == [["idle", 3000000]]' --pid 0
check "... and of no other" json cpu 'all(.lines[]; .kind != "idle")' --pid 11
trace=$work/story.xvt
check "tasks by name" json sched,irq '[.lines[] | select(.wall) | .what] | sort == ["run work-10", "run, all tasks", "softirq RCU", "softirq TIMER"]' --comm 'w?rk'
check "both must be" json sched,irq 'all(.lines[]; .wall == null)' --comm work --pid 20
check "what begins with an event" json stalls,sched,irq '(.stalls | length == 0) and ([.lines[].kind] | unique == ["softirq"])' -e softirq_entry
check "... and with others than that" json stalls,sched,irq '(.stalls | length == 2) and all(.lines[]; .kind != "softirq")' -e '!irq:*'
check "the least length" json stalls '.stalls | length == 1' --min 5ms
check "... of handlers" json irq '[.lines[].what] == ["softirq RCU"]' --min 1ms --vm g1
check "the longest ones" says stalls ': 2, the longest ones' --top 1
check "and no more" eval '! grep -q noisy "$work/out"'
check "a range has what ends in it, whole" json stalls '[.stalls[] | [.begin_ns, .end_ns]] == [[1000100000, 1003100000]]' --vm g1 --from 1.000150 --to 1.0035
check "... and not what ended before" json stalls,irq '(.stalls | length == 0) and ([.lines[] | select(.wall) | .what] == ["softirq TIMER"])' --vm g1 --from 1.003125 --to 1.0035
check "... also by --last and --around" eval 'json stalls "[.stalls[] | .begin_ns] == [1000100000]" --vm g1 --around 1.003 --span 0.5ms && json irq "[.lines[] | select(.wall) | .what] == [\"softirq TIMER\"]" --vm g1 --last 5.875ms'
check "a task that goes on stalling is open" json stalls '[.stalls[] | [.vm, .open]] == [["g2", true]]' --vm g2 --from 1.000150 --to 1.0035
check "... and what it lacks may have been recorded" json sched,timer '([.lines[] | select(.wall == null) | .verdict] | unique) == ["none in this range"]' --from 1.000100 --to 1.000250
check "... but of all of the trace it was not" json timer '[.lines[].verdict] | unique == ["not recorded"]'
check "... with what records it" says timer 'none in this range, or not recorded: the guest.s hrtimer_start' --from 1.000100 --to 1.000250
check "the time of the longest is one for --around" eval '"$xvtrace" report -q --no-reclock "$trace" --vm g1 --around "$(says irq . && awk "/softirq RCU/ { print \$17 }" "$work/out")" --span 1us | grep -q softirq_entry'

lat=$work/latency.xvt
"$tools/xvt-story" "$lat" <<'EOT' || exit 1
host 1
guest g1 1 2000
guest g2 1 2000
10   g1:0 mark xvt-ping send 1
60   g2:0 mark xvt-ping recv 1
70   g1:0 mark xvt-ping send 2
100  g1:0 soft 3
180  g2:0 soft 3
200  g1:0 timer 7 300
450  g1:0 expire 7 440
EOT
trace=$lat
check "a message" says latency '^g1 +messages +1 50\.00 us .* 1\.000010000 +4\.000 us 4\.000 us  proven$'
check "one that nobody received" says latency '^ +no end was found +1$'
check "any pair" says latency '^g1 +softirq_entry -> softirq_entry +1 80\.00 us .* proven$' --first softirq_entry --then softirq_entry --key vec
check "the JSON of pairs" json latency '.lines | map(select(.kind == "pair" and .vm == "g1")) | length == 1 and .[0].wall.sum_ns == 80000 and .[0].wall.bound_ns_max == 4000 and .[0].no_end == 0' --first softirq_entry --then softirq_entry --key vec,vec
check "of messages, each end's task may be the one" json latency 'all(.lines[]; .kind != "message" or .wall == null)' --pid 77
check "messages by their events" json latency '[.lines[].kind] | unique == ["message", "message_to"]' -e text
check "... and without them" json latency 'all(.lines[]; .kind != "message")' -e '!text'
check "of one machine alone" json latency '[.lines[].vm] | unique == ["g1"]' --vm g1

check "a late timer, without a bound" says timer '^g1 +late, all timers +1 140\.0 us .* 1\.000310000 +0 ns +0 ns  proven$'
check "... whose own part nobody recorded" says timer '^ +own +-$'
check "the function of a timer" json timer '[.lines[] | select(.kind == "timer_of")] | length == 1 and .[0].what == "0xffffffff81000000" and .[0].wall.sum_ns == 140000 and .[0].own_most == null and .[0].own_unknown == 1'

loss=$work/loss.xvt
"$tools/xvt-story" "$loss" <<'EOT' || exit 1
host 1
guest g1 1 2000
guest g2 1 2000
0    h:0  switch swapper-0 R x-501
10   g1:0 soft 1
110  g1:0 lost 40
120  g1:0 softx 1
1010 g1:0 soft 1
counts 2 0 3
1020 g2:0 soft 1
EOT
trace=$loss
check "what a machine lost, and in which share of its time" says losses '^g1 +43 +3 +0 +40 +0 +1 100\.0 us  10\.0% 100\.0 us  1\.000010000 +proven$'
check "its cause, times, and what helps" says losses '^ +full +40, first 1\.000110000, last 1\.000110000, at most 40 at once at 1\.000110000: its rings ran full: a larger region, or fewer events$'
check "counters that do not add up" says losses '^g2:0 +4 +1 .* cannot be told: attempted is not'
check "of a part there are LOST records alone" says losses '^g1 +- +- +- +- +- +1 .* cannot be told: a part of the trace' --to 1.000500
check "the JSON of losses" json losses '.losses | map(select(.cpu != null and .vm != "h")) | length == 2 and (.[0] | .attempted == .delivered + .discarded + .lost + .in_flight and .verdict == "proven" and .causes[0].n == 40 and .causes[0].cause == "full" and .holes.sum_ns == 100000) and .[1].verdict == "cannot be told"'
check "one machine's losses" json losses '[.losses[].vm] | unique == ["g2"]' --vm g2

# refuses STATUS WORDS ARG...
refuses() {
	local want=$1 words=$2
	shift 2
	"$xvtrace" analyze "$@" >"$work/out" 2>"$work/err"
	[ $? -eq "$want" ] && grep -qE -- "$words" "$work/err" && return
	sed 's/^/# /' "$work/err"
	return 1
}
check "no analysis" refuses 2 'say which analysis: cpu, stalls'
check "an unknown one" refuses 2 'no such analysis; there are cpu, stalls' cpu,stalsl "$trace"
"$tools/xvt-story" "$work/host.xvt" <<'EOT' || exit 1
host 1
0 h:0 switch swapper-0 R x-501
EOT
check "half a pair" refuses 2 'a pair takes --first EVENT --then EVENT --key FIELD' latency --first softirq_entry "$lat"
check "a pair for another analysis" refuses 2 'it is for the analysis .latency' cpu --first a --then b --key c "$lat"
check "a pair that is not there" refuses 1 "no event like 'softirq_exit' with a field 'vec' that is a number" latency --first softirq_entry --then softirq_exit --key vec "$lat"
check "a key that is not there" refuses 1 "no event like 'softirq_entry' with a field 'gone'" latency --first softirq_entry --then softirq_entry --key vec,gone "$lat"
check "a trace without a vCPU" refuses 1 'nothing to analyze: none of its rings is a vCPU' cpu,stalls "$work/host.xvt"
check "... has losses all the same" eval '"${a[@]}" losses "$work/host.xvt" | grep -q "^h .* proven$"'
check "none, but a trace" refuses 2 'give an analysis before the trace; there are cpu' "$trace"
check "an empty one" refuses 2 'no such analysis' cpu, "$trace"
check "no number of a task" refuses 2 'x: not the number of a task; --comm takes names' cpu --pid x "$trace"
check "no such machine" refuses 1 "no machine 'g9' in this trace; it has: h, g1, g2" cpu --vm g9 "$trace"
check "no such CPU" refuses 1 'no CPU 7 in this trace' cpu --cpu 7 "$trace"
check "no such file" refuses 1 'none.xvt' cpu "$work/none.xvt"

# A trace of anything: every length is a trace, and none is a crash.
"$tools/xvt-mktrace" 3000 0 "$work/made.xvt" >/dev/null || exit 1
for part in 1 2 3; do
	head -c $(($(stat -c %s "$work/made.xvt") * part / 3)) "$work/made.xvt" >"$work/cut.xvt"
	check "$part thirds of a file" eval '"$xvtrace" analyze -q cpu,stalls,sched,irq,timer,latency,losses --min 1ns --json "$work/cut.xvt" 2>&1 | jq -e ".lines | length > 0" >/dev/null'
done
cp "$work/made.xvt" "$work/bad.xvt"
"$tools/xvt-spoil" "$work/bad.xvt" chunk 11 || exit 1
check "a damaged file: said, and exit 1" refuses 1 'damaged' cpu "$work/bad.xvt"
# A switch that ftrace and the module's probe recorded is one.
"$tools/xvt-doubled" "$work/doubled.xvt" || exit 1
trace=$work/doubled.xvt
runs='reduce ($lines[] | select(.event == "sched_switch" or .event == "lost")) as $e ({cpu: {}, n: 0};
	($e.cpu | tostring) as $c | .cpu[$c] as $r |
	if $e.event == "lost" then .cpu[$c] = null
	elif $r == $e.fields.next_pid and $r != $e.fields.prev_pid then .
	else (if $r == $e.fields.prev_pid and $r != 0 and $r != null then .n += 1 else . end) | .cpu[$c] = $e.fields.next_pid end) | .n'
runs_once() {
	"$xvtrace" export -q --no-reclock --format jsonl "$trace" - >"$work/lines" 2>/dev/null
	json sched '[.lines[] | select(.kind == "run" and .wall) | .wall.n] | add // 0' || return 1
	[ "$(jq -s ". as \$lines | $runs" "$work/lines")" = "$(jq '[.lines[] | select(.kind == "run" and .wall) | .wall.n] | add' "$work/json")" ]
}
check "a switch that two recorded counts once, as jq counts" runs_once
