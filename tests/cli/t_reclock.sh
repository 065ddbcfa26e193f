#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# After the fact: all samples together give smaller bounds than each burst alone, in report and in
# the exports, and nothing else changes. The property itself is shown in tests/unit/view/test_reclock.c.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
# A machine whose clock is not known at once has a line without a bound.
report() { "$xvtrace" report -e '!waits' "$@"; }
export_to() { "$xvtrace" export -e '!waits' "$@"; }

"$xvtrace" region create "$work/region" --size 1M --rings 2 || exit 1
"$xvtrace" record -q -o "$work/t.xvt" -r g="$work/region" -- \
	"$BUILD/xvt-emit" "$work/region" --rings 2 --count 1500 --rate 1000 --linger 1 >/dev/null
check "a recording to begin with" "$xvtrace" verify "$work/t.xvt"
sum=$(sha256sum <"$work/t.xvt")
report --no-task --no-reclock "$work/t.xvt" >"$work/before" 2>"$work/before.err"
report --no-task --reclock "$work/t.xvt" >"$work/after" 2>"$work/after.err"
check "report --reclock" [ $? -eq 0 ]
sed 's/^/    /' "$work/after.err"

said='^g:[0-9]+ handshake: within ([0-9.]+) us -> ([0-9.]+) us, half of the time ([0-9.]+) -> ([0-9.]+) us \(constant rate, [0-9]+ samples, 1 epoch\)$'
both_rings() { [ "$(grep -cE "$said" "$work/after.err")" -eq 2 ]; }
check "it says of each ring how its bounds changed" both_rings
not_larger() { sed -E "s/$said/\1 \2 \3 \4/" "$work/after.err" | awk '!/^[0-9. ]+$/ || $2 > $1 || $4 > $3 { exit 1 }'; }
check "none of them is larger" not_larger
check "without it nothing is said" [ ! -s "$work/before.err" ]

report --no-task "$work/t.xvt" >"$work/default" 2>"$work/default.err"
check "the new times are those of a trace that was ended" cmp -s "$work/after" "$work/default"
check "and nothing is said" [ ! -s "$work/default.err" ]
check "they are not those of the recording" eval '! cmp -s "$work/before" "$work/after"'
report --reclock --no-reclock "$work/t.xvt" >/dev/null 2>&1
check "--reclock with --no-reclock is wrong usage" [ $? -eq 2 ]
# A range is of the times that are shown.
from=$(sed -n '400p' "$work/after" | cut -d' ' -f1) to=$(sed -n '700p' "$work/after" | cut -d' ' -f1)
in_range() { cmp -s <(awk -v from="$from" -v to="$to" '$1 >= from && $1 <= to' "$work/after") \
	<(report --no-task --from "$from" --to "$to" "$work/t.xvt"); }
check "--from and --to are such times" in_range
# The file of a killed recorder has no end.
head -c $(($(stat -c %s "$work/t.xvt") - 64)) "$work/t.xvt" >"$work/cut.xvt"
report --no-task "$work/cut.xvt" >"$work/cut" 2>/dev/null
report --bound "$work/cut.xvt" 2>"$work/cut.err" >/dev/null
check "without an end they are those of the recording" cmp -s "$work/before" "$work/cut"
check "and --bound says so, with what helps" grep -q "^xvtrace: note: the trace has no end.*--reclock makes them smaller" "$work/cut.err"

# what FILE: the lines without their times
what() { cut -d' ' -f2- "$1" | sort; }
check "every event is still there" cmp -s <(what "$work/before") <(what "$work/after")
check "in order of time" sort -c -s -n -k1,1 "$work/after"
# Each thread (the first number of a payload) has a ring, and counts its events (the second).
order() { awk '$6 != next_of[$5]++ { exit 1 }' "$work/after"; }
check "and of each ring" order
check "the file is as it was" [ "$sum" = "$(sha256sum <"$work/t.xvt")" ]
report -q --reclock "$work/t.xvt" 2>"$work/quiet" >/dev/null
check "-q: nothing is said" [ ! -s "$work/quiet" ]

