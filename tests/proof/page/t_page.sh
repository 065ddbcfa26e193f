#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The clock page under load: no torn read, no reader goes back or hangs; and each mutant of it is
# caught by its tests.
#
#   PAGE_READS=4000000     of each run of processes
#   PAGE_THREADS=100000    of each run of threads under ThreadSanitizer
set -u
cd "$(dirname "$0")/../../.."
export BUILD=${BUILD:-build}
. tests/proof/nest/mutant.sh
reads=${PAGE_READS:-4000000}
threads=${PAGE_THREADS:-100000}
page=$BUILD/tests/proof/page
failed=0

# show TEXT COMMAND...
show() {
	local text=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok - $text: $(tail -1 <<<"$out")"
	else
		echo "not ok - $text"
		echo "$out"
		failed=1
	fi
}

# ThreadSanitizer knows where memory may lie; random addresses may be elsewhere.
plain=
if setarch -R true 2>/dev/null; then plain="setarch -R"; fi

show "versions whose every word is known" "$page/stress" torn "$reads"
show "the recorder's code, wrong samples, pauses" "$page/stress" map "$reads"
show "writers that are killed" "$page/stress" kill $((reads / 4))
show "versions, two threads under ThreadSanitizer" $plain "$page/stress-tsan" threads-torn "$threads"
show "the recorder's code, threads under ThreadSanitizer" $plain "$page/stress-tsan" threads-map "$threads"

others=$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory BUILD="$BUILD" page-others) || exit 1
read -ra others <<<"$others"

# mutant NUMBER
mutant() {
	local dir=$page/mutants/${m_name[$1]} config=${m_config[$1]} limit log by
	log=$dir/log
	mkdir -p "$dir/clock"
	cp host/clock/page.[ch] "$dir/clock"
	# shellcheck disable=SC2046
	if ! mutant_apply "$1" none "$dir" ||
		! ${CC:-gcc} -std=gnu11 -O1 -w -I"$dir" -Ishared -Ihost -Itests/unit -o "$dir/check" tests/unit/clock/test_page.c tests/proof/page/main.c \
			"$dir/clock/page.c" "${others[@]}" \
			$(pkg-config --cflags --libs check) -lm -lrt -lpthread; then
		echo "not ok - mutant ${m_name[$1]} cannot be built"
		return 1
	fi
	case $config in
	hang) limit=2 config=interleaving ;;
	*) limit=600 ;;
	esac
	if CK_TIMEOUT_MULTIPLIER=1 CK_DEFAULT_TIMEOUT=$limit CK_RUN_CASE=$config CK_VERBOSITY=normal \
		"$dir/check" >"$log" 2>&1; then
		echo "not ok - mutant ${m_name[$1]} survives: ${m_what[$1]}"
		return 1
	fi
	by=$(sed -nE 's/.*:[FE]:[a-z]+:([a-z_]+):.*/\1/p' "$log" | sort -u | head -1)
	echo "ok - mutant ${m_name[$1]} is caught by \"${by//_/ }\": ${m_what[$1]}"
}

show "its suite, without a mutant" "$page/page-check"
mutants_read tests/proof/page/mutants.txt || exit 1
for ((number = 0; number < ${#m_name[@]}; number++)); do
	mutant $number || failed=1
done
exit $failed
