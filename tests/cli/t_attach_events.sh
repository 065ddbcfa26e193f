#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# slow: not in make check
# shellcheck disable=SC2317
# attach --events: asks the guest of the region that it has plugged in. The machines have no guest; a script writes what
# a guest would, also one that is older, or hostile. tests/vm/t18_attach.sh and t19_attach_by_qmp.sh have guests.
set -u
. "$(dirname "$0")/lib.sh"
if ! command -v qemu-system-x86_64 >/dev/null; then
	echo "skip - regions of QEMU: qemu-system-x86_64 not found"
	exit 77
fi
trap cleanup EXIT
export XVTRACE_SHM_DIR=$work LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
qmp=$work/qmp region=$work/xvtrace-m
"$xvtrace" region create "$work/template" --size 1M --rings 1 || exit 1

# attach MODE ARG...: to a machine whose guest answers as MODE says. $rc, $asked, and its words in out and err
attach() {
	local mode=$1
	shift
	rm -f "$region" "$qmp"
	: >"$work/asked"
	qemu-system-x86_64 -machine pc -S -display none -qmp "unix:$qmp,server=on,wait=off" >"$work/qemu.err" 2>&1 &
	local qemu=$!
	python3 tests/cli/asked_guest.py "$work/template" "$region" "$work/asked" "$mode" &
	local guest=$!
	pids+=("$qemu" "$guest")
	disown "$qemu" "$guest"
	poll listens "$qmp" || sed 's/^/# /' "$work/qemu.err"
	timeout 90 "$xvtrace" attach m --qmp "$qmp" --size 1M "$@" >"$work/out" 2>"$work/err"
	rc=$?
	sed 's/^/# /' "$work/out" "$work/err"
	asked=$(tr '\n' ' ' <"$work/asked")
	kill -KILL "$qemu" "$guest" 2>/dev/null
	poll eval '! kill -0 "$qemu" 2>/dev/null' # the next one has its socket at the same path
}
# says RC: that status, and the lines of what follows on standard output and error
says() { [ $rc -eq "$1" ] && [ "$(wc -l <"$work/err")" -eq "$2" ] && grep -qE -- "$3" "$work/out" "$work/err"; }
on() { sed -n 's/^m: switched on in the guest: //p' "$work/out"; }
refused='^xvtrace: m: its owner does not allow the host to choose events: host_events=yes in /etc/xvtrace/guest.conf of the guest, or modprobe xvtrace host_control=1$'

attach allows --events sched,irq:irq_handler_entry
check "events are switched on, systems and events, with commas" says 0 0 "^m: switched on in the guest: sched:\*, irq:irq_handler_entry$"
check "each was a request of its own" test "$asked" = "+sched:* +irq:irq_handler_entry "
attach allows -e sched -e 'irq:*'
check "the option again, as record has it" test "$rc $(on)" = "0 sched:*, irq:*"
attach allows --events sched,irq:nonsense,no_such,irq
check "events that the kernel does not have are named" eval 'says 1 2 "m: cannot switch on irq:nonsense: its kernel has no such event" && grep -q "cannot switch on no_such:\*: its kernel" "$work/err"'
check "and the others are on" test "$(on)" = "sched:*, irq:*"
attach refuses --events sched,irq
check "a refusal is told with what its owner can do" says 1 1 "$refused"
check "nothing more is asked then" test "$asked" = "+sched:* "
attach allows-later --events sched,irq
check "consent that comes after the module is waited for" test "$rc $(on)" = "0 sched:*, irq:*"
check "and the event is asked for again" test "$asked" = "+sched:* +sched:* +irq:* "
attach refuses-later --events sched --timeout 600
check "a refusal that comes later is told at once, long before the time-out" says 1 1 "$refused"
attach old-allows --events sched
check "an older guest allows, without a word in its header" test "$rc $(on)" = "0 sched:*"
attach old-refuses --events sched --timeout 3
check "an older guest refuses: told after the time-out" says 1 1 "$refused"
attach silent --events sched,irq --timeout 3
check "no answer: told which event, and that there is a time-out" says 1 1 "m: its guest has not answered the request for events, from sched:\* on.*--timeout"
for mode in lies wild; do
	attach $mode --events sched --timeout 600
	check "a guest whose header is wrong ($mode): refused, at once" eval 'says 1 1 "$refused" && [ "$asked" = "+sched:* " ]'
done
attach odd --events sched
check "an answer that is none" says 1 1 "cannot switch on sched:\*: unknown error"
attach locked --events sched
check "a recorder at work: which process, and what can ask" says 1 1 "its guest is not asked for events: process [0-9]+ .*is at work on its region.*by -e or event="
attach program --events sched
check "a region of a program" says 1 1 "its writer is no kernel: it chooses its events itself"
attach silent
check "without --events nothing is asked" eval 'says 0 0 "1 rings of its linux writer" && [ -z "$asked" ]'

# --- beside a recorder that takes the region when it comes: that one asks
export XVTRACE_RUN_DIR=$work/run
mkdir -p "$work/run"
"$xvtrace" record -q --follow -o "$work/t.xvt" -r "m=$region" --join-timeout 5 2>"$work/record.err" &
recorder=$!
pids+=($recorder)
check "a recorder waits for the machine" poll eval 'ls "$work/run"/record-* 2>/dev/null'
# has_it: the recorder has the region
has_it() { [ "$("$xvtrace" guests --json | jq '.machines[] | select(.name == "m").recorder')" = $recorder ]; }
# plugged MODE ARG...: attach, but the guest formats its region when the recorder has it
plugged() {
	GUEST_WAITS="$work/go" && rm -f "$work/go"
	export GUEST_WAITS
	( poll has_it && : >"$work/go" ) &
	attach "$@"
	unset GUEST_WAITS
}
plugged allows --events sched,irq
check "it asks for the events" test "$rc $(on) $asked" = "0 sched:*, irq:* +sched:* +irq:* "
plugged allows --events sched,irq:nonsense
check "an event that the kernel does not have is told" says 1 1 "^xvtrace: m: .*cannot switch on irq:nonsense: its kernel has no such event$"
plugged refuses --events sched
check "and a refusal" says 1 1 "^xvtrace: m.*: its owner does not allow the host to choose events: host_events=yes"
plugged allows-later --events sched,irq
check "and consent that comes later" test "$rc $(on) $asked" = "0 sched:*, irq:* +sched:* +sched:* +irq:* "
kill -INT $recorder
wait $recorder
cat "$work/record.err"

# --- wrong usage, before a region is plugged in
usage() { # WORDS ARG...
	local words=$1
	shift
	"$xvtrace" attach m --qmp "$work/none" "$@" 2>"$work/err"
	[ $? -eq 2 ] && grep -qE -- "$words" "$work/err"
}
check "an event without a name" usage "SYSTEM:EVENT" --events sched:
check "no event" usage "SYSTEM:EVENT" --events ""
check "too many events" usage "--events: too many events" --events "$(seq -s , 1000)"
check "no time to wait" usage "leave out --timeout 0" --events sched --timeout 0
[ $failures -eq 0 ]
