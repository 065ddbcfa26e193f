#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The commands of docs/tutorial.md, as printed there, on a trace of the demo: each succeeds, and says something.
set -u
. "$(dirname "$0")/lib.sh"

here=$PWD
build=$work/build-demo
mkdir -p "$build"
for part in xvtrace guest; do
	ln -s "$(realpath "$xvtrace" | sed 's,/xvtrace$,,')/$part" "$build/$part"
done
need "the demo runs" eval 'BUILD=$build bash tests/demo.sh >"$work/demo.log" 2>&1 || ! tail -20 "$work/demo.log"'
mkdir "$work/reader"
mv "$build/demo/trace.xvt" "$work/reader/trace.xvt"
PATH=$(realpath "$build"):$PATH
cd "$work/reader" || exit 1

mapfile -t commands < <(sed -n 's/^\$ //p' "$here/docs/tutorial.md")
check "the page has commands" test ${#commands[@]} -gt 15
host=$(xvtrace stat --json trace.xvt | jq '[.vms[] | select(.kind == "host")] | length')
[ "$host" = 1 ] || echo "skip - commands about the host: the trace has none, because tracefs cannot be used here"
for command in "${commands[@]}"; do
	[ "$host" = 1 ] || [[ $command != *host* && $command != stall=* ]] || continue
	# In this shell: later commands use the variables of earlier ones.
	eval "$command" >out 2>err
	status=$?
	case $command in
	*"=\$("*) name=${command%%=*} && printf '%s\n' "${!name}" >out ;;
	"xvtrace export"*" - |"*) ;;
	"xvtrace export"*) echo "it has no output" >out ;;
	esac
	check "$command" test $status -eq 0 -a -s out
	[ $status -eq 0 ] || head -5 err
	! grep -q '^xvtrace: ' err || grep -q '^xvtrace: note: ' err || check "it warns of nothing" eval '! cat err'
done
check "the message of section 3 has its four ends" eval '
	[ "$(xvtrace report trace.xvt -e print --filter '"'buf ~ \"xvt-p?ng*600\"'"' | grep -c " 600$")" -eq 4 ]'
cd "$here" || exit 1
finish
