#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# shellcheck disable=SC2016,SC2317
# A machine on which nothing is installed yet: make setup waits for another program that holds apt's locks, and `make`
# without libraries says what to do, once.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

# -- make setup, with an apt-get that finds a lock held
mkdir "$work/bin"
cat >"$work/bin/dpkg-query" <<'END'
#!/bin/sh
exit 1
END
cat >"$work/bin/id" <<'END'
#!/bin/sh
echo 0
END
cat >"$work/bin/apt-get" <<'END'
#!/bin/sh
echo "$*" >>"$APT/calls"
case " $* " in
*" $HELD "*)
	left=$(cat "$APT/left")
	if [ "$left" -gt 0 ]; then
		echo $((left - 1)) >"$APT/left"
		echo "$WORDS" >&2
		exit 100
	fi
	;;
esac
END
chmod +x "$work/bin/"*
# setup TIMES COMMAND WORDS: that apt-get COMMAND fails so many times, with these words
setup() {
	rm -f "$work/calls"
	echo "$1" >"$work/left"
	PATH=$work/bin:$PATH APT=$work HELD=$2 WORDS=$3 XVT_SETUP_LOCK_PAUSE=0.01 tests/setup.sh >"$work/out" 2>"$work/err"
}
lists='E: Could not get lock /var/lib/apt/lists/lock. It is held by process 123 (apt-get)'
dpkg='E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 456 (unattended-upgr)'
check "nothing is held" setup 0 update ''
check "it waits for dpkg's lock by apt's own option" eval '[ "$(grep -c -- "-o DPkg::Lock::Timeout=[1-9][0-9]* install" "$work/calls")" = 1 ]'
check "no word of a lock" eval '! grep -q lock "$work/out" "$work/err"'
check "the lists are held for a while" setup 3 update "$lists"
check "it asked until they were free" eval '[ "$(grep -c update "$work/calls")" = 4 ] && grep -q install "$work/calls"'
check "it says once who holds them" eval '[ "$(grep -cx "setup: waits for apt.s lock, which another program holds: 123 (apt-get)" "$work/out")" = 1 ]'
check "dpkg's lock, beyond the option" setup 2 install "$dpkg"
check "it says who holds it" grep -q 'holds: 456 (unattended-upgr)' "$work/out"
check "another error ends it" eval '! setup 1 update "E: The repository has no Release file" && [ "$(grep -c update "$work/calls")" = 1 ]'
check "with apt's words" grep -q 'no Release file' "$work/err"
check "a lock that stays ends it" eval '! XVT_SETUP_LOCK_TIMEOUT=1 setup 1000000 update "$lists" && grep -q "held by process 123" "$work/err"'

# -- make, where no library is found
cat >"$work/bin/pkg-config" <<'END'
#!/bin/sh
exit 1
END
chmod +x "$work/bin/pkg-config"
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PATH="$work/bin:$PATH" make BUILD="$work/build" >"$work/out" 2>"$work/err"
check "make without libraries fails" test $? -eq 2
check "and names make setup, once" eval '[ "$(grep -c "make setup" "$work/err")" = 1 ] && grep -qF "missing: liburing libtraceevent libtracefs jansson; \`make setup\` (as root) installs" "$work/err"'
check "before it compiles anything" eval '! grep -q "CC " "$work/out"'
[ $failures -eq 0 ]
