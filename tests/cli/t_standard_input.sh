#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# "-" is standard input of what reads a trace, and no file of that name; nothing writes a trace there.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVTRACE_RUN_DIR=$work/run XVTRACE_SHM_DIR=$work/shm
xvtrace=$(realpath "$xvtrace")
mkdir "$XVTRACE_RUN_DIR" "$XVTRACE_SHM_DIR" "$work/full"
"$xvtrace" region create "$work/g" --size 1M --rings 1
"$xvtrace" record -q -o "$work/t.xvt" -r g="$work/g" --join-timeout 0 -- \
	"$BUILD/xvt-emit" "$work/g" --rings 1 --count 500 >/dev/null 2>&1
cd "$work" || exit 1

# refused STATUS LINE COMMAND...: that is all that it says, and no file is made
refused() {
	local status=$1 line="xvtrace: $2" rc
	shift 2
	"$@" >out 2>err </dev/null
	rc=$?
	[ "$rc $(cat err)" = "$status $line" ] && [ ! -e ./- ] && return
	sed "s/^/# exit $rc: /" err
	return 1
}

# -- no trace is written there
why="-: standard output is for what commands print; give a file, like -o FILE.xvt, or /dev/stdout of a pipe (./- is the file of this name)"
for command in "record -r g=$work/g" "snapshot -r g=$work/g" "snapshot --when crash -r g=$work/g" "salvage $work/g" "order t.xvt"; do
	# shellcheck disable=SC2086
	check "${command%% *} -o -" refused 2 "$why" "$xvtrace" $command -o -
done
check "order of standard input into itself" refused 2 "$why" "$xvtrace" order -

# -- no folder that is given like a file, unless it has a trace
for command in "record -r g=$work/g" "snapshot -r g=$work/g" "salvage $work/g"; do
	# shellcheck disable=SC2086
	check "${command%% *} -o FOLDER" refused 2 "full: is a folder; for numbered files in it give -o full/, for one file -o full/FILE.xvt" \
		"$xvtrace" $command -o full
done
check "nothing is written into it" eval '[ -z "$(ls full)" ]'
check "a folder with a slash" "$xvtrace" record -q -o full/ -r "$work/[g]" --join-timeout 0 -- true
check "has a trace then, and needs none" "$xvtrace" record -q -o full -r "$work/[g]" --join-timeout 0 -- true
check "both are files of the set" eval '[ "$(ls full | tr "\n" " ")" = "00000001.xvt 00000002.xvt " ]'

# -- all that reads takes it, from a file and from a pipe; a file of that name is another one
cp full/00000001.xvt ./-
same() { # WAY COMMAND...: prints what it prints of the file
	local way=$1 last
	shift
	"$xvtrace" "${@/#IN/t.xvt}" >want 2>want.err
	case $way in
	file) "$xvtrace" "${@/#IN/-}" <t.xvt >got 2>got.err ;;
	pipe) cat t.xvt | "$xvtrace" "${@/#IN/-}" >got 2>got.err ;;
	esac
	last=$?
	sed -i 's|^/dev/stdin: |t.xvt: |' got
	[ $last -eq 0 ] && cmp want got && [ -s got ]
}
for way in file pipe; do
	check "stat - of a $way" same $way stat IN
	check "verify - of a $way" same $way verify IN
	check "report - of a $way" same $way report -q IN
	check "export - of a $way" same $way export --format jsonl IN -
	check "order - of a $way" eval 'rm -f ordered.xvt; cat t.xvt | "$xvtrace" order - -o ordered.xvt && "$xvtrace" verify -q ordered.xvt'
done
check "what is left of a file is no trace" eval '! (dd bs=1 count=3 of=out 2>err && "$xvtrace" stat -) <t.xvt 2>err &&
	grep -q "^xvtrace: /dev/stdin: is not an xvtrace trace" err'
check "./- is the file" eval '"$xvtrace" stat ./- >got && "$xvtrace" stat full/00000001.xvt >want && cmp got want'
check "nothing on standard input" eval '! "$xvtrace" report - </dev/null 2>err && grep -qx "xvtrace: /dev/stdin: is empty; was it ever recorded?" err'
check "standard input is closed" eval '! "$xvtrace" report - <&- 2>err && grep -qx "xvtrace: /dev/stdin: is empty; was it ever recorded?" err'
if command -v script >/dev/null; then
	check "a terminal" eval "! script -qec \"'$xvtrace' report -\" /dev/null >out </dev/null && grep -q 'standard input: is a terminal; give a trace' out"
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 711 "$work"
	chmod 600 t.xvt
	cp "$xvtrace" own
	check "a file that another user may not open, but was given" eval \
		'setpriv --reuid 65534 --regid 65534 --clear-groups ./own stat - <t.xvt >got && "$xvtrace" stat t.xvt >want && cmp got want'
fi
if unshare -m mount -t tmpfs t /mnt 2>/dev/null; then
	# The program may lie in one of these folders.
	unshare -m bash -c 'exec 9<"$2" && for d in /tmp /var/tmp; do mount -t tmpfs -o size=4k,nr_inodes=1 t $d; done 2>/dev/null
		mount -t tmpfs -o size=8k t /mnt && cat "$1" | TMPDIR=/mnt /proc/self/fd/9 stat -' - <(head -c 100000 /dev/zero) "$xvtrace" >out 2>err
	check "no room for a copy" grep -qx 'xvtrace: standard input: cannot be kept in a file, which reading takes: No space left on device; TMPDIR=FOLDER names one with more room' err
fi
[ $failures -eq 0 ]
