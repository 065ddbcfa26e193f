#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks the arrows of the architecture.
#
#   check-layers.sh [BUILD]
#
# 1. Top folders: tests, bench -> guest | host -> shared -> nothing of ours.
# 2. Folders of host/ (tests/layers.txt): an #include names an allowed folder and a header that this
#    folder gives to others. What the compiler really read (.d) lies in folders that can be reached.
#    host/README and docs/architecture.md have the same arrows.
# 3. Calls: an undefined symbol of a folder's objects (nm) is defined in an allowed folder. That
#    catches a function that is declared by hand.
# 4. Messages go through base/log.c, and not from the engine. Only cli/ and options/ (--help) else
#    print, top/screen.c gives the terminal to ncurses, and cli/ alone ends the process.
# 5. Each outside library has one file.
# 6. The ring: only ring/phase.c sets a phase, and a field that ring/ring.h calls private to a file
#    is used there alone.
# 7. A machine: only session/machine_state.c sets its state. A session, a machine, a reader of the
#    library, a ring of the check: members of their parts are used, or written, in the files alone
#    that the headers of these parts name.
# 8. The guest's module, where `make guest` has built it: a file calls those further down in the list
#    of guest/linux/xvtrace.h only.
set -eu
build=${1:-build}
table=tests/layers.txt
bad=0

complain() {
	echo "check-layers: $*" >&2
	bad=1
}

# ------------------------------------------------------------------ top folders

# read_by FOLDER: what the compiler read for it
read_by() {
	find "$build/$1" "$build/bare" -name '*.d' -type f 2>/dev/null | grep "/$1/\|/bare/" |
		{ [ "$1" = shared ] && cat || grep -v /bare/ || true; }
}

# rule FOLDER FORBIDDEN-FOLDERS...
rule() {
	local from=$1 forbidden line
	shift
	forbidden=$(printf '%s|' "$@")
	# In a .d file every prerequisite is a path; ours are relative to the top.
	while IFS= read -r line; do
		complain "$line"
	done < <(read_by "$from" | xargs -r awk -v from="$from" -v forbidden="^([.]/)?(${forbidden%|})/" '
		{
			for (i = 1; i <= NF; i++) {
				if ($i !~ forbidden)
					continue
				sub(/^\.\//, "", $i)
				sub(/\/.*/, "", $i)
				if (!told[FILENAME, $i]++)
					print FILENAME ": something of " from "/ includes " $i "/"
			}
		}'
		grep -rnE "#include \"(\.\./)*(${forbidden%|})/" "$from" --include='*.[ch]' || true)
}

rule shared guest host tests bench qemu
rule guest host tests bench qemu
rule host guest tests bench qemu

# A header of guest/ included by its bare name from host/ or shared/.
for from in host shared; do
	for h in $(find guest -name '*.h' -printf '%f\n' | sort -u); do
		[ -n "$(find "$from" shared -name "$h")" ] && continue
		hits=$(grep -rlE "#include \"$h\"" "$from" --include='*.[ch]' 2>/dev/null || true)
		[ -z "$hits" ] || complain "$hits includes $h of guest/"
	done
done

# ------------------------------------------------------------------ folders of host/

declare -A uses=() faces=() reach=()
order=()
while IFS= read -r line; do
	case $line in '#'* | '') continue ;; esac
	folder=${line%%:*} rest=${line#*:}
	read -ra list <<<"${rest%%|*}"
	uses[$folder]=" ${list[*]} "
	read -ra list <<<"${rest#*|}"
	faces[$folder]=" ${list[*]} "
	reach[$folder]=" $folder "
	for to in ${uses[$folder]}; do
		case " ${order[*]} " in
		*" $to "*) ;;
		*) complain "$table: $folder uses $to, which does not stand above it" && continue ;;
		esac
		for far in ${reach[$to]}; do
			case ${reach[$folder]} in *" $far "*) ;; *) reach[$folder]+="$far " ;; esac
		done
	done
	order+=("$folder")
done <"$table"

