#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# machine: libvirt and tracefs
# shellcheck disable=SC2317
# A parser that a hostile trace has taken over (tests/tools/xvt-escape.c) opens nothing, runs nothing and reaches no
# network: the process ends by SIGSYS, or the call fails. Output is the same with and without the sandbox.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
trace=$work/t.xvt
escape=$BUILD/tests/tools/xvt-escape
KILLED=$((128 + 31)) # SIGSYS

"$BUILD/tests/tools/xvt-mktrace" 300 0 "$trace" >/dev/null || exit 1
if ! "$xvtrace" doctor --json | jq -e '.sandbox' >/dev/null; then
	echo "skip - the sandbox: there is none here (libseccomp, the kernel, or a build with sanitizers)"
	exit 77
fi

# tries HOW STAGE COMMAND...: the exit status of COMMAND, whose parser tries HOW; what became of it is in $work/err
tries() {
	rm -rf "$work/out" "$work/made"
	XVT_ESCAPE=$1 XVT_ESCAPE_STAGE=$2 XVT_ESCAPE_PATH=$work/made "$escape" "${@:3}" >/dev/null 2>"$work/err"
} 2>/dev/null # the shell's words on a process that was killed

# A library that is damaged.
stub() {
	mkdir -p "$work/stub"
	: >"$work/stub/$(strings -a "$xvtrace" | grep -m 1 '^libseccomp\.so')"
}

killed() {
	tries "$@"
	local status=$?
	[ $status -eq $KILLED ] && [ ! -s "$work/err" ] && [ ! -e "$work/made" ] && return
	echo "# exit status $status: $(cat "$work/err")"
	return 1
}

made() {
	tries "$@" && grep -qx escaped "$work/err" && [ -e "$work/made" ]
}

held() {
	tries "$@" && grep -qx held "$work/err" && [ ! -e "$work/made" ]
}

# all TEXT COMMAND...: what holds of each command whose output is no folder
all() {
	local how text=$1
	shift
	for how in socket run fork; do
		check "$text: $how while the trace is opened: killed" killed $how 1 "$@"
		check "$text: $how later: killed" killed $how 2 "$@"
	done
	check "$text: a file to read: killed" killed read 2 "$@"
	check "$text: a file to write: killed" killed write 2 "$@"
	check "$text: a folder: killed" killed make 2 "$@"
	check "$text: executable memory: refused" held exec 2 "$@"
}
all report report -q "$trace"
if "$xvtrace" --version | grep -q '+sqlite'; then
	all query query -q "$trace" 'SELECT count(text) FROM events'
fi
all stat stat "$trace"
all verify verify "$trace"
all export export -q --format jsonl "$trace" "$work/out"
all order order -o "$work/out" "$trace"
check "order: a file is made while the trace is opened: so the stage is the one meant" made make 1 order -o "$work/out" "$trace"
check "report: no further descriptor when all files are open" held files 2 report -q "$trace"
check "so is stat's, without libseccomp" eval 'stub && LD_LIBRARY_PATH=$work/stub held files 2 stat "$trace"'
check "but it may have them while it opens a trace" eval 'tries files 1 report -q "$trace" && grep -qx escaped "$work/err"'
limit() { # WORDS PID: the limit of that name in /proc, both values
	sed -n "s/^$1 *\([^ ]*\) *\([^ ]*\).*/\1 \2/p" "/proc/$2/limits"
}
limited() { [ "$(limit "$1" "${pids[-1]}")" = "$2" ]; }
(
	ulimit -Sc unlimited 2>/dev/null
	exec env XVT_ESCAPE=wait XVT_ESCAPE_STAGE=2 "$escape" report -q "$trace" >/dev/null
) &
pids+=($!)
check "report leaves no core" poll limited "Max core file size" "1 1"
kill "${pids[-1]}"
check "report: a file to write while the trace is opened: refused" held write 1 report -q "$trace"
check "export to a folder: a socket: killed" killed socket 1 export -q --format ctf "$trace" "$work/out"
check "order: a file that runs as its owner: refused" held suid 1 order -o "$work/out" "$trace"
check "export to a folder: executable memory: refused" held exec 1 export -q --format ctf "$trace" "$work/out"

