#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# A helper of a recorder stands still: at the start, in the recording, in a rotation, at the end. No wait for one is silent or
# without a limit, and a signal that is to end the recorder shortens it. Each has a recorder of its own, all at once: the limits
# are half a minute. tests/tools/xvt-stop.c has the helper stop at its point.
set -u
. "$(dirname "$0")/lib.sh"
sessions=()
cleanup_all() {
	local s
	for s in "${sessions[@]}"; do pkill -KILL -s "$s"; done
	cleanup
} 2>/dev/null
trap cleanup_all EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR" "$work/found"
has_opener() { "$xvtrace" doctor --json | jq -e .sandbox >/dev/null; }

declare -A of=()
# begin NAME POINT ARG...: xvtrace with these, whose helper stops at POINT; its regions are $work/NAME and an armed one
begin() {
	local name=$1 point=$2
	shift 2
	STOP_AT=$point STOP_MARK=$work/$name.mark LD_PRELOAD=$BUILD/tests/tools/xvt-stop.so setsid "$xvtrace" "$@" 2>"$work/$name.err" &
	of[$name]=$!
	sessions+=($!)
}
guest() {
	"$xvtrace" region create "$work/$1" --size 1M --rings 1 || exit 1
	"$BUILD/xvt-emit" "$work/$1" --count 100000000 --rate 200 >/dev/null &
	pids+=($!)
}
# recorder NAME POINT OPTION...: one with each kind of helper
recorder() {
	guest "$1"
	"$xvtrace" region create "$XVTRACE_SHM_DIR/xvtrace-$1-armed" --size 1M --rings 1 --overwrite || exit 1
	"$BUILD/xvt-emit" "$XVTRACE_SHM_DIR/xvtrace-$1-armed" --count 100000000 --rate 100 >/dev/null &
	pids+=($!)
	begin "$1" "$2" record -q -o "$work/$1.d/" -r "$1=$work/$1" -r "$1-armed=$XVTRACE_SHM_DIR/xvtrace-$1-armed" --compress idle --flight-recorder "$1-armed" \
		--control "$work/$1.control" "${@:3}"
}
# is_still NAME: a process of that session has stopped at its point; beside load its limit may be over by now
is_still() { [ -e "$work/$1.mark" ] && { ps -o stat= -s "${of[$1]}" | grep -q '^T' || says "$1" 'did nothing for|has not answered for|does not answer, since it was stopped'; }; }
# Its own session has no member but itself once all have ended.
none_left() { ! pgrep -s "${of[$1]}" >/dev/null; }
# ended NAME STATUS: it has ended so, and nothing is left behind
ended() {
	wait "${of[$1]}"
	local status=$?
	[ $status -eq "$2" ] && poll none_left "$1" && return
	echo "# exit status $status"
	sed 's/^/#   /' "$work/$1.err"
	pgrep -s "${of[$1]}" -a
	return 1
}
says() { grep -qE -- "$2" "$work/$1.err"; }
records() {
	"$xvtrace" status --json --control "$work/$1.control" 2>/dev/null |
		jq -e --arg n "$1" '[.. | objects | select(.name? == $n) | .. | objects | .events? | numbers] | any(. > 0)' >/dev/null
}
whole() { "$xvtrace" verify -q "$work/$1.d" >/dev/null; }
control() { "$xvtrace" control --control "$work/$1.control" "${@:2}" >/dev/null 2>&1; }
# It is over when what it reads is.
begin_snapshot() {
	control "$1" snapshot &
	pids+=($!)
}
# It answers in its passes, which follow all its starts.
confined() { "$xvtrace" status --json --control "$work/$1.control" >/dev/null 2>&1; }
opener='process that opens files has not answered for'

# ------------------------------------------------------------------ all begin

if has_opener; then
	# A signal comes long before the limit.
	recorder stopped_start listener
	recorder stopped_open open
	recorder killed_start probe
	for point in stopped_start stopped_open killed_start; do
		check "the process that opens files stops at its point: $point" poll is_still $point
	done
	kill -INT "${of[stopped_start]}" "${of[stopped_open]}"
	kill -TERM "${of[killed_start]}"
	for point in probe listener; do recorder $point $point; done
	# More rules than the socket takes.
	many=()
	for n in $(seq 40); do
		truncate -s 1M "$work/region$n"
		many+=(-r "m$n=$work/region$n")
	done
	begin rules rules record -q -o "$work/rules.d/" "${many[@]}"
	recorder end end --duration 1
