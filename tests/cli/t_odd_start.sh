#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: tracefs
# slow: not in make check
# shellcheck disable=SC2317
# Programs that are started in a way that nobody means: without descriptors 0, 1 or 2, as supervisors and `2>&-` do; on
# a host whose tracefs is at another place, as containers bind it; with a region that QEMU cannot open, or does not share.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run

# -- tracefs at another place; in a mount namespace of its own

# host_recorded: the recorder ends well, and has events of the host. A busy host may have none to show of so short a time.
host_recorded() {
	local try
	for try in 1 2 3 4 5; do
		rm -f "$work/h.xvt"
		(
			echo $BASHPID >>"$work/recorders"
			exec "$xvtrace" record -q -o "$work/h.xvt" -r p="$work/h" --host sched --host-all --join-timeout 0 -- \
				"$BUILD/xvt-emit" "$work/h" --rings 1 --count 100 --rate 500
		) >/dev/null 2>"$work/err" || break
		"$xvtrace" stat --json "$work/h.xvt" | jq -e '[.vms[] | select(.kind == "host").rings[].events] | add > 0' \
			>"$work/out" && return
	done
	sed "s/^/# try $try: /" "$work/err" | cut -c 1-200
	return 1
}
no_such_event() { # FOLDER: where the kernel's events are
	"$xvtrace" record -q -o "$work/h.xvt" -r p="$work/h" -H sched:no_such --join-timeout 0 -- true 2>"$work/err"
	grep -qF "its events are the folders in $1/events" "$work/err"
}
unmount_all() {
	local type=$1 at
	while at=$(awk -v type="$type" '$3 == type { print $2; exit }' /proc/self/mounts) && [ -n "$at" ]; do
		umount -l "$(printf '%b' "$at")" || return 1
	done
}
tracefs_moves() {
	# Never below $work, which is removed at the end with all that is in it.
	local usual=/sys/kernel/tracing at=/mnt
	local other="$at/it is [here]"
	mount --make-rprivate / && unmount_all debugfs && unmount_all tracefs &&
		mount -t tmpfs t $at && mkdir "$other" $at/part $at/debug || return 1
	"$xvtrace" region create "$work/h" --size 1M --rings 1 || return 1
	"$xvtrace" doctor >"$work/out"
	check "doctor says that it is not mounted" grep -q 'tracefs is not mounted' "$work/out"
	mount -t tracefs t "$other"
	if ! grep -q x86-tsc "$other/trace_clock" || ! [ -w "$other/instances" ]; then
		echo "skip - tracefs at another place: the kernel cannot be traced here"
		return
	fi
	check "only at another place, with blanks and brackets" host_recorded
	check "what has no such event is there" no_such_event "$other"
	"$xvtrace" doctor >"$work/out"
	check "doctor finds it" eval '! grep -q "tracefs is not mounted" "$work/out"'
	mount -t tracefs t $usual
	check "there, and at the usual place" host_recorded
	check "the usual one is taken" no_such_event $usual
	mount -o remount,bind,ro $usual
	check "the usual one is read-only" host_recorded
	umount $usual
	umount "$other"
	mount -t tracefs t $usual
	check "only at the usual place" host_recorded
	mount --bind $usual/events $at/part
	umount $usual
	mount -t tracefs t "$other"
	check "a part of it is mounted before it" host_recorded
	umount $at/part "$other"
	mount -t debugfs d $at/debug
	check "only in a debugfs at another place" host_recorded
	# Other recorders of this host have theirs.
	while read -r recorder; do
		find $at/debug/tracing/instances -maxdepth 1 -name "xvtrace-host-$recorder-*"
	done <"$work/recorders" >"$work/left"
	check "no instance is left" eval '[ -s "$work/recorders" ] && [ ! -s "$work/left" ]'
}
if [ "${1-}" = tracefs ]; then
	tracefs_moves || failures=1
	[ $failures -eq 0 ]
	exit
fi
if unshare -m true 2>/dev/null; then
	unshare -m "$0" tracefs || failures=1
else
	echo "skip - tracefs at another place: no mount namespaces here"
fi

# -- a region that another user's QEMU opens

opens() { # USER: can open the region for writing
	setpriv --reuid "$1" --regid 65534 --clear-groups bash -c ': <>"$1"' - "$work/o" 2>/dev/null
}
create() { rm -f "$work/o" && "$xvtrace" region create "$work/o" --size 1M --rings 1 "$@" 2>"$work/err"; }
failed() { # LINE OPTION...: no file is left
	local line="xvtrace: $work/o: $1"
	shift
	! create "$@" && [ ! -e "$work/o" ] && [ "$(cat "$work/err")" = "$line" ]
}
if [ "$(id -u)" = 0 ]; then
	chmod 711 "$work"
	check "a region is made for root" create
	check "another user cannot open it" eval '! opens 65533'
	check "it is made for that user" create --owner 65533
	check "who can open it" opens 65533
	check "with a group" create --owner 0:65534
	check "whose users can open it" opens 65533
	check "by names" eval 'create --owner nobody:tty && [ "$(stat -c "%U %G %a" "$work/o")" = "nobody tty 660" ]'
	mode() { stat -c "%U %G %a" "$work/o"; }
	check "a group alone" eval 'create --group tty && [ "$(mode)" = "root tty 660" ]'
	check "a group by its number" eval 'create --group 65534 && opens 65533'
	check "no other user may read it, whatever the umask" eval '(umask 0 && create) && [ "$(stat -c %a "$work/o")" = 600 ]'
	check "... nor with a user" eval '(umask 0 && create --owner nobody) && [ "$(stat -c "%U %a" "$work/o")" = "nobody 600" ]'
	check "no such group of --group" failed "--group no-one: there is no group 'no-one'" --group no-one
	check "two groups" failed "--group tty: --owner root:tty names a group, too" --owner root:tty --group tty
	check "no such user" failed "--owner no-one: there is no user 'no-one'" --owner no-one
	check "no such group" failed "--owner root:no-one: there is no group 'no-one'" --owner root:no-one
	mkdir -m 777 "$work/theirs"
	check "only root gives it away" eval '! setpriv --reuid 65533 --regid 65534 --clear-groups "$xvtrace" region create "$work/theirs/o" \
		--size 1M --rings 1 --owner 0 2>"$work/err" && [ ! -e "$work/theirs/o" ]'
	check "and it is told" grep -q -- '--owner: Operation not permitted; only root gives files away: run as root' "$work/err"
