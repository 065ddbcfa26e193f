#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs suites, says how long each took, counts, and says what was skipped and why.
#
#   tests/run.sh fast        what make check runs: a few minutes on two CPUs, as `programs`, `others` and `quick`
#   tests/run.sh whole       without guests
#   tests/run.sh proofs      of the ring and of clocks, as far as they are short
#   tests/run.sh vm          with guests
#   tests/run.sh lab         with guests under real KVM, in the lab
#   tests/run.sh vm/t03      one script of a suite
#   tests/run.sh cli         all scripts of a folder of tests/ or tests/proof/
#   tests/run.sh layers      the check of the arrows between the folders
#   tests/run.sh commands    the check of compile_commands.json
#   tests/run.sh docs        the check of the documents
#   tests/run.sh words       the check of the comments' words
#   tests/run.sh mutants     the check that mutants are of the sources as they are
#   tests/run.sh unit        the Check programs
#   tests/run.sh host        one Check program
#   tests/run.sh epoll       its suites of the event loop, without io_uring
#   tests/run.sh order       one suite of the Check programs, in each that has it
#   tests/run.sh order:NAME  one case of that suite, or the case that holds the test NAME
#
# --lanes in front of these: three suites at a time, where tests/apart.sh can keep them apart; some sleep, or wait for a
# guest. One lane has those that use what the machine has once, one after another: a script that says "# machine: WHAT" at
# its head, and all of vm/ but those with "# apart: WHY". Another one has those that say "# machine: builds", which use make
# in $BUILD, one after another, too. The rest needs only processes and files of its own: all lanes take of it what is next.
# A script that says "# alone: WHY" runs after all, with nothing beside it.
#
# A shell test prints "ok - TEXT" or "not ok - TEXT" for each thing that it shows and
# "skip - TEXT: REASON" for what it cannot show here. It exits 0, 1, or 77 (all skipped).
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}
# Time-outs are there for what hangs; a slow or busy machine must not decide a test.
export CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-10}
logs=$BUILD/tests/logs
mkdir -p "$logs"
wrong=$logs/not-ok.$$
# What each suite gave: passed, failed, skipped, seconds, name.
results=$logs/results.$$
queues=$logs/lane.$$
lock=$logs/lock.$$
lanes='' children=()
trap 'rm -f "$wrong" "$results" "$lock" "$queues".*' EXIT
: >"$wrong"
: >"$results"

# said_before LOG LINES: what a log says before each thing that failed; its end, if it names none
said_before() {
	if grep -q '^not ok - ' "$1"; then
		grep -vE '^ok - ' "$1" | grep -B "$2" '^not ok - ' | tail -n 100
	else
		grep -vE '^ok - ' "$1" | tail -n 40
	fi
}

