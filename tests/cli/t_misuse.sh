#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# shellcheck disable=SC2317
# Each misuse is one line on stderr, the whole of which is compared: what is wrong, why, and what to
# do. tests/vm/t23_misuse_of_libvirt.sh has those that need a libvirtd. Rights are tested as a user
# other than root.
set -u
if [ -z "${XVT_IN_OWN_MOUNTS:-}" ] && unshare -m mount -t tmpfs t /mnt 2>/dev/null; then
	XVT_IN_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR"

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
region() { "$xvtrace" region create "$1" --size "${2:-1M}" --rings 1; }
region "$work/g"
region "$work/h"

# -- two recorders
"$xvtrace" record -q -o "$work/first.xvt" -r g="$work/g" --join-timeout 0 --control "$work/control" 2>/dev/null &
first=$!
pids+=($first)
check "a recorder is at work" poll listens "$work/control"
command=$(tr '\0' ' ' <"/proc/$first/cmdline")
at_work="another xvtrace is at work on this region: process $first (${command:0:100}...), which writes $work/first.xvt; end it first"
misuse "two recorders of a region" 1 "$work/g: $at_work" record -r g="$work/g"
misuse "... snapshot" 1 "$work/g: $at_work, or have it keep a snapshot by \`xvtrace control snapshot\`" \
	"$xvtrace" snapshot -q -o "$work/t.xvt" -r g="$work/g"
misuse "... which one file has not" 1 "snapshot: this recorder writes one file, which has no snapshots; start it with a folder, like -o trace.d/" "$xvtrace" control snapshot --control "$work/control"
misuse "one region under two names" 1 "$work/h: its region is that of a, which is recorded already; each machine needs a region of its own (a cloned domain has the <shmem> of its origin)" \
	record -r a="$work/h" -r b="$work/h"
misuse "two recorders at a socket" 1 "$work/control: another process listens there already; give another path" \
	record -r h="$work/h" --control "$work/control"
mkdir "$work/set"
"$xvtrace" record -q -o "$work/set/" -r h="$work/h" --join-timeout 0 --control "$work/second" 2>/dev/null &
pids+=($!)
check "another one writes into a folder" poll listens "$work/second"
region "$work/i"
misuse "two recorders in a folder" 1 "$work/set/: cannot write it: another recorder writes into this folder; give each a folder of its own" \
	"$xvtrace" record -q -o "$work/set/" -r i="$work/i"

# -- the ring of a guest's kernel
truncate -s 8M "$work/ring"
offset="is no offset: it is a number of bytes, a multiple of 4096, like 0x8000000 or 128M"
misuse "a ring of a kernel: no file" 1 "record: $work/none: No such file or directory; QEMU makes it when it starts, or the command that \`xvtrace doctor --guest\` prints does before the guest starts" \
	record -r g="ftrace:$work/none@4M"
misuse "... behind the file's end" 1 "ftrace:$work/ring@8M: the file ends at 8192 KiB, before the offset 0x800000" record -r g="ftrace:$work/ring@8M"
for at in 4K1 1000 0xg 4T 1M, 99999999999G; do
	misuse "... at $at" 1 "ftrace:$work/ring@$at: '@$at' $offset" record -r g="ftrace:$work/ring@$at"
done
misuse "... with another option" 1 "record: $work/ring,foo=1: No such file or directory; after the file and its offset, ',foo=1' is none of its options, which is kernel=BUILDID alone" \
	record -r g="ftrace:$work/ring,foo=1"
misuse "... with an empty claim" 1 "ftrace:$work/ring,kernel=: after ,kernel= is the build id or the release of the guest's kernel, as \`xvtrace formats\` prints them" \
	record -r g="ftrace:$work/ring,kernel="
misuse "... without a file" 1 "ftrace:: the ring of a guest's kernel is given as ftrace:FILE, or as ftrace:FILE@OFFSET; ,kernel=BUILDID or ,kernel=RELEASE may follow" \
	record -r g=ftrace:
for at in 4194304 0x400000 4M 4m 4096K; do
	misuse "a ring of a kernel at $at: none there" 1 "g: no event of it came: no ring of its kernel yet; is the kernel 6.12 or newer, and does its command line map a ring into this memory (trace_instance=xvt@ADDRESS:SIZE,sched:*)? docs/guest.md" \
		record -r g="ftrace:$work/ring@$at"
done

