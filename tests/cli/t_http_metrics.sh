#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# record --metrics-http: the metrics of the control socket by HTTP, on this host only; and clients that
# stall, send nonsense or come in numbers change nothing, on both event loops.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run
mkdir "$XVTRACE_RUN_DIR"
"$xvtrace" region create "$work/g" --size 1M --rings 1 || exit 1
truncate -s 1M "$work/h"
"$BUILD/xvt-emit" "$work/g" --count 100000000 --rate 2000 >/dev/null 2>&1 &
pids+=($!)

# -- addresses
refuses() { # ADDRESS WORDS
	timeout 60 "$xvtrace" record -q -o "$work/no.xvt" -r "$work/g" --metrics-http="$1" 2>"$work/err"
	[ $? -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "xvtrace: --metrics-http: $1: $2" "$work/err" && [ ! -e "$work/no.xvt" ]
}
for a in 0.0.0.0:9750 192.0.2.1:9750 128.0.0.1:9750 '[::]:9750' '[::ffff:127.0.0.1]:9750'; do check "$a is refused" refuses "$a" "not an address of this host alone"; done
for a in localhost:9750 ::1:9750 1:9750 '[127.0.0.1]:1' '[::1:1' :9750; do
	check "'$a' is no address" refuses "$a" "an address is given as a number"
done
for a in no 65536 127.0.0.1: 127.0.0.1:x -1 ' 1'; do check "'$a' has no port" refuses "$a" "not a port"; done

# ask TEXT: what the recorder answers to these bytes, at most a minute
ask() { printf "$1" | timeout 60 python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(sys.stdin.buffer.read())
try:
    while data := s.recv(65536):
        sys.stdout.buffer.write(data)
except ConnectionResetError:
    pass' "$port" >"$work/said"; }
says() { ask "$1" && grep -q -- "^HTTP/1.1 $2" "$work/said"; }
recorder() { "$xvtrace" status --json 2>/dev/null | jq -r ".recorders[0]$1"; }
records() { [ "$(recorder .events)" -gt "$1" ] 2>/dev/null; }
goes_on() {
	local now
	now=$(recorder .events)
	poll records "$now"
}
get() { curl -sS --max-time 60 -D "$work/head" -o "$work/metrics" "$@" "http://127.0.0.1:$port/metrics"; }
families() { sed -n 's/^# TYPE \([^ ]*\).*/\1/p' "$1"; }
still() { grep -E '^xvtrace_(machine_up|machine_ring_size_bytes|recorder_info)' "$1"; }
same() {
	"$xvtrace" status --metrics >"$work/status" && cmp <(families "$1") <(families "$work/status") && cmp <(still "$1") <(still "$work/status")
}

cat >"$work/greedy.py" <<'END'
import socket, sys, threading
started = threading.Barrier(9)
def greedy():
    held, first = [], True
    while True:
        try:
            s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
            if sys.argv[2] == "ask":
                s.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                while s.recv(65536):
                    pass
                s.close()
            else:
                held.append(s)
                if len(held) > 20:
                    held.pop(0).close()
        except OSError:
            pass
        if first:
            started.wait()
        first = False
for i in range(8):
    threading.Thread(target=greedy, daemon=True).start()
started.wait()
print("all", flush=True)
threading.Event().wait()
END

serves() { # LOOP
	local i held
	XVTRACE_LOOP=$1 "$xvtrace" record -q -o "$work/$1.xvt" -r g="$work/g" --join-timeout 0.1 --metrics-http 0 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	check "$1: it records" poll records 0
	port=$(recorder .metrics_http)
	check "$1: it listens at 127.0.0.1" eval '[[ $port == 127.0.0.1:* ]]'
	port=${port##*:}
	check "$1: another recorder cannot have its port" eval '
		! "$xvtrace" record -q -o "$work/no.xvt" -r "h=$work/h" --metrics-http "$port" 2>"$work/err" &&
		grep -q "^xvtrace: --metrics-http: $port: cannot listen there: Address already in use" "$work/err" && [ ! -e "$work/no.xvt" ]'
	if command -v curl >/dev/null; then
		check "$1: curl gets the metrics" eval 'get && same "$work/metrics"'
		check "$1: their type is Prometheus's" grep -qi '^content-type: text/plain; version=0.0.4' "$work/head"
		check "$1: the same by HTTP/1.0" eval 'get --http1.0 && same "$work/metrics"'
		check "$1: chunked by HTTP/1.1 only" eval '! grep -qi chunked "$work/head" && get && grep -qi "^transfer-encoding: chunked" "$work/head"'
		if command -v promtool >/dev/null; then
			check "$1: promtool finds nothing wrong" eval 'promtool check metrics <"$work/metrics" >"$work/out" 2>&1 && [ ! -s "$work/out" ]'
		else
			echo "skip - promtool's own check: promtool is not installed (Debian: prometheus)"
		fi
	else
		echo "skip - curl's requests: curl is not installed"
	fi
	check "$1: a request in its shortest form" eval 'says "GET /metrics HTTP/1.0\n\n" "200 OK" && sed "1,/^\r\$/d" "$work/said" >"$work/metrics" && same "$work/metrics"'
	check "$1: a query is ignored" says 'GET /metrics?a=b HTTP/1.1\r\nHost: localhost:1\r\n\r\n' "200 OK"
	check "$1: the end of a chunked answer" eval '[ "$(tail -c 5 "$work/said" | od -An -c | tr -d " ")" = "0\\r\\n\\r\\n" ]'
	check "$1: this host by its other names" eval 'says "GET /metrics HTTP/1.1\r\nHost: 127.0.0.5\r\n\r\n" "200 OK" && says "GET /metrics HTTP/1.1\r\nhost:[::1]:80\r\n\r\n" "200 OK"'
	check "$1: the name of another host, as of a web page's" says 'GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n' "421 "
	check "$1: a name that begins as this host's" says 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example:80\r\n\r\n' "421 "
	check "$1: two hosts" says 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n' "421 "
	check "$1: another path" says 'GET / HTTP/1.1\r\n\r\n' "404 "
	check "$1: a longer path" says 'GET /metricsx HTTP/1.1\r\n\r\n' "404 "
	check "$1: another method" says 'POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n' "405 "
	check "$1: another version" says 'GET /metrics HTTP/2.0\r\n\r\n' "400 "
	check "$1: no version" says 'GET /metrics\r\n\r\n' "400 "
	check "$1: no path" says 'GET HTTP/1.1\r\n\r\n' "400 "
	check "$1: no request" says '\r\n\r\n' "400 "
	check "$1: nothing" says '\n\n' "400 "
	check "$1: JSON" says '{"do":"rotate"}\n\n' "400 "
	check "$1: a request that is too long gets no answer" eval 'ask "GET /metrics HTTP/1.1\r\n$(head -c 5000 /dev/zero | tr "\0" x)\r\n\r\n"; [ ! -s "$work/said" ]'

	# More clients than there are places, each in the middle of its request or of its answer.
	python3 -c '
import socket, sys, time
held = []
for i in range(20):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.sendall([b"", b"GET /met", b"GET /metrics HTTP/1.1\r\n\r\n", b"\0\xff" * 100][i % 4])
    held.append(s)
print("held", flush=True)
closed = 0
for s in held:
    s.settimeout(100)
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass
    closed += 1
print("closed", closed, flush=True)
time.sleep(1000)' "$port" >"$work/held" &
	held=$!
	pids+=($held)
	check "$1: 20 clients stall" poll grep -q held "$work/held"
	check "$1: another one is served" says 'GET /metrics HTTP/1.1\r\n\r\n' "200 OK"
	check "$1: and the recording goes on" goes_on
	check "$1: those that stall are dropped" poll grep -qx "closed 20" "$work/held"
	kill -KILL $held
	wait $held 2>/dev/null
	# Those that connect, or ask, without end; the first line says that all of them do.
	for how in connect ask; do
		python3 "$work/greedy.py" "$port" $how >"$work/greedy" &
		held=$!
		pids+=($held)
		check "$1: 8 peers $how without end" poll test -s "$work/greedy"
		check "$1: each of 20 others is served beside them" eval 'for i in {1..20}; do says "GET /metrics HTTP/1.1\r\n\r\n" "200 OK" && served=$i || break; done; [ $served -eq 20 ]'
		kill -KILL $held
		wait $held 2>/dev/null
	done
	kill -TERM $recorder
	wait $recorder
	check "$1: it ends in order" [ $? -eq 0 ]
	check "$1: nothing was lost" [ "$(stat_sum "$work/$1.xvt" lost)" -eq 0 ]
	check "$1: the trace verifies" "$xvtrace" verify -q "$work/$1.xvt"
}
serves epoll
if XVTRACE_LOOP=io_uring "$xvtrace" record -q -o "$work/try.xvt" -r g="$work/g" --join-timeout 0.1 --duration 0.1 2>/dev/null; then
	serves io_uring
else
	echo "skip - the same on io_uring: it is refused here"
fi

if [ -e /proc/sys/net/ipv6/conf/lo/disable_ipv6 ] && [ "$(cat /proc/sys/net/ipv6/conf/lo/disable_ipv6)" = 0 ]; then
	"$xvtrace" record -q -o "$work/six.xvt" -r g="$work/g" --join-timeout 0.1 --metrics-http '[::1]:0' 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
	check "IPv6: it records" poll records 0
	check "IPv6: it listens at ::1" eval '[[ $(recorder .metrics_http) == "[::1]:"* ]]'
	kill -TERM $recorder
	wait $recorder
else
	echo "skip - IPv6: this host has none"
fi
check "a port in the configuration" eval 'printf "metrics-http = 9750\n" >"$work/conf" && "$xvtrace" daemon -c "$work/conf" --show-config | grep -qx "metrics-http = 9750"'
exit $((failures > 0))
