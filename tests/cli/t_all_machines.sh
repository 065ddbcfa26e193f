#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt
# shellcheck disable=SC2317
# Machines that are found: `record` with nothing behind it, patterns of -r and -d, `guests`, and the
# trace that moves to .old. Domains are those of libvirt's own test driver.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

# The regions of this test only, and no libvirt but the one that is named.
export XVTRACE_SHM_DIR=$work/shm XVTRACE_RUN_DIR=$work/run
export LIBVIRT_DEFAULT_URI="qemu+unix:///system?socket=$work/none"
mkdir "$XVTRACE_SHM_DIR" "$XVTRACE_RUN_DIR"
shm=$XVTRACE_SHM_DIR
program=$(realpath "$xvtrace")

# machine NAME: a region with a writer, which ends with the test
machine() {
	"$xvtrace" region create "$shm/xvtrace-$1" --size 256K --rings 1 || exit 1
	exec {fd}<>"$shm/xvtrace-$1" # as a VMM has it open
}

# record_here ARG...: in $work, for a moment
record_here() {
	(cd "$work" && timeout 60 "$program" record -q --duration 0.1 --join-timeout 0 "$@") >"$work/out" 2>"$work/err"
	rc=$?
}

# machines FILE NAME...: the trace has these
machines() {
	local file=$1
	shift
	[ "$("$xvtrace" stat --json "$file" | jq -r '[.vms[].name] | sort | join(" ")')" = "$*" ] && return
	"$xvtrace" stat "$file"
	return 1
}

lines() { test "$(wc -l <"$work/err")" -eq "$1"; }

record_here
check "nothing to record: exit 1" test $rc -eq 1
check "nothing to record: one line says what to do" eval 'lines 1 && grep -q "no machine of this host can be recorded.*docs/guest.md" "$work/err"'
check "nothing to record: no file is made" test ! -e "$work/xvtrace.xvt"

machine a
machine b
"$xvtrace" region create "$shm/xvtrace-left" --size 256K --rings 1 || exit 1
printf 'not a region' >"$shm/xvtrace-bad"
truncate -s 64K "$shm/xvtrace-bad" "$shm/xvtrace-new"
exec {bad}<>"$shm/xvtrace-bad"
"$xvtrace" region create "$work/elsewhere" --size 256K --rings 1 || exit 1
exec {elsewhere}<>"$work/elsewhere"
ln -s "$work/elsewhere" "$shm/xvtrace-link"
record_here
check "all machines: exit 0 beside a bad region" test $rc -eq 0
check "all machines: those with a writer are in xvtrace.xvt" machines "$work/xvtrace.xvt" a b
check "all machines: the bad region is one warning" eval 'test "$(grep -c xvtrace-bad "$work/err")" -eq 1 && grep -q "xvtrace-bad: warning: left out: .*not an xvtrace region" "$work/err"'
check "all machines: regions without a writer are one warning" eval 'grep -q "warning: left out with others like it, because no process" "$work/err" && lines 2'
check "all machines: no .old without an older trace" test ! -e "$work/xvtrace.xvt.old"

sum() { sha256sum <"$1"; }
first=$(sum "$work/xvtrace.xvt")
record_here
check "the older trace moves to .old" test "$(sum "$work/xvtrace.xvt.old")" = "$first"
second=$(sum "$work/xvtrace.xvt")
record_here --control "$work/no/socket"
check "a failure: exit 1" test $rc -eq 1
check "a failure leaves both traces as they were" test "$(sum "$work/xvtrace.xvt") $(sum "$work/xvtrace.xvt.old")" = "$second $first"
rm "$work/xvtrace.xvt.old"
record_here --control "$work/no/socket"
check "a failure makes no .old" test "$(sum "$work/xvtrace.xvt")" = "$second" -a ! -e "$work/xvtrace.xvt.old"
record_here -o "$work/xvtrace.xvt"
check "-o replaces" test ! -e "$work/xvtrace.xvt.old"

