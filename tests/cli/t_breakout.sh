#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# The table of docs/security.md, attack by attack: what a parser that was taken over tries, and the wall that stops it.
# Each attack is made again without that wall, and succeeds then: so it is this wall that stops it, and the attack is one.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
breakout=$BUILD/tests/tools/xvt-breakout
if ! "$xvtrace" doctor --json | jq -e '.sandbox' >/dev/null; then
	echo "skip - the sandbox: there is none here (libseccomp, the kernel, or a build with sanitizers)"
	exit 77
fi
mkdir "$work/run" "$work/shut"
for region in g p/a/third; do
	mkdir -p "$(dirname "$work/$region")"
	"$xvtrace" region create "$work/$region" --size 256K --rings 1 || exit 1
	"$BUILD/xvt-emit" "$work/$region" --count 100000000 --rate 1000 >/dev/null 2>&1 &
	pids+=($!)
done
"$BUILD/tests/tools/xvt-mktrace" 300 0 "$work/t.xvt" >/dev/null || exit 1
python3 -c 'import socket, sys, time
for kind, path in ((socket.SOCK_DGRAM, "datagrams"), (socket.SOCK_STREAM, "server")):
    s = socket.socket(socket.AF_UNIX, kind); s.bind(sys.argv[1] + "/" + path); globals()[path] = s
server.listen(1000)
abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); abstract.bind("\0" + sys.argv[2]); abstract.listen(1000)
abstract_datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); abstract_datagrams.bind("\0" + sys.argv[2] + "-d")
time.sleep(1000)' "$work" "xvt-breakout-$$" &
pids+=($!)
poll test -S "$work/server"

secret=$work/secret
renew() {
	rm -rf "$work/said" "$work/made" "$work/named" "$work/secret" "$work/q" "$work/q.moved"
	(umask 077 && echo secret >"$secret")
	mkdir -p "$work/q" "$work/r" && cp "$work/g" "$work/q/g" && cp "$secret" "$work/r/g"
}

# tries WITHOUT STAGE HOW ARG COMMAND...: $status, and $said: what the attack says
tries() {
	renew
	status=0
	local target=$work/named begun=$SECONDS
	[ "$3" != "replaced file" ] || target=$secret
	[ "$3" != "replaced folder" ] || target=$work/r
	# Into a file: for the end of a pipe this shell would wait as long as any process lives that the attack has left.
	(ulimit -Sn 256 && XVT_BREAKOUT_WITHOUT=$1 XVT_BREAKOUT_AT=$2 XVT_BREAKOUT=$3 XVT_BREAKOUT_ARG=$4 \
		XVT_BREAKOUT_TARGET=$target timeout -k 10 300 "$breakout" "${@:5}" 2>"$work/said" >/dev/null </dev/null) || status=$?
	said=$(<"$work/said")
	[ $((SECONDS - begun)) -lt 300 ] || status=124 said="it did not end in five minutes: $said"
} 2>/dev/null # the shell's words on a process that was killed
is() { # OUTCOME
	case $1 in
	held) grep -qx held <<<"$said" ;;
	killed) [ $status -eq 159 ] && ! grep -qx escaped <<<"$said" ;;
	ended) [ $status -eq 137 ] && ! grep -qx escaped <<<"$said" ;;
	esac && return
	echo "# $status: $said"
	return 1
}
escaped() { grep -qx escaped <<<"$said" || { echo "# $status: $said"; return 1; }; }

user=xvt_own_user_become # what root's recorder becomes
# wall STAGE OUTCOME WALL HOW ARG TEXT COMMAND...
attacks=0
wall() {
	attacks=$((attacks + 1))
	tries "" "$1" "$4" "$5" "${@:7}"
	check "$6: $2" is "$2"
	tries "$3" "$1" "$4" "$5" "${@:7}"
	check "$6, without $3: it escapes" escaped
}
recorder() { # OUTCOME WALL HOW ARG TEXT
	wall 1 "$@" record -q -o "$work/out" -r g="$work/g" -r q="$work/q/g" -r "$work/p/*/third" --join-timeout 0 --duration 20
}
# behind WALL RULE HOW ARG TEXT: it holds without these rules of the filter, and without a user of its own, and not without
# that wall, too
behind() {
	local command=(record -q -o "$work/out" -r "g=$work/g" --join-timeout 0 --duration 20) away=$2
	[ "$1" = $user ] || away+=" $user"
	attacks=$((attacks + 1))
	tries "$away" 1 "$3" "$4" "${command[@]}"
	check "$5: held" is held
	tries "$away $1" 1 "$3" "$4" "${command[@]}"
	check "$5, without $1: it escapes" escaped
}
reader() { wall 2 "$@" report -q "$work/t.xvt"; }

