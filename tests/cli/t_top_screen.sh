#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# xvtrace top on a terminal, which tmux is: keys, sizes, and a terminal that is whole again after each end.
set -u
. "$(dirname "$0")/lib.sh"
if ! command -v tmux >/dev/null; then
	echo "skip - xvtrace top on a terminal: there is no tmux here"
	exit 0
fi
if ! strings -a "$xvtrace" | grep -q '^libncursesw\.so'; then
	echo "skip - xvtrace top on a terminal: it was built without ncurses"
	exit 0
fi
mux() { tmux -f /dev/null -S "$work/tmux" "$@"; }
trap 'mux kill-server 2>/dev/null; cleanup' EXIT
export XVTRACE_RUN_DIR=$work/run LC_ALL=C.UTF-8
mkdir "$XVTRACE_RUN_DIR"
# tmux ends with its last session.
mux new-session -d -s keep cat
odd=$'o\e[2Jd'

"$xvtrace" region create "$work/a" --size 1M --rings 2 >/dev/null
"$xvtrace" region create "$work/b" --size 64K --rings 1 >/dev/null
"$xvtrace" record -q -o "$work/t.xvt" -r "$odd=$work/a" -r b="$work/b" --join-timeout 0.1 2>"$work/err" &
recorder=$!
pids+=($recorder)
"$BUILD/xvt-emit" "$work/a" --rings 2 --count 4000 --rate 20000 --linger 600 >/dev/null &
pids+=($!)
"$BUILD/xvt-emit" "$work/b" --count 200000 --linger 600 >/dev/null &
pids+=($!)
settled() {
	"$xvtrace" status --json >"$work/json" 2>/dev/null &&
		jq -e '.recorders[0] | .attempted == 208000 and .in_flight == 0 and .events_s == 0' "$work/json" >/dev/null
}
check "the counters have settled" poll settled

# The program runs in a shell of the terminal, which tells what is left of it.
cat >"$work/inside" <<'SCRIPT'
trap : INT
stty -a | sed 1d >"$1/before"
to=$1
shift
"$@"
echo $? >"$to/status"
stty -a | sed 1d >"$to/stty"
mv "$to/stty" "$to/after"
echo "back again"
read -r _
SCRIPT

# top_in COLUMNS ROWS OPTION...: begins, and waits for the first screen
top_in() {
	rm -f "$work/status" "$work/after"
	mux kill-session -t top 2>/dev/null
	mux new-session -d -s top -x "$1" -y "$2" "XVTRACE_RUN_DIR='$XVTRACE_RUN_DIR' LC_ALL=C.UTF-8 sh '$work/inside' '$work' '$xvtrace' top ${*:3}"
	poll has 'q quit'
}
screen() { mux capture-pane -p -t top 2>/dev/null; }
has() { screen | grep -q -- "$1"; }
lacks() { ! has "$1"; }
press() { mux send-keys -t top "$@"; }
# order: the machines on the screen, in one line
order() { screen | sed -n '/^MACHINE/,/^$/ { /^MACHINE/d; /^$/d; s/ .*//; p }' | tr '\n' ' '; }
is_order() { [ "$(order)" = "$1" ]; }
# ended STATUS: the program has ended so, the terminal is as it was, and shows what it showed before
ended() {
	poll test -s "$work/after" || return 1
	[ "$(cat "$work/status")" = "$1" ] && cmp "$work/before" "$work/after" && poll has 'back again' &&
		[ "$(mux display-message -p -t top '#{alternate_on}#{cursor_flag}')" = 01 ] && lacks 'q quit' && return
	cat "$work/status"
	screen
	return 1
}
top_pid() { pgrep -P "$(mux display-message -p -t top '#{pane_pid}')" -x xvtrace; }

