#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# unit_inside.sh REPORT: runs as root in a system of its own whose first process is systemd. Starts
# xvtrace.service, records by it, kills it and stops it; writes what it finds to REPORT.
set -u
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin SYSTEMD_COLORS=0 SYSTEMD_PAGER=cat
exec >"$1" 2>&1
. "$(dirname "$0")/check.sh"
work=$(mktemp -d)
set=/var/lib/xvtrace/
mkdir -p /etc/xvtrace /etc/systemd/system/xvtrace.service.d

show() { systemctl show -P "$1" xvtrace; }
is() { [ "$(show "$1")" = "$2" ]; }
status_of() { sed -nE "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }
says() { journalctl -q --no-pager -o cat --since "${since:-today}" -u xvtrace >"$work/journal" && grep -qE -- "$1" "$work/journal"; }
said() { journalctl --sync && says "$1"; }
# warned: there is a warning of the recorder's own. On a busy host there are others: that it was held up, and of machines
# what became of them, such as a writer that does not answer.
warned() {
	journalctl --sync
	journalctl -q --no-pager -o json --since "${since:-today}" -u xvtrace -p warning SYSLOG_IDENTIFIER=xvtrace |
		jq -r 'select(.XVTRACE_MACHINE == null) | "# " + .MESSAGE' | grep -v 'the recorder was held up for'
}
# at_least N FILTER: what jq finds in the status of the recorder
at_least() { [ "$(xvtrace status --json 2>/dev/null | jq "$2" 2>/dev/null || echo 0)" -ge "$1" ]; }
machine=a@$(id -u nobody)
events() { at_least "$1" "[.. | objects | select(.name? == \"$machine\") | .rings[].events] | add // 0"; }
host_events() { at_least "$1" '[.. | objects | select(.kind? == "host") | .rings[].events] | add // 0'; }
# entry FIELD=VALUE...: the journal has an entry of the service with these fields
entry() { journalctl --sync && [ -n "$(journalctl -q --no-pager -o cat -u xvtrace "$@")" ]; }
configure() { printf '%s\n' "$@" >/etc/xvtrace/xvtrace.conf; }

# A region whose writer is another user's process that is called as a VMM is: so it is a machine.
install -m 755 "$(command -v xvt-emit)" "$work/qemu-emit" && chmod 711 "$work"
(umask 077 && xvtrace region create /dev/shm/xvtrace-a --size 1M --rings 2) && chown nobody: /dev/shm/xvtrace-a
setpriv --reuid nobody --regid nogroup --clear-groups "$work/qemu-emit" /dev/shm/xvtrace-a --count 100000000 --rate 2000 >/dev/null &
writer=$!
poll grep -q xvtrace-a "/proc/$writer/maps"
configure 'keep-free = 0' 'rotate-size = 64M'
check "the service starts: it has said that it is ready" systemctl start xvtrace
check "and is active" is ActiveState active
check "nothing is missing: no warning, also not of the sandbox" eval '! warned'
recorder=$(show MainPID)
opener=$(pgrep -x xvtrace-opener -P "$recorder")
check "it has its opener" test -n "$opener"
check "both have the filters of the unit, and the recorder its own" eval '[ "$(status_of "$opener" Seccomp_filters)" -gt 0 ] && [ "$(status_of "$recorder" Seccomp_filters)" -eq $(($(status_of "$opener" Seccomp_filters) + 1)) ]'
# SYSLOG, LEASE, SYS_PTRACE, DAC_OVERRIDE
check "the opener has the unit's capabilities and no other" eval '[ $((16#$(status_of "$opener" CapPrm))) -eq $((1 << 34 | 1 << 28 | 1 << 19 | 1 << 1)) ]'
check "the recorder has none" eval '[ $((16#$(status_of "$recorder" CapPrm))) -eq 0 ] && [ $((16#$(status_of "$recorder" CapEff))) -eq 0 ]'
check "the other user's region is recorded" poll events 1000
status() { [[ $(show StatusText) =~ ^1/1\ machines ]]; }
check "the manager shows its figures" poll status
check "its folder is root's alone" [ "$(stat -c '%a %U' $set)" = "700 root" ]

configure 'keep-free = 0' 'rotate-size = 64M' 'memory = 64M'
check "reload" systemctl reload xvtrace
check "it has read the configuration: what takes a restart is named" poll said 'memory: warning: changed; it takes effect after a restart'
check "as a warning" entry PRIORITY=4 SYSLOG_IDENTIFIER=xvtrace 'MESSAGE=memory: warning: changed; it takes effect after a restart'
check "which is of no machine" eval '! entry XVTRACE_MACHINE=$machine "MESSAGE=memory: warning: changed; it takes effect after a restart"'
check "and it is the same process" is MainPID "$recorder"
configure 'rotate-sise = 64M'
check "reload with an error fails" eval '! systemctl reload xvtrace 2>/dev/null'
check "systemctl status shows it" eval 'systemctl status xvtrace >"$work/status"; grep -q "ExecReload=.*status=2" "$work/status"'
check "and the log, why" said "line 1: rotate-sise: no such key; is it 'rotate-size'[?]"
check "the recorder goes on" is MainPID "$recorder"
check "also where a client asks for it" eval '! xvtrace control reload 2>/dev/null'
check "which the manager's status shows" poll eval '[[ $(show StatusText) = *"its configuration has an error"* ]]'
configure 'keep-free = 0' 'rotate-size = 64M'

again() { is ActiveState active && [ "$(show MainPID)" != "$recorder" ] && [ "$(show MainPID)" != 0 ]; }
kill -KILL "$recorder"
check "killed by -9, it is started again" poll again
check "once" is NRestarts 1
check "the opener said why it ended" poll said 'the recorder died without ending its trace'
check "and ended" poll eval '! kill -0 "$opener" 2>/dev/null'
recorder=$(show MainPID)
check "it goes on recording" poll events 1000
check "the journal has what it says of the machine by the machine's name" poll entry XVTRACE_MACHINE=$machine PRIORITY=4
systemctl stop xvtrace
check "stopped: in order" eval 'is ActiveState inactive && is Result success'
check "nothing of it is left running" eval '! pgrep -f "^/usr/bin/xvtrace daemon"'
check "its files are one trace, with events of both" eval '[ "$(ls $set*.xvt | wc -l)" -ge 2 ] && xvtrace stat --json $set | jq "[.vms[].rings[].events] | add > 2000" | grep -qx true'
check "which verifies" xvtrace verify -q $set

# A start with a wrong configuration.
configure 'rotate-sise = 64M'
systemctl reset-failed xvtrace 2>/dev/null
check "a start with an error fails" eval '! systemctl start xvtrace 2>/dev/null'
check "it has the status of the usage" is ExecMainStatus 2
check "and is not tried again" eval 'is ActiveState failed && is NRestarts 0'
configure 'keep-free = 0' 'rotate-size = 64M'

# One that hangs.
printf '[Service]\nWatchdogSec=3\n' >/etc/systemd/system/xvtrace.service.d/test.conf
systemctl daemon-reload
systemctl reset-failed xvtrace 2>/dev/null
check "with a short watchdog: it starts" systemctl start xvtrace
recorder=$(show MainPID)
freeze "$recorder"
check "one that hangs is ended by the watchdog, and started again" poll again
systemctl stop xvtrace

# The host's own events, where this system has them.
if [ -w /sys/kernel/tracing/instances ] && [ -d /sys/kernel/tracing/events/sched ]; then
	configure 'keep-free = 0' 'host = sched' 'host-all = yes'
	since=$(date '+%F %T')
	check "with the host's events: it starts" systemctl start xvtrace
	check "and they are recorded" poll host_events 100
	recorder=$(show MainPID)
	check "it has an instance in tracefs" eval 'ls -d /sys/kernel/tracing/instances/xvtrace-host-"$recorder"-*'
	systemctl stop xvtrace
	check "... which is removed" eval '! ls -d /sys/kernel/tracing/instances/xvtrace-host-"$recorder"-* 2>/dev/null'
	configure 'keep-free = 0'
else
	echo "skip - events of the host: there are none here"
fi

# A QMP socket of another user's QEMU, and a machine that is named.
if command -v qemu-system-x86_64 >/dev/null; then
	install -d -o nobody /run/vmm
	(umask 077 && xvtrace region create /dev/shm/b --size 1M --rings 2) && chown nobody: /dev/shm/b
	setpriv --reuid nobody --regid nogroup --clear-groups qemu-system-x86_64 -machine none -S -display none \
		-qmp unix:/run/vmm/b,server=on,wait=off >/dev/null 2>&1 &
	vmm=$!
	poll test -S /run/vmm/b
	configure 'keep-free = 0' 'region = b=/dev/shm/b' 'qmp = b=/run/vmm/b'
	since=$(date '+%F %T')
	check "with a QMP socket: it starts" systemctl start xvtrace
	check "and is told what becomes of the machine" poll said 'b: stopped: prelaunch, at'
	kill -KILL $vmm
	check "also that its QEMU is killed" poll said 'b: .*QEMU closed its QMP socket'
	systemctl stop xvtrace
	configure 'keep-free = 0'
else
	echo "skip - a QMP socket: QEMU is missing"
fi

# A domain of libvirt, whose socket and processes the recorder reaches beneath the unit.
xml="<domain type='qemu'><name>d</name><memory unit='M'>64</memory><vcpu>1</vcpu><os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator><memballoon model='none'/>
<shmem name='xvtrace-d'><model type='ivshmem-plain'/><size unit='M'>1</size></shmem></devices><seclabel type='none'/></domain>"
if ! command -v virsh >/dev/null || ! command -v qemu-system-x86_64 >/dev/null || ! systemctl start virtlogd libvirtd; then
	echo "skip - a domain: libvirtd, virsh or QEMU is missing"
else
	echo "$xml" >"$work/d.xml"
	# Cgroups and devices of a container are its host's.
	printf 'cgroup_controllers = [ ]\nnamespaces = [ ]\n' >>/etc/libvirt/qemu.conf
	systemctl restart libvirtd
	(umask 077 && xvtrace region create /dev/shm/xvtrace-d --size 1M --rings 2) && chown libvirt-qemu /dev/shm/xvtrace-d
	if ! virsh -q -c qemu:///system create "$work/d.xml"; then
		echo "skip - a domain: libvirt starts none here"
	else
		setpriv --reuid "$(stat -c %u /dev/shm/xvtrace-d)" --clear-groups --regid nogroup xvt-emit /dev/shm/xvtrace-d --count 100000000 --rate 2000 >/dev/null &
		since=$(date '+%F %T')
		check "with a domain: it starts" systemctl start xvtrace
		check "its region is recorded" poll at_least 1000 '[.. | objects | select(.name? == "d") | .rings[].events] | add // 0'
		knows() { grep -qsaE 'runs, at' $set*.xvt; }
		check "and libvirt says what becomes of it" poll knows
		check "the journal, too" poll entry XVTRACE_MACHINE=d 'MESSAGE=d: runs, at '"$(xvtrace verify --notes "$(ls $set*.xvt | tail -n 1)" | sed -n 's/^note: info: [0-9.]* [^ ]*: runs, at //p' | head -n 1)"
		virsh -q -c qemu:///system destroy d
		check "without a warning" eval '! warned'
		systemctl stop xvtrace

		# It is kept armed, and its QEMU is killed.
		virsh -q -c qemu:///system create "$work/d.xml"
		configure 'keep-free = 0' 'flight-recorder = d' 'snapshot-when = crash' 'snapshot-after = 0.1'
		check "kept armed as a flight recorder: it starts" systemctl start xvtrace
		check "and arms it" poll at_least 1 '[.recorders[0].flight_armed] | add // 0'
		pkill -KILL -f 'guest=d,'
		check "its QEMU is killed: libvirt says so, and a snapshot has what it held" poll said 'crash-d has it: d crashed, at'
		check "of all its events that the ring held" eval '[ "$(xvtrace stat --json $set/snapshots/*crash-d/flight.xvt | jq "[.vms[] | select(.name == \"d\").rings[].events] | add")" -gt 1000 ]'
		systemctl stop xvtrace
		configure 'keep-free = 0'

		# The same by a command, without the service.
		virsh -q -c qemu:///system create "$work/d.xml"
		timeout 120 xvtrace snapshot -o "$work/when.xvt" -d d --when 'crash d' 2>"$work/when" &
		when=$!
		check "snapshot --when crash: it waits" poll grep -q 'waits for a condition' "$work/when"
		pkill -KILL -f 'guest=d,'
		check "the domain's QEMU is killed: that is told" eval 'wait $when && grep "when.xvt: d crashed, at" "$work/when" || { cat "$work/when"; false; }'
		check "and the file verifies" xvtrace verify -q "$work/when.xvt"
	fi
fi

# The parser, taken over by a guest (tests/tools/xvt-escape.c), tries to change a file that is none of
# its business.
if command -v xvt-escape >/dev/null; then
	printf '[Service]\nExecStart=\nExecStart=/usr/bin/xvt-escape daemon\nRestart=no\nEnvironment=XVT_ESCAPE=change XVT_ESCAPE_STAGE=1 XVT_ESCAPE_SKIP=20 XVT_ESCAPE_PATH=/etc/shadow\n' \
		>/etc/systemd/system/xvtrace.service.d/test.conf
	systemctl daemon-reload
	systemctl start xvtrace
	check "a recorder that a guest has taken over is ended when it would change another file" poll is Result signal
	check "and that is in the journal" poll said 'the recorder was ended, since it tried to open /etc/shadow'
fi
rm /etc/systemd/system/xvtrace.service.d/test.conf

# The server of a doorbell, as a user that this system has.
bell=xvtrace-doorbell@t-1.service
mkdir /etc/systemd/system/xvtrace-doorbell@.service.d
printf '[Service]\nUser=daemon\nEnvironment=SIZE=2M\nRestartSec=0\n' >/etc/systemd/system/xvtrace-doorbell@.service.d/test.conf
systemctl daemon-reload
check "the server of a doorbell starts" systemctl start $bell
server=$(systemctl show -P MainPID $bell)
check "it listens by then, at a socket of its user" eval '[ -S /dev/shm/xvtrace-t-1.doorbell ] && [ "$(stat -c "%U %a" /dev/shm/xvtrace-t-1.doorbell)" = "daemon 700" ]'
check "it has made the region" eval '[ "$(stat -c "%s %U %a" /dev/shm/xvtrace-t-1)" = "2097152 daemon 600" ]'
check "guests shows it for no machine but a domain: its user may be anyone" eval 'xvtrace guests --json | jq "[.machines[] | select(.name == \"t-1\").doorbell] == [null]" | grep -qx true'
check "it has no capabilities, and the filters of its unit" eval '[ $((16#$(status_of "$server" CapPrm))) -eq 0 ] && [ "$(status_of "$server" Seccomp_filters)" -gt 0 ]'
[ "$server" -gt 1 ] && kill -KILL "$server"
# In one look: between two of them the old server may have ended, and the next one not be there yet.
served() {
	local unit
	unit=$(systemctl show -p ActiveState -p MainPID $bell)
	[[ $unit == *ActiveState=active* && $unit =~ MainPID=([1-9][0-9]*) && ${BASH_REMATCH[1]} != "$server" ]]
}
check "killed by -9, it is started again" poll served
truncate -s 2M /dev/shm/xvtrace-t-2 && chmod 666 /dev/shm/xvtrace-t-2
check "a region of another user is refused" eval '! systemctl start xvtrace-doorbell@t-2 2>/dev/null && [ ! -e /dev/shm/xvtrace-t-2.doorbell ]'
systemctl stop $bell
check "stopped: in order, and its socket is removed, not the region" eval '[ "$(systemctl show -P Result $bell)" = success ] && [ ! -e /dev/shm/xvtrace-t-1.doorbell ] && [ -e /dev/shm/xvtrace-t-1 ]'
check "systemd-analyze verify has no word on its unit" eval '[ -z "$(systemd-analyze verify --man=no $bell 2>&1 | grep xvtrace)" ]'
systemd-analyze security $bell 2>/dev/null | tail -n 1
check "its exposure is below 2.5" systemd-analyze security --threshold=25 $bell >/dev/null 2>&1

check "systemd-analyze verify has no word on the unit" eval '[ -z "$(systemd-analyze verify --man=no xvtrace.service 2>&1 | grep xvtrace)" ]'
systemd-analyze security xvtrace.service 2>/dev/null | tail -n 1
check "its exposure is 2.0 at most" systemd-analyze security --threshold=20 xvtrace.service >/dev/null 2>&1
kill "$writer"
[ $failures -eq 0 ] || journalctl -q --no-pager -u xvtrace | tail -n 60 | sed 's/^/# /'
echo "end"
systemctl poweroff --no-block
