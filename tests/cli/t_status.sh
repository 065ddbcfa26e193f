#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# xvtrace status: what recorders at work do, also while they wait for a disk or for memory, what holds the others back,
# and nothing of those that died.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run

# write REGION OPTION...: two rings, until the end
write() {
	local region=$1
	shift
	"$xvtrace" region create "$region" --size 1M --rings 2
	"$BUILD/xvt-emit" "$region" --rings 2 --count 100000000000 "$@" >/dev/null 2>&1 &
	pids+=($!)
	writer=$!
}

# record FILE OPTION...
record() {
	local file=$1
	shift
	"$xvtrace" record -q -o "$file" "$@" 2>>"$work/err" &
	recorder=$!
	pids+=($recorder)
}

# says FILTER: jq's filter is true of the status
says() {
	"$xvtrace" status --json >"$work/status" 2>/dev/null && jq -e "$1" "$work/status" >/dev/null
}

end_writer() {
	kill -KILL "$writer"
	wait "$writer" 2>/dev/null
}

end() {
	kill -TERM "$recorder"
	wait "$recorder"
}

# Root's place is not that of others.
for cmd in status record; do
	check "$cmd --help names no place that is not everybody's" eval '"$xvtrace" $cmd --help >"$work/out" && grep -q "see xvtrace-status(1)" "$work/out" && ! grep -q /run/xvtrace "$work/out"'
done

mkdir "$XVTRACE_RUN_DIR"
"$xvtrace" status 2>"$work/err"
check "no recorder: exit 1" test $? -eq 1
check "and it says so" grep -q "no recorder" "$work/err"

: >"$work/err"

# -- a recorder with enough of everything

write "$work/a" --rate 2000
truncate -s 1M "$work/blank"
record "$work/t.xvt" -r g1="$work/a" -r g2="$work/blank" --join-timeout 600
check "before all have joined it says so" poll says '.recorders[0].joined == false and (.recorders[0].vms | length) == 2'
check "the machine that is waited for" says '.recorders[0].vms[1] | .name == "g2" and .phase == "waiting" and .rings == []'
end
record "$work/t.xvt" -r g1="$work/a"
check "events, and how many in a second" poll says '.recorders[0] | .joined and .events > 4000 and .events_s > 500 and .events_s < 50000'
cp "$work/status" "$work/calm"
calm() { jq -e "$1" "$work/calm" >/dev/null; }
check "the format, and whose status it is" calm ".format == \"xvtrace-status/1\" and (.recorders | length) == 1 and
	.recorders[0].pid == $recorder and .recorders[0].output == \"$work/t.xvt\" and .recorders[0].mode == \"stop\""
check "a machine and its rings" calm '.recorders[0].vms | length == 1 and .[0].name == "g1" and .[0].phase == "attached" and
	(.[0].rings | length) == 2 and all(.[0].rings[]; .phase == "live" and .size_bytes > 0 and .undrained_bytes <= .size_bytes)'
check "each ring adds up, and all of them" calm '.recorders[0] | all(.vms[].rings[];
		.attempted == .events + .discarded + .lost + .in_flight and .lost == ([.lost_by[]] | add)) and
	.events == ([.vms[].rings[].events] | add) and .attempted == ([.vms[].rings[].attempted] | add) and
	.events_s == ([.vms[].rings[].events_s] | add)'
check "clock and bound" calm 'all(.recorders[0].vms[].rings[].clock; .source != "none" and .bound_ns_max > 0 and .rejected == [])'
check "the watermark" calm '.recorders[0] | .watermark_ns > .started_ns and (.now_ns - .watermark_ns - .watermark_lag_ns | fabs) < 5000'
check "what is in the file" calm '.recorders[0] | .bytes > .unwritten_bytes and .unwritten_bytes >= 0'
check "no pressure" calm '.recorders[0] | (.disk_slow | not) and all(.vms[]; .memory_full | not)'
"$xvtrace" status >"$work/out"
cat "$work/out"
check "the same as a table" eval 'grep -q "^recorder $recorder of $work/t.xvt, since" "$work/out" && [ $(grep -c "^g1 " "$work/out") -eq 2 ]'
check "without a word of pressure" eval '! grep -q pressure "$work/out"'

