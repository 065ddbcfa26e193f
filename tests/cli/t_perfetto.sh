#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# The Perfetto export, as protoc decodes it by perfetto.proto: nothing unknown, and event by event what
# jsonl has.
set -u
. "$(dirname "$0")/lib.sh"
. tests/formats.sh
trap cleanup EXIT
proto=host/export/perfetto.proto
command -v protoc >/dev/null || {
	echo "skip - the Perfetto export: protoc is not installed"
	exit 77
}
export LC_ALL=C

# -- the numbers of the C code are those of the .proto

# MESSAGE_FIELD NUMBER, ENUM_VALUE NUMBER; then MESSAGE field number kind of the kernel's events
numbers() {
	awk '
		function snake(s) { gsub(/[A-Z]/, "_&", s); sub(/^_/, "", s); return toupper(s) }
		{ sub(/ \[packed = true\];/, ";") }
		/^ *(message|enum) / { depth++; name[depth] = $2; is_enum[depth] = $1 == "enum" }
		/oneof / { depth++; name[depth] = name[depth - 1]; is_enum[depth] = 0 }
		/= [0-9]+;/ {
			number = $NF
			sub(/;/, "", number)
			if (is_enum[depth])
				print $1, number
			else
				print snake(name[depth]) "_" toupper($(NF - 2)), number
		}
		/}/ { depth -= gsub(/}/, "}") }' "$proto" | sort -u
}
in_c() { sed -nE 's/^	([A-Z0-9_]+) = ([0-9]+),.*/\1 \2/p' host/export/perfetto.h | grep -v ^XVT_ | sort -u; }
same_numbers() {
	[ "$(in_c | wc -l)" -gt 50 ] && ! comm -13 <(numbers) <(in_c) | grep .
}
check "the numbers of perfetto.h are those of perfetto.proto" same_numbers
events_in_c() {
	sed -nE 's/^	\{ "[a-z0-9_]+", "([a-z0-9_]+)", ([0-9]+), \{$/E \1 \2/p; s/^		\{ "([a-z_]+)", ([0-9]+), ([A-Z0-9]+) \},$/F \1 \2 \3/p' host/export/perfetto_events.c |
		awk '$1 == "E" { event = $2; print event, $3 } $1 == "F" { print event, $2, $3, $4 }' | sort
}
events_in_proto() {
	awk '
		BEGIN { split("string STR int32 I32 int64 I64 uint32 U32 uint64 U64", k); for (i = 1; i < 11; i += 2) kind[k[i]] = k[i + 1] }
		/^message .*FtraceEvent \{/ && $2 != "FtraceEvent" && $2 != "GenericFtraceEvent" {
			event = $2
			sub(/FtraceEvent$/, "", event)
			gsub(/[A-Z]/, "_&", event)
			event = substr(tolower(event), 2)
			next
		}
		/^}/ { event = "" }
		event && /;/ { sub(/;/, "", $5); print event, $3, $5, kind[$2] ($1 == "repeated" ? "S" : "") }
		/^    [A-Z][A-Za-z0-9]*FtraceEvent [a-z0-9_]+ = / && $2 != "generic" { sub(/;/, "", $4); print $2, $4 }' "$proto" | sort
}
same_events() {
	[ "$(events_in_c | wc -l)" -gt 250 ] && diff <(events_in_c) <(events_in_proto)
}
check "so are the kernel's events, with all their fields" same_events

# -- event by event what jsonl has

