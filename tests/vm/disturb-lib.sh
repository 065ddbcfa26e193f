# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced after lib.sh by the tests that disturb a guest. Two guests write numbered markers on two
# CPUs each and exchange packets: d, which gets disturbed, and o, which must not be touched by
# that. d may change its QEMU process (migration), so its name here is $d.

d=d
runs=0
rewound=no
moved=no

# Both QEMUs' network: datagrams, so that a process can take over another one's address.
net_args() {
	echo "--qemu-arg -netdev --qemu-arg dgram,id=n0,local.type=unix,local.path=$work/$1.net,remote.type=unix,remote.path=$work/$2.net"
	echo "--qemu-arg -device --qemu-arg virtio-net-pci,netdev=n0,mac=52:54:00:00:00:$3,romfile="
}

# What the guests run; d carries a kernel and an initrd for kexec, too.
make_overlays() {
	local packages
	packages=$(qemu/guest-packages.sh --print) || exit 1
	vmlinuz=$(eval "$packages" && echo "$VMLINUZ")
	overlay flow.sh >/dev/null
	mkdir -p "$work/more/boot"
	mkdir -p "$work/module"
	cp "$(eval "$packages" && echo "$KMODDIR")/kernel/arch/x86/kernel/msr.ko" "$work/module/"
	cp "$work/module/msr.ko" "$work/more/"
	qemu/overlay.sh "$work/overlay-flow.sh" "$work/flow.gz" && qemu/overlay.sh "$work/module" "$work/module.gz" || exit 1
	# What kexec boots must be able to do the same, but for another kexec.
	cat "$BUILD/guest/initramfs.gz" "$work/flow.gz" "$work/module.gz" >"$work/more/boot/initrd"
	cp "$vmlinuz" "$work/more/boot/vmlinuz"
	"${CC:-gcc}" -O2 -static -o "$work/more/xvt-kexec" tests/vm/guest/xvt-kexec.c || exit 1
}

# start_d NAME ARG...: the disturbed guest, or one that waits for its migration. It boots as a PC
# does, because only so it finds its way back from S3.
start_d() {
	local name=$1 VM_KERNEL=$vmlinuz
	shift
	qemu-img create -q -f qcow2 "$work/$name.qcow2" 1G || exit 1
	# shellcheck disable=SC2046 # words
	vm_start "$name" --vcpus 2 --mem 512 --region-size 16M --master --reboot --orders \
		--mod probes=none --overlay "$work/overlay-flow.sh" --overlay "$work/more" --ip 10.77.0.1/24 \
		--append "xvt.role=server no_console_suspend" $(net_args d o 01) \
		--qemu-arg -drive --qemu-arg "file=$(realpath "$work/$name.qcow2"),if=none,format=qcow2,id=d0" "$@" || exit 1
}

start_both() {
	make_overlays
	start_d d
	# shellcheck disable=SC2046
	vm_start o --vcpus 2 --region-size 16M --orders --mod probes=none --overlay "$work/overlay-flow.sh" \
		--ip 10.77.0.2/24 --append xvt.role=client $(net_args o d 02) || exit 1
	need "both guests run" eval 'vm_wait_log d "^XVT-SAY flowing" 600 && vm_wait_log o "^XVT-SAY flowing" 600'
}

# order WORD: the guest d does it; returns when it says so
order() {
	runs=$((runs + 1))
	vm_order "$d" "$1 $runs"
	vm_wait_log "$d" "^XVT-SAY did $1 $runs 0" 600
}

qmp() {
	vm_qmp "$d" "$1" >>"$work/qmp.log"
}

# monitor COMMAND: for what QMP has no command; says what is wrong, or nothing
monitor() {
	local said
	said=$(vm_qmp "$d" '{"execute":"human-monitor-command","arguments":{"command-line":"'"$1"'"}}' | jq -r .return)
	[ -z "$said" ] || { echo "$1: $said"; return 1; }
}