# A region that a guest left, with 200 events. A checksum is first taken when it is open.
region=$work/region
"$xvtrace" region create "$region" --size 1M --rings 1 --overwrite && "$BUILD/xvt-emit" "$region" --count 200 >/dev/null || exit 1
for loop in io_uring epoll; do
	export XVTRACE_LOOP=$loop
	if [ $loop = io_uring ] && ! "$xvtrace" salvage -q "$region" -o "$work/by" 2>/dev/null; then
		echo "skip - salvage by io_uring: it is refused here"
		continue
	fi
	for how in socket run fork read write make setup; do
		check "salvage by $loop: $how: killed" killed $how 2 salvage "$region" -o "$work/out"
	done
	check "salvage by $loop: executable memory: refused" held exec 2 salvage "$region" -o "$work/out"
	[ $loop = epoll ] || check "salvage: the loop's ring opens no file" held ring 2 salvage "$region" -o "$work/out"
	events() { "$xvtrace" report -q "$1" | sed 's/^ *[0-9.]* //'; } # two salvages date them differently
	salvages() {
		rm -rf "$work/s" "$work/free"
		"$xvtrace" salvage -q "$region" -o "$work/$1" && XVTRACE_SANDBOX=off "$xvtrace" salvage -q "$region" -o "$work/free" &&
			cmp <(events "$work/$1") <(events "$work/free") && [ "$(stat_sum "$work/$1" events)" = 200 ]
	}
	check "salvage by $loop is the same" salvages s
	check "salvage by $loop to a folder, too" salvages s/
done
unset XVTRACE_LOOP
removed() { ! "$xvtrace" salvage -q "$trace" -o "$work/none" 2>"$work/err" && [ ! -e "$work/none" ] && [ "$(wc -l <"$work/err")" -eq 1 ]; }
check "salvage of what is no region: one line, and no output is left" removed

# A recorder runs nothing, looks into no process and loads nothing into the kernel. Another process opens files for it,
# those that it has business with. What it wrote before it was stopped can be read.
export XVTRACE_RUN_DIR=$work/run
"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1
cp "$work/g" "$work/h"
for region in g h; do
	"$BUILD/xvt-emit" "$work/$region" --count 100000000 --rate 1000 >/dev/null 2>&1 &
	pids+=($!)
done
recorder=(record -q -o "$work/out" -r g="$work/g" -r h="$work/h" --join-timeout 0 --duration 2)
export XVT_ESCAPE_SKIP=20 # its file is begun by then
# has_both TRACE: it has events of both
has_both() {
	"$xvtrace" stat --json "$1" 2>/dev/null | jq -e '[.vms[] | [.rings[].events] | add > 0] == [true, true]' >/dev/null
}
died() { # HOW [OUTPUT]: a recorder, once its file has events of both; $status, and in $said what it said of its end
	local out=${2:-$work/out}
	rm -rf "$out"
	printf '\0' >"$work/go"
	XVT_ESCAPE=$1 XVT_ESCAPE_STAGE=1 XVT_ESCAPE_GO=$work/go XVT_ESCAPE_PATH=${victim:-$work/secret} "$escape" record -q -o "$out" -r g="$work/g" -r h="$work/h" --duration 60 >/dev/null 2>"$work/err" &
	local escaper=$!
	poll has_both "$out"
	printf 1 1<>"$work/go"
	wait $escaper
	status=$?
	poll grep -qE ': the recorder (died|was ended)' "$work/err"
	said=$(sed -nE 's/^xvtrace: record: (the recorder (died without ending its trace|was ended, since .*))(:|, with which) .*/\1/p' "$work/err" | sed 's/, with which it has no business.*//; s/: it was killed.*//')
} 2>/dev/null # the shell's words on a process that was killed
stopped() { # TRACE: it is that of a killed recorder, and has what both machines wrote until then
	"$xvtrace" verify "$1" >/dev/null 2>&1 && has_both "$1" &&
		"$xvtrace" stat --json "$1" 2>/dev/null | jq -e '.cleanly_ended | not' >/dev/null
}
for how in run trace mount setup mode symlink; do
	died $how
	check "a recorder: $how: killed by the kernel, and that is said" test "$status $said" = "$KILLED the recorder died without ending its trace"
	check "and its trace is good up to there" stopped "$work/out"