# one NAME COMMAND...
one() {
	local name=$1 start end rc ok bad skips seconds
	shift
	local log=$logs/${name//\//-}.log
	[ -n "$lanes" ] || printf '%-28s ' "$name"
	start=$(date +%s%N)
	"$@" >"$log" 2>&1 </dev/null
	rc=$?
	end=$(date +%s%N)
	# Check's own line, or the lines of a shell test.
	if grep -qE '^[0-9]+%: Checks: ' "$log"; then
		ok=$(sed -nE 's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+).*/\1 - \2 - \3/p' "$log" | paste -sd+ | bc)
		bad=$(sed -nE 's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+).*/\2 + \3/p' "$log" | paste -sd+ | bc)
	else
		ok=$(grep -c '^ok - ' "$log")
		bad=$(grep -c '^not ok - ' "$log")
	fi
	skips=$(grep -c '^skip - ' "$log")
	# A suite that fails without saying so, or shows nothing at all, has failed.
	if [ $rc -ne 0 ] && [ $rc -ne 77 ] && [ "$bad" -eq 0 ]; then bad=1; fi
	if [ "$((ok + bad + skips))" -eq 0 ]; then bad=1; fi
	seconds=$(echo "scale=1; ($end - $start) / 1000000000" | bc)
	# Each lane opens the lock anew: what it says of a suite stays together.
	(
		flock 8
		[ -z "$lanes" ] || printf '%-28s ' "$name"
		tell
	) 8>"$lock"
}

# The rest of a suite's line and what follows it; one's variables are in scope.
tell() {
	printf '%4d ok %3d failed %3d skipped  %6.1f s\n' "$ok" "$bad" "$skips" "$seconds"
	grep '^skip - ' "$log" | sed 's/^/    /'
	if [ "$bad" -ne 0 ]; then
		said_before "$log" 15 | sed 's/^/    | /'
		# Where the end of a run is all that a person has, it says why, too.
		{ said_before "$log" 3 | grep -vE '^(--|not ok - .*)$' | cut -c -300 | tail -n 6 | sed "s/^/    | /"
			grep -E '^not ok - |:[FE]:' "$log" | sed "s|^|$name: |"; } >>"$wrong"
	fi
	echo "$ok $bad $skips $seconds $name" >>"$results"
}

# suite LANE NAME COMMAND...: now, or when that lane comes to it
suite() {
	local lane=$1
	shift
	if [ -z "$lanes" ]; then
		one "$@"
	else
		printf '%q ' "$@" >>"$queues.$lane"
		echo >>"$queues.$lane"
	fi
}

# script NAME FILE: a shell test, in the lane that its head says
script() {
	local lane=own
	[[ $1 != vm/* ]] || lane=machine
	case $(sed '/^[^#]/q' "$2") in
	*'# apart: '*) lane=own ;;
	*'# alone: '*) lane=alone ;;
	*'# machine: builds'*) lane=builds ;;
	*'# machine: '*) lane=machine ;;
	esac
	suite "$lane" "$1" bash "$2"
}

# The first that waits in a lane, taken from it.
next_of() {
	(
		flock 8
		head -n 1 "$queues.$1"
		sed -i 1d "$queues.$1"
	) 8>"$lock"
}

# drain LANE: all that waits there, one after another
drain() {
	local command
	while command=$(next_of "$1") && [ -n "$command" ]; do
		eval "set -- $1 $command"
		case $1 in
		own | builds) one "$2" tests/apart.sh "${@:3}" ;;
		*) one "${@:2}" ;;
		esac
	done
}

# A lane that has nothing of its own left helps with the rest. Job control: a lane is a process group, and ^C means as
# much in it as in a run without lanes.
run_lanes() {
	touch "$queues".{own,machine,builds,alone}
	set -m
	{ set +m && drain machine && drain own; } &
	children=($!)
	{ set +m && drain builds && drain own; } &
	children+=($!)
	{ set +m && drain own; } &
	children+=($!)
	set +m
	trap 'kill -TERM -- "${children[@]/#/-}" 2>/dev/null; exit 130' INT TERM HUP
	wait "${children[@]}"
	trap - INT TERM HUP
	drain alone
}

layers() {
	one layers tests/as-test.sh "no include crosses a border the wrong way" tests/check-layers.sh "$BUILD"
}

docs() {
	one docs tests/as-test.sh "pages are listed, links lead somewhere, lines fit" tests/check-docs.sh
}

words() {
	one words tests/as-test.sh "comments use the field's words" tests/check-words.sh
}

mutants() {
	one mutants tests/as-test.sh "the text of each mutant is in its source" tests/check-mutants.sh
}

commands() {
	one commands tests/as-test.sh "compile_commands.json has each C file" tests/check-commands.sh "$BUILD"
}

unit() {
	local t
	for t in shared shared-xadd host; do
		suite own "$t" "$BUILD/tests/$t-check"
	done
	epoll
}

# The suites that use the event loop, as where io_uring is refused.
epoll() {
	suite own epoll env XVT_ONLY_LOOP=1 XVTRACE_LOOP=epoll "$BUILD/tests/host-check"
}

# The three parts of make check: what needs no guest and no root, in a few minutes. Long series are
# shorter, and scripts that say "slow" are left to make test, as is the other way to reserve.
programs() {
	XVT_WITHOUT_LONG=1 XVT_SCHEDULES=${XVT_SCHEDULES:-1000} XVT_BOUNDS=${XVT_BOUNDS:-400} \
		one host "$BUILD/tests/host-check"
}

others() {
	one shared "$BUILD/tests/shared-check"
	check trace_file
	check reclock
}

quick() {
	local t left=0
	layers
	commands
	docs
	words
	mutants
	for t in tests/cli/t*.sh; do
		if grep -q '^# slow: ' "$t"; then
			left=$((left + 1))
		else
			one "cli/$(basename "$t" .sh)" bash "$t"
		fi
	done
	echo "left to make test: $left scripts of tests/cli that say 'slow', and all that follow them"
}

fast() {
	programs
	others
	quick
}

# All of the same, for make test.
whole() {
	local t
	layers
	commands
	docs
	words
	mutants
	unit
	for t in tests/cli/t*.sh; do
		[ -e "$t" ] && script "cli/$(basename "$t" .sh)" "$t"
	done
}

proofs() {
	local t dir
	for t in tests/{proof/*,stress,clocks,fuzz,hostile}/t*.sh; do
		dir=$(basename "$(dirname "$t")")
		[ -e "$t" ] && script "$dir/$(basename "$t" .sh)" "$t"
	done
}

vm() {
	local t
	for t in tests/vm/t*.sh; do
		[ -e "$t" ] && script "vm/$(basename "$t" .sh)" "$t"
	done
}

# What the scripts leave in the lab is in $BUILD/lab/out.
lab() {
	local t
	for t in tests/vm/lab/${1:-t}*.sh; do
		[ -e "$t" ] && one "lab/$(basename "$t" .sh)" qemu/lab-run.sh --timeout 3600 "$t"
	done
}

# scripts PREFIX: those shell tests whose path below tests/ begins like that
scripts() {
	local t none=yes
	for t in tests/"$1"*.sh; do
		[ -e "$t" ] || continue
		none=no
		script "$(basename "$(dirname "$t")")/$(basename "$t" .sh)" "$t"
	done
	[ $none = no ] || unknown "$1"
}

# folder NAME: its path below tests/, if it has scripts
folder() {
	local dir
	for dir in "$1" "proof/$1"; do
		[ -z "$(compgen -G "tests/$dir/t*.sh")" ] || { echo "$dir" && return; }
	done
	return 1
}

# check NAME[:CASE]: one suite of the Check programs
check() {
	local name=${1%%:*} case='' lines program suite group
	[ "$name" = "$1" ] || case=${1#*:}
	lines=$(tests/find-check.sh "$name" ${case:+"$case"}) || { unknown "$1"; return; }
	while read -r program suite group _; do
		[ "$group" = - ] && group='' || group=CK_RUN_CASE=$group
		one "${program%-check}:$suite" env CK_RUN_SUITE="$suite" $group "$BUILD/tests/$program"
	done <<<"$lines"
}

unknown() {
	echo "not ok - there is no suite '$1'; tests/README.md lists them" | tee -a "$wrong"
	echo "0 1 0 0 $1" >>"$results"
}

begin=$(date +%s)
# Where suites cannot be kept apart they run one after another.
if [ "${1-}" = --lanes ]; then
	shift
	! tests/apart.sh --possible || lanes=yes
fi
for what in "${@:-fast}"; do
	case $what in
	fast | programs | others | quick | whole) "$what" ;;
	proofs) proofs ;;
	vm) vm ;;
	lab | vm/lab) lab ;;
	lab/* | vm/lab/*) lab "${what##*lab/}" ;;
	layers) layers ;;
	commands) commands ;;
	docs) docs ;;
	words) words ;;
	mutants) mutants ;;
	unit) unit ;;
	epoll) epoll ;;
	*/*)
		if dir=$(folder "$what"); then
			scripts "$dir/t"
		else
			scripts "$(folder "${what%/*}" || echo "${what%/*}")/${what##*/}"
		fi
		;;
	*)
		if [ -x "$BUILD/tests/$what-check" ]; then
			one "$what" "$BUILD/tests/$what-check"
		elif dir=$(folder "$what"); then
			scripts "$dir/t"
		else
			check "$what"
		fi
		;;
	esac
done
[ -z "$lanes" ] || run_lanes
# Once more at the end, because a long log is read from there.
[ ! -s "$wrong" ] || { echo "----" && tail -n 40 "$wrong"; }
echo "----"
# In the order of the slowest first, for tests/README.md.
sort -k 4,4rn "$results" >"$logs/seconds"
read -r passed failed skipped < <(awk '{ ok += $1; bad += $2; skips += $3 } END { print ok + 0, bad + 0, skips + 0 }' "$results")
summary=$(awk '$2 { print " " $5 }' "$results" | tr -d '\n')
echo "$passed passed, $failed failed, $skipped skipped in $(($(date +%s) - begin)) s${summary:+; failed:$summary}"
[ "$failed" -eq 0 ]
