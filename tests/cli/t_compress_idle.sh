#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# record --compress idle: finished files of the folder become smaller, and read as they did, whenever the recorder is
# killed; within the limits of the folder; and those in a snapshot stay.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
set=$work/set

"$xvtrace" region create "$work/g" --size 1M --rings 2 || exit 1
# What is compressed has the time that nobody else wants: beside load that is next to none, and no fault.
patient() { PATIENCE=1800 poll "$@"; }
# record OPTION...: until it is killed
record() {
	"$xvtrace" record -q -o "$set/" -r "$work/[g]" --control "$work/control" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
}
end() {
	kill "-${1:-TERM}" $recorder
	wait $recorder 2>/dev/null
}
status() { "$xvtrace" status --json --control "$work/control" 2>/dev/null | jq -r ".recorders[0].$1"; }
compressed() { [ "$(status files_compressed)" -ge "$1" ] 2>/dev/null; }
has_files() { [ -d "$set" ] && [ "$(find "$set" -name '0*.xvt' -size +0 | wc -l)" -ge "$1" ]; }
write() {
	"$BUILD/xvt-emit" "$work/g" --rings 2 --count 100000000 --size 64 --rate 40000 >/dev/null 2>&1 &
	writer=$!
	pids+=($writer)
}
stop_writer() {
	kill -KILL $writer
	wait $writer 2>/dev/null
}
is_packed() { od -An -tu2 -w8 -v "$1" | awk '$1 == 22104 && $2 == 17236 && $4 == 1 { n++ } END { exit !n }'; }

# -- a set of plain files, and what it says
write
record --rotate-size 1M
poll has_files 6 || exit 1
end
stop_writer
"$xvtrace" record -q -o "$work/one.xvt" -z idle -r g="$work/g" --duration 0.1 2>"$work/err"
if grep -q 'built without zstd' "$work/err"; then
	echo "skip - built without zstd"
	exit 0
fi
check "one file has no finished ones" grep -q "give one, like -o $work/one.xvt.d/" "$work/err"
plain=$(find "$set" -name '0*.xvt' | sort)
cp -a "$set" "$work/plain"
for file in $plain; do "$xvtrace" report --no-reclock "$file" >"$file.report"; done
mkdir "$work/reports"
mv "$set"/*.report "$work/reports"
counts() { jq -c '[.vms[].rings[] | select(.events > 0) | [.cpu, .events, .lost]]'; }
"$xvtrace" report --no-reclock "$work/plain" | grep -v " WAITS: " >"$work/report"
"$xvtrace" stat --json "$work/plain" | counts >"$work/counts"
check "there is something to read" test "$(wc -l <"$work/report")" -gt 10000
reads_as_before() {
	local file
	for file in $plain; do
		"$xvtrace" report --no-reclock "$file" | cmp "$work/reports/${file##*/}.report" || return 1
	done
}

verifies() { "$xvtrace" verify -q "$set" >"$work/verify" 2>&1 || { tail -n 3 "$work/verify"; return 1; }; }

# -- killed at any moment
in_hand() { [ -e "$set/compress.tmp" ]; }
# All files are to be compressed, whatever an earlier recorder did before it ended.
renew() {
	rm -rf "$set"
	cp -a "$work/plain" "$set"
}
for i in 1 2 3 4; do
	renew
	record --rotate-size 1M --compress idle:19
	check "$i: a copy is made" patient in_hand
	end KILL
	check "$i: killed, each file reads as before" reads_as_before
	check "$i: and the folder verifies" verifies
done
echo "of a recorder that was killed" >"$set/compress.tmp"
record --rotate-size 1M
check "an unfinished copy is removed at the next start" poll test ! -e "$set/compress.tmp"
poll status file >/dev/null
end

# -- as long as it takes
mkdir "$work/snapshot"
linked=$set/00000002.xvt
renew
ln "$linked" "$work/snapshot/00000002.xvt"
before=$(stat -c %i "$linked")
record --rotate-size 1M --compress idle
all() { for file in $plain; do [ "$file" = "$linked" ] || is_packed "$file" || return 1; done; }
same() { "$xvtrace" report --no-reclock "$set" 2>/dev/null | grep -v " WAITS: " | cmp "$work/report" - && "$xvtrace" stat --json "$set" 2>/dev/null | counts | cmp "$work/counts" -; }
reads() { # as before, until all files are compressed, and once more
	local end=$((SECONDS + 1800))
	until all; do same && [ $SECONDS -lt $end ] || return 1; done
	same
}
check "report and stat read the folder meanwhile, until all is compressed" reads
from=$(status compressed_from_bytes) to=$(status compressed_to_bytes)
check "status has their bytes ($(status files_compressed) files, $from to $to)" test "$to" -gt 0 -a "$to" -lt "$from"
end
check "each reads as before" reads_as_before
check "the folder verifies" verifies
times() { for file in $plain; do stat -c '%y %a' "$file"; done; }
plain_times() { for file in $plain; do stat -c '%y %a' "$work/plain/${file##*/}"; done; }
check "each is as old as it was, with its mode" [ "$(times)" = "$(plain_times)" ]
check "a file with two names stays" [ "$(stat -c %i "$linked")" = "$before" ]
check "and is not compressed" eval '! is_packed "$linked"'
check "no copy is left" test ! -e "$set/compress.tmp"
check "the recorder says nothing" test ! -s "$work/err"

