#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-docs.sh: each page of docs/ is listed in docs/README.md; each relative link of a *.md file
# leads to a file, and to a heading where it names one; and no line of docs/*.md is longer than 100
# columns. Tables, code blocks and headings may be. And no file of the tree has a name that nobody
# would type, as what a test wrote by mistake has.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
bad=0

complain() {
	echo "check-docs: $*" >&2
	bad=1
}

# prose FILE: its lines, empty where they are code or, with "tables", where they are a table
prose() {
	awk -v tables="${2:-}" '
		/^ *```/ { code = !code; print ""; next }
		code || (tables != "" && /^ *\|/) { print ""; next }
		{ print }' "$1"
}

# headings FILE: as links name them
headings() {
	prose "$1" | sed -n 's/^##* *//p' | tr '[:upper:]' '[:lower:]' | sed 's/[^[:alnum:] _-]//g; s/ /-/g'
}

for page in docs/*.md; do
	name=${page#docs/}
	[ "$name" = README.md ] || grep -qF "]($name)" docs/README.md ||
		complain "docs/README.md does not list $name"

	# Four spaces or a tab begin a code block, too, but not inside a list.
	long=$(prose "$page" tables | grep -nE '^.{101}' | grep -vE '^[0-9]+:(    |	|#)' || true)
	found=$(grep -c . <<<"$long" || true)
	[ "$found" -eq 0 ] || {
		complain "$page: $found lines longer than 100 columns"
		cut -c 1-60 <<<"$long" | head -n 5 >&2
	}
done

while read -r file; do
	while IFS= read -r link; do
		target=${link%%#*}
		path=$file
		[ -z "$target" ] || path=$(dirname "$file")/$target
		if [ ! -e "$path" ]; then
			complain "$file: ($link): there is no such file"
		elif [ "$link" != "$target" ] && ! headings "$path" | grep -qxF -- "${link#*#}"; then
			complain "$file: ($link): there is no such heading"
		fi
	done < <(prose "$file" | sed 's/`[^`]*`//g' | grep -oE '\]\([^) ]+' | cut -c 3- |
		grep -vE '^[a-z+]+:' | sort -u)
done < <(find . \( -name .git -o -name 'build*' \) -prune -o -name '*.md' -print)

# Texts tell a user what to type: `xvtrace COMMAND`, (xvt-guest COMMAND). There is such a command.
commands() { sed -n "s/$1/\1/p" "${@:2}" | sort -u; }
is_command() { # PROGRAM NAMES
	local names=" $(tr '\n' ' ' <<<"$2") "
	while read -r word; do
		[[ $names == *" $word "* ]] || complain "a text tells to type '$1 $word', which is no command"
	done < <(grep -rhoE "[\`'(]$1 [a-z][a-z-]*" README.md docs host guest shared packaging | sed 's/.* //' | sort -u)
}
is_command xvtrace "$(commands '^	\.name = "\([a-z-]*\)",$' host/cli/cmd_*.c; echo help version)"
is_command xvt-guest "$(commands '^	{ "\([a-z-]*\)", cmd_.*' guest/linux/tools/xvt-guest.c; echo help version)"

# Where there is no git, as in a package, there is nothing that could be committed.
while IFS= read -r file; do
	complain "a file with a name that nobody would type: $file"
done < <(git ls-files 2>/dev/null | grep -vE '^[A-Za-z0-9._/@+-]+$')

[ $bad -eq 0 ] && echo "docs: every page is listed, every link leads somewhere"
exit $bad
