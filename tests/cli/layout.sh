# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by tests that compare the tables of a page with a header, behind lib.sh: the tables are taken out of the page,
# the fields out of the header, and offsets and sizes from the compiler.

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
				if (f !~ /^reserved|}/)
					printf "printf(\"%s %s %%zu %%zu\\n\", offsetof(struct %s, %s), sizeof(((struct %s *)0)->%s));\n", name, f, name, f, name, f
			}' "$work/plain.h"
		echo '}'
	} >"$work/fields.c"
	${CC:-gcc} -std=gnu11 -Ishared -Ihost -I. -o "$work/fields" "$work/fields.c" && "$work/fields" | sort
}

same() { diff "$1" "$2" >"$work/diff" || { cat "$work/diff" && false; }; }
differ() { ! cmp -s "$1" "$2"; }