# --- patterns
record_here -r "$shm/xvtrace-[ab]" -r "$shm/*-a" -r x="$shm/xvtrace-left"
check "-r with a pattern, again and with a name" machines "$work/xvtrace.xvt" a b x
record_here -r "$shm/xvtrace-b*"
check "-r with a pattern: a bad region is a warning" eval 'machines "$work/xvtrace.xvt" b && lines 1 && grep -q "warning: left out" "$work/err"'
record_here -r "$shm/xvtrace-a"
check "-r with a path alone" machines "$work/xvtrace.xvt" a
record_here -r "$shm/xvtrace-z*"
check "-r with a pattern that matches nothing" eval 'test $rc -eq 1 && lines 1 && grep -q "no file matches" "$work/err"'
record_here -r "$shm/xvtrace-bad*"
check "-r with a pattern that matches only a bad one" eval 'test $rc -eq 1 && grep -q "none of the files" "$work/err"'
record_here -r word
check "-r with a word is no path" eval 'test $rc -eq 2 && grep -q "NAME=PATH" "$work/err"'
mkdir "$work/other"
cp "$shm/xvtrace-a" "$work/other/a"
record_here -r a="$work/other/a" -r "$shm/xvtrace-a*"
check "two regions of one name: the one that was found is left out" eval 'machines "$work/xvtrace.xvt" a && grep -q "xvtrace-a: warning: left out: another machine is called a" "$work/err"'

# --- domains
domain() {
	echo "<domain type='test'><name>$1</name><uuid>$2</uuid><memory>8192</memory><vcpu>1</vcpu><os><type>hvm</type></os><devices>$3</devices></domain>"
}
device() { echo "<shmem name='xvtrace-$1'><model type='ivshmem-plain'/><size unit='M'>1</size></shmem>"; }
{
	echo '<node>'
	domain web-1 6695eb01-f6a4-8304-79aa-97f2502e1931 "$(device a)"
	domain web-2 6695eb01-f6a4-8304-79aa-97f2502e1932 "$(device b)"
	domain bare 6695eb01-f6a4-8304-79aa-97f2502e1933 ""
	echo '</node>'
} >"$work/node.xml"
uri=test://$work/node.xml
record_here -c "$uri"
check "all machines: a domain's region is recorded once, by the domain's name" machines "$work/xvtrace.xvt" web-1 web-2
record_here -c "$uri" -d 'web-*'
check "-d with a pattern" machines "$work/xvtrace.xvt" web-1 web-2
record_here -c "$uri" -d 6695eb01-f6a4-8304-79aa-97f2502e1932
check "-d with a UUID" machines "$work/xvtrace.xvt" web-2
record_here -c "$uri" -d '*1931' -d web-2
check "-d with a pattern of UUIDs, and again" machines "$work/xvtrace.xvt" web-1 web-2
record_here -c "$uri" -d web-2 -d 6695eb01-f6a4-8304-79aa-97f2502e1932
check "-d: one domain by name and UUID is an error" eval 'test $rc -eq 2 && grep -q "^xvtrace: web-2: two machines" "$work/err"'
record_here -c "$uri" -d '*'
check "-d with a pattern: a domain without a region is a warning" eval 'machines "$work/xvtrace.xvt" web-1 web-2 && grep -q "bare: warning: left out: it has no <shmem" "$work/err"'
record_here -c "$uri" -d 'x*'
check "-d with a pattern that matches nothing" eval 'test $rc -eq 1 && lines 1 && grep -q "no running domain that matches" "$work/err"'
record_here -c "$LIBVIRT_DEFAULT_URI"
check "a libvirt that is named and does not answer is an error" eval 'test $rc -eq 1 && lines 1 && grep -q "cannot connect to libvirt" "$work/err"'

