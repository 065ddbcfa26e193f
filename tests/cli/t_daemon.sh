#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# xvtrace daemon: its configuration, what it tells a service manager, reload, and a recorder that was
# killed and starts again.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
conf=$work/xvtrace.conf
"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 20000 >/dev/null 2>&1 &
pids+=($!)

# -- the configuration
show() { "$xvtrace" daemon -c "$1" --show-config >"$work/shown" 2>"$work/err"; }
echo >"$conf"
check "an empty configuration is one" show "$conf"
cp "$work/shown" "$work/defaults"
check "each option of record is a key" diff <("$xvtrace" record --help | sed -n 's/^ .*--\([a-z-]*\).*/\1/p' | grep -vE '^(help|version)$') <(sed -n 's/^\([a-z-]*\) = .*/\1/p' "$work/defaults")
sed -i '/^#/d' "$work/defaults"
shows_itself() { show "$work/defaults" && diff <(grep -v '^#' "$work/shown") "$work/defaults"; }
check "what is shown is a configuration" shows_itself
# Each key has the value that it takes; empty are those that stand for no one value.
empty() { sed -n 's/^\([a-z-]*\) = $/\1/p' "$work/defaults" | sort | tr '\n' ' '; }
check "defaults are shown: empty are $(empty)" [ "$(empty)" = "clock-page connect control domain doorbell event flight-recorder host host-event metrics-http qmp region snapshot-when trust-guest-clock " ]
defaults() { for line in "mode = stop" "drain = mapped" "order = auto" "compress = 0" "host-buffer = 1M" "join-timeout = 5" "max-size = 0"; do grep -qx "$line" "$work/defaults" || return 1; done; }
check "of words and sizes, too" defaults
check "no comment has the default of an option" eval '! grep "^#.*(default [^:]" "$work/shown" | grep -v "^# .NAME=.REGION"'
cat >"$conf" <<-END
	output = $work/set with blanks/
	region = a=/x,rings=3
	region = /dev/shm/b*
	domain = d
	domain = web-*,rings=17
	qmp = a=/q=1
	doorbell = d=/d
	event = sched:*
	host-event = irq:*
	host = kvm
	host = block
	host-all = yes
	host-buffer = 3K
	trust-guest-clock = a
	connect = qemu:///session?socket=/run/#1
	join-timeout = 0.123456789
	stall-timeout = 1.50
	mode = overwrite
	drain = io_uring
	order = later
	clock-page = /c
	duration = 3.25
	memory = 1025
	max-size = 5000000001
	rotate-size = 0x200000
	rotate-time = 0.000000001
	keep-size = 9216K
	keep-time = 18446744073
	keep-free = 3MiB
	snapshot-when = event b:x:y text == "a  b" && n != 3
	snapshot-when = still 2.5 web-*
	snapshot-before = 0
	snapshot-after = 10
	snapshot-per-minute = 60
	snapshot-most = 18446744073709551615
	flight-recorder = c*
	flight-recorder = d?
	compress = idle:19
	run-spans = yes
	print = yes
	follow = no
	control = /run/c
	metrics-http = [::1]:9750
	quiet = no
