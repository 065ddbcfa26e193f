#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# machine: tracefs
# shellcheck disable=SC2317
# The text of events, judged by the kernel: an instance of its own and a recorder have the same events
# of the same tasks, and each line of the kernel's `trace` file is in the report. Exceptions are those
# that xvtrace-report(1) lists, each with its reason.
set -u
tracing=/sys/kernel/tracing
# Mount tracefs for this test alone, where it is not mounted.
if [ ! -d $tracing/instances ] && [ -z "${XVT_HOST_MOUNTED-}" ] &&
	unshare -m sh -c "mount -t tracefs t $tracing" 2>/dev/null; then
	XVT_HOST_MOUNTED=1 exec unshare -m sh -c "mount -t tracefs t $tracing && exec \"\$0\"" "$0"
fi
. "$(dirname "$0")/lib.sh"
kernel=$tracing/instances/xvt-text-$$
probes=
recorder=none
at_end() {
	local i

	cleanup
	for i in "$kernel" "$tracing/instances/xvtrace-host-$recorder-"*; do
		[ -d "$i" ] || continue
		echo 0 >"$i/events/enable"
		rmdir "$i"
	done
	[ -n "$probes" ] && echo "-:$probes" >>$tracing/uprobe_events
}
trap at_end EXIT

if ! [ -w $tracing/instances ] || ! grep -q x86-tsc $tracing/trace_clock 2>/dev/null; then
	echo "skip - the kernel's texts: the kernel cannot be traced here"
	exit 0
fi
if ! command -v python3 >/dev/null || ! mkdir "$kernel" 2>/dev/null; then
	echo "skip - the kernel's texts: no python3, or no instance"
	exit 0
fi

