#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# A command that finds nothing to write makes no file, and leaves one that is there as it is; one that a signal ends
# leaves nothing beside the name, either.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$(realpath "$BUILD")/tests/tools
xvtrace=$(realpath "$xvtrace")
"$tools/xvt-story" "$work/t.xvt" <<'EOT' || exit 1
host 1
guest g1 1 2000
thread 501 g1:vcpu0
0    h:0  switch swapper-0 R x-501
10   g1:0 switch swapper-0 R work-10
100  h:0  switch x-501 R bash-900
3000 h:0  switch bash-900 R x-501
3200 g1:0 switch work-10 S swapper-0
EOT
mkdir "$work/out"
cd "$work/out" || exit 1

# keeps TEXT NAME COMMAND...: which would write NAME, with a file of that name and with none
keeps() {
	local text=$1 name=$2
	shift 2
	rm -rf ./*
	"$@" >"$work/said" 2>"$work/err"
	check "$text: it fails" test $? -ne 0
	check "$text: one line says why" eval '[ "$(grep -c "" "$work/err")" -eq 1 ]'
	check "$text: no file is made" eval '[ -z "$(ls -A)" ]'
	echo "what was there" >"$name"
	"$@" >"$work/said" 2>"$work/err"
	check "$text: the file is what it was" eval '[ "$(ls -A)" = "$name" ] && [ "$(cat "$name")" = "what was there" ]'
}
# keeps_none TEXT NAME COMMAND...: the same of one that takes no file that is there
keeps_none() {
	local text=$1
	shift 2
	rm -rf ./*
	"$@" >"$work/said" 2>"$work/err"
	check "$text: it fails" test $? -ne 0
	check "$text: nothing is made" eval '[ -z "$(ls -A)" ]'
}

keeps "path, of a task that is on no CPU" p.pf "$xvtrace" path -q --vm g1 --task 99 --at 1.003 --perfetto p.pf "$work/t.xvt"
keeps "path, back from an event that is not there" p.pf "$xvtrace" path -q --at @777 --perfetto p.pf "$work/t.xvt"
for format in text jsonl perfetto; do
	keeps "export of $format, outside of the trace" e.out "$xvtrace" export -q --format $format --from 50 "$work/t.xvt" e.out
	keeps "export of $format, no such event" e.out "$xvtrace" export -q --format $format -e gone "$work/t.xvt" e.out
	keeps "export of $format, no such machine" e.out "$xvtrace" export -q --format $format --vm g9 "$work/t.xvt" e.out
done
for format in ctf dat; do
	keeps_none "export of $format, outside of the trace" e.dir "$xvtrace" export -q --format $format --from 50 "$work/t.xvt" e.dir
	rm -rf ./* && mkdir e.dir
	"$xvtrace" export -q --format $format --from 50 "$work/t.xvt" e.dir 2>"$work/err"
	check "... a folder that was there stays" test -d e.dir
done
keeps "trim, outside of the trace" p.xvt "$xvtrace" trim -q -o p.xvt --from 50 "$work/t.xvt"

# --- What is written takes the place of a longer file.
head -c 1000000 /dev/zero >e.out
check "an export over a longer file" eval '"$xvtrace" export -q --format jsonl "$work/t.xvt" e.out && "$xvtrace" export -q --format jsonl "$work/t.xvt" - | cmp - e.out'
head -c 1000000 /dev/zero >p.pf
check "a path over a longer file" eval '"$xvtrace" path -q --vm g1 --task 10 --at 1.0031 --perfetto p.pf "$work/t.xvt" && [ "$(stat -c %s p.pf)" -gt 0 ] && [ "$(stat -c %s p.pf)" -lt 10000 ]'
"$tools/xvt-story" "$work/none.xvt" <<<'host 1' || exit 1
echo "what was there" >e.out
check "of a trace without an event nothing is written" eval '! "$xvtrace" export -q --format jsonl "$work/none.xvt" e.out 2>"$work/err" && [ "$(cat e.out)" = "what was there" ]'

begun() { [ -n "$(ls -A)" ]; }

# --- query: names of any kind, none half made.
if "$xvtrace" query -q "$work/t.xvt" 'SELECT 1' >/dev/null 2>&1; then
	for name in q.db ./q.db "$work/out/q.db" ../q.db; do
		rm -rf ./*
		check "query --save $name" eval '"$xvtrace" query -q --save "$name" "$work/t.xvt" "SELECT vm FROM events" && [ "$(head -c 6 "$name")" = SQLite ]'
	done
	rm -f ../q.db
	rm -rf ./*
	mkdir real && ln -s real way
	check "query --save behind an own link" eval '"$xvtrace" query -q --save way/q.db "$work/t.xvt" "SELECT vm FROM events" && [ "$(ls real)" = q.db ]'
	keeps_none "query --save, no such column" q.db "$xvtrace" query -q --save q.db "$work/t.xvt" 'SELECT vm FROM events; SELECT gone FROM events'
	keeps_none "query --save, no such trace" q.db "$xvtrace" query -q --save q.db "$work/gone.xvt" 'SELECT vm FROM events'
	# A shell's background job ignores SIGINT.
	for signal in TERM HUP; do
		rm -rf ./*
		"$xvtrace" query -q --save q.db "$work/t.xvt" 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c' 2>"$work/err" &
		pids+=($!)
		check "query --save begins" poll begun
		kill -$signal $!
		wait $!
		check "query --save, ended by SIG$signal" test $? -gt 128
		check "... leaves nothing" eval '[ -z "$(ls -A)" ]'
	done
else
	echo "skip - query: libsqlite3 is not here"
fi

# --- trim and order write beside the name, too; path makes its file before it reads the events.
"$tools/xvt-bigtrace" u64 4 2000000 "$work/big.xvt" || exit 1
for what in "trim -q -o p.xvt $work/big.xvt" "order -o p.xvt $work/big.xvt" \
	"path -q --vm g0 --task 5 --at -0.0001 --span 1000s --perfetto p.pf $work/big.xvt"; do
	rm -rf ./*
	# shellcheck disable=SC2086
	"$xvtrace" $what 2>"$work/err" &
	pids+=($!)
	poll begun
	kill -TERM $!
	wait $!
	# It may have been done by then.
	rm -f p.xvt
	check "${what%% *}, ended by SIGTERM, leaves nothing" eval '[ -z "$(ls -A)" ]'
done
[ $failures -eq 0 ]
