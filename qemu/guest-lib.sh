# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Start, watch and stop QEMU guests that share a region with the host. To be sourced by a bash script:
#
#	. qemu/guest-lib.sh
#	vm_trap					# leaves no process and no region, however the script ends
#	vm_start g1 --vcpus 2 --overlay DIR	# DIR/run.sh is what the guest does
#	build/xvtrace record -r g1="$(vm_region g1)" ...
#	vm_wait g1 60
#
# vm_start NAME [OPTION]...	returns when QEMU answers; what the guest has done by then is open
#   --vcpus N --mem MB --region-size SIZE	default 1, 256, 4M (a power of two: it is a PCI BAR)
#   --overlay DIR		files over the image; may be repeated
#   --mod 'A=1;B=2'		parameters of xvtrace.ko; none: do not load it
#   --append WORDS		more of the kernel's command line
#   --net SOCKET:server|client	eth0, joined to the other guest of that socket; start the server first
#   --ip ADDRESS/BITS		address of eth0
#   --out-disk FILE SIZE	/dev/vda: tar cf /dev/vda ... in the guest, vm_out here
#   --region PATH		use this file, which vm_cleanup will not remove
#   --master			the region takes part in snapshots and migration (master=on)
#   --doorbell			the guest can wake what listens at vm_bell (a server of its own runs as long as it)
#   --reboot			a reboot reboots (default: it ends QEMU)
#   --console			a socket to talk to the guest, see vm_console; the log stays (QEMU repeats a character there
#				that the socket did not take at once, so what is to be searched needs another way)
#   --orders			/dev/ttyS1 of the guest gives it the lines of vm_order, and the console stays a file
#   --said			/dev/ttyS1 of the guest is vm_said: its kernel's messages do not cut lines there
#   --qemu-arg ARG		one more argument; may be repeated. Paths in it must be absolute.
# vm_region NAME, vm_log NAME, vm_said NAME, vm_qmp_path NAME, vm_bell NAME, vm_console NAME, vm_pid NAME	print it
# vm_order NAME LINE		to its --orders. The guest opens the port first: what came before is dropped
# vm_alive NAME			is the QEMU process there?
# vm_wait NAME SECONDS		0: the process has ended, 124: not in that time, 1: no such guest
# vm_wait_log NAME REGEX SECONDS	0: the console or vm_said showed it, 1: the guest ended without it, 124: neither in that time
# vm_rc NAME			prints the exit status of the guest's /run.sh; fails when there is none (crashed, killed)
# vm_qmp NAME JSON		one QMP command; prints the answer; fails when it is an error
# vm_kill NAME			SIGKILL: the guest dies between two instructions
# vm_out NAME DIR		unpacks what the guest wrote to its --out-disk
# vm_accel			prints the accelerator
# vm_poll SECONDS COMMAND...	0: the command succeeded within that time, 124: it did not
# vm_cleanup			kills all guests of this run, removes regions and sockets; logs stay in $VM_RUN_DIR
# vm_trap			calls vm_cleanup at EXIT, and exits at INT, TERM, HUP
#
# A guest dies with the shell that started it, even when that one is killed. So do not call vm_start in $(...) or in
# a pipeline: that shell ends at once.
#
# Variables, all optional: BUILD, FLAVOUR, VM_KERNEL, VM_INITRD, VM_QEMU, VM_ACCEL (kvm, tcg, or all of -accel's argument), VM_RUN_DIR (one
# per run), XVT_SHM_DIR (/dev/shm) and XVT_SHM_PREFIX (xvtrace-PID-): a region is $XVT_SHM_DIR/$XVT_SHM_PREFIX$NAME.

qemu_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$qemu_dir/common.sh"

