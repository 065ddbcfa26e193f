#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs suites, says how long each took, counts, and says what was skipped and why.
#
#   tests/run.sh fast        what make check runs: under a minute on two CPUs, as `programs`, `others` and `quick`
#   tests/run.sh whole       without guests
#   tests/run.sh proofs      of the ring and of clocks, as far as they are short
#   tests/run.sh vm          with guests
#   tests/run.sh lab         with guests under real KVM, in the lab
#   tests/run.sh vm/t03      one script of a suite
#   tests/run.sh cli         all scripts of a folder of tests/ or tests/proof/
#   tests/run.sh layers      the check of the arrows between the folders
#   tests/run.sh commands    the check of compile_commands.json
#   tests/run.sh docs        the check of the documents
#   tests/run.sh unit        the Check programs
#   tests/run.sh host        one Check program
#   tests/run.sh epoll       its suites of the event loop, without io_uring
#   tests/run.sh order       one suite of the Check programs, in each that has it
#   tests/run.sh order:NAME  one case of that suite, or the case that holds the test NAME
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
passed=0 failed=0 skipped=0 summary=""
wrong=$logs/not-ok.$$
trap 'rm -f "$wrong"' EXIT
: >"$wrong"

# What a log says before each thing that failed; its end, if it names none.
said_before() {
	if grep -q '^not ok - ' "$1"; then
		grep -vE '^ok - ' "$1" | grep -B 15 '^not ok - ' | tail -n 100
	else
		grep -vE '^ok - ' "$1" | tail -n 40
	fi
}

# one NAME COMMAND...
one() {
	local name=$1 start end rc ok bad skips
	shift
	local log=$logs/${name//\//-}.log
	printf '%-28s ' "$name"
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
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skips))
	printf '%4d ok %3d failed %3d skipped  %6.1f s\n' "$ok" "$bad" "$skips" \
		"$(echo "scale=1; ($end - $start) / 1000000000" | bc)"
	grep '^skip - ' "$log" | sed 's/^/    /'
	if [ "$bad" -ne 0 ]; then
		said_before "$log" | sed 's/^/    | /'
		grep -E '^not ok - |:[FE]:' "$log" | sed "s|^|$name: |" >>"$wrong"
		summary="$summary $name"
	fi
}

layers() {
	one layers tests/as-test.sh "no include crosses a border the wrong way" tests/check-layers.sh "$BUILD"
}

docs() {
	one docs tests/as-test.sh "pages are listed, links lead somewhere, lines fit" tests/check-docs.sh
}

commands() {
	one commands tests/as-test.sh "compile_commands.json has each C file" tests/check-commands.sh "$BUILD"
}

unit() {
	local t
	for t in shared shared-xadd host; do
		one "$t" "$BUILD/tests/$t-check"
	done
	epoll
}

# The suites that use the event loop, as where io_uring is refused.
epoll() {
	one epoll env XVT_ONLY_LOOP=1 XVTRACE_LOOP=epoll "$BUILD/tests/host-check"
}

# The three parts of make check: what needs no guest and no root, in under a minute. Long series are
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
	unit
	for t in tests/cli/t*.sh; do
		[ -e "$t" ] && one "cli/$(basename "$t" .sh)" bash "$t"
	done
}

proofs() {
	local t dir
	for t in tests/{proof/*,stress,clocks,fuzz,hostile}/t*.sh; do
		dir=$(basename "$(dirname "$t")")
		[ -e "$t" ] && one "$dir/$(basename "$t" .sh)" bash "$t"
	done
}

vm() {
	local t
	for t in tests/vm/t*.sh; do
		[ -e "$t" ] && one "vm/$(basename "$t" .sh)" bash "$t"
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
		one "$(basename "$(dirname "$t")")/$(basename "$t" .sh)" bash "$t"
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
	failed=$((failed + 1)) summary="$summary $1"
}

begin=$(date +%s)
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
# Once more at the end, because a long log is read from there.
[ ! -s "$wrong" ] || { echo "----" && tail -n 40 "$wrong"; }
echo "----"
echo "$passed passed, $failed failed, $skipped skipped in $(($(date +%s) - begin)) s${summary:+; failed:$summary}"
[ $failed -eq 0 ]
