# SPDX-License-Identifier: GPL-2.0 OR MIT
# One Check program for shared/ and guest/user, built with each of the two back-ends whatever
# RING says: unit-check (cas) and unit-xadd-check. See README here for running one case.

UNIT_SRC = $(wildcard tests/unit/*.c) guest/user/xvt_user.c \
	   shared/xvt_region.c shared/xvt_check.c shared/xvt_reader.c
UNIT_CAS_OBJ = $(UNIT_SRC:%.c=$(BUILD)/tests/unit-cas/%.o)
UNIT_XADD_OBJ = $(UNIT_SRC:%.c=$(BUILD)/tests/unit-xadd/%.o)

$(UNIT_CAS_OBJ): XVT_RING =
$(UNIT_XADD_OBJ): XVT_RING = -DXVT_RING_XADD

define UNIT_CC
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -Iguest/user $(shell pkg-config --cflags check) -c -o $@ $<
endef

$(BUILD)/tests/unit-cas/%.o: %.c
	$(UNIT_CC)

$(BUILD)/tests/unit-xadd/%.o: %.c
	$(UNIT_CC)

$(BUILD)/tests/unit-check: $(UNIT_CAS_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(CHECK_LIBS)

$(BUILD)/tests/unit-xadd-check: $(UNIT_XADD_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(CHECK_LIBS)

TEST_TOOLS += $(BUILD)/tests/unit-xadd-check

-include $(UNIT_CAS_OBJ:.o=.d) $(UNIT_XADD_OBJ:.o=.d)
