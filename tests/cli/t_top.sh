#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# xvtrace top: the machines of recorders with the numbers of status --json, and rates between two tables.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run LC_ALL=C.UTF-8
mkdir "$XVTRACE_RUN_DIR"
odd=$'o\e[2Jd\u202e'

"$xvtrace" top 2>"$work/err"
check "no recorder: exit 1" test $? -eq 1
check "and it says so" grep -q "no recorder of yours is at work" "$work/err"
for wrong in "-s size" "-d 0.05" "-n 0" "socket"; do
	# shellcheck disable=SC2086
	"$xvtrace" top $wrong >"$work/out" 2>"$work/err"
	check "top $wrong is wrong usage, in one line" test "$? $(wc -l <"$work/err") $(wc -c <"$work/out")" = "2 1 0"
done

"$xvtrace" region create "$work/a" --size 1M --rings 2 >/dev/null
"$xvtrace" region create "$work/b" --size 64K --rings 1 >/dev/null
truncate -s 1M "$work/blank"
"$xvtrace" record -q -o "$work/one.xvt" -r "$odd=$work/a" -r b="$work/b" -r blank="$work/blank" --join-timeout 0.1 2>"$work/one.err" &
one=$!
pids+=($one)

# Writers that have written: the counters stand still. The ring of b has no room for all.
"$BUILD/xvt-emit" "$work/a" --rings 2 --count 4000 --rate 20000 --linger 600 >/dev/null &
pids+=($!)
"$BUILD/xvt-emit" "$work/b" --count 200000 --linger 600 >/dev/null &
pids+=($!)
settled() {
	"$xvtrace" status --json >"$work/json" 2>/dev/null &&
		jq -e '.recorders[0] | .attempted == 208000 and .in_flight == 0 and .events_s == 0' "$work/json" >/dev/null
}
check "the counters have settled" poll settled

# table OPTION...: one table
table() { "$xvtrace" top -n 1 "$@" >"$work/out" 2>"$work/err"; }
# row NAME: the numbers of a machine
# fields: a table with one word for each column: STATE EVENTS/S LOST/S LAG CLOCK LAST-MINUTE EVENTS LOST DISCARDED FULL RINGS
fields() { sed -E 's/stands still/stands-still/; s/no clock yet/no-clock-yet/; s/([0-9]) (ns|us|ms|s) /\1\2 /g' "$@"; }
row() { fields "$work/out" | name=$1 awk 'index($0, ENVIRON["name"] " ") == 1 { sub(/^[^ ]+ +/, ""); print $2, $3, $7, $8, $9 }'; }
# wants NAME NUMBER: the same from the JSON, of the machine with that number
wants() {
	jq -r --argjson n "$1" '.recorders[0].vms[$n].rings |
		"\(map(.events_s) | add) \(map(.lost_s) | add) \(map(.events) | add) \(map(.lost) | add) \(map(.discarded) | add)"' "$work/json"
}
check "a table" table
cat "$work/out"
check "it begins with the recorder" grep -q "^recorder $one of $work/one.xvt, since .*, mode stop$" "$work/out"
check "and its sums" grep -q "^  3 machines, 3 rings: 0 events/s, lost 0/s; " "$work/out"
check "a machine's numbers are those of status, whatever its name" test "$(row 'o\x1b[2Jd\u202e')" = "$(wants 0)"
check "also of one that has lost events" test "$(row b)" = "$(wants 1)"
check "and it has lost some" test "$(row b | cut -d' ' -f4)" -gt 0
check "its state, and its rings" grep -qE '^b +live .* 1/1  libxvt$' "$work/out"
check "one that is waited for says so" grep -qE '^blank +waiting .* - .* 0/0  region$' "$work/out"
# Colours: on a terminal. Without them it is the same table.
plain() { tr '\033' @ <"$1" | sed 's/@\[[0-9]*m//g'; }
# tty WORDS...: into a terminal
tty() { TERM=xterm script -qec "'$xvtrace' top -n 1 -b $*" /dev/null </dev/null | tr -d '\r' >"$work/tty"; }
# coloured FILE: what lives is green, what is waited for yellow
coloured() { tr '\033' @ <"$1" | grep -qE '^b +@\[32mlive +@\[0m ' && tr '\033' @ <"$1" | grep -qE '^blank +@\[33mwaiting +@\[0m '; }
none() { ! grep -q $'\033' "$1"; }
table --color=always
check "--color=always" coloured "$work/out"
check "a table of one width, with and without" eval 'plain "$work/out" >"$work/was" && table && diff <(grep "^b " "$work/was") <(grep "^b " "$work/out")'
check "into a pipe: none" none "$work/out"
check "on a terminal: colours" eval 'tty; coloured "$work/tty"'
check "NO_COLOR: none" eval 'NO_COLOR=1 tty; grep -q "^MACHINE" "$work/tty" && none "$work/tty"'
check "--color=never: none" eval 'tty --color=never; grep -q "^MACHINE" "$work/tty" && none "$work/tty"'
"$xvtrace" top -n 1 --color=red >"$work/out" 2>"$work/err"
check "--color=red is wrong usage" test "$? $(cat "$work/err")" = "2 xvtrace: top: --color red: it is auto, always or never; 'xvtrace top --help' lists the options"
table
important() { grep '^MACHINE' "$work/out" | cut -c 1-80 | grep -q 'STATE .*EVENTS/S .*LOST/S .*LAG .*CLOCK  LAST MINUTE'; }
check "what matters most is in 80 columns, where names are short" important
check "nothing of a name reaches the terminal as it is" eval '! grep -q "[[:cntrl:]]" "$work/out"'

