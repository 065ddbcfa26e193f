#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Hostile guests, each live beside an honest one, a recorder of its own for each kind; and in each batch of them, in the
# same minutes, a control run: the honest machine beside one more like it. Of the honest machine:
#
#   late    no event is late
#   lag     what is not in the file yet is younger than 2.5 s, and what the control run shows
#   loss    within 5 % of the events, and what the control run lost
#   order   each event is there once, in order
#   notes   no warning names it that the control run has not
#   verify  `xvtrace verify` finds nothing to say against it
#
# and of the recorder:
#
#   memory  RSS within --memory and 64 MiB, but for the regions themselves
#   end     it ends in order within 20 s, with 0 or 1, and no sanitizer's report
#   read    stat and verify of the trace end within a minute; where the kind is about text, report prints clean lines, none of
#           them forged
#
#   tests/hostile/run.sh [--seconds N] [--kinds "KIND..."] [--memory "SIZE..."] [--jobs N] [--xvtrace PROGRAM] [--keep DIR]
#                        [--lag-limit MS]
#
# Where the control run itself lags by more than a second, lag, notes and late decide nothing and are skipped; the other counts
# decide all the same.
# SIZE `default` means no option. What is known to fail is in tests/hostile/known, one line each: KIND SIZE CHECK, where *
# stands for all; it is shown, and does not fail the run.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
hostile=$BUILD/tests/hostile/xvt-hostile
judge=$BUILD/tests/hostile/xvt-hostile-judge
seconds=8 kinds= memories="default 64M" jobs=4 xvtrace=$BUILD/xvtrace keep=
rate=1000 threads=2 # of the honest machine: 2 MB a second
lag_limit_ms=2500 loss_limit=5 end_limit_s=20 read_limit_s=60
busy_ms=1000 # a control run that lags by more says that the CPUs are wanted elsewhere
known=tests/hostile/known
while [ $# -gt 0 ]; do
	case $1 in
	--seconds) seconds=$2 ;;
	--kinds) kinds=$2 ;;
	--memory) memories=$2 ;;
	--jobs) jobs=$2 ;;
	--xvtrace) xvtrace=$2 ;;
	--keep) keep=$2 ;;
	--lag-limit) lag_limit_ms=$2 ;;
	*) sed -n '3,31s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
	esac
	shift 2
done
kinds=${kinds:-$("$hostile" --list | cut -f1)}
if [ -n "$keep" ]; then mkdir -p "$keep" && work=$keep; else work=$(mktemp -d); fi
export ASAN_OPTIONS=quarantine_size_mb=16:${ASAN_OPTIONS:-}
sanitized=$(nm -D "$xvtrace" | grep -c -m1 '__[at]san_init')
[ "$sanitized" -eq 0 ] || end_limit_s=120
failures=0 known_failures=0 passed=0

# Each trial runs in a process group of its own; it is ended with all that it started.
declare -A trials=()
cleanup() {
	local pid
	for pid in "${trials[@]}"; do kill -KILL -- "-$pid"; done
	wait
	[ -n "$keep" ] || rm -rf "$work"
} 2>/dev/null
trap cleanup EXIT
trap 'exit 130' INT TERM

# poll SECONDS COMMAND...
poll() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# memory_of PID: its anonymous memory now, or $peak
memory_of() {
	local now
	now=$(awk '/^RssAnon/ { print $2 }' "/proc/$1/status" 2>/dev/null)
	[ "${now:-0}" -gt "$peak" ] && peak=$now
}

# flags_of KIND, mib_of KIND
flags_of() { "$hostile" --list | awk -F '\t' -v k="$1" '$1 == k { print $2 }'; }
mib_of() { "$hostile" --list | awk -F '\t' -v k="$1" '$1 == k { print $3 }'; }

# beside KIND: the other guest; "control" is an honest one
beside() {
	if [ "$1" = control ]; then
		"$xvtrace" region create other --size 8M --rings $threads >/dev/null || return 1
		"$BUILD/xvt-emit" other --rings $threads --count $((rate * seconds)) --rate $rate --size 1024 \
			--wait 60 --linger 1 >other.out 2>&1 &
		return
	fi
	BELL=$PWD/bell "$hostile" other "$1" 1 >other.out 2>&1 &
}

