#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How the first inputs in corpus.tar.xz were made, by the real tools. Not run by any test: what the
# fuzzers found worth keeping lies beside them. Needs `make test-programs` before.
#   tests/fuzz/seeds.sh DIR
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
out=$1
xvtrace=$BUILD/xvtrace mktrace=$BUILD/tests/tools/xvt-mktrace
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"/{region,relayed,trace,formats,text,ftrace,kernels}
${CC:-gcc} -O1 -o "$work/seed" tests/fuzz/seed_region.c

# bytes OCTAL-ESCAPES...: what fuzz_region.c reads
bytes() { printf "$(printf '%s' "$@")"; }

# --- region: as real programs leave one
"$xvtrace" region create "$work/new" --size 64K --rings 1 --subbuf-size 1K
"$work/seed" 0 8 "$work/new" >"$out/region/new-record"
"$work/seed" 3 0 "$work/new" >"$out/region/new-show"
for mode in stop overwrite; do
	"$xvtrace" region create "$work/$mode" --size 64K --rings 1 --subbuf-size 1K
	"$BUILD/xvt-emit" "$work/$mode" --count 60 --rate 2000 >/dev/null &
	"$xvtrace" record -q -o "$work/t.xvt" --mode $mode --duration 1 -r "g=$work/$mode"
	wait
	"$work/seed" 2 0 "$work/$mode" >"$out/region/$mode-salvage"
	"$work/seed" 0 16 "$work/$mode" >"$out/region/$mode-record"
	"$work/seed" 1 16 "$work/$mode" >"$out/region/$mode-overwrite"
	"$work/seed" 35 0 "$work/$mode" >"$out/region/$mode-show-json"
done
# --- region: a guest that lives. WHAT SHAPE PASSES CLOCK, then deeds: KIND ... DISTANCE(2)
event='\002\000\003\020\000\020AAAABBBBCCCCDDDD'	# four events of ring 0, id 16
reserve='\003\000\000\020\000\020'
discard='\004\000\001\020\000\030'
meta='\007\001\000\013sched\000ev\000ab'
generation='\010'
soon='\100\000' later='\000\002'
for what in '\014' '\015' '\114'; do
	bytes $what '\001' '\040' '\000' $event $soon $event $later $discard $soon $event $later $meta $later $event $later $event $later \
		$event $later $event >"$out/region/lives-$(printf '%s' "$what" | tr -d '\\')"
done
bytes '\014' '\000' '\060' '\001' $event $later $reserve $soon $event $later $generation $soon $event $later $event $later $generation $later $event >"$out/region/restarts"
bytes '\015' '\044' '\060' '\000' $event $event $event $later $event $event $event $event $event $later $event $event $event $event >"$out/region/overtakes"
bytes '\006' '\002' '\000' '\000' $event '\000\000' $meta '\000\000' $reserve '\000\000' $event >"$out/region/dead-salvage"
# DEED_WORD: word, ring, how, arg
bytes '\014' '\001' '\040' '\000' $event $later '\001\000\000\007\060\000' $soon $event $later '\001\001\000\004\020\000' $later $event >"$out/region/lies"
bytes '\014' '\000' '\040' '\000' $event $later $event $later '\011\100' $later $event >"$out/region/shrinks"
bytes '\014' '\000' '\040' '\000' $event $later '\006\100\234\010' $later $event $later '\006\377\377\030' $later $event >"$out/region/clock-jumps"

# --- relayed: the same with pages: HOW, EVENTS, AGE(2), events
page='\013\000\000\004\001\000\025\025\025\025' other='\013\001\000\002\001\000\145\145'
missed='\013\000\003\002\001\000\025\025\003\000' full='\013\000\007\002\001\000\025\025\002\000'
odd='\013\000\010\002\001\000\025\025\010\000\010\377\377\377\377\377\377\377\377' # a commit word of ones
raw='\013\000\031\001\001\000\025\000\000\004\001\020\000\000'	# a length of 4097
lost='\015\000\003' complete='\014\000\000\000' complete_other='\014\001\000\000' ends='\016\001' killed='\016\000' on='\017'
for shape in '\001' '\005' '\000'; do
	bytes '\014' $shape '\040' '\000' $page $soon $complete $soon $other $soon $complete_other $later $page $later $complete $later \
		$page $later $complete $later $complete_other >"$out/relayed/lives-$(printf '%s' "$shape" | tr -d '\\')"
done
bytes '\014' '\000' '\060' '\000' $page $soon $complete $later $lost $soon $missed $soon $complete $later $lost $soon $full $soon $complete $later \
	$ends >"$out/relayed/losses"
bytes '\014' '\000' '\060' '\000' $page $soon $complete $later $page $soon $killed $later $generation $soon $on $later $page $soon $complete $later \
	$page $soon $ends >"$out/relayed/another-relay"
