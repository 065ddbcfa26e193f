# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by tests that let trace-cmd's profile read an export as trace.dat.

# What `trace-cmd report --profile` tells of tasks, computed from a trace: how long a task was switched
# out (R: it was preempted or its machine stood still, S: until it was woken), how long it waited from
# there on, and how long handlers of interrupts ran. A loss ends what is measured.
#   profile_table XVTRACE TRACE OPTION...
profile_table() {
	local xvtrace=$1 trace=$2
	shift 2
	"$xvtrace" export -q --all --format jsonl "$@" "$trace" - |
		jq -r '[.ts_ns, .cpu // -1, .event, .pid // -1, (.fields | .irq // .prev_pid // .pid // -1, .next_pid // -1, .prev_state // -1)] | @tsv' |
		awk -F '\t' '
			function ended(task, what, since) {
				key = task " " what
				ns = now - since
				if (!(key in count) || ns < least[key]) least[key] = ns
				if (ns > most[key]) most[key] = ns
				count[key]++
				sum[key] += ns
			}
			function leave(task, state) {
				out[task] = now
				how[task] = state ? "S" : "R"
				sleeps[task] = state
			}
			function come(task) {
				if (task in woken) ended(task, "sched_wakeup", woken[task])
				if (task in out) ended(task, "sched_switch:" how[task], out[task])
				delete woken[task]
				delete out[task]
			}
			{ now = $1; cpu = $2 }
			$3 == "lost" { missed[cpu] = 1; next }
			cpu in missed {
				delete missed[cpu]
				delete out
				delete woken
				for (k in irq) if (index(k, cpu " ") == 1) delete irq[k]
			}
			$3 == "paused" { for (c in runs) if (runs[c]) leave(runs[c], 0) }
			$3 == "runs" { for (c in runs) if (runs[c]) come(runs[c]) }
			$3 == "sched_switch" { leave($5, $7); come($6); runs[cpu] = $6 }
			$3 == "sched_wakeup" && sleeps[$5] {
				sleeps[$5] = 0
				if ($5 in out) ended($5, "sched_switch:S", out[$5])
				delete out[$5]
				woken[$5] = now
			}
			$3 == "irq_handler_entry" { irq[cpu " " $5] = now }
			$3 == "irq_handler_exit" && (cpu " " $5) in irq {
				ended($4, "irq:" $5, irq[cpu " " $5])
				delete irq[cpu " " $5]
			}
			END {
				for (k in count) if (k !~ /^0 /)
					print k, count[k], sum[k], most[k], least[k]
			}' | sort
}

# The same by trace-cmd. Task 0 is that of all CPUs there, and left out.
#   tracecmd_profile FILE.dat
tracecmd_profile() {
	trace-cmd report --profile -i "$1" 2>/dev/null | sed -E 's/\(ts:[0-9.]*\)//g' | awk '
		/^task: / { sub(/.*-/, ""); task = $0 }
		/^  Event: .* Total: / && task + 0 {
			split($2, what, ":")
			name = what[1] == "sched_switch" ? $2 : what[1]
			if (name == "irq_handler_entry") name = "irq:" what[2]
			if (name ~ /^irq:/) name = "irq:" hex(what[2])
			least = $0
			sub(/.*Min: */, "", least)
			print task, name, substr($3, 2) + 0, $5, $9, least
		}
		function hex(text, v, i) {
			for (i = 3; i <= length(text); i++) v = v * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return v
		}' | sort
}