# export_both TRACE OPTION...: $work/want, $work/got, $work/beside, $work/jsonl, $work/txt
export_both() {
	local trace=$1
	shift
	"$xvtrace" export -q --format jsonl "$@" "$trace" "$work/jsonl" &&
		"$xvtrace" export -q --format perfetto "$@" "$trace" "$work/pftrace" &&
		perfetto_decode <"$work/pftrace" >"$work/txt" || return 1
	perfetto_events "$work/txt" "$work/beside" >"$work/got"
	jsonl_events "$work/jsonl" >"$work/want"
}
same() {
	export_both "$@" || return 1
	! grep -E '^(unknown|wrong|packet)' "$work/beside" || return 1
	[ -s "$work/want" ] && iconv -f utf-8 -t utf-8 "$work/got" >/dev/null &&
		diff <(sort "$work/want") <(sort "$work/got") >"$work/diff" && return
	head -n 6 "$work/diff" | cut -c 1-300
	return 1
}
# The events of one CPU, and those beside the CPUs, are in order of time.
ordered() {
	awk '{ ring = $2 " " $3 " " ($4 == "?" ? 2 : $4 < 0) } ring in last && last[ring] + 0 > $1 + 0 { bad = 1 } { last[ring] = $1 }
		END { exit bad }' "$work/beside.raw"
}
"$BUILD/tests/tools/xvt-mktrace" 3000 0 "$work/synth.xvt" >/dev/null || exit 1
check "a trace of all kinds of fields" same "$work/synth.xvt"
check "in order" ordered
check "typed, generic and track events are among them" awk '
	$1 == "event" { generic += / bound_ns=/ && !/-1/; typed += !/ bound_ns=/ } END { exit !(generic && typed) }' "$work/beside"
check "with the records of rings" same "$work/synth.xvt" --all
"$BUILD/tests/tools/xvt-bigtrace" ftrace 4 20000 "$work/ftrace.xvt" || exit 1
check "the kernel's events" same "$work/ftrace.xvt"
# But entries whose exits are not recorded, and those before the first exit.
own_messages() {
	local entries
	entries=$(awk '$5 == "softirq_entry"' "$work/got" | wc -l)
	awk -v most=$((entries + 100)) -v least="$entries" '$1 == "event" && / bound_ns=/ { n++ } END { exit n < least || n > most }' "$work/beside"
}
check "each has a message of its own" own_messages
check "a part of the trace" same "$work/synth.xvt" --vm g2 -n 100

# Bounds: of each event with named fields, and the ring's counter for all of them.
bounds() {
	export_both "$work/synth.xvt" || return 1
	jsonl_of "$work/jsonl" | command jq -r '"\(.ts_ns) \(.vm) \(.cpu) bound_ns=\(.bound_ns)"' | sort >"$work/bounds"
	sed -nE 's/^event ([0-9]+ [^ ]+ [0-9]+).*( bound_ns=[0-9]+).*/\1\2/p' "$work/beside" | sort >"$work/told"
	[ "$(wc -l <"$work/told")" -gt 500 ] && ! comm -13 "$work/bounds" "$work/told" | grep . || return 1
	# The counter at the time of an event, where its bound is confirmed.
	{
		sed -nE 's/^TYPE_COUNTER ([0-9]+ [^ ]+ [0-9]+) ([0-9]+)$/\1 0 \2/p' "$work/beside"
		jsonl_of "$work/jsonl" | command jq -r 'select(.flags | contains("U") | not) | "\(.ts_ns) \(.vm) \(.cpu) 1 \(.bound_ns)"'
	} | sort -k 1,1n -k 4,4n | awk '$4 == 0 { at[$2 $3] = $5 } $4 == 1 && $5 != "null" && at[$2 $3] != $5 { bad = 1 } { n++ }
		END { exit bad || n < 500 }'
}
check "the bound of each event's time" bounds
flags() {
	jsonl_of "$work/jsonl" | command jq -r 'select(.flags != "") | "\(.ts_ns) \(.vm) \(.cpu) \(.flags)"' | sort >"$work/flags"
	awk '$1 == "event" && match($0, / xvt_flags=[0-9]+/) {
		f = substr($0, RSTART + 11, RLENGTH - 11) + 0
		letters = ""
		for (i = 1; i <= 5; i++) { if (f % 2) letters = letters substr("LBURC", i, 1); f = int(f / 2) }
		print $2, $3, $4, letters
	}' "$work/beside" | sort >"$work/told"
	[ -s "$work/told" ] && ! comm -13 "$work/flags" "$work/told" | grep .
}
check "flags of events" flags

