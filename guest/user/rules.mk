# SPDX-License-Identifier: GPL-2.0 OR MIT
# The user-space writer: libxvt.a with xvt.h, and xvt-emit to try it with.

USER_TARGETS = $(BUILD)/libxvt.a $(BUILD)/xvt-emit
USER_OBJ = $(BUILD)/guest/user/xvt_user.o $(BUILD)/shared/xvt_region.o $(BUILD)/shared/xvt_check.o

$(BUILD)/guest/user/%.o: guest/user/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -Iguest/user -c -o $@ $<

$(BUILD)/libxvt.a: $(USER_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/xvt-emit: $(BUILD)/guest/user/xvt-emit.o $(BUILD)/libxvt.a
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ -lpthread

-include $(wildcard $(BUILD)/guest/user/*.d)
