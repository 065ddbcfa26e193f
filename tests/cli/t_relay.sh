#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: tracefs
# xvt-guest relay with the tracefs of this machine in place of a guest's: its options, and marks that
# a recorder has in its trace, each once, with the names of their formats.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
guest=$BUILD/guest/bin/xvt-guest
dir=$(awk '$3 == "tracefs" { print $2; exit }' /proc/self/mounts)
instance=$dir/instances/xvt-relay
if [ ! -x "$guest" ] || [ ! -w "$dir/instances" ] || [ -e "$instance" ] || [ "$(uname -m)" != x86_64 ]; then
	echo "skip - xvt-guest relay: make guest builds it; it needs a tracefs of x86, and no other relay"
	exit 0
fi
# A relay that is killed leaves its instance.
trap 'cleanup; [ ! -e "$instance" ] || rmdir "$instance"' EXIT
export XVTRACE_SHM_DIR=$work
region=$work/xvtrace-r
truncate -s 4M "$region"

# says TEXT STATUS ARGUMENT...: of xvt-guest
says() {
	local text=$1 want=$2
	shift 2
	"$guest" "$@" >"$work/out" 2>&1
	[ $? -eq "$want" ] && grep -q -- "$text" "$work/out" && return
	cat "$work/out"
	return 1
}
for words in -h --help help "relay -h" "relay --help" "formats -h"; do
	# shellcheck disable=SC2086
	check "xvt-guest $words" eval 'says "relay .*--events" 0 $words && [ ! -e "$instance" ]'
done
version=$("$xvtrace" --version | awk 'NR == 1 { print $2 }')
for words in -V --version version; do
	check "xvt-guest $words: the host's version" says "^xvt-guest $version$" 0 $words
done
check "a command that is none is named" says "there is no command 'enable'" 2 enable sched
check "... and what a command does not take" says "status takes no 'now'" 2 status now

# refused TEXT STATUS OPTION...
refused() {
	local text=$1 want=$2
	shift 2
	"$guest" relay "$@" >"$work/out" 2>&1
	[ $? -eq "$want" ] && grep -q "$text" "$work/out" && [ ! -e "$instance" ] && return
	cat "$work/out"
	return 1
}
check "an option without its value is wrong usage" refused 'usage: xvt-guest relay' 2 --events
check "so is a buffer that is no number" refused 'number of KiB' 2 --buffer 1M
check "so is what is no option, which is named" refused 'relay: --evnts: no such option' 2 --evnts sched
check "a region that is not there" refused 'No such file' 1 --region "$work/none"
truncate -s 64K "$work/short"
check "a region that is too small" refused 'too small' 1 --region "$work/short"

# traces: the kernel does, because a recorder asks for it. A new instance does so until the relay has it.
traces() {
	grep -q '^relaying' "$work/relay" && [ "$(cat "$instance/tracing_on" 2>/dev/null)" = 1 ]
}
"$guest" relay --events sched:sched_switch --region "$region" >"$work/relay" 2>&1 &
relay=$!
pids+=("$relay")
"$xvtrace" record -q -o "$work/r.xvt" -r "r=$region" -e sched:sched_switch 2>"$work/err" &
recorder=$!
pids+=("$recorder")
check "the kernel traces when a recorder is there" poll traces
check "a second relay is refused" eval '! "$guest" relay --region "$region" >"$work/out" 2>&1 && grep -q "another program" "$work/out"'
truncate -s 4M "$work/other"
check "... also in a region of its own" eval '! "$guest" relay --region "$work/other" >"$work/out" 2>&1 && grep -q "another relay" "$work/out"'
way() {
	[ "$("$xvtrace" "$1" --json | jq -r "$2")" = relay ]
}
check "status says the way" poll way status ".recorders[] | select(.pid == $recorder).vms[].way"
check "guests does" way guests '.machines[] | select(.name == "r").way'
check "salvage refuses it" eval '! "$xvtrace" salvage -o "$work/s.xvt" "$region" >"$work/out" 2>&1 && grep -q "record and daemon alone" "$work/out"'
for i in $(seq 2000); do echo "mark $i" || break; done >"$instance/trace_marker"
kill -INT $recorder
wait $recorder
check "the recording ends well" [ $? -eq 0 ]
"$xvtrace" verify --notes "$work/r.xvt" >"$work/notes" 2>&1
check "a request for events is not for a relay" grep -q 'warning: .* r: -e does not reach it: the relay in its guest has --events of its own' "$work/notes"
check "which is told once" [ "$(grep -c 'for events\|-e does not' "$work/notes")" -eq 1 ]
kill $relay
wait $relay
check "the relay ends well" [ $? -eq 0 ]
check "it leaves nothing in tracefs" [ ! -e "$instance" ]
cat "$work/err" "$work/relay"

# A relay that is killed leaves its instance, which traces on. The next one finds no recorder there.
"$guest" relay --events sched:sched_switch --region "$region" >"$work/relay" 2>&1 &
relay=$!
pids+=("$relay")
"$xvtrace" record -q -o "$work/k.xvt" -r "r=$region" 2>"$work/err" &
recorder=$!
pids+=("$recorder")
poll traces
read -r child <"/proc/$relay/task/$relay/children"
kill -9 "$child"
wait $relay
check "a relay that is killed says so" [ $? -eq 1 ]
kill -INT $recorder
wait $recorder
for i in $(seq 100); do echo "mark left $i" || break; done >"$instance/trace_marker"
"$guest" relay --events sched:sched_switch --region "$region" >"$work/relay" 2>&1 &
relay=$!
pids+=("$relay")
is_off() {
	grep -q '^relaying' "$work/relay" && [ "$(cat "$instance/tracing_on" 2>/dev/null)" = 0 ]
}
check "without a recorder the next relay ends the tracing" poll is_off
"$xvtrace" record -q -o "$work/n.xvt" -r "r=$region" 2>"$work/err" &
recorder=$!
pids+=("$recorder")
poll traces
for i in $(seq 100); do echo "mark new $i" || break; done >"$instance/trace_marker"
kill -INT $recorder
wait $recorder
kill $relay
wait $relay
"$xvtrace" report "$work/n.xvt" 2>&1 | grep -o ' print: mark [a-z]* [0-9]*$' >"$work/marks"
seq 100 | sed 's/^/ print: mark new /' >"$work/want"
check "what the killed one left is in no later recording" cmp "$work/want" "$work/marks"
check "nor is anything late" [ "$(stat_sum "$work/n.xvt" late)" = 0 ]

"$xvtrace" report "$work/r.xvt" 2>&1 | grep -o ' print: mark [0-9]*$' >"$work/marks"
seq 2000 | sed 's/^/ print: mark /' >"$work/want"
check "each mark once, in order" cmp "$work/want" "$work/marks"
check "verify finds nothing wrong" "$xvtrace" verify "$work/r.xvt"
check "no event contradicts its clock" [ "$(stat_sum "$work/r.xvt" clock_violations)" = 0 ]
[ $failures -eq 0 ]
