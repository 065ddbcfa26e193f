#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# docs/operations.md speaks of what there is: each message of its table stands in the sources, each
# count is printed, and each cause of a loss is in the table.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
doc=docs/operations.md

# first_cells HEADING: what stands in quotes in the first column of that section's table
first_cells() {
	awk -v want="$1" '/^## / { on = index($0, want) } on && /^\| .*`/ { split($0, c, " \\| "); print c[1] }' "$doc" |
		grep -oE '`[^`]+`' | tr -d '`'
}

# Sources with strings that were parted put together again.
cat host/*/*.c guest/linux/*.c | tr -d '\n\t' | sed 's/" *"//g' >"$work/sources"
first_cells 'What each message' >"$work/messages"
check "the page has messages: $(wc -l <"$work/messages")" [ "$(wc -l <"$work/messages")" -ge 10 ]
while IFS= read -r message; do
	check "the sources have \"$message\"" grep -qF -- "$message" "$work/sources"
done <"$work/messages"

first_cells 'What each count' >"$work/counts"
check "the page has counts: $(wc -l <"$work/counts")" [ "$(wc -l <"$work/counts")" -ge 14 ]
while IFS= read -r count; do
	check "the sources print \"$count\"" grep -qE "\"[^\"]*\b$count\b" "$work/sources"
done <"$work/counts"

"$xvtrace" region create "$work/region" --size 64K --rings 1 >/dev/null &&
	"$xvtrace" record -q -o "$work/t.xvt" --duration 0.1 -r "$work/regio[n]" || exit 1
"$xvtrace" stat --json "$work/t.xvt" | jq -r '.lost_by // .vms[0].lost_by // .vms[0].rings[0].lost_by | keys[]' >"$work/causes" 2>/dev/null
[ -s "$work/causes" ] || sed -n 's/.*`lost_by` | a ring | \(.*\); their sum.*/\1/p' docs/xvtrace-stat.1.md | tr -d '`,' | tr ' ' '\n' >"$work/causes"
check "each cause of a loss is in the table: $(tr '\n' ' ' <"$work/causes")" \
	eval '[ -s "$work/causes" ] && ! grep -vxFf "$work/counts" "$work/causes"'

# The sizes of the first table follow from the formula beside it.
awk -F' *[|] *' '/^\| one vCPU writes/ { on = 1; next } on && /^\| [0-9]/ {
	split($2, w, " "); gsub(",", "", w[1])
	for (i = 4; i <= 6; i++) {
		n = i == 4 ? 4 : i == 5 ? 16 : 64
		want = n * w[1] * 100 * 8 / 7
		for (size = 1048576; size < want; size *= 2)
			;
		shown = $i + 0; if ($i ~ /G/) shown *= 1024
		if (shown * 1048576 < size / 1.05) print $0 ": " n " vCPUs need " size / 1048576 "M"
	}
	next
} on && !/^\|/ { exit }' "$doc" >"$work/sizes"
check "sizes of regions are what the formula gives" eval '[ ! -s "$work/sizes" ] || { cat "$work/sizes" && false; }'
[ $failures -eq 0 ]
