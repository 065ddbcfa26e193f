# SPDX-License-Identifier: GPL-2.0
# Long runs of system tests with real guests.

# Two and three stops beside a starved recorder, and stops at 50 moments of the first second.
.PHONY: proof-stops
proof-stops: test-programs guest
	$(Q)STOPS_ROUNDS=12 STOPS_MOMENTS=50 tests/vm/t27_stops_of_a_starved_recorder.sh
PROOFS += proof-stops