for dir in host/*/; do
	dir=${dir#host/} dir=${dir%/}
	[ -n "${uses[$dir]+known}" ] || complain "host/$dir/ is not in $table"
done
for folder in "${order[@]}"; do
	[ -d "host/$folder" ] || complain "$table: there is no folder host/$folder/"
done

# Two pages for readers name each folder, and have the same arrows. cli/ may use all folders.
arrows() {
	sed -nE 's/^([a-z]+): +([a-z ]*[a-z])? *\|.*/\1 \2/p' "$table" |
		awk '$1 != "cli" { for (i = 2; i <= NF; i++) print $1, $i }' | sort
}
readme() {
	grep -oE '\b[a-z]+ +uses [a-z]+( [a-z]+)*' host/README |
		awk '$1 != "cli" && $1 != "none" && $3 != "nothing" { for (i = 3; i <= NF; i++) print $1, $i }' | sort
}
page() {
	sed -nE 's/^\| `([a-z]+)\/` \| ((`[a-z]+\/` ?)+) \|$/\1 \2/p' docs/architecture.md | tr -d '`/' |
		awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort
}
# same FILE READER: the arrows that READER finds in FILE are those of the table
same() {
	local line folder
	for folder in "${order[@]}"; do
		grep -qF "$folder/" "$1" || complain "$1 does not name $folder/"
	done
	while IFS= read -r line; do
		case $line in
		'<'*) complain "$1 lacks an arrow of $table:${line#<}" ;;
		'>'*) complain "$1 has an arrow that $table lacks:${line#>}" ;;
		esac
	done < <(diff <(arrows) <("$2") || true)
}
if [ $bad -eq 0 ]; then # else the table itself may be wrong
	same host/README readme
	same docs/architecture.md page
fi

# Of each #include "FOLDER/HEADER.h": FILE FOLDER HEADER.
while read -r file to header; do
	from=${file#host/} from=${from%%/*}
	[ "$to" = "$from" ] && continue
	case ${uses[$from]-} in
	*" $to "*) ;;
	*) complain "$file includes $to/$header.h: $from may not use $to" && continue ;;
	esac
	case ${faces[$to]} in
	*" $header "* | ' * ') ;;
	*) complain "$file includes $to/$header.h, which is private to $to/" ;;
	esac
done < <(grep -roE '^#include "[a-z_]+/[a-z0-9_]+\.h"' host --include='*.[ch]' |
	sed -E 's|^([^:]*):#include "([^/]*)/([^.]*)\.h"|\1 \2 \3|')

# A header of host/ is included with its folder.
while IFS= read -r line; do
	complain "$line: an include of host/ names its folder"
done < <(grep -rnE '^#include "[a-z0-9_]+\.h"' host --include='*.[ch]' | grep -v '"xvt_[a-z_]*\.h"' || true)