check "a screen" top_in 160 20
screen
check "it begins with the recorder" has "^recorder $recorder of $work/t.xvt"
check "the sums are those of status" has "^b  *live  *0  *0  .* $(jq -r '.recorders[0].vms[1].rings[0] | "\(.events)  *\(.lost)"' "$work/json") "
colours() { mux capture-pane -p -e -t top | tr '\033' @ | grep -q 'b  .*@\[32mlive'; }
check "a state has a colour" poll colours
check "a name is escaped" has '^o\\x1b\[2Jd '
check "its last line" has '^q quit  ? help  sorted by rate'
check "machines of the same rate are in the order of names" is_order 'b o\x1b[2Jd '
press R
check "R: the other way round" poll is_order 'o\x1b[2Jd b '
check "that is on the last line" poll has 'sorted by rate, reversed'
press R '<' '<'
check "two columns before the first one: by rings" poll has 'sorted by rings$'
check "the most first" poll is_order 'o\x1b[2Jd b '
press '>'
check "and the next one: by name" poll has 'sorted by name$'
check "from a to z" poll is_order 'b o\x1b[2Jd '
press '?'
check "?: the keys" poll has '^  q  *end$'
check "and no table" lacks '^MACHINE'
press '?'
check "and back" poll has '^MACHINE'
press Down Down r
check "the rings of the second machine" poll has '^rings of o\\x1b\[2Jd: live$'
check "both of them" test "$(screen | grep -c ' 4000  *0  *0 .*, within ')" -eq 2
press Enter Up r
check "those of the first one" poll has '^rings of b: live$'
press r
check "and back to the machines" poll has '^MACHINE'
press p
check "p: a pause" poll has 'PAUSED$'
press Space
check "and on" poll lacks PAUSED
mux resize-window -t top -x 60 -y 5
check "a smaller terminal: the last line is at its end" poll eval '[ "$(screen | sed -n 5p | cut -c 1-6)" = "q quit" ] && [ "$(screen | wc -l)" -eq 5 ]'
check "the selected machine is on it" poll has '^b  '
press Down
check "also the one below" poll has '^o\\x1b'
mux resize-window -t top -x 2 -y 1
press '?'
mux resize-window -t top -x 160 -y 30
check "as small as can be, and large again" poll has '^  q  *end$'
press q
check "q: exit 0, the terminal is as before" ended 0

check "a number of screens" top_in 100 20 -d 0.1 -n 30
check "exit 0, the terminal is as before" ended 0
for signal in INT TERM HUP; do
	check "again" top_in 100 20
	kill -$signal "$(top_pid)"
	check "SIG$signal ends it, the terminal is as before" ended $((128 + $(kill -l $signal)))
done
check "again" top_in 100 20
press C-c
check "^C ends it" ended 130
mux kill-session -t top

mkdir "$work/stub"
: >"$work/stub/$(strings -a "$xvtrace" | grep -m 1 '^libncursesw\.so')"
rm -f "$work/status" "$work/after"
mux new-session -d -s top -x 160 -y 20 "XVTRACE_RUN_DIR='$XVTRACE_RUN_DIR' LD_LIBRARY_PATH='$work/stub' sh '$work/inside' '$work' '$xvtrace' top -n 1"
check "without ncurses: a table all the same" ended 0
check "and what is missing" eval 'has "ncurses cannot be loaded: .*install libncursesw6" && has "^MACHINE"'
# printed OPTION...: what goes to a terminal, without ends of lines
printed() { script -qec "$xvtrace top -n 1 $*" /dev/null </dev/null | tr -d "\r" >"$work/out"; }
check "-b --color=never on a terminal: a table without escape sequences" eval 'printed -b --color=never && grep -q "^MACHINE" "$work/out" && ! grep -q "[[:cntrl:]]" "$work/out"'
check "on a terminal of an unknown type: the same" eval 'TERM=none printed && grep -q "^MACHINE" "$work/out" && grep -q "^xvtrace: .*TERM.* is unknown" "$work/out"'

check "again" top_in 160 20
kill -KILL $recorder
check "the recorder dies: exit 1, the terminal is as before" ended 1
check "and it says so" has '^xvtrace: top: the recorder has ended$'
[ $failures -eq 0 ]
