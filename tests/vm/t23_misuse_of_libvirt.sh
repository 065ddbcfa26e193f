#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Each misuse that takes a libvirtd is one line on stderr: what is wrong, why, and what to do. What a
# user may do who can only look is tested with a libvirtd whose sockets have other modes. t18_attach.sh
# has the misuses of attach itself, tests/cli/t_misuse.sh those without libvirt.
set -u
. "$(dirname "$0")/lib.sh"
lv_trap
cat /etc/libvirt/libvirtd.conf - >"$work/libvirtd.conf" 2>/dev/null <<END
auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_ro_perms = "0777"
unix_sock_rw_perms = "0700"
END
LV_CONF=$(realpath "$work/libvirtd.conf")
reason=$(lv_start 2>&1)
if [ $? -eq 77 ]; then
	echo "skip - misuse of libvirt: ${reason#*skipped: }"
	exit 77
fi
lv_start || exit 1

# misuse TEXT STATUS LINE COMMAND...: it has that exit status, and LINE behind "xvtrace: " is all that it says
misuse() {
	local text=$1 status=$2 line="xvtrace: $3" rc
	shift 3
	"$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	check "$text" test "$rc $(cat "$work/err")" = "$status $line"
	[ "$rc $(cat "$work/err")" = "$status $line" ] || sed "s/^/# exit $rc: /" "$work/err"
}
record() { timeout 60 "$xvtrace" record -q -o "$work/t.xvt" --duration 1 --join-timeout 0 "$@"; }

need "a domain starts" eval 'lv_create g1 --vcpus 1 --overlay "$(overlay plugged.sh)"'
d1=$(lv_domain g1) region=$(vm_region g1)
need "its guest runs" vm_wait_log g1 "^XVT-SAY ready" 600
lv_virsh dumpxml "$d1" | sed '/<uuid>/d; /<shmem/,/<\/shmem>/d' | sed "s/<name>.*/<name>$d1-off<\/name>/" >"$work/off.xml"
need "another one is defined" lv_virsh define "$work/off.xml"

unknown="libvirt knows no domain of this name (see virsh list --all)"
misuse "an unknown domain: record" 1 "no-such: $unknown" record -d no-such
misuse "... attach" 1 "no-such: $unknown" "$xvtrace" attach no-such
misuse "... detach" 1 "no-such: $unknown" "$xvtrace" detach no-such
misuse "... by a pattern" 1 "no-such*: no running domain that matches this pattern can be recorded (see virsh list)" record -d 'no-such*'
misuse "a domain that does not run: record" 1 "$d1-off: the domain does not run (virsh start $d1-off)" record -d "$d1-off"
misuse "... attach" 1 "$d1-off: the domain does not run; start it, or give it the region for its next start by --config" "$xvtrace" attach "$d1-off"
lv_virsh undefine "$d1-off" >/dev/null
record_start "$work/first.xvt" -d "$d1"
at_work() { "$xvtrace" status --json 2>/dev/null | jq -e --argjson r "$recorder" 'any(.recorders[]; .pid == $r and .events > 0)' >/dev/null; }
check "a recorder is at work" vm_poll 100 at_work
command=$(tr '\0' ' ' <"/proc/$recorder/cmdline" | sed 's/ $//; s/^\(.\{100\}\).*/\1.../')
misuse "two recorders of a domain" 1 "$d1: another xvtrace is at work on this region: process $recorder ($command), which writes $(realpath "$work/first.xvt"); end it first" record -d "$d1"
record_stop

# A user who may look at domains, and not change them.
if [ -s "$VM_RUN_DIR/libvirtd.pid" ] && command -v setpriv >/dev/null; then
	theirs=$(mktemp -d)
	chmod 777 "$theirs"
	cp "$xvtrace" "$theirs/xvtrace"
	other() { timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH="$PATH" HOME="$theirs" "$theirs/xvtrace" "$@"; }
	manage="changing a domain needs root or the group libvirt (\`xvtrace doctor\` says how)"
	denied="cannot connect to libvirt: Failed to connect socket to '/var/run/libvirt/libvirt-sock': Permission denied"
	misuse "only the right to look: attach" 1 "$d1: $denied; $manage" other attach -c qemu:///system "$d1"
	misuse "... detach" 1 "$d1: $denied; $manage" other detach -c qemu:///system "$d1"
	chmod 600 "$region"
	misuse "... record finds the region, and has no rights on it" 1 "$d1: Permission denied; be root, or the user or group of its QEMU (ls -l)" \
		other record -q -o "$theirs/t.xvt" -c qemu:///system -d "$d1" --duration 1
	chmod 666 "$region"
	check "... with them it records" other record -q -o "$theirs/t.xvt" -c qemu:///system -d "$d1" --control "$theirs/control" -- \
		sh -c 'until "$1/xvtrace" status --json --control "$1/control" 2>/dev/null | grep -q "\"events\": *[1-9]"; do sleep 0.05; done' - "$theirs"
	chmod 700 /run/libvirt/libvirt-sock-ro
	misuse "no right to look" 1 \
		"$d1: cannot connect to libvirt: Failed to connect socket to '/var/run/libvirt/libvirt-sock-ro': Permission denied; \`xvtrace doctor\` says how, or name its region by -r" \
		other record -q -o "$theirs/t.xvt" -c qemu:///system -d "$d1" --duration 1
	chmod 777 /run/libvirt/libvirt-sock-ro
	rm -rf "$theirs"
else
	echo "skip - rights on libvirt's sockets: the libvirtd that runs is not of this test, or setpriv is not here"
fi

misuse "no file of a domain's region" 1 "$d1: No such file or directory" eval 'mv "$region" "$region.away"; record -d "$d1"'
mv "$region.away" "$region"
check "the region is taken out" "$xvtrace" detach "$d1"
misuse "a domain without a region: record" 1 "$d1: it has no <shmem name='xvtrace-...'> device; add one of model ivshmem-plain" record -d "$d1"
# The XML's machine has 32 slots at most.
full() {
	local i
	for ((i = 0; i < 40; i++)); do
		echo "<shmem name='$d1-$i'><model type='ivshmem-plain'/><size unit='M'>1</size></shmem>" >"$work/fill.xml"
		lv_virsh attach-device "$d1" "$work/fill.xml" >/dev/null 2>&1 || break
	done
	[ $i -lt 40 ]
}
need "other devices take all PCI slots" full
misuse "no PCI slot: attach" 1 \
	"$d1: libvirt does not plug it in: internal error: No more available PCI slots; free one (a q35 machine needs a pcie-root-port for it), or use --config and start the domain again (docs/guest.md)" \
	"$xvtrace" attach "$d1"
check "... leaves no file" test ! -e "$region"
rm -f "/dev/shm/$d1-"*
if [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ]; then
	echo "skip - a denial of AppArmor: this test has no profile that denies a region"
else
	echo "skip - a denial of AppArmor: this kernel has none"
fi
lv_destroy g1
finish
