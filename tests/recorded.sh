#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# recorded.sh SOCKET MACHINE...: waits until the recorder at this socket has events of each of these machines. A recorder
# that is ended before says rightly that no event came of one, and exits 1; a fixed --duration may be over before, too. It
# may also be the command that a recorder runs, which then ends with it. Five minutes are for what hangs.
#
#   RECORDED_EVENTS=1     so many of each, whose times are known
set -u
. "$(dirname "$0")/jq.sh"
socket=$1
shift
until "${BUILD:-build}/xvtrace" status --json --control "$socket" 2>/dev/null |
	jq -e '[.recorders[0].vms[] | select([.rings[] | .events - .unconfirmed] | add >= $least).name] as $have | $ARGS.positional - $have == []' \
		--argjson least "${RECORDED_EVENTS:-1}" --args "$@" >/dev/null 2>&1; do
	[ $SECONDS -lt 300 ] || exit 1
	sleep 0.05
done
