# SPDX-License-Identifier: GPL-2.0
# Comment sentences of C files, a line each: FILE:LINE<tab>SENTENCE. A sentence ends at . ? ! before
# a blank and a capital letter, or with its comment.
function flush(	i, n, part) {
	gsub(/[ \t]+/, " ", text)
	gsub(/[.?!] [A-Z]/, "&\001", text) # marks the capital, which the next sentence keeps
	n = split(text, part, /[.?!] /)
	for (i = 1; i <= n; i++) {
		gsub(/\001/, "", part[i])
		sub(/^ +/, "", part[i])
		if (part[i] ~ /^[A-Za-z]/ && part[i] !~ /^SPDX/)
			print FILENAME ":" begin "\t" part[i]
	}
	text = ""
}
FNR == 1 { inside = 0; text = "" }
{
	line = $0
	if (!inside) {
		if (match(line, /\/\*/)) {
			inside = 1
			begin = FNR
			line = substr(line, RSTART + 2)
		} else {
			if (match(line, /\/\/ /)) {
				begin = FNR
				text = substr(line, RSTART + 3)
				flush()
			}
			next
		}
	}
	sub(/^[ \t]*\*( |$)/, "", line)
	end = index(line, "*/")
	if (end)
		line = substr(line, 1, end - 1)
	text = text " " line
	if (end) {
		inside = 0
		flush()
	}
}
