# SPDX-License-Identifier: GPL-2.0
# The nesting explorer over the real writer, once for each back-end. What knows the back-end is
# compiled twice: writer.c, words.c, and the region's set-up.

NEST_SRC = $(addprefix tests/proof/nest/,explore.c world.c oracle.c host.c story.c configs.c table.c main.c)
NEST_OBJ = $(NEST_SRC:%.c=$(BUILD)/%.o) $(BUILD)/shared/xvt_reader.o
NEST_CFLAGS = -std=gnu11 -O2 -g $(XVT_WARN) -MMD -MP $(XVT_SAN) -Ishared
NEST_BOUND = writer.o words.o xvt_region.o

$(BUILD)/tests/proof/nest/%.o: tests/proof/nest/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(NEST_CFLAGS) -c -o $@ $<

# $(1): the back-end; $(2): what tells the compiler.
define NEST_BACKEND
$(BUILD)/tests/proof/nest/$(1)/%.o: tests/proof/nest/%.c
	$$(call say,CC,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(NEST_CFLAGS) $(2) -c -o $$@ $$<

$(BUILD)/tests/proof/nest/$(1)/%.o: shared/%.c
	$$(call say,CC,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(NEST_CFLAGS) $(2) -c -o $$@ $$<

$(BUILD)/tests/proof/nest/xvt-nest-$(1): $$(addprefix $(BUILD)/tests/proof/nest/$(1)/,$$(NEST_BOUND)) $$(NEST_OBJ)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(XVT_LDFLAGS) -o $$@ $$^

TEST_TOOLS += $(BUILD)/tests/proof/nest/xvt-nest-$(1)
endef

$(eval $(call NEST_BACKEND,cas,))
$(eval $(call NEST_BACKEND,xadd,-DXVT_RING_XADD))

# Linux's versions of the same algorithm, right and wrong.
NEST_HISTORY_SRC = $(addprefix tests/proof/nest/,explore.c table.c hist_ring.c hist_reserve.c hist_versions.c hist_main.c)

$(BUILD)/tests/proof/nest/xvt-nest-history: $(NEST_HISTORY_SRC:%.c=$(BUILD)/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^

TEST_TOOLS += $(BUILD)/tests/proof/nest/xvt-nest-history

-include $(wildcard $(BUILD)/tests/proof/nest/*.d $(BUILD)/tests/proof/nest/*/*.d)

# The long configurations and the tables, on all cores.
PROOFS += proof-nest
.PHONY: proof-nest
proof-nest: $(BUILD)/tests/proof/nest/xvt-nest-cas $(BUILD)/tests/proof/nest/xvt-nest-xadd $(BUILD)/tests/proof/nest/xvt-nest-history
	$(Q)bash tests/proof/nest/proof.sh
