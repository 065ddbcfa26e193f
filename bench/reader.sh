#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The readers' benchmark: xvtrace, babeltrace2 and trace-cmd on the same events, by CPU time (user
# and system), which other jobs on the machine change least. Ratios are within one run. The export of
# trace.dat has two threads, so it is measured by the wall clock, too: that needs a quiet machine.
#
#   bench/reader.sh BUILD     needs BUILD/xvtrace and BUILD/tests/tools/xvt-bigtrace, xvt-ftrace-pages, xvt-story, xvt-read
#   READER_EVENTS=4000000     events of 40 bytes; half of them at 512 rings, half of them with formats
#   READER_TRACE=FILE.xvt     a trace of guests and their host, for the cost of analyze; none
#   READER_HUGE=10            GiB of the trace in which a moment is looked for; 0: not
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
dir=$build/bench/reader
events=${READER_EVENTS:-4000000}
huge=${READER_HUGE:-10}
xvtrace=$build/xvtrace bigtrace=$build/tests/tools/xvt-bigtrace
json="$build/bench/reader.json"
rows=()
rm -rf "$dir" && mkdir -p "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT

skip() { echo "skip - $1: $2"; }

# cpu RUNS COMMAND...: the least CPU seconds of so many runs, in $seconds; output goes to /dev/null
cpu() {
	local runs=$1 i s TIMEFORMAT='%U %S'
	shift
	seconds=""
	for ((i = 0; i < runs; i++)); do
		s=$({ time "$@" >/dev/null 2>"$dir/err"; } 2>&1) || {
			tail -n 2 "$dir/err" >&2
			return 1
		}
		s=$(echo "$s" | awk '{ print $1 + $2 }')
		seconds=$(echo "${seconds:-$s} $s" | awk '{ print $1 < $2 ? $1 : $2 }')
	done
}

# wall COMMAND...: the least seconds of 3 runs, in $seconds
wall() {
	local i s TIMEFORMAT=%R
	seconds=""
	for ((i = 0; i < 3; i++)); do
		s=$({ time "$@" >/dev/null 2>"$dir/err"; } 2>&1) || return 1
		seconds=$(echo "${seconds:-$s} $s" | awk '{ print $1 < $2 ? $1 : $2 }')
	done
}

# row NAME RINGS EVENTS RUNS COMMAND...: one measurement. $rate is in events a second.
row() {
	local name=$1 rings=$2 n=$3 runs=$4
	shift 4
	rate=""
	cpu "$runs" "$@" || {
		skip "$name, $rings rings" "it failed"
		return 1
	}
	rate=$(echo "$n $seconds" | awk '{ printf "%.0f", $1 / ($2 > 0 ? $2 : 0.001) }')
	printf '%-34s %5d rings %9d events %8.3f s %10.2f M events/s\n' "$name" "$rings" "$n" "$seconds" \
		"$(echo "$rate" | awk '{ print $1 / 1e6 }')"
	rows+=("{ \"what\": \"$name\", \"rings\": $rings, \"events\": $n, \"cpu_seconds\": $seconds, \"events_per_second\": $rate }")
}

# ratio NAME RINGS OURS THEIRS
ratio() {
	[ -n "$3" ] && [ -n "$4" ] || return 0
	local times
	times=$(echo "$3 $4" | awk '{ printf "%.1f", $1 / $2 }')
	printf '%-34s %5d rings %48s times\n' "$1" "$2" "$times"
	rows+=("{ \"what\": \"$1\", \"rings\": $2, \"ratio\": $times }")
}

# start PROGRAM: the CPU seconds that it takes to say its version; trace-cmd exits with 1 after that
start() {
	starts() { for ((n = 0; n < 100; n++)); do "$@"; done || :; }
	cpu 3 starts "$1" --version && seconds=$(echo "$seconds" | awk '{ print $1 / 100 }')
}

have() { command -v "$1" >/dev/null; }
have babeltrace2 || skip "babeltrace2" "it is not installed"

# Numbers: rings as in a small host, a larger one, and one with many guests.
numbers() { # RINGS EVENTS
	local rings=$1 n=$2 stat report bt
	"$bigtrace" u64 "$rings" "$n" "$dir/t.xvt" || return
	cat "$dir/t.xvt" >/dev/null
	row "xvtrace stat" "$rings" "$n" 3 "$xvtrace" stat "$dir/t.xvt"
	stat=$rate
	row "xvtrace verify" "$rings" "$n" 3 "$xvtrace" verify "$dir/t.xvt"
	row "xvtrace report" "$rings" "$n" 3 "$xvtrace" report "$dir/t.xvt"
	report=$rate
	if have babeltrace2; then
		"$xvtrace" export --format ctf "$dir/t.xvt" "$dir/ctf" || return
		row "babeltrace2 -o dummy" "$rings" "$n" 1 babeltrace2 -o dummy "$dir/ctf"
		bt=$rate
		ratio "stat to babeltrace2's muxer" "$rings" "$stat" "$bt"
		row "babeltrace2 as text" "$rings" "$n" 1 babeltrace2 "$dir/ctf"
		ratio "report to babeltrace2" "$rings" "$report" "$rate"
	fi
	rm -rf "$dir/ctf" "$dir/t.xvt"
}

