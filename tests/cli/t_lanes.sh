#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2016,SC2317
# tests/run.sh --lanes: three suites at a time, each apart from the others; what it says and returns is what a run of one
# after another says.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tests/apart.sh --possible || { echo "skip - lanes: name spaces take root" && exit 77; }

tree=$work/tree
mkdir -p "$tree/tests/cli"
cp tests/run.sh tests/apart.sh "$tree/tests"

# suite NAME LANE LINE...: a script of cli/ with that line at its head, and these lines
suite() {
	printf '%s\n' '#!/bin/bash' "# $2: for t_lanes" "${@:3}" >"$tree/tests/cli/t_$1.sh"
}
# What a suite sees of another is in $SHARED; each waits for what only the other makes.
await='await() { for ((i = 0; i < 1200; i++)); do [ ! -e "$SHARED/$1" ] || return 0; sleep 0.05; done; return 1; }'
say='say() { if "${@:2}"; then echo "ok - $1"; else echo "not ok - $1"; fi; }'

# run NAME...: these suites; what they say is in $work/out, how they end in $rc
run() {
	SHARED=$work/shared
	rm -rf "$SHARED" && mkdir "$SHARED"
	(cd "$tree" && SHARED=$SHARED BUILD=$work/build exec tests/run.sh --lanes "${@/#/cli/t_}") >"$work/out" 2>&1
	rc=$?
}
line() { sed -E 's/ +[0-9.]+ s$//' "$work/out" | grep -qxE "$1"; }
end() { sed -E 's/ in [0-9]+ s//' "$work/out" | tail -n 1 | grep -qxF "$1"; }

suite first machine "$await" "$say" ': >/dev/shm/xvt-lanes-$$' ': >"$SHARED/first"' \
	'say "the other runs" await second' 'say "it does not see this" await blind' 'rm /dev/shm/xvt-lanes-$$'
suite second own "$await" "$say" ': >"$SHARED/second"' 'say "the other runs" await first' \
	'say "own shared memory" [ -z "$(ls /dev/shm)" ]' 'say "own recorders" [ -z "$(ls /run/xvtrace)" ]' \
	'say "own processes" [ "$(ls /proc | grep -c "^[0-9]")" -lt 20 ]' 'sleep 1000 & ' ': >"$SHARED/blind"'
suite third alone "$say" 'say "both are over" [ -e "$SHARED/blind" ]' 'echo "skip - more: not here"'
suite bad own 'echo "ok - good"' 'echo "# why"' 'echo "not ok - bad"' 'exit 1'
suite killed own 'echo "ok - good"' 'kill -KILL $$'
suite still machine 'exit 0'

# Each of these waits for the two others, which only three lanes let it see; one of vm/ is apart if it says so.
mkdir "$tree/tests/vm"
suite one 'machine: libvirt' "$await" "$say" ': >"$SHARED/one"' 'say "builds run beside it" await two' \
	'say "a guest, too" await three'
suite two 'machine: builds' "$await" "$say" ': >"$SHARED/two"' 'say "the machine beside it" await one' \
	'say "a guest, too" await three' 'say "own shared memory" [ -z "$(ls /dev/shm)" ]'
suite guest apart "$await" "$say" ': >"$SHARED/three"' 'say "the machine beside it" await one' \
	'say "builds, too" await two' 'say "own shared memory" [ -z "$(ls /dev/shm)" ]'
mv "$tree/tests/cli/t_guest.sh" "$tree/tests/vm/t_apart.sh"
rm -rf "$work/shared" && mkdir "$work/shared"
(cd "$tree" && SHARED=$work/shared BUILD=$work/build exec tests/run.sh --lanes cli/t_one cli/t_two vm/t_apart) >"$work/out" 2>&1
rc=$?
sed 's/^/# /' "$work/out"
check "three lanes: the machine, builds and a guest side by side" end "8 passed, 0 failed, 0 skipped"

# What has the machine, or builds, is one at a time: none sees the other's folder.
for name in a b; do
	for kind in machine builds; do
		suite "$kind-$name" "machine: $kind" "$say" "say alone mkdir '$work/shared/$kind'" \
			'sleep 0.5' "rmdir '$work/shared/$kind'"
	done
done
run machine-a builds-a machine-b builds-b
check "two of the machine, and two that build: one after the other" end "4 passed, 0 failed, 0 skipped"

run first second third
sed 's/^/# /' "$work/out"
check "two lanes: they run side by side, and do not see each other" line 'cli/t_second +4 ok +0 failed +0 skipped'
check "... and the one of the machine" line 'cli/t_first +2 ok +0 failed +0 skipped'
check "alone: after both" line 'cli/t_third +1 ok +0 failed +1 skipped'
check "a skip is told with its suite" eval 'grep -A 1 "^cli/t_third" "$work/out" | grep -qx "    skip - more: not here"'
check "the sum" end "7 passed, 0 failed, 1 skipped"
check "exit status 0" [ $rc -eq 0 ]

run bad killed still
sed 's/^/# /' "$work/out"
check "a failure: told with what was said before it" eval 'grep -m 1 -A 2 "^cli/t_bad" "$work/out" | tail -n 2 | paste -s | grep -q "| # why.*| not ok - bad"'
check "a killed suite has failed" line 'cli/t_killed +1 ok +1 failed +0 skipped'
check "a suite that shows nothing has failed" line 'cli/t_still +0 ok +1 failed +0 skipped'
check "the sum of all" eval 'tail -n 1 "$work/out" | grep -qE "^2 passed, 3 failed, 0 skipped in [0-9]+ s; failed:( cli/t_(bad|killed|still)){3}$"'
check "exit status 1" [ $rc -eq 1 ]

suite long machine ': >"$SHARED/first"' 'echo $$ >"$SHARED/pid"' 'exec sleep 1000'
suite deep own ': >"$SHARED/second"' 'exec sleep 1001.'$$
rm -rf "$work/shared" && mkdir "$work/shared"
(cd "$tree" && SHARED=$work/shared BUILD=$work/build exec tests/run.sh --lanes cli/t_long cli/t_deep) >"$work/out" 2>&1 &
runner=$!
pids+=("$runner")
check "an interrupted run: both are at work" poll eval '[ -s "$work/shared/pid" ] && [ -e "$work/shared/second" ]'
kill -TERM $runner
wait $runner
check "it ends with an error" [ $? -eq 130 ]
check "and so do its suites" poll eval '! kill -0 "$(cat "$work/shared/pid")" 2>/dev/null && ! pgrep -fx "sleep 1001.$$"'
check "and it leaves no files of its own" [ -z "$(find "$work/build/tests/logs" -name '*.[0-9]*')" ]
[ $failures -eq 0 ]