# Losses are slices between the events around them.
losses() {
	local ns before
	ns=$("$xvtrace" report "$work/synth.xvt" | awk '/ g1:0 LOST full=12 / { sub(/\./, "", $1); print $1 }')
	before=$(awk -v ns="$ns" '$2 == "g1" && $3 == 0 && $1 + 0 < ns + 0 && $1 + 0 > last + 0 { last = $1 } END { print last }' "$work/got")
	grep -qx "TYPE_SLICE_BEGIN $before g1 0 -1 lost causes=full=12 wrap=0 .*overwritten=3 events=15 " "$work/beside" &&
		grep -qx "TYPE_SLICE_END $ns g1 0 " "$work/beside" && [ "$(grep -c '^TYPE_SLICE_BEGIN .* lost ' "$work/beside")" -eq 1 ] &&
		grep -qx 'bundle-after-loss g1 0' "$work/beside"
}
check "losses" losses
# Messages: the mark of each end has an event, and both ends one flow; verify counts the pairs.
# flows FEWER: so many pairs fewer
flows() {
	local pairs
	# Those whose time is a guess are counted apart.
	pairs=$("$xvtrace" verify "$work/synth.xvt" 2>/dev/null | grep -oE '[0-9]+ (more )?exchanges' | awk '{ n += $1 } END { print n }')
	[ "$(grep -c '^message ' "$work/beside")" -eq "$(grep -cE '=xvt-p[io]ng (send|recv) [0-9]' "$work/got")" ] &&
		[ "${pairs:-0}" -gt 10 ] && awk -v pairs=$((pairs - $1)) '
		$1 == "message" && $8 != "" { ends[$8]++; machines[$8] = machines[$8] " " $3; kinds[$8] = kinds[$8] " " $6; numbers[$8] = numbers[$8] " " $7 }
		END {
			for (f in ends) {
				split(machines[f], m, " ")
				split(kinds[f], k, " ")
				split(numbers[f], u, " ")
				if (ends[f] > 2 || (ends[f] == 2 && (m[1] == m[2] || k[1] == k[2] || u[1] != u[2])))
					exit 1
				found += ends[f] == 2
			}
			exit found != pairs
		}' "$work/beside"
}
check "messages between machines are flows" flows 0
# A ring has as many epochs as stat counts, one after the other.
epochs() {
	"$xvtrace" stat --json "$work/synth.xvt" | jq -r '.vms[] | .name as $vm | .rings[] | "\($vm) \(.cpu) \(.epochs)"' |
		awk '$3 > 0' | sort >"$work/epochs"
	awk '$1 == "TYPE_SLICE_BEGIN" && $6 == "epoch" { n[$3 " " $4]++ } END { for (r in n) print r, n[r] }' "$work/beside" | sort |
		diff - "$work/epochs"
}
check "epochs of clocks" epochs
tasks() { grep -qx 'task from-meta' "$work/beside" && grep -qx 'track [0-9]* g1' "$work/beside"; }
check "names of tasks and machines" tasks
# The wall clock of this trace is set forward in the middle, so the snapshots at its ends differ.
clocks() {
	local first last
	first=$(jsonl_of "$work/jsonl" | head -n 1 | command jq -r .ts_ns)
	last=$(jsonl_of "$work/jsonl" | tail -n 1 | command jq -r .ts_ns)
	"$xvtrace" report -w "$work/synth.xvt" | awk '!/ LOST / { print $1 }' | sed -n '1p;$p' | date -f - '+clock 1 %s%N' >"$work/wall"
	diff <(grep '^clock 1 ' "$work/beside") "$work/wall" && grep -qx "clock 3 $first" "$work/beside" && grep -qx "clock 6 $last" "$work/beside"
}
check "clock snapshots" clocks

# Without the first sending, its receiver's answer of the same number is no flow within a machine.
answered() {
	local ns
	ns=$(awk '$1 == "message" && $6 == "receive" { print $2; exit }' "$work/beside")
	same "$work/synth.xvt" --from "$((ns / 1000000000)).$(printf %09d $((ns % 1000000000)))" && flows 1
}
check "a receipt without its sending, and the answer" answered

# -- by the rules of Perfetto's importer, which is in no package

