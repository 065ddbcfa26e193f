#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# shellcheck disable=SC2317
# CPUs of a guest go and come back, are plugged in, and under KVM taken out and plugged in again,
# while it is recorded; once by a recorder that gets 4 ms of each 150 ms. The second witness
# (xvt-watch), which has CPU, says between which times each event was written: its time must be
# right within its bound, or it has a flag; as recorded and as re-clocked.
set -u
. "$(dirname "$0")/lib.sh"
tools=$(realpath "$BUILD/tests/tools")

rings() { "$xvtrace" region show --json "$(vm_region g)" | jq -e "$1" >/dev/null; }
# ring CPU CONDITION: some ring of this CPU
ring() { rings ".rings | any(.cpu == $1 and .type == \"vcpu\" and ($2))"; }
attempted() { "$xvtrace" region show --json "$(vm_region g)" | jq "[.rings[] | select(.type == \"vcpu\" and .cpu == $1).attempted] | add // 0"; }
# goes_on CPU: its ring is on, and takes more
goes_on() {
	local at
	at=$(attempted "$1")
	vm_poll 60 ring "$1" ".state == \"online\" and .attempted > $at + 100"
}
came_back() { grep -ac '^XVT-SAY came back' "$(vm_log g)"; }
more_than() { [ "$(came_back)" -gt "$1" ]; }
# cycles N: CPU 1 goes and comes back so often
cycles() {
	local at
	at=$(came_back)
	vm_poll 120 more_than $((at + $1 - 1))
}
qmp() { vm_qmp g "$1" | tee -a "$work/qmp.log" | jq -e 'has("return")' >/dev/null; }
plug() { # CPU
	qmp "{\"execute\": \"device_add\", \"arguments\": {\"driver\": \"max-x86_64-cpu\", \"id\": \"cpu$1\",
		\"socket-id\": $1, \"core-id\": 0, \"thread-id\": 0}}"
}
plugged() { # CPU
	vm_qmp g '{"execute": "query-hotpluggable-cpus"}' |
		jq -e ".return | any(.props.\"socket-id\" == $1 and has(\"qom-path\"))" >/dev/null
}
gone() { ! plugged "$1"; }
unplug() { # CPU
	qmp "{\"execute\": \"device_del\", \"arguments\": {\"id\": \"cpu$1\"}}" && vm_poll 60 gone "$1"
}

# judge NAME: as recorded and as re-clocked
judge() {
	local how judged
	for how in '' reclock; do
		judged=$work/$1.judged$how
		# shellcheck disable=SC2086 # no word if there is none
		"$tools/xvt-watch-judge" "$work/$1.watch" "$trace" g $how >"$judged"
		sed "s/^/$1${how:+, re-clocked}: /" "$judged"
		check "$1${how:+, re-clocked}: no event's bound says that it was written when it was not" \
			zero "$judged" outside inside false
		check "$1${how:+, re-clocked}: no event without a flag may be off by more than a second" \
			test "$(figure "$judged" bound_ns)" -le 1000000000
		check "$1${how:+, re-clocked}: the witness knows both ends of most events" \
			test "$(($(figure "$judged" both) * 2))" -gt "$(figure "$judged" events)"
	done
}

# plugged_in NAME CPU
plugged_in() {
	need "$1: CPU $2 is plugged in" plug "$2"
	check "$1: it is recorded" goes_on "$2"
	check "$1: CPU 1 goes and comes back" cycles 1
}

# recorded NAME CPU COMMAND...: CPU comes while what COMMAND... runs records
recorded() {
	local name=$1 cpu=$2 die=(setpriv --pdeathsig KILL --) watch
	shift 2
	trace=$work/$name.xvt
	"${die[@]}" "$@" ${1+"${die[@]}"} "$xvtrace" record -q -o "$trace" -r g="$(vm_region g)" 2>"$trace.err" &
	recorder=$!
	need "$name: both CPUs are recorded" eval 'goes_on 0 && goes_on 1'
	(cd "$work/g" && exec "${die[@]}" "$tools/xvt-watch" "$(vm_region g)" stops.sock 600000) >"$work/$name.watch" &
	watch=$!
	check "$name: CPU 1 goes and comes back three times" cycles 3
	plugged_in "$name" "$cpu"
	if [ "$unplugs" = yes ]; then
		need "$name: CPU $cpu is taken out" unplug "$cpu"
		check "$name: CPU 1 goes and comes back" cycles 1
		plugged_in "$name" "$cpu"
	fi
	check "$name: CPU 1 goes and comes back three times" cycles 3
	kill -TERM $watch
	wait $watch
	check "$name: the witness has seen it" test $? -eq 0
	record_stop
	check "$name: the recorder ends cleanly" test $? -eq 0
	grep -v '^$' "$trace.err"
	check "$name: each CPU has events" stat_says "$trace" \
		"[.vms[].rings[] | select(.events > 0)] | map(.cpu) | unique == [range($cpu + 1)]"
	check "$name: attempted == events + discarded + lost + in flight" adds_up "$trace"
	check "$name: verify passes" "$xvtrace" verify -q "$trace"
	judge "$name"
}

# QEMU 7.2 under TCG ends when a CPU is taken out: with one thread for all of them always, with a
# thread for each now and then.
unplugs=no
case $(vm_accel) in
kvm*) unplugs=yes ;;
*) echo "skip - a CPU is taken out and plugged in again: it takes KVM" ;;
esac
overlay hotplug.sh >/dev/null
vm_start g --vcpus 2,maxcpus=4,sockets=4,cores=1,threads=1 --region-size 16M --mem 512 --mod probes=none \
	--overlay "$work/overlay-hotplug.sh" --qemu-arg -qmp --qemu-arg unix:stops.sock,server=on,wait=off || exit 1
need "the guest runs" vm_wait_log g "^XVT-SAY flowing" 600
recorded free 2
recorded starved 3 "$BUILD/tests/clocks/starve" 4 150 800 600000

# A witness that never says no is none.
need "the machine's times are moved by 5 ms" "$tools/xvt-shift" g 5000000 "$trace" "$work/moved.xvt"
"$tools/xvt-watch-judge" "${trace%.xvt}.watch" "$work/moved.xvt" g >"$work/moved.judged"
check "... and the witness says so" test "$(figure "$work/moved.judged" outside)" -gt 0
vm_kill g
finish
