# SPDX-License-Identifier: GPL-2.0
# A value at the begin of a text, and fields in order of their names; for raw.awk and ctf.awk.

# Takes a value from the begin of `rest`: a text in quotes, a list in brackets, or a number up to a blank.
function take_value(    i, c, value, depth) {
	is_number = substr(rest, 1, 1) !~ /["[]/
	if (substr(rest, 1, 1) == "\"") {
		for (i = 2; (c = substr(rest, i, 1)) != "\"" && c != ""; i++)
			if (c == "\\") {
				c = substr(rest, ++i, 1)
				value = value (c == "n" ? "\\n" : c == "t" ? "\t" : c)
			} else {
				value = value c
			}
		i++
	} else if (substr(rest, 1, 1) == "[") {
		for (i = 1; (c = substr(rest, i, 1)) != ""; i++) {
			depth += (c == "[") - (c == "]")
			if (c == "]" && !depth)
				break
		}
		value = substr(rest, 1, i++)
	} else {
		match(rest, /^[^ ,]*/)
		value = substr(rest, 1, RLENGTH)
		i = RLENGTH + 1
	}
	rest = substr(rest, i)
	return value
}

function add_field(name, value,    i) {
	for (i = n++; i > 0 && names[i] > name; i--) {
		names[i + 1] = names[i]
		values[i + 1] = values[i]
	}
	names[i + 1] = name
	values[i + 1] = value
}

function put_event(head,    i) {
	for (i = 1; i <= n; i++)
		head = head " " names[i] "=" values[i]
	print head
	n = 0
}