# bounds FILE: the bounds in the second column, in us, from the smallest; "none" where a line has none
bounds() {
	awk '{ v = $2; if (!sub(/^\+-/, "", v) || v == "?") { print "none"; next }
		n = v + 0; if (v ~ /ms$/) n *= 1000; else if (v !~ /us$/) n *= 1000000; print n }' "$1" | sort -g
}
# us FILE: the largest, "none" if a line has none
us() {
	if bounds "$1" | grep -m 1 none; then return; fi
	bounds "$1" | tail -n 1
}
report --no-task --no-reclock --bound "$work/t.xvt" >"$work/b.before" 2>"$work/err"
check "--bound of these says nothing" [ ! -s "$work/err" ]
report -q --bound "$work/t.xvt" >"$work/b.after"
before=$(us "$work/b.before") after=$(us "$work/b.after")
echo "    greatest bound: $before us, with --reclock $after us"
# Not smaller where one measurement alone determines the bound.
check "--bound: each time has a bound, and none a larger one with --reclock" awk "BEGIN { exit !($after > 0 && $after <= $before) }"
check "and nothing else is different" cmp -s "$work/before" <(sed -E 's/^([^ ]+) +[^ ]+/\1/' "$work/b.before")
export_to --no-reclock --format jsonl "$work/t.xvt" "$work/b.jsonl"
export_to --reclock --format jsonl "$work/t.xvt" "$work/a.jsonl" 2>/dev/null
# bound_of FILE: of each event, by what it says
bound_of() { jq -r '"\(.fields.values | tostring) \(.bound_ns)"' "$1" | sort; }
check "none of any event is larger" eval 'join <(bound_of "$work/b.jsonl") <(bound_of "$work/a.jsonl") |
	awk "\$3 > \$2 { exit 1 } END { if (NR != 3000) exit 1 }"'
check "jsonl has the same bounds" awk "BEGIN { exit !($(jq -s 'map(.bound_ns) | max' "$work/b.jsonl") <= $before * 1000 && $before * 1000 - 10 < $(jq -s 'map(.bound_ns) | max' "$work/b.jsonl") * 1.01) }"

# most_is OPTION: stat has the largest bound of jsonl's events, and half of them within its median
most_is() {
	export_to "$1" --format jsonl "$work/t.xvt" "$work/s.jsonl" || return 1
	local most half
	most=$(jq -s 'map(.bound_ns) | max' "$work/s.jsonl")
	half=$(jq -s 'map(.bound_ns) | sort | .[(length - 1) / 2 | floor]' "$work/s.jsonl")
	"$xvtrace" stat --json "$1" "$work/t.xvt" | tee "$work/s.json" |
		jq -e --argjson most "$most" --argjson half "$half" \
			'.vms[0] | .bound_ns_max >= $most and .bound_ns_median >= $half and .bound_ns_median <= $half * 1.02'
}
stat_default() { cmp -s <("$xvtrace" stat --json "$work/t.xvt") <("$xvtrace" stat --json --reclock "$work/t.xvt"); }
said_whose() { jq -e ".reclocked == $1" "$work/s.json"; }
check "stat has the bounds of the recording" most_is --no-reclock
check "and says so" said_whose false
check "and those of the new times" most_is --reclock
check "and says so" said_whose true
check "which it has without an option, too" stat_default
check "but not of a trace without an end" eval \
	'"$xvtrace" stat -q --json "$work/cut.xvt" | jq -e ".reclocked | not" && "$xvtrace" stat -q --json --reclock "$work/cut.xvt" | jq -e .reclocked'
"$xvtrace" stat --reclock --no-reclock "$work/t.xvt" >/dev/null 2>&1
check "stat --reclock --no-reclock is wrong usage" [ $? -eq 2 ]

# Two machines that exchange messages, with late events and flags of all kinds.
"$BUILD/tests/tools/xvt-mktrace" 2000 0 "$work/m.xvt" >/dev/null || exit 1
export_to --no-reclock --format jsonl "$work/m.xvt" "$work/m1" 2>/dev/null
export_to --reclock --to jsonl "$work/m.xvt" "$work/m2" 2>/dev/null
check "an export has all events too" [ "$(wc -l <"$work/m1")" -eq "$(wc -l <"$work/m2")" ]
check "in order of time" sort -c -s -n -t: -k2,2 "$work/m2"
# A message is sent before it is received.
causality() {
	jq -r 'select(.event == "print" or .event == "text") | [.ts_ns, (.fields | .buf // .text)] | @tsv' "$work/m2" |
		grep -oE '^[0-9]+|xvt-p[io]ng (send|recv) [0-9]+' | sed 's/pong recv/ping arrived/;s/ping recv/pong arrived/' | paste -sd' \n' |
		awk 'NF < 4 { next } $3 == "send" { sent[$2 $4] = $1 } $3 == "arrived" { recv[$2 $4] = $1 }
		END { for (m in recv) { if (!(m in sent)) continue; n++; if (recv[m] < sent[m]) exit 1 }; exit n < 10 }'
}
check "effects come after causes" causality
export_to -q --reclock --to ctf "$work/m.xvt" "$work/ctf"
check "ctf as well" [ $? -eq 0 ]
[ $failures -eq 0 ]