# --- guests
guests() { "$xvtrace" guests --json "$@" | jq -e "$filter" >/dev/null; }
"$xvtrace" guests --json -c "$uri" | jq -e '.machines |= sort_by(.domain | not)' >"$work/guests"
check "guests: domains, then the regions of other machines" test "$(jq -r '[.machines[].name] | sort | join(" ")' "$work/guests")" = "bad bare left new web-1 web-2"
check "guests: what each has" eval 'jq -e "(.machines | map({(.name): .}) | add) as \$m | \$m.bare.region == null and \$m[\"web-1\"].rings == 1 and \$m[\"web-1\"].ring_bytes >= 131072 and \$m[\"web-1\"].module == \"blank\" and
	\$m[\"web-1\"].uuid == \"6695eb01-f6a4-8304-79aa-97f2502e1931\" and \$m.new.module == \"none\" and (\$m.left | .in_use | not) and \$m[\"web-2\"].problem == null and
	(\$m.bad.problem | contains(\"not an xvtrace region\"))" "$work/guests" >/dev/null'
check "guests: without a doorbell they are polled" eval 'jq -e "[.machines[].doorbell] == [null, null, null, null, null, null]" "$work/guests" >/dev/null && "$xvtrace" guests -c "$uri" | grep -q "^web-1 .*/xvtrace-a  polled\$" && "$xvtrace" guests -c "$uri" | grep -q "^bare .* -  -  -\$"'
check "guests: the table has a line for each" eval '"$xvtrace" guests -c "$uri" | grep -c "^[a-z]" | grep -qx 6'
"$xvtrace" record -q -o "$work/t.xvt" -r a="$shm/xvtrace-a" --join-timeout 0 &
recorder=$!
pids+=($recorder)
filter=".machines[] | select(.name == \"a\").recorder == $recorder"
check "guests: the recorder's pid" poll guests
kill -INT $recorder
wait $recorder
filter='.machines[] | select(.name == "a").recorder == null'
check "guests: none after its end" guests
# A machine of which the ring of its kernel is read: of a domain without a region, and of no domain.
truncate -s 1M "$shm/kernel-ring"
(cd "$shm" && exec "$program" record -q -o "$work/ring.xvt" -r bare=ftrace:kernel-ring@4096 -r lone="ftrace:$shm/kernel-ring@8K" --join-timeout 0 2>/dev/null) &
recorder=$!
pids+=($recorder)
filter="(.machines | map({(.name): .}) | add) as \$m | all(\$m.bare, \$m.lone; .way == \"ftrace\" and .region == null and .ring_file == \"$shm/kernel-ring\" and .recorder == $recorder and .problem == null and .names_of == null) and
	\$m.bare.domain and (\$m.lone.domain | not) and \$m.new.way == null"
check "guests: the machines whose kernel's ring is read" poll guests -c "$uri"
check "guests: the table says so" eval '"$xvtrace" guests -c "$uri" | grep -q "^bare  *domain ftrace .* $recorder  $shm/kernel-ring  -\$"'
check "guests: their events have no names" eval '"$xvtrace" guests -c "$uri" --events | grep -q "^lone: its events are not known: the ring of its kernel has no formats"'
kill -INT $recorder
wait $recorder
filter='all(.machines[]; .way != "ftrace")'
check "guests: none after its end" guests -c "$uri"
# Paths of a recorder begin in its own folder.
(cd "$shm" && exec "$program" record -q -o "$work/set/" -r a=xvtrace-a -r b="$shm/xvtrace-b" --flight-recorder a --join-timeout 0 2>/dev/null) &
recorder=$!
pids+=($recorder)
filter="(.machines | map({(.name): .}) | add) as \$m | \$m.a.armed_by == $recorder and \$m.a.recorder == null and \$m.b.recorder == $recorder and \$m.b.armed_by == null"
check "guests: the recorder that keeps one armed" poll guests
check "guests: the table says so" eval '"$xvtrace" guests | grep -q "^a .* $recorder armed  $shm/xvtrace-a  polled\$"'
kill -INT $recorder
wait $recorder
filter='all(.machines[]; .recorder == null and .armed_by == null)'
check "guests: none after its end" guests
filter='.libvirt_problem | contains("cannot connect")'
check "guests: without libvirt the regions alone, and why" guests
check "guests: a libvirt that is named must answer" eval '! "$xvtrace" guests -c "$LIBVIRT_DEFAULT_URI" >/dev/null 2>"$work/err" && lines 1'
escape=$'\e'
name="${escape}[31mred"
cp "$shm/xvtrace-a" "$shm/xvtrace-$name"
exec {red}<>"$shm/xvtrace-$name"
check "guests: a file's name is escaped" eval '! "$xvtrace" guests | grep -q "$escape"'
record_here
check "record: a file whose name is no name is left out" eval 'grep -q "left out: its name is no name" "$work/err" && ! grep -q "$escape" "$work/err"'
[ $failures -eq 0 ]
