#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# path: how its end is said, what is printed, and its JSON. tests/unit/path has what it finds.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$BUILD/tests/tools
unset COLUMNS NO_COLOR
trace=$work/story.xvt

# A client on vCPU 0 asks a server on vCPU 1, from which the host takes the CPU for 50 us. A message
# of g2 comes later, by an interrupt of which nothing is recorded.
"$tools/xvt-story" "$trace" <<'EOT' || exit 1
host 2
guest g1 2 2000
guest g2 1 2000
thread 501 g1:vcpu0
thread 502 g1:vcpu1
thread 503 g1:qemu
thread 601 g2:vcpu0
0   h:0  switch swapper-0 R x-501
0   h:1  switch swapper-0 R x-502
10  g1:0 switch swapper-0 R cli-10
20  g1:1 switch srv-20 S swapper-0
30  g2:0 switch swapper-0 R job-30
100 g1:0 waking srv-20 1 cli-10
110 g1:1 switch swapper-0 R srv-20
120 g1:0 switch cli-10 S swapper-0
130 h:1  switch x-502 R noisy-900
180 h:1  switch noisy-900 S x-502
200 g1:1 waking cli-10 0 srv-20
215 g1:0 switch swapper-0 R cli-10
300 g1:0 switch cli-10 S swapper-0
320 g2:0 send 5 job-30
400 g1:0 irq 25 virtio0
402 g1:0 waking cli-10 0 irq
404 g1:0 irqx 25
410 g1:0 switch swapper-0 R cli-10
420 g1:0 recv 5 cli-10
430 g1:0 switch cli-10 S swapper-0
EOT
p=("$xvtrace" path -q --no-reclock --no-pager)
# says WORDS OPTION...: a line of the text is like that
says() {
	local words=$1
	shift
	"${p[@]}" "$@" "$trace" >"$work/out" 2>"$work/err" || { cat "$work/err"; return 1; }
	grep -qE -- "$words" "$work/out" && return
	sed 's/^/# /' "$work/out"
	return 1
}
# json FILTER OPTION...: holds for the JSON
json() {
	local filter=$1
	shift
	"${p[@]}" --json "$@" "$trace" >"$work/json" && jq -e "$filter" "$work/json" >/dev/null && return
	sed 's/^/# /' "$work/json"
	return 1
}
cli=(--vm g1 --task cli)
same() { cmp -s "$work/json" "$work/first"; }

check "the server's time is the largest part" says '^ +37\.5% +90\.0 +50\.0 +40\.0  proven  └ runs on 1$' "${cli[@]}" --between 1.00005,1.00029
check "what comes before it stands before it" eval '[ "$(sed -n "s/^ *g1: //p" "$work/out" | tr "\n" " ")" = "cli-10 srv-20 cli-10 " ]'
check "its length, bound and times" grep -qF 'PATH of 240.0 us, +-4.00 us, from 1.000050000 to 1.000290000' "$work/out"
check "JSON: the same" json '.format == "xvtrace-path/1" and .end == "begin" and ([.steps[] | [.task, .kind, .edge, .ns]] == [["cli-10", "runs", "same", 75000], ["cli-10", "waits", "waker", 15000], ["srv-20", "runs", "same", 90000], ["srv-20", "waits", "waker", 10000], ["cli-10", "runs", "same", 50000]])' "${cli[@]}" --between 1.00005,1.00029
check "the parts cover the path" jq -e '([.steps[].ns] | add) == .at_ns - .from_ns and .steps[-1].begin_ns == .begin_ns' "$work/json"
check "taken and own" jq -e '.steps[2] | .taken_least_ns == 50000 and .taken_most_ns == 50000 and .own_least_ns == 40000 and .own_most_ns == 40000 and .cpu == 1 and .vm == "g1" and .bound_ns == 4000 and .grade == "proven" and .pid == 20' "$work/json"
cp "$work/json" "$work/first"
check "--between E E" json . "${cli[@]}" --between 1.00005 1.00029
check "... is the same" same
check "a number for a task" json . --vm g1 --task 10 --between +50us --between 1.00029
check "... is the same" same
check "a thread of the host" says '^ +[0-9.]+% +10\.0 +- +-  proven  └ runs$' --vm h --task 900 --at 1.00014 --guess
check "its name is that which it has there" grep -q 'h: noisy-900$' "$work/out"

