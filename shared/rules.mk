# SPDX-License-Identifier: GPL-2.0 OR MIT
# The freestanding core, built twice: for this machine's programs, and without a C library, to
# see that it needs nothing but the four functions that every compiler may call.

SHARED_SRC = $(wildcard shared/*.c)
SHARED_OBJ = $(SHARED_SRC:%.c=$(BUILD)/%.o)
SHARED_BARE_OBJ = $(SHARED_SRC:shared/%.c=$(BUILD)/bare/%.o)

$(BUILD)/shared/%.o: shared/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -c -o $@ $<

$(BUILD)/bare/%.o: shared/%.c
	$(call say,BARE,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 $(XVT_WARN) -MMD -MP -ffreestanding -nostdlib -fno-builtin -Ishared -c -o $@ $<

.PHONY: check-freestanding
check-freestanding: $(SHARED_BARE_OBJ)
	$(Q)tests/check-freestanding.sh $(CC) $(SHARED_BARE_OBJ)

-include $(SHARED_OBJ:.o=.d) $(SHARED_BARE_OBJ:.o=.d)
