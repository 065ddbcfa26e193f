# SPDX-License-Identifier: GPL-2.0
# Reads lttng_names, then `babeltrace2 --clock-cycles --no-delta`:
#   [TIME] VM EVENT: { cpu_id = N }, { tid = N, ... }, { FIELD = VALUE, ... }
# Events and fields get the kernel's names back. The texts that the export adds go to the file `beside`.
# See formats.sh.
NR == FNR {
	if ($1 == "E") {
		kernel[$2] = $3
		table[$2] = $4
	} else {
		field[$2, $3] = $1 == "A" ? "" : $4
		priority[$2, $3] = $5
	}
	next
}
{
	time = substr($1, 2)
	sub(/\]$/, "", time)
	sub(/^0+/, "", time)
	vm = $2
	at = index($0, ": { cpu_id = ")
	match(substr($0, 1, at), /[^ ]+$/)
	event = substr($0, RSTART, at - RSTART)
	sub(/:$/, "", event)
	fields = event in table ? table[event] : ""
	if (event in kernel)
		event = kernel[event]
	else if (event ~ /^syscall_(entry|exit)_/) {
		sub(/^syscall_entry_/, "sys_enter_", event)
		sub(/^syscall_exit_/, "sys_exit_", event)
	} else
		sub(/^[^:]*:/, "", event)
	rest = substr($0, at + 13)
	cpu = rest + 0
	at = index(rest, "{ tid = ")
	rest = substr(rest, at + 8)
	pid = rest + 0
	at = index(rest, "}, { ")
	rest = at ? substr(rest, at + 5) : ""
	while (match(rest, /^[A-Za-z_0-9]+ = /)) {
		name = substr(rest, 1, RLENGTH - 3)
		rest = substr(rest, RLENGTH + 1)
		value = take_value()
		sub(/^, /, "", rest)
		if (value ~ /^\[/) {
			gsub(/\[[0-9]+\] = /, "", value)
			gsub(/ /, "", value)
		}
		# The field that a second name is of has a name of its own, too.
		if ((fields, name) in field) {
			if (priority[fields, name])
				value += 100
			name = field[fields, name]
		}
		if (name == "xvt_text") {
			print time, vm, cpu, pid, event, value >beside
			continue
		}
		if (name != "")
			add_field(name, value)
	}
	put_event(time " " vm " " cpu " " pid " " event (rest == "" || rest == " }" ? "" : " ? " rest))
}
