#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# Bad regions and outputs: one clear error line, exit 1 or 2, no crash (AddressSanitizer where
# that build is there), and good data around it is kept.
set -u
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/asan/xvtrace" ] && xvtrace=$BUILD/asan/xvtrace
cleanup() {
	local jobs
	jobs=$(jobs -p)
	[ -z "$jobs" ] || kill $jobs 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
echo "with $xvtrace"

# refuses TEXT WORDS COMMAND...: exit 1 or 2 with exactly one line on stderr, which has WORDS
refuses() {
	local text=$1 words=$2 rc
	shift 2
	"$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	if { [ $rc -eq 1 ] || [ $rc -eq 2 ]; } && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q "^xvtrace: " "$work/err" && grep -qi -- "$words" "$work/err"; then
		echo "ok - $text"
	else
		echo "not ok - $text (exit $rc)"
		cat "$work/err"
		failures=$((failures + 1))
	fi
}

record() {
	timeout 60 "$xvtrace" record -q -o "$work/t.xvt" --duration 1 --join-timeout 0 "$@"
}

# poke FILE OFFSET BYTES: printf escapes
poke() {
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# each NAME WORDS: the region is refused by everything that opens one
each() {
	refuses "$1: record" "$2" record -r g=$work/$1
	refuses "$1: salvage" "$2" timeout 60 "$xvtrace" salvage "$work/$1" -o "$work/t.xvt"
	refuses "$1: snapshot" "$2" timeout 60 "$xvtrace" snapshot -q -o "$work/t.xvt" -r "g=$work/$1"
	refuses "$1: region show" "$2" timeout 60 "$xvtrace" region show "$work/$1"
}

region() {
	rm -f "$work/$1"
	"$xvtrace" region create "$work/$1" --size 256K --rings 2
}

each no-such-region "no such file"
refuses "no-such-region: record says who makes it" "No such file or directory; QEMU makes it .*truncate -s 4M $work/no-such-region" record -r g="$work/no-such-region"
# record waits for this one's guest
truncate -s 256K "$work/blank"
refuses "a blank region: region show" "nobody has formatted this region; is the module loaded in the guest" "$xvtrace" region show "$work/blank"
refuses "a blank region: salvage" "nobody has formatted this region; is the module loaded in the guest" "$xvtrace" salvage "$work/blank" -o "$work/t.xvt"
mkfifo "$work/a-fifo"
each a-fifo "not a regular file"
mkdir "$work/a-folder"
each a-folder "is a directory"
: >"$work/empty-file"
each empty-file "empty"
truncate -s 100 "$work/too-small"
each too-small "too small"
head -c 262144 /dev/urandom >"$work/random"
each random "not an xvtrace region"
region wrong-magic && poke "$work/wrong-magic" 0 'YVT'
each wrong-magic "not an xvtrace region"
region newer-major && poke "$work/newer-major" 8 '\002' && poke "$work/newer-major" 12 '\002'
each newer-major "newer major"
region unknown-feature && poke "$work/unknown-feature" 23 '\200'
each unknown-feature "features"
region does-not-fit && truncate -s 128K "$work/does-not-fit"
each does-not-fit "larger than the file"
region rings-do-not-fit && poke "$work/rings-do-not-fit" 80 '\000\002'
each rings-do-not-fit "do not fit"
region odd-subbuf && poke "$work/odd-subbuf" 84 '\001'
each odd-subbuf "subbuf_size"
mkdir "$work/a-directory"
refuses "a directory: record" "directory" record -r g="$work/a-directory"

region trusted
for command in record snapshot; do
	refuses "$command: trust in the clock of no machine that there is" "none has that name" \
		"$xvtrace" "$command" -q -o "$work/t.xvt" -r g="$work/trusted" --trust-guest-clock h
done
refuses "region create over an existing file" "exists" "$xvtrace" region create "$work/empty-file" --size 256K --rings 2
refuses "region create that is too small" "do not fit" "$xvtrace" region create "$work/new" --size 16K --rings 8
refuses "region create with an odd size" "--size 3000: it is a power of two, as the memory of a PCI device is; the next is --size 4K" "$xvtrace" region create "$work/new" --size 3000 --rings 1
refuses "region create with a size that no PCI device has" "--size 3145728: it is a power of two, .*; the next is --size 4096K" "$xvtrace" region create "$work/new" --size 3M --rings 1
refuses "region create with an odd sub-buffer" "--subbuf-size 3000: it is a power of two" "$xvtrace" region create "$work/new" --size 1M --rings 1 --subbuf-size 3000
refuses "region create with a sub-buffer of 4 GiB and 4 KiB" "--subbuf-size 4294971392: it is a power of two" "$xvtrace" region create "$work/new" --size 1M --rings 1 --subbuf-size 4294971392
refuses "region create with too many rings" "--rings 65537: a region has at most 65536" "$xvtrace" region create "$work/new" --size 1M --rings 65537
refuses "region create with formats of all there is" "--meta-size 18446744073709551615: too large" "$xvtrace" region create "$work/new" --size 1M --rings 1 --meta-size 18446744073709551615
# The least that it names is the least: whatever else was asked for.
least() {
	local kib
	refuses "region create $*: the least is told" "the least is --size [0-9]*K" "$xvtrace" region create "$work/new" --size 16K "$@"
	kib=$(sed -n 's/.*the least is --size \([0-9]*\)K$/\1/p' "$work/err")
	check "which is enough" "$xvtrace" region create "$work/new" --size "${kib}K" "$@"
	rm -f "$work/new"
	refuses "and half of it is not" "do not fit" "$xvtrace" region create "$work/new" --size $((kib / 2))K "$@"
}
least --rings 2 --subbuf-size 1M
least --rings 1
least --rings 3 --meta-size 100000
least --rings 40 --subbuf-size 2K --meta-size 1M
refuses "region create without options" "size" "$xvtrace" region create "$work/new"
region good
refuses "snapshot without output" "-o" "$xvtrace" snapshot -r g="$work/good"
refuses "snapshot without a machine" "-r" "$xvtrace" snapshot -o "$work/t.xvt"
refuses "a region that is neither named nor a path" "NAME=PATH" record -r good
refuses "an unknown mode" "overwrite" record -r g="$work/good" --mode sometimes
refuses "an event without a name" "SYSTEM:EVENT" record -r g="$work/good" -e sched:
refuses "an unknown option" "frobnicate" record -r g="$work/good" --frobnicate
refuses "output in a directory that is not there" "cannot write it: the folder does not exist" "$xvtrace" record -q -o "$work/no/t.xvt" --duration 1 -r g="$work/good"
refuses "the same of a snapshot" "cannot write it: the folder does not exist" "$xvtrace" snapshot -q -o "$work/no/t.xvt" -r g="$work/good"
refuses "and of salvage" "the folder does not exist" "$xvtrace" salvage "$work/good" -o "$work/no/t.xvt"
refuses "output in a folder that is a file" "cannot write it: Not a directory" "$xvtrace" record -q -o "$work/good/" --duration 1 -r g="$work/good"
refuses "output to a full device" "no space" "$xvtrace" record -q -o /dev/full --duration 1 -r g="$work/good"

# Metadata of which one part is longer than any real one: said once, and what is behind it is kept. Two of 17 MiB.
le() { local i out=; for i in 0 8 16 24; do out+=$(printf '\\%03o' $(($1 >> i & 255))); done; echo "$out"; }
"$xvtrace" region create "$work/long" --size 64M --rings 2 --meta-size 40M
meta=$(od -An -tu8 -j 40 -N 8 "$work/long" | tr -d ' ') # meta_off
long=$((17 << 20)) whole=$(((17 << 20) + 16))
for i in 0 1; do poke "$work/long" $((meta + 64 + i * whole)) "$(le 7)$(le $long)"; done
poke "$work/long" $((meta + 64 + 2 * whole)) "$(le 7)$(le 9)$(le 0)$(le 0)behind-it"
poke "$work/long" "$meta" "$(le $((2 * whole + 32)))"
"$xvtrace" salvage "$work/long" -o "$work/l.xvt" 2>"$work/err"
check "salvage leaves out metadata that is too long" test "$(grep -c 'is left out' "$work/err")" -eq 1
check "and keeps what is behind it" grep -q behind-it "$work/l.xvt"
"$xvtrace" record -q -o "$work/l.xvt" --duration 1 --join-timeout 0 -r g="$work/long" 2>"$work/err"
check "so does record, which has no event of it" test $? -eq 1
check "which says it in the trace, once" eval 'test "$("$xvtrace" verify --notes "$work/l.xvt" | grep -c "is left out")" -eq 1'
check "and keeps what is behind it, too" grep -q behind-it "$work/l.xvt"
check "in a small file" test "$(stat -c %s "$work/l.xvt")" -lt 1000000

# A region that shrinks while it is recorded: said, and what came before is a good trace.
region shrinks
"$BUILD/xvt-emit" "$work/shrinks" --rings 2 --rate 2000 --count 1000000 >/dev/null 2>&1 &
# Its library outlives the truncated file: the program goes on untraced, until the test ends.
"$xvtrace" record -q -o "$work/s.xvt" -r g="$work/shrinks" 2>"$work/err" &
recorder=$!
some() {
	[ "$("$xvtrace" region show --json "$work/shrinks" | jq '[.rings[].cons] | min')" -gt 20000 ]
}
check "events flow into the region that will shrink" poll some
truncate -s 4096 "$work/shrinks"
wait $recorder
check "a region truncated while recording: exit 1" test $? -eq 1
check "with one error line that says so" eval 'test "$(grep -c "" "$work/err")" -eq 1 && grep -q truncated "$work/err"'
cat "$work/err"
check "the events before it are kept" eval 'test "$("$xvtrace" stat --json "$work/s.xvt" | jq .events)" -gt 500'

# A disk that is too small for what recording keeps of it, and full at the end (t_disk_full.sh has the others).
if unshare -rm true 2>/dev/null && unshare -rm sh -c "mkdir -p $work/full && mount -t tmpfs -o size=512k t $work/full" 2>/dev/null; then
	region fills
	"$BUILD/xvt-emit" "$work/fills" --rings 2 --rate 20000 --count 100000000 >/dev/null 2>&1 &
	unshare -rm sh -c "mount -t tmpfs -o size=512k t '$work/full' && timeout 300 '$xvtrace' record -q -o '$work/full/t.xvt' -r g='$work/fills' --control '$work/control' 2>'$work/err' -- sh -c 'until \"\$0\" status --json --control \"\$1\" 2>/dev/null | jq -e .recorders[0].disk_full >/dev/null; do sleep 0.05; done' '$xvtrace' '$work/control'; echo \$? >'$work/rc'; cp '$work/full/t.xvt' '$work/full.xvt'"
	check "a small full disk: exit 1" test "$(cat "$work/rc")" = 1
	check "with one error line that says so" eval 'test "$(grep -c "" "$work/err")" -eq 1 && grep -qi "no space" "$work/err"'
	cat "$work/err"
	check "the trace is good up to there" eval 'test "$("$xvtrace" stat --json "$work/full.xvt" 2>/dev/null | jq .events)" -gt 1000'
else
	echo "skip - a full disk: mounting a small tmpfs in a user namespace is not allowed here"
fi
[ $failures -eq 0 ]
