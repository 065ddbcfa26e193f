# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207
# bash completion for xvtrace(1). Commands and options come from the program's own tables, by
# `xvtrace --complete`; here is only what a value can be, by its name in --help.

# _xvtrace_words WORDS...: those that begin like the current word
_xvtrace_words() {
	local IFS=$' \t\n'
	COMPREPLY=($(compgen -W "$*" -- "$cur"))
}

# Running domains of libvirt, asked as the command line's -c says. Not longer than two seconds.
_xvtrace_domains() {
	local i uri=()
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		-c | --connect) uri=(-c "${words[i + 1]}") ;;
		--connect=*) uri=(-c "${words[i]#*=}") ;;
		esac
	done
	timeout 2 virsh -q ${uri[@]+"${uri[@]}"} list --name 2>/dev/null
}

# Machines that recorders have, by their names.
_xvtrace_machines() {
	timeout 2 "${words[0]}" status 2>/dev/null | awk '/^MACHINE  / { on = 1; next } !NF { on = 0 } on { print $1 }' | sort -u
}

# Events of the host's kernel, as far as the user may read their list.
_xvtrace_events() {
	cat /sys/kernel/tracing/available_events 2>/dev/null
}

# A machine's NAME=FILE: the conventional files as a whole, any other behind the NAME=, or without it
# where that may be missing: [NAME=]FILE.
_xvtrace_named_file() {
	local region lead='' folder=${XVTRACE_SHM_DIR:-/dev/shm}
	if [[ $cur != *=* && $1 == \[* && $cur == */* ]]; then
		_filedir
		return
	elif [[ $cur != *=* ]]; then
		[[ $1 != *REGION* ]] || for region in "$folder"/xvtrace-*; do
			[[ ! -f $region ]] || COMPREPLY+=("${region#"$folder"/xvtrace-}=$region")
		done
		_xvtrace_words "${COMPREPLY[@]}"
		return
	fi
	lead=${cur%%=*}=
	cur=${cur#*=}
	_filedir
	# What readline takes for the word begins behind the =, if that breaks words.
	[[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/$lead}")
}

# _xvtrace_value NAME: what NAME stands for in --help
_xvtrace_value() {
	case $1 in
	FILE.xvt*) _filedir xvt ;;
	DOMAIN*) _xvtrace_words "$(_xvtrace_domains)" ;;
	NAME=* | \[NAME=\]*) _xvtrace_named_file "$1" ;;
	FORMAT) _xvtrace_words "$("${words[0]}" "${words[1]}" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*(OUT: .*/\1/p')" ;;
	SYS:EVENT)
		_xvtrace_words "$(_xvtrace_events)"
		__ltrim_colon_completions "$cur"
		;;
	LEVEL) _xvtrace_words 1 3 6 9 19 ;;
	LEVEL\|*) _xvtrace_words 1 3 6 9 19 idle ;;
	CONDITION) _xvtrace_words crash event loss still ;;
	URI) _xvtrace_words qemu:///system qemu:///session ;;
	DIR) _filedir -d ;;
	*[a-z]\|[a-z]*) _xvtrace_words "${1//|/ }" ;;
	REGION | SOCKET | SOCK | PATH | FILE | OUT | CONFIG) _filedir ;;
	esac
}

# What stands where an option does not: the words of the command's usage, in capitals
_xvtrace_argument() {
	local usage=$1 first=$2
	if [[ $usage == *' | '* && $first -eq 1 ]]; then
		_xvtrace_words "$(tr '|' '\n' <<<"$usage" | awk '{ print $1 }')"
		return
	fi
	if [[ $first -eq 1 && ${usage%% *} == [a-z]*\|* ]]; then
		_xvtrace_value "${usage%% *}"
		return
	fi
	case " ${usage//-o FILE.xvt/} " in
	*'MACHINE...'*) ((first == 1)) || _xvtrace_words "$(_xvtrace_machines)" ;;
	*' DOMAIN '*) _xvtrace_value DOMAIN ;;
	*' '*FILE.xvt*' OUT '*) ((first > 1)) && _filedir || _xvtrace_value FILE.xvt ;;
	*' PATH '* | *' REGION '* | *' FILE '*) _filedir ;;
	*' FILE.xvt'* | *' [FILE.xvt'*) _xvtrace_value FILE.xvt ;;
	esac
}

_xvtrace() {
	local cur prev words cword split long letter value arguments='' options=() takes='' i n=0
	_init_completion -n =: || return

	if ((cword == 1)); then
		_xvtrace_words "$("${words[0]}" --complete 2>/dev/null | cut -f 1)" help version --help --version
		return
	fi
	if [[ ${words[1]} == help ]]; then
		((cword > 2)) || _xvtrace_words "$("${words[0]}" --complete 2>/dev/null | cut -f 1)"
		return
	fi
	for ((i = 2; i < cword; i++)); do
		if [[ ${words[i]} == -- ]]; then
			_command_offset $((i + 1))
			return
		fi
	done

	# --NAME=VALUE is one word here.
	if [[ $cur == --*=* ]]; then
		prev=${cur%%=*}
		cur=${cur#*=}
		split=yes
	fi
	while IFS=$'\x1f' read -r long letter value; do
		case $long in
		arguments) arguments=$letter ;;
		*)
			options+=("$long" $letter)
			if [[ $value && ($prev == "$long" || $prev == "$letter") ]]; then
				takes=$value
			fi
			# How many arguments were there before: neither options nor their values.
			if [[ $value ]]; then
				for ((i = 2; i < cword; i++)); do
					[[ ${words[i]} != "$long" && ${words[i]} != "$letter" ]] || n=$((n - 1))
				done
			fi
			;;
		esac
	done < <("${words[0]}" --complete "${words[1]}" 2>/dev/null | tr '\t' '\037')
	if [[ $takes ]]; then
		_xvtrace_value "$takes"
	elif [[ $split ]]; then
		:
	elif [[ $cur == -* ]]; then
		_xvtrace_words "${options[@]}"
	else
		for ((i = 2; i <= cword; i++)); do
			[[ ${words[i]} == -* ]] || n=$((n + 1))
		done
		_xvtrace_argument "$arguments" $n
	fi
}
complete -F _xvtrace xvtrace