VM_QEMU=${VM_QEMU:-qemu-system-x86_64}
VM_RUN_DIR=$(realpath -m "${VM_RUN_DIR:-$BUILD/run/$$}")
XVT_SHM_DIR=${XVT_SHM_DIR:-/dev/shm}
XVT_SHM_PREFIX=${XVT_SHM_PREFIX-xvtrace-$$-}
# Seconds for what takes less than one: QEMU's start and its answers.
VM_TIMEOUT=${VM_TIMEOUT:-60}
# Between two looks at something. Where processes are slow, looking itself can keep a machine busy.
VM_POLL_SECONDS=${VM_POLL_SECONDS:-0.05}

# State is kept in files below $VM_RUN_DIR/NAME, not in shell variables, so that subshells and other scripts with the
# same VM_RUN_DIR can use it:
#   process	pid and start time	region		path of the region	console.log	what the guest printed
#   server	the same of its server	bell.sock	where that listens	server.log	what it said
#   qmp.sock	for anybody		ctl.in, ctl.out	QMP for vm_qmp		qemu.err	what QEMU said
#   events	of QMP, each on a line, as far as vm_qmp has read

# vm_error TEXT: one line, and fail
vm_error() {
	qemu_say "$@"
	return 1
}

# vm_proc_stat PID: state and start time of a process, or nothing
vm_proc_stat() {
	local line
	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
	# The name in parentheses may hold spaces and parentheses.
	# shellcheck disable=SC2086
	set -- ${line##*) }
	echo "$1 ${20}"
}

vm_accel() {
	local why="VM_ACCEL is set"
	if [ ! -f "$VM_RUN_DIR/accel" ]; then
		mkdir -p "$VM_RUN_DIR"
		if [ -z "${VM_ACCEL:-}" ]; then
			why=$(qemu_no_kvm)
			[ -n "$why" ] && VM_ACCEL=tcg || VM_ACCEL=kvm why="this machine has it"
		fi
		# With a thread for each vCPU, QEMU 7.2 can keep the translation of a breakpoint that the guest's kernel
		# has patched away again: the vCPU that meets it traps for ever, while memory holds the right bytes
		# (seen by dump-guest-memory; in one of ten runs of a guest that patches much). In one thread none
		# patches while another vCPU's code is translated.
		[ "$VM_ACCEL" != tcg ] || VM_ACCEL=tcg,thread=single
		qemu_say "accelerator: $VM_ACCEL ($why)"
		echo "$VM_ACCEL" >"$VM_RUN_DIR/accel"
	fi
	cat "$VM_RUN_DIR/accel"
}

# vm_short PATH DIR: the path, relative to DIR if that is shorter. A socket's path may have 107 bytes, and build
# directories can be deep.
vm_short() {
	local absolute relative
	absolute=$(realpath -m "$1")
	relative=$(realpath -m --relative-to="$2" "$1")
	[ ${#relative} -lt ${#absolute} ] && echo "$relative" || echo "$absolute"
}

vm_start() {
	local name=${1?vm_start needs a name} dir=$VM_RUN_DIR/$1
	shift
	local vcpus=1 mem=256 size=4M append='' mod='' net='' ip='' out='' out_size='' region='' master=off
	local console='' port='' reboot=no doorbell='' device=() kernel cmdline overlays=() more=()
	while [ $# -gt 0 ]; do
		case $1 in
		--vcpus | --mem | --region-size | --overlay | --mod | --append | --net | --ip | --region | --qemu-arg)
			[ $# -ge 2 ] || { vm_error "vm_start $name: $1 needs a value" || return; } ;;&
		--vcpus) vcpus=$2 && shift 2 ;;
		--mem) mem=$2 && shift 2 ;;
		--region-size) size=$2 && shift 2 ;;
		--overlay) overlays+=("$2") && shift 2 ;;
		--mod) mod=$2 && shift 2 ;;
		--append) append+=" $2" && shift 2 ;;
		--net) net=$2 && shift 2 ;;
		--ip) ip=$2 && shift 2 ;;
		--out-disk)
			[ $# -ge 3 ] || { vm_error "vm_start $name: --out-disk needs a file and a size" || return; }
			out=$(realpath -m "$2") out_size=$3 && shift 3 ;;
		--region) region=$2 && shift 2 ;;
		--master) master=on && shift ;;
		--doorbell) doorbell=yes && shift ;;
		--reboot) reboot=yes && shift ;;
		--console) console=yes && shift ;;
		--orders | --said)
			[ -z "$port" ] || { vm_error "vm_start $name: --orders and --said have the same port" || return; }
			port=${1#--} && shift ;;
		--qemu-arg) more+=("$2") && shift 2 ;;
		*) vm_error "vm_start $name: $1: unknown option" || return ;;
		esac
	done
	command -v "$VM_QEMU" >/dev/null || { vm_error "$VM_QEMU: not found; install the package qemu-system-x86" || return; }
	vm_new_dir "$name" || return
	vm_prepare_kernel || return
	vm_prepare_region || return
	vm_prepare_device || return

	# shellcheck disable=SC2054 # the commas are QEMU's
	local args=(
		-name "guest=$name,debug-threads=on"
		-cpu max -m "$mem" -smp "$vcpus"
		-kernel "$kernel" -initrd initrd -append "$cmdline"
		-display none -vga none
		"${device[@]}"
		-qmp "unix:qmp.sock,server=on,wait=off"
		-chardev pipe,id=ctl,path=ctl -mon chardev=ctl,mode=control
	)
	if [ -n "$console" ]; then
		args+=(-chardev "socket,id=tty,path=tty.sock,server=on,wait=off,logfile=console.log" -serial chardev:tty)
	else
		args+=(-serial file:console.log)
	fi
	case $port in
	orders) mkfifo "$dir/orders.in" "$dir/orders.out" && args+=(-chardev pipe,id=orders,path=orders -serial chardev:orders) || return ;;
	said) args+=(-serial file:said.log) ;;
	esac
	[ $reboot = yes ] || args+=(-no-reboot)
	vm_prepare_net || return
	if [ -n "$out" ]; then
		rm -f "$out"
		truncate -s "$out_size" "$out" || return
		echo "$out" >"$dir/out"
		args+=(-drive "file=$out,format=raw,if=virtio")
	fi
	local accel
	accel=$(vm_accel) || return
	args+=(-accel "$accel" "${more[@]}")

	mkfifo "$dir/ctl.in" "$dir/ctl.out" || return
	local pdeathsig=()
	! command -v setpriv >/dev/null || pdeathsig=(setpriv --pdeathsig KILL --)
	printf '%q ' "$VM_QEMU" "${args[@]}" >"$dir/command"
	(
		cd "$dir" || exit
		exec "${pdeathsig[@]}" "$VM_QEMU" "${args[@]}" </dev/null >qemu.err 2>&1
	) &
	vm_record_process "$name" $!
	# The caller's wait is for its own jobs, and bash would report each guest that gets killed.
	disown
	vm_handshake "$name" || { vm_kill "$name" && return 1; }
}

