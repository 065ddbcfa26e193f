#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The arrows of the architecture: tests, bench -> guest | host -> shared -> nothing of ours.
# Looks at what was really included (the compiler's own .d files) and at the #include lines, so
# that a file nobody compiled yet counts too. Also: each outside library has one file.
set -eu
build=${1:-build}
bad=0

complain() {
	echo "check-layers: $*" >&2
	bad=1
}

# rule FOLDER FORBIDDEN-FOLDERS...
rule() {
	local from=$1 to d line
	shift
	for to in "$@"; do
		while IFS= read -r d; do
			# In a .d file every prerequisite is a path; ours are relative to the top.
			if tr -s ' \\' '\n\n' <"$d" | grep -q "^\(\./\)\?$to/"; then
				complain "$d: something of $from/ includes $to/"
			fi
		done < <(find "$build/$from" "$build/bare" -name '*.d' 2>/dev/null | grep "/$from/\|/bare/" | { [ "$from" = shared ] && cat || grep -v /bare/ || true; })
		while IFS= read -r line; do
			complain "$line"
		done < <(grep -rnE "#include \"(\.\./)*$to/" "$from" --include='*.[ch]' 2>/dev/null || true)
	done
}

rule shared guest host tests bench qemu
rule guest host tests bench qemu
rule host guest tests bench qemu

# A header of host/ included by its bare name from guest/, or the other way round.
for pair in guest:host host:guest shared:host shared:guest; do
	from=${pair%:*} to=${pair#*:}
	for h in $(find "$to" -name '*.h' -printf '%f\n' | sort -u); do
		[ -n "$(find "$from" shared -name "$h")" ] && continue
		hits=$(grep -rlE "#include \"$h\"" "$from" --include='*.[ch]' 2>/dev/null || true)
		[ -z "$hits" ] || complain "$hits includes $h of $to/"
	done
done

# one LIBRARY-HEADER-PATTERN FILE
one() {
	local files
	files=$(grep -rlE "#include <$1" host --include='*.[ch]' | tr '\n' ' ')
	[ "$files" = "$2 " ] || [ -z "$files" ] || complain "<$1> belongs to $2 only, but: $files"
}
one 'liburing' host/loop_uring.c
one 'libvirt/' host/vm_libvirt.c
one 'zstd' host/compress.c
one 'jansson' host/out_json.c
one '(traceevent/)?event-parse' host/decode_tep.c
one 'linux/kvm' host/microvm.c
one '(tracefs|kbuffer)' host/ftrace.c

if [ -n "$(find qemu -name '*.[ch]' 2>/dev/null)" ]; then
	complain "qemu/ holds scripts and XML, no C"
fi
[ $bad -eq 0 ] && echo "layers: no include crosses a border the wrong way"
exit $bad
