#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The events of this kernel, as many as can be provoked, in ftrace's own ring and in ours; then the kernel's own text of
# each goes to the host. /dev/vdb is an ext4 of the host.
. /lib.sh

# Of these there would be too many, or none.
off='ftrace initcall lock rcu xen hyperv kvm kvmmmu msr'
# Of these there are many: for one process alone.
often='kmem irq_vectors raw_syscalls syscalls timer tlb exceptions'

all_events() {
	for dir in "$tracing"/events/*/; do
		system=${dir%/}
		system=${system##*/}
		case " $off $often " in
		*" $system "*) ;;
		*) echo "$1" >"$dir/enable" ;;
		esac
	done 2>/dev/null
}

disks() {
	mkdir -p /tmp/disk
	mount -t ext4 /dev/vdb /tmp/disk
	cd /tmp/disk || return
	echo text >file && mv file file2 && ln file2 file3 && rm file3 && ln -s file2 link && mkdir dir && rmdir dir
	dd if=/dev/zero of=big bs=64k count=8 conv=fsync
	cat big >/dev/null
	truncate -s 5000 big
	chmod 600 big
	chown 1:1 big
	/xvt-provoke
	dd if=/dev/zero of=swap bs=64k count=24
	mkswap swap && swapon swap
	/xvt-provoke short
	swapoff swap
	rm swap
	sync
	fstrim /tmp/disk
	cd /
	umount /tmp/disk
	dd if=/dev/vdb of=/dev/null bs=4k count=4
	for elevator in bfq kyber mq-deadline none; do
		echo $elevator >/sys/block/vdb/queue/scheduler
		dd if=/dev/vdb of=/dev/null bs=4k count=16 skip=100
	done
}

networks() {
	ip link add dummy0 type dummy
	ip addr add 10.9.8.7/24 dev dummy0
	ip addr add fd00::7/64 dev dummy0
	ip link set dummy0 up
	ip route add 10.9.9.0/24 via 10.9.8.1
	ping -c 1 -W 1 10.9.8.9
	ping -c 1 127.0.0.1
	ping -6 -c 1 ::1
	ip neigh
	ip link set eth0 up
	ip addr add 10.0.2.15/24 dev eth0
	ping -c 1 -W 1 10.0.2.2
	ip link del dummy0
}

groups() {
	mkdir -p /tmp/cgroup
	mount -t cgroup2 none /tmp/cgroup
	mkdir /tmp/cgroup/a /tmp/cgroup/b
	echo '+memory +cpu +pids' >/tmp/cgroup/cgroup.subtree_control
	sleep 100 &
	echo $! >/tmp/cgroup/a/cgroup.procs
	echo 1 >/tmp/cgroup/a/cgroup.freeze
	echo 0 >/tmp/cgroup/a/cgroup.freeze
	echo $! >/tmp/cgroup/b/cgroup.procs
	kill $!
	wait $!
	rmdir /tmp/cgroup/a
	# A group that reclaims, and one that has too much.
	echo 6M >/tmp/cgroup/b/memory.max
	(
		sh -c 'echo $PPID' >/tmp/cgroup/b/cgroup.procs
		dd if=/dev/zero of=/dev/null bs=2M count=1
		dd if=/dev/zero of=/tmp/much bs=16M count=1
	)
	rmdir /tmp/cgroup/b /tmp/cgroup/a
	umount /tmp/cgroup
}

machine() {
	echo 1 >/proc/sys/vm/compact_memory
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/sys/kernel/mm/ksm/run
	renice -n 5 $$
	taskset -p 1 $$
	taskset -p 3 $$
	hwclock
	modprobe pvpanic_mmio
	rmmod pvpanic_mmio
	echo 0 >/sys/devices/system/cpu/cpu1/online
	echo 1 >/sys/devices/system/cpu/cpu1/online
	echo 'a marker' >"$tracing/trace_marker"
}

# Events that the kernel makes when asked: their formats are made by it, too.
# shellcheck disable=SC2016 # the kernel's variables
probes() {
	entry=$(cat /entry)
	echo 'p:text/kprobe do_sys_openat2 dfd=%di:s32 name=+0(%si):ustring flags=+0(%dx):x64 bytes=+0(%dx):u8[4] half=+0(%dx):s16[2] where=+0(%sp):symbol' >>$tracing/kprobe_events
	echo 'r:text/kretprobe do_sys_openat2 ret=$retval:s32' >>$tracing/kprobe_events
	echo 'p:text/kinds do_sys_openat2 bits=+0(%dx):b4@4/32 one=\1:u8 comm=$comm stack=$stack:x64 set=+0(%dx):b3@2/16 none=+0(+0(%dx)):string long=+0(%dx):x64[3]' \
		>>$tracing/kprobe_events
	echo 'p:text/fixed do_sys_openat2 string=\"fixed"' >>$tracing/kprobe_events
	echo 'e:eprobes/eprobe sched.sched_switch prev=$prev_comm:string n=$next_pid:s32 state=$prev_state:x64' >>$tracing/dynamic_events
	echo "p:text/uprobe /xvt-provoke:$entry ip=%ip:x64 sp=%sp" >>$tracing/uprobe_events
	echo "r:text/uretprobe /xvt-provoke:$entry ret=\$retval" >>$tracing/uprobe_events
	# Of newer kernels. (A symstr of 6.12 writes a zero behind its record, into those of others.)
	echo 'p:text/newer do_sys_openat2 char=+0(%si):char' >>$tracing/kprobe_events
	echo 'f:text/fprobe vfs_read count=$arg3' >>$tracing/dynamic_events
	echo 'f:text/fretprobe vfs_read%return ret=$retval' >>$tracing/dynamic_events
	echo 't:text/tprobe sched_waking p=$arg1:x64' >>$tracing/dynamic_events
	echo 'text_made u64 lat; pid_t pid; char comm[16]; unsigned long flags' >>$tracing/synthetic_events
	echo 'hist:keys=pid:ts0=common_timestamp.usecs' >>$tracing/events/sched/sched_waking/trigger
	echo 'hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace(text_made,$lat,next_pid,next_comm,prev_state)' \
		>>$tracing/events/sched/sched_switch/trigger
}

echo nop >$tracing/current_tracer
echo 0 >$tracing/options/overwrite
echo x86-tsc >$tracing/trace_clock
echo 0 >$tracing/options/record-tgid
echo 16384 >$tracing/buffer_size_kb
for module in crc32c_generic ext4 dummy bfq kyber-iosched; do
	modprobe $module || echo "XVT-GUEST-ERROR: modprobe $module"
done
probes 2>/dev/null
xvt-guest formats --all >/dev/null
xvt-guest sync
echo >$tracing/trace
say ready
until_rings stop
all_events 1
(
	machine
	disks
	networks
	groups
) >/dev/null 2>/tmp/errors
all_events 0
echo 1 >$tracing/options/event-fork
echo $$ >$tracing/set_event_pid
for system in $often; do
	echo 1 >"$tracing/events/$system/enable"
done
/xvt-provoke short
echo 0 >$tracing/events/enable
say done
until_rings off
mkdir /tmp/out
cat $tracing/trace >/tmp/out/trace
cp /tmp/errors /tmp/out/
cat $tracing/per_cpu/cpu*/stats >/tmp/out/stats
cat $tracing/available_events >/tmp/out/events
tar cf /dev/vda -C /tmp/out . || exit 1
