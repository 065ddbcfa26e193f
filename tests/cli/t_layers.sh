#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# tests/check-layers.sh sees what tests/layers.txt forbids. Each kind of fault is put into a copy of
# the tree once.
set -u
. "$(dirname "$0")/lib.sh"
trap cleanup EXIT

build=$(realpath "$BUILD")
tree=$work/tree

# fresh: a copy of what the check reads
fresh() {
	rm -rf "$tree"
	mkdir -p "$tree/tests" "$tree/docs" "$tree/build/guest/linux"
	cp docs/architecture.md "$tree/docs"
	cp -r host shared guest qemu bench "$tree"
	cp tests/layers.txt tests/check-layers.sh "$tree/tests"
	cp -r "$build/host" "$tree/build"
}

layers() { (cd "$tree" && tests/check-layers.sh build) >"$work/out" 2>&1; }

# caught TEXT: the check fails and says that
caught() {
	! layers && grep -qF "$1" "$work/out" && [ "$(wc -l <"$work/out")" = 1 ] || { cat "$work/out" && false; }
}

fresh
check "the tree as it is passes" layers

echo '#include "session/session.h"' >>"$tree/host/trace/write.c"
check "an include against an arrow is seen" caught \
	"host/trace/write.c includes session/session.h: trace may not use session"

fresh
echo '#include "session/parts.h"' >>"$tree/host/cli/cmd_record.c"
check "an include of a private header is seen" caught \
	"host/cli/cmd_record.c includes session/parts.h, which is private to session/"

fresh
echo '#include "merge.h"' >>"$tree/host/merge/put.c"
check "an include without its folder is seen" caught "an include of host/ names its folder"

fresh
echo 'build/host/trace/write.o: host/ring/ring.h' >>"$tree/build/host/trace/write.d"
check "what the compiler read is seen" caught \
	"an object of trace/ was built with host/ring/ring.h: trace does not reach ring"

fresh
echo 'void xvt_ring_pop(void *r); void call(void); void call(void) { xvt_ring_pop(0); }' |
	${CC:-gcc} -x c -c -o "$tree/build/host/trace/names.o" -
check "a call of a function declared by hand is seen" caught \
	"host/trace/names.o uses xvt_ring_pop() of ring/: trace may not use ring"

fresh
echo '#include <stdio.h>
void say(void); void say(void) { fputs("no", stderr); }' | ${CC:-gcc} -x c -c -o "$tree/build/host/trace/names.o" -
check "a message that cli/ does not print is seen" caught \
	"build/host/trace/names.o uses stderr: messages go through base/log.h; only cli/ prints, and ends the process"

fresh
echo 'void xvt_session_drain(void *s); void xvt_session_note(void); void xvt_session_note(void) { xvt_session_drain(0); }' |
	${CC:-gcc} -x c -c -o "$tree/build/host/session/notes.o" -
check "two files that need each other are seen" caught "files of host/session/ need each other to link: "

fresh
sed -i 's/^base:  /base: trace/' "$tree/tests/layers.txt"
check "a cycle in the table is seen" caught \
	"tests/layers.txt: base uses trace, which does not stand above it"

fresh
mkdir "$tree/host/more"
check "a folder that is not in the table is seen" caught "host/more/ is not in tests/layers.txt"

fresh
echo '#include <liburing.h>' >>"$tree/host/base/socket.c"
check "a second file of an outside library is seen" caught "<liburing> belongs to host/base/loop_uring.c only"

fresh
echo 'void set(struct xvt_ring *r); void set(struct xvt_ring *r) { r->phase = XVT_PHASE_DONE; }' >>"$tree/host/session/scan.c"
check "a phase that is not set by its function is seen" caught \
	"xvt_ring_set_phase() alone changes the phase of a ring"

fresh
read -r file field < <(awk '/^\t\/\* private to / { file = $4; getline; sub(/(\[.*)?;.*/, ""); sub(/^\*/, "", $NF); print file, $NF; exit }' \
	host/ring/ring.h)
part=$(awk -v f="$field" '/^struct xvt_ring_/ { part = substr($2, 10) } $0 ~ "[ *]" f "[;[]" { print part; exit }' host/ring/ring.h)
other=$([ "$file" = drain.c ] && echo place.c || echo drain.c)
echo "int use(struct xvt_ring *r) { return !!r->$part.$field; }" >>"$tree/host/ring/$other"
check "a use of another file's private field ($part.$field of $file) is seen" caught "$part.$field is private to ring/$file"

fresh
echo 'bool use(struct xvt_session *s); bool use(struct xvt_session *s) { return s->vms[0]->request.told; }' \
	>>"$tree/host/session/scan.c"
check "a use of another file's member of a machine is seen" caught "request.told is private to session/request.c"

fresh
echo 'void set(struct xvt_vm *vm); void set(struct xvt_vm *vm) { vm->metadata.pos = 0; }' >>"$tree/host/session/scan.c"
check "a write of another file's member of a machine is seen" caught \
	"metadata.pos is written by session/metadata.c alone"

fresh
echo 'void xvt_core_resume(void); void call(void); void call(void) { xvt_core_resume(); }' |
	${CC:-gcc} -x c -c -o "$tree/build/guest/linux/xvt_meta.o" -
echo 'void xvt_core_resume(void) { }' | ${CC:-gcc} -x c -c -o "$tree/build/guest/linux/xvt_core.o" -
check "a call upwards in the guest's module is seen" caught \
	"guest/linux/xvt_meta.c uses xvt_core_resume of xvt_core.c, which does not stand below it in xvtrace.h"

fresh
touch "$tree/guest/linux/xvt_more.c"
check "a file of the guest's module that is not in its list is seen" caught \
	"guest/linux/xvtrace.h does not list guest/linux/xvt_more.c"

fresh
sed -i 's/^\(| `lib\/` | .*\)`formats\/` /\1/' "$tree/docs/architecture.md"
check "an arrow that docs/architecture.md lacks is seen" caught \
	"docs/architecture.md lacks an arrow of tests/layers.txt: lib formats"

fresh
sed -i -E 's/\b(summary +uses )/\1query /' "$tree/host/README"
check "an arrow that host/README alone has is seen" caught \
	"host/README has an arrow that tests/layers.txt lacks: summary query"

fresh
sed -i 's/doctor\//physician\//g' "$tree/host/README"
check "a folder that host/README does not name is seen" caught "host/README does not name doctor/"
[ $failures -eq 0 ]