# vm_new_dir NAME: a fresh directory for this start of the guest
vm_new_dir() {
	local dir=$VM_RUN_DIR/$1
	[[ $1 =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]] || { vm_error "$1: a guest's name has letters, digits, _ . -" || return; }
	! vm_alive "$1" || { vm_error "$1: runs already" || return; }
	mkdir -p "$dir" || return
	vm_unserve "$1"
	rm -f "$dir"/*.sock "$dir"/ctl.* "$dir"/orders.* "$dir/said.log" "$dir/process" "$dir/out" "$dir/events"
	# A test starts a guest again to see the region's next generation; the old log must not answer vm_wait_log.
	[ ! -f "$dir/console.log" ] || mv "$dir/console.log" "$dir/console.log.old"
	: >"$dir/console.log"
}

# vm_record_process NAME PID [FILE]
vm_record_process() {
	local stat
	# It may be gone already, when QEMU refused an argument.
	stat=$(vm_proc_stat "$2") || stat="X 0"
	echo "$2 ${stat#* }" >"$VM_RUN_DIR/$1/${3:-process}"
}

# vm_tsc_words: as qemu_tsc_words, asked once; nothing under KVM, which tells its guests itself
vm_tsc_words() {
	[ "$(vm_accel)" != kvm ] || return 0
	[ -f "$VM_RUN_DIR/tsc" ] || qemu_tsc_words >"$VM_RUN_DIR/tsc"
	cat "$VM_RUN_DIR/tsc"
}

# The vm_prepare functions work on the local variables of vm_start.

# Sets kernel and cmdline, writes the initrd.
vm_prepare_kernel() {
	local overlay initrd
	initrd=${VM_INITRD:-$BUILD/guest/initramfs$(qemu_suffix).gz}
	[ -f "$initrd" ] || { vm_error "$initrd: not there; run qemu/build-image.sh" || return; }
	kernel=${VM_KERNEL:-}
	if [ -z "$kernel" ]; then
		kernel=$("$qemu_dir/guest-packages.sh" --print) || return
		# shellcheck disable=SC2153 # guest-packages.sh gives it
		kernel=$(eval "$kernel" && echo "$KERNEL")
	fi
	cp "$initrd" "$dir/initrd" || return
	for overlay in "${overlays[@]}"; do
		"$qemu_dir/overlay.sh" "$overlay" "$dir/overlay.gz" || return
		cat "$dir/overlay.gz" >>"$dir/initrd" && rm "$dir/overlay.gz"
	done
	# panic=-1 reboots at once and with -no-reboot that ends QEMU. tsc=reliable: nothing steers the TSC here, and the
	# kernel would call it unstable after a pause. no_timer_check: on a busy machine an emulated timer may not tick while
	# the booting kernel tests it, and then it panics.
	cmdline="console=ttyS0 panic=-1 quiet tsc=reliable no_timer_check $(vm_tsc_words) xvt.name=$name${ip:+ xvt.ip=$ip}${mod:+ xvt.mod=$mod}$append"
}

# Sets region and size (in bytes), creates the file, so that a reader can open it before the guest boots.
vm_prepare_region() {
	size=$(qemu_region_size "$size") || return
	if [ -z "$region" ]; then
		region=$XVT_SHM_DIR/$XVT_SHM_PREFIX$name
		echo "$region" >>"$dir/own-regions"
	fi
	region=$(realpath -m "$region")
	echo "$region" >"$dir/region"
	# A region that is there stays as it is: a restarted guest begins a new generation in it.
	[ -e "$region" ] || (umask 077 && truncate -s "$size" "$region")
}

# Sets the array device: how the guest gets its region.
vm_prepare_device() {
	# shellcheck disable=SC2054 # the commas are QEMU's
	device=(
		-object "memory-backend-file,id=shm,size=$size,mem-path=$region,share=on"
		-device "ivshmem-plain,memdev=shm,master=$master"
	)
	[ -n "$doorbell" ] || return 0
	# shellcheck disable=SC2054
	device=(
		-chardev "socket,path=bell.sock,id=bell"
		-device "ivshmem-doorbell,chardev=bell,vectors=1,master=$master"
	)
	vm_serve "$name"
}

# vm_serve NAME: its region's server, in the background. QEMU asks it once, at its start.
vm_serve() {
	local dir=$VM_RUN_DIR/$1 region pdeathsig=()
	region=$(vm_region "$1")
	! command -v setpriv >/dev/null || pdeathsig=(setpriv --pdeathsig KILL --)
	: >"$dir/server.log"
	(
		cd "$dir" || exit
		exec "${pdeathsig[@]}" "$BUILD/xvtrace" region serve "$region" --socket bell.sock </dev/null >server.log 2>&1
	) &
	vm_record_process "$1" $! server
	disown
	# Its first line says that it listens, or why it does not.
	vm_poll "$VM_TIMEOUT" test -s "$dir/server.log" && vm_runs "$dir/server" && return
	vm_error "vm_start $1: $(cat "$dir/server.log")"
}

vm_unserve() {
	local dir=$VM_RUN_DIR/$1
	! vm_runs "$dir/server" || kill -KILL "$(cut -d ' ' -f 1 "$dir/server")" 2>/dev/null || :
	rm -f "$dir/server"
}

# Adds the network's arguments.
vm_prepare_net() {
	if [ -z "$net" ]; then
		args+=(-nic none)
		return
	fi
	local socket=${net%:*} server mac
	case $net in
	*:server)
		server=on
		rm -f "$socket" ;;
	*:client)
		server=off
		# QEMU 7.2 tries to connect once.
		vm_poll "$VM_TIMEOUT" test -S "$socket" || { vm_error "vm_start $name: $socket: no server; start that guest first" || return; } ;;
	*) vm_error "vm_start $name: --net $net: must end in :server or :client" || return ;;
	esac
	mac=$(printf %s "$name" | cksum | { read -r sum _ && printf '52:54:00:%02x:%02x:%02x' $((sum >> 16 & 255)) $((sum >> 8 & 255)) $((sum & 255)); })
	# No boot ROM: nothing boots from it, and the package that holds it may not be installed.
	args+=(
		-netdev "stream,id=n0,server=$server,addr.type=unix,addr.path=$(vm_short "$socket" "$dir")"
		-device "virtio-net-pci,netdev=n0,mac=$mac,romfile="
	)
}

# vm_poll SECONDS COMMAND...: until the command succeeds; 124 when it does not
vm_poll() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 124
		sleep "$VM_POLL_SECONDS"
	done
}

vm_alive() {
	vm_runs "$VM_RUN_DIR/$1/process"
}

# vm_runs FILE: does the process run that the file names?
vm_runs() {
	local pid start stat
	{ read -r pid start <"$1"; } 2>/dev/null || return 1
	stat=$(vm_proc_stat "$pid") || return 1
	# The same number may be another process by now, and a zombie is a guest that has ended.
	[ "${stat#* }" = "$start" ] && [[ $stat != [ZX]* ]]
}

vm_ended() {
	! vm_alive "$1"
}

vm_region() {
	cat "$VM_RUN_DIR/$1/region"
}

vm_log() {
	echo "$VM_RUN_DIR/$1/console.log"
}

vm_said() {
	echo "$VM_RUN_DIR/$1/said.log"
}

vm_order() {
	printf '%s\n' "$2" >"$VM_RUN_DIR/$1/orders.in"
}

vm_pid() {
	cut -d ' ' -f 1 "$VM_RUN_DIR/$1/process"
}

vm_qmp_path() {
	echo "$VM_RUN_DIR/$1/qmp.sock"
}

# record --doorbell NAME=$(vm_bell NAME)
vm_bell() {
	echo "$VM_RUN_DIR/$1/bell.sock"
}

# Talk to it by: socat -,rawer UNIX-CONNECT:$(vm_console NAME)
vm_console() {
	echo "$VM_RUN_DIR/$1/tty.sock"
}

vm_wait() {
	[ -f "$VM_RUN_DIR/$1/process" ] || { vm_error "vm_wait $1: was not started" || return; }
	vm_poll "$2" vm_ended "$1"
}

vm_wait_log() {
	local status=0
	vm_poll "$3" vm_log_or_end "$1" "$2" || status=$?
	# The line may have come between the last look at the log and the end.
	vm_showed "$1" "$2" && return
	[ $status -ne 0 ] || status=1
	qemu_say "$1: \"$2\" not seen on the console within $3 s$([ $status -eq 124 ] || echo ', the guest has ended'); see $(vm_log "$1")"
	return $status
}

vm_log_or_end() {
	vm_showed "$1" "$2" || vm_ended "$1"
}

vm_showed() {
	grep -qaE -- "$2" "$(vm_log "$1")" || grep -qsaE -- "$2" "$(vm_said "$1")"
}

vm_rc() {
	local rc
	rc=$(sed -n 's/.*XVT-GUEST-EXIT rc=\([0-9]*\).*/\1/p' "$(vm_log "$1")" | tail -n 1)
	[ -n "$rc" ] || { vm_error "$1: the guest gave no exit status; see $(vm_log "$1")" || return; }
	echo "$rc"
}

