#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the kernel module says of itself and what docs/guest.md says of it are the same: parameters, files, and
# sections that messages point at.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

doc=docs/guest.md

# rows HEADING: first cells of the table in that section, without quotes
rows() {
	awk -v want="$1" '/^#/ { on = $0 ~ want } on && /^\| `/ { split($0, c, "`"); print c[2] }' "$doc" | sort
}

sed -nE 's/^module_param(_cb)?\(([a-z_]+),.*/\2/p' guest/linux/*.c | sort >"$work/params"
rows 'Parameters$' >"$work/params.doc"
check "each parameter of the module is in the docs, and no other: $(wc -l <"$work/params")" \
	eval 'test -s "$work/params" && diff "$work/params" "$work/params.doc"'

sed -nE 's/^static (DEVICE|BIN)_ATTR_RO\(([a-z_]+).*/\2/p' guest/linux/xvt_sysfs.c | sort >"$work/files"
rows 'Files$' >"$work/files.doc"
check "each file of its in sysfs is in the docs, and no other: $(wc -l <"$work/files")" \
	eval 'test -s "$work/files" && diff "$work/files" "$work/files.doc"'

# A message names a file and, in quotes, how a heading in it begins.
grep -ohE 'docs/[a-z-]+\.md, \\"[^"\\]+' guest/linux/*.c | sed 's/, \\"/|/' >"$work/pointers"
check "messages point at the docs" test -s "$work/pointers"
while IFS='|' read -r file heading; do
	check "$file has \"$heading\"" grep -qE "^#+ $heading" "$file"
done <"$work/pointers"
check "and no message points at docs without a place" eval '! grep -nE "[Ss]ee (the )?docs\b" guest/linux/*.c'
[ $failures -eq 0 ]
