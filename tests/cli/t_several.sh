#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Traces of several recorders of one host, read as one: report, stat, verify and export of all of
# them; machines of one name; and what is refused.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
tools=$BUILD/tests/tools

for vm in g h; do
	"$xvtrace" region create "$work/$vm" --size 1M --rings 2 || exit 1
	"$BUILD/xvt-emit" "$work/$vm" --rings 2 --count 100000000 --size 64 --rate 10000 >/dev/null 2>&1 &
	pids+=($!)
done
# record NAME OPTION...: its process is $recorder
record() {
	local out=$1
	shift
	"$xvtrace" record -q -o "$work/$out" "$@" 2>>"$work/err" &
	recorder=$!
	pids+=("$recorder")
}
ended() { kill -TERM "$1" && wait "$1"; }
size_of() { stat -c %s "$work/$1" 2>/dev/null || echo 0; }
grows() { [ "$(size_of "$1")" -gt "$2" ]; }

record a.xvt -r g="$work/g"
first=$recorder
check "one recorder is at work" poll grows a.xvt 300000
record b.xvt -r h="$work/h"
check "and one of another machine" poll grows b.xvt 300000
check "... ends" ended "$recorder"
check "the first one ends" ended "$first"
cd "$work" || exit 1
xvtrace=$(realpath "$OLDPWD/$xvtrace")

# -- events --------------------------------------------------------------------------

# lines FILE...: of report, without columns whose width depends on all machines, and without the lines of a machine whose
# clock was not known at once
lines() { "$xvtrace" report -q -e '!waits' "$@" 2>/dev/null | tr -s ' '; }
merged() { # OPTION...: the lines of both are those of each
	lines "$@" a.xvt b.xvt >both
	{ lines "$@" a.xvt && lines "$@" b.xvt; } | sort >each
	cmp <(sort both) each && sort -s -c -n -k 1,1 both && [ "$(wc -l <both)" -gt 5000 ]
}
check "report: the events of both in order of time, re-clocked as each by itself" merged
check "report: with the times of the recordings" merged --no-reclock
check "report: with the bounds of each" merged --bound
check "report: both machines are there while both were recorded" \
	eval 'cut -d " " -f 2 both | uniq | wc -l | grep -qE "[0-9]{3,}"'
