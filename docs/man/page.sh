#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# page.sh: a page of docs/ as a manual page, on stdout
#
#   page.sh docs/NAME.SECTION.md                       it is written as a manual page
#   page.sh docs/FILE.md NAME.SECTION [BRIEF HEADING]  it is written as a document: it becomes
#                                                      DESCRIPTION. BRIEF: what NAME says of it; without
#                                                      one, what docs/README.md says. HEADING: only the
#                                                      part of the document below "## HEADING"
#
# lowdown reads the Markdown. Before it, links lose what a terminal cannot follow; after it, page.awk
# writes what man(7) asks for. The date is SOURCE_DATE_EPOCH's, else that of the file's last commit.
set -eu
here=$(dirname "$0")
file=$1
page=${2:-$(basename "$file" .md)}
name=${page%.*} section=${page##*.}
stamp=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct -- "$(realpath "$file")" 2>/dev/null || :)}
date=$(date -u -d "@${stamp:-$(stat -c %Y "$file")}" +%Y-%m-%d)

# What the table of docs/README.md says of a document: "read it to BRIEF".
listed() {
	sed -n "s/^| \[[^]]*\]($(basename "$file")) | \(.*\) |\$/\1/p" "$here/../README.md" | head -n 1
}

# Without the title; the name of a command's page in one word, for man's index; and a document under the headings that a manual page begins with.
markdown() {
	if [ $# -gt 1 ]; then
		printf '## NAME\n\n%s - %s\n\n## DESCRIPTION\n\n' "$name" "${3:-$(listed)}"
	fi
	if [ $# -gt 3 ]; then
		awk -v heading="## $4" '/^## / { inside = $0 == heading; next } inside' "$1"
	else
		sed '1d; 5s/^xvtrace \([a-z]*\) - /xvtrace-\1 - /' "$1"
	fi
}

# A link to a page of the manual becomes NAME(SECTION), one to another page the name of its file.
markdown "$@" | sed -E '
	s/\[[^]]*\]\(([a-z.-]+)\.([1-8])\.md(#[^)]*)?\)/\1(\2)/g
	s/\[([^]]*)\]\((\1)\)/docs\/\1/g
	s/\[([^]]*)\]\(#[^)]*\)/\1/g
	s/\[([^]]*)\]\(\.\.\/([^)#]*)(#[^)]*)?\)/\1 (\2)/g
	s/\[([^]]*)\]\(([^:)#]*)(#[^)]*)?\)/\1 (docs\/\2)/g' |
	lowdown -s -Tman --out-no-smarty --parse-no-intraemph --parse-no-super --parse-no-math \
		--parse-no-metadata -m "title=$(echo "$name" | tr '[:lower:]' '[:upper:]')" \
		-m "section=$section" -m "date=$date" -m "source=xvtrace${XVT_VERSION:+ $XVT_VERSION}" \
		-m 'volume=xvtrace manual' -m shiftheadinglevelby=-1 |
	awk -f "$here/page.awk"