# built SUFFIX: what the compiler made of the files that are there. A build folder may hold more.
built() {
	local c
	for c in host/*/*.c; do
		c=$build/${c%.c}.$1
		[ ! -e "$c" ] || echo "$c"
	done
}

# What the compiler read: OBJECT'S-FOLDER FOLDER FILE.
while read -r from to file; do
	case ${reach[$from]-} in
	*" $to "*) ;;
	*) complain "an object of $from/ was built with $file: $from does not reach $to" ;;
	esac
done < <(built d | xargs -r awk '
	FNR == 1 { n = split(FILENAME, part, "/"); from = part[n - 1] }
	{
		for (i = 1; i <= NF; i++)
			if (sub(/:$/, "", $i) >= 0 && $i ~ /^host\/[a-z_]+\// && split($i, p, "/") > 2)
				print from, p[2], $i
	}' | sort -u)

# Calls: FOLDER FOLDER SYMBOL OBJECT.
calls() {
	built o | xargs -r nm -A | awk '
	{
		sub(/^[^:]*\/host\//, "", $1)
		split($1, at, /[\/:]/)
		if (NF == 3 && $2 ~ /^[TDBRVWC]$/) { defined[$3] = at[1] }
		else if (NF == 4 && $3 ~ /^[TDBRVWC]$/) { defined[$4] = at[1] }
		else if ($(NF - 1) == "U") { users[at[1] " " $NF] = at[2] }
	}
	END {
		for (u in users) {
			split(u, p, " ")
			if (p[2] in defined && defined[p[2]] != p[1])
				print p[1], defined[p[2]], p[2], users[u]
		}
	}'
}
while read -r from to symbol object; do
	case ${uses[$from]-} in
	*" $to "*) ;;
	*) complain "host/$from/$object uses $symbol() of $to/: $from may not use $to" ;;
	esac
done < <(calls)

# Errors of the engine go up as numbers and texts.
while read -r object symbol; do
	complain "$object uses $symbol: messages go through base/log.h; only cli/ prints, and ends the process"
done < <(built o | grep -v "^$build/host/\(cli/\|options/\|base/log\.o\|top/screen\.o\)" | xargs -r nm -Au | awk '
	$2 == "U" && $3 ~ /^(stderr|stdout|v?printf|__v?printf_chk|puts|putchar|perror|exit|abort)(@|$)/ {
		sub(/:$/, "", $1)
		print $1, $3
	}')

while IFS= read -r file; do
	case $file in
	host/base/log.c | host/rights/* | host/options/* | host/select/* | host/record/* | host/flight/*) ;;
	host/control/* | host/recorder/* | host/cli/*) ;;
	*) complain "$file includes base/log.h: the engine gives errors as numbers and texts" ;;
	esac
done < <(grep -rl '^#include "base/log.h"' host)

# A wait for a process has a limit. The pager is the user's, and the user ends it.
while IFS= read -r line; do
	complain "$line: a wait for a process without a limit; use base/child.h"
done < <(grep -rnE '\b(waitpid|waitid|wait3|wait4)\([^)]' host --include='*.c' |
	grep -vE '^host/(base/child|cli/pager)\.c:|WNOHANG')

# Files of one folder: calls go one way, so that a file can be read and tested with those below it
# alone.
uses_inside() {
	built o | xargs -r nm -A | awk '
	{
		sub(/^[^:]*\/host\//, "", $1)
		split($1, at, /:/)
		file = at[1]
		sub(/\.o$/, "", file)
		if ($(NF - 1) ~ /^[TDBRVWC]$/) { defined[$NF] = file }
		else if ($(NF - 1) == "U") { uses[file " " $NF] = 1 }
	}
	END {
		for (u in uses) {
			split(u, p, " ")
			to = defined[p[2]]
			split(p[1], a, "/")
			split(to, b, "/")
			if (to != "" && to != p[1] && a[1] == b[1])
				print p[1], to
		}
	}'
}
loops=$(uses_inside | sort -u | tsort 2>&1 >/dev/null | sed -n 's/^tsort: //p' | grep / | sort -u || true)
for dir in host/*/; do
	dir=${dir#host/} dir=${dir%/}
	of=$(grep "^$dir/" <<<"$loops" | tr '\n' ' ' || true)
	[ -z "$of" ] || complain "files of host/$dir/ need each other to link: $of"
done

# ------------------------------------------------------------------ outside libraries

# one LIBRARY-HEADER-PATTERN FILE
one() {
	local files
	files=$(grep -rlE "#include <$1" host --include='*.[ch]' | tr '\n' ' ')
	[ "$files" = "$2 " ] || [ -z "$files" ] || complain "<$1> belongs to $2 only, but: $files"
}
one 'liburing' host/base/loop_uring.c
one 'libvirt/' host/vmm/libvirt.c
one 'zstd' host/base/compress.c
one 'jansson' host/base/json.c
one 'seccomp' host/rights/sandbox.c
one 'n?curses' host/top/screen.c
one 'sqlite' host/query/sqlite.c
one 'linux/kvm' host/doctor/microvm.c
one '((traceevent/)?event-parse|kbuffer)' host/vmm/kvm_events.c
one 'tracefs' host/vmm/tracing.c

# ------------------------------------------------------------------ the ring

while IFS= read -r line; do
	complain "$line: xvt_ring_set_phase() alone changes the phase of a ring"
done < <(grep -rnE '(->|\.)phase = XVT_PHASE_' host tests bench --include='*.[ch]' |
	grep -v '^tests/.*phase\.h:')

# PART FILE FIELD of each private field
private_fields() {
	awk '/^struct xvt_ring_/ { part = substr($2, 10) }
		/^}/ { file = "" }
		/^\t\/\* private to / { file = $4; next }
		file != "" {
			sub(/\/\*.*/, "")
			sub(/(\[[^]]*\])?;.*/, "")
			sub(/^\*/, "", $NF)
			if ($NF ~ /^[a-z]/)
				print part, file, $NF
		}' host/ring/ring.h
}
[ "$(private_fields | wc -l)" -gt 10 ] || complain "host/ring/ring.h: no private fields found"
while read -r part file field; do
	while IFS= read -r line; do
		complain "$line: $part.$field is private to ring/$file"
	done < <(grep -rnE "[.>]$part\.$field\b" host --include='*.[ch]' | grep -v "^host/ring/$file:"
		grep -nE "\b[ad]->$field\b" host/ring/*.c | grep -v "^host/ring/$file:")
done < <(private_fields)

# ------------------------------------------------------------------ machines

while IFS= read -r line; do
	complain "$line: xvt_vm_set_state() alone changes the state of a machine"
done < <(grep -rnE '(->|\.)phase = XVT_VM_|halt\.step = |\.step = XVT_HALT_' host tests bench --include='*.[ch]' |
	grep -v "^host/session/machine_state\.c:")

# ------------------------------------------------------------------ parts of large structs

# parts HEADER PREFIX: "PART FIELD KIND FILES" of each member of the structs PREFIX...; KIND: private,
# written or none
parts() {
	awk -v prefix="^struct $2" '$0 ~ prefix "[a-z]+ \\{$" {
			part = $0
			sub(prefix, "", part)
			sub(/ .*/, "", part)
			kind = "none"
			files = ""
		}
		/^}/ { part = "" }
		part == "" { next }
		/^\t\/\* (private to|written by) [a-z_. ]+ \*\/$/ {
			kind = $2
			files = $4
			for (i = 5; i < NF; i++)
				files = files " " $i
			next
		}
		/^\t[a-z]/ {
			sub(/\/\*.*/, "")
			sub(/\)\(.*/, "")
			sub(/(\[[^]]*\])?;.*/, "")
			sub(/.*[ *(]/, "")
			print part, $0, kind, files
		}' "host/$1"
}
# uses_of FOLDER PATTERN FILES...: the lines outside these files of the folder that have it
uses_of() {
	local folder=$1 pattern=$2 skip=()
	shift 2
	for file in "$@"; do skip+=(-e "^host/$folder/$file:"); done
	grep -rnE "$pattern" "${where[@]}" --include='*.[ch]' | grep -v "${skip[@]}" || true
}
# owners HEADER PREFIX ACCESS LEAST WHERE...: the files that the header names for each member of its
# parts alone use it, or write it. ACCESS: what stands before the part. WHERE: what may have a use.
owners() {
	local header=$1 prefix=$2 access=$3 least=$4 folder=${1%/*} where=("${@:5}")
	local part field kind files member element line read_only='const struct [a-z_]+ \*[^=]* = &'
	[ "$(parts "$header" "$prefix" | wc -l)" -gt "$least" ] ||
		complain "host/$header: no parts found, struct $prefix..."
	while read -r part field kind files; do
		read -ra files <<<"$files"
		member="$access$part\.$field\b"
		case $kind in
		private)
			while IFS= read -r line; do
				[ -z "$line" ] || complain "$line: $part.$field is private to $folder/$files"
			done <<<"$(uses_of "$folder" "$member" "${files[@]}")"
			;;
		written)
			[ ${#files[@]} -le 2 ] || complain "host/$header: $part.$field is written by more than two files"
			element="$member(\[[^]=]*\])?(\.[a-z_]+)*"
			while IFS= read -r line; do
				[ -z "$line" ] || complain "$line: $part.$field is written by $folder/${files[*]} alone"
			done <<<"$(uses_of "$folder" "$element ?(=[^=]|=\$|[-+*/|&^]=|<<=|>>=|\+\+|--)|(\+\+|--)[a-z>-]*$element|[^&]&[a-z>-]*$element([^-a-z_.[]|\$)" "${files[@]}" "${header##*/}" | grep -vE "$read_only" || true)"
			;;
		none) complain "host/$header: no file is named that writes $part.$field" ;;
		esac
	done < <(parts "$header" "$prefix")
}
owners session/parts.h xvt_session_ '\b(s|session)->' 60 host
# A machine has any name but that of a session.
owners session/parts.h xvt_machine_ '(\b([a-rt-z]|[a-z_]{2,6}|[a-z_]{8,})|[])])->' 20 host
owners lib/parts.h xvt_reader_ '(->|\.)' 40 host/lib
owners view/verify_parts.h xvt_verify_ring_ '(->|\.)' 30 host/view