# -- rights
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$work"
	cp "$xvtrace" "$work/xvtrace"
	mkdir -m 777 "$work/theirs"
	other() { timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups env LIBVIRT_AUTOSTART=0 HOME="$work/theirs" XVTRACE_RUN_DIR="$work/run" XVTRACE_SHM_DIR="$work/shm" "$work/xvtrace" "$@"; }
	theirs=$work/theirs/t.xvt
	rights="Permission denied; be root, or the user or group of its QEMU (ls -l)"
	chmod 600 "$work/i"
	misuse "no rights on a region: record" 1 "$work/i: $rights" other record -q -o "$theirs" -r i="$work/i"
	misuse "... snapshot" 1 "$work/i: $rights" other snapshot -q -o "$theirs" -r i="$work/i"
	misuse "... salvage" 1 "$work/i: $rights" other salvage "$work/i" -o "$theirs"
	misuse "... region show" 1 "$work/i: $rights" other region show "$work/i"
	chmod 644 "$work/i"
	misuse "only the right to read it: record" 1 "$work/i: $rights" other record -q -o "$theirs" -r i="$work/i"
	chmod 600 "$work/i"
	check "... salvage takes no more" eval 'chmod 644 "$work/g" && other salvage "$work/g" -o "$theirs" >/dev/null 2>&1'
	socket="be root, or a user who may write to it (ls -l)"
	for command in status "control rotate" top; do
		misuse "no rights on the control socket: $command" 1 "$work/control: cannot connect: Permission denied; $socket" other $command --control "$work/control"
	done
	chmod 666 "$work/control"
	misuse "only the right to ask: control rotate" 1 "rotate: only root and the recorder's user may change something" other control rotate --control "$work/control"
	chmod 700 "$work/shm"
	looks() { # libvirt's own words follow
		other record -q -o "$theirs" 2>"$work/err"
		[ $? -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q "^xvtrace: $work/shm: cannot look for regions: Permission denied; of libvirt: " "$work/err"
	}
	check "no rights on the folder of regions" looks
	misuse "no rights on the output" 1 "$work/t.xvt: cannot write it: Permission denied" other record -q -o "$work/t.xvt" -r "$work/i"
	chmod 755 "$work/shm"
	printf 'output = %s/no/\n' "$work" >"$work/conf"
	misuse "no rights on the daemon's folder" 1 "$work/no/: cannot make this folder for traces: Permission denied; be root, or set \`output\`" other daemon -c "$work/conf"
else
	echo "skip - rights: it takes root, to become another user, and setpriv"
fi
kill -TERM "${pids[@]}"
wait

# -- a region that is not what it was made for
region "$work/short"
truncate -s 512K "$work/short"
misuse "a region of another size" 1 "$work/short: region_size = 1048576 (0x100000): larger than the file" record -r "$work/short"
printf ABCDEFGH >"$work/alien"
truncate -s 1M "$work/alien"
alien="not an xvtrace region: it begins with 0x4847464544434241, and is another program's"
misuse "another program's file" 1 "$work/alien: $alien" record -r "$work/alien"
misuse "... region show" 1 "$work/alien: $alien" "$xvtrace" region show "$work/alien"
misuse "... salvage" 1 "$work/alien: $alien" "$xvtrace" salvage -q "$work/alien" -o "$work/t.xvt"
misuse "... /etc/passwd" 1 "/etc/passwd: the file is empty or far too small" record -r /etc/passwd
misuse "... /dev/null" 1 "/dev/null: is not a regular file; a region is one, like those in /dev/shm" record -r /dev/null
misuse "an output that is a folder" 2 "/tmp: is a folder; for numbered files in it give -o /tmp/, for one file -o /tmp/FILE.xvt" "$xvtrace" record -o /tmp -r g="$work/g"
misuse "a size that no PCI device has" 1 "$work/new: --size 3145728: it is a power of two, as the memory of a PCI device is; the next is --size 4096K" region "$work/new" 3M
misuse "an empty file" 1 "$work/empty: the file is empty or far too small" eval ': >"$work/empty"; record -r "$work/empty"'
misuse "a folder" 1 "$work/set: Is a directory" record -r "$work/set"
misuse "no file" 1 "$work/none: No such file or directory; QEMU makes it when it starts, or \`truncate -s 4M $work/none\` does before the guest starts" \
	record -r "$work/none"
misuse "no file of a pattern" 1 "$work/none*: no file matches this pattern" record -r "$work/none*"
misuse "two machines of a name" 2 "g: two machines have this name; give each region one of its own by -r NAME=REGION, and each domain once" \
	record -r g="$work/g" -r g="$work/h"

# -- no recorder
misuse "no recorder" 1 "control socket: no recorder of yours is at work (looked in $XVTRACE_RUN_DIR; --control SOCKET finds one that was started with it)" "$xvtrace" status
misuse "no such socket" 1 "$work/control: cannot connect: No such file or directory" "$xvtrace" status --control "$work/control"

# -- no libvirtd
none="qemu:///system?socket=$work/no-libvirt"
libvirt="cannot connect to libvirt: Failed to connect socket to '$work/no-libvirt': No such file or directory"
if "$xvtrace" guests -c "$none" 2>&1 | grep -q "cannot be loaded"; then
	echo "skip - no libvirtd: libvirt's library is not installed"
else
	misuse "no libvirtd: record" 1 "d: $libvirt; \`xvtrace doctor\` says how, or name its region by -r" record -c "$none" -d d
	misuse "... attach" 1 "d: $libvirt; changing a domain needs root or the group libvirt (\`xvtrace doctor\` says how)" "$xvtrace" attach -c "$none" d
	misuse "... detach" 1 "d: $libvirt; changing a domain needs root or the group libvirt (\`xvtrace doctor\` says how)" "$xvtrace" detach -c "$none" d
fi
misuse "no QMP socket: attach" 1 "$work/qmp: cannot connect: No such file or directory" "$xvtrace" attach --qmp "$work/qmp" d
misuse "... record" 1 "$work/qmp: QEMU's QMP socket: cannot connect: No such file or directory; start QEMU with -qmp unix:$work/qmp,server=on,wait=off" \
	record -r h="$work/h" --qmp h="$work/qmp"

# -- commands
misuse "a command that is misspelt" 2 "stta: no such command; did you mean 'xvtrace stat'?" "$xvtrace" stta
misuse "a command that is like no other" 2 "foo: no such command; 'xvtrace --help' lists them" "$xvtrace" foo

# -- configuration
configured() { printf "$1" >"$work/conf" && timeout 60 "$xvtrace" daemon -c "$work/conf"; }
misuse "an unknown key" 2 "$work/conf: line 2: regoin: no such key; is it 'region'?" configured '# x\nregoin = x\n'
misuse "a key that is like no other" 2 "$work/conf: line 1: foo: no such key" configured 'foo = x\n'
misuse "no configuration" 2 "$work/none: cannot read it: No such file or directory" "$xvtrace" daemon -c "$work/none"
misuse "no number" 2 "$work/conf: line 1: keep-size much: not a size such as 4096, 64K, 16M or 1G" configured 'keep-size = much\n'
misuse "files that cannot be bounded" 2 "$work/conf: line 3: keep-size: it needs rotate-size, of at most a third of it (with compress idle: a quarter)" configured "output = $work/o/\nrotate-size = 64M\nkeep-size = 64M\n"
misuse "... by options" 2 "--keep-size: it needs --rotate-size, of at most a third of it (with --compress idle: a quarter)" "$xvtrace" record -o "$work/o/" --rotate-size 64M --keep-size 64M
misuse "a condition that is none" 2 "$work/conf: line 3: snapshot-when still soon: a condition is: event GLOB [FILTER], like event xvt:text 'text == \"boom\"'; loss [MACHINE]; crash [MACHINE]; or still SECONDS [MACHINE]" \
	configured "output = $work/o/\nsnapshot-when = crash\nsnapshot-when = still soon\n"
misuse "one machine twice" 2 "$work/conf: line 4: region g=$work/h: two machines have this name; give each region one of its own by region NAME=REGION, and each domain once" \
	configured "output = $work/o/\nfollow = no\nregion = g=$work/g\nregion = g=$work/h\n"

# -- a full disk
if [ -n "${XVT_IN_OWN_MOUNTS:-}" ]; then
	mkdir "$work/disk"
	mount -t tmpfs -o size=64K t "$work/disk"
	head -c 65536 /dev/zero >"$work/disk/full"
	misuse "a full disk: record" 1 "$work/disk/t.xvt: writing the trace failed: No space left on device; it is good up to there. Free space on its disk, or write elsewhere by -o" \
		"$xvtrace" record -q -o "$work/disk/t.xvt" --duration 1 --join-timeout 0 -r h="$work/h"
	misuse "... region create" 1 "$work/disk/r: No space left on device; free memory there (df, ls), or give a smaller --size" region "$work/disk/r"
	umount "$work/disk"
else
	echo "skip - a full disk: mounting a small tmpfs is not allowed here"
fi
[ $failures -eq 0 ]
