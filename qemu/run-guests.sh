#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run guests side by side, each with a region that the host can read, until all have powered off.
#
# usage: run-guests.sh [OPTION]...
#   -n N              guests, named g1 to gN (default 2)
#   -c M              vCPUs each (default 2)
#   -m MB             memory each (default 256)
#   -s SIZE           size of each region (default 4M)
#   --overlay DIR     files over the guests' image; DIR/run.sh is what they do. May be repeated.
#   --overlay gN=DIR  the same for one guest
#   --mod 'A=1;B=2'   parameters of xvtrace.ko; none: do not load it
#   --net             join g1 and g2, g3 and g4, ... by a network: 10.77.0.1 and .2, 10.77.1.1 and .2, ...
#   --doorbell        each guest can wake a recorder; prints where it listens for that (record --doorbell NAME=PATH)
#   --console         a shell in each guest instead of a run.sh; prints how to connect
#   --timeout SEC     kill what still runs then (default: wait as long as it takes)
#
# Prints a line "NAME REGION LOG" for each guest when QEMU runs, and "NAME rc=N" when the guest has ended. Exits 0 when
# all guests did with status 0. Interrupt it at any time: no process and no region is left, logs are.
set -eu

. "$(dirname "$0")/guest-lib.sh"

usage() {
	sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

n=2 vcpus=2 mem=256 size=4M net='' timeout='' overlays=() options=()
while [ $# -gt 0 ]; do
	case $1 in
	--net) net=yes && shift && continue ;;
	--console | --doorbell) options+=("$1") && shift && continue ;;
	esac
	[ $# -ge 2 ] || usage
	case $1 in
	-n) n=$2 ;;
	-c) vcpus=$2 ;;
	-m) mem=$2 ;;
	-s) size=$2 ;;
	--overlay) overlays+=("$2") ;;
	--mod) options+=(--mod "$2") ;;
	--timeout) timeout=$2 ;;
	*) usage ;;
	esac
	shift 2
done
[[ $n =~ ^[1-9][0-9]*$ && $timeout =~ ^[0-9]*$ ]] || usage

# guest_options NAME NUMBER: fills the array own
guest_options() {
	own=()
	local overlay pair=$((($2 - 1) / 2)) side=$((($2 - 1) % 2))
	for overlay in "${overlays[@]}"; do
		if [[ $overlay =~ ^(g[0-9]+)=(.*)$ ]]; then
			[ "${BASH_REMATCH[1]}" != "$1" ] || own+=(--overlay "${BASH_REMATCH[2]}")
		else
			own+=(--overlay "$overlay")
		fi
	done
	# The last one of an odd number has no peer.
	if [ -n "$net" ] && ((side == 1 || $2 < n)); then
		local roles=(server client)
		own+=(--net "$VM_RUN_DIR/net$pair.sock:${roles[side]}" --ip "10.77.$pair.$((side + 1))/24")
	fi
}

vm_trap
for ((i = 1; i <= n; i++)); do
	guest_options "g$i" "$i"
	vm_start "g$i" --vcpus "$vcpus" --mem "$mem" --region-size "$size" "${options[@]}" "${own[@]}"
	echo "g$i $(vm_region "g$i") $(vm_log "g$i")"
	[[ " ${options[*]} " != *" --doorbell "* ]] || echo "g$i doorbell: $(vm_bell "g$i")"
	[[ " ${options[*]} " != *" --console "* ]] || echo "g$i console: socat -,rawer,escape=0x1d UNIX-CONNECT:$(vm_console "g$i")   (leave by ^])"
done

status=0
for ((i = 1; i <= n; i++)); do
	# The time is for all of them, and what is left of it is less for each next one.
	left=${timeout:+$((timeout > SECONDS ? timeout - SECONDS : 0))}
	if ! vm_wait "g$i" "${left:-1000000000}"; then
		qemu_say "g$i: still runs after $timeout s; killing it, see $(vm_log "g$i")"
		vm_kill "g$i"
	fi
	rc=$(vm_rc "g$i") || rc=none
	echo "g$i rc=$rc"
	[ "$rc" = 0 ] || status=1
done
exit $status
