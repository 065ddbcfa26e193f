#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2016,SC2317
# Trouble as a user meets it: what is typed, the answer, the exit status. tests/README.md lists all
# kinds with the test of each; here are those that no other test has.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR" "$work/here"
xvtrace=$(realpath "$xvtrace") emit=$(realpath "$BUILD/xvt-emit") tools=$(realpath "$BUILD")/tests/tools top=$PWD
cd "$work/here" || exit 1
"$xvtrace" region create g --size 1M --rings 1 && "$tools/xvt-mktrace" 300 0 made.xvt >/dev/null || exit 1

# answers TEXT STATUS LINE COMMAND...: that exit status, and LINE, a pattern, is on stderr; an empty one: nothing is
answers() {
	local text=$1 status=$2 line=$3 rc
	shift 3
	timeout 100 "$@" >out 2>err </dev/null
	rc=$?
	if [ $rc -eq "$status" ] && if [ -n "$line" ]; then grep -qE -- "$line" err; else [ ! -s err ]; fi; then
		echo "ok - $text: $rc${line:+, $(grep -E -m 1 -- "$line" err | cut -c 1-110)}"
		return
	fi
	sed "s/^/# exit $rc: /" err
	echo "not ok - $text"
	failures=$((failures + 1))
}
record() { answers "$1" "$2" "$3" "$xvtrace" record -q -o t.xvt -r g=g --join-timeout 0 "${@:4}"; }

# -- 8: libvirt cannot be asked: the files of the host are listed all the same
check "guests without libvirt: the regions of the host" eval 'LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none" "$xvtrace" guests >out 2>err'
check "... and why there are no domains" eval 'cat out err | grep -q "^libvirt.s domains are not listed: "'

# -- 10: the guest's tool without the module (with it, and without a device: tests/vm/t25_device.sh)
if [ -x "$top/$BUILD/guest/bin/xvt-guest" ] && [ ! -e /sys/module/xvtrace ] && grep -q tracefs /proc/self/mounts; then
	answers "xvt-guest sync without the module" 1 '^xvt-guest: no region: the module xvtrace is not loaded: modprobe xvtrace$' "$top/$BUILD/guest/bin/xvt-guest" sync
else
	echo "skip - xvt-guest sync without the module: make guest builds it, and it needs a tracefs"
fi

# -- 12: events of the host
record "a preset that there is not" 2 '^xvtrace: nosuch: --host is one of sched\|vcpu\|irq\|' --host nosuch
if [ "$(id -u)" = 0 ] && unshare -m mount -t tracefs t /mnt 2>/dev/null; then
	record "an event that the host has not" 2 '^xvtrace: record: sched:no_such: this host.s kernel has no such event; its events are the folders in /.*/events$' -H sched:no_such
else
	echo "skip - an event that the host has not: the kernel cannot be traced here"
fi

# -- 13, 14: a command
record "a command without --" 2 '^xvtrace: sleep: not an option; a command to run comes after --$' sleep 1
record "-- without a command" 2 '^xvtrace: --: no command follows; give one to run, or leave -- out$' --
record "a command that is not there" 1 '^xvtrace: \./none: cannot run it: No such file or directory$' -- ./none
check "... said once" [ "$(grep -c none err)" = 1 ]
record "a command that fails" 1 '^xvtrace: sh: the command failed with exit status 3$' -- sh -c '"$0" g --count 10 >/dev/null; exit 3' "$emit"
record "a command that is killed" 1 '^xvtrace: sh: the command ended by signal 9 \(Killed\)$' -- sh -c '"$0" g --count 10 >/dev/null; kill -9 $$' "$emit"
check "... the trace is whole" "$xvtrace" verify -q t.xvt
record "one that does well" 0 '' -- "$emit" g --count 10

# -- 15: headers of a kernel
headers() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top" guest-module KDIR="$work/none" BUILD="$work/build"; }
export -f headers
export top work
answers "headers that are not there" 2 "^KDIR=$work/none: no such folder; install the kernel's headers, or give KDIR\$" bash -c headers

# -- 17, 18: the recorder is stopped, and ended twice
ended() { # STATUS
	poll test -s status && grep -qx "$1" status
}
"$xvtrace" region create b --size 64K --rings 1
"$emit" b --count 1000000000 --rate 20000 >/dev/null 2>&1 &
pids+=($!)
supervised() { # the recorder's exit status goes into a file
	(
		trap - INT
		"$xvtrace" record "$@" --control ctl 2>err &
		echo $! >pid
		wait $!
		echo $? >status
	) 2>/dev/null &
	poll eval '"$xvtrace" status --json --control ctl 2>/dev/null | jq -e ".recorders[0].events > 100" >/dev/null' || return 1
	recorder=$(cat pid)
	pids+=("$recorder")
}
check "a recorder is at work" supervised -q -o held.xvt -r b=b
full() { "$xvtrace" region show --json b | jq -e '[.rings[].lost_by.full] | add > 1000' >/dev/null; }
freeze "$recorder"
check "stopped: its ring runs full" poll full
kill -CONT "$recorder"
check "it goes on" poll eval '"$xvtrace" status --json --control ctl 2>/dev/null | jq -e ".recorders[0].lost > 1000" >/dev/null'
kill -INT "$recorder"
kill -INT "$recorder"
check "^C twice: it ends in order" ended 0
check "... the trace is whole" "$xvtrace" verify -q held.xvt
sums() { "$xvtrace" stat --json held.xvt | jq -e '.cleanly_ended and .attempted == .events + .discarded + .lost and .lost > 1000' >/dev/null; }
check "... each event is in it or counted" sums
check "... report tells where" eval '"$xvtrace" report -q -e lost held.xvt | grep -q " LOST "'