# -- a file that is removed, or gets a second name, while its copy is made
settled() { [ "$(status file)" ] && ! in_hand; }
# changed COMMAND [OPERAND]: done to each file that is not compressed, with the recorder stopped: it replaces none
changed() {
	local file
	rm -rf "$work/snapshot"/*
	renew
	record --rotate-size 1M --compress idle:19
	poll in_hand || exit 1
	freeze $recorder || exit 1
	left=''
	for file in $plain; do
		if is_packed "$file"; then continue; fi
		left+=" $file"
		"$1" "$file" ${2:+"$2"}
	done
	kill -CONT $recorder
	patient settled || return 1
	end
	[ "$left" ]
}
back() { for file in $left; do [ ! -e "$file" ] || return 0; done; return 1; }
both() { for file in $left; do [ "$file" -ef "$work/snapshot/${file##*/}" ] || return 1; done; }
check "files are removed while one is compressed" changed rm
check "none comes back" eval '! back'
check "its copy is dropped" test ! -e "$set/compress.tmp"
check "files are linked while one is compressed" changed ln "$work/snapshot/"
check "each keeps both names" both
check "its copy is dropped" test ! -e "$set/compress.tmp"
renew

# -- what cannot be compressed stays
rm -f "$work/snapshot"/*
cp "$work/plain/00000001.xvt" "$set/00000001.xvt"
truncate -s -100 "$set/00000001.xvt"
cp "$work/plain/00000003.xvt" "$set/00000003.xvt"
printf 'x' | dd of="$set/00000003.xvt" bs=1 seek=500000 conv=notrunc 2>/dev/null
cp "$set/00000001.xvt" "$set/00000003.xvt" "$work/snapshot"
cp -a "$work/plain/00000004.xvt" "$set/00000004.xvt"
record --rotate-size 1M --compress idle
fourth() { is_packed "$set/00000004.xvt"; }
check "files behind a damaged one are compressed" patient fourth
end
check "a file without its end stays" cmp "$set/00000001.xvt" "$work/snapshot/00000001.xvt"
check "and a damaged one" cmp "$set/00000003.xvt" "$work/snapshot/00000003.xvt"

# -- the process that reads: whose time it takes, and what it may do
rm -rf "$set"
mkdir "$set"
"$BUILD/tests/tools/xvt-bigtrace" ftrace 8 400000 "$set/00000001.xvt" || exit 1 # seconds at level 19
record --rotate-size 1M --compress idle:19
# By the lists of children: pgrep looks at all processes, which takes long beside load, while the packer may end.
children() { cat "/proc/$1/task/"*/children 2>/dev/null; }
find_packer() {
	local helper
	for helper in $(children $recorder); do
		for packer in $(children "$helper"); do grep -qsx xvtrace-packer "/proc/$packer/comm" && return; done
	done
	return 1
}
check "a process compresses" poll find_packer
# after the name: nice is the 19th field, the policy the 41st; 5 is SCHED_IDLE
gives_way() { [ "$(sed 's/.*) //' "/proc/$packer/stat" 2>/dev/null | cut -d ' ' -f 17,39)" = "19 5" ]; }
check "it gives way to all others" poll gives_way
in_sandbox() { grep -qs '^Seccomp:.*2' "/proc/$packer/status"; }
if "$xvtrace" doctor --json | jq -e .sandbox >/dev/null; then
	check "it is in a sandbox" poll in_sandbox
else
	echo "skip - the sandbox: there is none here"
fi
freeze "$packer" # it may not end before it was looked at
check "it has no capability" grep -q '^CapEff:.*0000000000000000' "/proc/$packer/status"
descriptors() { find "/proc/$packer/fd" -mindepth 1 -printf '%l\n' | grep -c "$set/"; }
check "of files it has these two" [ "$(descriptors)" = 2 ]
end KILL
gone() { [ ! -e "/proc/$packer" ]; }
check "it ends with the recorder" poll gone

# -- in bounded space
rm -rf "$set"
write
record --rotate-size 1M --keep-size 6M --compress idle
removed() {
	measure "$set"
	[ "$(status files_removed)" -ge "$1" ] 2>/dev/null
}
check "keep: the oldest files are removed" poll removed 4
stop_writer
finished() { find "$set" -name '0*.xvt' | sort | head -n -1; }
all_finished() { measure "$set"; for file in $(finished); do is_packed "$file" || return 1; done; }
check "keep: the others are compressed" patient all_finished
check "keep: status says so" compressed 1
end
check "keep: the folder never had much more ($most)" test "$most" -gt 0 -a "$most" -lt $((7 << 20))
check "keep: what is kept has no gap" verifies
"$xvtrace" record -q -o "$set/" -r g="$work/g" --rotate-size 2M --keep-size 7M -z idle 2>"$work/err"
check "a copy is a part of what is kept" grep -q 'a quarter' "$work/err"

[ $failures -eq 0 ]
