# SPDX-License-Identifier: GPL-2.0
# Part of the top-level Makefile. Needs $(BUILD), and knows
#   KDIR     kernel to build against (headers package); default: the running one's
#   FLAVOUR  of Debian's kernel; here it only names the output folder
# Targets: guest-module -> $(GUEST_LINUX)/xvtrace.ko, guest-tools -> $(BUILD)/guest/bin/*

FLAVOUR ?= amd64
KDIR ?= /lib/modules/$(shell uname -r)/build
# Objects of one kernel are of no use to another.
GUEST_SUFFIX := $(if $(filter-out amd64,$(FLAVOUR)),-$(FLAVOUR))
GUEST_LINUX := $(BUILD)/guest/linux$(GUEST_SUFFIX)

GUEST_MODULE_SRC := $(wildcard guest/linux/*.c guest/linux/*.h) guest/linux/Kbuild \
	$(wildcard shared/*.h) shared/xvt_region.c shared/xvt_check.c

# kbuild leaves its objects beside the sources, so it gets links in the build folder. Made anew each time: a
# link to a file that is gone would be compiled no longer, but would not be noticed either.
.PHONY: guest-module
guest-module: $(GUEST_MODULE_SRC)
	@test -d "$(KDIR)" || { echo "KDIR=$(KDIR): no such folder; install the kernel's headers, or give KDIR" >&2; exit 1; }
	@mkdir -p $(GUEST_LINUX)
	@find $(GUEST_LINUX) -maxdepth 1 -type l -delete
	@ln -sf $(abspath $(GUEST_MODULE_SRC)) $(GUEST_LINUX)/
	@# No BTF: headers that ship the kernel's own would need pahole for it.
	+$(MAKE) --no-print-directory -C $(KDIR) M=$(abspath $(GUEST_LINUX)) XVT_CCFLAGS="$(XVT_RING) $(XVT_CCFLAGS)" \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	@# 2 MB of debug information are not for a guest's initramfs.
	@$(CROSS_COMPILE)strip --strip-debug $(GUEST_LINUX)/xvtrace.ko

GUEST_TOOLS := $(patsubst guest/linux/tools/%.c,$(BUILD)/guest/bin/%,$(wildcard guest/linux/tools/*.c))

.PHONY: guest-tools
guest-tools: $(GUEST_TOOLS)

# The relay is a part of xvt-guest.
RELAY_SRC := $(wildcard guest/linux/relay/*.c) shared/xvt_region.c shared/xvt_check.c
$(BUILD)/guest/bin/xvt-guest: $(RELAY_SRC) $(wildcard guest/linux/relay/*.h shared/*.h)
$(BUILD)/guest/bin/xvt-guest: $(BUILD)/version
$(BUILD)/guest/bin/xvt-guest: GUEST_TOOL_SRC = -pthread -DXVT_VERSION='"$(XVT_VERSION)"' $(RELAY_SRC)

# Static by default: the guest's file system may be a bare busybox.
GUEST_TOOLS_LINK ?= -static
$(BUILD)/guest/bin/%: guest/linux/tools/%.c guest/linux/tools/marker.h shared/xvt_abi.h shared/xvt_port.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -Ishared $(CPPFLAGS) $(CFLAGS) $< $(GUEST_TOOL_SRC) $(LDFLAGS) $(GUEST_TOOLS_LINK) -o $@
