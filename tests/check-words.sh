#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-words.sh: no comment uses a word of tests/words.txt outside the folders that may. And of the
# comments' sentences, the share that begins with what, one, it, its or so is not above LIMIT: such a
# sentence has no noun as its subject.
#
#   tests/check-words.sh [WORDS [LIMIT]]     LIMIT: in tenths of a percent
set -eu
cd "$(dirname "$0")/.."
words=${1:-tests/words.txt}
limit=${2:-29}
bad=0
sentences=$(mktemp)
trap 'rm -f "$sentences"' EXIT
find host shared guest -name '*.[ch]' ! -name '*.mod.c' -print0 | sort -z |
	xargs -0 awk -f tests/sentences.awk >"$sentences"

# word WORD: the sentences that have it
word() { grep -iE "	(.*[^a-zA-Z_])?$1([^a-zA-Z_]|\$)" "$sentences" || true; }

while IFS='|' read -r name replacement folders; do
	name=${name// /}
	[[ $name && $name != \#* ]] || continue
	found=$(word "$name")
	for folder in $folders; do
		found=$(grep -v "^$folder/" <<<"$found" || true)
	done
	[ -n "$found" ] || continue
	echo "check-words: '$name' is not a word of ours; say:$replacement" >&2
	head -n 5 <<<"$found" | cut -c 1-100 >&2
	bad=1
done <"$words"

all=$(wc -l <"$sentences")
without=$(cut -f 2 "$sentences" | grep -ciE '^(what|one|it|its|so)([^a-z]|$)' || true)
share=$((1000 * without / all))
[ $share -le "$limit" ] || {
	echo "check-words: $without of $all comment sentences begin with what, one, it, its or so; name the noun" >&2
	bad=1
}
[ $bad -eq 0 ] && echo "words: $all sentences, $((share / 10)).$((share % 10)) % begin with what, one, it, its or so"
exit $bad