recorder held ioctl tiocsti "" "input for a terminal"
recorder held ioctl "tiocsti high" "" "the same, with high bits (CVE-2019-10063)"
recorder held ioctl "tioclinux high" "" "input for a console, with high bits"
recorder held ioctl "tiocspgrp high" "" "a terminal's foreground, with high bits"
recorder held ioctl fiosetown "" "signals by a descriptor's owner, by ioctl()"
recorder held fcntl setown "" "signals by a descriptor's owner"
recorder held fcntl "setown high" "" "the same, with high bits"
recorder held fcntl async "" "signals to the owner that a descriptor has"
recorder held "kill $user" kill "" "a signal to another process"
recorder held "kill $user" "kill high" "" "the same, with high bits"
recorder held "tgkill $user" tgkill "" "a signal to another thread"
recorder held "rt_sigqueueinfo $user" sigqueue "" "a signal with a value"
recorder held "pidfd_open $user" pidfd "" "a signal by a descriptor"
recorder held getsockopt "peer pidfd" "" "a descriptor of the process at the end of a socket"
recorder held "prlimit64 $user" prlimit "" "another process's limits"
recorder held "prlimit64 $user" "prlimit high" "" "the same, with high bits"
recorder held "sched_setaffinity xvt_capabilities_keep" affinity "" "another process's CPUs"
recorder held "socketpair sendmsg xvt_isolate" "new datagram" "$work/datagrams" "a datagram to a socket of root's"
recorder held "sendmsg xvt_isolate" sendmsg "$work/datagrams" "the same, by a socket from before"
recorder held "sendmmsg xvt_isolate" sendmmsg "$work/datagrams" "the same, by sendmmsg()"
recorder held "sendto xvt_isolate" sendto "$work/datagrams" "the same, by sendto()"
recorder held sendmsg descriptor "" "a descriptor for another process"
recorder held mmap "own code" "$work/out" "code that it wrote to its output"
recorder held mmap exec "" "executable memory"
recorder held mmap wx "" "memory that is written and run"
recorder held mprotect protect "" "memory that is written, then run"
recorder held clone fork "" "a process that outlives it"
recorder held clone vfork "" "the same, by clone()"
recorder held "inotify_init1 inotify_add_watch xvt_isolate" inotify "$work/shut" "what happens in a folder"
recorder held lgetxattr xattr "$secret" "attributes of a file"
recorder held seccomp filter "" "another filter"
recorder held prctl tracer "" "to be traced by another process"
recorder held "fchmod $user" suid "" "a file that runs as its owner"
recorder held xvt_limit_memory memory "" "memory without end"
recorder held xvt_limit_files files "" "more open files"
recorder killed "execve mmap mprotect arch_prctl xvt_isolate" run "" "a program"
recorder killed "ptrace xvt_capabilities_keep" ptrace "" "to trace another process"
recorder killed "process_vm_readv xvt_capabilities_keep" peek "" "to read another process"
recorder killed io_uring_setup ring "" "a ring that opens files"
recorder killed "symlink xvt_isolate" symlink "$work/made" "a link"
recorder killed "chmod xvt_isolate" mode "$secret" "the mode of a file"
recorder killed "bind xvt_isolate" bind "$work/made" "a socket of its own name"
recorder ended xvt_rules_find write "$secret" "to write a file"
recorder ended xvt_rules_find create "$secret" "to empty a file"
recorder ended xvt_rules_find remove "$secret" "to remove a file"
recorder ended xvt_rules_find rename "$secret" "to rename a file"
recorder ended xvt_rules_find link "$secret" "to give a file another name"
recorder ended xvt_rules_find connect "$work/server" "to connect to a socket"
recorder ended "openat xvt_isolate" write /proc/self/mem "to write its own code"
recorder ended socket inet "" "a socket of a network"
recorder ended xvt_rules_find write "$work/p/a/../../secret" "a path out of a pattern"
recorder held xvt_public_open read "$secret" "to read a file of its user"
recorder held xvt_place_open "replaced file" "$work/q/g" "a region that is replaced by a link"
recorder held xvt_place_open "replaced folder" "$work/q" "a region whose folder is replaced by a link"

if [ "$(uname -m)" = x86_64 ]; then # no rule of a filter is about other architectures
	tries "" 1 x32 "" record -q -o "$work/out" -r g="$work/g" --join-timeout 0 --duration 20
	check "a call of another architecture: killed, with all its threads" is killed
fi

reader held fcntl setown "" "a reader: signals by a descriptor's owner"
reader held fcntl "setown high" "" "a reader: the same, with high bits"
reader held fcntl async "" "a reader: signals to the owner that a descriptor has"
reader held ioctl "tiocsti high" "" "a reader: input for a terminal, with high bits"
reader held mmap exec "" "a reader: executable memory"
reader held prlimit64 prlimit "" "a reader: another process's limits"
reader held prctl tracer "" "a reader: to be traced by another process"
reader killed kill kill "" "a reader: a signal"
reader killed "openat xvt_limit_files_to_open" read "$secret" "a reader: a file"
reader killed "socket xvt_limit_files_to_open" inet "" "a reader: a socket"
reader killed clone vfork "" "a reader: a process"
reader killed "execve mmap mprotect arch_prctl openat access newfstatat set_tid_address set_robust_list rseq prlimit64 xvt_limit_files_to_open" run "" "a reader: a program"

