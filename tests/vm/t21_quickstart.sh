#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The commands of docs/quickstart.md, as printed there: those of the guest in a guest, those of the host
# beside it. Regions lie in a folder of the test's own, and recordings are shorter.
set -u
XVT_SHM_DIR=/dev/shm/xvtrace-t18-$$
export XVTRACE_SHM_DIR=$XVT_SHM_DIR
mkdir "$XVT_SHM_DIR" || exit 1
. "$(dirname "$0")/lib.sh"
XVT_SHM_PREFIX=xvtrace-
trap 'vm_cleanup; rm -rf "$XVT_SHM_DIR"' EXIT
page=$PWD/docs/quickstart.md

# section N WHERE: the commands of section N for `guest` or `host`
section() {
	awk -v n="## $1." '/^## / { on = index($0, n) == 1 } on' "$page" | sed -n "s/^$2# //p"
}

# A prefix of its own for what a user would install.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install BUILD="$BUILD" PREFIX="$(realpath "$work")/prefix" >"$work/install.log" 2>&1 ||
	exit 1
export PATH=$(realpath "$work")/prefix/bin:$PATH PKG_CONFIG_PATH=$(realpath "$work")/prefix/lib/pkgconfig

# The guest does what the page says, then something to be seen, until the recorders are done.
mkdir "$work/overlay"
cp tests/vm/guest/lib.sh "$work/overlay/lib.sh"
{
	# The folder comes with the package.
	echo '#!/bin/sh
. /lib.sh
mkdir -p /etc/xvtrace'
	section 2 guest
	section 3 guest
	echo 'say ready
while :; do xvt-load 1; done'
} >"$work/overlay/run.sh"
chmod +x "$work/overlay/run.sh"
need "a guest starts, without the module" vm_start g1 --vcpus 2 --region-size 16M --mod none --overlay "$work/overlay"
need "it does what sections 2 and 3 say" vm_wait_log g1 "^XVT-SAY ready" 600
check "without a complaint" eval '! grep -E "XVT-GUEST-ERROR|not found|modprobe:|xvt-guest:" "$(vm_log g1)"'

mkdir "$work/here"
cd "$work/here" || exit 1
typed=0
for n in 1 2 3 4; do
	while IFS= read -r command; do
		typed=$((typed + 1))
		command=${command//\/dev\/shm\//$XVT_SHM_DIR/}
		eval "${command/--duration 10/--duration 1}" >out 2>err
		status=$?
		[ "$command" != "xvtrace doctor" ] || [ $status -ne 1 ] || status=0 # it may find something
		case $command in
		"xvtrace record"* | "xvtrace region create"* | *"> prog.c" | "cc "* | "XVT_REGION="*) echo "it has no output" >out ;;
		esac
		check "$command" [ $status -eq 0 -a -s out ]
		[ $status -eq 0 ] || tail -n 5 err
	done < <(section $n host)
done
check "the page has commands" [ $typed -ge 12 ]
check "section 2 recorded the machine under its name" eval '[ "$(xvtrace stat --json xvtrace.xvt | jq -r ".vms[0].name")" = g1 ]'
check "with events of all that it switched on" eval 'xvtrace report g1.xvt -s | grep -q sched: && xvtrace report g1.xvt -s | grep -q timer:'
check "section 4 recorded each step of the program" eval '[ "$(xvtrace report prog.xvt | grep -c "step [0-9]*$")" -gt 1000 ]'
finish
