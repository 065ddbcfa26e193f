# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the libraries of the tests. jq 1.6 says "true" (-e, exit 0) where it read nothing at all: a
# program that failed in front of it would pass for one that gave the right answer.

jq() {
	local out rc
	case " $* " in
	*" -e "*) ;;
	*)
		command jq "$@"
		return
		;;
	esac
	out=$(command jq "$@")
	rc=$?
	[ -n "$out" ] || return 4
	printf '%s\n' "$out"
	return $rc
}
