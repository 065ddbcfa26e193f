// SPDX-License-Identifier: GPL-2.0
/*
 * bench_microvm.c - what an event of 16 bytes costs inside a micro-VM at user level, beside a
 * clock read and a store of 16 bytes in the same run. The measuring is xvtrace doctor's own.
 */
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "doctor/cost.h"

int main(int argc, char **argv)
{
	struct xvt_cost cost;
	FILE *json;
	int err = xvt_cost_measure(&cost);

	if (err) {
		fprintf(stderr, "cannot measure: %s\n", strerror(-err));
		return 1;
	}
	printf("an event on %s\n%-44s %8s %8s\n", bench_cpu(),
	       cost.in_vm ? "in a micro-VM, at user level" : "in a process (no KVM)", "min ns",
	       "/clock");
	printf("%-44s %8.2f %8.2f\n", "clock read + 16-byte store", cost.clock_ns, 1.0);
	printf("%-44s %8.2f %8.2f\n", "event of 16 bytes", cost.event_ns,
	       cost.event_ns / cost.clock_ns);
	if (argc < 2)
		return 0;
	json = fopen(argv[1], "w");
	if (!json)
		return 1;
	fprintf(json,
		"{\"cpu\":\"%s\",\"measured_in\":\"%s\",\"clock_store_ns\":%.3f,\"event_ns\":%.3f,"
		"\"event_over_clock_store\":%.3f}\n",
		bench_cpu(), cost.in_vm ? "micro-vm" : "process", cost.clock_ns, cost.event_ns,
		cost.event_ns / cost.clock_ns);
	return fclose(json) ? 1 : 0;
}