# Events by their line.
line() { "$xvtrace" report -q --no-reclock --no-pager "$trace" | grep -n "$1" | cut -d : -f 1; }
check "an event has its machine and task" json '[.steps[] | .task] == ["cli-10", "cli-10", "interrupt 25 virtio0", "message 5", "job-30"] and .end == "hole"' --at "@$(line 'xvt-ping recv 5')"
check "... a message's sender is proven, its way is not told" jq -e '.steps[3] | .edge == "message_key" and .grade == "proven" and .ns == 80000 and .by == "job-30" and .not_told == "what raised interrupt 25 virtio0 is not recorded"' "$work/json"
check "... and what would tell" eval 'says "^What would tell: " --at "@$(line "xvt-ping recv 5")"'
check "a switch stands for the task that comes" json '.steps[1] | .task == "cli-10" and .kind == "waits" and .ns == 15000' --at "@$(line 'g1:0.*idle.*sched_switch' | sed -n 2p)"
check "two events" json '.end == "begin" and .from_ns == 1000320000 and .at_ns == 1000420000' --between "@$(line 'xvt-ping send 5'),@$(line 'xvt-ping recv 5')"
check "an event in an interrupt: what raised it" json '.steps[0] | .kind == "handler" and .ns == 2000' --at "@$(line 'g1:0.*h.*sched_waking')"

# refuses STATUS WORDS ARG...
refuses() {
	local want=$1 words=$2
	shift 2
	"$xvtrace" path "$@" >"$work/out" 2>"$work/err"
	[ $? -eq "$want" ] && grep -qE -- "$words" "$work/err" && return
	sed 's/^/# /' "$work/err"
	return 1
}
check "no end" refuses 2 'say where it ends: --at E, or --between E,E' "${cli[@]}" "$trace"
check "two ends" refuses 2 'say where it ends' --at 1.0002 --between 1,2 "$trace"
check "one end of two" refuses 2 'give two' --between 1.0001 "$trace"
check "no task" refuses 1 'say whose path' --at 1.0002 "$trace"
check "it sleeps: when it comes next" refuses 1 'it is on no CPU at that time; it comes to one at 1.000215000' --no-reclock "${cli[@]}" --at 1.00015 "$trace"
check "no such machine" refuses 1 "no machine 'g9' in this trace; it has: h, g1, g2" --vm g9 --task cli --at 1.0002 "$trace"
check "no such event" refuses 1 'the report of this trace has' --at @999 "$trace"
check "a time that is none" refuses 1 'soon' "${cli[@]}" --at soon "$trace"
check "the end before the begin" refuses 1 'it is not behind' "${cli[@]}" --between 1.0002,1.0001 "$trace"
check "no such file" refuses 1 'none.xvt' "${cli[@]}" --at 1.0002 "$work/none.xvt"

check "JSON and Perfetto at once" refuses 2 'it writes no JSON' --json --perfetto "$work/x" "${cli[@]}" --at 1.0001 "$trace"
check "a trace is not written over" refuses 2 'it is a trace' --perfetto "$trace" "${cli[@]}" --at 1.0001 "$trace"
check "a folder that is not there" refuses 1 'none/x: No such file' --perfetto "$work/none/x" "${cli[@]}" --at 1.0001 "$trace"

