# SPDX-License-Identifier: GPL-2.0
# page.awk: lowdown's output as man(7) and mandoc -Tlint want it.
#
# - A heading stands on the line of its macro, and no paragraph macro follows it.
# - A term with its description is .TP, from which viewers make an index of options.
# - Code is bold: terminals have no font C. A minus that a reader may copy is \-.
# - Other pages, NAME(SECTION), have a bold name.
# - Lines are at most 79 columns long. Cells of a table that fit are no text blocks, so that columns
#   are as wide as what they hold; the last column takes the rest.

# words(TEXT): TEXT with its fonts, minuses and references to other pages
function words(text,    out, part, n, i, bold) {
	gsub(/\\fC/, "\\fB", text)
	n = split(text, part, /\\f/)
	out = part[1]
	for (i = 2; i <= n; i++) {
		bold = substr(part[i], 1, 1) == "B"
		if (bold)
			gsub(/-/, "\\-", part[i])
		out = out "\\f" part[i]
	}
	gsub(/\\\\-/, "\\-", out)
	return references(out)
}

function references(text,    out) {
	out = ""
	while (match(text, /(^|[^\/a-zA-Z0-9_\\-])(lib)?xvt[a-z.-]*\([1-8]\)/)) {
		lead = substr(text, RSTART, 1)
		word = substr(text, RSTART, RLENGTH)
		if (lead ~ /[xl]/)
			lead = ""
		else
			word = substr(word, 2)
		out = out substr(text, 1, RSTART - 1) lead "\\fB" substr(word, 1, length(word) - 3) "\\fR" \
			substr(word, length(word) - 2)
		text = substr(text, RSTART + RLENGTH)
	}
	return out text
}

# synopsis(LINE): a command with all options, on as many lines as it takes, which begin below its
# first option. A line that is indented in the source goes on with the one before.
function synopsis(line) {
	sub(/^\\&/, "", line)
	if (line ~ /^ /) {
		sub(/^ +/, " ", line)
		command = command line
		return
	}
	flush_command()
	command = line
}

function flush_command(    margin, line, at) {
	margin = match(command, /^xvtrace [a-z]+( [a-z]+ [A-Z]+)? /) ? RLENGTH : 8
	line = command
	while (length(line) > 72 && (at = option_after(line, margin))) {
		print minus(substr(line, 1, at - 1))
		line = sprintf("%*s%s", margin, "", substr(line, at + 1))
	}
	if (command != "")
		print minus(line)
	command = ""
}

# The last blank that stands outside of brackets, before column 73 and behind the margin; 0: none
function option_after(line, margin,    at, deep, found, c) {
	for (at = margin + 1; at <= 73 && at <= length(line); at++) {
		c = substr(line, at, 1)
		deep += (c == "[") - (c == "]")
		if (c == " " && !deep && substr(line, at + 1, 1) ~ /[[-]/)
			found = at
	}
	return found
}

function minus(text) {
	gsub(/-/, "\\-", text)
	return text
}

# put(TEXT): TEXT on lines of at most 79 columns; a line that would be a macro is none
function put(text,    at) {
	while (length(text) > 79) {
		for (at = 79; at > 1 && substr(text, at, 1) != " "; at--)
			;
		if (at == 1)
			break
		print guard(substr(text, 1, at - 1))
		text = substr(text, at + 1)
	}
	print guard(text)
}

function guard(text) {
	return text ~ /^[.']/ ? "\\&" text : text
}

# cell(TEXT, LAST): a cell of a table; text is the lines of it, and the last of a row may be long. A
# single word is no text block: a column that is narrower than the word could not break it.
function cell(text, last) {
	if (!last && text !~ /\n/ && (length(text) <= 30 || text !~ / /) && text !~ /^[.'_=]/)
		return text
	return "T{\n" text "\nT}"
}

function flush_row(    i, out) {
	out = ""
	for (i = 1; i <= cells; i++)
		out = out (i > 1 ? "|" : "") cell(row[i], i == cells)
	if (cells)
		print out
	cells = 0
}

in_code {
	if ($0 == ".EE") {
		in_code = 0
		flush_command()
	}
	if (section == "SYNOPSIS" && in_code)
		synopsis($0)
	else
		print minus($0)
	next
}
/^\.EX/ { flush_pending(); in_code = 1; print; next }

# Narrow columns look better ragged.
/^\.TS/ { flush_pending(); in_table = 1; format = skip = 0; print ".na"; print; next }
in_table && /^\.TE/ { flush_row(); in_table = 0; print; print ".ad"; after_table = 1; next }
in_table && !format {
	sub(/ expand/, "")
	if (/\.$/) {
		sub(/\.$/, "x.")
		format = 1
	}
	print
	next
}
in_table && /^T[{}]/ {
	if ($0 == "T{") {
		if (text_of)
			exit 1
		flush_row()
	}
	if ($0 ~ /^T}/) {
		row[++cells] = text
		text_of = 0
	}
	if ($0 == "T{" || $0 ~ /\|T{$/) {
		text = ""
		text_of = 1
	}
	next
}
in_table {
	text = text (text == "" ? "" : "\n") words($0)
	next
}

# A heading.
/^\.S[HS]$/ { flush_pending(); heading = $0; after_table = 0; next }
heading != "" { section = $0; print heading " " words($0); heading = ""; skip = 1; next }

# The paragraph behind a table; the table's lower edge takes the space of .PP.
after_table {
	print ".sp"
	if (!/^\.[LP]P$/)
		print ".PP"
	after_table = 0
}

# .LP TERM .if .sp .if .sp .IP becomes .TP TERM. What a .LP begins is not known before its third line.
/^\.LP$/ || /^\.PP$/ {
	flush_pending()
	pending = skip ? "" : ".PP"
	was_pending = 1
	skip = 0
	term = ""
	next
}
was_pending && term == "" && !/^\./ { term = $0; next }
was_pending && /^\.if n/ { if_of = 1; next }
if_of && /^\.(sp|if)/ { next }
if_of && /^\.IP "" / {
	print ".TP"
	put(words(term))
	was_pending = if_of = 0
	term = ""
	next
}
{
	flush_pending()
	skip = 0
	if (/^\./)
		print
	else
		put(words($0))
}

function flush_pending() {
	if (!was_pending)
		return
	if (pending != "")
		print pending
	if (term != "")
		put(words(term))
	was_pending = 0
	term = ""
}
END { flush_pending() }
