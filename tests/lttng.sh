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
