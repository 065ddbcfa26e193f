#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317
# What another user puts in the place of an output is not written to: a symbolic link, at the end or on the way, in an own
# folder or in one that all may write; a file of his, to read it afterwards; a hard link. What the caller or root puts there
# is: a link to a file, to one that is to be made, to a device. The kernel's protected_symlinks and its like are no help here:
# they hold in folders with a sticky bit alone, and no folder of this test has one.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

other=65534
if [ "$(id -u)" -ne 0 ]; then
	echo "skip - outputs in the place of which another user has put something: needs root"
	exit 77
fi

# A region with events that no recorder has taken.
make_region() {
	rm -f "$work/left"
	"$xvtrace" region create "$work/left" --overwrite --size 256K --rings 1 >/dev/null && "$BUILD/xvt-emit" "$work/left" --count 1000 >/dev/null
}
make_region || exit 1
"$xvtrace" record -q -o "$work/t.xvt" -r left="$work/left" --mode overwrite --duration 0.2 --join-timeout 0 || exit 1
trace=$work/t.xvt
"$BUILD/tests/tools/xvt-story" "$work/story.xvt" <<'END' || exit 1
guest g1 1 2000
10 g1:0 switch swapper-0 R cli-10
30 g1:0 switch cli-10 S swapper-0
50 g1:0 switch swapper-0 R cli-10
60 g1:0 switch cli-10 S swapper-0
END
chmod 755 "$work"

# The folder of the other user, one of root's that all may write, and root's own.
mkdir "$work/his" "$work/all" "$work/own" "$work/secret"
chown $other "$work/his"
chmod 777 "$work/all"
chmod 700 "$work/secret"

# write COMMAND FILE: has that command write to FILE, and says so in $work/err
write() {
	case $1 in record | snapshot) make_region || return 99 ;; esac
	case $1 in
	record) "$xvtrace" record -q -o "$2" -r left="$work/left" --duration 0.05 --join-timeout 0 ;;
	snapshot) "$xvtrace" snapshot -q -o "$2" -r left="$work/left" ;;
	salvage) "$xvtrace" salvage -q -o "$2" "$work/left" ;;
	text) "$xvtrace" export -q --format text "$trace" "$2" ;;
	perfetto) "$xvtrace" export -q --format perfetto "$trace" "$2" ;;
	trim) "$xvtrace" trim -q -o "$2" "$trace" ;;
	order) "$xvtrace" order -o "$2" "$trace" ;;
	query) "$xvtrace" query -q --save "$2" 'SELECT * FROM machines' "$trace" >/dev/null ;;
	path) "$xvtrace" path -q --vm g1 --task cli --at @3 --perfetto "$2" "$work/story.xvt" ;;
	esac 2>"$work/err"
}

commands="record snapshot salvage text perfetto trim order query path"

# As the other user.
his() { setpriv --reuid=$other --regid=$other --clear-groups "$@"; }

# refuses COMMAND FILE WORDS: it fails, and says why
refuses() {
	local rc
	write "$1" "$2"
	rc=$?
	[ $rc -eq 1 ] && grep -q "$3" "$work/err" && return
	echo "# exit $rc"
	head -n 3 "$work/err" | sed 's/^/# /'
	return 1
}

echo victim >"$work/secret/file"
untouched() { [ "$(cat "$work/secret/file")" = victim ] && [ "$(ls "$work/secret")" = file ]; }

link_text="symbolic link of another user; name what the link leads to"
file_text="another user has put a file there"
for c in $commands; do
	for folder in his all; do
		at=$work/$folder/out
		rm -f "$at"
		his ln -s ../secret/file "$at"
		if [ $c = query ]; then
			check "$c: his link in $folder" eval '! write $c "$at" && grep -q "is there already" "$work/err" && untouched'
		else
			check "$c: his link in $folder to a file of root" eval 'refuses $c "$at" "$link_text" && untouched'
			his ln -sfn ../secret/new "$at"
			check "$c: his link in $folder to what is not there" eval 'refuses $c "$at" "$link_text" && untouched'
			his ln -sfn /proc/self/fd/2 "$at"
			check "$c: his link in $folder to a link of the kernel" refuses $c "$at" "$link_text"
		fi
		rm -f "$at"
		his ln -s ../secret "$at"
		check "$c: his link in $folder, on the way" eval 'refuses $c "$at/new" "$link_text" && untouched'
		rm -f "$at"
	done
	[ $c != query ] || continue
	at=$work/all/out
	his touch "$at"
	his chmod 666 "$at"
	if [ $c = trim ] || [ $c = order ]; then
		check "$c: his file in a folder of all is replaced" eval 'write $c "$at" && [ "$(stat -c "%u %h" "$at")" = "0 1" ]'
	else
		check "$c: his file in a folder of all" eval 'refuses $c "$at" "$file_text" && [ ! -s "$at" ]'
		ln -sfn "../all/out" "$work/own/link"
		check "$c: a link of root to it" eval 'refuses $c "$work/own/link" "$file_text" && [ ! -s "$at" ]'
		rm -f "$at"
		his mkfifo "$at"
		check "$c: his FIFO in a folder of all" refuses $c "$at" "$file_text"
		rm -f "$at"
		# As he can where protected_hardlinks is 0.
		ln "$work/secret/file" "$at"
		check "$c: a hard link to a file of root" eval 'refuses $c "$at" "$file_text" && untouched'
	fi
	rm -f "$at"