done
secret=$work/secret
(umask 077 && echo secret >"$secret") # not even for those who may read it
is_whole() { [ "$(cat "$secret")" = secret ] && [ ! -e renamed ] && [ ! -e link ]; }
ended() { # HOW WORDS: the recorder is ended, with those words
	died "$1"
	[ "$status $said" = "137 the recorder was ended, since it tried to $2" ] && is_whole && return
	echo "# exit status $status: $(cat "$work/err")"
	return 1
}
# denied HOW PATH [COMMAND...]: it fails, one line tells the path, and the recording goes on
denied() {
	local line="the recorder, or a library that it uses, tried to open $2, which was refused: it is at no place where it has business"
	rm -rf "$work/out"
	XVT_ESCAPE=$1 XVT_ESCAPE_STAGE=1 XVT_ESCAPE_PATH=$2 "${@:3}" "$escape" "${recorder[@]}" 2>"$work/err" && grep -qx held "$work/err" &&
		[ "$(grep -cF "xvtrace: record: warning: $line" "$work/err")" = 1 ] &&
		"$xvtrace" stat --json "$work/out" | jq -e .cleanly_ended >/dev/null && return
	echo "# $(cat "$work/err")"
	return 1
}
check "a recorder: a file of its user: refused, and that is said" denied secret "$secret"
check "a recorder: a process of its own: refused" held fork 1 "${recorder[@]}"
elsewhere=(unshare -m sh -c 'mount -t tracefs t /mnt && exec "$@"' -)
if "${elsewhere[@]}" true 2>/dev/null; then
	check "a recorder: a file of tracefs at another place: refused, and that is said" denied change /mnt/current_tracer "${elsewhere[@]}"
else
	echo "skip - a tracefs at another place: it cannot be mounted here"
fi
check "a recorder may not write there" ended change "open $secret"
check "and its trace is good up to there" stopped "$work/out"
check "nor look into a process" eval 'victim=/proc/1/environ ended secret "open /proc/1/environ"'
check "nor empty the file" ended create "open $secret"
check "nor remove it" ended remove "remove $secret"
check "nor rename it" ended rename "rename $secret"
check "nor give it another name" ended link "link $secret"
check "nor change its own code" ended memory "open /proc/self/mem"
check "nor connect to a socket that it was not given" ended connect "connect to $secret"
check "nor to a network" ended inet "make a socket of family 2"
check "nor to an IPv6 one" ended inet6 "make a socket of family 10"
check "nor to another machine" ended vsock "make a socket of family 40"
mkdir "$work/set"
beside() {
	XVT_ESCAPE=beside XVT_ESCAPE_STAGE=1 XVT_ESCAPE_FOLDER=$work/set "$escape" record -q -o "$work/set/" "${recorder[@]:4}" 2>"$work/err"
	grep -qx held "$work/err"
}
check "a path out of a folder that it was given fails" beside
mkdir "$work/many"
"$xvtrace" record -q -o "$work/many/" "${recorder[@]:4}" --rotate-time 0.1
many() { [ "$(find "$work/many" -name '*.xvt' | wc -l)" -ge 8 ] && (ulimit -Sn 10 && "$xvtrace" stat --json "$work/many" | jq -e .events >/dev/null); }
check "a folder is read that has more files than a process usually opens" many
check "what all users may read it may read, too" eval 'tries read 1 "${recorder[@]}" && grep -qx escaped "$work/err"'
networks() { # URI: of libvirt
	tries inet 1 "${recorder[@]}" --connect "$1" && grep -qx escaped "$work/err"
}
check "a recorder whose libvirt is in a network may reach it" networks qemu://other.example/system
check "but not by a name in the path" eval '! networks qemu:///session?name=//other'
# With few descriptors it may fail, at any place, but not go on without a wall.
walls() {
	local few
	for few in $(seq 5 30); do
		(ulimit -n "$few" && timeout 60 "$xvtrace" "${recorder[@]:0:10}" --duration 0.05) 2>&1 | tee -a "$work/few" |
			grep -E 'opens files itself|recording without|no other process decide' && return 1
	done
	grep -q 'Too many open files' "$work/few"
}
check "a recorder: few descriptors: no recording without its opener" walls
few_files() { (ulimit -Sn 256 && held raise 1 "${recorder[@]}"); }
check "a recorder: more open files than it was allowed: refused" few_files
check "a recorder: memory without end: refused" held "memory more" 1 "${recorder[@]}"
check "a recorder: memory that is written and run: refused" held wx 1 "${recorder[@]}"
check "a recorder: a file that runs as its owner: refused" held suid 1 "${recorder[@]}"
[ "${XVTRACE_LOOP:-}" = epoll ] || ! "$xvtrace" doctor --json | jq -e .io_uring >/dev/null ||
	check "a recorder: the loop's ring opens no file" held ring 1 "${recorder[@]}"
