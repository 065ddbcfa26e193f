#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317,SC2059,SC2094
# Bad traces and bad outputs: exactly one clear line on stderr, exit 0, 1 or 2 as it deserves, no
# crash (AddressSanitizer where that build is there).
set -u
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/asan/xvtrace" ] && xvtrace=$BUILD/asan/xvtrace
mktrace=$BUILD/tests/tools/xvt-mktrace
cleanup() {
	chmod -R u+w "$work" 2>/dev/null
	umount "$work/full" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
echo "with $xvtrace"

# told_nameless: the good trace has events without a format, which are told as well
told_nameless() { sed -i '/ events have no format: /d' "$work/err"; }

# one_line STATUS WORDS COMMAND...: that exit status, one line "xvtrace: ..." with WORDS on stderr
one_line() {
	local want=$1 words=$2 status
	shift 2
	# A minute is for what waits for ever.
	timeout 60 "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	told_nameless
	if [ $status -ne "$want" ] || [ "$(wc -l <"$work/err")" -ne 1 ] ||
		! grep -q '^xvtrace: ' "$work/err" || ! grep -qE -- "$words" "$work/err"; then
		echo "# exit $status (wanted $want, '$words'): $*"
		head -n 5 "$work/err" | cut -c 1-300 | sed 's/^/# /'
		return 1
	fi
}

# every STATUS WORDS FILE: all commands that read a trace
every() {
	local c
	for c in report stat "stat --json" verify; do
		# shellcheck disable=SC2086
		one_line "$1" "$2" "$xvtrace" $c "$3" || return 1
	done
	for c in text jsonl perfetto; do
		one_line "$1" "$2" "$xvtrace" export --format $c "$3" - || return 1
	done
	rm -rf "$work/ctf"
	one_line "$1" "$2" "$xvtrace" export --format ctf "$3" "$work/ctf" || return 1
	rm -rf "$work/dat"
	one_line "$1" "$2" "$xvtrace" export --format dat "$3" "$work/dat"
}

"$mktrace" 30 4 "$work/good.xvt" >/dev/null || exit 1
size=$(stat -c %s "$work/good.xvt")
first=216 # bytes of the first chunk

quiet_and_fine() {
	local c
	for c in "report $1" "stat $1" "verify $1" "export --format jsonl $1 -"; do
		# shellcheck disable=SC2086
		"$xvtrace" $c >/dev/null 2>"$work/err" || return 1
		told_nameless
		[ ! -s "$work/err" ] || return 1
	done
}
check "a good trace: exit 0, nothing on stderr" quiet_and_fine "$work/good.xvt"

printf '' >"$work/empty"
head -c 5000 /dev/urandom >"$work/random"
{ head -c 32 "$work/good.xvt"; head -c 5000 /dev/urandom; } >"$work/half-random"
head -c 5000 /dev/zero >"$work/zeros"
{ printf 'XVTRACE1'; head -c 5000 /dev/zero; } >"$work/region"
{ printf '\000'; tail -c +2 "$work/good.xvt"; } >"$work/magic"
check "empty file" every 1 "is empty" "$work/empty"
check "random bytes" every 1 "not an xvtrace trace" "$work/random"
check "a right beginning, then random bytes" every 1 "damaged" "$work/half-random"
check "zeros" every 1 "not an xvtrace trace" "$work/zeros"
check "wrong magic" every 1 "wrong magic" "$work/magic"
check "a region instead of a trace" every 1 "is a region" "$work/region"
check "no such file" every 1 "No such file" "$work/nothing"
check "a directory" every 1 "is a directory" "$work"
check "a device" every 1 "not a regular file" /dev/zero
mkfifo "$work/fifo"
check "a FIFO without a writer" every 1 "not a regular file" "$work/fifo"
check "no file given" one_line 2 "give one trace" "$xvtrace" report
check "unknown option" one_line 2 "no such option" "$xvtrace" stat --jsno "$work/good.xvt"
check "unknown command" one_line 2 "did you mean 'xvtrace stat'" "$xvtrace" stats "$work/good.xvt"
check "unknown machine" one_line 1 "it has: g1, g2" "$xvtrace" report --vm g9 "$work/good.xvt"
check "bad time" one_line 2 "not a time" "$xvtrace" report --from yesterday "$work/good.xvt"
check "unknown format" one_line 2 "no such format" "$xvtrace" export --format pdf "$work/good.xvt" -
check "unknown format, by the old option" one_line 2 "no such format" "$xvtrace" export --to pdf "$work/good.xvt" -
check "no format" one_line 2 "give --format" "$xvtrace" export "$work/good.xvt" -
check "ctf to standard output" one_line 2 "is a directory" "$xvtrace" export --format ctf "$work/good.xvt" -

# Newer major version, with a right checksum: made by the program that knows how to sum.
"$mktrace" 3 8 "$work/newer.xvt" >/dev/null
check "newer major version" every 1 "use a newer xvtrace" "$work/newer.xvt"

# Cut: before the end of the first chunk nothing can be read; after it, what is whole is read
# and the file is called not cleanly ended, which is legal.
cuts() {
	local n
	for n in $(seq 1 $((first - 1)) | awk 'NR % 41 == 1') $((first - 1)); do
		head -c "$n" "$work/good.xvt" >"$work/cut"
		every 1 "not an xvtrace trace|cut off inside its first chunk" "$work/cut" || return 1
	done
}
check "cut inside the first chunk" cuts
cuts() {
	local n
	for n in $(seq $first $(((size - first) / 20)) $((size - 1))) $((size - 1)) $((size - 8)); do
		head -c "$n" "$work/good.xvt" >"$work/cut"
		one_line 0 "not cleanly ended" "$xvtrace" stat --json "$work/cut" || return 1
		# Of a trace without an event that is said, too.
		if jq -e '[.vms[].events] | add // 0 | . == 0' "$work/out" >/dev/null; then
			"$xvtrace" report "$work/cut" 2>&1 | grep -q 'no event in it' || return 1
			continue
		fi
		for c in report verify; do
			one_line 0 "not cleanly ended" "$xvtrace" $c "$work/cut" || return 1
		done
		one_line 0 "not cleanly ended" "$xvtrace" export --format jsonl "$work/cut" - || return 1
		grep -vE '^\{"ts_ns":[0-9]+,.*\}$' "$work/out" && return 1
		"$xvtrace" verify -q --complete "$work/cut" >/dev/null && return 1
	done
	return 0
}
check "cut anywhere after it: read up to there, said, exit 0" cuts

# Flipped bits: one line at most, and never a good exit without a word.
flips() {
	local n byte
	for n in $(seq $first 331 $((size - 40))); do
		cp "$work/good.xvt" "$work/flip"
		byte=$(od -An -tu1 -j "$n" -N 1 "$work/good.xvt")
		printf "\\x$(printf %x $((byte ^ 0x20)))" |
			dd of="$work/flip" bs=1 seek="$n" conv=notrunc status=none
		for c in report "stat --json"; do
			# shellcheck disable=SC2086
			"$xvtrace" $c "$work/flip" >"$work/out" 2>"$work/err"
			status=$?
			told_nameless
			if [ $status -gt 1 ] || [ "$(wc -l <"$work/err")" -gt 1 ]; then
				echo "# byte $n, $c: exit $status"
				head -n 3 "$work/err" | sed 's/^/# /'
				return 1
			fi
		done
		"$xvtrace" verify "$work/flip" >"$work/out" 2>"$work/err"
		status=$?
		# Bytes of padding belong to no chunk.
		if [ $status -eq 0 ] && [ ! -s "$work/err" ]; then
			padding=$((padding + 1))
		elif [ $status -gt 1 ] || [ "$(wc -l <"$work/err")" -gt 1 ]; then
			echo "# byte $n, verify: exit $status"
			return 1
		fi
		total=$((total + 1))
	done
	echo "# $total flips, $padding of them in padding"
	[ $((padding * 20)) -lt $total ]
}
padding=0 total=0
check "a flipped bit: seen by verify, no crash anywhere" flips

# Outputs that cannot be written.
check "full disk: report" one_line 1 "No space left" sh -c "'$xvtrace' report '$work/good.xvt' >/dev/full"
check "full disk: stat" one_line 1 "No space left" sh -c "'$xvtrace' stat '$work/good.xvt' >/dev/full"
check "full disk: stat --json" one_line 1 "No space left" sh -c "'$xvtrace' stat --json '$work/good.xvt' >/dev/full"
check "full disk: verify" one_line 1 "cannot write" sh -c "'$xvtrace' verify '$work/good.xvt' >/dev/full"
check "full disk: jsonl" one_line 1 "No space left" "$xvtrace" export --format jsonl "$work/good.xvt" /dev/full
check "full disk: perfetto" one_line 1 "No space left" "$xvtrace" export --format perfetto "$work/good.xvt" /dev/full
check "no such directory: jsonl" one_line 1 "No such file" "$xvtrace" export --format jsonl "$work/good.xvt" "$work/no/such"
check "no such directory: dat" one_line 1 "No such file" "$xvtrace" export --format dat "$work/good.xvt" "$work/no/such"
check "no such directory: ctf" one_line 1 "No such file" "$xvtrace" export --format ctf "$work/good.xvt" "$work/no/such"
mkdir "$work/taken"
touch "$work/taken/file"
check "a directory that is not empty" one_line 1 "not empty" "$xvtrace" export --format ctf "$work/good.xvt" "$work/taken"
check "a file where a directory should be" one_line 1 "Not a directory" "$xvtrace" export --format ctf "$work/good.xvt" "$work/taken/file"
if [ "$(id -u)" -ne 0 ]; then
	chmod a-w "$work/taken"
	rm -rf "$work/taken/file"
	check "a directory without permission" one_line 1 "Permission denied" \
		"$xvtrace" export --format ctf "$work/good.xvt" "$work/taken/new"
elif [ -e /proc/self/root ]; then
	check "a place that root cannot write either" one_line 1 "cannot write" \
		"$xvtrace" export --format ctf "$work/good.xvt" /proc/xvt-no-such-place
fi
mkdir "$work/full"
if mount -t tmpfs -o size=16k t "$work/full" 2>/dev/null; then
	"$mktrace" 3000 0 "$work/large.xvt" >/dev/null
	# No reader takes a part of these.
	# full_at KIB FORMAT [OPTION...]: an export into a file system of that size leaves an empty folder, and says so
	full_at() {
		mount -o remount,size="$1k" "$work/full" &&
			one_line 1 "No space left on device; all that was written is removed" \
				"$xvtrace" export --format "${@:2}" "$work/large.xvt" "$work/full/out" &&
			[ -z "$(ls -A "$work/full/out")" ]
	}
	check "file system full: ctf" full_at 16 ctf
	check "file system full at the last file: ctf" full_at 160 ctf
	# The pages of all CPUs take 56 KiB before the first file, and each file 38 KiB.
	mount -o remount,size=40k "$work/full"
	check "file system full before the first file: dat" one_line 1 "No space left" "$xvtrace" export --format dat "$work/large.xvt" "$work/full/out"
	check "file system full in the first file: dat" full_at 76 dat
	check "file system full in a later file: dat" full_at 116 dat
	check "file system full: dat of version 6" full_at 204 dat --dat-version 6
	check "with space there is an export" eval 'mount -o remount,size=2m "$work/full" && "$xvtrace" export -q --format dat "$work/large.xvt" "$work/full/out"'
	rm -rf "$work/full/out"
	mount -o remount,size=16k "$work/full"
	check "file system full: jsonl" one_line 1 "No space left" "$xvtrace" export --format jsonl "$work/large.xvt" "$work/full/x.jsonl"
	rm -f "$work/full/x.jsonl"
	check "file system full: perfetto" one_line 1 "No space left" "$xvtrace" export --format perfetto "$work/large.xvt" "$work/full/x.pftrace"
else
	echo "skip - file system full: cannot mount a tmpfs here"
fi
# The reader is gone before the writer begins.
mkfifo "$work/pipe"
exec 9<>"$work/pipe" 8>"$work/pipe" 9<&-
check "broken pipe" one_line 1 "Broken pipe" sh -c "trap '' PIPE; '$xvtrace' report '$work/good.xvt' >&8"
exec 8>&-
[ $failures -eq 0 ]