bytes '\014' '\000' '\040' '\000' $page $soon $complete $later $odd $soon $raw $soon $event $soon $page $soon $complete >"$out/relayed/lies"
bytes '\016' '\000' '\000' '\000' $page '\000\000' $page >"$out/relayed/dead-salvage"
bytes '\017' '\000' '\000' '\000' $page >"$out/relayed/show"

# --- ftrace: PAGES LENGTH(2) a guest's ring, then changes: HOW WHERE(2) VALUE(2 or 6) DISTANCE
${CC:-gcc} -O1 -Itests/unit -o "$work/ring" tests/fuzz/seed_ftrace.c tests/unit/ftrace_ring.c
change='\100\000\000\377\017' head='\102\003\000\001\000'
for ring in "1 4 2 40" "1 4 2 300" "2 4 2 40" "2 5 1 300" "1 3 1 90"; do
	{ "$work/ring" $ring; bytes $change $head $head '\040\001\000\002\000' '\144\002\000\003\000' $change; } >"$out/ftrace/ring-${ring// /-}"
done

# --- kernels: HOW, then an archive of what a kernel says, or a file of the cache
mkdir -p "$work/k/events/sched/sched_switch" "$work/k/events/ftrace/print"
printf 'name: sched_switch\nID: 310\nformat:\n\nprint fmt: ""\n' >"$work/k/events/sched/sched_switch/format"
printf 'name: print\nID: 5\nformat:\n\nprint fmt: ""\n' >"$work/k/events/ftrace/print/format"
printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\00001234567890123456789' >"$work/k/notes"
echo "Linux 6.12.1 #1 SMP x86_64" >"$work/k/uname"
printf '00 T __traceiter_sched_switch\n00 t __traceiter_kvm_exit\t[kvm]\n' >"$work/k/kallsyms"
LC_ALL=C tar -C "$work" --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/k.tar" k
for how in 1 3 5; do
	{ printf "\\00$how"; head -c 9216 "$work/k.tar"; } >"$out/kernels/archive-$how"
done
XVT_FORMATS_DIR=$work/formats "$BUILD/xvtrace" formats -q --import "$work/k"
{ printf '\000'; cat "$work/formats/"*.formats; } >"$out/kernels/cache"

# --- trace: FLAGS REPAIR, then the file
"$mktrace" 1 4 "$work/small.xvt" >/dev/null
"$mktrace" 40 4 "$work/all.xvt" >/dev/null
"$mktrace" 12 3 "$work/killed.xvt" >/dev/null
"$mktrace" 3 6 "$work/bare.xvt" >/dev/null
for repair in 0 1; do
	{ printf '\377\00%d' $repair; cat "$work/small.xvt"; } >"$out/trace/small-$repair"
	{ printf '\177\00%d' $repair; cat "$work/bare.xvt"; } >"$out/trace/bare-$repair"
done
# by the index and compressed
"$BUILD/tests/tools/xvt-bigtrace" ftrace 2 30 "$work/packed.xvt" zstd
"$BUILD/tests/tools/xvt-bigtrace" u64 2 20 "$work/packed-killed.xvt" killed zstd
{ printf '\377\000'; cat "$work/packed.xvt"; } >"$out/trace/packed"
{ printf '\377\001'; cat "$work/packed-killed.xvt"; } >"$out/trace/packed-killed"
{ printf '\140\001'; cat "$work/small.xvt"; } >"$out/trace/indexed"
{ printf '\037\001'; cat "$work/all.xvt"; } >"$out/trace/all"
{ printf '\077\000'; cat "$work/killed.xvt"; } >"$out/trace/killed"
{ printf '\033\000'; head -c 9000 "$work/all.xvt"; } >"$out/trace/cut"
{ printf '\377\001'; cat "$work/t.xvt" | head -c 12000; } >"$out/trace/recorded"
"$xvtrace" region create "$work/loose" --size 64K --rings 2 --subbuf-size 1K
"$xvtrace" record -q -o "$work/loose.xvt" --order later --join-timeout 2 -r "g=$work/loose" -- \
	"$BUILD/xvt-emit" "$work/loose" --rings 2 --count 60 --linger 1 >/dev/null
{ printf '\377\001'; cat "$work/loose.xvt"; } >"$out/trace/loose"