# -- more rings than go into one line, and a recorder that has lost much before its first second

"$xvtrace" region create "$work/many" --size 16M --rings 150
"$BUILD/xvt-emit" "$work/many" --rings 150 --count 100000000000 --rate 100 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record -q -o "$work/m.xvt" -r m="$work/many" --control "$work/m" 2>/dev/null &
many=$!
pids+=($many)
of_many() { "$xvtrace" status --json --control "$work/m" 2>/dev/null | jq -e ".recorders[0] | $1" >/dev/null; }
check "all 150 rings of a machine" poll of_many '.vms | length == 1 and (.[0].rings | length) == 150 and ([.[0].rings[].ring] | unique | length) == 150'
check "and sums over all of them" poll of_many '.rings == 150 and .events > 5000 and .events == ([.vms[].rings[].events] | add)'
check "and a line each in the table" eval '[ $("$xvtrace" status --control "$work/m" | grep -c "^m ") -eq 150 ]'
kill -TERM $many
wait $many

# -- a writer that stands still

freeze "$writer"
check "events stop" poll says '.recorders[0].events_s == 0'
kill -CONT "$writer"
check "and go on" poll says '.recorders[0].events_s > 100'
end_writer

# -- several recorders, by one socket each

write "$work/b" --rate 1000
first=$recorder
record "$work/u.xvt" -r g3="$work/b" --control "$work/here" --mode overwrite
check "a socket of one's choice" poll listens "$work/here"
check "asked there" eval '"$xvtrace" status --json --control "$work/here" | jq -e ".recorders | length == 1 and .[0].mode == \"overwrite\" and .[0].vms[0].name == \"g3\"" >/dev/null'
check "it is not among the usual ones" says '.recorders | length == 1 and .[0].pid != '"$recorder"
"$xvtrace" record -q -o "$work/v.xvt" -r g4="$work/blank" --control "$work/here" 2>"$work/err2"
check "a place that is taken is an error" test $? -eq 1
check "that is told" grep -q "already" "$work/err2"
end
check "its socket goes with it" test ! -e "$work/here"
"$xvtrace" status --control "$work/here" 2>/dev/null
check "then to ask there is an error" test $? -eq 1
record "$work/u.xvt" -r g3="$work/b"
check "both of them" poll says '.recorders | length == 2 and ([.[].vms[].name] | sort) == ["g1", "g3"]'

# -- a folder that another process has locked for good

mkdir "$work/locked"
(flock 9 && exec sleep 1000) 9<"$work/locked" >/dev/null 2>&1 &
pids+=($!)
locked() { ! flock -n "$work/locked" true; }
check "a folder is locked" poll locked
XVTRACE_RUN_DIR=$work/locked timeout 60 "$xvtrace" record -q -o "$work/v.xvt" -r g4="$work/blank" --duration 0.1 --join-timeout 0 2>"$work/err2"
check "a recorder begins and ends all the same" ended_idle $? "$work/err2"
check "and leaves nothing there" rmdir "$work/locked"

# -- one that was killed

kill -KILL "$first"
wait "$first" 2>/dev/null
check "one that was killed is not reported" says '.recorders | length == 1 and .[0].vms[0].name == "g3"'
check "what it left is still there" test -S "$XVTRACE_RUN_DIR/record-$first"
"$xvtrace" status --control "$XVTRACE_RUN_DIR/record-$first" 2>"$work/err2"
check "and asked by name, that it died" grep -q "has died" "$work/err2"
end
end_writer

# -- the trace is not read