# played DISTURBANCE: d went through it. Where it did not, what follows has no meaning, and a reader of this
# cannot ask the guest any more.
played() {
	"$1" && return
	vm_alive "$d" || { echo "$d: its QEMU has ended" && return 1; }
	echo "$d: $(vm_qmp "$d" '{"execute":"query-status"}' | jq -r .return.status)," \
		"$(vm_qmp "$d" '{"execute":"human-monitor-command","arguments":{"command-line":"info registers -a"}}' |
			jq -r .return | grep -oE '^CPU#[0-9]+|RIP=[0-9a-f]+|HLT=1' | xargs)"
	tail -n 8 "$(vm_log "$d")" | cut -c-200
	return 1
}

# attempted NAME: of its least used ring that is on
attempted() {
	"$xvtrace" region show --json "$(vm_region "$1")" | jq '[.rings[] | select(.state == "online") | .attempted] | min // 0'
}

went_on() {
	[ "$(attempted d)" -ge $((at_d + $1)) ] && [ "$(attempted o)" -ge $((at_o + $1)) ]
}

# flow N: until each ring of both guests has seen N more attempts
flow() {
	at_d=$(attempted d) at_o=$(attempted o)
	vm_poll 30 went_on "$1"
}

record_both() {
	trace=$work/$1.xvt inside=0 rewound=no moved=no
	# Both of the QEMUs in which d may run. A guest that has not had its turn for seconds, because the
	# host is busy, is not one that will never answer.
	record_start "$trace" -r d="$(vm_region d)" -r o="$(vm_region o)" --stall-timeout 60 \
		--qmp d="$(vm_qmp_path $d)" --qmp d="$(vm_qmp_path ${d}m)" --qmp o="$(vm_qmp_path o)"
	flow 1000
}

# ------------------------------------------------------------------ the disturbances

# What may be late or unconfirmed: an event that is open while d stands still. A disturbance that
# stops d at an unknown place may have one event of a task and one of an interrupt on each CPU.
inside=0
look_inside() {
	inside=$((inside + $("$xvtrace" region show --json "$(vm_region d)" | jq '[.rings[] | if .nest == 0 and .commit != .resv then 1 else .nest end] | add')))
}

pause() {
	qmp '{"execute":"stop"}' && look_inside && flow_o 2000 && qmp '{"execute":"cont"}'
}

# flow_o N: only the other guest goes on
flow_o() {
	local base
	base=$(attempted o)
	vm_poll 60 eval '[ "$(attempted o)" -ge '$((base + $1))' ]'
}

# A snapshot, much that happens after it, and back to it: memory and region are those of before,
# the clock is not (QEMU's TCG) or goes back, too (KVM).
snapshot() {
	inside=$((inside + 8)) rewound=yes
	monitor 'savevm here' && flow 1000 && monitor 'loadvm here'
}

save() {
	inside=$((inside + 4))
	monitor 'savevm there'
}

tsc_write() {
	order tsc
}

cpu_off_on() {
	order offline && flow_o 1000 && order online
}

module_reload() {
	order reload
}

suspended() {
	[ "$(vm_qmp "$d" '{"execute":"query-status"}' | jq -r .return.status)" = suspended ]
}

suspend_to_ram() {
	runs=$((runs + 1))
	vm_order "$d" "suspend $runs"
	vm_poll 60 suspended && flow_o 1000 && qmp '{"execute":"system_wakeup"}' &&
		vm_wait_log "$d" "^XVT-SAY did suspend $runs 0" 600
}

boots() {
	grep -ac '^XVT-SAY flowing' "$(vm_log "$d")"
}

booted_again() {
	[ "$(boots)" -gt "$1" ]
}

system_reset() {
	local before
	before=$(boots)
	qmp '{"execute":"system_reset"}' && vm_poll 120 booted_again "$before"
}

kexec() {
	local before
	before=$(boots)
	runs=$((runs + 1))
	vm_order "$d" "kexec $runs"
	vm_poll 120 booted_again "$before"
}