# vm_kill NAME: no error when it has ended by itself
vm_kill() {
	! vm_alive "$1" || kill -KILL "$(vm_pid "$1")" 2>/dev/null || :
	vm_wait "$1" "$VM_TIMEOUT"
}

# QMP goes through two FIFOs: that needs no other program, and the socket stays free for xvtrace (QEMU serves one
# client at a time). QEMU keeps both ends open, so it says its greeting once.

# vm_handshake NAME: wait until QEMU answers. It does after all devices and sockets have been set up.
vm_handshake() {
	vm_ctl "$1" '{"execute": "qmp_capabilities"}' >/dev/null && return
	qemu_say "$1: QEMU did not start: $(tail -n 1 "$VM_RUN_DIR/$1/qemu.err"); the command is in $VM_RUN_DIR/$1/command"
	return 1
}

vm_qmp() {
	vm_alive "$1" || { vm_error "vm_qmp $1: QEMU does not run" || return; }
	vm_ctl "$1" "$2"
}

# vm_ctl NAME JSON, in a subshell because of its descriptors
vm_ctl() (
	dir=$VM_RUN_DIR/$1
	exec 7>"$dir/ctl.lock" 8<>"$dir/ctl.in" 9<>"$dir/ctl.out"
	flock 7
	# The id tells this answer from one that an interrupted call left in the FIFO.
	id=$BASHPID.$RANDOM
	printf '%s, "id": "%s"}\n' "${2%\}*}" "$id" >&8
	part='' end=$((SECONDS + VM_TIMEOUT))
	until [ $SECONDS -ge $end ]; do
		# Asked first: an answer that QEMU gave before it ended is still read then.
		alive=yes
		vm_alive "$1" || alive=no
		if ! read -r -t 0.2 line <&9; then
			# At a time-out, line holds what has come of it.
			part+=$line
			[ $alive = yes ] || vm_error "vm_qmp $1: QEMU has ended" || return
			continue
		fi
		line=$part$line part=''
		case $line in
		*\"id\":\ \"$id\"*)
			echo "$line"
			[[ $line == *'"return":'* ]]
			return ;;
		*\"event\":*) echo "$line" >>"$dir/events" ;;
		esac
	done
	vm_error "vm_qmp $1: no answer within $VM_TIMEOUT s"
)

