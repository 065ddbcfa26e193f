# SPDX-License-Identifier: GPL-2.0
# The program of a guest that `xvtrace formats --kernel` boots. xvtrace carries it inside.

FORMATS_INIT_OBJ = $(BUILD)/guest/formats/image.o

$(BUILD)/guest/formats/init: guest/formats/init.c shared/xvt_init.h shared/xvt_port.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -Os $(XVT_WARN) -Ishared -static -s -o $@ $<

$(FORMATS_INIT_OBJ): guest/formats/image.S $(BUILD)/guest/formats/init
	$(call say,CC,$<)
	$(Q)$(CC) -DIMAGE='"$(BUILD)/guest/formats/init"' -c -o $@ $<