from=$(sed -n 2000p both | cut -d ' ' -f 1)
to=$(sed -n 4000p both | cut -d ' ' -f 1)
lines a.xvt b.xvt >both
in_range() { awk -v from="$from" -v to="$to" '$1 >= from && $1 <= to' both; }
check "report: a range of it" cmp <(in_range) <(lines --from "$from" --to "$to" a.xvt b.xvt)
check "report: no more than so many" cmp <(head -n 100 both) <(lines -n 100 a.xvt b.xvt)
check "report: one machine" cmp <(grep -E '^[0-9.]+ h:' both) <(lines --vm h a.xvt b.xvt)
no_event() { # a glob that no event of either trace is like is told once
	"$xvtrace" report -e 'no_such*' a.xvt b.xvt >out 2>err
	[ $? -eq 1 ] && [ "$(grep -c "no event is like 'no_such" err)" = 1 ]
}
check "report: what is in neither is told once" no_event
check "order of arguments decides nothing" cmp <(lines a.xvt b.xvt | sort) <(lines b.xvt a.xvt | sort)
exports() {
	"$xvtrace" export -q --format jsonl a.xvt b.xvt both.jsonl && "$xvtrace" export -q --format jsonl a.xvt a.jsonl &&
		"$xvtrace" export -q --format jsonl b.xvt b.jsonl && cmp <(sort both.jsonl) <(sort a.jsonl b.jsonl)
}
check "export: jsonl has what each has" exports
for format in ctf dat; do
	check "export: $format" "$xvtrace" export -q --format $format a.xvt b.xvt both.$format
done
check "export: perfetto" "$xvtrace" export -q --format perfetto a.xvt b.xvt both.pftrace
read_by_babeltrace() { [ "$(babeltrace2 both.ctf 2>/dev/null | wc -l)" = "$(wc -l <both.jsonl)" ]; }
if command -v babeltrace2 >/dev/null; then
	check "export: babeltrace2 reads all of them" read_by_babeltrace
fi
kept() { # the last argument is where to write, so a trace there is one that was forgotten to be named
	cp b.xvt kept.xvt
	"$xvtrace" export --format jsonl a.xvt b.xvt 2>err
	[ $? -eq 2 ] && grep -q "where to write, which is no trace" err && cmp b.xvt kept.xvt
}
check "export: a trace is not overwritten" kept

# -- counts --------------------------------------------------------------------------

sums() {
	for key in attempted events lost late; do
		[ "$("$xvtrace" stat -q --json a.xvt b.xvt | jq ".$key")" = "$(for f in a b; do "$xvtrace" stat -q --json $f.xvt; done |
			jq -s "map(.$key) | add")" ] || return 1
	done
}
check "stat: counts are the sums" sums
check "stat: both machines with their rings" [ "$("$xvtrace" stat -q --json a.xvt b.xvt |
	jq -c '[.vms[] | [.name, (.rings | length)]]')" = '[["g",2],["h",2]]' ]
bounds() {
	"$xvtrace" stat -q --json a.xvt b.xvt | jq -c '.vms[1] | [.bound_ns_max, .events, .rings]' >both.json
	"$xvtrace" stat -q --json b.xvt | jq -c '.vms[0] | [.bound_ns_max, .events, .rings]' | cmp both.json
}
check "stat: what is said of a machine is what its own trace says" bounds
verifies() {
	"$xvtrace" verify a.xvt b.xvt >out 2>err && grep -q '^a.xvt: ok' out && grep -q '^b.xvt: ok' out &&
		tail -n 1 out | grep -q '^2 traces: ok: 2 of them keep what they promise, and they are of one host'
}
check "verify: each by itself, then all" verifies

# -- machines of one name ------------------------------------------------------------

cp a.xvt saved.xvt
record c.xvt -r g="$work/h"
first=$recorder
check "a recorder that calls another machine g" poll grows c.xvt 300000
record d.xvt -r g="$work/g"
check "at the time of one that has the real g" poll grows d.xvt 300000
ended "$recorder"
ended "$first"
two() {
	"$xvtrace" report c.xvt d.xvt 2>err | tr -s ' ' | cut -d ' ' -f 2 | cut -d : -f 1,2 | sort -u >out
	cmp out <(printf '%s\n' c:g d:g) && grep -q 'machines of one name, .* c:g, d:g$' err
}
check "two machines of one name at one time have the names of their traces, and that is told" two
one_of() { [ "$("$xvtrace" report -q --vm c:g c.xvt d.xvt | tr -s ' ' | cut -d ' ' -f 2 | cut -d : -f 1 | sort -u)" = c ]; }
check "each is chosen by that name" one_of
check "and both by the name that they have" [ "$(lines --vm g c.xvt d.xvt | wc -l)" = "$(lines c.xvt d.xvt | wc -l)" ]
goes_on() {
	[ "$("$xvtrace" stat -q --json a.xvt d.xvt | jq -c '[.vms[] | [.name, (.rings | length)]]')" = '[["g",4]]' ] &&
		! "$xvtrace" report a.xvt d.xvt 2>&1 >/dev/null | grep -q 'one name'
}
check "a machine that a later trace goes on with is one" goes_on
mkdir -p x y
cp c.xvt x/t.xvt
cp d.xvt y/t.xvt
check "traces of one name have those of their folders" [ "$("$xvtrace" stat -q --json x/t.xvt y/t.xvt |
	jq -c '[.vms[].name]')" = '["x/t:g","y/t:g"]' ]

# -- a set, and files of one ---------------------------------------------------------

record set/ -r h="$work/h" --rotate-time 0.3
first=$recorder
record e.xvt -r g="$work/g"
has_files() { [ "$(find set -name '*.xvt' 2>/dev/null | wc -l)" -ge 4 ]; }
check "a set beside a file" poll has_files
ended "$recorder"
ended "$first"
with_set() {
	lines set e.xvt >both
	{ lines set && lines e.xvt; } | sort | cmp - <(sort both) && sort -s -c -n -k 1,1 both
}
check "a set and a file are read as one" with_set
files() { [ "$("$xvtrace" stat -q --json set/*.xvt | jq -c '[.vms[].name]')" = '["h"]' ]; }
check "files of one set have one machine" files

# -- refused -------------------------------------------------------------------------

# refused WORDS FILE...
refused() {
	local words=$1
	shift
	"$xvtrace" report "$@" >out 2>err
	[ $? -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -qE -- "$words" err && return
	cat err
	return 1
}
check "the same trace twice" refused 'a.xvt: it is the same trace as a.xvt' a.xvt a.xvt
"$OLDPWD/$tools/xvt-mktrace" 300 0 made.xvt >/dev/null
check "another host" refused "made.xvt: it is of host '.*', a.xvt is of host" a.xvt made.xvt
python3 - b.xvt booted.xvt <<'END'
# FILE with a clock that begins a minute later: the host was booted in between
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
table = []
for i in range(256):
    c = i
    for _ in range(8):
        c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    table.append(c)
def crc(b):
    c = 0xffffffff
    for x in b:
        c = table[(c ^ x) & 255] ^ c >> 8
    return c ^ 0xffffffff
length = struct.unpack_from('<I', data, 8)[0]
at = 32 + 64  # base_ns, behind the header of the chunk
base = struct.unpack_from('<Q', data, at)[0]
struct.pack_into('<Q', data, at, base - 60 * 10**9 if base > 60 * 10**9 else base + 60 * 10**9)
struct.pack_into('<I', data, 12, 0)
struct.pack_into('<I', data, 12, crc(data[:32 + length]))
open(sys.argv[2], 'wb').write(data)
END
check "another boot of the host" refused 'booted.xvt: its times are of another clock than those of a.xvt' a.xvt booted.xvt
check "verify says so, too" eval '! "$xvtrace" verify -q a.xvt made.xvt >out 2>&1 && tail -n 1 out | grep -q "^2 traces: not ok: 2 of"'
check "one that is none" refused 'none.xvt: ' a.xvt none.xvt

exit $((failures > 0))
