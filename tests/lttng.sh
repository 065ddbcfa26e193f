# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by tests that let LTTng's analyses read an export as CTF.

# The runs of handlers in a trace, as lttng-irqstats prints them: number, count, and the least, mean and
# greatest duration in us. On each CPU one hard IRQ is open, and one softirq of each number.
#   irq_table XVTRACE TRACE VM
irq_table() {
	"$1" export -q --format jsonl --vm "$3" "$2" - |
		jq -r 'select(.event | test("^(irq_handler|softirq)_(entry|exit)$")) |
			[.ts_ns, .cpu, .event, (.fields.irq // .fields.vec)] | @tsv' |
		awk -F '\t' '
			function ended(key, ns) {
				if (!(key in count) || ns < least[key]) least[key] = ns
				if (ns > most[key]) most[key] = ns
				count[key]++
				sum[key] += ns
			}
			$3 == "irq_handler_entry" { irq[$2] = $4; since[$2] = $1 }
			$3 == "irq_handler_exit" {
				if ($2 in irq && irq[$2] == $4) ended("irq " $4, $1 - since[$2])
				delete irq[$2]
			}
			$3 == "softirq_entry" { soft[$2, $4] = $1 }
			$3 == "softirq_exit" && ($2, $4) in soft {
				ended("softirq " $4, $1 - soft[$2, $4])
				delete soft[$2, $4]
			}
			END {
				for (k in count)
					printf "%s %d %.3f %.3f %.3f\n", k, count[k], least[k] / 1000, sum[k] / count[k] / 1000, most[k] / 1000
			}' | sort
}

# The same by lttng-irqstats, of the folder of a machine.
#   lttng_irq_table FOLDER
lttng_irq_table() {
	LANG=C.UTF-8 lttng-irqstats --no-progress --no-intersection "$1" 2>&1 | awk '
		/^Hard IRQ/ { kind = "irq" }
		/^Soft IRQ/ { kind = "softirq" }
		/^[0-9]+: / {
			number = $1 + 0
			sub(/^[0-9]+: *<[^>]*> */, "")
			if ($1 > 0) print kind, number, $1, $2, $3, $4
		}' | sort
}

# Whether both are the same; a mean may be rounded otherwise.
#   irqs_agree XVTRACE TRACE VM FOLDER
irqs_agree() {
	irq_table "$1" "$2" "$3" >"$4.irqs" && lttng_irq_table "$4" >"$4.lttng" && [ -s "$4.irqs" ] &&
		paste -d ' ' "$4.irqs" "$4.lttng" | awk '
			$1 != $7 || $2 != $8 || $3 != $9 || $4 != $10 || $6 != $12 { bad = 1; print "# " $0 }
			$5 - $11 > 0.0011 || $11 - $5 > 0.0011 { bad = 1; print "# " $0 }
			END { exit bad }'
}

# How long each task ran and each CPU was busy, in ns, as lttng-cputop counts it, and how long tasks
# waited after a wake-up, as lttng-schedstats does: number, least, mean, greatest.
#   run_table XVTRACE TRACE VM
run_table() {
	"$1" export -q --format jsonl --vm "$3" "$2" - |
		jq -r '[.ts_ns, .cpu // -1, .event, (.fields | .prev_pid // .pid // -1, .next_pid // -1)] | @tsv' |
		awk -F '\t' '
			function leave(task) {
				if (!(task in seen)) since[task] = begin
				seen[task] = 1
				if (task in since) ran[task] += now - since[task]
				delete since[task]
			}
			function come(task) {
				if (task == 0) return
				seen[task] = 1
				since[task] = now
			}
			function busy(cpu, task) {
				if (!(cpu in load)) on[cpu] = begin
				if (cpu in on) load[cpu] += now - on[cpu]
				delete on[cpu]
				load[cpu] += 0
				if (task) on[cpu] = now
			}
			NR == 1 { begin = $1 }
			{ now = $1; cpu = $2 }
			$3 == "paused" { for (c in runs) if (runs[c]) { leave(runs[c]); busy(c, 0) } }
			$3 == "runs" { for (c in runs) if (runs[c]) { leave(0); come(runs[c]); busy(c, runs[c]) } }
			$3 == "sched_wakeup" { woken[$4] = now }
			$3 == "sched_switch" {
				leave($4)
				come($5)
				busy(cpu, $5)
				runs[cpu] = $5
				if ($5 in woken) {
					ns = now - woken[$5]
					if (!($5 in count) || ns < least[$5]) least[$5] = ns
					if (ns > most[$5]) most[$5] = ns
					count[$5]++
					sum[$5] += ns
					delete woken[$5]
				}
			}
			END {
				for (t in since) ran[t] += now - since[t]
				for (c in on) load[c] += now - on[c]
				for (t in ran) if (t > 0) printf "task %d %.0f\n", t, ran[t]
				for (c in load) printf "cpu %d %.0f\n", c, load[c]
				for (t in count) printf "wait %d %d %d %.0f %d\n", t, count[t], least[t], sum[t] / count[t], most[t]
			}' | sort
}

# The same by LTTng, of the folder of a machine.
#   lttng_run_table FOLDER
lttng_run_table() {
	{
		LANG=C.UTF-8 lttng-cputop-mi --no-intersection --limit 1000 "$1" 2>/dev/null | jq -r '
			.results[] | (."time-range" | .end.value - .begin.value) as $ns | .class as $class | .data[] |
			if $class == "per-process" and .[0].tid > 0 then "task \(.[0].tid) \(.[3].value * $ns | round)"
			elif $class == "per-cpu" then "cpu \(.[0].id) \(.[1].value * $ns | round)" else empty end'
		LANG=C.UTF-8 lttng-schedstats-mi --no-intersection --limit 1000 "$1" 2>/dev/null | jq -r '
			.results[] | select(.class == "per_tid_stats") | .data[] |
			"wait \(.[0].tid) \(.[1].value) \(.[2].value) \(.[3].value | round) \(.[4].value)"'
	} | sort
}
