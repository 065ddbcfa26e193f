# SPDX-License-Identifier: GPL-2.0
# Reads `protoc --decode=perfetto.protos.Trace` of an export, and writes a line for each place at which
# Perfetto's importer would take an event wrongly, or complain: RULE WHERE. Lines of `facts` are for rules that
# need them in order: switch MACHINE CPU TIME NUMBER PREV_PID PREV_COMM NEXT_PID NEXT_COMM, ...
#   names=1: the trace has the kernels' names and all functions' symbols

function bad(rule, where) { print rule " " where }

# The text of a field, without its quotes.
function text(s) {
	sub(/^[^:]*: "?/, "", s)
	sub(/"$/, "", s)
	return s
}

function begin_packet() {
	machine = 0
	sequence = flow = track = uuid = descriptor = track_type = packet_ts = ""
	has_system = 0
	split("", system_has)
}

# A packet's machine and sequence stand behind its events, so they are kept until its end.
function end_event() {
	if (kind == "sched_switch") {
		gsub(/ /, "_", of["prev_comm"])
		gsub(/ /, "_", of["next_comm"])
		switch_line[++switches] = ts " " ++switch_number " " of["prev_pid"] + 0 " " of["prev_comm"] " " \
			of["next_pid"] + 0 " " of["next_comm"]
	} else if (kind == "print" && of["buf"] !~ /^(E$|E\||[BI]\|[0-9]+\|.|N\|[0-9]+\|[^|]*\|.|[CSF]\|[0-9]+\|[^|]*\|-?[0-9]+$)/) {
		bad("typed-print", of["buf"])
	} else if (kind == "sched_waking" && common_flags == "") {
		bad("waking-without-flags", "at " ts)
	}
	kinds[kind]
	for (f in functions)
		if ((f in of) && of[f] != "0")
			called[kind " " of[f]] = of[f]
}

function end_bundle(    i) {
	for (i = 1; i <= switches; i++)
		print "switch " machine " " cpu " " switch_line[i] > facts
	for (i in kinds)
		typed[machine " " i]
	for (i in called)
		if (names && !((sequence " " called[i]) in symbol))
			bad("function-without-name", i)
	switches = 0
	split("", kinds)
	split("", called)
}

function end_packet(    i) {
	for (i in iids)
		symbol[sequence " " i]
	split("", iids)
	if (has_events)
		end_bundle()
	machines[machine] += has_events
	has_events = 0
	if (process != "")
		print "process " machine " " process > facts
	if (thread != "")
		print "thread " machine " " thread > facts
	process = thread = ""
	for (i = 1; i <= stats; i++)
		print "lost " phase " " machine " " stat[i] > facts
	stats = 0
	if (has_system) {
		systems[machine] = 1
		for (i in wanted)
			if (system_has[i] == "" && (names || i !~ /^(release|version|machine)$/))
				bad("system", machine " has no " i)
		if (system_has["sysname"] != "Linux")
			bad("system", machine " is " system_has["sysname"])
		print "system " machine " " system_has["machine_name"] " " system_has["num_cpus"] " " \
			system_has["sysname"] " " system_has["release"] " " system_has["machine"] " " system_has["version"] > facts
	}
	if (uuid != "") {
		if ((machine " " parent " " descriptor) in track_names)
			bad("two-tracks", descriptor)
		track_names[machine " " parent " " descriptor]
		name_of[uuid] = descriptor
		track_machine[uuid] = machine
	}
	if (track != "" && flow != "") {
		if (machine || track_machine[track])
			bad("flow-of-a-machine", name_of[track])
		for (i = split(flow, list, " "); i > 0; i--)
			ends[list[i]]++
	}
	if (track != "" && name_of[track] ~ / messages$/ && machine)
		bad("message-of-a-machine", name_of[track])
	if (track != "" && name_of[track] ~ / not on a host CPU$/)
		print "off " machine " " name_of[track] " " track_type " " packet_ts " " slice > facts
	slice = ""
}

BEGIN {
	split("sysname release version machine machine_name num_cpus", w, " ")
	for (i in w)
		wanted[w[i]]
	split("function fun func location caller shrink", w, " ")
	for (i in w)
		functions[w[i]]
	# Entries of which slices are made, and what ends them.
	n = split("irq_handler_entry irq_handler_exit softirq_entry softirq_exit hrtimer_expire_entry hrtimer_expire_exit " \
		"timer_expire_entry timer_expire_exit sys_enter sys_exit workqueue_execute_start workqueue_execute_end " \
		"local_timer_entry local_timer_exit funcgraph_entry funcgraph_exit block_io_start block_io_done " \
		"mm_vmscan_direct_reclaim_begin mm_vmscan_direct_reclaim_end mm_shrink_slab_start mm_shrink_slab_end " \
		"napi_gro_receive_entry napi_gro_receive_exit cpuhp_enter cpuhp_exit " \
		"device_pm_callback_start device_pm_callback_end", w, " ")
	for (i = 1; i < n; i += 2)
		exit_of[w[i]] = w[i + 1]
}
/^ *[0-9]+[:{ ]/ { bad("unknown-field", $0) }
/\{$/ {
	path[++depth] = $1
	if (depth == 1)
		begin_packet()
	if ($1 == "system_info")
		has_system = 1
	if ($1 == "ftrace_events")
		has_events = 1
	if (depth == 3 && $1 == "event") {
		split("", of)
		ts = pid = kind = common_flags = ""
	}
	if (depth == 3 && $1 == "compact_sched")
		split("", compact)
	if (depth == 4 && path[3] == "event")
		kind = $1
	if (depth == 3 && path[2] == "interned_data")
		iid = ""
	next
}
$1 == "}" {
	if (depth == 3 && path[3] == "event")
		end_event()
	if (depth == 3 && path[3] == "compact_sched" && (compact["waking_pid"] != compact["waking_common_flags"] ||
	    compact["waking_pid"] != compact["waking_timestamp"] || compact["waking_pid"] != compact["waking_comm_index"]))
		bad("waking-without-flags", "compact_sched of CPU " cpu)
	if (depth == 3 && path[2] == "ftrace_stats")
		stat[++stats] = of_cpu["cpu"] " " of_cpu["overrun"] " " of_cpu["dropped_events"] " " of_cpu["read_events"]
	if (depth == 3 && path[2] == "interned_data" && iid != "")
		iids[iid]
	if (depth == 1)
		end_packet()
	delete path[depth--]
	next
}
depth == 1 && $1 == "trusted_packet_sequence_id:" { sequence = $2 }
depth == 1 && $1 == "machine_id:" { machine = $2 }
depth == 1 && $1 == "timestamp:" { packet_ts = $2 }
path[2] == "system_info" { system_has[substr($1, 1, length($1) - 1)] = text($0) }
path[2] == "ftrace_events" && depth == 2 && $1 == "cpu:" { cpu = $2 }
path[2] == "ftrace_events" && path[3] == "event" && depth == 3 && $1 == "timestamp:" { ts = $2 }
path[2] == "ftrace_events" && path[3] == "event" && depth == 3 && $1 == "common_flags:" { common_flags = $2 }
path[2] == "ftrace_events" && path[3] == "event" && depth == 4 { of[substr($1, 1, length($1) - 1)] = text($0) }
path[2] == "ftrace_events" && path[3] == "compact_sched" && depth == 3 { compact[substr($1, 1, length($1) - 1)]++ }
path[3] == "processes" && $1 == "pid:" { process = $2 }
path[3] == "processes" && $1 == "ppid:" { process = process " of " $2 }
path[3] == "threads" && $1 == "tid:" { thread = $2 }
path[3] == "threads" && $1 == "tgid:" { thread = thread " in " $2 }
path[2] == "ftrace_stats" && $1 == "phase:" { phase = $2 }
path[2] == "ftrace_stats" && depth == 3 { of_cpu[substr($1, 1, length($1) - 1)] = $2 }
path[2] == "interned_data" && $1 == "iid:" { iid = $2 }
path[2] == "track_descriptor" && depth == 2 && $1 == "uuid:" { uuid = $2; parent = "" }
path[2] == "track_descriptor" && depth == 2 && $1 == "parent_uuid:" { parent = $2 }
path[2] == "track_descriptor" && depth == 2 && $1 == "name:" { descriptor = text($0) }
path[2] == "track_event" && depth == 2 && $1 == "track_uuid:" { track = $2 }
path[2] == "track_event" && depth == 2 && $1 == "type:" { track_type = $2 }
path[2] == "track_event" && depth == 2 && $1 == "flow_ids:" { flow = flow " " $2 }
path[2] == "track_event" && depth == 2 && $1 == "name:" { slice = text($0) }
END {
	for (m in machines)
		if (machines[m] && !(m in systems))
			bad("system", m " has none")
	for (t in typed) {
		split(t, part, " ")
		if ((part[2] in exit_of) && !((part[1] " " exit_of[part[2]]) in typed))
			bad("entry-without-exit", t)
	}
	for (f in ends)
		if (ends[f] != 2)
			bad("flow-of-" ends[f], f)
}
