# SPDX-License-Identifier: GPL-2.0
# table.awk - adds up what judges printed: a table by kind of clock, then sums, a line each:
#	sum CLASS NAME COUNT
# of all modes but those that begin with "alone", which read again what another mode has read.

$1 == "histories" { if ($2 !~ /^alone/) histories += $3 }

$1 == "count" {
	n[$3, $5] += $6
	sum[$4, $5] += $6
	if (!($3 in class)) kinds[++nr] = $3
	class[$3] = $4
}

$1 == "value" {
	values[$3, $5, $6] += $7
	total[$3, $5] += $7
	values["all " $4, $5, $6] += $7
	total["all " $4, $5] += $7
}

# half of the values are not above it
function median(kind, name,    b, seen) {
	for (b = 0; b < 400; b++) {
		seen += values[kind, name, b]
		if (seen && seen * 2 >= total[kind, name]) return b ? 2 ^ ((b - 0.5) / 8) : 0
	}
	return 0
}

function us(kind, name) {
	return total[kind, name] ? sprintf("%.1f", median(kind, name) / 1000) : "-"
}

function ratio(kind, name) {
	return total[kind, name] ? sprintf("%.2f", median(kind, name) / 1024) : "-"
}

function cell(format, value) { printf " " format, value }

function line(kind,    all, i) {
	all = n[kind, "events"] ? n[kind, "events"] : 1
	printf "%-12s", kind
	cell("%9d", n[kind, "events"])
	cell("%6.2f", 100 * n[kind, "flagged"] / all)
	cell("%6.2f", 100 * n[kind, "nobound"] / all)
	for (i = 1; i <= nr_faults; i++) {
		cell("%7d", n[kind, faults[i]])
		cell("%7d", n[kind, "re-" faults[i]])
	}
	cell("%9s", us(kind, "bound"))
	cell("%9s", us(kind, "re-bound"))
	cell("%6s", ratio(kind, "ratio"))
	cell("%6s", ratio(kind, "re-ratio"))
	print ""
}

function head(which,    i) {
	printf "\n%-12s", which
	cell("%9s", "events")
	cell("%6s", "U,C %")
	cell("%6s", "none %")
	for (i = 1; i <= nr_faults; i++) {
		cell("%7s", names[i])
		cell("%7s", "re-" substr(names[i], 1, 4))
	}
	cell("%9s", "bound us")
	cell("%9s", "re-bound")
	cell("%6s", "ratio")
	cell("%6s", "re-rat")
	print ""
}

function table(which,    i, key, part) {
	head(which)
	for (i = 1; i <= nr; i++)
		if (class[kinds[i]] == which) line(kinds[i])
	for (key in sum) {
		split(key, part, SUBSEP)
		if (part[1] == which) n["all " which, part[2]] = sum[key]
	}
	line("all " which)
}

BEGIN {
	nr_faults = split("outside astray false disorder narrow reffalse", faults, " ")
	split("outside astray falseU order narrow reffls", names, " ")
}

END {
	table("promised")
	table("excluded")
	print ""
	print "sum all histories", histories + 0
	for (key in sum) {
		split(key, part, SUBSEP)
		print "sum", part[1], part[2], sum[key]
	}
}
