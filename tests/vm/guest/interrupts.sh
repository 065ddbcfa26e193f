#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Interrupts of each kind: of a device, timers, and IPIs from CPU to CPU, each with its vector.
. /lib.sh
events irq_vectors/local_timer_entry irq_vectors/reschedule_entry irq_vectors/call_function_single_entry irq/softirq_entry
say ready
until_rings stop
for round in 1 2; do
	# A task that wakes one of another CPU sends an IPI; the serial port has an interrupt for every few characters.
	for cpu in 0 1; do
		taskset $((1 << cpu)) dd if=/dev/zero bs=4096 count=50 2>/dev/null | taskset $((2 >> cpu)) wc -c >/dev/null
	done
	sed 's/^/XVT-SAY round /' /proc/interrupts
done
say done
until_rings off
