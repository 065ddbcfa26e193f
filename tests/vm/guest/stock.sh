#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest with nothing of xvtrace in it, whose kernel has ftrace's ring of the instance xvt in memory
# that the host shares. Both CPUs write markers at full speed; then it says what its own kernel
# counts, and gives its own view of the ring.
instance=/sys/kernel/tracing/instances/xvt
[ -d $instance ] || { echo "XVT-SAY no instance"; exit 1; }
echo x86-tsc >$instance/trace_clock
for cpu in 0 1; do
	taskset "$((cpu + 1))" sh -c "i=0; while [ \$i -lt ${MARKS:-8000} ]; do echo seq \$i; i=\$((i + 1)); done >$instance/trace_marker" &
done
wait
echo 0 >$instance/tracing_on
for cpu in 0 1; do
	stats=$instance/per_cpu/cpu$cpu/stats
	echo "XVT-SAY cpu$cpu $(awk '/^entries:/ { e = $2 } /^overrun:/ { o = $2 } END { print "entries=" e, "overrun=" o }' $stats)"
done
mkdir /tmp/out
for cpu in 0 1; do
	grep -v '^#' $instance/per_cpu/cpu$cpu/trace | sed 's/.*\] [^ ]* *\([0-9]*\): .*/\1/' >/tmp/out/cpu$cpu
done
tar cf /dev/vda -C /tmp/out .
