#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Regions that are plugged into running domains of libvirt, and taken out: attach, detach, and a
# recorder that follows the domains meanwhile.
set -u
. "$(dirname "$0")/lib.sh"
lv_trap
reason=$(lv_start 2>&1)
if [ $? -eq 77 ]; then
	echo "skip - attach and detach: ${reason#*skipped: }"
	exit 77
fi
lv_start || exit 1

# xvt ARG...: with one line of output or of error, which is shown
xvt() {
	"$xvtrace" "$@" >"$work/out" 2>"$work/err"
	rc=$?
	cat "$work/out" "$work/err"
}
says() { test $rc -eq "$1" && test "$(cat "$work/out" "$work/err" | wc -l)" -eq 1 && grep -qE -- "$2" "$work/out" "$work/err"; }
device_of() { lv_virsh dumpxml "$@" | grep -o "<shmem name='xvtrace-[^']*'"; }

need "a domain starts" eval 'lv_create g1 --vcpus 2 --overlay "$(overlay asked.sh)"'
d1=$(lv_domain g1) region=/dev/shm/xvtrace-$(lv_domain g1)
need "its guest runs" vm_wait_log g1 "^XVT-SAY ready" 600

# --- out and in
xvt attach "$d1"
check "attach: a domain that has a region" says 1 "it has a region already: $region"
xvt detach "$d1"
check "detach: the guest gives the device back" test $rc -eq 0 -a ! -s "$work/err"
check "detach: the device is out of the XML" eval '! device_of "$d1"'
check "detach: the file is removed" test ! -e "$region"
xvt detach "$d1"
check "detach: a domain without a region" says 1 "it has no region"

trace=$work/trace.xvt
record_start "$trace" --follow -d "$d1" --join-timeout 0
check "attach: the guest's module takes it" eval 'xvt attach "$d1" --size 8M --timeout 100; says 0 "^$d1: $region, 2 rings of its linux writer"'
check "attach: the file has the size, and the owner of QEMU" eval 'test "$(stat -c %s "$region")" -eq $((8 << 20)) && test "$(stat -c %u "$region")" -eq "$(stat -c %u "/proc/$(vm_pid g1)")"'
check "guests: the domain, its region and its recorder" vm_poll 100 eval '"$xvtrace" guests --json | jq -e --arg d "$d1" --argjson r "$recorder" ".machines[] | select(.name == \$d) | .domain and .module == \"linux\" and .rings == 2 and .recorder == \$r" >/dev/null'
# drained: events of the guest have arrived
drained() {
	[ "$("$xvtrace" region show --json "$region" 2>/dev/null | jq '[.rings[].cons] | max')" -gt 0 ] 2>/dev/null
}
check "record --follow: the machine that came is drained" vm_poll 100 drained
check "record --follow: it is known as a domain" vm_poll 100 grep -qsaE "runs, at" "$trace"
xvt detach "$d1" --timeout 100
check "detach: also from under a recorder" test $rc -eq 0 -a ! -e "$region"
left() { "$xvtrace" status --json 2>/dev/null | jq -e '[.. | objects | select(.region? and .phase == "gone")] | length == 1' >/dev/null; }
check "record --follow: it has left" vm_poll 100 left
check "the recorder ends cleanly" record_stop
cat "$trace.err"
check "the machine and its events are in the trace" stat_says "$trace" "[.vms[] | [.name, (.rings | map(.events) | add) > 0]] == [[\"$d1\", true]]"
check "the sums add up" adds_up "$trace"
named() { "$xvtrace" report --no-task "$trace" >"$work/report" && grep -q " sched_waking: " "$work/report" && ! grep -qE " type[0-9]+: " "$work/report"; }
check "its events, on before the device came, have their formats" named
check "verify passes" "$xvtrace" verify "$trace"

# --- and asked for events: the guest's owner does not allow it, then does so late, then at once
plug() { xvt attach "$d1" --size 8M --timeout 100 "$@"; }
plug --events timer
check "attach --events: without consent" eval 'test $rc -eq 1 -a "$(wc -l <"$work/err")" -eq 1 && grep -q "^xvtrace: $d1: its owner does not allow the host to choose events: host_events=yes in" "$work/err"'
xvt detach "$d1" --timeout 100
plug --events timer,task
check "attach --events: consent that comes after the module" eval 'test $rc -eq 0 && grep -qxF "$d1: switched on in the guest: timer:*, task:*" "$work/out"'
check "attach --events: the guest did not know it before, and refused" vm_poll 10 grep -aq "^XVT-SAY device 4 has refused, and says 0" "$(vm_log g1)"
xvt detach "$d1" --timeout 100