# export_row FORMAT RINGS EVENTS [OPTION...]: an export into a folder that each run makes again
export_row() {
	again() { rm -rf "$dir/out" && "$xvtrace" export -q --format "$@" "$dir/t.xvt" "$dir/out"; }
	row "xvtrace export --format $1 ${*:4}" "$2" "$3" 3 again "$1" "${@:4}"
	rm -rf "$dir/out"
}

# convert_row RINGS EVENTS OURS OPTION...: trace-cmd convert with these options, beside our rate. trace-cmd 3.1 refuses to
# convert what it restored, so it gets our version 6.
convert_row() {
	local rings=$1 n=$2 ours=$3
	shift 3
	row "trace-cmd convert $*" "$rings" "$n" 1 trace-cmd convert "$@" -i "$dir"/dat/*.dat -o "$dir/out.dat" &&
		ratio "export dat to trace-cmd convert $*" "$rings" "$ours" "$rate"
	rm -f "$dir/out.dat"
}

# wall_row RINGS: how long the export of version 7 and a conversion to it take
wall_row() {
	local ours times
	# shellcheck disable=SC2317
	again() { rm -rf "$dir/out" && "$xvtrace" export -q --format dat "$dir/t.xvt" "$dir/out"; }
	wall again && ours=$seconds && wall trace-cmd convert --compression zstd -i "$dir"/dat/*.dat -o "$dir/out.dat" || return
	times=$(echo "$ours $seconds" | awk '{ printf "%.2f", $2 / ($1 > 0 ? $1 : 0.001) }')
	printf '%-34s %5d rings %8.3f s, trace-cmd convert %8.3f s %16s times\n' "export dat by the wall clock" "$1" "$ours" "$seconds" "$times"
	rows+=("{ \"what\": \"export dat to trace-cmd convert by the wall clock\", \"rings\": $1, \"wall_seconds\": $ours, \"convert_wall_seconds\": $seconds, \"ratio\": $times }")
	rm -rf "$dir/out" "$dir/out.dat"
}

# trace-cmd reads what the kernel of this machine would have written, so it needs its formats.
tracecmd_file() { # TRACE RINGS
	local t=/sys/kernel/tracing ids="" e i files=()
	have trace-cmd || { skip trace-cmd "it is not installed" && return 1; }
	[ -r $t/events/sched/sched_switch/id ] || mount -t tracefs t $t 2>/dev/null
	for e in sched/sched_switch sched/sched_waking irq/irq_handler_entry irq/irq_handler_exit irq/softirq_entry; do
		[ -r $t/events/$e/id ] || { skip trace-cmd "no tracefs with $e here (not root?)" && return 1; }
		ids="$ids $(cat $t/events/$e/id)"
	done
	# shellcheck disable=SC2086
	"$build/tests/tools/xvt-ftrace-pages" "$1" "$dir/cpu" $ids || return 1
	for ((i = 0; i < $2; i++)); do files+=("$dir/cpu$i"); done
	trace-cmd restore -o "$dir/trace.dat" "${files[@]}" >"$dir/err" 2>&1 && [ -s "$dir/trace.dat" ] || {
		skip trace-cmd "restore failed: $(tail -n 1 "$dir/err")"
		return 1
	}
}

# instructions COMMAND...: that it takes in the reader's process, in $steps
instructions() {
	steps=$(XVTRACE_SANDBOX=off valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p')
}

# an_event NAME RINGS EVENTS COMMAND...: instructions for each event, where valgrind is
an_event() {
	local name=$1 rings=$2 n=$3
	shift 3
	have valgrind || { skip "$name, instructions" "valgrind is not installed" && return; }
	instructions "$@"
	steps=$(echo "${steps:-0} $n" | awk '{ printf "%.0f", $1 / $2 }')
	printf '%-34s %5d rings %48s instructions an event\n' "$name" "$rings" "$steps"
	rows+=("{ \"what\": \"$name, instructions an event\", \"rings\": $rings, \"instructions\": $steps }")
}

# SQL beside the bare reader with the same choice, which no event meets. By instructions, where valgrind is: ratios of
# seconds are as exact as the machine is quiet.
sql() { # RINGS EVENTS
	local rings=$1 n=$2 bare least
	"$xvtrace" --version | grep -q '+sqlite' || { skip "query" "xvtrace was built without SQLite" && return; }
	bare=("$xvtrace" report -q -e sched_switch --filter 'prev_pid == -5' "$dir/t.xvt")
	none() { "${bare[@]}" || :; } # it fails, as no event matches
	row "bare reader, prev_pid ==" "$rings" "$n" 3 none && least=$rate
	row "xvtrace query, prev_pid ==" "$rings" "$n" 3 "$xvtrace" query -q "$dir/t.xvt" 'SELECT count(*) FROM sched_switch WHERE prev_pid = -5' &&
		ratio "bare reader to query" "$rings" "$least" "$rate"
	row "xvtrace query, GROUP BY name" "$rings" "$n" 3 "$xvtrace" query -q "$dir/t.xvt" 'SELECT name, count(*) FROM events GROUP BY name'
	have valgrind || { skip "query by instructions" "valgrind is not installed" && return; }
	instructions "${bare[@]}" && least=$steps
	instructions "$xvtrace" query -q "$dir/t.xvt" 'SELECT count(*) FROM sched_switch WHERE prev_pid = -5'
	steps=$(echo "$steps $least" | awk '{ printf "%.3f", $1 / $2 }')
	printf '%-34s %5d rings %48s times\n' "query to bare reader, instructions" "$rings" "$steps"
	rows+=("{ \"what\": \"query to bare reader, instructions\", \"rings\": $rings, \"ratio\": $steps }")
}

# What the kernel's events cost with their print formats.
formats() { # RINGS EVENTS
	local rings=$1 n=$2 report stat shown ctf dat dat6
	"$bigtrace" ftrace "$rings" "$n" "$dir/t.xvt" || return
	cat "$dir/t.xvt" >/dev/null
	row "xvtrace stat, ftrace" "$rings" "$n" 3 "$xvtrace" stat "$dir/t.xvt"
	stat=$rate
	export_row ctf "$rings" "$n"
	ctf=$rate
	export_row dat "$rings" "$n"
	dat=$rate
	export_row dat "$rings" "$n" --dat-version 6
	dat6=$rate
	# Up to 64 rings are one machine, so one file.
	if have trace-cmd && [ "$rings" -le 64 ] && "$xvtrace" export -q --format dat --dat-version 6 "$dir/t.xvt" "$dir/dat"; then
		convert_row "$rings" "$n" "$dat" --compression zstd
		convert_row "$rings" "$n" "$dat6" --compression none
		wall_row "$rings"
		rm -rf "$dir/dat"
	fi
	export_row perfetto "$rings" "$n"
	export_row jsonl "$rings" "$n"
	row "xvtrace report, ftrace" "$rings" "$n" 3 "$xvtrace" report "$dir/t.xvt"
	report=$rate
	sql "$rings" "$n"
	if have babeltrace2; then
		"$xvtrace" export --format ctf "$dir/t.xvt" "$dir/ctf" || return
		row "babeltrace2 as text, ftrace" "$rings" "$n" 1 babeltrace2 "$dir/ctf"
		ratio "report to babeltrace2, ftrace" "$rings" "$report" "$rate"
		row "babeltrace2 from ctf to ctf" "$rings" "$n" 1 babeltrace2 -o ctf -w "$dir/ctf2" "$dir/ctf" &&
			ratio "export ctf to babeltrace2's" "$rings" "$ctf" "$rate"
		rm -rf "$dir/ctf" "$dir/ctf2"
	fi
	if tracecmd_file "$dir/t.xvt" "$rings"; then
		shown=$(trace-cmd report -i "$dir/trace.dat" 2>/dev/null | grep -cE 'sched_|irq')
		if [ "$shown" -eq "$n" ]; then
			row "trace-cmd report" "$rings" "$n" 1 trace-cmd report -i "$dir/trace.dat"
			ratio "report to trace-cmd report" "$rings" "$report" "$rate"
		else
			skip "trace-cmd" "it shows $shown of $n events"
		fi
	fi
	rm -rf "$dir"/cpu* "$dir/trace.dat" "$dir/t.xvt"
}

# analyses_rows RINGS EVENTS FILE: what analyses cost over a bare reader with bounds and new times
analyses_rows() {
	local bare
	row "a bare reader with bounds" "$1" "$2" 3 "$build/tests/tools/xvt-read" -f 6 "$3"
	bare=$rate
	an_event "a bare reader" "$1" "$2" "$build/tests/tools/xvt-read" -n -f 0 "$3"
	an_event "a bare reader with bounds" "$1" "$2" "$build/tests/tools/xvt-read" -n -f 6 "$3"
	an_event "xvtrace stat" "$1" "$2" "$xvtrace" stat "$3"
	row "xvtrace analyze, five in a pass" "$1" "$2" 3 \
		"$xvtrace" analyze -q --json cpu,stalls,sched,irq,timer "$3" &&
		ratio "a bare reader to analyze" "$1" "$bare" "$rate"
}

# Two vCPUs that are woken, pre-empted and interrupted all the time: each event changes something.
# Traces of real guests cost less; READER_TRACE is to be at most 2 times.
analyses() { # EVENTS
	local n=$1
	awk -v n="$n" 'BEGIN {
		print "host 2\nguest g1 2 2000\nthread 501 g1:vcpu0\nthread 502 g1:vcpu1"
		print "0 h:0 switch swapper-0 R x-501\n1 h:1 switch swapper-0 R x-502"
		for (i = 0; i < n / 14; i++) {
			t = 100 * (i + 1); v = i % 2
			printf "%d g1:%d timer %d %d\n%d g1:%d irq 24 virtio0\n", t, v, v + 7, t + 40, t + 5, v
			printf "%d g1:%d waking work-%d %d irq\n%d g1:%d irqx 24\n", t + 8, v, 10 + i % 50, v, t + 10, v
			printf "%d g1:%d soft 3\n%d g1:%d softx 3\n", t + 12, v, t + 18, v
			printf "%d g1:%d switch swapper-0 S work-%d\n", t + 20, v, 10 + i % 50
			printf "%d h:%d switch x-%d R noisy-900\n%d h:%d switch noisy-900 S x-%d\n", t + 30, v, 501 + v, t + 50, v, 501 + v
			printf "%d g1:%d expire %d %d\n", t + 60, v, v + 7, t + 60
			printf "%d g1:%d switch work-%d S swapper-0\n%d h:%d switch x-%d S swapper-0\n", t + 70, v, 10 + i % 50, t + 75, v, 501 + v
			printf "%d h:%d waking x-%d %d irq\n%d h:%d switch swapper-0 R x-%d\n", t + 85, v, 501 + v, v, t + 90, v, 501 + v
		}
	}' | "$build/tests/tools/xvt-story" "$dir/t.xvt" || return
	analyses_rows 4 "$n" "$dir/t.xvt"
	rm -f "$dir/t.xvt"
}

# One moment of a big trace, by its index; and of one whose recorder was killed.
moment() {
	local killed wall s
	for killed in "" killed; do
		# Four events a chunk of 256 KiB, 65,000 bytes of zeros each: holes.
		"$bigtrace" huge 8 $((huge * 16384)) "$dir/t.xvt" $killed || return
		for _ in 1 2 3; do
			s=$({ TIMEFORMAT=%R && time "$xvtrace" report -q --from +0.008 --to +0.00801 "$dir/t.xvt" >/dev/null; } 2>&1)
			wall=$(echo "${wall:-$s} $s" | awk '{ print $1 < $2 ? $1 : $2 }')
		done
		printf '%-34s %5d GiB %50s s (wall)\n' "report --from --to${killed:+, killed}" "$huge" "$wall"
		rows+=("{ \"what\": \"report --from --to${killed:+, killed}\", \"gib\": $huge, \"wall_seconds\": $wall }")
		rm -f "$dir/t.xvt"
		wall=""
	done
}

# As bench/cpu.h has it.
name=$(awk -F '[ \t]*: ' '
	/^$/ { exit }
	{ v[$1] = $2 }
	END { print v["model name"] ? v["model name"] ", family " v["cpu family"] ", model " v["model"] : "unknown" }
' /proc/cpuinfo | tr -d '"\\')
echo "readers on $name"
"$xvtrace" --version >/dev/null && start "$xvtrace" || exit 1
echo "xvtrace's start alone: $seconds s; it is part of all that follows"
rows+=("{ \"what\": \"xvtrace's start\", \"cpu_seconds\": $seconds }")
if have trace-cmd; then
	ours=$seconds
	start trace-cmd || exit 1
	rows+=("{ \"what\": \"trace-cmd's start\", \"cpu_seconds\": $seconds }")
	times=$(echo "$ours $seconds" | awk '{ printf "%.2f", $1 / $2 }')
	echo "trace-cmd's start alone: $seconds s; xvtrace's is $times times that"
	rows+=("{ \"what\": \"start to trace-cmd's start\", \"ratio\": $times }")
fi
numbers 8 "$events"
numbers 64 "$events"
numbers 512 $((events / 2))
formats 8 $((events / 2))
analyses $((events / 8))
if [ -n "${READER_TRACE:-}" ]; then
	n=$("$xvtrace" stat --json "$READER_TRACE" | jq .events)
	analyses_rows "$("$xvtrace" stat --json "$READER_TRACE" | jq '[.vms[].rings[]] | length')" "$n" "$READER_TRACE"
fi
[ "$huge" -eq 0 ] || moment
{
	echo '{ "format": "xvtrace-bench-reader/1", "cpu": "'"$name"'", "results": ['
	(IFS=$'\n' && echo "${rows[*]}") | sed '$!s/$/,/; s/^/  /'
	echo '] }'
} >"$json"
echo "$json"
