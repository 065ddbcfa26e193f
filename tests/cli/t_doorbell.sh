#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# An idle recorder sleeps until its guest rings, and a guest that does not ring loses nothing by it: it is polled. The
# guest is a program that is a peer of `region serve`, as QEMU is.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
bell=$BUILD/tests/tools/xvt-bell

# told NAME WORDS: the recording has such a note
told() {
	grep -qsaE -- "$2" "$work/$1.xvt"
}

# begun NAME: a server for a region of its own
begun() {
	"$xvtrace" region create "$work/$1" --size 256K --rings 1 --subbuf-size 4K || exit 1
	serve "$1" "$1"
}

# serve NAME REGION
serve() {
	"$xvtrace" region serve "$work/$2" --socket "$work/$1.sock" >"$work/$1.server" 2>&1 &
	server=$!
	pids+=($server)
	disown $server
	poll test -s "$work/$1.server" && test -S "$work/$1.sock" || { cat "$work/$1.server"; exit 1; }
}

# guest NAME HOW: rounds of a thousand events, six sub-buffers full
guest() {
	"$bell" "$work/$1.sock" 1000 "$2" >"$work/$1.guest" 2>&1 &
	guest=$!
	pids+=($guest)
}

# record NAME REGION ARG...
record() {
	local name=$1 region=$2
	shift 2
	"$xvtrace" record -q -o "$work/$name.xvt" -r g="$work/$region" "$@" 2>"$work/$name.err" &
	recorder=$!
	pids+=($recorder)
}

# rounds NAME: how many the guest has done
rounds() {
	grep -c '^round' "$work/$1.guest"
}

# more NAME N: until it has done N more
more() {
	local want=$(($(rounds "$1") + $2))
	poll eval "[ \$(rounds $1) -ge $want ]"
}

# ended NAME: the recorder ends in order, then the guest
ended() {
	kill -INT $recorder && wait $recorder && kill -TERM $guest && wait $guest
}

# whole NAME: all that the guest recorded is in the trace, once
whole() {
	local n
	n=$(sed -n 's/^recorded=\([0-9]*\) .*/\1/p' "$work/$1.guest")
	"$xvtrace" verify "$work/$1.xvt" && [ "$n" -gt 0 ] &&
		[ "$("$xvtrace" stat --json "$work/$1.xvt" | jq ".lost == 0 and .late == 0 and .events == $n")" = true ]
}

# woken NAME: by how many rings
woken() {
	sed -n 's/.*its doorbell rang [0-9]* times and woke us from \([0-9]*\) of .*/\1/p' < <(tr '\0' '\n' <"$work/$1.xvt") | tail -n 1
}

# clean NAME: nothing of the recorder is left in the region
clean() {
	grep -q ' need_wake=0 doorbell=0$' "$work/$1.guest"
}

begun good
record good good --doorbell g="$work/good.sock"
guest good rings
check "an idle recorder asks to be woken" more good 1
check "... and again and again" more good 4
check "all ends in order" ended good
cat "$work/good.err" "$work/good.guest"
check "a guest that rings is told" told good 'its doorbell works'
check "all of its events are there, though a second of them would fill the ring many times" whole good
check "its rings woke the recorder ($(woken good) times)" eval '[ "$(woken good)" -ge 1 ]'
check "the region says nothing of a doorbell afterwards" clean good

# A recorder that dies in its sleep leaves need_wake and its number behind; the next one has another number.
guest good rings
record killed good --doorbell g="$work/good.sock"
more good 2 || exit 1
kill -KILL $recorder
wait $recorder 2>/dev/null
record next good --doorbell g="$work/good.sock"
check "after a recorder that was killed, the guest wakes the next one" more good 2
# A server that ends: a peer that knows the bell can still ring it.
kill -TERM $server
poll told next 'doorbell.s server has ended' || exit 1
check "the server's end is told, and the bell goes on" more good 3
check "... all ends in order" ended good
check "... by rings ($(woken next) times)" eval '[ "$(woken next)" -ge 1 ]'
check "... verify passes" "$xvtrace" verify "$work/next.xvt"
check "the server's socket is gone" test ! -e "$work/good.sock"

begun other
record without other
guest other cannot
check "without a doorbell all is as it was" more other 2
kill -INT $recorder && wait $recorder && kill -TERM $guest && wait $guest
check "... and all events are there" eval 'cp "$work/without.xvt" "$work/other.xvt" && whole other'

record other other --doorbell g="$work/other.sock"
guest other cannot
check "a guest that cannot ring is polled" more other 2
check "... which is told" poll told other 'its doorbell does not ring \(.*it is polled'
check "... all ends in order" ended other
check "... and it was never asked to wake a host" grep -q ' asked=0 ' "$work/other.guest"
check "... and all events are there" whole other

record other other --doorbell g="$work/other.sock"
guest other lies
check "a guest that rings only when it is asked to is found out" poll told other 'does not ring when sub-buffers are full; it is polled'
# From here on it is not asked, so it writes nothing more.
check "... all ends in order" ended other
check "... and all events are there" whole other
check "... and nothing is left behind" clean other
kill -TERM $server

begun third
begun wrong
record third third --doorbell g="$work/wrong.sock"
check "a server of another file is told" poll told third 'serves another file'
kill -INT $recorder
wait $recorder
check "... and is no error" ended_idle $? "$work/third.err"
kill -TERM $server

"$xvtrace" record -q -o "$work/x.xvt" -r g="$work/third" --doorbell g="$work/nobody" 2>"$work/x.err"
rc=$?
check "a server that is not there is an error" eval '[ $rc -eq 1 ] && grep -q "region serve" "$work/x.err"'
for wrong in "g" "=x" "h=$work/third.sock"; do
	"$xvtrace" record -q -o "$work/x.xvt" -r g="$work/third" --doorbell "$wrong" 2>"$work/x.err"
	check "--doorbell $wrong is wrong usage" test $? -eq 2
done
"$xvtrace" record -q -o "$work/x.xvt" -r g="$work/third" --doorbell g=a --doorbell g=b 2>"$work/x.err"
check "a machine has one doorbell" test $? -eq 2
head -c 5000 /dev/zero >"$work/odd"
"$xvtrace" region serve "$work/odd" --socket "$work/odd.sock" 2>"$work/x.err"
rc=$?
check "a file that no BAR can be is not served" eval '[ $rc -eq 1 ] && grep -q "power of two" "$work/x.err"'
"$xvtrace" region serve "$work/third" 2>"$work/x.err"
check "region serve needs a socket" test $? -eq 2
[ $failures -eq 0 ]