fi
guest asked
begin asked libvirt record -q -o "$work/asked.d/" -r asked="$work/asked" -d none
recorder flight xvtrace-flight
recorder flight_end xvtrace-flight
recorder packer xvtrace-packer
recorder look look --snapshot-when 'event text txet == 1'
recorder helpers none --snapshot-when 'event text txet == 1'
"$xvtrace" region create "$work/found/xvtrace-follows" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/found/xvtrace-follows" --count 100000000 --rate 100 >/dev/null &
pids+=($!)
XVTRACE_SHM_DIR=$work/found begin follows none record -q --follow -o "$work/follows.d/" --control "$work/follows.control"
for name in when when_ended; do
	"$xvtrace" region create "$work/$name" --size 1M --rings 1 --overwrite || exit 1
	"$BUILD/xvt-emit" "$work/$name" --count 100000000 --rate 100 >/dev/null &
	pids+=($!)
	begin $name look snapshot -q -o "$work/$name.xvt" -r "$name=$work/$name" --when 'event text'
done

poll is_still when_ended
kill -INT "${of[when_ended]}"
check "a signal ends a command whose reader stands still" ended when_ended 1
check "which is told" says when_ended 'process that reads a trace did nothing for long'

# ------------------------------------------------------------------ and each gets to its point

if has_opener; then
	for point in probe listener rules end; do
		check "the process that opens files stops at its point: $point" poll is_still $point
	done
fi
check "the process that asks libvirt stops" poll is_still asked
check "so does one that reads flight recorders" eval 'poll records flight && begin_snapshot flight && poll is_still flight'
check "one that does so as the recording ends" eval 'poll records flight_end && begin_snapshot flight_end && poll is_still flight_end'
kill -INT "${of[flight_end]}"
check "one that compresses" eval 'poll records packer && control packer rotate; poll is_still packer'
check "one that looks for events" poll is_still look
check "one that does so for a command" poll is_still when
check "all helpers of a recorder" poll records helpers
freeze $(pgrep -P "${of[helpers]}" -x xvtrace)
check "and of one that follows libvirt" poll confined follows
freeze $(pgrep -P "${of[follows]}" -x xvtrace)
begin_snapshot helpers
control helpers rotate
if has_opener; then
	check "SIGTERM ends a recorder before it has begun, and its opener" ended killed_start 143
	for point in stopped_start stopped_open; do
		check "SIGINT ends it at once: $point" ended $point 1
		check "which is told: $point" says $point "$opener [0-9]+ s: it was stopped"
	done
	for point in probe listener rules end; do
		check "the recorder ends without it: $point" ended $point 1
		check "which is told, once: $point" eval "says $point '$opener ([3-9][0-9]|[0-9]{3,}) s: it was stopped' && test \$(grep -c \"$opener\" '$work/$point.err') -eq 1"
	done
	check "its file is whole: end" whole end
	check "its file is whole: stopped_open" whole stopped_open
fi
check "libvirt is not asked: that is told" says asked "the process of xvtrace's that asks it does not answer, since it was stopped"
check "and the recorder ends" ended asked 1
check "flight recorders that are not read as it ends are an error" ended flight_end 1
# Beside load its own limit may come first.
check "which is told" says flight_end 'process that reads (flight recorders does not answer: .* It is killed, and .* is not whole|them did nothing for 30 s)'
check "a command whose reader stands still ends" ended when 1
check "which is told" says when 'process that reads a trace did nothing for long'
check "a reader of flight recorders that stands still is killed, which is told" poll says flight 'process that reads them did nothing for 30 s'
check "the snapshot is not whole" poll says flight 'is not whole'
check "the next one is" control flight snapshot
check "a file that is not compressed is told" poll says packer '00000001.xvt stays as it is: the process that read it did nothing for 30 s'
check "a look for events that stands still is told" poll says look 'events were not looked for since 30 s: the process that reads a trace did nothing'
# Flight recorders are looked at for events, or read, one after the other.
for does in "looks for events" "(reads|looks for events of) flight recorders" "compresses finished files"; do
	check "a process that stands still is told: $does" \
		poll says helpers "warning: .*process that $does \(process [0-9]+\) has not answered for ([3-9][0-9]|[0-9]{3,}) s: .* Until it answers, "
done
check "a process that asks libvirt stands still, which is told" poll says follows \
	'warning: .*process that asks libvirt \(process [0-9]+\) has not answered for ([3-9][0-9]|[0-9]{3,}) s: .* Until it answers, no machine of libvirt'
kill -CONT $(pgrep -P "${of[helpers]}" -x xvtrace) $(pgrep -P "${of[follows]}" -x xvtrace)
check "that it goes on is told, too" poll says helpers 'process that looks for events .* answers again'
for name in flight packer look helpers follows; do
	kill -INT "${of[$name]}"
	check "the recording ends in order: $name" ended $name 0
	check "its files are whole: $name" whole $name
done
[ $failures -eq 0 ] || for name in "${!of[@]}"; do sed "s/^/# $name: /" "$work/$name.err"; done
[ $failures -eq 0 ]