# For Perfetto: a slice for each part, with its edge, and an arrow where the path goes elsewhere.
. tests/formats.sh
# slices: of the trace on stdin, TRACK BEGIN END GRADE EDGE SHARE TAKEN NAME, then `arrow NAME -> NAME`
slices() {
	perfetto_decode | awk '
		{ key = $1; sub(/:$/, "", key); value = $0; sub(/^[^:]*: "?/, "", value); sub(/"$/, "", value) }
		/^packet/ { split("", at); split("", arg); flows = "" }
		/^  timestamp/ { at["ts"] = value }
		/^    (uuid|type|track_uuid|name)/ { at[key] = value }
		/^    flow_ids/ { flows = flows " " value }
		/^      (string|uint)_value/ { held = value }
		/^      name/ { arg[value] = held }
		/^}/ && at["uuid"] { name[at["uuid"]] = at["name"] }
		/^}/ && at["type"] == "TYPE_SLICE_BEGIN" { begin = at["ts"]; what = at["name"]
			words = arg["grade"] " " arg["edge"] " " arg["share_permille"] " " (("taken_least_ns" in arg) ? arg["taken_least_ns"] : "-")
			n = split(flows, f, " ")
			for (i = 1; i <= n; i++) { if (f[i] in from) print "arrow", from[f[i]], "->", what; from[f[i]] = what } }
		/^}/ && at["type"] == "TYPE_SLICE_END" { print name[at["track_uuid"]], begin, at["ts"], words, what }'
}
# drawn OPTION...: its slices are the steps of the JSON
drawn() {
	"${p[@]}" --json "$@" "$trace" >"$work/json" && "${p[@]}" "$@" --perfetto "$work/path.pftrace" "$trace" && slices <"$work/path.pftrace" >"$work/got" || return 1
	grep -v ^arrow "$work/got" | sed -E 's/ (runs|waits for a CPU|is pre-empted|handler runs|waits for its CPU|on its way)$//' >"$work/ours"
	command jq -r '([.steps[].ns] | add) as $all | .steps | reverse[] | "\(.vm) \(.begin_ns) \(.end_ns) \(.grade) \(.edge) \(1000 * .ns / $all | floor) \(.taken_least_ns // "-") \(.task)"' "$work/json" >"$work/theirs"
	[ -s "$work/theirs" ] && cmp -s "$work/ours" "$work/theirs" && return
	diff "$work/ours" "$work/theirs" | head -n 6 | sed 's/^/# /'
	return 1
}
both() { "$xvtrace" export -q --no-reclock --format perfetto "$trace" "$work/all" && cat "$work/all" "$work/path.pftrace" >"$work/both" && perfetto_decode <"$work/both" >"$work/txt"; }
if ! command -v protoc >/dev/null; then
	echo "skip - path for Perfetto: protoc is missing"
else
	check "Perfetto: a slice for each part" drawn "${cli[@]}" --between 1.00005,1.00029
	check "... an arrow wherever another task goes on" eval '[ "$(grep ^arrow "$work/got")" = "$(printf "arrow %s\n" "cli-10 runs -> srv-20 waits for a CPU" "srv-20 runs -> cli-10 waits for a CPU")" ]'
	check "a message: from one machine to the other" drawn --at "@$(line 'xvt-ping recv 5')"
	check "... with an arrow" grep -qx 'arrow job-30 runs -> message 5 on its way' "$work/got"
	check "... and what is not told" eval 'perfetto_decode <"$work/path.pftrace" | grep -q "what raised interrupt 25 virtio0 is not recorded"'
	check "behind the export it is one trace with it" both
	check "... that Perfetto reads as it is meant" eval '[ -z "$(awk -v names=0 -v facts=/dev/null -f tests/perfetto_rules.awk "$work/txt" | tee /dev/stderr)" ]'
	check "... of which no sequence has two begins" eval '[ -z "$(awk "/^packet/ { s = f = 0 } /trusted_packet_sequence_id/ { s = \$2 } /first_packet_on_sequence/ { print s }" "$work/txt" | sort | uniq -d)" ]'
	check "to standard output" eval '"${p[@]}" "${cli[@]}" --between 1.00005,1.00029 --perfetto - "$trace" | slices | grep -q "^arrow"'
fi

# A trace of anything: every length is a trace, and none is a crash.
"$tools/xvt-mktrace" 3000 0 "$work/made.xvt" >/dev/null || exit 1
for part in 1 2 3; do
	head -c $(($(stat -c %s "$work/made.xvt") * part / 3)) "$work/made.xvt" >"$work/cut.xvt"
	event=@$("$xvtrace" report -q --no-pager "$work/cut.xvt" | awk '/sched_switch/ && !/-> *0|next_pid=0/ { n = NR } END { print n }')
	check "$part thirds of a file" eval '"$xvtrace" path -q --guess --json --at "$event" "$work/cut.xvt" >"$work/json" 2>"$work/err"; [ $? -lt 2 ]'
done
cp "$work/made.xvt" "$work/bad.xvt"
"$tools/xvt-spoil" "$work/bad.xvt" chunk 11 || exit 1
check "a damaged file: said, and exit 1" refuses 1 'damaged' --guess --at "$event" "$work/bad.xvt"