# ------------------------------------------------------------------ the guest's module

module_files=$(sed -nE 's/^ \*   (xvt_[a-z]+)\.c .*/\1/p' guest/linux/xvtrace.h)
for file in guest/linux/*.c; do
	grep -qxF "$(basename "$file" .c)" <<<"$module_files" || complain "guest/linux/xvtrace.h does not list $file"
done
# An object that is older than its source says nothing of it.
objects=()
for file in $module_files; do
	object=$build/guest/linux/$file.o
	[ ! "$object" -nt "guest/linux/$file.c" ] || objects+=("$object")
done
while read -r from symbol to; do
	complain "guest/linux/$from.c uses $symbol of $to.c, which does not stand below it in xvtrace.h"
done < <([ ${#objects[@]} -eq 0 ] || nm -A "${objects[@]}" | awk -v files="$(echo $module_files)" '
	BEGIN { n = split(files, name, " "); for (i = 1; i <= n; i++) level[name[i]] = i }
	{
		sub(/\.o:.*/, "", $1)
		sub(/.*\//, "", $1)
		if ($(NF - 1) == "U") uses[$1 " " $NF]
		else if ($(NF - 1) ~ /^[TDBRVWC]$/) defined[$NF] = $1
	}
	END {
		for (u in uses) {
			split(u, p, " ")
			if (p[2] in defined && level[defined[p[2]]] <= level[p[1]])
				print p[1], p[2], defined[p[2]]
		}
	}' | sort)

if [ -n "$(find qemu -name '*.[ch]' 2>/dev/null)" ]; then
	complain "qemu/ holds scripts and XML, no C"
fi
[ $bad -eq 0 ] && echo "layers: no include and no call crosses a border the wrong way"
exit $bad