if [ "$(id -u)" -eq 0 ]; then
	chmod 711 "$work"
	# keyed KIND MAKE...: makes one; $made and $key
	keyed() {
		made=$(ipcmk "${@:2}" -p 600 | grep -o '[0-9]*$') && key=$(($(ipcs "$1" | awk -v id="$made" '$2 == id { print $1 }')))
	}
	keyed -q -Q && queue=$made queue_key=$key && keyed -m -M 4096 && segment=$made segment_key=$key &&
		keyed -s -S 1 && semaphore=$made semaphore_key=$key || exit 1
	install -d -m 700 -o nobody "$work/shut" && install -m 600 -o nobody /dev/null "$work/shut/there"
	recorder ended xvt_public_place made "$work/shut/there" "whether a file is there, by mkdir()"
	recorder held xvt_public_open "not there" "$work/shut/not" "whether a file is there, by open()"
	recorder held "xvt_capabilities_keep xvt_isolate" look "$work/shut/there" "to look at a file of another user"
	recorder held empty_root look "$secret" "to look at a file of its own user"
	recorder held xvt_public_open look "$secret" "the same, which not every user may read"
	recorder held empty_root look "/proc/$$/environ" "to look at a file of another process"
	recorder held empty_root look "/proc/self/../$$/environ" "the same, from its own folder"
	recorder held xvt_place_open look "/proc/self/../$$/environ" "the same, as the opener opens it"
	# What a fault of the filter would give: each of these is made without the rule that stops it before.
	behind empty_root openat read "$secret" "without the filter's wall: to read a file of its user"
	behind empty_root "openat creat" create "$secret" "the same: to empty a file"
	behind empty_root unlink remove "$secret" "the same: to remove a file"
	behind empty_root "openat xvt_capabilities_keep" read "$work/shut/there" "the same, with root's capabilities: to read a file of another user"
	behind empty_root connect connect "$work/server" "the same: to connect to a socket by its path"
	behind net_namespace connect abstract "xvt-breakout-$$" "the same: to connect to a socket by its abstract name"
	behind net_namespace "sendto socketpair" "abstract datagram" "xvt-breakout-$$-d" "the same: a datagram to an abstract name"
	behind ipc_namespace msgget queue "$queue_key" "the same: a message queue of its user"
	behind ipc_namespace shmget segment "$segment_key" "the same: shared memory of its user"
	behind ipc_namespace semget semaphore "$semaphore_key" "the same: semaphores of its user"
	behind empty_root "openat xvt_capabilities_keep" read "/proc/$$/environ" "the same: to read another process's environment by its path"
	behind empty_root "openat xvt_capabilities_keep" read "/proc/$$/root/etc/hostname" "the same: to leave by the root of another process"
	# What its user keeps it from, with a fault of the filter, and without the empty root.
	behind $user kill kill "" "the same: a signal to a process of root"
	behind $user tgkill tgkill "" "the same: a signal to a thread of root's"
	behind $user rt_sigqueueinfo sigqueue "" "the same: a signal with a value"
	behind $user pidfd_open pidfd "" "the same: a signal by a descriptor"
	behind $user prlimit64 prlimit "" "the same: limits of a process of root"
	behind $user setresuid root "" "the same: to be root again"
	behind $user fchmod "mode of stderr" "" "the same: the mode of a file of root, by a descriptor"
	behind $user "openat empty_root" read "$secret" "in the host's root: to read a file of root"
	behind $user "openat empty_root" write "$secret" "the same: to write one"
	behind $user "openat empty_root" write /proc/self/fd/2 "the same: to write one that it has open, by its descriptor's path"
	behind $user "openat creat empty_root" create "$secret" "the same: to empty one"
	behind $user "unlink empty_root" remove "$secret" "the same: to remove one"
	behind $user "connect empty_root" connect "$work/server" "the same: to connect to a socket of root"
	behind $user "chmod empty_root" mode "$secret" "the same: the mode of a file of root"
	behind $user "msgget ipc_namespace" queue "$queue_key" "in the host's IPC: a message queue of root"
	behind $user "shmget ipc_namespace" segment "$segment_key" "the same: shared memory of root"
	behind $user "semget ipc_namespace" semaphore "$semaphore_key" "the same: semaphores of root"
	recorder killed "unshare xvt_capabilities_keep" unshare "" "a namespace"
	ipcrm -q "$queue" -m "$segment" -s "$semaphore" || exit 1
	recorder killed "chroot xvt_capabilities_keep" chroot "" "another root"
else
	echo "skip - files of other users: not root here"
fi
check "attacks: 30 or more, here $attacks" test $attacks -ge 30
[ $failures -eq 0 ]
