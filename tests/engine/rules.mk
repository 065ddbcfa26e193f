# SPDX-License-Identifier: GPL-2.0
# The engine's suites are built by tests/rules.mk; this is the long run of the order property.

PROOFS += proof-order
.PHONY: proof-order
proof-order: $(BUILD)/tests/engine-check
	$(Q)CK_RUN_SUITE=order CK_TIMEOUT_MULTIPLIER=100 XVT_SCHEDULES=1000000 \
		XVT_SEED_BASE=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')00 $<