migrated() {
	local status
	status=$(vm_qmp "$1" '{"execute":"query-migrate"}' | jq -r .return.status)
	[ "$status" = failed ] && echo "migration failed" && return 0
	[ "$status" = completed ]
}

# same_file NAME NAME: do both QEMUs map d's region, the very file that is recorded?
same_file() {
	local inode name
	inode=$(stat -L -c %i "$(vm_region d)")
	for name in "$@"; do
		awk -v i="$inode" '$5 == i { found = 1 } END { exit !found }' "/proc/$(vm_pid "$name")/maps" || return
	done
}

# Live, to a second QEMU process that maps the same region.
migrate() {
	local from=$d to=${d}m
	inside=$((inside + 4)) moved=yes
	start_d "$to" --region "$(vm_region d)" --qemu-arg -incoming --qemu-arg defer
	d=$to
	qmp '{"execute":"migrate-incoming","arguments":{"uri":"unix:'"$work/$to.mig"'"}}' || return
	d=$from
	qmp '{"execute":"migrate","arguments":{"uri":"unix:'"$work/$to.mig"'"}}' || return
	vm_poll 120 migrated "$from" || return
	check "migrate: source and destination map the same file, $(vm_region d)" same_file "$from" "$to"
	vm_kill "$from"
	d=$to
}

# ------------------------------------------------------------------ the second witness

# Where the guest's clock cannot go back (QEMU's TCG), it says between which times each event of d was
# written, whatever the recorder and the VMM do meanwhile.
witness=''
witness_start() {
	witness=''
	case $(vm_accel) in kvm*) return ;; esac
	setpriv --pdeathsig KILL -- "$BUILD/tests/tools/xvt-watch" "$(vm_region d)" - 600000 >"$work/$1.watch" &
	witness=$!
}

# witness_judge NAME: it ends, and the times of NAME's trace are right within their bounds, as recorded
# and re-clocked. It would see them if they were moved by 5 ms.
witness_judge() {
	local how judged=$work/$1.judged
	[ -n "$witness" ] || { echo "skip - $1: the witness presumes a clock that does not go back"; return; }
	for how in '' reclock; do
		# shellcheck disable=SC2086 # no word if there is none
		"$BUILD/tests/tools/xvt-watch-judge" "$work/$1.watch" "$trace" d $how >"$judged"
		sed "s/^/$1${how:+, re-clocked}: /" "$judged"
		check "$1${how:+, re-clocked}: no event's bound says that it was written when it was not" \
			zero "$judged" outside inside false
		check "$1${how:+, re-clocked}: the witness knows an end of most events" \
			test "$(($(figure "$judged" witnessed) * 2))" -gt "$(figure "$judged" events)"
	done
	need "$1: d's times are moved by 5 ms" "$BUILD/tests/tools/xvt-shift" d 5000000 "$trace" "$work/moved.xvt"
	"$BUILD/tests/tools/xvt-watch-judge" "$work/$1.watch" "$work/moved.xvt" d >"$judged"
	check "$1: ... and the witness says so" test "$(figure "$judged" outside)" -gt 0
}

witness_end() {
	[ -n "$witness" ] || return 0
	kill -TERM "$witness" && wait "$witness"
}

# ------------------------------------------------------------------ what must be true after it

# An event that is flagged so has a time that was clamped to what the drain saw: verify and stat
# count it as an event like any other. XVT_EVENT_F_CLOCK is the highest flag, 0x1000000.
clocks_hold() {
	awk '$1 == "event" && length($7) > 8 { n++ } END { print n + 0; exit n > 0 }' "$1"
}

# whole FILE VM CPU: numbers go up by one within each billion (a boot, a load of the module)
whole() {
	numbers "$1" "$2" "$3" | awk '
		int($1 / 1e9) != era { era = int($1 / 1e9); eras = eras " " $1 ".."; first = 1 }
		!first && $1 != last + 1 { print "after " last " comes " $1; bad++ }
		{ first = 0; last = $1; n++ }
		END { print n + 0 " numbers," eras last; exit bad > 0 || !n }'
}

