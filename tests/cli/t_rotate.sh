#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# shellcheck disable=SC2317
# record -o DIR/ --rotate-size: each file is whole and adds up, the events of all files are those that the guests
# wrote, each once, also if recorders are killed.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
chain=$BUILD/tests/tools/xvt-chain

# write OPTION...: two machines of two rings each, which write until they are killed
write() {
	writers=()
	for vm in g h; do
		rm -f "$work/$vm"
		"$xvtrace" region create "$work/$vm" --size "${size:-1M}" --rings 2 || exit 1
		"$BUILD/xvt-emit" "$work/$vm" --rings 2 --count 100000000 --size 64 "$@" >/dev/null 2>&1 &
		writers+=($!)
	done
	pids+=("${writers[@]}")
}

# record OPTION...: until it is killed
record() {
	"$xvtrace" record -q -o "$work/set/" -r g="$work/g" -r h="$work/h" --control "$work/control" "$@" 2>"$work/err" &
	recorder=$!
	pids+=($recorder)
}

end() {
	kill -TERM $recorder
	wait $recorder
}

stop_writers() {
	kill -KILL "${writers[@]}"
	wait "${writers[@]}" 2>/dev/null
}

# a recorder that is killed may leave a file without a byte
files() { [ ! -d "$work/set" ] || find "$work/set" -name '*.xvt' -size +0 | sort; }
has_files() { [ "$(files | wc -l)" -ge "$1" ]; }
# gets_files NUMBER: how long that takes is the load's to decide, most of all of what is compressed
gets_files() {
	PATIENCE=1200 poll has_files "$1" && return
	cat "$work/err"
	return 1
}
# of the last line of xvt-chain
sum() { sed -n "s/^all .*\b$1=\([^ ]*\).*/\1/p" "$work/chain"; }
verify_all() {
	local file
	for file in $(files); do
		"$xvtrace" verify -q "$file" >"$work/verify" 2>&1 && continue
		head -n 5 "$work/verify"
		return 1
	done
}
stats() { files | while read -r file; do "$xvtrace" stat -q --json "$file"; done | jq -s '[.[].vms[].rings[]]'; }
each_adds_up() { stats | jq -e 'all(.[]; .attempted == .events + .discarded + .lost + .in_flight)' >/dev/null; }
rings() { for vm in g h; do "$xvtrace" region show --json "$work/$vm"; done | jq -s '[.[].rings[]]'; }
all_attempted() { [ "$(stats | jq 'map(.attempted) | add')" = "$(rings | jq 'map(.attempted) | add')" ]; }
all_lost() { [ "$(stats | jq 'map(.lost) | add')" = "$(rings | jq '[.[].lost_by | add] | add')" ]; }

# -- each event once

for how in "" "--order later" "-z 1 --memory 8M"; do
	rm -rf "$work/set"
	write --rate 30000
	# shellcheck disable=SC2086
	record --rotate-size 1M $how
	check "${how:-plain}: files follow each other" gets_files 4
	end
	check "${how:-plain}: the recorder ends in order" test $? -eq 0
	stop_writers
	check "${how:-plain}: each file verifies" verify_all
	$chain $(files) >"$work/chain"
	tail -n 1 "$work/chain"
	check "${how:-plain}: no event is in two files" [ "$(sum twice)" = 0 ]
	check "${how:-plain}: each file says where it begins in its rings" [ "$(sum claimed)$(sum in_files)" = 00 ]
	check "${how:-plain}: each file adds up" each_adds_up
	check "${how:-plain}: all files together have what was attempted" all_attempted
done
check "the numbers have no gap" [ "$(files | head -n 1)$(files | tail -n 1)" = \
	"$work/set/00000001.xvt$work/set/$(printf %08d "$(files | wc -l)").xvt" ]
check "a file alone is a trace" [ "$("$xvtrace" report "$(files | sed -n 3p)" | wc -l)" -gt 1000 ]

# -- rings that run full while files change

rm -rf "$work/set"
write
record --rotate-time 0.1
lost() { rings | jq -e 'all(.[]; .lost_by.full > 1000)' >/dev/null; }
check "rings run full" poll lost
check "files follow each other" gets_files 4
stop_writers
end
check "each file verifies, with its losses" verify_all
check "each file adds up" each_adds_up
check "all files together have what was attempted" all_attempted
check "and what was lost" all_lost

# -- a flight recorder's rings

