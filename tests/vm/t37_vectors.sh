#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The vector in the module's irq_handler_entry is the one that the kernel gave the interrupt on that
# CPU, by its own event vector_config, while interrupts are moved from CPU to CPU.
set -u
. "$(dirname "$0")/lib.sh"

trace=$work/trace.xvt
vm_start g1 --vcpus 2 --overlay "$(overlay vectors.sh)" || exit 1
record_start "$trace" -r g1="$(vm_region g1)"
need "the guest moves its interrupts" vm_wait_log g1 '^XVT-SAY done' 200
check "the recorder ends cleanly" record_stop
check "the guest powers off" vm_wait g1 60
cat "$trace.err"
check "nothing is lost" stat_says "$trace" '.lost == 0 and .events > 0'
# Of an interrupt that comes where its newest vector_config does not lead nothing can be said.
"$xvtrace" export --format jsonl "$trace" - |
	jq -r 'select(.event == "vector_config" or .event == "irq_handler_entry") | [.event, .cpu, .fields.irq, .fields.vector, .fields.cpu // "-"] | @tsv' |
	awk '$1 == "vector_config" { vector[$3] = $4; cpu[$3] = $5; moves++ }
		$1 == "irq_handler_entry" && $3 in vector && cpu[$3] == $2 { seen[$3 " " $2]; if ($4 == vector[$3]) good++; else { bad++; print } }
		END { for (s in seen) places++; print moves + 0, "moves,", places + 0, "interrupts and CPUs,", good + 0, "vectors right,", bad + 0, "wrong" }' >"$work/vectors"
cat "$work/vectors"
check "the vectors are the kernel's" grep -qE '^[1-9][0-9]* moves, ([2-9]|[1-9][0-9]+) interrupts and CPUs, [1-9][0-9]* vectors right, 0 wrong$' "$work/vectors"
finish