vm_out() {
	local out
	out=$(cat "$VM_RUN_DIR/$1/out" 2>/dev/null) || { vm_error "vm_out $1: the guest has no --out-disk" || return; }
	[ "$(dd if="$out" bs=1 skip=257 count=5 2>/dev/null)" = ustar ] || { vm_error "vm_out $1: $out: the guest wrote no tar archive" || return; }
	mkdir -p "$2" || return
	# The guest is not trusted: tar refuses paths that lead out of the folder, and we keep no owner or mode of it.
	tar -x -f "$out" -C "$2" --no-same-owner --no-same-permissions
}

vm_cleanup() {
	# Nothing of this may stop the rest of it.
	local - dir
	set +e
	for dir in "$VM_RUN_DIR"/*/; do
		dir=${dir%/}
		[ ! -f "$dir/process" ] || vm_kill "${dir##*/}"
		[ ! -f "$dir/server" ] || vm_unserve "${dir##*/}"
		[ ! -f "$dir/own-regions" ] || xargs -d '\n' rm -f <"$dir/own-regions"
		rm -f "$dir"/*.sock "$dir"/ctl.* "$dir/initrd" "$dir/overlay.gz"
	done
	rm -f "$VM_RUN_DIR"/*.sock "$VM_RUN_DIR/accel" "$VM_RUN_DIR/tsc"
}

vm_trap() {
	# A second ^C must not interrupt the cleaning up.
	trap 'trap "" HUP INT TERM; vm_cleanup' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}
