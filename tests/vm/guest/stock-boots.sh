#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# As stock.sh, through three boots of one ring: marks, a reader of the ring in the guest, a ring that
# is emptied; a reboot; marks, and a panic; then it ends. The first byte of /dev/vda says which boot it
# is. The host makes each of the next three "g" when it has seen what came before: the first events,
# the reader, the emptied ring. Two of them between two looks of the host are one to it.
instance=/sys/kernel/tracing/instances/xvt
[ -d $instance ] || { echo "XVT-SAY no instance"; exit 1; }
boot=$(head -c 1 /dev/vda)
# marks LETTER
marks() {
	taskset 1 sh -c "i=0; while [ \$i -lt 2000 ]; do echo mark $1 \$i; i=\$((i + 1)); done >$instance/trace_marker"
}
# seen BYTE: wait until the host has seen it
seen() {
	until [ "$(dd if=/dev/vda bs=1 skip="$1" count=1 2>/dev/null)" = g ]; do
		sleep 0.1
		echo 3 >/proc/sys/vm/drop_caches
	done
}
next_boot() {
	printf %s "$1" | dd of=/dev/vda conv=notrunc 2>/dev/null
	sync
}
echo "XVT-SAY boot '$boot'"
case $boot in
1)
	marks d
	next_boot 2
	echo "last words" >$instance/trace_marker
	echo c >/proc/sysrq-trigger
	;;
2) exit ;;
*)
	seen 1
	marks a
	cat $instance/trace_pipe >/dev/null &
	marks b
	kill $!
	seen 2
	echo >$instance/trace
	marks c
	seen 3
	next_boot 1
	reboot -f
	;;
esac
sleep 600
