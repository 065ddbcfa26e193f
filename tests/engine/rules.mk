# SPDX-License-Identifier: GPL-2.0
# The engine's suites are built by tests/rules.mk; these are the long runs of the properties of order and bounds.

PROOFS += proof-order proof-bounds
.PHONY: proof-order
proof-order: $(BUILD)/tests/engine-check
	$(Q)CK_RUN_SUITE=order CK_TIMEOUT_MULTIPLIER=100 XVT_SCHEDULES=1000000 \
		XVT_SEED_BASE=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')00 $<

.PHONY: proof-bounds
proof-bounds: $(BUILD)/tests/engine-check
	$(Q)CK_RUN_SUITE=bounds CK_TIMEOUT_MULTIPLIER=100 XVT_BOUNDS=1000000 \
		XVT_SEED_BASE=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')00 $<