# --- formats: those of the made-up trace, and one for every kind of print fmt. All over one record:
# numbers small enough to be names, dynamic fields (offset, length) that point into it.
record() {
	printf '\115\000\001\000\052\000\000\000' # type, flags, preempt count, pid
	printf '\001\000\000\000\002\000\000\000\003\000\000\000\000\000\000\000' # a b c
	printf '\100\000\010\000\110\000\010\000' # str: 8 bytes at 64; arr: 8 at 72
	printf 'comm-name\000\000\000\000\000\000\000'
	printf '\000\000\000\202\377\377\377\377\000\000\000\201\377\377\377\377'
	printf 'a text\000\000\001\000\002\000\003\000\004\000'
	printf '%0150d' 0
}
rest() { printf '\n%%%%\nffffffff81000000 T start_kernel\nffffffff81000100 t other\t[mod]\n%%%%\n0xffffffff82000000 : "a text\\n"\n%%%%\n'; record; }
strings -n 3 "$work/bare.xvt" "$work/all.xvt" | awk -v out="$out/formats/" '
	/^name: / { file = (seen[$2]++ ? "" : out "real-" $2) }
	file && /^print fmt: / { print "" > file } # strings drops empty lines
	file { print > file }
	file && /common_pid;/ { print "" > file }
	/^print fmt: / { file = "" }'
for f in "$out"/formats/real-*; do rest >>"$f"; done
n=0
while IFS= read -r print; do
	n=$((n + 1))
	{
		printf 'name: ev\nID: 77\nformat:\n'
		printf '\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n' "unsigned short common_type" 0 2 0 \
			"unsigned char common_flags" 2 1 0 "unsigned char common_preempt_count" 3 1 0 "int common_pid" 4 4 1
		printf '\n'
		printf '\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n' "int a" 8 4 1 "u32 b" 12 4 0 "u64 c" 16 8 0 \
			"__data_loc char[] str" 24 4 1 "__data_loc u16[] arr" 28 4 0 "char comm[16]" 32 16 1 \
			"void * text" 48 8 0 "void * func" 56 8 0 "u8 mac[6]" 72 6 0
		printf '\nprint fmt: %s\n' "$print"
		rest
	} >"$out/formats/print-$n"
done <<'PRINTS'
"a=%d b=%u c=%llx %5.2s|%-8s %c %%", REC->a, REC->b, (unsigned long long)REC->c, __get_str(str), REC->comm, 65 + REC->a
"%s", __print_flags(REC->b, "|", { 1, "ONE" }, { 0x2UL, "TWO" }, { (1 << 2), "FOUR" })
"%s %s", __print_symbolic(REC->a, { 0, "ZERO" }, { 1, "ONE" }), REC->a > 1 && REC->b != 2 || !REC->c ? "yes" : "no"
"%s %s", __print_hex(REC->mac, 6), __print_hex_str(REC->mac, sizeof(REC->mac))
"%s len=%d", __print_array(__get_dynamic_array(arr), __get_dynamic_array_len(arr) / 2, 2), (int)__get_dynamic_array_len(arr)
"%pM %pI4 %pS %ps %pf", REC->mac, REC->mac, (void *)REC->func, (void *)REC->func, REC->func
"%s", REC->text
"%s %s", __get_bitmask(arr), __get_cpumask(arr)
"%d %d %d %d", REC->a + 2 * 3 - 1, REC->b % 3, REC->c / 2, ~REC->a ^ (REC->b << 3 | REC->c >> 1 & 7)
"%d %*d %02x:%02x", REC->mac[REC->a], 5, REC->b, REC->mac[0], ((u8 *)__get_dynamic_array(arr))[1]
"%pU %pad %08lx %hhd %zd %#llo", REC->mac, &REC->c, (unsigned long)REC->c, REC->a, REC->c, REC->c
"%s" " and " "more %d\n", __builtin_expect(!!(REC->a), 1) ? __get_str(str) : "", REC->a ?: 7
PRINTS
# --- text
printf '\000-o\nt.xvt\n-r\ng1=/dev/shm/r\n--mode\noverwrite\n--duration\n1.5\n-m\n64M\n--\nls\n-l' >"$out/text/record"
printf '\001--vm\ng1\n--from\n+1.5\nt.xvt\n-n\n7\n--all' >"$out/text/report"
printf '\004--to\nctf\nt.xvt\nout\n-e*sched*' >"$out/text/export"
printf '\006create\nr\n--size\n4M\n--rings=0x10' >"$out/text/region"
printf '\00718446744073.709551615' >"$out/text/seconds"
printf '\011xvt-ping send 1\nxvt-ping recv 1\nxvt-pong send 1\nxvt-pong recv 1\nxvt-ping send 2\n' >"$out/text/marks"
printf '\013a\tb\033[31m\302\205\xff\xed\xa0\x80' >"$out/text/untrusted"
printf '\015aXbc\n!(a == 0x1f && (b < -7 || c & 3)) || comm ~ "a*[b-c]?" && CPU != 1' >"$out/text/filter"
printf '\016output = /t/\nregion = g=/r\n# a comment\nrotate-size = 4M\nfollow = yes\nkeep-time = 0.5\nmode =\n' >"$out/text/configuration"
printf '\036{"version":1,"do":"rotate"}' >"$out/text/request"
printf "\017<domain><devices><shmem name='xvtrace-g1'><model type='ivshmem-plain'/></shmem></devices></domain>" >"$out/text/domain"
find "$out" -type f | wc -l