# order KEY: the machines of a table sorted by that, in one line
order() { table -s "$1" && sed -n '/^MACHINE/,$ { /^MACHINE/d; s/ .*//; p }' "$work/out" | tr '\n' ' '; }
check "sorted by name" test "$(order name)" = 'b blank o\x1b[2Jd\u202e '
check "by losses" test "$(order lost)" = 'b blank o\x1b[2Jd\u202e '
check "by rings: the most first" test "$(order rings)" = 'o\x1b[2Jd\u202e b blank '

# -- several tables, and several recorders

"$xvtrace" region create "$work/c" --size 1M --rings 1 >/dev/null
mkfifo "$work/tables"
"$xvtrace" top -d 0.1 >"$work/tables" 2>"$work/err" &
top=$!
pids+=($top)
exec 5<"$work/tables"
"$BUILD/xvt-emit" "$work/c" --count 100000000000 --rate 5000 >/dev/null 2>&1 &
pids+=($!)
"$xvtrace" record -q -o "$work/two.xvt" -r c="$work/c" --control "$work/here" 2>>"$work/err" &
two=$!
pids+=($two)
busy() { "$xvtrace" status --json --control "$work/here" 2>/dev/null | jq -e '.recorders[0].events_s > 0' >/dev/null; }
check "a second recorder is at work" poll busy
# A recorder counts in whole seconds: by the sums, a rate is of a second or more, and not of minutes.
"$xvtrace" top -n 4 --control "$work/here" >"$work/four"
check "four tables" test "$(grep -c '^recorder ' "$work/four")" -eq 4
check "the sums grow by the rates" awk '/^c / { grown = $8 - before; if (n++ && grown && (grown < 0.9 * $3 || grown > 120 * $3)) bad = 1; before = $8 }
	END { exit bad || n != 4 }' <(fields "$work/four")
check "the last minute shows in UTF-8" grep -qE '^c +live .*[▁▂▃▄▅▆▇█]' "$work/four"
LC_ALL=C "$xvtrace" top -n 1 --control "$work/here" >"$work/four"
check "and in ASCII where the locale is" eval 'grep -qE "^c +live .*[%#] " "$work/four" && ! LC_ALL=C grep -q "[^ -~]" "$work/four"'

# -- a recorder that dies

kill -KILL $one
wait $one 2>/dev/null
cat <&5 >"$work/out"
wait $top
check "when the recorder has died: exit 1" test $? -eq 1
check "and it says so, once" test "$(cat "$work/err")" = "xvtrace: top: the recorder has ended"
check "the tables up to there are whole" test "$(grep -c '^recorder ' "$work/out")" -eq "$(grep -c '^blank ' "$work/out")"
[ $failures -eq 0 ]
