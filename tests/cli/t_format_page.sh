#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# docs/xvt-format.5.md says each field of a trace file as host/trace/format.h has it: the tables are
# taken out of the page, the fields out of the header, and offsets and sizes from the compiler.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT

# page FILE: "STRUCT FIELD OFFSET SIZE", "STRUCT - 0 SIZE" and "type NAME NUMBER"
page() {
	awk -F'|' '
		function trim(s) { gsub(/^ +| +$/, "", s); return s }
		match($0, /`struct [a-z_]+`, [0-9]+ bytes/) {
			split(substr($0, RSTART, RLENGTH), w, /[` ,]+/)
			name = w[3]
			print name, "-", 0, w[4]
		}
		/^#/ { name = "" }
		/^### Types/ { name = "type" }
		!/^\| *[0-9]+ \|/ { next }
		name == "type" { print "type", trim($3), trim($2); next }
		name != "" {
			n = split($3, size, "+")
			m = split($4, field, ",")
			if (n != m) print name, "row of", n, "sizes and", m, "fields at", trim($2)
			at = trim($2)
			for (i = 1; i <= n; i++) {
				print name, trim(field[i]), at, trim(size[i])
				at += size[i]
			}
		}' "$1" | sort
}

# header FILE: the same, without what is reserved
header() {
	${CC:-gcc} -fpreprocessed -E -P "$1" >"$work/plain.h"
	{
		echo '#include <stddef.h>'
		echo '#include <stdio.h>'
		echo "#include \"$1\""
		echo 'int main(void) {'
		awk '
			/^struct [a-z_]+ \{/ { name = $2; printf "printf(\"%s - 0 %%zu\\n\", sizeof(struct %s));\n", name, name }
			/^enum xvt_chunk_type/ { types = 1 }
			/^}/ { name = ""; types = 0 }
			types && match($0, /XVT_CHUNK_[A-Z]+/) {
				c = substr($0, RSTART, RLENGTH)
				printf "printf(\"type %s %%d\\n\", %s);\n", substr(c, 11), c
			}
			name != "" && /;$/ {
				f = $NF
				sub(/;$/, "", f)
				sub(/\[.*/, "", f)
				if (f !~ /^reserved/)
					printf "printf(\"%s %s %%zu %%zu\\n\", offsetof(struct %s, %s), sizeof(((struct %s *)0)->%s));\n", name, f, name, f, name, f
			}' "$work/plain.h"
		echo '}'
	} >"$work/fields.c"
	${CC:-gcc} -std=gnu11 -Ishared -Ihost -I. -o "$work/fields" "$work/fields.c" && "$work/fields" | sort
}

same() { diff "$1" "$2" >"$work/diff" || { cat "$work/diff" && false; }; }
differ() { ! cmp -s "$1" "$2"; }

page docs/xvt-format.5.md >"$work/page"
header host/trace/format.h >"$work/header"
check "the header has fields" [ "$(wc -l <"$work/header")" -gt 100 ]
check "the page is the header" same "$work/page" "$work/header"

# And it would be seen.
sed 's/^| 20 | 2 | id |/| 20 | 4 | id |/' docs/xvt-format.5.md >"$work/changed.md"
page "$work/changed.md" >"$work/other"
check "a size changed in the page is seen" differ "$work/page" "$work/other"
sed 's/^| 9 | ROUND |/| 10 | ROUND |/' docs/xvt-format.5.md >"$work/changed.md"
page "$work/changed.md" >"$work/other"
check "so is a type" differ "$work/page" "$work/other"
sed 's/uint64_t guest_clock;/uint64_t guest_counter;/' host/trace/format.h >"$work/changed.h"
header "$work/changed.h" >"$work/other"
check "a field with another name in the header is seen" differ "$work/header" "$work/other"
sed 's/XVT_CHUNK_NOTE = 11/XVT_CHUNK_NOTE = 21/' host/trace/format.h >"$work/changed.h"
header "$work/changed.h" >"$work/other"
check "so is a type with another number" differ "$work/header" "$work/other"
sed 's/^struct xvt_round {/&\n\tuint64_t more;/' host/trace/format.h >"$work/changed.h"
header "$work/changed.h" >"$work/other"
check "and a field more, with what it moves" differ "$work/header" "$work/other"
[ $failures -eq 0 ]
