#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# shellcheck disable=SC2317
# Doorbells that a recorder finds: the server that libvirt's XML of a domain names, and that of `attach --doorbell`. Domains
# are those of libvirt's own test driver; the guest is a program that is a peer of the server, as QEMU is.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

# The recorder's opener lets libvirt's test driver read only what every user may.
chmod 755 "$work"
export XVTRACE_SHM_DIR=$work/shm
export LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_SHM_DIR"
region=$XVTRACE_SHM_DIR/xvtrace-a
connect=(-c "test://$work/node.xml")

# device SERVER: the domain web-1 has a doorbell of this server
device() {
	echo "<node><domain type='test'><name>web-1</name><uuid>6695eb01-f6a4-8304-79aa-97f2502e1931</uuid><memory>8192</memory><vcpu>1</vcpu>
<os><type>hvm</type></os><devices><shmem name='xvtrace-a'><model type='ivshmem-doorbell'/><server path='$1'/><msi vectors='1'/></shmem></devices></domain></node>" >"$work/node.xml"
}

# serve SOCKET: a server of the region
serve() {
	rm -f "$work/server"
	"$xvtrace" region serve "$region" --socket "$1" >"$work/server" 2>&1 &
	server=$!
	pids+=($server)
	disown $server
	poll test -s "$work/server" || exit 1
}

# guest SOCKET: one that rings, a peer of that server
guest() {
	"$BUILD/tests/tools/xvt-bell" "$1" 1000 rings >"$work/guest" 2>&1 &
	guest=$!
	pids+=($guest)
}

# record ARG...: in the background
record() {
	rm -f "$work/t.xvt"
	"$xvtrace" record -q -o "$work/t.xvt" "${connect[@]}" --control "$work/control" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
}
told() { grep -qsaE -- "$1" "$work/t.xvt"; }
ended() {
	kill -INT $recorder
	wait $recorder
	ended_idle $? "$work/err"
}
silent() { [ ! -s "$work/err" ] || { cat "$work/err" && false; }; }
joined() { "$xvtrace" status --control "$work/control" --json 2>/dev/null | jq -e "[.. | objects | select(.region? and .phase == \"$1\")] | length == 1" >/dev/null; }
warns() {
	[ "$(wc -l <"$work/err")" -eq 1 ] && grep -qE -- "^xvtrace: $1: warning: its doorbell at $2 is not used: .*$3.*; it is polled$" "$work/err" && return
	cat "$work/err"
	return 1
}
# rings TEXT ARG...: the recorder uses the guest's doorbell
rings() {
	local text=$1
	shift
	record "$@"
	check "$text" poll told 'its doorbell works'
	check "... without a word, and all ends in order" eval 'ended && silent'
}

"$xvtrace" region create "$region" --size 256K --rings 1 --subbuf-size 4K || exit 1
serve "$region.doorbell"
guest "$region.doorbell"
device "$region.doorbell"
rings "-d: the doorbell that the domain's XML names" -d web-1
rings "-d with a pattern" -d 'web*'
# shows PATH|null: guests has this doorbell of its one machine
shows() { [ "$("$xvtrace" guests --json "${connect[@]}" | jq -rc '[.machines[].doorbell // "null"] | join(" ")')" = "$1" ]; }
check "guests: the doorbell that the domain's XML names" eval 'shows "$region.doorbell" && "$xvtrace" guests "${connect[@]}" | grep -q "^web-1 .*  $region  $region.doorbell$"'
rings "all machines" --join-timeout 5
rings "--follow, so the recorder connects in its sandbox" --follow -d web-1
rings "--follow with a pattern" --follow -d 'web-?'
device "$XVTRACE_SHM_DIR/xvtrace-gone.doorbell"
check "guests: also of a server that is not there" shows "$XVTRACE_SHM_DIR/xvtrace-gone.doorbell"
rings "--doorbell given by hand wins" -d web-1 --doorbell web-1="$region.doorbell"
rings "... with --follow, too" --follow -d web-1 --doorbell web-1="$region.doorbell"
for how in "" --follow; do
	record -d web-1 $how
	check "-d${how:+ }$how: a server that cannot be reached: the machine is recorded" poll joined attached
	check "... all ends in order" ended
	check "... with one warning" warns web-1 "$XVTRACE_SHM_DIR/xvtrace-gone.doorbell" "region serve"
done
record -d web-1 --doorbell web-2="$region.doorbell"
wait $recorder
rc=$?
check "--doorbell of another name: wrong usage" eval '[ $rc -eq 2 ] && grep -q "a machine of -r or -d" "$work/err"'

# Another server, at a place that no recorder knows beforehand.
kill -TERM $guest $server
wait $guest
serve "$work/elsewhere.sock"
guest "$work/elsewhere.sock"
device "$work/elsewhere.sock"
rings "a server at any other place" -d web-1
if "$xvtrace" doctor --json | jq -e .sandbox >/dev/null; then
	record --follow -d web-1
	check "--follow: a server at another place: the machine is recorded" poll joined attached
	check "... all ends in order" ended
	check "... with one warning" warns web-1 "$work/elsewhere.sock" "another place"
	rings "... but one that --doorbell names is used" --follow -d web-1 --doorbell web-1="$work/elsewhere.sock"
else
	echo "skip - a server at another place, in a sandbox: there is none here"
fi
kill -TERM $guest $server
wait $guest

# Without libvirt: the socket of attach, beside the region.
connect=()
serve "$region.doorbell"
guest "$region.doorbell"
rings "-r: the server of attach" -r a="$region"
check "guests: the server of attach" shows "$region.doorbell"
rings "-r with a pattern" -r "$XVTRACE_SHM_DIR/xvtrace-*"
rings "--follow: all machines" --follow
if [ "$(id -u)" = 0 ]; then
	chown nobody "$region.doorbell"
	record -r a="$region"
	check "a socket of a user who has no right to the region: the machine is recorded" poll joined attached
	check "... and ends in order" eval 'ended && silent'
	check "... and the socket is not used" eval '! told "its doorbell"'
	check "... which guests shows as polled" shows null
	chown nobody "$region"
	record -r a="$region"
	check "a socket of the region's owner, any user of the host: the machine is recorded" poll joined attached
	check "... and ends in order" eval 'ended && silent'
	check "... and the socket is not used" eval '! told "its doorbell"'
	chown root "$region" "$region.doorbell"
else
	echo "skip - a socket of another user: only root can make it"
fi

# A machine that comes before its server, as while `attach` makes both: its guest is not there yet.
kill -TERM $guest $server
wait $guest
cp "$region" "$work/formatted"
rm "$region"
truncate -s 256K "$region"
record --follow -r a="$region"
check "a region that no guest has formatted is waited for" poll joined waiting
serve "$region.doorbell"
dd if="$work/formatted" of="$region" bs=4K skip=1 seek=1 conv=notrunc status=none
dd if="$work/formatted" of="$region" bs=4K count=1 conv=notrunc status=none
guest "$region.doorbell"
check "... and its doorbell is found when one has" poll told 'its doorbell works'
check "... all ends in order" eval 'ended && silent'

# A server that was killed.
kill -KILL $server
kill -TERM $guest
poll eval '! kill -0 $server 2>/dev/null'
record -r a="$region"
check "a socket that a killed server has left: the machine is recorded" poll joined attached
check "... all ends in order" ended
check "... with one warning" warns a "$region.doorbell" "region serve"
[ $failures -eq 0 ]