# A machine that is paused for a second, and ends; another one that is paused meanwhile.
"$BUILD/tests/tools/xvt-paused" "$work/paused.xvt" || exit 1
# changes: of machines, TIME MACHINE TYPE NAME WHY
changes() {
	"$xvtrace" export -q --format perfetto "$work/paused.xvt" "$work/paused" || return 1
	perfetto_decode <"$work/paused" | awk '
		/^packet/ { t = uuid = type = name = why = value = "" }
		/^  timestamp:/ { t = $2 }
		/uuid:/ && !/parent/ { uuid = $2 }
		/string_value:/ { value = $0; sub(/^[^"]*/, "", value) }
		/name: "why"/ { why = value }
		/^    name:/ { name = $0; sub(/^[^"]*/, "", name) }
		/^    type:/ { type = $2 }
		/^}/ && name ~ / paused"$/ { of[uuid] = substr(name, 2, 2) }
		/^}/ && type && uuid in of { print t, of[uuid], type, name, why }' | sed 's/ *$//' | sort -n
}
check "pauses are slices of their machine, and its end is an instant with the reason" [ "$(changes)" = '1001000000 g0 TYPE_SLICE_BEGIN "paused"
1500000000 g1 TYPE_SLICE_BEGIN "paused"
1600000000 g1 TYPE_SLICE_END
2001000000 g0 TYPE_SLICE_END
2006000000 g0 TYPE_INSTANT "ended" "guest panicked"' ]

# rules TRACE: what breaks a rule to $work/broken, what rules about order need to $work/facts
rules() {
	"$xvtrace" export -q --format perfetto "$1" "$work/pftrace" && perfetto_decode <"$work/pftrace" >"$work/txt" || return 1
	: >"$work/facts"
	awk -v names=1 -v facts="$work/facts" -f tests/perfetto_rules.awk "$work/txt" >"$work/broken"
}
# kept RULE...: whether nothing breaks these
kept() {
	local rule bad=0
	for rule; do
		! grep -m 3 "^$rule" "$work/broken" || bad=1
	done
	return $bad
}
"$BUILD/tests/tools/xvt-scene" all "$work/scene.xvt" || exit 1
check "a scene of all that Perfetto reads in its own way" same "$work/scene.xvt"
check "its packets are read" rules "$work/scene.xvt"
check "a flow has two ends and is of no machine" kept flow-of message-of
check "one flow for each message with both ends" test "$(grep -c ' flow_ids: ' "$work/txt")" -eq 4

check "each machine has its kernel, name and CPUs" kept system
systems() {
	grep '^system ' "$work/facts" | sort | diff - <(echo "system 0 host 2 Linux 6.18.1 x86_64 #2 SMP
system 1 g1 2 Linux 6.1.0-56-amd64 x86_64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1
system 3 g2 1 Linux 6.12.3 aarch64 #1 SMP")
}
check "as they said it" systems

check "two rings of the same number have tracks of their own" kept two-tracks
check "named after a thread, and its ring" grep -q '"g2:t0 events #[0-9]*"$' "$work/txt"

check "what is no mark of atrace has no message of its own" kept typed-print
check "those of atrace have" test "$(grep -c '^    *print {' "$work/txt")" -eq 8
check "no slice begins whose end is not recorded" kept entry-without-exit
check "others begin" grep -q '^ *hrtimer_expire_entry {' "$work/txt"

check "wake-ups have their context" kept waking-without-flags
wakeups() {
	[ "$(grep -c 'waking_pid: ' "$work/txt")" -eq 20 ] && [ "$(grep -c '^ *sched_waking {' "$work/txt")" -eq 6 ] &&
		[ "$(grep -c 'waking_common_flags: 8$' "$work/txt")$(grep -c 'waking_common_flags: 16$' "$work/txt")" = 76 ]
}
check "where a task runs, as Perfetto reads it" wakeups
# switched FACTS: each switch from the task that ran, at every CPU in order of time
switched() {
	grep '^switch ' "$1" | sort -s -k 2,2n -k 3,3n -k 4,4n | awk '
		{ cpu = $2 " " $3 }
		cpu in runs && runs[cpu] != $6 { print; bad = 1 }
		{ runs[cpu] = $8; n++ }
		END { exit bad || !n }'
}
check "each switch is from the task that ran" switched "$work/facts"
# From the last moment at which the task was seen, to the next one that is known.
gaps() {
	grep not_traced "$work/facts" | sort -k 4,4n -k 5,5n | cut -d ' ' -f 2-4,7,9 | diff - <(echo "0 0 1001128000 bash not_traced
0 0 1003129000 not_traced make
0 0 1009135000 swapper/0 not_traced
0 0 1011137000 not_traced bash")
}
check "what is not known is not traced" gaps

check "functions have names" kept function-without-name
check "as interned symbols" grep -q '"flush_to_ldisc"$' "$work/txt"
messages_of() { local e; for e; do grep -q "^ *$e {" "$work/txt" || { echo "$e"; return 1; }; done; }
check "messages of their own: workqueues, local timers" messages_of workqueue_execute_start workqueue_execute_end \
	local_timer_entry local_timer_exit

# Nothing across the loss of CPU 0, after 1009135000.
off_cpu() {
	grep '^off ' "$work/facts" | sort -k 2,2n -k 3,3 -k 10,10n -k 9,9r | cut -d ' ' -f 2,3,9- | diff - <(echo "1 g1:0 TYPE_SLICE_BEGIN 1001128000 waits for a CPU
1 g1:0 TYPE_SLICE_END 1003129000 
1 g1:1 TYPE_SLICE_BEGIN 1005132000 sleeps
1 g1:1 TYPE_SLICE_END 1009135000 
3 g2:0 TYPE_SLICE_BEGIN 1009134000 sleeps
3 g2:0 TYPE_SLICE_END 1009135000 ")
}
check "when a vCPU is on no CPU of the host" off_cpu

# counted VM CPU: as stat counts it, without threads
counted() {
	"$xvtrace" stat --json "$work/scene.xvt" | jq ".vms[] | select(.name == \"$1\") | [.rings[] | select(.cpu == $2)][0].events"
}
# phase, machine, CPU, overwritten, dropped, read
lost_counts() {
	grep '^lost ' "$work/facts" | sort | diff - <(echo "lost END_OF_TRACE 0 0 5 0 $(counted host 0)
lost END_OF_TRACE 0 1 0 0 $(counted host 1)
lost END_OF_TRACE 1 0 0 0 $(counted g1 0)
lost END_OF_TRACE 1 1 0 0 $(counted g1 1)
lost END_OF_TRACE 3 0 0 7 $(counted g2 0)
lost START_OF_TRACE 0 0 0 0 0
lost START_OF_TRACE 0 1 0 0 0
lost START_OF_TRACE 1 0 0 0 0
lost START_OF_TRACE 1 1 0 0 0
lost START_OF_TRACE 3 0 0 0 0")
}
check "lost events are counted for each CPU" lost_counts

tasks_of() {
	grep -qx 'thread 1 300 in 300' "$work/facts" && grep -qx 'process 1 300' "$work/facts" &&
		grep -qx 'thread 1 301 in 300' "$work/facts" && ! grep '^process 1 301' "$work/facts" &&
		grep -qx 'process 1 310 of 2' "$work/facts" && grep -qx 'process 1 311 of 2' "$work/facts" &&
		grep -qx 'thread 0 501 in 500' "$work/facts" && grep -qx 'process 0 902 of 2' "$work/facts"
}
check "threads of a process, and of the kernel" tasks_of

"$BUILD/tests/tools/xvt-scene" one "$work/one.xvt" || exit 1
one_machine() { rules "$work/one.xvt" && ! grep -m 1 'machine_id: ' "$work/txt" && kept system && grep -q '^system 0 g1 2 ' "$work/facts"; }
check "a machine without its host has no number" one_machine

# ^C leaves whole packets.
mkfifo "$work/pipe"
"$BUILD/tests/tools/xvt-bigtrace" ftrace 4 200000 "$work/big.xvt" || exit 1
stopped() {
	"$xvtrace" export --format perfetto "$work/big.xvt" "$work/pipe" 2>"$work/err" &
	pids=($!)
	exec 9<"$work/pipe"
	head -c 300000 <&9 >"$work/cut"
	kill -TERM "${pids[0]}"
	cat <&9 >>"$work/cut"
	exec 9<&-
	wait "${pids[0]}"
	[ $? -eq 1 ] && grep -q 'stopped by SIGTERM after [0-9]* events' "$work/err" || return 1
	pids=()
	perfetto_decode <"$work/cut" >"$work/txt"
	n=$(perfetto_events "$work/txt" "$work/beside" | wc -l)
	[ "$n" -gt 1000 ] && [ "$n" -lt 200000 ] && grep -q "after $n events" "$work/err"
}
check "SIGTERM: packets are whole, and all events that are said are there" stopped
check "a trace with a pause is read" rules "$work/paused.xvt"
# stands: in a pause, and behind the machine's end, no task of it runs; that of CPU 0 was running.
stands() {
	grep ' paused' "$work/facts" | sort -k 2,2n -k 4,4n | cut -d ' ' -f 2-4,6-9 | diff - <(echo "1 0 1001000000 1034 bash 4259841 paused
1 0 2001000000 4259841 paused 1034 bash
1 0 2006000000 1034 bash 4259841 paused")
}
check "no task runs while its machine stands still" stands
check "each switch there is from the task that ran" switched "$work/facts"
check "the task that stands for it has its name" test "$(grep -c '^thread 1 4259841 in 4259840$' "$work/facts")" -eq 1

# Of a wake-up that is recorded before the switch away.
"$BUILD/tests/tools/xvt-story" "$work/early.xvt" <<'EOT' || exit 1
host 2
guest g1 1 2000
thread 501 g1:vcpu0
0 h:0 switch swapper-0 R x-501
90 h:1 waking x-501 0 qemu-600
100 h:0 switch x-501 S bash-900
400 h:0 switch bash-900 S x-501
490 h:1 waking x-501 0 qemu-600
500 h:0 switch x-501 S bash-900
600 h:1 waking x-501 0 qemu-600
700 h:0 switch bash-900 S x-501
790 h:1 waking x-501 0 qemu-600
800 h:0 switch x-501 S bash-900
850 h:1 waking bash-900 0 qemu-600
900 h:1 lost 5
EOT
woken_early() {
	rules "$work/early.xvt" || return 1
	grep '^off ' "$work/facts" | sort -k 10,10n -k 9,9r | awk '{ print $10 % 1000000000 / 1000, $9, substr($0, index($0, $11)) }' |
		grep BEGIN | cut -d ' ' -f 1,3- | diff - <(echo "100 waits for a CPU
500 sleeps
600 waits for a CPU
800 sleeps or waits for a CPU")
}
check "a thread that was woken before it left its CPU waits for one" woken_early

# CPU 1 loses events from 150 to 900: the thread may have been on it. The LOST record comes when the
# thread is on CPU 0 again.
"$BUILD/tests/tools/xvt-story" "$work/late.xvt" <<'EOT' || exit 1
host 2
guest g1 1 2000
thread 501 g1:vcpu0
0 h:0 switch swapper-0 R x-501
20 h:0 switch x-501 R bash-900
40 h:0 switch bash-900 S x-501
100 h:0 switch x-501 R bash-900
150 h:1 waking bash-900 0 qemu-600
400 h:0 switch bash-900 S x-501
500 h:0 switch x-501 S bash-900
700 h:0 switch bash-900 S x-501
900 h:1 lost 5
950 h:0 switch x-501 S bash-900
970 h:0 switch bash-900 S x-501
EOT
late_loss() {
	rules "$work/late.xvt" || return 1
	grep '^off ' "$work/facts" | sort -k 10,10n -k 9,9r | awk '{ print $10 % 1000000000 / 1000, $9 }' |
		diff - <(printf '%s TYPE_SLICE_BEGIN\n%s TYPE_SLICE_END\n' 20 40 100 150 950 970)
}
check "a loss that is known late ends what is known of the vCPUs where it begins" late_loss

[ $failures -eq 0 ]
