#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
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
check "each option of record is a key" diff <("$xvtrace" record --help | sed -n 's/^ .*--\([a-z-]*\).*/\1/p' | grep -v '^help$') <(sed -n 's/^\([a-z-]*\) = .*/\1/p' "$work/defaults")
sed -i '/^#/d' "$work/defaults"
shows_itself() { show "$work/defaults" && diff <(grep -v '^#' "$work/shown") "$work/defaults"; }
check "what is shown is a configuration" shows_itself
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
check "control characters are escaped" refuses_line '\033[2J = 1\n' 1 '\\x1b'
head -c 2000000 /dev/zero | tr '\0' '#' >"$conf"
check "a huge file is refused" eval '! show "$conf" && grep -q "more than 1 MiB" "$work/err"'
printf 'region = a=/x\0\n' >"$conf"
check "so is one with a zero byte" eval '! show "$conf" && grep -q "zero byte" "$work/err"'
check "and a file that is not there" eval '! show "$work/none" && grep -q "No such file" "$work/err"'

# What the start refuses, --show-config refuses in the same words, and neither makes the folder.
refuses() { # LINES: both refuse them
	printf "$1" >"$conf"
	grep -q '^output' "$conf" || echo "output = $work/new/" >>"$conf"
	timeout 60 "$xvtrace" daemon -c "$conf" >"$work/out" 2>"$work/started"
	local status=$?
	! show "$conf" && [ $status -eq 2 ] && [ ! -e "$work/new" ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
		diff "$work/started" "$work/err" && return
	sed "s/^/# $status: /" "$work/started"
	return 1
}
while IFS= read -r lines; do
	check "the start and --show-config refuse $lines" refuses "$lines\n"
done <<-'END'
	keep-size = 1M
	rotate-size = 5G
	rotate-size = 1K
	max-size = 1K
	mode = fast
	drain = slowly
	order = never
	compress = 20
	host = all
	host-event = sched
	host-all = yes
	host-buffer = 2M
	event = sched
	region = g
	region = g=/x,rings=0
	domain = g,rings=0
	region = g=/x\nregion = g=/y\nfollow = no
	qmp = g=/x
	doorbell = g
	metrics-http = here
	snapshot-per-minute = 61
	snapshot-when = bomb
	snapshot-when = event text text ==
END
touch "$work/file"
for lines in 'keep-time = 5' 'snapshot-when = crash' 'flight-recorder = a*' 'compress = idle'; do
	check "one file and $lines are refused" refuses "${lines}\noutput = $work/file\n"
done

# -- the service
cat >"$work/manager.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)
END
python3 "$work/manager.py" "$work/notify" >"$work/told" &
pids+=($!)
told() { grep -q "$1" "$work/told"; }
check "the manager listens" poll test -S "$work/notify"
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

configure 2M 'mode = overwrite'
kill -HUP $daemon
logged() { grep -q "$1" "$work/log"; }
check "reload: what takes a restart is named" poll logged 'mode: warning: changed; it takes effect after a restart'
few() { [ "$(du -cb "$work"/set/*.xvt | tail -n 1 | cut -f 1)" -le 3500000 ]; }
check "what does not, takes effect" poll few
echo 'keep-size = wrong' >"$conf"
kill -HUP $daemon
check "reload: a wrong file changes nothing" poll logged 'goes on with the options that it has'
check "and the recorder lives" kill -0 $daemon

last() { find "$work/set" -name '*.xvt' | sort | tail -n 1; }
before=$(last)
kill -KILL $daemon
wait $daemon 2>/dev/null
configure 64M
: >"$work/told"
start
check "after kill -9 another one is ready" poll told '^READY=1'
went_on() { [[ $(last) > $before ]]; }
check "it goes on with the next number" poll went_on
check "its log has what it found, without a journal" poll logged '^xvtrace: g: warning: an earlier recorder did not end in order'
kill -TERM $daemon
wait $daemon
check "it ends in order" [ $? -eq 0 ]
check "and says that it stops" poll told '^STOPPING=1'
check "the folder verifies" "$xvtrace" verify -q "$work/set/"

# -- the unit
if command -v systemd-analyze >/dev/null; then
	sed 's|@BINDIR@|/usr/bin|; s|^ExecStart=.*|ExecStart=/bin/true|' packaging/xvtrace.service >"$work/xvtrace.service"
	check "systemd takes the unit" eval '[ -z "$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$work/xvtrace.service" 2>&1 | grep xvtrace.service)" ]'
	exposure=$(systemd-analyze security --offline=true "$work/xvtrace.service" 2>/dev/null | sed -n 's/.*Overall exposure level for .*: \([0-9.]*\).*/\1/p')
	echo "exposure: $exposure"
	check "its exposure is below 3.0" eval '[ -n "$exposure" ] && [ "$(echo "$exposure < 3.0" | bc)" = 1 ]'
else
	echo "skip - the unit: systemd-analyze is not here"
fi
exit $((failures > 0))
