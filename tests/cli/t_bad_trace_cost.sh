#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# Traces that are meant to hurt their reader, by plan: report, stat, verify and export end within
# 512 MiB and 20 s of CPU time for each million events, whatever the file is. What a compressed one
# unpacks to is not bounded by its size: there only the time for each event is.
# Here the traces are small; `make proof` has them with 100 MiB.
#   MIB=100 PLANS="late rings" ZSTD_PLANS="late" tests/cli/t_bad_trace_cost.sh
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
MIB=${MIB:-1}
make_bad=$BUILD/tests/tools/xvt-bad-trace
all=$("$make_bad" 2>&1 | sed -n 's/^plans: //p')
PLANS=${PLANS-$all}

# bounded SECONDS COMMAND...: it ends by itself, with an exit status of its own
bounded() {
	local seconds=$1 status
	shift
	(ulimit -v $((512 << 10)) -t "$seconds" -c 0 && exec "$@") >/dev/null 2>"$work/err" </dev/null
	status=$?
	if [ $status -gt 2 ] || grep -q 'annot allocate\|ut of memory' "$work/err"; then
		echo "# exit $status: $*"
		head -n 3 "$work/err" | cut -c 1-300 | sed 's/^/# /'
		return 1
	fi
}

# each_command FILE
each_command() {
	local file=$1 events seconds bad=0
	events=$("$xvtrace" stat -q --json "$file" 2>/dev/null | jq '.events // 0')
	seconds=$((20 * (1 + ${events:-0} / 1000000)))
	bounded $seconds "$xvtrace" stat "$file" || bad=1
	bounded $seconds "$xvtrace" stat --json "$file" || bad=1
	bounded $seconds "$xvtrace" report "$file" || bad=1
	bounded 20 "$xvtrace" report --vm honest -n 5 "$file" || bad=1
	bounded $seconds "$xvtrace" verify "$file" || bad=1
	bounded $seconds "$xvtrace" export --to jsonl "$file" /dev/null || bad=1
	bounded $seconds "$xvtrace" export --format perfetto "$file" /dev/null || bad=1
	rm -rf "$work/ctf"
	bounded $seconds "$xvtrace" export --to ctf "$file" "$work/ctf" || bad=1
	rm -rf "$work/ctf"
	return $bad
}

# one PLAN [zstd]
one() {
	"$make_bad" "$1" "$MIB" "$work/bad.xvt" ${2:+"$2"} || exit 1
	check "$1${2:+, compressed}" each_command "$work/bad.xvt"
}
for plan in $PLANS; do one "$plan"; done
for plan in ${ZSTD_PLANS-escapes overlap}; do one "$plan" zstd; done
[ $failures -eq 0 ]
