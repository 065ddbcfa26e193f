# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by tests that compare the formats of an export. Each function below writes the events that one
# reader finds, a line for each:
#   TIME VM CPU PID EVENT FIELD=VALUE...    time in ns, fields in order of their names, newlines as \n
# and needs LC_ALL=C.

# jq 1.6 has numbers of 53 bits, so longer ones become strings.
jsonl_of() { sed -E 's/([:,[])(-?[0-9]{15,})/\1"\2"/g' "$1"; }

# jsonl_events FILE
jsonl_events() {
	# shellcheck disable=SC2016
	jsonl_of "$1" | command jq -r '
		def text: tostring | gsub("\n"; "\\n");
		def value: if type == "array" then "[" + (map(tostring) | join(",")) + "]" else text end;
		"\(.ts_ns) \(.vm) \(.cpu) \(.pid // -1) \(.event)" +
			([.fields | to_entries | sort_by(.key)[] | " \(.key | text)=\(.value | value)"] | add // "")'
}

# raw_events FILE [numbers]: of `report --raw`; with "numbers" without fields that are texts or lists
raw_events() { awk -v numbers="${2:-}" -f tests/fields.awk -f tests/raw.awk "$1"; }

# perfetto_decode: the text of a trace on stdin
perfetto_decode() { protoc --proto_path=host/export --decode=perfetto.protos.Trace host/export/perfetto.proto; }

# perfetto_events TEXT BESIDE: BESIDE gets what is no event, and fields that the export adds
perfetto_events() {
	: >"$2"
	# The task of a compact wake-up is the one that runs there, so ring by ring, as they are in $2.raw.
	awk -v beside="$2" -f tests/perfetto.awk "$1" | tee "$2.raw" | sort -s -k 2,2 -k 3,3n -k 1,1n |
		awk '
			{ ring = $2 " " $3 }
			$4 == "?" { sub(/ \? /, " " running[ring] " ") }
			$5 == "sched_switch" && match($0, / next_pid=-?[0-9]+/) { running[ring] = substr($0, RSTART + 10, RLENGTH - 10) }
			{ print }'
}

# LTTng's names and the kernel's, as the export has them:
#   E NAME KERNEL-NAME EVENT-OF-FIELDS, F EVENT-OF-FIELDS FIELD KERNEL-FIELD (1 for a priority), A the same for a second name
lttng_names() {
	awk '
		/^static const struct xvt_lttng_field / { table = $5; sub(/\[.*/, "", table) }
		/^static const struct xvt_lttng_event / { exit }
		{ $0 = table " " $0 }
		match($0, /PRIO\("[a-z_]+"/) { f = substr($0, RSTART + 6, RLENGTH - 7); print "F", table, f, f, 1 }
		/\{ "[a-z_]+", "/ {
			gsub(/[{},";]/, " ")
			n = split($0, w, " ")
			for (i = 1; w[i] !~ /_pid$|^pid$/; i++) continue
			print "F", table, w[i + 1], w[i], 0
			if (w[i + 2] != "NULL") print "A", table, w[i + 2], w[i], 0
		}' host/export/lttng.c
	sed -nE 's/^	SAME\("[a-z]+", "([a-z_]+)"\),/E \1 \1 NULL/p; s/^	\{ "[a-z]+", "([a-z_]+)", "([a-z_]+)", ([A-Za-z_]+) \},/E \2 \1 \3/p' host/export/lttng.c
}

# ctf_events TEXT BESIDE: of `babeltrace2 --clock-cycles --no-delta`; BESIDE gets the texts of events with addresses
ctf_events() {
	: >"$2"
	awk -v beside="$2" -f tests/fields.awk -f tests/ctf.awk <(lttng_names) "$1"
}

# jsonl_texts FILE: the same texts, in place of fields
jsonl_texts() {
	# shellcheck disable=SC2016
	jsonl_of "$1" | command jq -r 'select(.text) | "\(.ts_ns) \(.vm) \(.cpu) \(.pid // -1) \(.event) \(.text | gsub("\n"; "\\n") | if . == "" then " " else . end)"'
}

# In place of fields, the text of an event as its print format has it; of `report` and of `trace-cmd report -N -t`,
# where plug-ins do not change the text.
#   report_texts FILE, tracecmd_texts FILE
report_texts() {
	sed -En '/^[^ ]+ +[^ ]+ +[^ ]+ LOST /d
		s/^([0-9]+)\.([0-9]{9}) ([^ ]+):([0-9]+) +[^ ]+ .*[^-]-(-?[0-9]+) +([A-Za-z_0-9]+):(.*)$/\1\2 \3 \4 \5 \6\7/p' "$1" | sed 's/ *$//'
}
# In trace.dat a task that is not known has the largest number.
no_task() { sed -E 's/^([^ ]+ [^ ]+ [^ ]+) 2147483647 /\1 -1 /'; }
tracecmd_texts() {
	# It leaves the file's name out after a loss.
	awk '/EVENTS DROPPED\]$/ { file = $1; next } file { $0 = file " " $0; file = "" } { print }' "$1" |
		sed -En 's/^ *([^ ]+)\.dat: .*[^-]-(-?[0-9]+) +\[0*([0-9]+)\] +([0-9]+)\.([0-9]{9}): ([A-Za-z_0-9]+): *(.*)$/\4\5 \1 \3 \2 \6 \7/p' | no_task | sed 's/ *$//'
}

# in_time LINES: whether no time is before that of the line before. Times have 14 digits and more.
in_time() { awk '{ if (length($1) < length(last) || (length($1) == length(last) && "" $1 < "" last)) exit 1; last = $1 }' "$1"; }

# by_ring LINES: as they are, where formats differ in the order of events at the same nanosecond on different rings
by_ring() { sort -s -k 1,1n -k 2,2 -k 3,3n "$1"; }

# first_differences FILE FILE: nothing if they are the same
first_differences() {
	diff "$1" "$2" >"$work/diff" && return
	head -n 6 "$work/diff" | cut -c 1-300 | sed 's/^/# /'
	return 1
}

# -- all of them, of one trace

# same_events TEXT WANT GOT: the events of all rings
same_events() {
	by_ring "$2" >"$work/formats/sorted.want"
	by_ring "$3" >"$work/formats/sorted.got"
	check "$1: the same events" first_differences "$work/formats/sorted.want" "$work/formats/sorted.got"
}

# have TEXT PROGRAM: or a skip
have() {
	command -v "$2" >/dev/null && return
	echo "skip - $1: $2 is not installed"
	return 1
}

formats_of_ctf() {
	have "ctf" babeltrace2 || return
	babeltrace2 --clock-cycles --no-delta "$work/formats/ctf" >"$work/formats/bt" 2>"$work/formats/bt.err"
	check "ctf: babeltrace2 reads it without a warning" test $? -eq 0 -a ! -s "$work/formats/bt.err"
	ctf_events "$work/formats/bt" "$work/formats/ctf.texts" >"$work/formats/ctf.events"
	same_events "ctf, by babeltrace2" "$work/formats/want" "$work/formats/ctf.events"
	jsonl_texts "$work/formats/jsonl" >"$work/formats/texts.want"
	same_events "ctf, texts with the names of addresses" "$work/formats/texts.want" "$work/formats/ctf.texts"
	check "ctf: in order" in_time "$work/formats/ctf.events"
}

formats_of_perfetto() {
	have "perfetto" protoc || return
	perfetto_decode <"$work/formats/pftrace" >"$work/formats/pf.txt" 2>"$work/formats/pf.err"
	check "perfetto: protoc decodes it without a warning" test $? -eq 0 -a ! -s "$work/formats/pf.err"
	perfetto_events "$work/formats/pf.txt" "$work/formats/beside" >"$work/formats/pf.events"
	check "perfetto: no unknown field" eval '! grep -E "^(unknown|wrong|packet)" "$work/formats/beside"'
	same_events "perfetto, by protoc" "$work/formats/want" "$work/formats/pf.events"
}

# formats_by_judge TRACE OPTION...: trace.dat by libtracecmd, field by field
formats_by_judge() {
	local file vm status trace=$1
	shift
	for file in "$work"/formats/dat/*.dat; do
		vm=$(basename "$file" .dat)
		"$xvtrace" export -q --all --format jsonl --vm "$vm" "$@" "$trace" - | "$BUILD/tests/tools/xvt-dat-judge" "$file" >"$work/formats/judge"
		status=$?
		if [ $status -eq 77 ]; then
			echo "skip - dat: libtracecmd reads each event and field of $vm: it is not installed"
			continue
		fi
		sed 's/^/# /' "$work/formats/judge"
		check "dat: libtracecmd reads each event and field of $vm" test $status -eq 0
	done
}

formats_of_dat() {
	local file files=() status
	for file in "$work"/formats/dat/*.dat; do files+=("$file"); done
	formats_by_judge "$@"
	"$BUILD/tests/tools/xvt-kshark" --events "${files[@]}" >"$work/formats/ks.events" 2>"$work/formats/ks.err"
	status=$?
	if [ $status -eq 77 ]; then
		echo "skip - dat: KernelShark's library reads all files as streams: it is not installed"
	else
		check "dat: KernelShark's library reads all files as streams, without a warning" test $status -eq 0 -a ! -s "$work/formats/ks.err"
		raw_events "$work/formats/raw" numbers >"$work/formats/numbers"
		same_events "dat, by KernelShark's library, fields that are numbers" "$work/formats/numbers" "$work/formats/ks.events"
	fi
	have "dat, by trace-cmd" trace-cmd || return
	trace-cmd report -N -t "${files[@]/#/-i}" >"$work/formats/tc" 2>"$work/formats/tc.err"
	check "dat: trace-cmd merges the files without a warning" test $? -eq 0 -a ! -s "$work/formats/tc.err"
	tracecmd_texts "$work/formats/tc" >"$work/formats/tc.events"
	check "dat: in order" in_time "$work/formats/tc.events"
	# What trace-cmd cannot know: names of modes that are no part of the format, and of the function that writes
	# markers. It does not show the module of a function, nor the machine of a thread that runs a vCPU. A machine that
	# is not recorded has such threads, too; they have their own names in both.
	report_texts "$work/formats/text" | sed -E '/ hrtimer_start /s/mode=.*//; s/(function=[A-Za-z0-9_.]+) \[[a-z][a-z0-9_]*\]/\1/g
		s/(comm=)g[0-9]+:vcpu[0-9s]*/\1vcpu/g; s/(comm=)g[0-9]+:/\1/g
		s/(comm=)(ALL CPUs|CPU [0-9]+)\/(TCG|KVM)/\1vcpu/g' >"$work/formats/texts"
	sed -E -i '/ hrtimer_start /s/mode=.*//; s/( print )(0x[0-9a-f]+|tracing_mark_write): /\1/
		s/(comm=)(ALL CPUs|CPU [0-9]+)\/(TCG|KVM)/\1vcpu/g' "$work/formats/tc.events"
	same_events "dat, by trace-cmd, as text" "$work/formats/texts" "$work/formats/tc.events"
}

# all_formats TRACE OPTION...: the part of the trace that the options select, with two machines at least, through every
# format
all_formats() {
	local format
	export LC_ALL=C
	rm -rf "$work/formats"
	mkdir "$work/formats"
	for format in jsonl:jsonl ctf:ctf dat:dat perfetto:pftrace text:text; do
		"$xvtrace" export --format "${format%:*}" "${@:2}" "$1" "$work/formats/${format#*:}" 2>"$work/formats/err"
		check "export --format ${format%:*} says no word" test $? -eq 0 -a ! -s "$work/formats/err"
	done
	jsonl_events "$work/formats/jsonl" >"$work/formats/want"
	check "jsonl: in order" in_time "$work/formats/want"
	"$xvtrace" report --raw "${@:2}" "$1" >"$work/formats/raw"
	raw_events "$work/formats/raw" >"$work/formats/raw.events"
	check "report: the same events in the same order" first_differences "$work/formats/want" "$work/formats/raw.events"
	formats_of_ctf
	formats_of_perfetto
	formats_of_dat "$@"
}
