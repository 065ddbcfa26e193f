#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# packages_inside.sh DIR KERNEL...: runs in the root of a system of its own, as its root. Installs the
# packages of DIR, uses each as its user would, builds the module for each KERNEL whose headers are
# there, and removes them again. Changes the system: only for one that is thrown away.
set -u
dir=$1
shift
work=$(mktemp -d)
failures=0
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive MANPAGER=cat MANROFFOPT= PATH=/usr/sbin:/usr/bin:/sbin:/bin

check() {
	local text=$1
	shift
	if "$@" >"$work/out" 2>&1; then echo "ok - $text"; else
		tail -n 20 "$work/out" | sed 's/^/# /'
		echo "not ok - $text"
		failures=$((failures + 1))
	fi
}

# What a system has that a package may leave: files, and dkms's own state.
everything() {
	find /etc /usr /lib /boot /var/lib/dkms /opt /srv -xdev ! -type d 2>/dev/null |
		grep -vE '^/(etc/ld\.so\.cache|usr/share/info/dir|lib/modules/[^/]*/modules\.|usr/lib/modules/[^/]*/modules\.|usr/share/mime/|var/lib/dkms/mok\.)|__pycache__' | sort
}

debs=("$dir"/*.deb)
kernels=("$@")
if [ ${#kernels[@]} -eq 0 ]; then
	mapfile -t debs < <(printf '%s\n' "${debs[@]}" | grep -v dkms)
fi
names=$(for deb in "${debs[@]}"; do dpkg-deb -f "$deb" Package; done)
everything >"$work/before"
check "install: $(echo $names)" dpkg -i "${debs[@]}"

# The host's tools.
recorded() {
	xvtrace region create "$work/region" --size 1M --rings 2 &&
		xvtrace record -q -o "$work/t.xvt" --duration 0.2 -r "$work/[r]egion" &&
		xvtrace verify "$work/t.xvt" && xvtrace stat "$work/t.xvt"
}
check "xvtrace records, checks and counts" recorded
check "man xvtrace-record" eval 'man xvtrace-record | grep -qE -e "^ *-r, --region "'
# pages: each command that the program lists has one
pages() {
	local command commands
	commands=$(xvtrace --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
	[ "$(echo "$commands" | wc -w)" -ge 16 ] || return
	for command in $commands; do
		man -w "xvtrace-$command" >/dev/null || return
	done
}
check "each command has its page" pages
check "man 7 xvtrace" eval 'man 7 xvtrace | grep -q "FIRST STEPS"'
check "man xvt-guest" eval 'man xvt-guest | grep -q printk-formats'
check "man 8 xvtrace-attach" eval 'man 8 xvtrace-attach | grep -q "running machine"'
check "man 8 xvtrace-daemon" eval 'man 8 xvtrace-daemon | grep -q "rotate-size"'
check "the service is there, and not enabled" eval '[ -e /usr/lib/systemd/system/xvtrace.service ] && [ ! -e /etc/systemd/system/multi-user.target.wants/xvtrace.service ]'
check "apropos knows the pages, after mandb has read them" eval 'mandb -q && apropos -e xvt-format xvt-region xvtrace'
check "xvt-guest says what it needs" eval 'xvt-guest --help | grep -q formats'

# completed LINE: what bash offers, after it has loaded the completion by the command's name
completed() {
	bash --norc -c '. /usr/share/bash-completion/bash_completion && _completion_loader xvtrace
		COMP_LINE=$0 COMP_POINT=${#0}; read -ra COMP_WORDS <<<"$0"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		compopt() { :; }
		_xvtrace xvtrace "${COMP_WORDS[COMP_CWORD]}" "" && echo ${COMPREPLY[@]}' "$1"
}
check "bash completes a command" eval '[ "$(completed "xvtrace doc")" = doctor ]'
check "and an option" eval '[ "$(completed "xvtrace record --reg")" = --region ]'

# The libraries, by pkg-config, where there is a compiler.
if command -v cc >/dev/null && command -v pkg-config >/dev/null; then
	check "a reader is built" cc -Wall -Werror -o "$work/reader" /usr/share/doc/xvtrace/examples/reader.c \
		$(pkg-config --cflags --libs libxvtrace)
	check "and reads" "$work/reader" "$work/t.xvt" 1000
	echo '#include <xvt.h>
int main(int c, char **v) { return xvt_open(v[c - 1], 0) ? 1 : xvt_event(XVT_USER_ID, "", 0) < -200; }' >"$work/writer.c"
	check "a writer is built" cc -Wall -Werror -o "$work/writer" "$work/writer.c" $(pkg-config --cflags --libs libxvt)
	check "and opens a region" "$work/writer" "$work/region"
else
	echo "skip - programs are built with the libraries: cc or pkg-config is missing"
fi

# The module: for each kernel, by dkms, as apt would at the kernel's installation.
version=$(dpkg-query -W -f '${Version}' xvtrace)
built() {
	dkms install -m xvtrace -v "$version" -k "$1" || dkms status -m xvtrace -v "$version" -k "$1" | grep -q ': installed'
}
modinfo_says() { modinfo -k "$1" xvtrace >"$work/modinfo" && grep -q "$2" "$work/modinfo"; }
for kernel in ${kernels[@]+"${kernels[@]}"}; do
	check "dkms builds and installs xvtrace for $kernel" built "$kernel"
	check "modinfo finds it, for that kernel" modinfo_says "$kernel" "^vermagic: *$kernel "
	! command -v openssl >/dev/null ||
		check "it is signed by dkms's key, as docs/secure-boot.md says" \
			[ "$(modinfo -k "$kernel" -F signer xvtrace)" = "DKMS module signing key" ]
	check "udev loads it for an ivshmem device" modinfo_says "$kernel" '^alias: *pci:v00001AF4d00001110sv\*sd\*bc\*sc\*i\*$'
	check "and so depmod says" \
		grep -q 'pci:v00001AF4d00001110.* xvtrace$' "/lib/modules/$kernel/modules.alias"
done

# The service at upgrade, removal and purge, where a systemd runs: this one notes what it is asked.
mv /usr/bin/systemctl "$work/systemctl" 2>/dev/null
# An image may forbid all services.
mv /usr/sbin/policy-rc.d "$work/policy" 2>/dev/null
printf '#!/bin/sh\necho "$*" >>%s\n' "$work/asked" >/usr/bin/systemctl && chmod 755 /usr/bin/systemctl
[ -d /run/systemd/system ] || mkdir -p /run/systemd/system
asked() { grep -qE -- "(^| )$1\$" "$work/asked"; }
: >"$work/asked"
check "upgrade" dpkg -i "${debs[@]}"
check "systemd reads the units again" asked daemon-reload
check "a service that runs is restarted" asked 'try-restart xvtrace.service'
check "and none is started, enabled or stopped" eval '! grep -E " (start|enable|stop|restart|disable)( |$)" "$work/asked"'
# As after systemctl enable, with a configuration and traces.
mkdir -p /etc/systemd/system/multi-user.target.wants /var/lib/xvtrace
for unit in xvtrace.service xvtrace-doorbell@web.service; do
	ln -s /usr/lib/systemd/system/${unit/web/} /etc/systemd/system/multi-user.target.wants/$unit
done
check "the folder of the configuration is there" cp /usr/share/doc/xvtrace/examples/xvtrace.conf /etc/xvtrace/
touch /var/lib/xvtrace/00000001.xvt
: >"$work/asked"
check "remove" dpkg --remove xvtrace
check "the service is stopped" asked 'stop xvtrace.service'
check "traces and configuration are kept" test -e /var/lib/xvtrace/00000001.xvt -a -e /etc/xvtrace/xvtrace.conf

check "purge" dpkg --purge $names
check "traces and configuration are removed" test ! -e /var/lib/xvtrace -a ! -e /etc/xvtrace
rm /usr/bin/systemctl
[ ! -e "$work/systemctl" ] || mv "$work/systemctl" /usr/bin/systemctl
[ ! -e "$work/policy" ] || mv "$work/policy" /usr/sbin/policy-rc.d
everything >"$work/after"
check "nothing is left" diff "$work/before" "$work/after"
check "and dpkg knows none of them" eval '[ -z "$(dpkg-query -W -f "\${Package} \${Status}\n" $names 2>/dev/null | grep -v not-installed)" ]'
rm -rf "$work"
[ $failures -eq 0 ]