# Lists and texts of a probe, whose format the kernel makes.
main=$(nm "$BUILD/xvt-emit" 2>/dev/null | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')
if [ -n "$main" ] && echo "p:xvt_text_$$/probe $(realpath "$BUILD/xvt-emit"):0x$main n=%di:s32 args=+0(%si):u64[2] half=+0(%sp):s16[3] hex=+0(%sp):x32[2] name=+0(+0(%si)):string names=+0(+0(%si)):string[2]" \
	>>$tracing/uprobe_events 2>"$work/err"; then
	probes=xvt_text_$$/probe
else
	echo "# no probe of a program here: $(cat "$work/err" 2>/dev/null)"
fi

echo 0 >"$kernel/tracing_on"
# All systems but those of which every task has thousands a second, or that only a guest's host has, and those of others'
# probes, which may go at any moment.
others=" $(sed -n 's|^[^:]*:\([^/]*\)/.*|\1|p' "$tracing/dynamic_events" 2>/dev/null | grep -vx "xvt_text_$$" | sort -u | tr '\n' ' ')"
events=()
for system in "$tracing"/events/*/; do
	system=$(basename "$system")
	[[ $others != *" $system "* ]] || continue
	case $system in
	ftrace | lock | rcu | irq | irq_vectors | msr | preemptirq | raw_syscalls | syscalls | timer | xen | kvm* | kmem | xhci* | initcall) continue ;;
	esac
	events+=(-H "$system:*")
	echo 1 >"$kernel/events/$system/enable" 2>/dev/null
done
events+=(-H kmem:mm_page_alloc)
echo 1 >"$kernel/events/kmem/mm_page_alloc/enable"
echo 16384 >"$kernel/buffer_size_kb"
check "there are many systems" [ ${#events[@]} -ge 40 ]

# Waits for a line, so that its number is known to the kernel's instance before it does anything. It waits before the
# recorder comes: that has no event of it that the kernel's instance has not.
cat >"$work/provoke" <<'P'
echo >"$1/waits"
read -r _
echo text >"$1/file"; mv "$1/file" "$1/file2"; ln "$1/file2" "$1/file3"; rm "$1/file3"
dd if=/dev/zero of="$1/file2" bs=64k count=8 conv=fsync 2>/dev/null; sync "$1/file2"
cat "$1/file2" >/dev/null; (flock -n 9; kill -USR1 $BASHPID) 9>"$1/lock"
"$2" --help >/dev/null 2>&1
python3 - <<'S'
import ctypes, mmap, os, select, signal, socket, tempfile, threading
for family, a in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    try:
        s = socket.socket(family); s.bind((a, 0)); s.listen(1); port = s.getsockname()[1]
        c = socket.create_connection((a, port)); d, _ = s.accept(); c.sendall(b'x' * 3000)
        d.recv(4000); c.close(); d.close(); s.close()
    except OSError: continue
    try: socket.create_connection((a, port), 1)
    except OSError: pass
    u = socket.socket(family, socket.SOCK_DGRAM); u.bind((a, 0)); u.sendto(b'y', u.getsockname()); u.recv(9)
a, b = socket.socketpair(); a.send(b'z'); b.recv(9)
m = mmap.mmap(-1, 1 << 22); m[5] = 1; m.madvise(mmap.MADV_DONTNEED); m[5] = 1; m.close()
p = select.epoll(); p.register(a, select.EPOLLIN); p.poll(0.01)
t = threading.Thread(target=lambda: None); t.start(); t.join()
signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()
libc = ctypes.CDLL(None); libc.prctl(1499557217, 2, 3, 4, 5); libc.prctl(15, b'a name', 0, 0, 0)
f = tempfile.TemporaryFile(); f.write(b'1' * 99999); f.flush(); os.fsync(f.fileno()); os.ftruncate(f.fileno(), 5)
os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED); os.lockf(f.fileno(), os.F_LOCK, 5)
if os.fork() == 0: os._exit(3)
os.wait()
S
exit 0
P
mkfifo "$work/go"
exec 8<>"$work/go"
bash "$work/provoke" "$work" "$(realpath "$BUILD/xvt-emit")" 2>/dev/null <&8 8>&- &
provoker=$!
pids+=($provoker)
poll test -s "$work/waits"
"$xvtrace" region create "$work/g" --size 256K --rings 2 || exit 1
"$xvtrace" record -q -o "$work/t.xvt" -r "$work/[g]" --host-all --host-buffer 32M "${events[@]}" 2>"$work/err" &
recorder=$!
pids+=($recorder)
traces() {
	local i
	for i in "$tracing/instances/xvtrace-host-$recorder-"*; do
		[ "$(cat "$i/tracing_on" 2>/dev/null)" = 1 ] && [ "$(cat "$i/events/task/enable")" = 1 ]
	done
}
# Each event is switched on by itself, at a cost that grows with the load.
check "the recorder traces" eval 'PATIENCE=600 poll traces'

# Only this task and its children. The recorder has all tasks: the two would not forget one that ends
# in the same moment.
echo 1 >"$kernel/options/event-fork"
# Linux 6.1 leaves texts out where it shows addresses as they are.
hashed=hashed
if printf '6.12\n%s\n' "$(uname -r)" | sort -VC && echo 0 >"$kernel/options/hash-ptr"; then
	hashed=
fi
echo $provoker >"$kernel/set_event_pid"
echo 1 >"$kernel/tracing_on"
echo go >&8
exec 8>&-
wait $provoker
echo 0 >"$kernel/tracing_on"
kill -INT $recorder
wait $recorder
check "recorded: exit 0" [ $? -eq 0 ]
cat "$kernel/trace" >"$work/kernel"
"$xvtrace" report -q --vm host "$work/t.xvt" >"$work/report" 2>"$work/err"
check "there are many texts" [ "$(grep -vc '^#' "$work/kernel")" -ge 500 ]
# Where the kernel lost events of one side, a text may be missing.
share=0
if [ "$("$xvtrace" stat --json "$work/t.xvt" | jq '[.vms[] | select(.kind == "host") | .rings[].lost] | add // 0')" != 0 ] ||
	grep -q 'LOST' "$work/kernel" "$work/report"; then
	echo "# the kernel lost some of the recorder's events"
	share=0.2
fi
python3 tests/cli/kernel_text.py "$work/kernel" "$work/report" "$tracing/available_events" $share $hashed >"$work/judged"
result=$?
grep '^#' "$work/judged"
check "each text is the kernel's ($(tail -n 1 "$work/judged"))" [ $result -eq 0 ]
[ $failures -eq 0 ]