done

# --- What is root's, or in a folder of its own user, is written as ever.
for c in $commands; do
	[ $c != query ] || continue
	rm -rf "$work"/own/* "$work"/his/* "$work"/all/*
	echo before >"$work/own/file"
	ln -s file "$work/own/link"
	check "$c: an own link to a file" eval 'write $c "$work/own/link" && [ -L "$work/own/link" ] && ! grep -q before "$work/own/file" && [ -s "$work/own/file" ]'
	ln -s "$work/own/new" "$work/own/dangling"
	check "$c: an own link to what is not there" eval 'write $c "$work/own/dangling" && [ -L "$work/own/dangling" ] && [ -s "$work/own/new" ]'
	mkdir "$work/own/folder"
	ln -s own/folder "$work/way"
	check "$c: an own link on the way" eval 'write $c "$work/way/../folder/./out" && [ -s "$work/own/folder/out" ]'
	rm "$work/way"
	check "$c: a new file in a folder of all" eval 'write $c "$work/all/new" && [ -s "$work/all/new" ]'
	his touch "$work/his/file"
	check "$c: a user's file in his folder" eval 'write $c "$work/his/file" && [ -s "$work/his/file" ]'
	check "$c: a file of root in his folder, twice" eval 'write $c "$work/his/roots" && write $c "$work/his/roots" && [ -s "$work/his/roots" ]'
	ln -s loop "$work/own/loop"
	check "$c: links in a circle" refuses $c "$work/own/loop" "Too many levels of symbolic links"
	check "$c: a file that has another in it" refuses $c "$work/own/file/x" "Not a directory"
	if mknod "$work/own/null" c 1 3 2>/dev/null; then
		ln -s null "$work/own/to-null"
		check "$c: a device stays one" eval 'write $c "$work/own/null" && [ -c "$work/own/null" ]'
		check "$c: and at the end of a link" eval 'write $c "$work/own/to-null" && [ -c "$work/own/null" ] && [ -L "$work/own/to-null" ]'
	else
		echo "skip - $c: a device as output: none can be made here"
	fi
	write $c /dev/stdout >"$work/piped"
	check "$c: /dev/stdout, a file" test -s "$work/piped"
	write $c /dev/stdout | cat >"$work/piped"
	check "$c: /dev/stdout, a pipe" test -s "$work/piped"
	check "$c: /dev/stdout is what it was" test -L /dev/stdout
done

# --- Folders.
for c in record ctf; do
	folder() {
		if [ $c = record ]; then
			write record "$1/"
		else
			"$xvtrace" export -q --format ctf "$trace" "$1" 2>"$work/err"
		fi
	}
	rm -rf "$work"/own/* "$work"/his/* "$work"/all/*
	mkdir "$work/empty"
	his ln -s ../empty "$work/his/set"
	check "$c: his link to a folder" eval '! folder "$work/his/set" && grep -q "$link_text" "$work/err" && rmdir "$work/empty"'
	his ln -sfn ../empty "$work/his/set"
	check "$c: his link to a folder that is not there" eval '! folder "$work/his/set" && grep -q "$link_text" "$work/err" && [ ! -e "$work/empty" ]'
	mkdir "$work/own/real"
	ln -s real "$work/own/set"
	check "$c: an own link to a folder" eval 'folder "$work/own/set" && [ -n "$(ls "$work/own/real")" ]'
done
rm -rf "$work"/all/*
mkdir "$work/all/set"
chmod 777 "$work/all/set"
check "a set in a folder of all" eval 'write record "$work/all/set/" && [ "$(ls "$work/all/set" | wc -l)" -eq 1 ]'

# --- Without -o, what was there is kept, also a link.
me=$(realpath "$xvtrace")
emit=$(realpath "$BUILD/xvt-emit")
cd "$work/own" || exit 1
echo victim >victim
ln -s victim xvtrace.xvt
"$me" region create new --overwrite --size 256K --rings 1 >/dev/null && "$emit" new --count 100 >/dev/null
"$me" record -q -r left=new --duration 0.05 --join-timeout 0
check "record without -o: a link becomes .old, and its target stays" eval '[ -L xvtrace.xvt.old ] && [ "$(cat victim)" = victim ] && [ -f xvtrace.xvt ] && [ ! -L xvtrace.xvt ]'
[ $failures -eq 0 ]
