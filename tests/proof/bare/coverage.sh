#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# coverage.sh WRITER-CODE COVERAGE [EXCEPTIONS]: which instructions of the writer were interrupted?
# Prints a table and each instruction that was not. EXCEPTIONS names instructions that may be
# missing, one regular expression a line (# begins a comment), for the line
# "FUNCTION FILE:LINE [behind-fence] SOURCE". Exit 1 if another one is.
set -eu
awk -v exceptions="${3:-/dev/null}" '
	function source(place,  at, line, n) {
		split(place, at, ":")
		while ((getline line < ("shared/" at[1])) > 0)
			if (++n == at[2])
				break
		close("shared/" at[1])
		gsub(/^[ \t]+/, "", line)
		return n ? line : ""
	}
	BEGIN { while ((getline line < exceptions) > 0) if (line !~ /^(#|$)/) allowed[line] = 1 }
	FNR == NR { part[$1] = $2; what[$1] = $3 " " $4 ($5 ? " " $5 : ""); at[$1] = $4; order[++n] = $1; total[$2]++; next }
	$2 in part { if (!(($1, $2) in hit)) { hit[$1, $2] = 1; count[$1, part[$2]]++ } }
	END {
		printf "%-10s %12s %12s %12s %12s\n", "part", "instructions", "IRQ", "NMI", "IRQ x NMI"
		split("reserve crossing commit discard memory", parts, " ")
		for (i = 1; i in parts; i++) {
			p = parts[i]
			printf "%-10s %12d %12d %12d %12d\n", p, total[p], count["irq", p], count["nmi", p], count["pair", p]
		}
		for (i = 1; i <= n; i++) {
			a = order[i]
			miss = ""
			if (!(("irq", a) in hit)) miss = miss " IRQ"
			if (!(("nmi", a) in hit)) miss = miss " NMI"
			if (!(("pair", a) in hit)) miss = miss " IRQxNMI"
			if (!miss)
				continue
			text = part[a] " " what[a] ": not by" miss
			for (e in allowed)
				if (what[a] " " source(at[a]) ~ e && text !~ /excepted/) text = text " (excepted)"
			if (!(text in missed))
				texts[++m] = text
			missed[text]++
			bad += text !~ /excepted/
		}
		for (i = 1; i <= m; i++)
			printf "%3d instructions of %s\n", missed[texts[i]], texts[i]
		exit bad > 0
	}' "$1" "$2"
