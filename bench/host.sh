#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What an event of the host's kernel costs the recorder, in its CPU time (user and system): xvtrace,
# trace-cmd with the same events, and dd of the same pages, which is the least that any reader
# takes. Ratios are within one run.
#
#   bench/host.sh BUILD     needs root, tracefs, and BUILD/xvtrace
#   HOST_CALLS=500000       system calls of the load, four events each
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
dir=$build/bench/host
calls=${HOST_CALLS:-500000}
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

load() {
	dd if=/dev/zero of=/dev/null bs=1 count="$calls" 2>/dev/null
}

# row NAME EVENTS SECONDS
row() {
	local ns
	ns=$(echo "$2 $3" | awk '{ printf "%.0f", ($1 ? $2 * 1e9 / $1 : 0) }')
	printf '%-34s %9d events %8.3f s %8d ns/event\n' "$1" "$2" "$3" "$ns"
	rows+=("{ \"what\": \"$1\", \"events\": $2, \"cpu_seconds\": $3, \"ns_per_event\": $ns }")
}

# cpu COMMAND...: its CPU seconds and those of its children, in $seconds
cpu() {
	local TIMEFORMAT='%U %S'
	seconds=$({ time "$@" >/dev/null 2>"$dir/err"; } 2>&1) || return 1
	seconds=$(echo "$seconds" | awk '{ print $1 + $2 }')
}

# The load runs beside a recorder, so that its own time is not counted.
recorded() {
	"$xvtrace" region create "$dir/region" --size 256K --rings 1 >/dev/null || return
	(
		until [ -n "$(find $tracing/instances -maxdepth 1 -name 'xvtrace-host-*')" ]; do sleep 0.1; done
		sleep 1
		load
		sleep 0.5
		kill -TERM "$(cat "$dir/pid")"
	) &
	cpu sh -c "echo \$\$ >$dir/pid; exec $xvtrace record -q -o $dir/t.xvt -r g=$dir/region -H 'raw_syscalls:*' --host-all --host-buffer ${buffer_kib}K"
	wait
	row "xvtrace record -H" "$("$xvtrace" stat --json "$dir/t.xvt" | jq '[.vms[] | select(.kind == "host") | .events] | add')" "$seconds"
}

# events_of INSTANCE-STATS: how many events were read
events_read() {
	cat $instance/per_cpu/cpu*/stats | awk '/^read events:/ { n += $NF } END { print n + 0 }'
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
		load
		sleep 0.5
		kill -TERM $(cat "$dir"/dd.*) 2>/dev/null
	) &
	# shellcheck disable=SC2016
	cpu sh -c 'n=0; for c; do n=$((n + 1)); sh -c "echo \$\$ >'"$dir"'/dd.$n; exec dd if=$c bs=4096" >'"$dir"'/raw.$n & done; wait; :' sh $cpus
	wait
	row "dd of trace_pipe_raw" "$(events_read)" "$seconds"
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
		load
		sleep 0.5
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
