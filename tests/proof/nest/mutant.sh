# SPDX-License-Identifier: GPL-2.0
# mutant.sh - read mutants.txt and build mutants; sourced by the tests.
#
# A mutant is made from the real source at build time: a copy of shared/ in which a text is
# replaced that must stand there exactly once. So a mutant cannot rot: when the source changes
# under it, it fails.

# mutants_read FILE: fills the arrays m_name, m_what, m_ring, m_config, m_options, m_file and, for
# each pair of texts, m_find["NUMBER,PAIR"] and m_replace, m_pairs["NUMBER"].
mutants_read() {
	local line number=-1 state=head
	declare -ga m_name=() m_what=() m_ring=() m_config=() m_options=() m_file=() m_pairs=()
	declare -gA m_find=() m_replace=()
	while IFS= read -r line; do
		case $state:$line in
		head:'#'* | head:) ;;
		head:'mutant '*)
			number=$((number + 1))
			m_name[number]=${line#mutant }
			m_pairs[number]=0 m_options[number]= m_file[number]=
			IFS= read -r m_what[number]
			;;
		head:'ring '*) m_ring[number]=${line#ring } ;;
		head:'config '*) m_config[number]=${line#config } ;;
		head:'file '*) m_file[number]=${line#file } ;;
		head:'options '*) m_options[number]=${line#options } ;;
		'head:<<<<')
			state=find
			m_find[$number,${m_pairs[number]}]=
			m_replace[$number,${m_pairs[number]}]=
			;;
		'find:====') state=replace ;;
		find:*) m_find[$number,${m_pairs[number]}]+=$line$'\n' ;;
		'replace:>>>>')
			state=head
			m_pairs[number]=$((m_pairs[number] + 1))
			;;
		replace:*) m_replace[$number,${m_pairs[number]}]+=$line$'\n' ;;
		*)
			echo "mutants.txt: cannot read: $line" >&2
			return 1
			;;
		esac
	done <"$1"
}

# mutant_apply NUMBER RING DIR: DIR gets a copy of shared/ with the mutation in it. Texts are
# whole lines but for the first line's beginning and the last one's end.
mutant_apply() {
	local number=$1 ring=$2 dir=$3 pair find replace text head rest
	local file=${m_file[number]//RING/$ring}
	mkdir -p "$dir"
	cp shared/*.[ch] "$dir"
	text=$(cat "$dir/$file")$'\n'
	for ((pair = 0; pair < m_pairs[number]; pair++)); do
		find=${m_find[$number,$pair]%$'\n'}
		replace=${m_replace[$number,$pair]%$'\n'}
		# Not ${text#*"$find"}: bash would try each end of the text.
		head=${text%%"$find"*}
		rest=${text:${#head}+${#find}}
		if [ "$head" = "$text" ] || [[ $rest = *"$find"* ]]; then
			echo "${m_name[number]}: its text number $((pair + 1)) does not stand exactly once in shared/$file" >&2
			return 1
		fi
		text=$head$replace$rest
	done
	printf '%s' "$text" >"$dir/$file"
}

# mutant_build NUMBER RING DIR: DIR/xvt-nest is the explorer over the mutant.
mutant_build() {
	local number=$1 ring=$2 dir=$3 nest=$BUILD/tests/proof/nest flags
	local reader=$BUILD/shared/xvt_reader.o words=$nest/$ring/words.o
	mutant_apply "$number" "$ring" "$dir" || return 1
	flags="-std=gnu11 -O1 -I$dir -Itests/nest"
	[ "$ring" = xadd ] && flags="$flags -DXVT_RING_XADD"
	# shellcheck disable=SC2086
	case ${m_file[number]} in
	xvt_reader.c) ${CC:-gcc} $flags -c -o "$dir/reader.o" "$dir/xvt_reader.c" && reader=$dir/reader.o ;;
	xvt_check.c) ${CC:-gcc} $flags -c -o "$dir/words.o" tests/proof/nest/words.c && words=$dir/words.o ;;
	esac || return 1
	# shellcheck disable=SC2086
	${CC:-gcc} $flags -c -o "$dir/writer.o" tests/proof/nest/writer.c || return 1
	${CC:-gcc} -o "$dir/xvt-nest" "$dir/writer.o" "$words" "$nest/$ring/xvt_region.o" "$reader" \
		"$nest"/{explore,world,oracle,host,story,configs,table,main}.o
}