# trial KIND MEMORY: in its folder; leaves `result` there
trial() {
	local kind=$1 memory=$2 args=(-q -o t.xvt -r honest=honest -r other=other --join-timeout 3) other server='' emit recorder rc peak=0
	[ "$memory" = default ] || args+=(-m "$memory")
	"$xvtrace" region create honest --size 8M --rings $threads >/dev/null || return 1
	beside "$kind"
	other=$!
	[ "$kind" = control ] || poll 60 grep -qs joined other.out || return 1
	if [ "$(flags_of "$kind")" = bell ]; then
		"$xvtrace" region serve other --socket "$PWD/bell" >server.out 2>&1 &
		server=$!
		poll 60 test -S bell || return 1
		args+=(--doorbell "other=$PWD/bell")
	fi
	"$xvtrace" record "${args[@]}" 2>record.err &
	recorder=$!
	# Not before the other one is at it.
	[ "$kind" = control ] || poll 60 grep -qs enabled other.out || return 1
	"$BUILD/xvt-emit" honest --rings $threads --count $((rate * seconds)) --rate $rate --size 1024 --wait 60 --linger 1 \
		>honest.out 2>&1 &
	emit=$!
	while ! is_gone $emit; do
		memory_of $recorder
		sleep 0.1
	done
	memory_of $recorder
	high=$(awk '/^VmHWM/ { print $2 }' /proc/$recorder/status 2>/dev/null)
	cpu=$(awk '{ print int(($14 + $15) * 10) }' /proc/$recorder/stat 2>/dev/null)
	begin=$(date +%s%N)
	kill -INT $recorder 2>/dev/null
	poll $end_limit_s is_gone $recorder || { kill -ABRT $recorder && ended=0; }
	wait $recorder
	rc=$?
	end_ms=$((($(date +%s%N) - begin) / 1000000))
	kill -TERM $other $server 2>/dev/null
	poll 10 is_gone $other || kill -KILL $other
	wait
	printf 'rc=%s ended=%s peak_kib=%s high_kib=%s cpu_ms=%s end_ms=%s\n' $rc "${ended:-1}" "$peak" "${high:-0}" "${cpu:-0}" $end_ms >result
	timeout $((read_limit_s * 5)) "$judge" t.xvt honest >>result 2>notes || echo "judged=0" >>result
	timeout $read_limit_s "$xvtrace" stat --json t.xvt >stat.json 2>stat.err
	echo "stat=$?" >>result
	timeout $read_limit_s "$xvtrace" verify -q t.xvt >verify.out 2>&1
	echo "verified=$?" >>result
	[ "$(flags_of "$kind")" != text ] || read_text >>result
	echo "mib=$(stat -c %s t.xvt | awk '{ print int($1 / 1048576) }')" >>result
	[ -n "$keep" ] || rm -f t.xvt honest other
}

# Lines that say "honest:" where a line's machine stands: as many as it has events. And no control character.
read_text() {
	timeout $read_limit_s "$xvtrace" report t.xvt >report.txt 2>report.err
	echo "report=$?"
	# The machine is the line's second word.
	echo "shown=$(awk '$2 ~ /^honest:/ && / u64: / { n++ } END { print n + 0 }' report.txt)"
	echo "unclean=$(LC_ALL=C tr -d '\n\t -~' <report.txt | LC_ALL=C grep -c '[[:cntrl:]]')"
	rm -f report.txt
}

# is_known CHECK
is_known() {
	[ -f $known ] && awk -v k="$kind" -v m="$memory" -v c="$1" '!/^#/ && ($1 == k || $1 == "*") && ($2 == m || $2 == "*") && $3 == c { f = 1 }
		END { exit !f }' $known
}

# is_undecided CHECK: a sanitizer makes the recorder so slow that guests get ahead of it; and a machine this busy may be silent for
# so long by itself, without any hostile guest, and is set aside after two seconds (--stall-timeout)
is_undecided() {
	case $1 in
	loss) [ "$sanitized" -ne 0 ] ;;
	late | lag | notes) [ "$sanitized" -ne 0 ] || [ "${control_lag:-0}" -gt $busy_ms ] ;;
	*) false ;;
	esac
}

# check CHECK TEXT COMMAND...
check() {
	local name=$1 text=$2
	shift 2
	if "$@"; then
		passed=$((passed + 1))
		is_known "$name" && echo "note: $kind, -m $memory: $name is in $known and holds"
	elif is_undecided "$name"; then
		echo "skip - $kind, -m $memory: $name: $text: the control run lags by $control_lag ms, recorder or machine are too busy to tell"
	elif is_known "$name"; then
		known_failures=$((known_failures + 1))
		echo "known - $kind, -m $memory: $name: $text"
	else
		failures=$((failures + 1))
		wrong+=" $name ($text);"
	fi
}

# Without numbers, so that two runs compare.
# That it was not there when the recorder no longer waited is true: it comes when the other one is at it.
notes_of() { grep "^note:" "$1/notes" 2>/dev/null | grep -v "not there in time" | tr -d 0-9 | sort -u; }
new_notes() { comm -13 <(notes_of "$control") <(notes_of "$dir"); }

