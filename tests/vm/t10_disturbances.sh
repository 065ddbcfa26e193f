#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every way in which a guest's time and its host's come apart, or its region changes under the
# recorder: one trace each, then ten of them in one trace. The other guest must not notice.
set -u
. "$(dirname "$0")/lib.sh"
. tests/vm/disturb-lib.sh

# one NAME EPOCHS: EPOCHS that each ring of d has then
one() {
	echo "== $1"
	record_both "$1"
	is_witnessed "$1" && witness_start "$1"
	need "$1: done" played "$1"
	check "$1: both go on" flow 2000
	is_witnessed "$1" && check "$1: the witness has seen it" witness_end
	judge "$1" "$2"
	is_witnessed "$1" && witness_judge "$1"
}

# What stops the machine or takes its memory back, and leaves its rings.
is_witnessed() {
	case $1 in pause | save | migrate | snapshot) return 0 ;; *) return 1 ;; esac
}

# What each does to d's clock under QEMU's TCG: its TSC stands still while the machine is stopped,
# and nothing else moves it. The roll-back comes last: until it, every number has its place.
table="pause:2 save:2 tsc_write:1 cpu_off_on:1 module_reload:1 suspend_to_ram:1 system_reset:1 kexec:1 migrate:2 snapshot:3"

# DISTURB="pause:2 save:2" plays some of them only, DISTURB=ten the long trace only.
start_both
if [ "${DISTURB:-}" != ten ]; then
	for row in ${DISTURB:-$table}; do
		one "${row%:*}" "${row#*:}"
	done
	[ -z "${DISTURB:-}" ] || finish
fi

# All of them in one trace: each epoch begins where its disturbance was, nothing is counted twice.
echo "== ten"
record_both ten
epochs=1
for row in $table; do
	need "ten: ${row%:*}" played "${row%:*}"
	epochs=$((epochs + ${row#*:} - 1))
	flow 500
done
judge ten $epochs
finish