# -- 20, 23, 31: how numbers, times and names are written
made() { answers "$1" "$2" "$3" "$xvtrace" report -q "${@:4}" made.xvt; }
made "a time with a comma" 2 "^xvtrace: 4000,5: not a time; give seconds such as 12\\.5, .*, -0\\.5 from its end, or a time of day" --from 4000,5
made "no time" 2 "^xvtrace: gestern: not a time; " --from gestern
made "no number" 2 "^xvtrace: report: --limit viel: not a number such as 20, or -20 for the last 20; " -n viel
check "another locale changes nothing" eval 'cmp <("$xvtrace" report -q made.xvt) <(LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 "$xvtrace" report -q made.xvt)'
record "no compression level" 2 "^xvtrace: --compress: give a level, 1 \\(quick\\) to 19 \\(small\\), or idle" --compress 20
record "no size" 2 "^xvtrace: record: --max-size viel: not a size such as 4096, 64K, 16M or 1G; " --max-size viel
record "no duration" 2 "^xvtrace: record: --duration much: not seconds such as 2 or 0\\.5, " --duration much
odd="mein ordner ü"
mkdir "$odd"
check "a folder and a region with a blank and an umlaut" "$xvtrace" region create "$odd/g ö" --size 1M --rings 1
answers "... recorded" 0 "" "$xvtrace" record -q -o "$odd/t ä.xvt" -r g="$odd/g ö" -- "$emit" "$odd/g ö" --count 10
for command in report stat verify summary; do
	answers "... $command" 0 "" "$xvtrace" $command "$odd/t ä.xvt"
done
named() { answers "$1" "$2" "$3" "$xvtrace" record -q -o t.xvt --join-timeout 0 "${@:4}"; }
named "a machine with a blank and an umlaut" 0 "^xvtrace: note: machine 'g ä' is called g___ in the trace; --vm takes both$" -r 'g ä=g' -- "$emit" g --count 10
for name in 'g ä' g___; do
	check "... --vm '$name'" eval '[ "$("$xvtrace" report -q --vm "$name" t.xvt | wc -l)" -eq 10 ]'
	check "... left out by --vm '!$name'" eval '! "$xvtrace" report -q --vm "!$name" t.xvt >out 2>err && grep -q "leaves out all machines" err'
	answers "... trim" 0 '' "$xvtrace" trim -q --vm "$name" -o part.xvt t.xvt
done
named "the name of a file" 0 "^xvtrace: note: machine 'g ö' is called g___ in the trace" -r "$odd/g ö" -- "$emit" "$odd/g ö" --count 10
named "a pattern of files" 0 "^xvtrace: note: machine 'g ö' is called g___ in the trace" -r "./*/g ?*" -- "$emit" "$odd/g ö" --count 10
named "two names that are one in the trace" 2 "^xvtrace: g_b: two machines have this name; " -r 'g b=g' -r "g_b=$odd/g ö"
named "a clock that is trusted, in the other spelling" 0 "^xvtrace: note: machine 'g ä'" -r 'g ä=g' --trust-guest-clock g___ -- "$emit" g --count 10
answers "salvage under such a name" 0 "^xvtrace: note: machine 'g ä' is called g___ in the trace" "$xvtrace" salvage -q -n 'g ä' -o s.xvt g

# -- 22: a pipe whose reader has gone
check "a pipe into head: quiet, 141" eval '"$xvtrace" report -q made.xvt 2>err | head -n 1 >out; [ "${PIPESTATUS[0]}" -eq 141 -o "${PIPESTATUS[0]}" -eq 0 ] && [ ! -s err ]'

# -- 26 to 28: exports, and what is no trace
export_() { answers "$1" "$2" "$3" "$xvtrace" export -q "${@:4}"; }
export_ "the old spelling of --format" 0 "" --to ctf made.xvt ctf
export_ "a folder that exists" 1 "^xvtrace: ctf: is not empty; name a directory that does not exist yet$" --format ctf made.xvt ctf
export_ "a trace of Perfetto is written" 0 "" --format perfetto made.xvt x.pftrace
for command in report stat verify summary; do
	answers "$command of a trace of Perfetto" 1 "^xvtrace: x.pftrace: .*(is not an xvtrace trace|magic)" "$xvtrace" $command x.pftrace
	answers "$command of a folder without a trace" 1 "^xvtrace: ctf: is a directory without files of a trace, like 00000001.xvt" "$xvtrace" $command ctf
done
# A folder that is no trace but has some: of a set whose files are gone, and of its snapshots.
mkdir -p set/snapshots/2026-1-crash set/snapshots/2026-2-still set/snapshots/none
for name in 2026-1-crash 2026-2-still; do cp made.xvt set/snapshots/$name/00000001.xvt; done
for command in report stat verify summary "report -f" "trim -o part.xvt"; do
	for folder in set set/ set/snapshots; do
		answers "$command of $folder: what is in it" 1 "give one of the traces in it: set/+snapshots/2026-2-still, set/+snapshots/2026-1-crash$" "$xvtrace" $command $folder
	done
done
cp made.xvt set/00000001.xvt
for command in report stat summary; do
	answers "$command of a set with snapshots: the newest" 0 "^xvtrace: note: this set has snapshots, .*the newest: 'xvtrace $command set/snapshots/2026-2-still'$" "$xvtrace" $command set/
	answers "... not with -q" 0 '' "$xvtrace" $command -q set
done
cd "$top" || exit 1
[ $failures -eq 0 ]
