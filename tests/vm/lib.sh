# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the system tests, after `set -u`. Runs guests in a directory of the test's own and
# reports in the lines that tests/run.sh counts.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
export BUILD=${BUILD:-build}
test_name=$(basename "$0" .sh)
VM_RUN_DIR=$BUILD/tests/run/$test_name
XVT_SHM_PREFIX=xvtrace-$$-
rm -rf "$VM_RUN_DIR"
mkdir -p "$VM_RUN_DIR"
. tests/jq.sh
. qemu/libvirt-lib.sh
vm_trap

xvtrace=$BUILD/xvtrace
work=$VM_RUN_DIR
export XVT_FORMATS_DIR=$(realpath "$work")/formats # not the cache of the user that runs the tests
failures=0

# check TEXT COMMAND...: one thing that this test shows
check() {
	local text=$1
	shift
	if "$@"; then
		echo "ok - $text"
	else
		echo "not ok - $text"
		failures=$((failures + 1))
	fi
}

# need TEXT COMMAND...: without it the rest has no meaning
need() {
	local before=$failures
	check "$@"
	[ $failures -eq "$before" ] || exit 1
}

finish() {
	[ $failures -eq 0 ]
	exit
}

# overlay SCRIPT: a directory in which tests/vm/guest/SCRIPT is the guest's work
overlay() {
	tests/vm/guest/overlay.sh "$1" "$work/overlay-$1"
	echo "$work/overlay-$1"
}

# record_start FILE ARG...: in the background, as a job that a signal reaches
record_start() {
	local file=$1
	shift
	setpriv --pdeathsig KILL -- "$xvtrace" record -q -o "$file" "$@" 2>"$file.err" &
	recorder=$!
	recorder_says=$file.err
}

# record_stop: end it and return its exit status; what it said is shown if that is not 0
record_stop() {
	local status
	kill -INT "$recorder"
	wait "$recorder"
	status=$?
	[ $status -eq 0 ] || sed "s/^/# exit status $status: /" "$recorder_says"
	return $status
}

# recorded: events of a guest are in the recorder's trace. The region's words may be those of a recorder before it.
recorded() {
	"$xvtrace" status --json 2>/dev/null | jq -e --argjson pid "$recorder" \
		'any(.recorders[]; .pid == $pid and any(.vms[]; .kind != "host" and any(.rings[].events; . > 0)))' >/dev/null
}

# check_pairs GUEST TRACE: where the hypervisor gives clock pairs they agree with the map; elsewhere there are none. The guest
# runs contexts.sh.
check_pairs() {
	local error
	error=$(sed -n 's/^XVT-SAY pair_error \(-\{0,1\}[0-9]*\).*/\1/p' "$(vm_log "$1")")
	check "clock pairs: the guest's module says whether its hypervisor gives them" test -n "$error"
	[ -n "$error" ] || return
	"$xvtrace" verify "$2" | grep -oE '[0-9]+ clock pairs within [0-9]+ ns' | tee "$work/pairs.txt"
	if [ "$error" = 0 ]; then
		check "clock pairs: the hypervisor's witness agrees with the map" test -s "$work/pairs.txt"
		"$BUILD/tests/tools/xvt-shift" "$1" 5000000 "$2" "$work/pairs.xvt" || exit 1
		check "clock pairs: ... and not with one that is 5 ms off" eval '"$xvtrace" verify "$work/pairs.xvt" | grep -q "says its hypervisor"'
		return
	fi
	check "clock pairs: without a hypervisor that gives them there are none" test ! -s "$work/pairs.txt"
	echo "skip - clock pairs: the guest's hypervisor says $error; it takes KVM on a host whose clock source is tsc"
}

# stat FILE JQ-FILTER: true when the filter says true
stat_says() {
	[ "$("$xvtrace" stat --json "$1" | jq "$2")" = true ]
}

# The identity, per ring and in the sums. Overwritten is among the losses.
adds_up() {
	stat_says "$1" '[., (.vms[].rings[])] | all(.attempted == .events + .lost + .discarded + .in_flight)'
}

# numbers FILE VM CPU: the numbers of xvt-mark's markers on one ring, in the trace's order
numbers() {
	"$xvtrace" report "$1" --vm "$2" --event print |
		awk -v ring="$2:$3" '$2 == ring && match($0, /xvt-seq [0-9]+ [0-9]+/) { split(substr($0, RSTART, RLENGTH), f, " "); print f[3] }'
}

# contiguous: numbers on stdin go up by one from the first; prints first and last
contiguous() {
	awk 'NR == 1 { first = $1 } NR > 1 && $1 != last + 1 { print "hole or duplicate: " last " then " $1; bad = 1; exit } { last = $1 }
		END { if (!NR) { print "no numbers"; exit 1 } if (!bad) print first, last; exit bad }'
}

# raw FILE: each thing of the trace on a line, kept
raw() {
	"$BUILD/tests/tools/xvt-raw" "$1" >"${1%.xvt}.raw"
}

# repeats FILE [rewound]: an event is the same event when its ring, raw clock and content are: the number of repeats. Where the
# guest was put back, its clock and its tasks began again at the same moment, and two futures may have one such event in common,
# as a timer's at the same tick. What is read twice comes in pages: two in a row.
repeats() {
	awk -v rewound="${2-}" '$1 == "event" && $6 != 0 {
			key = $6 SUBSEP $8 SUBSEP $9
			if (seen[$4, key, rewound ? before[$4] : ""]++) n++
			before[$4] = key
		}
		END { print n + 0; exit n > 0 }' "$1"
}

# figure FILE NAME: the last NAME=NUMBER in what a judge printed
figure() {
	sed -n "s/.*\b$2=\([0-9]*\).*/\1/p" "$1" | tail -n 1
}

# zero FILE NAME...: each of these figures is there, and 0
zero() {
	local file=$1 name
	shift
	for name in "$@"; do
		[ "$(figure "$file" "$name")" = 0 ] || return
	done
}