# --- each misuse is one line
xvt attach no-such-domain
check "attach: an unknown domain" says 1 "no domain of this name"
xvt attach "$d1" --size 3M
check "attach: a size that no PCI device has" says 2 "power of two"
xvt attach "$d1" --config
check "attach --config: a transient domain" says 1 "transient.*leave out --config"
xvt attach "$d1" -c "qemu+unix:///system?socket=$work/none"
check "attach: no libvirt" says 1 "cannot connect to libvirt"
xvt attach
check "attach: no domain named" says 2 "name one domain"
truncate -s 1M "$region"
xvt attach "$d1"
check "attach: a file of that name is there" says 1 "$region is there already"
check "attach: the file stays, and no device is left" eval 'test -e "$region" && ! device_of "$d1"'
rm -f "$region"
lv_virsh dumpxml "$d1" | sed '/<uuid>/d' >"$work/off.xml"
sed -i "s/<name>.*/<name>$d1-off<\/name>/" "$work/off.xml"
lv_virsh define "$work/off.xml" >/dev/null
xvt attach "$d1-off"
check "attach: a domain that does not run" says 1 "does not run; start it, or .*--config"
xvt attach "$d1-off" --doorbell --config
check "attach --doorbell: a domain that does not run" says 1 "does not run"
xvt attach "$d1-off" --config --events sched
check "attach --config --events: a domain that does not run has no guest to ask" eval 'says 1 "it does not run, so its guest cannot be asked.*guest.conf" && ! device_of "$d1-off"'
xvt attach "$d1-off" --config
check "attach --config: for the next start" says 0 "defined; the domain has /dev/shm/xvtrace-$d1-off from its next start"
check "attach --config: it is in the definition" device_of "$d1-off"
xvt detach "$d1-off"
check "detach: it is out of the definition" eval 'test $rc -eq 0 && ! device_of "$d1-off"'
lv_virsh undefine "$d1-off" >/dev/null

# --- with a doorbell and its server
bell=$region.doorbell
server_of() { pgrep -f "^xvtrace region serve $region --socket $bell\$"; }
no_server() { ! server_of && ! ls "$region"* 2>/dev/null; }
mkdir "$bell"
xvt attach "$d1" --doorbell
check "attach --doorbell: the server cannot listen" eval 'says 1 "server does not start: $bell: exists, and is no socket" && ! server_of && test ! -e "$region" && ! device_of "$d1"'
rmdir "$bell"
xvt attach "$d1" --doorbell --config
check "attach --doorbell: libvirt refuses, and nothing is left" eval 'says 1 "transient.*leave out --config" && no_server'
# Now it has a definition.
lv_virsh dumpxml "$d1" >"$work/on.xml"
need "the domain is defined" lv_virsh define "$work/on.xml" >/dev/null
xvt attach "$d1" --doorbell --config --size 8M --timeout 100
check "attach --doorbell: the guest's module takes it" says 0 "^$d1: $region, 2 rings of its linux writer"
check "attach --doorbell: the device is an ivshmem-doorbell" eval 'lv_virsh dumpxml "$d1" | grep -q "model type=.ivshmem-doorbell"'
check "attach --doorbell: file and socket have the owner of QEMU" test "$(stat -c %u "$region" "$bell" | sort -u)" = "$(stat -c %u "/proc/$(vm_pid g1)")"
check "attach --doorbell: its server runs" server_of
xvt attach "$d1" --doorbell
check "attach --doorbell: a domain that has a region" says 1 "it has a region already: $region"
for how in "" --follow; do
	record_start "$work/bell.xvt" -d "$d1" $how
	check "record $how -d: the doorbell is found, and the guest rings" vm_poll 120 grep -qsa "its doorbell works" "$work/bell.xvt"
	check "record $how -d: it is recorded" vm_poll 100 recorded
	check "record $how -d: the recorder ends cleanly, without a word" eval 'record_stop && test ! -s "$work/bell.xvt.err"'
	rm -f "$work/bell.xvt"
done
record_start "$work/bell.xvt" -r "$d1=$region" --doorbell "$d1=$bell"
check "attach --doorbell: the guest rings" vm_poll 120 grep -qsa "its doorbell works" "$work/bell.xvt"
check "attach --doorbell: it is recorded" vm_poll 100 recorded
check "attach --doorbell: the recorder ends cleanly" record_stop
check "attach --doorbell: events are in the trace" stat_says "$work/bell.xvt" '.events > 0'
mv "$bell" "$bell.away"
record_start "$work/away.xvt" -d "$d1"
check "record -d: a server that cannot be reached: the machine is polled" vm_poll 100 grep -qsaE "runs, at" "$work/away.xvt"
check "record -d: ... and recorded" vm_poll 100 recorded
check "record -d: ... the recorder ends cleanly" record_stop
check "record -d: ... with one warning" eval 'cat "$work/away.xvt.err" && test "$(grep -c "" "$work/away.xvt.err")" -eq 1 && grep -q "its doorbell at $bell is not used: .*; it is polled" "$work/away.xvt.err"'
mv "$bell.away" "$bell"
# QEMU can crash when such a device is taken out.
xvt detach "$d1"
check "detach: a doorbell stays in a domain that runs" eval 'says 1 "QEMU can crash .*shut the machine down" && server_of && device_of "$d1"'
check "attach --doorbell --config: it is in the definition" device_of "$d1" --inactive
lv_destroy g1
xvt detach "$d1"
check "detach: after the domain has ended: server, socket and file are gone" eval 'test $rc -eq 0 -a ! -s "$work/err" && no_server'
check "detach: it is out of the definition" eval '! device_of "$d1" --inactive'
lv_virsh undefine "$d1" >/dev/null
truncate -s 1M "$region"
"$xvtrace" region serve "$region" --socket "$bell" >"$work/server.log" &
need "a server is left of a domain that is unknown" vm_poll 60 test -s "$work/server.log"
xvt detach "$d1"
check "detach: the server of an unknown domain" eval 'test $rc -eq 0 -a ! -s "$work/err" && ! ls "$region"* 2>/dev/null && wait $!'
check "nothing is left in /dev/shm" eval '! ls "$region"*'
finish
