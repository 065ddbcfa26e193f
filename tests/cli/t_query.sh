#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2016,SC2317
# query: SQL beside jq over the same events as JSON lines, conditions that the reader takes beside the
# same without, what a query may not do, its limits, and traces whose names are meant to hurt.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$BUILD/tests/tools
unset COLUMNS NO_COLOR
if ! "$xvtrace" --version | grep -q '+sqlite'; then
	echo "skip - query: it was built without SQLite"
	exit 77
fi

"$tools/xvt-mktrace" 3000 0 "$work/made.xvt" >/dev/null || exit 1
"$tools/xvt-story" "$work/story.xvt" <<'EOT' || exit 1
host 2
guest g1 2 2000
guest g2 1 2000 4
thread 501 g1:vcpu0
thread 601 g2:vcpu0
comm 600 qemu
vcpu 601 600 2 4
0     h:0  switch swapper-0 R x-501
1     h:1  switch swapper-0 R x-601
10    g1:0 switch swapper-0 R work-10
12    g2:0 switch swapper-0 R job-20
15    g1:0 lost 7
20    g1:0 soft 9
20.1  g1:0 wakeup job-11 0
100   h:0  switch x-501 R bash-900
3000  h:0  switch bash-900 S x-501
3020  g1:0 softx 9
3030  g1:0 irq 5 eth0
3033  g1:0 irqx 5
3100  g1:0 switch work-10 S job-11
3200  g1:0 switch job-11 S swapper-0
4000  g2:0 switch job-20 S swapper-0
5000  g2 paused
6000  g2 runs 5000
7000  h:1  switch x-601 S swapper-0
EOT

# lines TRACE: its events, and no states, as jq reads them
lines() { "$xvtrace" export -q --format jsonl "$1" - | jq -c 'select(.pid != null or .cpu != null)'; }
for t in made story; do lines "$work/$t.xvt" >"$work/$t.jsonl" || exit 1; done

sql() { "$xvtrace" query -q --json "$work/$trace.xvt" "$1"; }

