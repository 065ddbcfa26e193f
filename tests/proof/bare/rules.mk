# SPDX-License-Identifier: GPL-2.0
# Real interrupts at every instruction: xvt-bare runs guest/bare in a micro-VM.

BARE_TEST_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/proof/bare/*.c))

$(BUILD)/tests/proof/bare/%.o: tests/proof/bare/%.c $(FOUND)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -Itests/bare -c -o $@ $<

$(BUILD)/tests/proof/bare/xvt-bare: $(BARE_TEST_OBJ) $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS)

TEST_TOOLS += $(BUILD)/tests/proof/bare/xvt-bare $(BARE_IMAGES)

-include $(BARE_TEST_OBJ:.o=.d)

# Every pair of an IRQ and an NMI, every scenario, both ways to reserve: 20 minutes of CPU time.
.PHONY: proof-bare
proof-bare: $(BUILD)/tests/proof/bare/xvt-bare $(BARE_IMAGES)
	$(Q)tests/proof/bare/t_interrupts.sh all

PROOFS += proof-bare
