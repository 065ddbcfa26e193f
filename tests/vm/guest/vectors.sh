#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Moves the interrupts from CPU to CPU, and causes some on each. The kernel tells each move by
# vector_config.
. /lib.sh
events irq_vectors/vector_config
say ready
until_rings stop
# interrupts CPU: of the serial port there
interrupts() {
	awk -v column=$(($1 + 2)) '$NF == "ttyS0" { print $column }' /proc/interrupts
}
for round in 1 2 3 4 5 6 7 8; do
	for f in /proc/irq/*/smp_affinity; do
		echo $((round % 2 + 1)) >"$f" 2>/dev/null
	done
	# The serial port has an interrupt for every few characters. The first one after a move is still one of the CPU before.
	cpu=$((round % 2))
	want=$(($(interrupts $cpu) + 3))
	while [ "$(interrupts $cpu)" -lt $want ]; do
		sed 's/^/XVT-SAY round /' /proc/interrupts
	done
done
say done
until_rings off
