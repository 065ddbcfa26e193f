#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Figures of the code in host/: lines of each folder, longest functions, largest structs, by bytes and
# by members, the recorder's loop, and files and folders that need each other to link; the last also
# of the guest's module, if it is built.
#
#   tests/measure.sh [BUILD]     BUILD holds the objects of `make`
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "lines of each folder, with files"
for dir in host/*/; do
	files=$(find "$dir" -name '*.[ch]')
	# shellcheck disable=SC2086
	printf '  %-10s %6d  %3d\n' "$(basename "$dir")" "$(cat $files | wc -l)" "$(wc -w <<<"$files")"
done
printf '  %-10s %6d  %3d\n' all "$(find host -name '*.[ch]' -exec cat {} + | wc -l)" "$(find host -name '*.[ch]' | wc -l)"

echo "longest functions, in lines"
find host -name '*.c' -exec awk '
	FNR == 1 { name = "" }
	/^[a-z_].*\(/ && !/;$/ { match($0, /[a-z_0-9]+\(/); name = substr($0, RSTART, RLENGTH - 1) }
	/^\{$/ { from = FNR }
	/^\}$/ && name != "" { print FNR - from - 1, name, FILENAME; name = "" }' {} + |
	sort -rn | head -n 5 | sed 's/^/  /'

echo "largest structs, in bytes"
# A program for each folder: two of them may have structs of one name.
for dir in host/*/; do
	{
		echo '#include <stdio.h>'
		find "$dir" -name '*.h' | sed 's|^host/\(.*\)|#include "\1"|' | sort
		echo 'int main(void) {'
		find "$dir" -name '*.h' -exec sed -n 's/^struct \([a-z_0-9]*\) {$/printf("%zu \1\\n", sizeof(struct \1));/p' {} +
		echo '}'
	} >"$work/sizes.c"
	# shellcheck disable=SC2046
	${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -w -Ishared -Ihost -o "$work/sizes" "$work/sizes.c" \
		$(pkg-config --cflags liburing libtraceevent jansson 2>/dev/null)
	"$work/sizes"
done | sort -rn | head -n 8 | sed 's/^/  /'

# edges PATTERN: "SYMBOL FOLDER FILE FOLDER FILE" for each use, of the objects whose names are on stdin.
# PATTERN has groups for the folder and the file in a line of nm.
edges() {
	xargs -r nm -A 2>/dev/null | sed -E "s|^[^:]*$1|\1 \2 |" >"$work/nm"
	awk '$NF != "" && $(NF - 1) ~ /^[TDBRVWC]$/ { print $NF, $1, $2 }' "$work/nm" | sort >"$work/defined"
	awk '$(NF - 1) == "U" { print $NF, $1, $2 }' "$work/nm" | sort >"$work/used"
	join "$work/used" "$work/defined"
}

# loops: the edges on stdin that lie in a loop, as the names of its nodes
loops() { tsort 2>&1 >/dev/null | sed -n 's/^tsort: //p' | grep -v 'contains a loop' | sort -u || true; }

# in_loop TEXT: the files of one folder that are in a loop of the edges on stdin
in_loop() {
	echo "$1"
	awk '$2 == $4 && $3 != $5 { print $2 "/" $3, $2 "/" $5 }' | sort -u | loops | sed 's/^/  /' | grep . || echo "  none"
}

echo "most members of a struct, and members of the session that a third file writes"
find host -name '*.h' -exec awk '
	/^struct [a-z_0-9]+ \{$/ { name = $2; n = 0; next }
	/^}/ { if (name != "") print n, name, FILENAME; name = "" }
	name != "" && /^\t[a-z]/ { sub(/\/\*.*/, ""); n += /\(/ ? 1 : gsub(/,/, "") + (/;/ ? 1 : 0) }' {} + |
	sort -rn | head -n 5 | sed 's/^/  /'
tests/check-layers.sh "$build" 2>&1 | grep -c 'is written by more than two files' | sed 's/^/  /' || true
echo "lines of the recorder's loop"
awk '/^static int make_passes/ { from = FNR } /^}/ && from { print "  " FNR - from - 1; exit }' host/recorder/recorder.c

echo "comments"
tests/check-words.sh | sed 's/^words: /  /'

echo "lines of unit tests for each line of a folder"
for dir in tests/unit/*/; do
	name=$(basename "$dir")
	[ -d "host/$name" ] || continue
	awk -v name="$name" -v tests="$(cat "$dir"*.[ch] | wc -l)" -v lines="$(cat "host/$name"/*.[ch] | wc -l)" \
		'BEGIN { printf "  %-10s %6d  %.2f\n", name, tests, tests / lines }'
done

find "$build/host" -mindepth 2 -name '*.o' | edges '/host/([a-z]+)/([a-z0-9_]+)\.o:' >"$work/edges"
echo "folders that need each other to link"
awk '$2 != $4 { print $2, $4 }' "$work/edges" | sort -u | loops | sed 's/^/  /' | grep . || echo "  none"
in_loop "files of one folder that need each other to link" <"$work/edges"
find "$build/guest/linux" -name 'xvt_*.o' 2>/dev/null | edges '/guest/(linux)/([a-z0-9_]+)\.o:' |
	in_loop "files of guest/linux that need each other to link"