END
differs() { show "$conf" && cut -d ' ' -f 1 "$conf" | sort -u >"$work/keys" && sed -n 's/ = .*//p' "$work/defaults" | sort | diff - "$work/keys" && grep '^[^#]' "$work/shown" >"$work/once" && ! grep -xFf "$work/defaults" "$work/once"; }
check "each key has another value here" differs
check "which is shown as it was given" diff <(sed 's/ 1.50$/ 1.5/; s/ 0x200000$/ 2M/; s/ 9216K$/ 9M/; s/ 3MiB$/ 3M/' "$conf" | sort) <(sort "$work/once")
again() { cp "$work/shown" "$conf" && show "$conf" && diff "$conf" "$work/shown"; }
check "what is shown of it, shows itself" again
check "a size of 0 is the usual one" eval 'echo "host-buffer = 0" >"$conf" && show "$conf" && grep -qx "host-buffer = 1M" "$work/shown"'
printf 'region = a=/x\n  region=b=/y \n# domain = no\nkeep-size = 3G\njoin-timeout = 0.5\nhost-all = yes\nhost = irq\nfollow = no\n' >"$conf"
takes() { show "$conf" && for line in "region = a=/x" "region = b=/y" "domain = " "keep-size = 3G" "join-timeout = 0.5" "host-all = yes" "follow = no"; do grep -qx "$line" "$work/shown" || return 1; done; }
check "values, lists, comments and blanks" takes
refuses_line() { # TEXT NUMBER WORDS: a configuration with that text
	printf "$1" >"$conf"
	! show "$conf" && grep -q "^xvtrace: $conf: line $2: $3" "$work/err"
}
check "an unknown key is an error with its line" refuses_line '\n# x\nrotate-sise = 1M\n' 3 "rotate-sise: no such key; is it 'rotate-size'"
check "a key with two letters swapped is near" refuses_line 'uqiet = yes\n' 1 "uqiet: no such key; is it 'quiet'"
for far in foo x url keepsnapshots; do
	check "no key is near $far" refuses_line "$far = 1\n" 1 "$far: no such key\$"
done
check "so is a line without a value" refuses_line 'region\n' 1 "'region' is not KEY = VALUE"
check "a wrong size" refuses_line 'keep-size = much\n' 1 "keep-size much: not a size"
check "neither yes nor no" refuses_line 'follow = maybe\n' 1 "follow maybe: not yes or no"
check "a key given twice" refuses_line 'memory = 1M\nmemory = 2M\n' 2 "memory: given twice"
check "a switch given twice" refuses_line 'quiet = yes\nquiet = no\n' 2 "quiet: given twice"
head -c 2000000 /dev/zero | tr '\0' '#' >"$conf"
check "a huge file is refused" eval '! show "$conf" && grep -q "more than 1 MiB" "$work/err"'
printf 'region = a=/x\0\n' >"$conf"
check "so is one with a zero byte" eval '! show "$conf" && grep -q "zero byte" "$work/err"'
printf 'output = /x\033[31m/\n' >"$conf"
check "and one with an escape, which --show-config would print" eval '! show "$conf" && grep -q "control characters" "$work/err"'
printf 'output = %s/new/\n' "$work" >"$conf"
chmod 666 "$conf"
check "and one that others may write" eval '! show "$conf" && grep -q "other users may write it" "$work/err"'
chmod 644 "$conf"
ln -s "$conf" "$work/link"
check "and a link" eval '! show "$work/link" && grep -q "it is a link" "$work/err"'
mkfifo "$work/fifo"
check "and a FIFO, for which it does not wait" eval '! timeout 60 "$xvtrace" daemon -c "$work/fifo" --check 2>"$work/err" && grep -q "it is no regular file" "$work/err"'
if [ "$(id -u)" -eq 0 ]; then
	chown 65534 "$conf"
	check "and one of another user" eval '! show "$conf" && grep -q "another user than root and this one owns it" "$work/err"'
	chown 0 "$conf"
fi
check "and a file that is not there" eval '! show "$work/none" && grep -q "No such file" "$work/err"'

printf 'output = %s/new/\n' "$work" >"$conf"
check "--check says nothing of what is right" eval '[ -z "$("$xvtrace" daemon -c "$conf" --check 2>&1)" ]'
check "nor makes the folder" test ! -e "$work/new"

