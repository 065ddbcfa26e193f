# SPDX-License-Identifier: GPL-2.0
# Reads `protoc --decode=perfetto.protos.Trace` of an export, and writes a line for each event:
#   TIME VM CPU PID EVENT FIELD=VALUE...    fields in order of their names, newlines as \n
# Fields that the export adds (bound_ns, xvt_flags, xvt_cut, xvt_text) are left out; they and what is no
# event go to the file `beside`, each line beginning with its sort.

function unescape(s,    out, at, c) {
	out = ""
	while ((at = index(s, "\\"))) {
		out = out substr(s, 1, at - 1)
		c = substr(s, at + 1, 1)
		if (c ~ /[0-7]/) {
			out = out sprintf("%c", substr(s, at + 1, 1) * 64 + substr(s, at + 2, 1) * 8 + substr(s, at + 3, 1))
			s = substr(s, at + 4)
			continue
		}
		out = out (c == "n" ? "\\n" : c == "t" ? "\t" : c == "r" ? "\r" : c)
		s = substr(s, at + 2)
	}
	return out s
}

function add_field(name, value) {
	if (name ~ /^(bound_ns|xvt_flags|xvt_cut|xvt_text)$/ && added_by_export) {
		extra = extra " " name "=" value
		return
	}
	if (n && names[n] == name && event == "sys_enter") { # a list
		values[n] = "[" (substr(values[n], 1, 1) == "[" ? substr(values[n], 2, length(values[n]) - 2) : values[n]) "," value "]"
		return
	}
	names[++n] = name
	values[n] = value
	if (name == "prev_pid")
		prev_pid = value
	if (name == "next_pid")
		next_pid = value
}

# The events of a compact_sched. Their tasks are those that ran; infer() finds them.
function put_compact(    i, at, ns) {
	for (i = 1; i <= compact["waking_pid"]; i++) {
		at += compact["waking_timestamp", i]
		ns = sprintf("%.0f", at) # as text, numbers of this size have six digits
		events[++count] = ns " %s " cpu " ? sched_waking comm=" intern[compact["waking_comm_index", i]] " pid=" \
			compact["waking_pid", i] " prio=" compact["waking_prio", i] " target_cpu=" compact["waking_target_cpu", i]
		extras[count] = ns " %s " cpu " flags=" compact["waking_common_flags", i]
	}
	split("", compact)
	interned = 0
}

function put_event(ts, pid, event, kind,    i, j, name, value, line) {
	for (i = 2; i <= n; i++) {
		name = names[i]
		value = values[i]
		for (j = i - 1; j > 0 && names[j] > name; j--) {
			names[j + 1] = names[j]
			values[j + 1] = values[j]
		}
		names[j + 1] = name
		values[j + 1] = value
	}
	# Tasks "not traced" are the export's own.
	if (event == "sched_switch" && (next_pid + 0 > 4194304 || prev_pid + 0 > 4194304)) {
		print "gap " ts " " prev_pid " " next_pid > beside
		n = 0
		return
	}
	line = " " pid " " event
	for (i = 1; i <= n; i++)
		line = line " " names[i] "=" values[i]
	if (kind == "instant") {
		instant = line
	} else {
		events[++count] = ts " %s " cpu line
		extras[count] = ts " %s " cpu extra
	}
	n = 0
}

