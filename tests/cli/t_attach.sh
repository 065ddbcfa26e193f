#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# slow: not in make check
# shellcheck disable=SC2317
# The file of a region that is plugged into a QEMU: who may read it, and what becomes of it when the machine ends. The
# machines have no guest. tests/vm/t18_attach.sh and t19_attach_by_qmp.sh have guests, and libvirt.
set -u
. "$(dirname "$0")/lib.sh"
if ! command -v qemu-system-x86_64 >/dev/null; then
	echo "skip - regions of QEMU: qemu-system-x86_64 not found"
	exit 77
fi
trap cleanup EXIT
export XVTRACE_SHM_DIR=$work
qmp=$work/qmp region=$work/xvtrace-m
umask 022
machine() {
	qemu-system-x86_64 -machine pc -S -display none -qmp "unix:$qmp,server=on,wait=off" >"$work/qemu.err" 2>&1 &
	qemu=$!
	pids+=("$qemu")
	disown $qemu
	poll listens "$qmp" || sed 's/^/# /' "$work/qemu.err"
}
ends() {
	kill -KILL $qemu
	poll eval '! kill -0 $qemu 2>/dev/null'
	rm -f "$qmp"
}
attach() { timeout 60 "$xvtrace" attach m --qmp "$qmp" "$@" 2>"$work/err"; }
detach() { timeout 60 "$xvtrace" detach m --qmp "$qmp" 2>"$work/err"; }
shows() { # REGULAR-EXPRESSION: the one line on standard error
	[ "$(wc -l <"$work/err")" -eq 1 ] && grep -qE -- "^xvtrace: $1$" "$work/err" && return
	sed 's/^/# /' "$work/err"
	return 1
}

# memory: the id of the region in QEMU
memory() {
	python3 - "$qmp" <<'PY' | grep -o '"xvtrace-memory-[^"]*"'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile("rw")
for do in '{"execute": "qmp_capabilities"}', '{"execute": "qom-list", "arguments": {"path": "/objects"}}':
    f.write(do + "\n")
    f.flush()
    while "return" not in (line := f.readline()):
        pass
print(line)
PY
}

machine
check "QEMU refuses the first device" eval '! attach --bus no-such-bus && shows ".*no-such-bus.*"'
check "and has no memory of it" eval '[ -z "$(memory)" ]'
check "a region is plugged in" attach --timeout 0
first=$(memory)
check "QEMU has one memory of it" [ "$(wc -w <<<"$first")" = 1 ]
check "not a second one" eval '! timeout 60 "$xvtrace" attach other --qmp "$qmp" 2>"$work/err" && shows ".*has a region by xvtrace attach already" && [ "$(memory)" = "$first" ] && [ ! -e "$work/xvtrace-other" ]'
check "its user and group may read it, and no other" test "$(stat -c %a "$region")" = 660
check "what is in use is not taken for a file that was left" eval '! attach && shows "m: .*/xvtrace-m is there already: .*"'
inode=$(stat -c %i "$region")
ends
check "the machine ends, and its file is left" test -e "$region"
machine
check "another size is not taken" eval '! attach --size 2M && shows "m: .*/xvtrace-m is there already: .*"'
check "QEMU refuses the device" eval '! attach --bus no-such-bus && shows ".*no-such-bus.*"'
check "the file that was left is still there" test "$(stat -c %i "$region")" = "$inode"
ends
machine
check "the machine of that name takes its file again" eval 'attach --timeout 0 || ! sed "s/^/# /" "$work/err"'
# QEMU aborts when memory comes whose name it has not quite freed.
check "under another id" eval '[ -n "$(memory)" ] && [ "$(memory)" != "$first" ]'
check "it is that file" test "$(stat -c %i "$region")" = "$inode"
ends
check "detach removes what a machine has left whose socket is gone" detach
check "nothing is left" test ! -e "$region"
check "detach says so where nothing is left" eval '! detach && shows "m: .*"'

# A guest's generation that was left is none of the next guest.
machine
"$xvtrace" region create "$region" --size 16M --rings 1 --overwrite
"$BUILD/xvt-emit" "$region" --rings 1 --count 10 >/dev/null
check "an older guest's region is not the new guest's" eval '! attach --timeout 0.2 && shows "m: the region .* its guest has not formatted it: .*"'
ends
check "the last one is removed, too" eval 'detach && [ ! -e "$region" ]'
[ $failures -eq 0 ]
