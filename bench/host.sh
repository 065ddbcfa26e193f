#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What an event of the host's kernel costs the recorder, in its CPU time (user and system): xvtrace,
# trace-cmd with the same events, and dd of the same pages, which is the least that any reader
# takes. Ratios are within one run. Start and end of a recording count in all rows but "while it
# records", which is from the second burst of the load to the last one.
#
#   bench/host.sh BUILD     needs root, tracefs, and BUILD/xvtrace
#   HOST_CALLS=600000       system calls of the load, four events each, in ten bursts
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
dir=$build/bench/host
calls=${HOST_CALLS:-600000}
xvtrace=$build/xvtrace json=$build/bench/host.json
tracing=/sys/kernel/tracing
buffer_kib=32768 # the load does not overrun it
instance=$tracing/instances/xvtrace-bench
rows=()
rm -rf "$dir" && mkdir -p "$dir" || exit 1
trap 'rmdir $instance 2>/dev/null; rm -rf "$dir"' EXIT

skip() { echo "skip - $1: $2"; }

if ! [ -w $tracing/instances ]; then
	skip "events of the host" "the kernel cannot be traced here"
	exit
fi

# load FIRST LAST: these bursts
load() {
	local i
	for ((i = $1; i <= $2; i++)); do
		dd if=/dev/zero of=/dev/null bs=1 count=$((calls / 10)) 2>/dev/null
		sleep 0.3
	done
}

# row NAME EVENTS SECONDS
row() {
	local ns
	ns=$(echo "$2 $3" | awk '{ printf "%.0f", ($1 ? $2 * 1e9 / $1 : 0) }')
	printf '%-36s %9d events %8.3f s %8d ns/event\n' "$1" "$2" "$3" "$ns"
	rows+=("{ \"what\": \"$1\", \"events\": $2, \"cpu_seconds\": $3, \"ns_per_event\": $ns }")
}

# cpu COMMAND...: its CPU seconds and those of its children, in $seconds. Returns its status.
cpu() {
	local TIMEFORMAT='%U %S' rc
	seconds=$({ time "$@" >/dev/null 2>"$dir/err"; } 2>&1)
	rc=$?
	seconds=$(echo "$seconds" | awk '{ print $1 + $2 }')
	return $rc
}

# events_read INSTANCE: how many events were read
events_read() {
	cat "$1"/per_cpu/cpu*/stats | awk '/^read events:/ { n += $NF } END { print n + 0 }'
}

# so_far INSTANCE PID: the events that were read of it, and the CPU seconds of that process
so_far() {
	echo "$(events_read "$1") $(cat /proc/"$2"/task/*/schedstat | awk '{ s += $1 } END { print s / 1e9 }')"
}

# The load runs beside a recorder, so that its own time is not counted. The region has no writer,
# which the recorder's exit status says.
recorded() {
	"$xvtrace" region create "$dir/region" --size 256K --rings 1 >/dev/null || return
	(
		until [ -s "$dir/pid" ]; do sleep 0.1; done
		pid=$(cat "$dir/pid") made=
		until [ -n "$made" ]; do
			sleep 0.1
			made=$(find $tracing/instances -maxdepth 1 -name "xvtrace-host-$pid-*")
		done
		sleep 1
		load 1 1
		so_far "$made" "$pid" >"$dir/from"
		load 2 10
		so_far "$made" "$pid" >"$dir/to"
		kill -TERM "$pid"
	) &
	cpu sh -c "echo \$\$ >$dir/pid; exec $xvtrace record -q -o $dir/t.xvt -r g=$dir/region -H 'raw_syscalls:*' --host-all --host-buffer ${buffer_kib}K --join-timeout 0"
	wait
	row "xvtrace record -H" "$("$xvtrace" stat --json "$dir/t.xvt" | jq '[.vms[] | select(.kind == "host") | .events] | add')" "$seconds"
	# shellcheck disable=SC2046
	row "xvtrace record -H, while it records" $(awk '{ n = $1 - n; s = $2 - s } END { print n, s }' "$dir/from" "$dir/to")
}

copied() {
	local cpus
	mkdir $instance && echo x86-tsc >$instance/trace_clock && echo $buffer_kib >$instance/buffer_size_kb || return
	# Where a reader is woken by a half-full buffer, dd falls behind and the buffer overruns.
	if [ -e $instance/buffer_percent ]; then echo 0 >$instance/buffer_percent; fi
	echo 1 >$instance/events/raw_syscalls/enable
	cpus=$(find $instance/per_cpu -name trace_pipe_raw)
	(
		sleep 1
		load 1 10
		kill -TERM $(cat "$dir"/dd.*) 2>/dev/null
	) &
	# A reader that was woken for nothing gets 0 bytes, at which dd ends.
	cat >"$dir/again.sh" <<'EOF'
trap 'kill $!; exit' TERM
echo $$ >"$1/dd.$2"
for (( ; ; )); do
	dd if="$3" bs=4096 &
	wait
done
EOF
	# shellcheck disable=SC2016
	cpu sh -c 'd=$1; shift; n=0; for c; do n=$((n + 1)); bash "$d/again.sh" "$d" $n "$c" >"$d/raw.$n" & done; wait; :' sh "$dir" $cpus
	wait
	row "dd of trace_pipe_raw" "$(events_read $instance)" "$seconds"
	echo 0 >$instance/events/raw_syscalls/enable
	rmdir $instance
}

# The command that runs trace-cmd with its arguments. Where the kernel refuses to open the files of
# the function tracer, which trace-cmd resets before it records events, it gets empty files in their
# place, in a mount namespace of its own.
peer() {
	cat >"$dir/peer.sh" <<'EOF'
echo $$ >"$1/pid"
t=/sys/kernel/debug/tracing
[ -d $t/events ] || t=/sys/kernel/tracing
if ! (: >>$t/set_ftrace_filter) 2>/dev/null; then
	for f in /proc/sys/kernel/ftrace_enabled $t/set_ftrace_filter $t/set_ftrace_notrace $t/set_ftrace_pid; do
		[ -e "$f" ] || continue
		: >"$1/${f##*/}"
		mount --bind "$1/${f##*/}" "$f" || exit 1
	done
fi
shift
exec trace-cmd "$@"
EOF
	unshare -m sh "$dir/peer.sh" "$dir" "$@"
}

traced() {
	command -v trace-cmd >/dev/null || { skip "trace-cmd record" "it is not installed" && return; }
	rm -f "$dir/pid"
	(
		until [ -s "$dir/pid" ]; do sleep 0.1; done
		pid=$(cat "$dir/pid")
		until grep -q 1 $tracing/events/raw_syscalls/enable; do
			kill -0 "$pid" 2>/dev/null || exit
			sleep 0.1
		done
		sleep 1
		load 1 10
		kill -INT "$pid"
	) &
	if ! cpu peer record -q -o "$dir/t.dat" -b $buffer_kib -C x86-tsc -e raw_syscalls; then
		skip "trace-cmd record" "$(grep -v '^ *$' "$dir/err" | head -n 1)"
		wait
		return
	fi
	wait
	row "trace-cmd record" "$(trace-cmd report --stat "$dir/t.dat" 2>/dev/null |
		sed -nE 's/^ *(entries|read events): *//p' | awk '{ n += $1 } END { print n + 0 }')" "$seconds"
}

recorded
copied
traced
{
	printf '{ "bench": "host", "cpu": "%s", "rows": [\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
	(IFS=,; printf '%s' "${rows[*]}")
	printf '] }\n'
} >"$json"
jq . "$json" >/dev/null
