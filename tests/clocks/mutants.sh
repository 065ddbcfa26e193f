#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Mutants of the code that decides a time and its bound (mutants.txt): each is caught by the suites
# of host-check that its `config` names, or by a case of one (suite:case).
#
#   mutants.sh [NAME...]    all mutants, or those
#   mutants.sh --find ...   each with all suites, quick ones first: what catches it
#   JOBS=2                    mutants at the same time; else as many as there are CPUs
#   TABLE=tests/.../mutants.txt   those of another part of host/
set -u
cd "$(dirname "$0")/../.." || exit
export BUILD=${BUILD:-build}
. tests/proof/nest/mutant.sh
table=${TABLE:-tests/clocks/mutants.txt}
mutants=$BUILD/${table%.txt}
all='clock_rate clock_doubt clock_fit clock_sets clock:map clock:measure looks bound nodes session_looks
	reclock_map ring_place merge stat lib verify snapshot drain_reads session-drain clock:handshake
	reclock schedules bounds'
find=
[ "${1:-}" = --find ] && find=1 && shift

# build_with DIR SOURCE...: DIR/host-check has these files of host/ from DIR, if they are there, and
# all that they include from there.
build_with() {
	# shellcheck disable=SC2154
	local dir=$1 src from objects=" $host_check_objects "
	for src in "${@:2}"; do
		from=host/$src
		[ -f "$dir/$src" ] && from=$dir/$src
		# shellcheck disable=SC2086,SC2154
		${compile%% *} "-I$dir" ${compile#* } -O1 -w -c -o "$dir/${src//\//-}.o" "$from" || return 1
		case $objects in
		*" $BUILD/host/${src%.c}.o "*) ;;
		*) echo "host-check has no host/$src" && return 1 ;;
		esac
		objects=${objects/ "$BUILD/host/${src%.c}.o" / "$dir/${src//\//-}.o" }
	done
	# shellcheck disable=SC2086,SC2154
	$link -o "$dir/host-check" $objects $libraries
}

# caught_by DIR SUITE...: the first that fails says which test did. Returns 1 if none does.
caught_by() {
	local dir=$1 suite rc
	for suite in "${@:2}"; do
		case $suite in *:*) export CK_RUN_CASE=${suite#*:} ;; *) unset CK_RUN_CASE ;; esac
		CK_RUN_SUITE=${suite%:*} CK_VERBOSITY=normal "$dir/host-check" >"$dir/log" 2>&1
		rc=$?
		if [ $rc -ne 0 ]; then
			by=${suite%:*}/$(sed -nE 's/.*:[FE]:[^:]+:([a-z0-9_]+):.*/\1/p' "$dir/log" | head -n 1)
			return 0
		fi
		grep -qE '^100%: Checks: [1-9]' "$dir/log" || { by="no suite $suite" && return 2; }
	done
	return 1
}

# one NUMBER
one() {
	local name=${m_name[$1]} file=${m_file[$1]} dir by='' suites=${m_config[$1]}
	dir=$mutants/$name
	rm -rf "$dir"
	mkdir -p "$dir/${file%/*}"
	cp "host/$file" "$dir/$file"
	[ -n "$find" ] && suites=$all
	# shellcheck disable=SC2086
	if ! mutant_apply "$1" none "$dir" || ! build_with "$dir" ${m_options[$1]:-$file}; then
		echo "not ok - mutant $name cannot be built"
		return 1
	fi
	# shellcheck disable=SC2086
	caught_by "$dir" $suites
	case $? in
	0) echo "ok - mutant $name is caught by $by: ${m_what[$1]}" ;;
	1) echo "not ok - mutant $name SURVIVED: ${m_what[$1]}" && return 1 ;;
	*) echo "not ok - mutant $name: $by" && return 1 ;;
	esac
	rm -rf "$dir"
}

# of_make GOAL: whatever make called this script
of_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory -s "BUILD=$BUILD" "$1"
}

mutants_read $table || exit 1
of_make "$BUILD/tests/host-check" >&2 || exit 1
commands=$(of_make clock-mutants-build) && eval "$commands" || exit 1
mkdir -p "$mutants"
rm -f "$mutants/failed"
# A mutant fails within the first ones, and the series need not be longer than that.
export XVT_BOUNDS=${XVT_BOUNDS:-1000} XVT_SCHEDULES=${XVT_SCHEDULES:-1000}
# A suite that fails anyway catches nothing.
ln -sf "$(realpath "$BUILD/tests/host-check")" "$mutants/host-check"
# shellcheck disable=SC2046
caught_by "$mutants" $(printf '%s\n' ${find:+$all} "${m_config[@]}" | tr ' ' '\n' | sort -u)
if [ $? -ne 1 ]; then
	echo "not ok - without a mutant: $by fails"
	exit 1
fi
echo "ok - without a mutant all suites pass"
tried=0
for ((number = 0; number < ${#m_name[@]}; number++)); do
	[ $# -eq 0 ] || case " $* " in *" ${m_name[number]} "*) ;; *) continue ;; esac
	while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]; do
		wait -n
	done
	{ one $number || touch "$mutants/failed"; } &
	tried=$((tried + 1))
done
wait
[ $tried -gt 0 ] || { echo "not ok - no such mutant" && exit 1; }
[ ! -e "$mutants/failed" ]