# judge_trial KIND MEMORY FOLDER CONTROL-FOLDER
judge_trial() {
	local kind=$1 memory=$2 dir=$3 control=$4 wrong='' m limit regions
	local events=0 late=-1 unconfirmed=0 attempted=0 lost=0 wrong_events=-1 lag_ms=-1 bound_ns=0 notes=0 rc=-1 ended=0 peak_kib=0 \
		high_kib=0 cpu_ms=0 end_ms=0 judged=1 stat=-1 verified=-1 report=0 shown=-1 unclean=0 mib=0 control_lag control_lost
	if [ ! -s "$dir/result" ]; then
		echo "not ok - $kind, -m $memory: no result"
		cat "$dir"/*.err "$dir"/*.out | tail -n 20
		failures=$((failures + 1))
		return
	fi
	eval "$(sed 's/\bwrong=/wrong_events=/' "$dir/result")"
	control_lag=$(grep -o 'lag_ms=[0-9]*' "$control/result" | cut -d= -f2)
	control_lost=$(grep -o ' lost=[0-9]*' "$control/result" | cut -d= -f2)
	m=${memory/default/256M}
	regions=$((8 + $(mib_of "$kind")))
	limit=$(((${m%M} + 64) * 1024))
	check late "$late of $events late" [ "$late" -eq 0 ]
	check lag "lag $lag_ms ms, control ${control_lag:-none}" [ "$lag_ms" -ge 0 -a "$lag_ms" -le $((lag_limit_ms + ${control_lag:-0})) ]
	check loss "lost $lost of $attempted, control ${control_lost:-none}" \
		[ $((attempted - lost)) -gt 0 -a $((lost * 100)) -le $((attempted * loss_limit + ${control_lost:-0} * 100)) ]
	check order "$wrong_events twice or out of order, $events of $((attempted - lost))" \
		[ "$wrong_events" -eq 0 -a "$events" -eq $((attempted - lost)) ]
	check notes "$(new_notes | head -n 3 | tr '\n' ' ')" [ -z "$(new_notes)" ]
	check verify "$(grep -m1 'honest' "$dir/verify.out")" eval '! grep -q "^violation.*honest" "$dir/verify.out"'
	[ "$sanitized" -ne 0 ] || check memory "$peak_kib KiB of its own, $high_kib in all" \
		[ "$peak_kib" -le $limit -a "$high_kib" -le $((limit + regions * 1024)) ]
	check end "exit $rc, ended $ended" eval '[ "$rc" -le 1 -a "$ended" -eq 1 ] && ! grep -q "Sanitizer\|runtime error" "$dir/record.err"'
	check read "judge $judged, stat $stat, verify $verified, report $report, shown $shown of $events, unclean $unclean" \
		[ "$judged" -eq 1 -a "$stat" -le 1 -a "$stat" -ge 0 -a "$verified" -le 1 -a "$report" -le 1 -a "$unclean" -eq 0 \
		-a \( "$shown" -eq -1 -o "$shown" -eq "$events" \) ]
	figures="late $late, lost $lost of $attempted, lag $lag_ms ms, clock $((bound_ns / 1000)) us, $((peak_kib / 1024)) MiB, cpu $cpu_ms ms, end $end_ms ms, file $mib MiB"
	if [ -z "$wrong" ]; then
		echo "ok - $kind, -m $memory: $figures"
	else
		echo "not ok - $kind, -m $memory:${wrong%;}: $figures"
		grep -A 30 "Sanitizer\|runtime error" "$dir/record.err" | head -n 40
		head -n 3 "$dir/record.err"
	fi
}

figures_of_control() {
	sed -n 's/.*bound_ns=\([0-9]*\).*/\1/p' "$control/result" | awk -v l="${lag:-?}" -v c="$(grep -o 'cpu_ms=[0-9]*' "$control/result")" \
		'{ print "control: lag " l " ms, clock " int($1 / 1000) " us, " c }'
}

# batch MEMORY KIND...: with a control run
batch() {
	local memory=$1 kind dir control
	shift
	for kind in control "$@"; do
		dir=$work/$kind.$memory
		rm -rf "$dir"
		mkdir -p "$dir"
		set -m # a process group of its own
		(cd "$dir" && trial "$kind" "$memory") 2>"$dir/trial.err" &
		trials[$kind]=$!
		set +m
	done
	wait
	trials=()
	control=$work/control.$memory
	lag=$(grep -o 'lag_ms=[0-9]*' "$control/result" | cut -d= -f2)
	[ "${lag:-9999}" -le $busy_ms ] || echo "note: this machine is busy: the control run itself lags by ${lag:-?} ms"
	figures_of_control
	for kind in "$@"; do
		judge_trial "$kind" "$memory" "$work/$kind.$memory" "$control"
	done
	[ -n "$keep" ] || rm -rf "${work:?}"/*
}

# Absolute, for trials run in folders of their own.
BUILD=$(realpath "$BUILD") hostile=$(realpath "$hostile") judge=$(realpath "$judge") xvtrace=$(realpath "$xvtrace")
echo "with $xvtrace, $seconds s each, $jobs at a time beside a control run"
for memory in $memories; do
	some=()
	for kind in $kinds; do
		some+=("$kind")
		[ ${#some[@]} -lt "$jobs" ] && continue
		batch "$memory" "${some[@]}"
		some=()
	done
	[ ${#some[@]} -eq 0 ] || batch "$memory" "${some[@]}"
done
echo "$passed checks hold, $failures fail, $known_failures are known to fail"
[ $failures -eq 0 ]
