#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# Names of the events of a guest with nothing installed. They come after the recording, when `xvtrace
# formats` gets its kernel: all commands that read have them then, by the build that the guest's memory
# named; without that only by the user's word, which they say. What a killed recorder leaves has the
# names that were known.
set -u
. "$(dirname "$0")/lib.sh"
guest=
trap '[ -n "$guest" ] && kill "$guest" 2>/dev/null; cleanup' EXIT
export XVT_FORMATS_DIR=$work/cache
id=00112233445566778899aabbccddeeff01234567
other=ff112233445566778899aabbccddeeff01234567

# copy_of FOLDER RELEASE ID BYTES: what a kernel says, whose event 300 has so many bytes behind its number
copy_of() {
	mkdir -p "$1"/events/{sched/tick,ftrace/print}
	printf 'name: print\nID: 5\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\nprint fmt: ""\n' >"$1/events/ftrace/print/format"
	printf 'name: tick\nID: 300\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:unsigned long serial;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:char rest[%s];\toffset:16;\tsize:%s;\tsigned:0;\n\nprint fmt: "serial=%%lu", REC->serial\n' \
		"${4#0}" "$4" >"$1/events/sched/tick/format"
	{ printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0' && printf '%b' "$(sed 's/../\\x&/g' <<<"$3")"; } >"$1/notes"
	echo "Linux $2 #1 SMP Debian x86_64" >"$1/uname"
	echo '0000000000000000 T __traceiter_tick' >"$1/kallsyms"
}
copy_of "$work/k" 6.12.1-a $id 0
copy_of "$work/long" 6.12.1-a $id 999
copy_of "$work/k2" 6.12.1-b $other 0

# record_guest NAME BUILD_ID: a second of it, or more
written() { "$xvtrace" status --json --control "$work/control" 2>/dev/null | jq -e "[.recorders[0].vms[] | select(.name == \"$machine\")][0] | $1" >/dev/null; }
machine=g
until_written() {
	local i
	for ((i = 0; i < 1200; i++)); do
		written "$1" && return
		read -rt 0.1 <> <(:) || :
	done
	return 1
}
boot() {
	rm -f "$work/ram"
	"$BUILD/tests/tools/xvt-stock-guest" "$work/ram" "$1" &
	guest=$!
	until [ -s "$work/ram" ]; do read -rt 0.05 <> <(:) || :; done
}
# start NAME BUILD_ID [OPTION]...: NAME.xvt, or with a slash behind it a folder of that name
start() {
	local to=$work/${1%/}.xvt
	[ "$to" = "$work/$1.xvt" ] || to+=/
	boot "$2"
	"$xvtrace" record -q -o "$to" "${@:3}" --control "$work/control" --follow -r "g=ftrace:$work/ram" 2>"$work/${1%/}.err" &
	recorder=$!
}
end_guest() { kill "$guest" && wait "$guest" && guest=; }
named() { [ "$(grep -c ' tick: serial=' "$work/out")" -gt 100 ] && ! grep -q 'type300' "$work/out"; }
nameless() { [ "$(grep -c ' type300: ' "$work/out")" -gt 100 ] && ! grep -q ' tick: ' "$work/out"; }
# report_of NAME [OPTION]...
report_of() { "$xvtrace" report "${@:2}" "$work/$1.xvt" >"$work/out" 2>"$work/err"; }

start proven $id
check "a guest is recorded" until_written '[.rings[].events] | add > 500'
check "the recording ends well" eval 'kill -INT $recorder && wait $recorder'
end_guest
report_of proven
check "without its kernel's formats its events have no names" nameless
check "... and what to do is said" grep -q "build $id, whose formats are not known here: .xvtrace formats --kernel VMLINUZ." "$work/err"
check "another kernel is stored" "$xvtrace" formats -q --import "$work/k2"
report_of proven
check "... which changes nothing" nameless
report_of proven --formats g=6.12.1-b
check "... also if the user says so" nameless
check "... and why is said" grep -q "but its memory says that it is build $id" "$work/err"
check "its own one with other lengths is stored" "$xvtrace" formats -q --import "$work/long"
report_of proven
check "... which does not fit" nameless
check "... and that is said" grep -q "they are not of kernel 6.12.1-a, build $id: event 300 is sched:tick there" "$work/err"
check "its own one is stored" "$xvtrace" formats -q --import "$work/k"
report_of proven
check "report has the names" named
check "... and complains of nothing" [ ! -s "$work/err" ]
events=$(stat_sum "$work/proven.xvt" events)
check "stat has them" eval '"$xvtrace" stat --json "$work/proven.xvt" | jq -e ".nameless == 0 and .vms[0].names_by == \"cache\" and .vms[0].names_build == \"$id\""'
check "export has them" [ "$("$xvtrace" export --format jsonl "$work/proven.xvt" - | jq -r 'select(.serial != null or .fields.serial != null) | 1' | wc -l)" = "$events" ]
check "query has them" [ "$("$xvtrace" query "$work/proven.xvt" "select count(*) from tick" | tail -n 1 | tr -dc 0-9)" = "$events" ]
check "summary has them" eval '"$xvtrace" summary --json "$work/proven.xvt" | jq -e ".nameless == 0"'
check "a choice by name finds them" [ "$("$xvtrace" report -e sched:tick "$work/proven.xvt" | wc -l)" = "$events" ]
check "trim keeps what is known" eval '"$xvtrace" trim -q -o "$work/part.xvt" "$work/proven.xvt" && report_of part && named'
rm -rf "$work/cache"
report_of part
check "... and has no names of its own" nameless

# begun_and_ended [BUILD_ID]: two files, with events in both; in the second one of a kernel that was booted then
begun_and_ended() {
	until_written '[.rings[].events] | add > 500' &&
		"$xvtrace" control rotate --control "$work/control" >/dev/null || return 1
	if [ -n "${1:-}" ]; then
		end_guest
		boot "$1"
		machine=g.2
		written_before=0
	else
		written_before=$("$xvtrace" status --json --control "$work/control" | jq '[.recorders[0].vms[0].rings[].events] | add')
	fi
	until_written "[.rings[].events] | add > $((written_before + 500))" || return 1
	machine=g
	kill -INT $recorder && wait $recorder
	end_guest
}
mkdir "$work/cache"
check "one kernel's formats are there for what follows" "$xvtrace" formats -q --import "$work/k2"
for how in "--order later" "--compress 3" "--order later --compress 3"; do
	# shellcheck disable=SC2086
	start other $id $how
	check "$how: a guest is recorded" until_written '[.rings[].events] | add > 500'
	kill -INT $recorder && wait $recorder
	end_guest
	rm -f "$work/ordered.xvt" "$work/part.xvt" "$work/part2.xvt"
	check "$how: order, and a part" eval '"$xvtrace" order -o "$work/ordered.xvt" "$work/other.xvt" && "$xvtrace" trim -q -o "$work/part.xvt" "$work/other.xvt" &&
		"$xvtrace" trim -q -o "$work/part2.xvt" "$work/ordered.xvt"'
	for t in other ordered part part2; do
		report_of $t
		check "$how: $t has no names" nameless
	done
	"$xvtrace" formats -q --import "$work/k"
	for t in other ordered part part2; do
		report_of $t
		check "$how: $t has names" named
		check "$how: $t verifies" "$xvtrace" verify "$work/$t.xvt"
	done
	rm "$work/cache/$id.formats"
done

start set/ $id
check "a guest is recorded into two files" begun_and_ended
rm "$work/part.xvt"
"$xvtrace" trim -q -o "$work/part.xvt" "$work/set.xvt/"
report_of part
check "a part of the folder has no names" nameless
check "... and names the build that all its files prove" grep -q "build $id, whose formats are not known here" "$work/err"
"$xvtrace" formats -q --import "$work/k"
report_of part
check "... and has names when they come" named
check "... for each event" eval '"$xvtrace" stat --json "$work/part.xvt" | jq -e ".nameless == 0"'
check "... and verifies" "$xvtrace" verify "$work/part.xvt"
rm "$work/cache"/*.formats
start two/ $id
check "a guest of another kernel takes its place in the second file" begun_and_ended $other
rm "$work/part.xvt"
"$xvtrace" trim -q -o "$work/part.xvt" "$work/two.xvt/"
for k in k k2; do "$xvtrace" formats -q --import "$work/$k"; done
report_of part
check "a part of both has the names of each" named
check "... by the build of each" eval '"$xvtrace" stat --json "$work/part.xvt" | jq -e "[.vms[].names_build] == [\"$id\", \"$other\"]" >/dev/null'

start unproven -
check "a guest whose memory names no kernel is recorded" until_written '[.rings[].events] | add > 500'
kill -INT $recorder && wait $recorder
end_guest
check "its kernel is stored" "$xvtrace" formats -q --import "$work/k"
report_of unproven
check "its events have no names" nameless
check "... and what to do is said" grep -q -- '--formats NAME=BUILDID' "$work/err"
report_of unproven -q --formats g=6.12.1-a
check "by the user's word they have" named
check "... which is said" grep -q "kernel 6.12.1-a, build $id, which was stated by --formats; that their lengths fit is no proof" "$work/err"
check "stat says so, too" eval '"$xvtrace" stat --json --formats g=$id "$work/unproven.xvt" 2>/dev/null | jq -e ".vms[0].names_by == \"stated\""'
check "a wrong word is refused" eval '! report_of unproven --formats g && grep -q "VM=KERNEL" "$work/err"'
check "so is another machine" eval '! report_of unproven --formats h=6.12.1-a && grep -q "no such machine" "$work/err"'

start killed $id
check "a guest whose kernel is known is recorded" until_written '.names_of != null'
check "... for a while" until_written '[.rings[].events] | add > 500'
kill -9 $recorder
wait $recorder 2>/dev/null
end_guest
rm -rf "$work/cache"
report_of killed
check "what kill -9 leaves has the names in the file" named
[ $failures -eq 0 ]
