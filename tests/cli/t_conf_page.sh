#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# docs/xvtrace.conf.5.md has each key of the daemon's configuration, with the form of its value, its
# default, and whether it may be given again, as the program has them. The comparison itself is tried
# on pages that were changed.
set -u
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
page=docs/xvtrace.conf.5.md

# Both as lines "KEY FORM DEFAULT AGAIN"; a default that is no one value is "-".
"$xvtrace" daemon -c /dev/null --show-config >"$work/shown" || exit 1
again() { # KEY: "again", if a configuration may have it twice
	printf '%s = x\n%s = x\n' "$1" "$1" >"$work/conf"
	"$xvtrace" daemon -c "$work/conf" --show-config 2>&1 | grep -q "given twice" && echo once || echo again
}
awk '/^##/ || !NF { next }
	/^# / { sub(/:$/, "", $2); form = $2; next }
	{ print $1, form, $3 == "" ? "-" : $3 }' "$work/shown" | while read -r key rest; do
	# Of a switch, x is no value.
	[[ $rest == 'yes|no '* ]] && echo "$key $rest once" || echo "$key $rest $(again "$key")"
done | sort >"$work/program"
keys_of() { # PAGE
	sed -nE 's/^\*\*([a-z-]+) = ([^ *]+)\*\*(, again for each)? \(default(: [^`]*| `([^`]*)`)\)$/\1 \2 \5|\3/p' "$1" |
		sed 's/ |/ -|/; s/|, again for each$/ again/; s/|$/ once/' | sort
}
same() { keys_of "$1" | diff - "$work/program"; }
check "the program has keys: $(wc -l <"$work/program")" [ "$(wc -l <"$work/program")" -ge 30 ]
check "the page has all of them, as they are" same "$page"
check "each with a sentence" eval '[ "$(grep -A 1 "^\*\*[a-z-]* = " "$page" | grep -c "^: [A-Z]")" -eq "$(wc -l <"$work/program")" ]'
# groups PATTERN PAGE: "GROUP KEY", in the page's order
groups() { sed -nE "s/^### (.*)/\1/p; s/^$1.*/ \2/p" "$2" | awk '!/^ / { group = $0; next } { print group $0 }'; }
sed 's/^## /### /' "$work/shown" >"$work/shown.groups"
groups '([#]?)([a-z-]+) =' "$work/shown.groups" >"$work/program.groups"
check "the program's keys have groups" [ "$(cut -d ' ' -f 1-2 "$work/program.groups" | sort -u | wc -l)" -ge 6 ]
check "the page has the same groups, with the same keys" \
	eval 'groups "(\*\*)([a-z-]+) = " "$page" | sort | diff - <(sort "$work/program.groups")'
check "record(1) has them, too" \
	eval 'sed "s/, \*\*--/\n**--/" docs/xvtrace-record.1.md | groups "(\*\*-.*-|\*\*-)-([a-z-]+)[ *]" /dev/stdin |
		grep -v "^A command" | sort | diff - <(sort "$work/program.groups")'
check "the page of the daemon leads to it" grep -q 'xvtrace\.conf(5)' docs/xvtrace-daemon.8.md

# differs TEXT SED: a page that is changed so is not the same
differs() {
	sed -E "$2" "$page" >"$work/changed.md"
	check "$1 is found" eval '! cmp -s "$page" "$work/changed.md" && ! same "$work/changed.md" >/dev/null'
}
differs "a key that is missing" '/^\*\*keep-free = /d'
differs "a key that there is not" 's/^\*\*keep-free = /**keep-none = /'
differs "another default" 's/^(\*\*keep-size = .*)8G/\19G/'
differs "a default where there is none" 's/^(\*\*control = .*)\(default: .*/\1(default `x`)/'
differs "no default where there is one" 's/^(\*\*mode = .*)\(default .*/\1(default: none)/'
differs "another form of a value" 's/^\*\*mode = stop\|/**mode = start|/'
differs "a list that is called none" 's/^(\*\*qmp = [^,]*), again for each/\1/'
[ $failures -eq 0 ]