# as SQL JQ: the rows are what jq makes of the array of all events
as() {
	sql "$1" >"$work/out" 2>"$work/err" && command jq -c '.rows[]' "$work/out" >"$work/ours" &&
		command jq -sc "$2" "$work/$trace.jsonl" >"$work/theirs" && [ -s "$work/theirs" ] && cmp -s "$work/ours" "$work/theirs" && return
	echo "# $1"
	cat "$work/err"
	diff "$work/ours" "$work/theirs" | head -n 6 | sed 's/^/# /'
	return 1
}
queries=0
while IFS='#' read -r trace query filter; do
	trace=${trace// /}
	[ -n "$trace" ] || continue
	check "$trace:$query" as "$query" "$filter"
	queries=$((queries + 1))
done <<'END'
made # SELECT count(*) FROM events # [length]
made # SELECT min(ts), max(ts) FROM events # [(map(.ts_ns) | min, max)]
made # SELECT count(DISTINCT name) FROM events # [map(.event) | unique | length]
made # SELECT name, count(*) FROM events GROUP BY name ORDER BY name # group_by(.event)[] | [.[0].event, length]
made # SELECT vm, count(*) FROM events GROUP BY vm ORDER BY vm # group_by(.vm)[] | [.[0].vm, length]
made # SELECT vm, on_cpu, count(*) FROM events GROUP BY 1, 2 ORDER BY 1, 2 # group_by([.vm, .cpu])[] | [.[0].vm, .[0].cpu, length]
made # SELECT count(*) FROM events WHERE vm = 'g1' # [map(select(.vm == "g1")) | length]
made # SELECT count(*) FROM events WHERE on_cpu = 3 # [map(select(.cpu == 3)) | length]
made # SELECT count(*) FROM events WHERE name = 'texts' # [map(select(.event == "texts")) | length]
made # SELECT count(*) FROM events WHERE task_pid = 300 # [map(select(.pid == 300)) | length]
made # SELECT count(*) FROM events WHERE task_pid IS NULL # [map(select(.pid == null)) | length]
made # SELECT count(*) FROM events WHERE bound_ns IS NULL # [map(select(.bound_ns == null)) | length]
made # SELECT sum(bound_ns) FROM events # [map(.bound_ns // 0) | add]
made # SELECT ts, vm, name FROM events WHERE ts BETWEEN 6005000000 AND 6006000000 ORDER BY ts # .[] | select(.ts_ns >= 6005000000 and .ts_ns <= 6006000000) | [.ts_ns, .vm, .event]
made # SELECT count(*) FROM events WHERE ts > 6005000000.5 AND ts < 6006000000.5 # [map(select(.ts_ns > 6005000000 and .ts_ns <= 6006000000)) | length]
made # SELECT count(*) FROM events WHERE ts < 6001000000 # [map(select(.ts_ns < 6001000000)) | length]
made # SELECT count(*) FROM events WHERE xflags & 4 # [map(select(.flags | contains("U"))) | length]
made # SELECT count(*) FROM events WHERE xflags & 16 # [map(select(.flags | contains("C"))) | length]
made # SELECT ts FROM events ORDER BY ts DESC LIMIT 3 # map(.ts_ns) | sort | reverse | .[:3][] | [.]
made # SELECT ts FROM texts WHERE comm = 'sh' ORDER BY ts LIMIT 5 # map(select(.event == "texts" and .fields.comm == "sh")) | .[:5][] | [.ts_ns]
made # SELECT DISTINCT one FROM texts ORDER BY one # map(select(.event == "texts") | .fields.one) | unique[] | [.]
made # SELECT ts, two FROM texts WHERE two LIKE '%euro%' ORDER BY ts # .[] | select(.event == "texts") | select(.fields.two | contains("euro")) | [.ts_ns, .fields.two]
made # SELECT a, b, c, d, e, f FROM numbers ORDER BY ts LIMIT 40 # map(select(.event == "numbers") | .fields) | .[:40][] | [.a, .b, .c, .d, .e, .f]
made # SELECT count(*) FROM numbers WHERE a < 0 # [map(select(.event == "numbers" and .fields.a < 0)) | length]
made # SELECT count(*) FROM numbers WHERE a >= -5 AND a <= 5 # [map(select(.event == "numbers" and .fields.a >= -5 and .fields.a <= 5)) | length]
made # SELECT count(*) FROM numbers WHERE b = 113 # [map(select(.event == "numbers" and .fields.b == 113)) | length]
made # SELECT count(*) FROM numbers WHERE b IN (1, 113, 255) # [map(select(.event == "numbers" and (.fields.b | . == 1 or . == 113 or . == 255))) | length]
made # SELECT fixed, mac FROM lists ORDER BY ts LIMIT 30 # map(select(.event == "lists") | .fields) | .[:30][] | [(.fixed, .mac | tojson)]
made # SELECT e.value, count(*) FROM lists, json_each(mac) e WHERE e.key = 0 GROUP BY 1 ORDER BY 1 LIMIT 20 # map(select(.event == "lists") | .fields.mac[0]) | group_by(.) | map([.[0], length]) | .[:20][]
made # SELECT event, string, "struct", align, "_under", "__two" FROM names ORDER BY ts LIMIT 20 # map(select(.event == "names") | .fields) | .[:20][] | [.event, .string, .struct, .align, ._under, .__two]
made # SELECT text FROM text ORDER BY ts LIMIT 20 # map(select(.event == "text") | .fields.text) | .[:20][] | [.]
made # SELECT buf FROM print WHERE buf LIKE 'xvt-ping send%' ORDER BY ts # map(select(.event == "print") | .fields.buf | select(startswith("xvt-ping send")))[] | [.]
made # SELECT prev_comm, prev_pid, prev_state, next_comm, next_pid FROM sched_switch ORDER BY ts # .[] | select(.event == "sched_switch") | .fields | [.prev_comm, .prev_pid, .prev_state, .next_comm, .next_pid]
made # SELECT count(*) FROM sched_switch s JOIN machines m USING (vm) WHERE m.number = 0 # [map(select(.event == "sched_switch" and .vm == "g1")) | length]
made # SELECT r.cpu, count(*) FROM rings r JOIN events e ON e.ring = r.ring GROUP BY 1 ORDER BY 1 # group_by(.cpu)[] | [.[0].cpu, length]
made # WITH s AS MATERIALIZED (SELECT ts, vm FROM texts) SELECT count(*) FROM s a JOIN s b ON b.vm = a.vm AND b.ts > a.ts # map(select(.event == "texts") | .vm) | group_by(.) | [map(length * (length - 1) / 2) | add]
made # SELECT vm, ts - lag(ts) OVER (PARTITION BY vm ORDER BY ts) d FROM texts ORDER BY d DESC LIMIT 3 # map(select(.event == "texts")) | group_by(.vm) | map(. as $e | range(1; length) | [$e[.].vm, $e[.].ts_ns - $e[. - 1].ts_ns]) | sort_by(-.[1]) | .[:3][]
made # SELECT pctl(b, 50), pctl(b, 99), pctl(b, 0), pctl(b, 100) FROM numbers # map(select(.event == "numbers") | .fields.b) | sort | . as $b | length as $n | [$b[($n * 0.5 | ceil) - 1], $b[($n * 0.99 | ceil) - 1], $b[0], $b[$n - 1]]
made # SELECT sum(e.value ->> 'n') FROM (SELECT hist(b) h FROM numbers), json_each(h) e # [map(select(.event == "numbers")) | length]
made # SELECT e.value ->> 'n' FROM (SELECT hist(b) h FROM numbers), json_each(h) e WHERE e.value ->> 'from' = 64 # [map(select(.event == "numbers" and .fields.b >= 64 and .fields.b < 128)) | length]
story # SELECT ts, vm, prev_pid, next_pid FROM sched_switch ORDER BY ts # .[] | select(.event == "sched_switch") | [.ts_ns, .vm, .fields.prev_pid, .fields.next_pid]
story # SELECT vm, count(*) FROM sched_switch WHERE prev_pid != 0 GROUP BY vm ORDER BY vm # map(select(.event == "sched_switch" and .fields.prev_pid != 0)) | group_by(.vm)[] | [.[0].vm, length]
story # SELECT pid FROM sched_wakeup # .[] | select(.event == "sched_wakeup") | [.fields.pid]
story # SELECT e.ts, x.ts FROM softirq_entry e JOIN softirq_exit x ON x.vec = e.vec AND x.ts > e.ts # [(.[] | select(.event == "softirq_entry") | .ts_ns), (.[] | select(.event == "softirq_exit") | .ts_ns)]
story # SELECT DISTINCT name FROM irq_handler_entry # .[] | select(.event == "irq_handler_entry") | [.fields.name]
END
check "there are forty of them" [ "$queries" -ge 40 ]

# gives SQL ROWS: of $trace, as one line of JSON
gives() {
	local got
	got=$(sql "$1" 2>&1 | command jq -c '.rows' 2>&1)
	[ "$got" = "$2" ] && return
	echo "# $1"
	echo "# $got"
	return 1
}
trace=story
"$tools/xvt-mktrace" 300 32 "$work/runs.xvt" >/dev/null || exit 1
gives_runs() {
	[ "$("$xvtrace" query -q --csv "$work/runs.xvt" 'SELECT count(*) > 100, min(end_ts - ts = dur), min(dur), max(is_gap) FROM run_spans' | tail -n 1)" = 1,1,1000,0 ]
}
check "machines" gives "SELECT vm, host FROM machines" '[["h",1],["g1",0],["g2",0]]'
check "rings, with the VMM's numbers" gives "SELECT vm, cpu, hw_id, thread FROM rings WHERE vm LIKE 'g%' ORDER BY ring" '[["g1",0,0,0],["g1",1,1,0],["g2",0,4,0]]'
check "losses" gives "SELECT ts, vm, cause, n FROM losses" '[[1000015000,"g1","full",7]]'
check "states of machines" gives "SELECT ts, vm, state, since_ts FROM states" '[[1005000000,"g2","paused",null],[1006000000,"g2","runs",1005000000]]'
check "threads of the host" gives "SELECT tid, tgid, vm, role, vcpu, name, from_ts FROM threads" '[[601,600,"g2","vcpu",4,"g2:vcpu0",1000000000]]'
check "runs of vCPUs" gives_runs
check "notes" gives "SELECT count(*) > 0 FROM notes WHERE state = 'paused'" '[[1]]'
check "nodes of clocks" gives "SELECT count(*) > 0, count(DISTINCT vm) FROM clock_nodes WHERE bound_ns > 0" '[[1,3]]'
check "types of events" gives "SELECT field, kind FROM event_types WHERE table_name = 'softirq_entry'" '[["vec","unsigned"]]'
check "tables, and their columns" gives "SELECT events, columns FROM tables WHERE name IN ('machines', 'softirq_entry') ORDER BY name" '[[0,"vm, number, host, uuid, kernel, recorded_name"],[1,"ts, bound_ns, vm, ring, on_cpu, task_pid, task, xflags, system, vec"]]'
check ".tables of SQLite's shell" gives ".tables analyze_l%" '[["analyze_latency"],["analyze_losses"],["analyze_loss_causes"]]'
check ".schema of SQLite's shell, with a semicolon" gives ".schema softirq_entry;" '[["softirq_entry","ts, bound_ns, vm, ring, on_cpu, task_pid, task, xflags, system, vec"]]'
check ".tables lists all that statements can name" gives "SELECT count(*) FROM tables WHERE name NOT IN (SELECT name FROM pragma_module_list)" '[[0]]'
check "order: what the bounds leave open is 0" gives 'SELECT "order"(10, 2, 20, 3), "order"(20, 3, 10, 2), "order"(10, 5, 20, 5), "order"(1, NULL, 20, 0), "order"(NULL, 0, 1, 0), "order"(-9223372036854775808, 1, 9223372036854775807, 1)' '[[-1,1,0,0,null,-1]]'
check "pctl: no value, one value, a value that is no number" gives "SELECT pctl(NULL, 50), pctl(7, 50), pctl('x', 50), pctl(1.5, 1)" '[[null,7,null,1.5]]'
check "hist: by powers of two" gives "SELECT hist(column1) FROM (VALUES (0), (1), (3), (1024), (-5), (NULL))" '[["[{\"below\":0,\"n\":1},{\"from\":0,\"n\":1},{\"from\":1,\"n\":1},{\"from\":2,\"n\":1},{\"from\":1024,\"n\":1}]"]]'

# What analyze finds, with the same times.
"$tools/xvt-story" "$work/taken.xvt" <<'EOT' || exit 1
host 2
guest g1 1 2000
thread 501 g1:vcpu0
0     h:0  switch swapper-0 R x-501
10    g1:0 switch swapper-0 R work-10
20    g1:0 soft 9
25    g1:0 wakeup job-11 0
100   h:0  switch x-501 R bash-900
200   h:0  switch bash-900 R noisy-901
3000  h:0  switch noisy-901 S kw-902
3100  h:0  switch kw-902 S x-501
3110  g1:0 irq 5 eth0
3115  g1:0 irqx 5
3120  g1:0 softx 9
3200  g1:0 switch work-10 S job-11
3300  g1:0 switch job-11 S swapper-0
EOT
trace=taken
check "slices: wall and own" gives "SELECT kind, name, ts, dur, own_least, own_most, bound_ns, depth FROM slices ORDER BY ts, depth" '[["task","work",1000010000,3190000,190000,190000,4000,0],["softirq","softirq RCU",1000020000,3100000,100000,100000,4000,1],["irq","irq 5 eth0",1003110000,5000,5000,5000,4000,2],["task","job",1003200000,100000,100000,100000,4000,0]]'
check "stalls: who had the CPU" gives "SELECT ts, dur, vm, guest, task, cause, first, most, most_ns, last, verdict FROM stalls" '[[1000100000,3000000,"g1","softirq","work","preempted","bash-900","noisy-901",2800000,"kw-902","proven"]]'
check "wake-ups: how long, and what the host took of it" gives "SELECT ts, run_ts, wait, own_least, own_most, task, task_pid FROM wakeups" '[[1000025000,1003200000,3175000,175000,175000,"job",11]]'
check "they are as analyze has them" eval '[ "$("$xvtrace" query -q --json "$work/taken.xvt" "SELECT sum(dur), sum(own_most) FROM slices WHERE kind = '"'softirq'"'" | jq -c ".rows[0]")" = "$("$xvtrace" analyze -q --json irq "$work/taken.xvt" | jq -c "[.lines[] | select(.kind == \"softirq\")][0] | [.wall.sum_ns, .own_most.sum_ns]")" ]'
check "a join looks them up" gives "SELECT count(*) FROM slices s JOIN wakeups w ON w.run_ts = s.ts AND w.ring = s.ring" '[[1]]'
trace=made
check "a trace without a host" gives "SELECT count(*) FROM stalls" '[[0]]'

# Several as one.
check "two traces as one" eval '[ "$("$xvtrace" query -q --csv "$work/made.xvt" "$work/made.xvt" "SELECT 1" 2>&1 | grep -c "cannot be read as one")" = 1 ]'

# The forms.
cat >"$work/csv.sql" <<'END'
SELECT 1 a, 'it''s "so' b, NULL c, 1.5, x'00ff'
END
cat >"$work/csv" <<'END'
"a","b","c","1.5","x'00ff'"
1,"it's ""so",,1.5,00ff
END
q=("$xvtrace" query -q "$work/story.xvt")
check "a table: numbers on the right, columns as wide as they must be" eval '[ "$("${q[@]}" "SELECT vm, number AS n, NULL AS x FROM machines")" = "$(printf "vm  n  x\nh   0  -\ng1  1  -\ng2  2  -")" ]'
check "a long one keeps its widths" eval '[ "$("${q[@]}" "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 2500) SELECT n, 1 FROM a" | awk "{ print length }" | sort -u)" = 7 ]'
check "CSV" eval '[ "$("${q[@]}" --csv "$(cat "$work/csv.sql")")" = "$(cat "$work/csv")" ]'
check "JSON" eval '"${q[@]}" --json "SELECT 1 a, '"'x'"' b, NULL c, 9e999 d" | jq -e ".format == \"xvtrace-query/1\" and .columns == [\"a\",\"b\",\"c\",\"d\"] and .rows == [[1,\"x\",null,null]]" >/dev/null'
check "no rows are no error" eval '"${q[@]}" --json "SELECT 1 WHERE 0" | jq -e ".rows == []" >/dev/null'
check "several statements, a comment at the end" eval '[ "$("${q[@]}" --csv "CREATE TABLE t AS SELECT ts FROM sched_switch; SELECT count(*) n FROM t; -- so")" = "$(printf "\"n\"\n10")" ]'
check "what a terminal would act on is escaped" eval '! "${q[@]}" "SELECT char(27) || '"'[2J'"', '"'a'"' || char(10) || '"'b'"'" | tail -n +2 | LC_ALL=C grep -q "[[:cntrl:]]"'

# refuses STATUS WORDS ARG...
refuses() {
	local want=$1 words=$2
	shift 2
	timeout 120 "$xvtrace" query "$@" >"$work/out" 2>"$work/err"
	[ $? -eq "$want" ] && grep -qE -- "$words" "$work/err" && return
	head -n 3 "$work/err" | sed 's/^/# /'
	return 1
}
m=$work/made.xvt
check "no SQL, but a trace" refuses 2 'give the SQL behind the trace' "$m"
check "no SQL" refuses 2 'give the SQL as the last argument'
check "no such trace" refuses 1 'none.xvt' "$work/none.xvt" 'SELECT 1'
check "wrong SQL" refuses 2 'SQL: near "selec": syntax error' "$m" 'selec 1'
check "another command of SQLite's shell" refuses 2 '.mode is no SQL, and of the commands of SQLite.s shell' "$m" .mode
check "no such column: how to find those that there are" refuses 2 "no such column: nocol; xvtrace query FILE '.schema TABLE'" "$m" 'SELECT nocol FROM machines'
check "a time with a unit" refuses 2 'unrecognized token: "3.5s"; times are numbers of ns' "$m" 'SELECT ts FROM events WHERE ts > 3.5s'
check "no such table: how to find those that there are" refuses 2 'no such table: nosuch; xvtrace query FILE .tables lists them' "$m" 'SELECT * FROM nosuch'
check "ATTACH" refuses 2 'may not use ATTACH' "$m" "ATTACH '$work/x.db' AS x"
check "VACUUM INTO" refuses 2 'may not use ATTACH' "$m" "VACUUM INTO '$work/x.db'"
check "a pragma that writes" refuses 2 'may not use PRAGMA journal_mode' "$m" "PRAGMA journal_mode = WAL"
check "the pragma of limits" refuses 2 'may not use PRAGMA hard_heap_limit' "$m" "PRAGMA hard_heap_limit = 0"
check "one that tells" eval '"$xvtrace" query -q "$m" "PRAGMA table_info(texts)" | grep -q "comm .*TEXT"'
check "load_extension()" refuses 2 'may not use load_extension' "$m" "SELECT load_extension('x')"
check "other virtual tables" refuses 2 'may not use a virtual table' "$m" "CREATE VIRTUAL TABLE temp.x USING fts5(a)"
check "no file was made" [ ! -e "$work/x.db" ]

# What would take for ever, or all memory, ends within the limits and says what to do.
slow=(--timeout 0.3 "$m")
check "an endless recursion" refuses 1 'stopped after 0.3 s of CPU time: .*--timeout' "${slow[@]}" 'WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT count(*) FROM a'
check "a join of three by three" refuses 1 'stopped after 0.3 s' "${slow[@]}" 'SELECT count(*) FROM events a, events b, events c'
check "a join whose inner table has no row" refuses 1 'stopped after 0.3 s' "${slow[@]}" "SELECT count(*) FROM events a, events b WHERE b.text = a.text || 'x'"
check "one LIKE of much text: in the middle of a step" refuses 1 'stopped after 0.3 s|ended' "${slow[@]}" "SELECT count(*) FROM events WHERE (printf('%.*c', 16000000, 'a') || name) LIKE '$(printf '%%a%.0s' {1..300})b'"
check "a pattern that is too long" refuses 2 'LIKE or GLOB pattern too complex' "$m" "SELECT name GLOB '$(printf '*a%.0s' {1..600})' FROM events"
check "a blob of 2 GB" refuses 2 'too big' "$m" 'SELECT zeroblob(2000000000)'
check "random bytes" refuses 2 'too big' "$m" 'SELECT randomblob(1000000000)'
check "a text of 1 GB: one long step" refuses 1 'longer than --timeout in one step of SQL' "${slow[@]}" "SELECT printf('%.*c', 2000000000, 'x')"
check "more rows than memory" refuses 1 'needs more than 64 MiB for its rows: .*--memory' --memory 64M "$m" "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT * FROM (SELECT n, printf('%1000d', n) FROM a ORDER BY 2)"
check "a group's text without an end" refuses 1 'stopped after 0.3 s' "${slow[@]}" "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT group_concat(printf('%10000d', n)) FROM a"
check "pctl() of more values than memory" refuses 1 'needs more than 32 MiB' --memory 32M "$m" "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT pctl(n, 50) FROM a"
check "pctl() of a percentage that is none" refuses 2 'from 0 to 100' "$m" "SELECT pctl(1, 101)"

# --save: a database of its own.
db=$work/kept.db
check "rows are kept" eval '"$xvtrace" query "$m" --save "$db" "SELECT vm, ts FROM texts; CREATE TABLE names AS SELECT * FROM names; SELECT count(*) AS n FROM result" 2>"$work/err" && grep -q "kept.db: 2 tables of results" "$work/err"'
check "as SQLite reads them" eval '[ "$(sqlite3 "$db" "SELECT count(*) FROM result; SELECT n FROM result2; SELECT count(*) FROM names" | tr "\n" " ")" = "$(sqlite3 "$db" "SELECT count(*), n FROM result, result2" | tr "|" " ") $(jq -s "map(select(.event == \"names\")) | length" "$work/made.jsonl") " ]'
check "it is whole" eval '[ "$(sqlite3 "$db" "PRAGMA integrity_check")" = ok ]'
check "a file that is there stays" refuses 2 'it is there already' "$m" --save "$db" 'SELECT 1'
check "a query that fails leaves nothing" eval 'refuses 2 "no such table" "$m" --save "$work/none.db" "SELECT * FROM nosuch" && ! compgen -G "$work/none.db*" >/dev/null'

check "nor does one that is ended in a step" eval 'refuses 1 "in one step" "${slow[@]}" --save "$work/none.db" "SELECT printf('"'%.*c'"', 2000000000, '"'x'"')" && ! compgen -G "$work/none.db*" >/dev/null'

# The same tables in other programs.
so=$BUILD/xvtrace_sqlite.so
shell() { sqlite3 :memory: ".load ${so%.so}" "$@"; }
if nm "$xvtrace" | grep -q __asan_init; then
	echo "skip - the extension: sanitizers must come first in a program"
elif ! command -v sqlite3 >/dev/null; then
	echo "skip - the extension: sqlite3 is missing"
else
	check "sqlite3 has the tables" eval '[ "$(shell "SELECT xvtrace_open('"'$work/taken.xvt'"') > 20" "SELECT kind, name, dur, own_most FROM slices WHERE depth = 1")" = "$(printf "1\nsoftirq|softirq RCU|3100000|100000")" ]'
	check "and the same rows" eval '[ "$(shell "SELECT xvtrace_open('"'$m'"') > 20" ".mode csv" "SELECT * FROM sched_switch" | tail -n +2 | tr -d "\"\r")" = "$("$xvtrace" query -q --csv "$m" "SELECT * FROM sched_switch" | tail -n +2 | tr -d "\"")" ]'
	check "one trace in a connection" eval 'shell "SELECT xvtrace_open('"'$m'"')" "SELECT xvtrace_open('"'$m'"')" 2>&1 | grep -q "has a trace already"'
	check "a trace that is none: its path" eval 'shell ".bail off" "SELECT xvtrace_open('"'$work/none.xvt'"')" 2>&1 | grep -q "xvtrace_open: .*none.xvt: No such file"'
	check "no path" eval 'shell "SELECT xvtrace_open()" 2>&1 | grep -q "give the paths"'
	check "a view does not open one" eval 'shell "CREATE VIEW v AS SELECT xvtrace_open('"'$m'"')" "SELECT * FROM v" 2>&1 | grep -q "unsafe use"'
	check "no other name of the library can be seen" [ "$(nm -D --defined-only "$so" | awk '{ print $3 }')" = sqlite3_xvtracesqlite_init ]
	if ! /usr/bin/python3 -c 'import sqlite3; sqlite3.connect(":memory:").enable_load_extension(True)' 2>/dev/null; then
		echo "skip - python3: its sqlite3 loads no extensions"
	else
		cat >"$work/p.py" <<'END'
import sqlite3, sys
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
db.execute("SELECT xvtrace_open(?)", sys.argv[2:]).fetchone()
print(db.execute("SELECT count(*) FROM slices WHERE dur > ?", (1000000,)).fetchone()[0])
END
		check "so has Python, with values that are bound" [ "$(/usr/bin/python3 "$work/p.py" "$so" "$work/taken.xvt")" = 2 ]
	fi
fi

# Any part of a file is a trace, damage is said, and none is a crash.
for part in 1 2 3; do
	head -c $(($(stat -c %s "$m") * part / 4)) "$m" >"$work/cut.xvt"
	check "$part quarters of a file" eval '"$xvtrace" query -q --json "$work/cut.xvt" "SELECT count(*) FROM events; SELECT * FROM clock_nodes" 2>&1 | jq -e ".rows | length > 0" >/dev/null'
done
cp "$m" "$work/bad.xvt"
"$tools/xvt-spoil" "$work/bad.xvt" chunk 8 || exit 1
check "what was read is damaged: said, and exit 1" refuses 1 'damaged' "$work/bad.xvt" 'SELECT count(*) FROM events'
[ $failures -eq 0 ]
