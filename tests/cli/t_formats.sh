#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# xvtrace formats: takes a copy of what a kernel says, as a folder and as an archive of tar's, lists
# and removes it; refuses what does not say which kernel it is of, and what others may have written.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT
export XVT_FORMATS_DIR=$work/cache
id=00112233445566778899aabbccddeeff01234567

# copy_of FOLDER RELEASE ID: what a guest's kernel says, with an event of a module
copy_of() {
	local event
	mkdir -p "$1"/events/{sched/sched_switch,kvm/kvm_exit,ftrace/print}
	for event in sched/sched_switch:310 kvm/kvm_exit:2000 ftrace/print:5; do
		printf 'name: %s\nID: %s\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\nprint fmt: ""\n' \
			"$(basename "${event%:*}")" "${event#*:}" >"$1/events/${event%:*}/format"
		echo 0 >"$1/events/${event%:*}/enable"
	done
	{ printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0' && printf '%b' "$(sed 's/../\\x&/g' <<<"$3")"; } >"$1/notes"
	echo "Linux $2 #1 SMP Debian x86_64" >"$1/uname"
	printf '0000000000000000 T __traceiter_sched_switch\n0000000000000000 t __traceiter_kvm_exit\t[kvm]\n' >"$1/kallsyms"
}
copy_of "$work/k" 6.12.1-a $id
tar -C "$work" -cf "$work/k.tar" k
list() { "$xvtrace" formats --json | jq -r '.kernels[] | "\(.build_id) \(.release) \(.events) \(.origin)"'; }
fails() {
	local words=$1
	shift
	"$@" >"$work/out" 2>"$work/err" && return 1
	grep -qF -- "$words" "$work/err" && return
	head -n 3 "$work/err" | sed 's/^/# /'
	return 1
}

check "none is known at first" [ -z "$(list)" ]
check "... and that is said" eval '"$xvtrace" formats | grep -q "no kernel is known in $work/cache"'
check "a folder is taken" "$xvtrace" formats -q --import "$work/k"
check "... without its module's event" [ "$(list)" = "$id 6.12.1-a 2 import" ]
cp "$work/cache/$id.formats" "$work/of-folder"
check "it is removed, by its release" eval '"$xvtrace" formats --remove 6.12.1-a && [ -z "$(list)" ]'
check "an archive is taken" "$xvtrace" formats --import "$work/k.tar" 2>"$work/err"
check "... and what was left out is said" grep -q '2 events of build .* stored; 1 left out' "$work/err"
check "... with the same result" cmp "$work/cache/$id.formats" "$work/of-folder"
check "a second time, too" eval '"$xvtrace" formats -q --import "$work/k.tar" && [ "$(list | wc -l)" = 1 ]'

tar -C "$work" --format=v7 -cf "$work/old.tar" k && tar -C "$work" --format=pax -cf "$work/pax.tar" k
for format in old pax; do
	rm -f "$work/cache/"*
	check "the other formats of tar: $format" eval '"$xvtrace" formats -q --import "$work/$format.tar" && cmp "$work/cache/$id.formats" "$work/of-folder"'
done

copy_of "$work/k2" 6.12.1-a "${id/0011/ffff}"
check "another build of the same release" "$xvtrace" formats -q --import "$work/k2"
check "... is another kernel" [ "$(list | wc -l)" = 2 ]
check "... and the release names neither" fails "more than one kernel" "$xvtrace" formats --remove 6.12.1-a
check "... but a build id does" eval '"$xvtrace" formats --remove ffff2233 && [ "$(list | cut -d " " -f 1)" = $id ]'

gzip -k "$work/k.tar"
check "a compressed archive is refused" fails "it is no tar archive" "$xvtrace" formats --import "$work/k.tar.gz"
check "so is what is not there" fails "No such file" "$xvtrace" formats --import "$work/none"
for part in notes:'/sys/kernel/notes' uname:'uname -srvm' kallsyms:'__traceiter_' events:'events/SYSTEM/EVENT/format'; do
	rm -rf "$work/part" && cp -r "$work/k" "$work/part" && rm -rf "$work/part/${part%%:*}"
	check "without its ${part%%:*}" fails "${part#*:}" "$xvtrace" formats --import "$work/part"
done
rm -rf "$work/part" && cp -r "$work/k" "$work/part" && find "$work/part/events" -name format -exec truncate -s 0 {} +
check "formats that tar left empty" fails "by cp first" "$xvtrace" formats --import "$work/part"

chmod o+w "$work/cache/$id.formats"
check "a file that others may write is left out" eval '[ -z "$(list 2>"$work/err")" ] && grep -q "others may write it" "$work/err"'
chmod o-w "$work/cache/$id.formats"
chmod o+w "$work/cache"
check "a folder that others may write is an error" fails "others may write it" "$xvtrace" formats
chmod o-w "$work/cache"
head -c 100 "$work/of-folder" >"$work/cache/$id.formats"
check "a file that is cut off is left out" eval '[ -z "$(list 2>"$work/err")" ] && grep -q "it is cut off" "$work/err"'
# The head of a kernel, and nothing behind it.
truncate -s 1M "$work/zeros"
printf HdrS | dd of="$work/zeros" bs=1 seek=$((0x202)) conv=notrunc 2>/dev/null
check "a file that is no kernel is an error" fails "it is no Linux kernel of x86; give the file that the guest boots" "$xvtrace" formats --kernel "$work/k.tar"
check "so is an empty one" fails "it is no Linux kernel" "$xvtrace" formats --kernel /dev/null
check "a kernel that is not there is an error" fails "No such file" "$xvtrace" formats --kernel "$work/none"
if command -v qemu-system-x86_64 >/dev/null; then
	check "so is one that does not start" fails "the kernel did not come so far" "$xvtrace" formats --timeout 60 --kernel "$work/zeros"
else
	echo "skip - a file that is no kernel: no qemu-system-x86_64"
fi
mkdir "$work/bin"
check "without QEMU, what to install is said" fails "install QEMU" env PATH="$work/bin" "$(realpath "$xvtrace")" formats --kernel "$work/zeros"
check "two requests at once are refused" fails "give one of them" "$xvtrace" formats --import x --remove y
check "there is no argument" fails "no argument" "$xvtrace" formats x
[ $failures -eq 0 ]
