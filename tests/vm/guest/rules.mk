# SPDX-License-Identifier: GPL-2.0
# Kernel modules that tests load in a guest. Needs KDIR, as guest/linux/rules.mk does.
# Target: guest-test-module -> $(GUEST_TALK)/xvt_talk.ko

GUEST_TALK := $(BUILD)/guest/talk$(GUEST_SUFFIX)

.PHONY: guest-test-module
guest-test-module:
	@mkdir -p $(GUEST_TALK)
	@ln -sf $(abspath tests/vm/guest/module/Kbuild tests/vm/guest/module/xvt_talk.c) $(GUEST_TALK)/
	+$(Q)$(MAKE) --no-print-directory -C $(KDIR) M=$(abspath $(GUEST_TALK)) CONFIG_DEBUG_INFO_BTF_MODULES= modules
	@$(CROSS_COMPILE)strip --strip-debug $(GUEST_TALK)/xvt_talk.ko
