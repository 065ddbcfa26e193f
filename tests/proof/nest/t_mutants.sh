#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each mutant of mutants.txt is caught, for each back-end that it has; and each rule of the
# oracle has caught something.
#
#   t_mutants.sh            stop each mutant after a few wrong schedules
#   t_mutants.sh --table    count all wrong schedules of the configuration that catches it
set -u
cd "$(dirname "$0")/../../.."
export BUILD=${BUILD:-build}
. tests/proof/nest/mutant.sh
stop=-w50
[ "${1:-}" = --table ] && stop=
failed=0 rules=" "

# one NUMBER RING
one() {
	local number=$1 ring=$2 dir program config row broken
	dir=$BUILD/tests/proof/nest/mutants/$ring-${m_name[number]}
	program=$BUILD/tests/proof/nest/xvt-nest-$ring
	if [ -n "${m_file[number]}" ]; then
		if ! mutant_build "$number" "$ring" "$dir"; then
			echo "not ok - mutant ${m_name[number]} ($ring) cannot be built"
			return 1
		fi
		program=$dir/xvt-nest
	fi
	for config in ${m_config[number]}; do
		# shellcheck disable=SC2086
		row=$("$program" $stop ${m_options[number]} -t "$ring ${m_name[number]}" "$config" 2>&1) && continue
		case $row in
		'| '*) ;;
		*)
			echo "$row"
			break
			;;
		esac
		broken=${row%|*} # the table's last column
		broken=${broken##*|}
		rules="$rules$broken "
		if [ -z "$stop" ]; then
			echo "$row ${m_what[number]} |"
		else
			echo "ok - mutant ${m_name[number]} ($ring) is caught by${broken% }: ${m_what[number]}"
		fi
		return 0
	done
	echo "not ok - mutant ${m_name[number]} ($ring) survives: ${m_what[number]}"
	return 1
}

mutants_read tests/proof/nest/mutants.txt || exit 1
for ((number = 0; number < ${#m_name[@]}; number++)); do
	for ring in cas xadd; do
		case ${m_ring[number]} in both | "$ring") one "$number" $ring || failed=1 ;; esac
	done
done
# (time-interval, the rule of the historic algorithms, is t_history.sh's.)
for rule in $(grep -oE '"(N[0-9]+-[a-z]+|endless)"' tests/proof/nest/table.c | tr -d '"'); do
	case $rules in
	*" $rule "*) ;;
	*)
		echo "not ok - no mutant breaks rule $rule first: it has caught nothing yet"
		failed=1
		;;
	esac
done
[ $failed -eq 0 ] && echo "ok - every rule has caught a mutant"
exit $failed
