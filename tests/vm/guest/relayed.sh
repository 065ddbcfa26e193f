#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest without the module, whose ftrace is relayed. Three relays: the first one is killed, and what
# is traced until the next one is there is also given as the guest's own `trace`; the second one goes
# on with it and ends in order; the third one has a short buffer and stands still meanwhile.
instance=/sys/kernel/tracing/instances/xvt-relay
say() {
	echo "XVT-SAY $*"
}
fail() {
	say "failed: $*"
	exit 1
}
# relay OPTION...: until the host has it record. A new instance records until the relay has it.
relay() {
	xvt-guest relay --events sched,irq "$@" >/tmp/relay &
	relay=$!
	until grep -q '^relaying' /tmp/relay && [ "$(cat $instance/tracing_on 2>/dev/null)" = 1 ]; do
		kill -0 $relay || fail "no relay"
		sleep 0.1
	done
	child=$(cat /proc/$relay/task/$relay/children)
	child=${child% }
}
# marks FROM: numbered marks of both CPUs at full speed
marks() {
	for cpu in 0 1; do
		taskset $((cpu + 1)) sh -c "i=0; while [ \$i -lt 1000 ]; do echo mark $1.$cpu.\$i; i=\$((i + 1)); done >$instance/trace_marker" &
		eval "writer$cpu=\$!"
	done
	wait "$writer0" "$writer1"
}
# figure KEY: of both CPUs
figure() {
	cat $instance/per_cpu/cpu*/stats | awk -v key="$1" -F ': ' '$1 == key { n += $2 } END { print n + 0 }'
}
# stand_still: the relay does
stand_still() {
	kill -STOP "$child"
	until grep -q '^State:.*T' "/proc/$child/status"; do
		usleep 10000
	done
}
# written PART: how many events were written into the kernel's ring, which stops: they are in it, read, or overwritten
written() {
	echo 0 >$instance/tracing_on
	stand_still
	say "$1 written=$(($(figure entries) + $(figure 'read events') + $(figure overrun)))"
	kill -CONT "$child"
}

relay
marks 1
# It sleeps (clock_nanosleep): a page that it had read and not yet written would be lost.
until stand_still && grep -q '^230 ' "/proc/$child/syscall"; do
	kill -CONT "$child"
	usleep 10000
done
kill -9 "$child"
wait $relay
say "killed rc=$?"
marks 2
echo 0 >$instance/tracing_on
mkdir /tmp/out
for cpu in 0 1; do
	grep -v '^#' $instance/per_cpu/cpu$cpu/trace | sed 's/.*\] [^ ]* *\([0-9]*\): .*/\1/' >/tmp/out/cpu$cpu
done
tar cf /dev/vda -C /tmp/out .
say "left entries=$(figure entries) overrun=$(figure overrun)"

relay
marks 3
written long
kill -TERM $relay
wait $relay
say "ended rc=$? left=$(ls -d $instance 2>/dev/null)"

relay --buffer 16
stand_still
marks 4
kill -CONT "$child"
marks 5
written short
say "short overrun=$(figure overrun) dropped=$(figure 'dropped events') commit=$(figure 'commit overrun')"
kill -TERM $relay
wait $relay
say "short rc=$?"
