# SPDX-License-Identifier: GPL-2.0 OR MIT
# One Check program for shared/ and guest/user; see README here for running one case.

UNIT_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/unit/*.c))

$(BUILD)/tests/unit/%.o: tests/unit/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -Iguest/user $(shell pkg-config --cflags check) -c -o $@ $<

$(BUILD)/tests/unit-check: $(UNIT_OBJ) $(BUILD)/shared/xvt_reader.o $(BUILD)/libxvt.a
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(CHECK_LIBS)

-include $(UNIT_OBJ:.o=.d)
