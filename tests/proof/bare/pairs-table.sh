#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# pairs-table.sh CAS-LOG XADD-LOG: the table of docs/xvt-proof.md, from the logs of `make proof-bare`
# (build/tests/proof/bare/cas.log and xadd.log).
set -eu
awk '
	function thousands(n) {
		return n < 1000 ? n : thousands(int(n / 1000)) sprintf(",%03d", n % 1000)
	}
	FNR == 1 { file++ }
	# NAME RUNS runs, IRQS IRQ NMIS NMI PAIRS IRQ x NMI HOST host, ... WRONG wrong, ... (WHAT)
	$3 == "runs," && $1 != "total:" {
		if (file == 1) {
			order[++n] = $1
			what[$1] = $0
			sub(/^[^(]*\(/, "", what[$1])
			sub(/\)$/, "", what[$1])
		}
		for (i = 1; i <= 4; i++)
			value[file - 1, $1, i] = $(i * 2)
		for (i = 2; i < NF; i++)
			if ($(i + 1) == "wrong,")
				wrong[$1] += $i
	}
	END {
		print "| situation | what | runs (cas, xadd) | IRQ | NMI | IRQ x NMI | wrong |"
		print "|---|---|---|---|---|---|---|"
		for (k = 1; k <= n; k++) {
			name = order[k]
			line = "| " name " | " what[name] " |"
			for (i = 1; i <= 4; i++) {
				line = line " " thousands(value[0, name, i]) ", " thousands(value[1, name, i]) " |"
				sum[0, i] += value[0, name, i]
				sum[1, i] += value[1, name, i]
			}
			print line " " wrong[name] " |"
			all += wrong[name]
		}
		line = "| all | |"
		for (i = 1; i <= 4; i++)
			line = line " " thousands(sum[0, i]) ", " thousands(sum[1, i]) " |"
		print line " " all " |"
	}' "$1" "$2"