touch "$work/file"
# What the start refuses, --show-config refuses in the same words, with the line of the key, and
# neither makes the folder.
refuses() { # LINES NUMBER WORDS: both refuse them by that line
	printf "$1" >"$conf"
	grep -q '^output' "$conf" || echo "output = $work/new/" >>"$conf"
	timeout 60 "$xvtrace" daemon -c "$conf" >"$work/out" 2>"$work/started"
	local status=$?
	timeout 60 "$xvtrace" daemon -c "$conf" --check 2>"$work/checked"
	[ $? -eq 2 ] && diff "$work/started" "$work/checked" &&
		! show "$conf" && [ $status -eq 2 ] && [ ! -e "$work/new" ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
		diff "$work/started" "$work/err" && grep -qF -- "xvtrace: $conf: line $2: $3" "$work/err" && return
	sed "s/^/# $status: /" "$work/started"
	return 1
}
while IFS='|' read -r lines number words; do
	check "the start, --check and --show-config refuse $lines" refuses "$lines\n" "$number" "$words"
done <<-END
	keep-size = 1M|1|keep-size: it needs rotate-size, of at most a third of it (with compress idle: a quarter)
	keep-size = 8G\nrotate-size = 5G|1|keep-size: it needs rotate-size
	rotate-size = 5G|1|rotate-size: it is at most a third of keep-size (with compress idle: a quarter)
	rotate-size = 1K|1|rotate-size 1K: it is at least 1M
	#\nmax-size = 1K|2|max-size 1K: it is at least 1M
	mode = fast|1|mode fast: it is stop or overwrite
	drain = slowly|1|drain slowly: it is mapped or io_uring
	order = never|1|order never: it is auto, now or later
	compress = 20|1|compress: give a level
	host = sched\nhost = all|2|host all: host is one of
	host-event = sched:|1|host-event sched:: an event is given as
	host-all = yes|1|host-all: no event of the host is given; use host-event SYS:EVENT or host PRESET
	host-event = sched\nhost-buffer = 2G|2|host-buffer 2G: it is at most 1G
	host-buffer = 2M|1|host-buffer: no event of the host
	event = sched:*\nevent = sched:|2|event sched:: an event is given as
	region = g|1|region g: a region is given as NAME=PATH
	region = g=/x,rings=0|1|region g=/x,rings=0: rings=N is
	domain = g,rings=0|1|domain g,rings=0: rings=N is
	region = g=/x\nfollow = no\nregion = g=/y|3|region g=/y: two machines have this name; give each region one of its own by region NAME=REGION
	qmp = g=/x|1|qmp g=/x: qmp belongs to a machine of region, and none
	doorbell = g|1|doorbell g: a doorbell is given as
	metrics-http = here|1|metrics-http: here: not a port
	snapshot-per-minute = 61|1|snapshot-per-minute 61: it is at most 60
	# x\n\nsnapshot-when = crash\nsnapshot-when = bomb|4|snapshot-when bomb: a condition is: event GLOB
	snapshot-when = event text text ==|1|snapshot-when event text text ==: filter: 
	keep-time = 5\noutput = $work/file|1|keep-time: one file cannot be rotated; give a folder, like output $work/file.d/
	#\noutput = $work/file|2|output $work/file: one file cannot be rotated; give a folder, like output $work/file.d/
	output = $work/file\nsnapshot-when = crash|2|snapshot-when: one file has no snapshots
	output = $work/file\nflight-recorder = a*|2|flight-recorder: one file has no snapshots
	output = $work/file\ncompress = idle|2|compress: idle is for the finished files
	$(printf 'snapshot-when = crash\\n%.0s' {1..17})|17|snapshot-when crash: there are more than 16 conditions
END
# -- the service
told() { grep -q "$1" "$work/told"; }
check "the manager listens" service_manager "$work/notify" "$work/told"
configure() { # KEEP-SIZE [LINE]...
	{
		printf 'output = %s/set/\nregion = g=%s/g\ncontrol = %s/control\nrotate-size = 1M\nkeep-size = %s\nkeep-free = 0\n' "$work" "$work" "$work" "$1"
		shift
		printf '%s\n' "$@"
	} >"$conf"
}
start() {
	NOTIFY_SOCKET=$work/notify "$xvtrace" daemon -c "$conf" 2>>"$work/log" &
	daemon=$!
	pids+=($daemon)
}
files() { find "$work/set" -name '*.xvt' -size +0 2>/dev/null | wc -l; }
has_files() { [ "$(files)" -ge "$1" ]; }
configure 64M
: >"$work/log"
start
check "it is ready when it records" poll told '^READY=1'
check "tells its figures and that it lives" poll told '^STATUS=1/1 machines'
check "also to the watchdog" told '^WATCHDOG=1'
check "it answers status" eval '"$xvtrace" status --control "$work/control" | grep -q "^ *g "'
check "it goes on in next files" poll has_files 3

configure 3M 'mode = overwrite'
kill -HUP $daemon
logged() { grep -q "$1" "$work/log"; }
check "reload: what takes a restart is named" poll logged 'mode: warning: changed; it takes effect after a restart'
check "reload: the log has what is new" poll logged "^xvtrace: note: the configuration $conf was read again; new from here on: keep-size\$"
few() { most=0 && measure "$work/set" && [ "$most" -gt 0 ] && [ "$most" -le $((3 << 20)) ]; }
check "what does not, takes effect" poll few
check "the log has each next file" poll logged "^xvtrace: note: goes on in the next file, $work/set/00000003.xvt\$"
check "once" test "$(grep -c 'goes on in the next file, .*/00000003.xvt' "$work/log")" -eq 1
check "not the first one" eval '! logged 00000001.xvt'
removed() {
	local told
	told=$(sed -n 's/^xvtrace: note: \([0-9]*\) of the oldest files were removed, by the limits of keep-size, keep-time and keep-free$/\1/p' "$work/log" | paste -sd + | bc)
	"$xvtrace" status --json --control "$work/control" | jq -e ".recorders[0].files_removed == $told" >/dev/null
}
check "and how many were removed" poll removed
check "a client asks for a snapshot" "$xvtrace" control snapshot --control "$work/control"
check "the log has that it begins" poll logged '^xvtrace: note: snapshot: begins: a client asked for it'
check "and where it is" poll logged '^xvtrace: note: snapshot: .* has it: a client asked for it'
check "each line once" eval '[ "$(grep -c "a client asked for it" "$work/log")" -eq 2 ]'
rm -rf "$work/set/snapshots"
echo 'keep-size = wrong' >"$conf"
kill -HUP $daemon
check "reload: a wrong file changes nothing" poll logged 'goes on with the options that it has'
check "the manager shows that it is wrong" poll told '^STATUS=.*; its configuration has an error, see the log'
configure 3M 'snapshot-when = bomb'
kill -HUP $daemon
check "reload: so does a condition that is none, of which the line is named" poll logged "^xvtrace: $conf: line 7: snapshot-when bomb: a condition is"
check "and the recorder lives" kill -0 $daemon

last() { find "$work/set" -name '*.xvt' | sort | tail -n 1; }
# -- a reader says that a trace is not ended, or that it never will be
# said WORDS FILE: by each command that reads the trace
said() {
	for i in "report -n 1" report stat verify; do
		"$xvtrace" $i "$2" 2>&1 >/dev/null | grep -q "^xvtrace: .*: warning: $1" || return 1
	done
	"$xvtrace" export --format jsonl "$2" - 2>&1 >/dev/null | grep -q "^xvtrace: .*: warning: $1"
}
writing="not ended yet: its recorder, process $daemon, still writes it"
check "a folder that is written: readers say so" poll said "$writing" "$work/set"
check "so they do of its present file" poll eval 'said "$writing" "$(last)"'
kill -KILL $daemon
wait $daemon 2>/dev/null
before=$(last)
check "killed: readers do not say that it is written" said 'not cleanly ended: ' "$work/set"
check "nor of its last file" said 'not cleanly ended: ' "$before"
configure 64M
: >"$work/told"
start
check "after kill -9 another one is ready" poll told '^READY=1'
went_on() { [[ $(last) > $before ]]; }
check "it goes on with the next number" poll went_on
check "a killed one's file is not written by the next one" said 'not cleanly ended: ' "$before"
check "its log has what it found, without a journal" poll logged '^xvtrace: g: warning: an earlier recorder did not end in order'
kill -TERM $daemon
wait $daemon
check "it ends in order" [ $? -eq 0 ]
check "and says that it stops" poll told '^STOPPING=1'
check "the folder verifies" "$xvtrace" verify -q "$work/set/"
"$xvtrace" record -q -o "$work/one.xvt" -r g="$work/g" 2>/dev/null &
one=$!
pids+=($one)
check "one file that is written: readers say so" poll said "not ended yet: its recorder, process $one, still writes it" "$work/one.xvt"
kill -TERM $one
wait $one
"$xvtrace" record -o "$work/own/" -r g="$work/g" --rotate-time 0.2 2>"$work/err" -- \
	timeout 120 sh -c 'until [ -e "$1" ]; do sleep 0.05; done' - "$work/own/00000002.xvt"
check "record, which is no service, has no line for a next file" eval '[ -e "$work/own/00000002.xvt" ] && ! grep -q "next file" "$work/err"'
check "they do not once it has ended" eval '"$xvtrace" stat "$work/one.xvt" 2>&1 | { ! grep ended; }'

# -- the log has the machines that come and go, and whether there is a libvirt
mkdir "$work/shm"
printf 'output = %s/all/\ncontrol = %s/control\nkeep-free = 0\njoin-timeout = 0\n' "$work" "$work" >"$conf"
: >"$work/log"
XVTRACE_SHM_DIR=$work/shm LIBVIRT_DEFAULT_URI="qemu:///system?socket=$work/none" NOTIFY_SOCKET=$work/notify "$xvtrace" daemon -c "$conf" 2>>"$work/log" &
daemon=$!
pids+=($daemon)
check "without a libvirt: the log says so" poll logged '^xvtrace: note: no domains of libvirt are recorded: '
"$xvtrace" region create "$work/shm/xvtrace-web" --size 1M --rings 1
"$BUILD/xvt-emit" "$work/shm/xvtrace-web" --count 100000000 --rate 1000 >/dev/null 2>&1 &
writer=$!
pids+=($writer)
check "a machine comes: so it does" poll logged "^xvtrace: web: joins; its region is $work/shm/xvtrace-web\$"
shows() { "$xvtrace" status --control "$work/control" | grep -q "$1"; }
check "status has the machine" poll shows '^ *web '
check "and that there is no libvirt" shows '^  no domains of libvirt are recorded: '
rm "$work/shm/xvtrace-web"
kill -KILL $writer
check "the machine goes: the log has it" poll logged '^xvtrace: web: .*was deleted'
check "the log of libvirt is one line" test "$(grep -c 'domains of libvirt' "$work/log")" -eq 1
kill -TERM $daemon
wait $daemon

# -- the unit
if command -v systemd-analyze >/dev/null; then
	sed 's|@BINDIR@/xvtrace|/bin/true|' packaging/xvtrace.service >"$work/xvtrace.service"
	check "systemd takes the unit" eval '[ -z "$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$work/xvtrace.service" 2>&1 | grep xvtrace.service)" ]'
	exposure=$(systemd-analyze security --offline=true "$work/xvtrace.service" 2>/dev/null | sed -n 's/.*Overall exposure level for .*: \([0-9.]*\).*/\1/p')
	echo "exposure: $exposure"
	check "its exposure is below 3.0" eval '[ -n "$exposure" ] && [ "$(echo "$exposure < 3.0" | bc)" = 1 ]'
else
	echo "skip - the unit: systemd-analyze is not here"
fi
exit $((failures > 0))