write "$work/c"
mkfifo "$work/pipe"
exec 3<>"$work/pipe"
record "$work/pipe" -r g5="$work/c" 3>&-
check "the next one tidies up" poll test ! -e "$XVTRACE_RUN_DIR/record-$first"
check "while the trace is not read it answers, and says why it waits" poll says '.recorders[0].disk_slow'
check "the rings run full" poll says 'all(.recorders[0].vms[0].rings[]; .undrained_bytes > .size_bytes / 2)'
check "that is in the table" eval '"$xvtrace" status | grep -q "pressure: the disk"'
exec 4<"$work/pipe" 3>&-
cat <&4 >"$work/c.xvt" &
exec 4<&-
check "once it is read, what was lost shows" poll says '.recorders[0] | .lost > 0 and .lost == ([.vms[].rings[].lost_by.full] | add)'
end
end_writer

# -- the same in overwrite mode, where the writer runs ahead of us

write "$work/e" --rate 100000
exec 3<>"$work/pipe"
record "$work/pipe" -r g8="$work/e" --mode overwrite --memory 2M 3>&-
# With its memory full the recorder goes on from half a ring behind the writer each time that the writer overtakes it.
check "rings that are overrun are half full or more" poll says '.recorders[0].vms[0] | .memory_full and
	all(.rings[]; .undrained_bytes >= .size_bytes / 2 and .undrained_bytes <= .size_bytes and .in_flight * 16 > 8 * .size_bytes)'
cat <&3 >/dev/null &
reader=$!
exec 3>&-
end
kill $reader 2>/dev/null
end_writer

# -- nothing has come

record "$work/t.xvt" -r g9="$work/blank" --join-timeout 0
check "going on without a machine: nothing is in order up to then" poll says '.recorders[0] | .joined and .watermark_ns == 0 and .watermark_lag_ns == 0'
check "that is in the table" eval '"$xvtrace" status >"$work/out" && grep -q "nothing has come yet" "$work/out" && grep -q "^g9 .*waits for it: no module yet" "$work/out"'
end

# -- rings whose writer and recorder are dead: their clocks are not measured

write "$work/f" --rate 1000
record "$work/t.xvt" -r g10="$work/f"
check "a recorder that will die has events" poll says '.recorders[0].events > 0'
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
end_writer
record "$work/t.xvt" -r g10="$work/f" -r g11="$work/blank" --join-timeout 600
check "the next one has its rings" poll says '.recorders[0].vms[0].rings | length == 2 and all(.[]; .clock.source == "none" and .clock.bound_ns_max > 9e18)'
check "what has written to a region is said, and that nothing has" says '[.recorders[0].vms[].way] == ["libxvt", "region"]'
check "... also in the table" eval '"$xvtrace" status >"$work/out" && test "$(grep -c "^g10 .*%  libxvt  no clock$" "$work/out")" -eq 2'
check "their clocks are no exact ones" eval '"$xvtrace" status >"$work/out" && test "$(grep -c "^g10 .*  no clock$" "$work/out")" -eq 2'
end

# -- more records wait than there is memory for

write "$work/d"
record "$work/t.xvt" -r g6="$work/d" -r g7="$work/blank" --join-timeout 600 --memory 4M
check "a machine whose memory is used up" poll says '.recorders[0].vms[0].memory_full and (.recorders[0].vms[1].memory_full | not)'
check "that is in the table" eval '"$xvtrace" status | grep -q "pressure: g6 has used up what it may have of --memory (2048 KiB)"'
check "its memory is what it may have" says '.recorders[0].vms[0] | .memory_limit_bytes == 2097152 and .memory_bytes <= .memory_limit_bytes + 1048576'
end
check "and in the file" eval '"$xvtrace" verify --notes "$work/t.xvt" | grep -q "what it may have of --memory is used up (up to 2048 KiB)"'
check "no error on the way" eval '! grep -vE "warning:|the recorder died|no event of it came" "$work/err"'
both_died() { [ "$(grep -c "record: the recorder died without ending its trace" "$work/err")" -eq 2 ]; }
check "but for the two that were killed" poll both_died
[ $failures -eq 0 ]
