#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# machine: builds
# shellcheck disable=SC2317
# libxvtrace as it is installed: its names, what it needs, and a program that is built with it.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

so=$BUILD/libxvtrace.so
header=host/lib/xvtrace.h

functions() { grep -oE '\bxvtrace_[a-z_]+\(' "$header" | tr -d '(' | sort -u; }
exported() { nm -D --defined-only "$1" | sed -n 's/.* T \(xvtrace_[a-z_]*\)@@XVTRACE_.*/\1/p' | sort; }
# No name that is not in the header, and none of it without a version.
only_those() { [ "$(nm -D --defined-only "$so" | grep -vc ' A XVTRACE_')" = "$(functions | wc -l)" ]; }
global_in_archive() { nm -g --defined-only "$BUILD/libxvtrace.a" | sed -n 's/.* [A-Z] \(.*\)$/\1/p' | sort; }
documented() {
	local f
	# The page has the setters of a reader as `xvtrace_reader_machine`, `_cpu`, ...
	for f in $(functions); do
		grep -qE "\`($f|_${f#xvtrace_reader_})(\`|\(\))" docs/libxvtrace.3.md || { echo "no $f" && false; } || return 1
	done
}
needed() { readelf -d "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; }

check "the header declares functions" [ "$(functions | wc -l)" -ge 25 ]
check "the shared library has those, with a version" diff <(functions) <(exported "$so")
check "and no others" only_those
check "the static library has those and no others" diff <(functions) <(global_in_archive)
check "libxvtrace(3) names each" documented
needed >"$work/needed"
check "it needs the C library and libzstd, and nothing else" \
	eval "! grep -vE '^(libc|ld-linux|ld64|libzstd|libasan|libubsan)[.-]' $work/needed"

# Where it is installed, found by pkg-config.
check "make install" env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install BUILD="$BUILD" \
	DESTDIR="$work/root" PREFIX=/opt/x >"$work/out" 2>&1
lib=$work/root/opt/x/lib
config() {
	PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=prefix="$work/root/opt/x" \
		--define-variable=libdir="$lib" "$@" libxvtrace
}
cc="${CC:-gcc} ${ASAN:+-fsanitize=address,undefined} -Wall -Wextra -Werror"
# shellcheck disable=SC2046,SC2086
build() { $cc "$@" $(config --cflags); }
# shellcheck disable=SC2046
check "the example is built with the shared library" \
	build docs/examples/reader.c -o "$work/shared" $(config --libs)
# shellcheck disable=SC2046
check "and with the static one" build docs/examples/reader.c -o "$work/static" "$lib/libxvtrace.a" \
	$(config --libs --static | sed 's/-lxvtrace//')
check "it has less than 60 lines" [ "$(wc -l <docs/examples/reader.c)" -lt 60 ]
check "the header is C++, too" "${CXX:-g++}" -x c++ -Wall -Wextra -Werror -fsyntax-only "$header"
echo 'int xvt_trace_close(void *); int main(void) { return xvt_trace_close(0); }' >"$work/hidden.c"
# shellcheck disable=SC2046
check "an inner name cannot be linked" eval "! build $work/hidden.c -o $work/hidden $(config --libs) 2>$work/out"
check "nor that of the static library" \
	eval "! build $work/hidden.c $lib/libxvtrace.a -o $work/hidden $(config --libs --static | sed 's/-lxvtrace//') 2>$work/out"

# The kept trace; the silences once more from the lines of `report`, by the machine and CPU in them.
trace=tests/abi/trace-v2.xvt
from_report() {
	"$xvtrace" report -q --no-reclock "$trace" | awk '{
		split($1, at, ".")
		ns = $2 in second ? (at[1] - second[$2]) * 1000000000 + at[2] - nano[$2] : 0
		if (ns > 1000000)
			printf "%s %s silent for %.0f ns\n", $1, $2, ns
		second[$2] = at[1]
		nano[$2] = at[2]
	}'
}
LD_LIBRARY_PATH=$lib "$work/shared" "$trace" 1 >"$work/silent"
check "the example finds silences" [ -s "$work/silent" ]
check "the same as the lines of report show" diff <(sed 's/, then .*//' "$work/silent") <(from_report)
check "the static program says the same" cmp "$work/silent" <("$work/static" "$trace" 1)
check "no file is an error with a text" \
	eval "! $work/static $work/none 1 2>$work/err && grep -q 'No such file' $work/err"
[ $failures -eq 0 ]
