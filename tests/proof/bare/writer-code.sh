#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# writer-code.sh ELF: every instruction of the writer in the bare guest's image, one a line:
# ADDRESS PART FUNCTION FILE:LINE. By the compiler's own notes on what it inlined where. PART is
# what users of the ring know: reserve, crossing (of a sub-buffer), commit, discard, memory
# (memcpy and memset, which the writer calls). An instruction behind a fence has one word more,
# behind-fence: a KVM that emulates by software steps over both at once.
set -eu
elf=$1
code=$(objdump -d --no-show-raw-insn -j .text -j .text.writer "$elf" |
	awk '/^Disassembly of section/ { section = $4 }
	     /^[0-9a-f]+ </ { symbol = substr($2, 2, length($2) - 3) }
	     /\t(data16 |cs )*nop|\txchg +%ax,%ax/ { next } # padding, never executed
	     /^ *[0-9a-f]+:/ {
		sub(":", "", $1)
		# event_open() and event_close() have copies of their own, for setting scenes.
		if ((section ~ /writer/ && symbol !~ /^event_(open|close|start)/) ||
		    symbol ~ /^mem(cpy|set)$/)
			print $1, fence ? "behind-fence" : ""
		fence = $2 ~ /^[lm]fence$/
	     }')
awk '{ print $1 }' <<<"$code" | addr2line -e "$elf" -a -f -i |
	awk -v code="$code" '
	     BEGIN {
		n = split(code, lines, "\n")
		for (i = 1; i <= n; i++) {
			split(lines[i], words, " ")
			note[words[1]] = words[2]
		}
	     }
	     function tell() {
		if (!address)
			return
		part = ""
		if (chain ~ / xvt_writer_(cross|may_open|pad|sample|closed)/) part = "crossing"
		else if (chain ~ / xvt_discard/) part = "discard"
		else if (chain ~ / xvt_(commit|writer_publish)/) part = "commit"
		else if (chain ~ / xvt_(reserve|writer_)/ && chain !~ / xvt_writer_distrust/) part = "reserve"
		else if (chain ~ / mem(cpy|set)/) part = "memory"
		if (part)
			print address, part, name, place, note[address]
	     }
	     /^0x/ { tell(); address = $1; sub(/^0x0*/, "", address); chain = name = place = ""; next }
	     {
		f = $1
		getline at
		sub(/.*\//, "", at)
		sub(/ .*/, "", at)
		chain = chain " " f
		if (!name && f ~ /^(xvt_(reserve|commit|discard|fast_|writer_)|mem)/) { name = f; place = at }
	     }
	     END { tell() }'
