#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: libvirt and tracefs
# shellcheck disable=SC2317
# bash's completion, as bash calls it: each command, each option of each command, and values: traces,
# regions, domains, names from lists.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
library=/usr/share/bash-completion/bash_completion
[ -r $library ] || { echo "skip - completion: bash-completion is missing" && exit 77; }
PATH=$(realpath "$BUILD"):$PATH

# completes LINE: what bash offers at its end, sorted, on one line. As readline does, = and : part words.
completes() {
	LINE=$1 LIBRARY=$library COMPLETION=$PWD/packaging/completion.bash CALLED=${2:-xvtrace} \
		bash --norc -c 'cd "$0" && . "$LIBRARY" && . "$COMPLETION" || exit
		COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=9 COMP_KEY=9
		read -ra COMP_WORDS <<<"$(sed "s/[=:]/ & /g" <<<"$LINE")"
		[[ $LINE != *[\ =:] ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		COMP_WORDS[0]=$CALLED
		set -- "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		compopt() { :; }
		"$(complete -p xvtrace | sed "s/.*-F \([^ ]*\) .*/\1/")" "$@"
		printf "%s\n" "${COMPREPLY[@]}" | sort -u | tr "\n" " " | sed "s/ $//"' "$work/here"
}

# offers TEXT LINE EXPECTED
offers() {
	local got
	got=$(completes "$2")
	[ "$got" = "$3" ] || echo "# $2: '$got' where '$3' is expected"
	check "$1" [ "$got" = "$3" ]
}

mkdir -p "$work/here/folder"
touch "$work/here/t.xvt" "$work/here/other.txt"
commands=$("$xvtrace" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
offers "each command is offered" "xvtrace " "$(printf '%s\n' $commands help version --help --version | sort | tr '\n' ' ' | sed 's/ $//')"
offers "a part of its name finds it" "xvtrace doc" "doctor"
offers "and so it does behind help" "xvtrace help rec" "record"

# The options that --help prints, letters and names.
for cmd in $commands; do
	"$xvtrace" "$cmd" --help | sed -nE 's/^  (-.), (--[a-z-]+).*/\1\n\2/p; s/^      (--[a-z-]+).*/\1/p' | sort >"$work/printed"
	completes "xvtrace $cmd -" | tr ' ' '\n' | sort >"$work/offered"
	check "each option of $cmd is offered: $(wc -l <"$work/printed")" \
		eval '[ -s "$work/printed" ] && diff "$work/printed" "$work/offered"'
done

offers "a trace is one, and folders lead to more" "xvtrace report " "folder t.xvt"
offers "behind other options, too" "xvtrace report --cpu 3 -q " "folder t.xvt"
offers "a value from a list" "xvtrace record --order " "auto later now"
offers "the same behind =" "xvtrace record --order=l" "later"
offers "presets of the host" "xvtrace record --host s" "sched"
offers "formats" "xvtrace export --format pe" "perfetto"
offers "an export's output is any file" "xvtrace export --format ctf t.xvt o" "other.txt"
offers "requests to a recorder" "xvtrace control st" "start stop"
offers "commands of region" "xvtrace region " "create serve show"
offers "folders" "xvtrace record --clock-page " "folder"
offers "a machine's file behind its name" "xvtrace record -r g1=$work/here/o" "$work/here/other.txt"
offers "or without one" "xvtrace record -r $work/here/o" "$work/here/other.txt"
offers "a command to run" "xvtrace record -o t.xvt -- xvtr" "xvtrace"
offers "nothing where a number stands" "xvtrace record --duration " ""
if virsh -c test:///default list >/dev/null 2>&1; then
	offers "running domains of the libvirt that -c names" "xvtrace record -c test:///default -d " "test"
	offers "a domain where the command takes one" "xvtrace attach -c test:///default " "test"
	offers "and of libvirt's own" "xvtrace snapshot -c test:///default --domain t" "test"
else
	echo "skip - running domains: virsh is missing"
fi
if [ -r /sys/kernel/tracing/available_events ]; then
	offers "events of the host behind a colon" "xvtrace record -H sched:sched_process_for" "sched_process_fork"
else
	echo "skip - events of the host: tracefs is not mounted, or not readable"
fi
region=/dev/shm/xvtrace-completion-$$
touch $region "$work/here/xvtrace-completion-$$"
offers "regions by the name of their file" "xvtrace record -r completion-$$" "completion-$$=$region"
rm $region
XVTRACE_SHM_DIR=$work/here offers "and in the folder that XVTRACE_SHM_DIR names" "xvtrace record -r completion-$$" \
	"completion-$$=$work/here/xvtrace-completion-$$"
check "a program without --complete offers nothing, and says nothing" \
	eval '[ -z "$(completes "xvtrace record -" /bin/false 2>&1)" ]'
[ $failures -eq 0 ]