else
	echo "skip - regions of other users: not root"
fi

# -- memory that QEMU does not share: the region stays blank, and the guest's log says that all is well

truncate -s 1M "$work/private"
"$xvtrace" record -o "$work/t.xvt" -r g="$work/private" --join-timeout 0.1 --duration 0.2 2>"$work/err"
check "record names share=on for a region that nobody formats" grep -q 'g: warning: not there in time; .*share=on' "$work/err"
check "the line is whole" grep -q '(docs/guest.md)$' "$work/err"
"$xvtrace" snapshot -o "$work/t.xvt" -r g="$work/private" 2>"$work/err"
check "snapshot, too" grep -q 'share=on' "$work/err"
check "region show, too" eval '! "$xvtrace" region show "$work/private" 2>"$work/err" && grep -q "share=on" "$work/err"'

cat >"$work/copy.py" <<'END'
import mmap, sys, time
f = open(sys.argv[1], "r+b")
m = mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE if sys.argv[2] == "private" else mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE)
open(sys.argv[3], "w").close()
time.sleep(1000)
END
maps() { # private|shared: a process that has mapped the region so; its pid is $mapper
	rm -f "$work/mapped"
	python3 "$work/copy.py" "$work/private" "$1" "$work/mapped" &
	mapper=$!
	pids+=($mapper)
	poll test -e "$work/mapped"
}
maps private
"$xvtrace" record -o "$work/t.xvt" -r g="$work/private" --join-timeout 0.1 --duration 0.2 2>"$work/err"
check "a copy that a process has mapped is told" grep -q "g: warning: not there in time; going on without it. Process $mapper has mapped a copy of its region, .*needs share=on (docs/guest.md)\$" "$work/err"
kill $mapper
maps shared
"$xvtrace" record -o "$work/t.xvt" -r g="$work/private" --join-timeout 0.1 --duration 0.2 2>"$work/err"
check "not of one that shares it" eval '! grep -q "mapped a copy" "$work/err" && grep -q "needs share=on" "$work/err"'
kill $mapper

# -- descriptors that are closed: as with /dev/null there

# closed REDIRECTIONS COMMAND...: runs it so
closed() {
	local to=$1
	shift
	timeout -k 1 120 bash -c 'exec "$@" '"$to" - "$@" 2>"$work/bash.err"
}
recorded() { # REDIRECTIONS OPTION...
	local to=$1
	shift
	rm -f "$work/r" "$work/r.xvt"
	"$xvtrace" region create "$work/r" --size 1M --rings 1 || return 1
	closed "$to" "$xvtrace" record "$@" -o "$work/r.xvt" -r p="$work/r" -- "$BUILD/xvt-emit" "$work/r" --rings 1 --count 800 || return 1
	"$xvtrace" verify "$work/r.xvt" >/dev/null && adds_up "$work/r.xvt" 800
}
check "all three open to /dev/null" recorded '</dev/null >/dev/null 2>/dev/null'
check "0, 1 and 2 closed" recorded '<&- >&- 2>&-'
check "0, 1 and 2 closed, and quiet" recorded '<&- >&- 2>&-' -q
check "0 and 1 closed" recorded '<&- >&-'
check "0 closed" recorded '<&-'
check "1 closed" recorded '>&-'
check "2 closed" recorded '2>&-'
cp "$work/r.xvt" "$work/kept.xvt"
for command in stat verify report; do
	check "$command with 0, 1 and 2 closed" closed '<&- >&- 2>&-' "$xvtrace" $command "$work/r.xvt"
	check "the trace is as it was" cmp -s "$work/r.xvt" "$work/kept.xvt"
done
check "export with 0, 1 and 2 closed" closed '<&- >&- 2>&-' "$xvtrace" export --format perfetto "$work/r.xvt" "$work/closed.pb"
"$xvtrace" export --format perfetto "$work/r.xvt" "$work/open.pb"
check "writes what it writes else" cmp "$work/closed.pb" "$work/open.pb"
closed '2>&-' "$xvtrace" report "$work/none.xvt"
check "a failure is one without a descriptor for its message" test $? -eq 1

# A program's messages on a descriptor that is closed do not go into the region.
"$xvtrace" region create "$work/g" --size 1M --rings 1
"$BUILD/xvt-emit" "$work/g" --rings 1 --count 1000000000 <&- >&- 2>&- &
emit=$!
pids+=("$emit")
region_fds() {
	find "/proc/$emit/fd" -lname "$work/g" -printf '%f\n' >"$work/fds" 2>/dev/null
	[ -s "$work/fds" ] && ! grep -qx '[012]' "$work/fds"
}
check "a writer's region is never descriptor 0, 1 or 2" poll region_fds
kill -KILL $emit
wait $emit 2>/dev/null
[ $failures -eq 0 ]
