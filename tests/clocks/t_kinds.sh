#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# shellcheck disable=SC2317
# docs/clock.md says of each kind of clock that is excluded why no statement of a trace shows it,
# and of no other.
set -u
. "$(dirname "$0")/../cli/lib.sh"
trap 'rm -rf "$work"' EXIT
docs=docs/clock.md

# rows: names of the kinds in the table; each has what it does and a reason
rows() { awk -F' *[|] *' '/^[|] kind [|]/ { on = 1 } on && !NF { on = 0 }
	on && $2 ~ /^`[a-z0-9]+`$/ && $3 != "" && $4 != "" { gsub("`", "", $2); print $2 }' "$docs"; }
kinds() { sed -n "s/^$1 //p" "$work/kinds"; }
same_names() { diff <(sort "$1") <(sort "$2") | sed -n 's/^</only in the docs:/p; s/^>/only a kind:/p' | tee "$work/apart" && [ ! -s "$work/apart" ]; }
some() { [ "$(wc -l <"$1")" -ge 10 ]; }

"$BUILD/tests/clocks/guests" --list >"$work/kinds"
check "the kinds are listed" test "$(wc -l <"$work/kinds")" -ge 60
rows >"$work/rows"
kinds excluded >"$work/excluded"
check "some are excluded" some "$work/excluded"
check "each excluded kind has a row in $docs, and no other has" same_names "$work/rows" "$work/excluded"
sed '/^| `frozen`/d' "$docs" >"$work/less.md"
docs=$work/less.md
rows >"$work/less"
misses_one() { ! same_names "$work/less" "$work/excluded" && grep -qx 'only a kind: frozen' "$work/apart"; }
check "... a kind without its row is found" misses_one
[ $failures -eq 0 ]
