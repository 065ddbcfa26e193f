# SPDX-License-Identifier: GPL-2.0
# Reads `report --raw`: TIME VM:CPU FLAGS COMM-PID EVENT: FIELD=VALUE... See formats.sh.
$4 == "LOST" { next }
{
	sub(/\./, "", $1)
	time = $1
	at = index($2, ":")
	ring = substr($2, 1, at - 1) " " substr($2, at + 1)
	if (!match($0, /-[0-9]+ +[A-Za-z_0-9]+:( |$)/)) {
		print "no event: " $0
		next
	}
	rest = substr($0, RSTART + 1, RLENGTH - 1)
	split(rest, word, " ")
	sub(/:$/, "", word[2])
	rest = substr($0, RSTART + RLENGTH)
	while (match(rest, /^[A-Za-z_0-9]+=/)) {
		name = substr(rest, 1, RLENGTH - 1)
		rest = substr(rest, RLENGTH + 1)
		value = take_value()
		if (is_number || numbers == "")
			add_field(name, value)
		sub(/^ /, "", rest)
	}
	put_event(time " " ring " " word[1] " " word[2] (rest == "" ? "" : " ? " rest))
}