rm -rf "$work/set"
write --rate 30000
record --mode overwrite --rotate-size 1M
check "overwrite: files follow each other" gets_files 3
freeze $recorder
begin=$(rings | jq 'map(.attempted) | add')
further() { [ "$(rings | jq 'map(.attempted) | add')" -gt $((begin + 80000)) ]; }
check "overwrite: writers lap the recorder" poll further
kill -CONT $recorder
check "overwrite: it goes on" gets_files 6
end
stop_writers
check "overwrite: each file verifies" verify_all
$chain $(files) >"$work/chain"
tail -n 1 "$work/chain"
check "overwrite: nothing comes twice" [ "$(sum twice)" = 0 ]
check "overwrite: laps are told" [ "$(sum told)" -gt 1000 ]
check "overwrite: to the event" [ $(($(sum missing) + $(sum holes))) = "$(sum told)" ]
check "overwrite: all files together have what was attempted" all_attempted

# -- killed at any moment

rm -rf "$work/set"
# No ring runs full: the counters of that are told again by the next recorder.
size=64M write --rate 20000
for i in 1 2 3 4; do
	record --rotate-time 0.0$((3 + i))
	check "killed: recorder $i has its files" gets_files $((3 * i))
	kill -KILL $recorder
	wait $recorder 2>/dev/null
done
record --rotate-size 1M
check "killed: the numbers go on" gets_files 13
end
stop_writers
check "killed: each file verifies" verify_all
$chain $(files) >"$work/chain"
tail -n 1 "$work/chain"
check "killed: nothing comes twice" [ "$(sum twice)" = 0 ]
check "killed: no region says more than the files have" [ "$(sum claimed)" = 0 ]
full=$(rings | jq '[.[].lost_by.full] | add') # which are not in the files either
check "killed: what is missing is told, to the event" [ $(($(sum missing) + $(sum holes))) = $(($(sum told) - $(sum in_files) + full)) ]

# -- bounded space

rm -rf "$work/set"
mkdir "$work/set"
echo "notes of a user" >"$work/set/00000001.xvt"
echo "more of them" >"$work/set/notes.xvt"
# A recorder that was held up writes all that the rings have into one file: they are small beside it.
size=256K write --rate 20000
record --rotate-size 1M --keep-size 4M
removed() {
	measure "$work/set"
	"$xvtrace" status --json --control "$work/control" 2>/dev/null | jq -e ".recorders[0].files_removed >= $1" >/dev/null
}
check "keep: the oldest files are removed" poll removed 4
number() { find "$work/set" -name '0*.xvt' | sort | sed -n "$1s/.*0\\([1-9][0-9]*\\).xvt/\\1/p"; }
before=$(number '$')
kill -USR2 $recorder
next() { [ "$(number '$')" -gt "$before" ]; }
check "keep: SIGUSR2 begins the next file" poll next
end
stop_writers
check "keep: the folder never had much more ($most)" test "$most" -gt 0 -a "$most" -lt $((5 << 20))
check "keep: what is no trace stays" [ "$(cat "$work/set/00000001.xvt" "$work/set/notes.xvt")" = "$(printf "notes of a user\nmore of them")" ]
rm "$work/set/00000001.xvt"
check "keep: what is kept has no gap" "$xvtrace" verify -q "$work/set"

# -- misuse

refused() {
	local words=$1
	shift
	"$xvtrace" record -q -r g="$work/g" --duration 0.1 "$@" 2>"$work/err" && return 1
	grep -q -- "$words" "$work/err" && return
	cat "$work/err"
	return 1
}
record
status() { "$xvtrace" status --json --control "$work/control" 2>/dev/null | jq -e "$1" >/dev/null; }
check "status has the present file" poll status '.recorders[0].file | test("/set//?[0-9]{8}.xvt$")'
check "one recorder for a folder" refused "another recorder writes into this folder" -o "$work/set/"
end
check "one file is not rotated" refused "give a folder, like -o $work/x.xvt.d/" -o "$work/x.xvt" --rotate-size 1M
check "nothing is removed around one file" refused "give a folder, like -o $work/x.xvt.d/" -o "$work/x.xvt" --keep-time 5
check "a file is a part of what is kept" refused "it needs --rotate-size, of at most a third" -o "$work/set" --keep-size 4M --rotate-size 3M
check "nor is a small one" refused "it is at least 1M" -o "$work/set" --rotate-size 1K
check "a folder that cannot be made is named" refused "$work/no/set/: cannot write it: the folder does not exist" -o "$work/no/set/"
[ $failures -eq 0 ]
