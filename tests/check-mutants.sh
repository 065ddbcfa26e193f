#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-mutants.sh: each text that a mutant of host/ replaces (tests/clocks/mutants.txt and the tables
# of tests/unit) is in its source once, so that a change of the source takes its mutants along. make
# proof runs them.
set -eu
cd "$(dirname "$0")/.."
tables=$(ls tests/clocks/mutants.txt tests/unit/*/mutants.txt)
# shellcheck disable=SC2086
awk '
	function complain(why) {
		print "check-mutants: " FILENAME ": " name ": " why " in host/" file | "cat >&2"
		bad = 1
	}
	state == "find" && $0 == "====" { state = "replace"; next }
	state == "find" { find = find $0 "\n"; next }
	state == "replace" && $0 == ">>>>" {
		state = ""
		# Texts are whole lines but for the beginning of the first and the end of the last.
		find = substr(find, 1, length(find) - 1)
		at = index(text, find)
		rest = substr(text, at + length(find))
		if (!at)
			complain("its text is not")
		else if (index(rest, find))
			complain("its text is twice")
		else
			text = substr(text, 1, at - 1) substr(replace, 1, length(replace) - 1) rest
		next
	}
	state == "replace" { replace = replace $0 "\n"; next }
	$1 == "mutant" { name = $2; count++ }
	$1 == "file" {
		file = $2
		text = ""
		while ((getline line < ("host/" file)) > 0)
			text = text line "\n"
		close("host/" file)
	}
	$0 == "<<<<" { state = "find"; find = replace = "" }
	END {
		if (!bad)
			print "mutants: the text of each of " count " is in its source"
		exit bad
	}' $tables