# rises FILE VM CPU: after a live migration onto the same file. What QEMU's copy took away before
# the other one saw it is missing; no number comes twice, and without such a copy none is missing.
rises() {
	local copied
	copied=$("$xvtrace" verify --notes "$1" | grep -c "memory went back")
	numbers "$1" "$2" "$3" | awk -v copied="$copied" '
		int($1 / 1e9) != era { era = int($1 / 1e9); last = $1 - 1 }
		$1 <= last { print "after " last " comes " $1; bad++ }
		{ missing += $1 - last - 1; last = $1; n++ }
		END { print n + 0 " numbers, " missing + 0 " missing; written back " copied " times"; exit bad > 0 || !n || (missing && !copied) }'
}

# went_back FILE VM CPU: after a roll-back the guest writes the same numbers again, as other events.
# They go back once; what is missing else was counted as overwritten.
went_back() {
	local overwritten
	overwritten=$("$xvtrace" stat --json "$1" | jq ".vms[] | select(.name == \"$2\").rings[] | select(.cpu == $3).lost_by.overwritten")
	numbers "$1" "$2" "$3" | awk -v overwritten="$overwritten" -v moved=$([ $moved = yes ] && echo 1 || echo 0) '
		int($1 / 1e9) != era { era = int($1 / 1e9); last = $1 - 1 }
		$1 <= last { print "back from " last " to " $1; back++; last = $1 - 1 }
		$1 > last + 1 { print "after " last " comes " $1; missing += $1 - last - 1 }
		{ last = $1; n++ }
		END { print n + 0 " numbers, " overwritten " events overwritten"; exit back != 1 || (missing > overwritten && !moved) }'
}

# judge NAME EPOCHS: the trace of one disturbance; EPOCHS of each ring of d
judge() {
	local name=$1 epochs=$2
	record_stop
	check "$name: the recorder ends cleanly" test $? -eq 0
	grep -v '^$' "$trace.err"
	"$xvtrace" stat --json "$trace" >"$work/$name.json"
	"$xvtrace" stat "$trace"
	raw "$trace"
	check "$name: nothing out of order" stat_says "$trace" '.order_violations == 0'
	check "$name: attempted == events + discarded + lost + in flight" adds_up "$trace"
	check "$name: verify passes, causality included" "$xvtrace" verify "$trace"
	check "$name: d has $epochs epochs on each CPU: $(jq -c '[.vms[] | select(.name == "d").rings[].epochs]' "$work/$name.json")" \
		stat_says "$trace" "[.vms[] | select(.name == \"d\").rings[].epochs == $epochs] | all"
	check "$name: o has one epoch on each CPU" stat_says "$trace" '[.vms[] | select(.name == "o").rings[].epochs == 1] | all'
	check "$name: late and unconfirmed are only what was in flight, at most $inside: $(jq -c '[.late, .unconfirmed]' "$work/$name.json")" \
		stat_says "$trace" ".late + .unconfirmed <= $inside"
	check "$name: no event contradicts its clock" clocks_hold "$work/$name.raw"
	check "$name: no event twice" repeats "$work/$name.raw" $([ $rewound = no ] || echo rewound)
	check "$name: o lost nothing, nothing late or unconfirmed" stat_says "$trace" \
		'.vms[] | select(.name == "o") | [.rings[] | .lost == 0 and .late == 0 and .unconfirmed == 0] | all'
	for cpu in 0 1; do
		check "$name: o: every number of cpu $cpu once, in order" whole "$trace" o $cpu
		if [ $rewound = yes ]; then
			check "$name: d: the numbers of cpu $cpu go back once" went_back "$trace" d $cpu
		elif [ $moved = yes ]; then
			check "$name: d: the numbers of cpu $cpu only go up" rises "$trace" d $cpu
		else
			check "$name: d: every number of cpu $cpu once, in order" whole "$trace" d $cpu
		fi
	done
}