# The kernel gives a process one such filter. In a container its manager may have it.
cat >"$work/container.py" <<'END'
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
lib.seccomp_init.restype = ctypes.c_void_p
ctx = ctypes.c_void_p(lib.seccomp_init(0x7fff0000))
if lib.seccomp_rule_add(ctx, 0x7fc00000, lib.seccomp_syscall_resolve_name(b"acct"), 0) or lib.seccomp_load(ctx):
    sys.exit(9)
os.set_inheritable(lib.seccomp_notify_fd(ctx), True)
os.execv(sys.argv[2], sys.argv[2:])
END
contained() {
	python3 "$work/container.py" "$(strings -a "$xvtrace" | grep -m 1 '^libseccomp\.so')" "$xvtrace" "${recorder[@]}" 2>"$work/err" &&
		grep -q "sandbox: warning: the kernel lets no other process decide what the recorder opens" "$work/err" &&
		"$xvtrace" stat --json "$work/out" | jq -e .cleanly_ended >/dev/null
}
check "where it has such a filter already, it warns and records" contained
"$xvtrace" "${recorder[@]}" -- sh -c 'cat /proc/self/status >"$0"' "$work/command" 2>"$work/err"
check "a recorder may run its command before" ended_idle $? "$work/err"
check "which keeps its rights" eval 'grep -qx "NoNewPrivs:.0" "$work/command" && [ "$(grep CapEff "$work/command")" = "$(grep CapEff /proc/self/status)" ]'
unset XVT_ESCAPE_SKIP
"$xvtrace" record -q -o "$work/out" -r g="$work/g" --join-timeout 0 2>"$work/last" &
pids+=($!)
opener() { pgrep -x xvtrace-opener -P "${pids[-1]}"; }
status() { grep -E "^($1):" "/proc/${pids[-1]}/status" | tr '\n\t' '; '; }
confined() { [ "$(status 'NoNewPrivs|Seccomp')" = 'NoNewPrivs: 1;Seccomp: 2;' ]; }
check "a recorder has a filter and gets no new privileges" poll confined
# capabilities PID: of each of its threads, ored
capabilities() { sed -n 's/^Cap\(Prm\|Eff\|Inh\|Amb\):\s*//p' "/proc/$1/task/"*/status | sort -u | while read -r all; do [ $((16#$all)) -eq 0 ] || echo "$all"; done; }
check "no thread of it has a capability" eval '[ -z "$(capabilities "${pids[-1]}")" ]'
# CHECKPOINT_RESTORE, SYSLOG, LEASE, SYS_PTRACE, IPC_LOCK, KILL, DAC_READ_SEARCH, DAC_OVERRIDE
few() { [ $((16#$(sed -n 's/^CapPrm:\s*//p' "/proc/$(opener)/status") & ~(1 << 40 | 1 << 34 | 1 << 28 | 1 << 19 | 1 << 14 | 1 << 5 | 3 << 1))) -eq 0 ]; }
check "its opener has those that it needs, and no other" few
check "it leaves no core" limited "Max core file size" "1 1"
check "nor does its opener" eval '[ "$(limit "Max core file size" "$(opener)")" = "1 1" ]'
check "its opener has little memory" eval '[ "$(limit "Max data size" "$(opener)" | cut -d" " -f1)" -lt $((100 << 20)) ]'
files() { [ "$(limit "Max open files" "$1")" = "$(ulimit -Sn) $(ulimit -Sn)" ]; }
check "neither can allow itself more open files" eval 'files "${pids[-1]}" && files "$(opener)"'
check "the opener holds nothing of the recorder's" eval '! ls -l "/proc/$(opener)/fd" | grep -q "$work"; ! grep -q "$work/g" "/proc/$(opener)/maps"'
opener=$(opener)
"$xvtrace" region create "$work/flight" --size 1M --rings 1 --overwrite
"$xvtrace" snapshot -q -o "$work/never" -r g="$work/flight" --when 'event text' 2>/dev/null &
pids+=($!)
gone() { ! kill -0 "$1" 2>/dev/null; }
check "what waits to take a snapshot leaves no core" poll limited "Max core file size" "1 1"
check "and ends by a signal at any time" eval 'kill "${pids[-1]}" && poll gone "${pids[-1]}"'
unset 'pids[-1]'
check "it ends in order" eval 'kill -INT "${pids[-1]}"; wait "${pids[-1]}"; ended_idle $? "$work/last"'
check "and its opener with it" test ! -e "/proc/$opener"

# Without a capability it may neither enter a folder of another user nor see which file there has a writer. Its opener does.
others() { # MACHINE [OPTION...]: a region of another user, with a program that records into it if there is an option. It is
	# called as a VMM is, and that user's: so it is a machine.
	local region=$XVTRACE_SHM_DIR/xvtrace-$1
	"$xvtrace" region create "$work/new" --size 256K --rings 1 && chown nobody "$work/new" && mv "$work/new" "$region" || return 1
	[ $# -eq 1 ] || setpriv --reuid nobody --clear-groups timeout 300 "$work/qemu-emit" "$region" "${@:2}" >/dev/null
}
# recorded MACHINE EVENTS
recorded() { "$xvtrace" status --json 2>/dev/null | jq -e --arg m "$1" --argjson n "$2" '.recorders[0].vms[] | select(.name == $m and ([.. | .events? // empty] | any(. == $n)))' >/dev/null; }
if [ "$(id -u)" -eq 0 ] && [ "$((16#$(sed -n 's/^CapPrm:\s*//p' /proc/self/status) & 1 << 28))" -ne 0 ]; then
	export XVTRACE_SHM_DIR=$work/shm LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
	mkdir -m 700 "$XVTRACE_SHM_DIR" && chown nobody "$XVTRACE_SHM_DIR" && chmod 711 "$work"
	install -m 755 "$BUILD/xvt-emit" "$work/qemu-emit"
	nobody=$(id -u nobody)
	"$xvtrace" record --follow -q -o "$work/others.xvt" --join-timeout 0 --stall-timeout 0.2 2>"$work/err" &
	pids+=($!)
	check "it begins" poll confined
	others left
	others a --count 300
	check "it records a region of another user in a folder of that user" poll recorded "a@$nobody" 300
	rm "$XVTRACE_SHM_DIR/xvtrace-a"
	others a --count 200
	check "it sees that the file is removed, and that there is another one" poll recorded "a@$nobody.2" 200
	check "it has no capability" eval '[ -z "$(capabilities "${pids[-1]}")" ]'
	check "it ends in order" eval 'kill -INT "${pids[-1]}"; wait "${pids[-1]}"'
	check "what no program writes into was not recorded" eval '[ "$("$xvtrace" stat --json "$work/others.xvt" | jq -c "[.vms[].name] | sort")" = "[\"a@$nobody\",\"a@$nobody.2\"]" ]'
	export XVT_ESCAPE_SKIP=20
	install -m 600 -o nobody /dev/null "$XVTRACE_SHM_DIR/private"
	XVT_ESCAPE_FOLDER=$XVTRACE_SHM_DIR check "what it has no business with it cannot even look at" held look 1 "${recorder[@]}"
	check "nor into processes of others" held exe 1 "${recorder[@]}"
	unset XVT_ESCAPE_SKIP XVTRACE_SHM_DIR
else
	echo "skip - a recorder without capabilities, machines of other users: not root here"
fi

escapes() { XVTRACE_SANDBOX=off tries read 2 stat "$trace" && grep -qx escaped "$work/err"; }
check "without a sandbox it escapes" escapes

lines() { [ "$("${@:2}" 2>&1 | wc -l)" -eq "$1" ]; }
same() { cmp <("$xvtrace" "$@" 2>&1) <(XVTRACE_SANDBOX=off "$xvtrace" "$@" 2>&1); }
check "report is the same" same report --reclock --bound --wall "$trace"
check "from a time of the day, too" same report --wall --from 00:00 "$trace"
check "stat is the same" same stat --json "$trace"
check "verify is the same" same verify "$trace"
for format in text jsonl perfetto; do
	check "export to $format is the same" same export -q --format $format "$trace" -
done
same_folder() {
	"$xvtrace" export -q --format ctf "$trace" "$work/a" && XVTRACE_SANDBOX=off "$xvtrace" export -q --format ctf "$trace" "$work/b" &&
		diff -r "$work/a" "$work/b"
}
check "export to ctf is the same" same_folder
same_order() {
	"$xvtrace" order -o "$work/order" "$trace" && XVTRACE_SANDBOX=off "$xvtrace" order -o "$work/order.free" "$trace" &&
		cmp "$work/order" "$work/order.free" && [ "$(stat -c %a "$work/order")" = "$(stat -c %a "$trace")" ]
}
check "order is the same, with the mode of the trace" same_order
check "export to dat works" "$xvtrace" export -q --format dat "$trace" "$work/dat"
check "a trace that is not there: one error line" lines 1 "$xvtrace" report "$work/none.xvt"

# A library that is damaged: the commands work, and doctor says what is missing.
stub
without() { LD_LIBRARY_PATH=$work/stub "$xvtrace" "$@"; }
check "without libseccomp: stat works" cmp <(without stat "$trace") <("$xvtrace" stat "$trace")
told() {
	without doctor --json >"$work/doctor"
	jq -e '.sandbox == false and any(.problems[]; (.blocks | not) and (.fix | contains("libseccomp2")))' "$work/doctor" >/dev/null
}
check "without libseccomp: doctor says how to get it" told
LD_LIBRARY_PATH=$work/stub "$xvtrace" record -q -o "$work/out" -r g="$work/g" --join-timeout 0 --control "$work/ctl" 2>"$work/err" &
open=$!
pids+=($open)
open_told() { "$xvtrace" status --json --control "$work/ctl" 2>/dev/null | jq -e .recorders[0].no_sandbox >/dev/null; }
check "without libseccomp: status of a recorder says so" poll open_told
kill -INT $open
wait $open
check "so does its log, once" test "$(grep -c "sandbox: warning: it records without" "$work/err")" -eq 1
check "and its trace" eval '"$xvtrace" verify --notes "$work/out" | grep -q "it records without, since there is no libseccomp"'
[ $failures -eq 0 ]