{
	key = $1
	sub(/:$/, "", key)
	value = $0
	sub(/^[^:]*: /, "", value)
	if (value ~ /^"/)
		value = unescape(substr(value, 2, length(value) - 2))
}
/^ *[0-9]+[:{ ]/ { print "unknown field " $0 > beside }
/\{$/ {
	path[++depth] = $1
	if (depth == 2 && $1 == "track_event")
		added_by_export = 1
}
$1 == "}" {
	if (path[depth] == "field" || path[depth] == "debug_annotations")
		add_field(name, held)
	if (depth == 3 && path[3] == "event")
		put_event(ts, pid, event, "ftrace")
	if (depth == 3 && path[3] == "compact_sched")
		put_compact()
	if (depth == 1) {
		for (i = 1; i <= count; i++) {
			printf events[i] "\n", vm[machine]
			printf "event " extras[i] "\n", vm[machine] > beside
		}
		count = 0
		if (track_event == "TYPE_INSTANT" && sort[track] == "messages") {
			print "message " packet_ts " " on[track] instant " " flow > beside
		} else if (track_event == "TYPE_INSTANT") {
			print packet_ts " " on[track] instant
			print "event " packet_ts " " on[track] extra > beside
		} else if (track_event) {
			print track_event " " packet_ts " " on[track] instant " " counter > beside
		}
		if (uuid) {
			split(track_name, part, ":")
			split(part[2], rest, " ")
			sub(/^t/, "", rest[1])
			on[uuid] = part[1] " " rest[1]
			sort[uuid] = rest[2]
			print "track " uuid " " track_name > beside
		}
		if (system_name)
			vm[machine] = system_name
		if (lost)
			print "bundle-after-loss " vm[machine] " " cpu > beside
		if (!sequence)
			print "packet without a sequence" > beside
		if (sequence in begun ? first || flags : !first || flags != 1)
			print "wrong first packet of sequence " sequence > beside
		begun[sequence] = 1
		machine = sequence = flags = first = lost = 0
		track_event = uuid = system_name = instant = counter = extra = flow = ""
	}
	delete path[depth--]
	next
}
depth == 1 && key == "timestamp" { packet_ts = value }
depth == 1 && key == "machine_id" { machine = value }
depth == 1 && key == "trusted_packet_sequence_id" { sequence = value }
depth == 1 && key == "sequence_flags" { flags = value }
depth == 1 && key == "first_packet_on_sequence" { first = 1 }
key == "machine_name" { system_name = value }
path[2] == "track_descriptor" && depth == 2 && key == "uuid" { uuid = value }
path[2] == "track_descriptor" && depth == 2 && key == "name" { track_name = value }
path[2] == "process_tree" && depth == 3 && key == "cmdline" { print "task " value > beside }
path[2] == "clock_snapshot" && key == "clock_id" { clock = value }
path[2] == "clock_snapshot" && key == "timestamp" { print "clock " clock " " value > beside }
path[2] == "ftrace_events" && depth == 2 && key == "cpu" { cpu = value }
path[2] == "ftrace_events" && depth == 2 && key == "lost_events" { lost = 1 }
path[2] == "ftrace_events" && path[3] == "compact_sched" && key == "intern_table" { intern[interned++] = value; next }
path[2] == "ftrace_events" && path[3] == "compact_sched" { compact[key, ++compact[key]] = value; next }
path[2] == "ftrace_events" && depth == 3 && key == "timestamp" { ts = value }
path[2] == "ftrace_events" && depth == 3 && key == "pid" { pid = value; extra = "" }
path[2] == "ftrace_events" && depth == 4 && $2 == "{" { event = $1; added_by_export = $1 == "generic" }
path[2] == "ftrace_events" && depth == 4 && $2 != "{" && event == "generic" && key == "event_name" { generic_name = value }
path[2] == "ftrace_events" && depth == 4 && $2 != "{" && event != "generic" && !added_by_export { add_field(key, value) }
path[2] == "ftrace_events" && depth == 4 && key == "event_name" { event = value }
path[2] == "ftrace_events" && depth == 5 && key == "name" { name = value; held = "" }
path[2] == "ftrace_events" && depth == 5 && key ~ /_value$/ { held = value }
path[2] == "track_event" && depth == 2 && key == "type" { track_event = value }
path[2] == "track_event" && depth == 2 && key == "track_uuid" { track = value }
path[2] == "track_event" && depth == 2 && key == "name" { put_event("", -1, value, "instant") }
path[2] == "track_event" && depth == 2 && key == "flow_ids" { flow = value }
path[2] == "track_event" && depth == 2 && key == "counter_value" { counter = value }
path[2] == "track_event" && depth == 3 && key == "name" { name = value }
path[2] == "track_event" && depth == 3 && key ~ /_value$/ { held = value }
