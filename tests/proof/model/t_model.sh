#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The models: spin goes through all their states on two machines (arm64-like: weak; x86-like: tso).
# As they stand nothing may go wrong; without any one of the things that a comment names (-DNO_...)
# spin must find what goes wrong. What only the weak machine needs must be superfluous on tso: there
# it costs no instruction either.
#   t_model.sh          bounds that take a minute
#   t_model.sh full     larger ones (make proof)
set -u
cd "$(dirname "$0")/../../.."
BUILD=${BUILD:-build}
mkdir -p "$BUILD/tests/proof/model"
work=$(cd "$BUILD" && pwd)/tests/proof/model
here=$PWD/tests/proof/model
bounds=${1:-short}
for tool in spin gcc; do
	if ! command -v $tool >/dev/null; then
		echo "skip - models of the ring under weak memory: no $tool (Debian package $tool)"
		exit 77
	fi
done

# run MODEL MACHINE EXPECT DEFINES...: EXPECT is holds or fails
run() {
	local model=$1 machine=$2 expect=$3 dir name out errors states why level=-O1
	shift 3
	name="$model on $machine${*:+ }${*/#-D/}"
	dir=$work/$(echo "$name" | tr -c 'A-Za-z0-9\n' _)
	mkdir -p "$dir"
	cd "$dir" || return 1
	rm -f ./*
	# Those of few states are compiled for longer than they run.
	case $bounds:$model in short:commit | short:overwrite | short:message) level=-O0 ;; esac
	if ! { spin -a $([ "$machine" = tso ] && echo -DTSO) "$@" "$here/$model.pml" >log 2>&1 &&
		gcc $level -w -DSAFETY -DCOLLAPSE -DNOFAIR -DVECTORSZ=4096 -DMEMLIM=6000 -o pan pan.c >>log 2>&1; }; then
		echo "not ok - $name: does not build"
		tail -n 5 log
		return 1
	fi
	./pan -m1000000 >out 2>&1
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' out)
	states=$(sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' out)
	why=$(grep -m1 '^pan:1:' out | sed 's/pan:1: //; s/ (at depth.*//')
	if [ "$expect" = holds ] && [ "$errors" = 0 ] && ! grep -q "max search depth too small\|out of memory\|memory limit" out; then
		echo "ok - $name: $states states, nothing goes wrong"
	elif [ "$expect" = fails ] && [ "$errors" = 1 ] && ! grep -q "newest.*<" <<<"$why"; then
		echo "ok - $name: goes wrong after $states states ($why)"
	else
		echo "not ok - $name: expected that it $expect; errors: $errors, states: $states $why"
		return 1
	fi
	rm -f pan pan.*
}
export -f run
export work here bounds

# model "DEFINES", then what only the weak machine needs, then what both need
list() {
	local model=$1 defines=$2 weak=$3 both=$4 m
	echo "$model weak holds $defines"
	echo "$model tso holds $defines"
	for m in $weak; do
		echo "$model weak fails $defines -DNO_$m"
		echo "$model tso holds $defines -DNO_$m"
	done
	for m in $both; do
		echo "$model weak fails $defines -DNO_$m"
		echo "$model tso fails $defines -DNO_$m"
	done
}

short() {
	list commit "" "COMMIT_RELEASE COMMIT_ACQUIRE CONS_RELEASE CONS_ACQUIRE" "PAYLOAD_BEFORE_COMMIT CLEAR_BEFORE_CONS"
	list overwrite "" "WMB RMB COMMIT_RELEASE COMMIT_ACQUIRE" "RECHECK COPY_BEFORE_RECHECK"
	list message "" "ASK_RELEASE ASK_ACQUIRE ANSWER_RELEASE ANSWER_ACQUIRE" ""
	list message "-DGENERATION" "GENERATION_RELEASE GENERATION_ACQUIRE" "GENERATION_AGAIN"
	list wake "" "" "WRITER_MB HOST_MB LAST_LOOK SECOND_LOOK"
	list idle "-DNMI_EVENTS=0 -DROUNDS=1" "NEST_RELEASE SNAPSHOT_ACQUIRE" \
		"COMMIT_BEFORE_NEST SECOND_LOOK SNAPSHOT_ORDER RESV_TEST DELTA"
	list idle "-DNMI_EVENTS=0 -DOFF" "" "SECOND_ENABLE_TEST DELTA"
}

# Three levels, more events, more rounds.
full() {
	list commit "-DEVENTS=8 -DSLOTS=3" "" ""
	list overwrite "-DEVENTS=6 -DSLOTS=2" "" ""
	list overwrite "-DEVENTS=6 -DSLOTS=3" "" ""
	list message "-DROUNDS=8" "" ""
	list message "-DGENERATION -DROUNDS=8" "" ""
	echo "wake weak holds -DEVENTS=4 -DIRQ_EVENTS=2"
	echo "wake tso holds -DEVENTS=5 -DIRQ_EVENTS=2"
	echo "idle weak holds -DNMI_EVENTS=0 -DROUNDS=2"
	echo "idle tso holds -DROUNDS=1"
	echo "idle tso holds -DNMI_EVENTS=0 -DROUNDS=3"
}

# Two at a time. What is read is in the order of the list.
{ [ "$bounds" = full ] && full; short; } | sed "s/ *$//" >"$work/list"
rm -f "$work"/result.*
n=$(wc -l <"$work/list")
nl -w1 -s' ' "$work/list" | xargs -P 2 -L 1 bash -c 'n=$1; shift; run "$@" >"$work/result.$n"' run
for i in $(seq $n); do
	cat "$work/result.$i" 2>/dev/null || echo "not ok - line $i of the list was not run"
done >"$work/results"
cat "$work/results"
awk '/^ok/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^states/) sum += $i } END { print "# " sum " states" }' "$work/results"
! grep -q '^not ok' "$work/results"
