# SPDX-License-Identifier: GPL-2.0 OR MIT
# The bare-metal guest: one flat image for each way to reserve. x86-64 only, as its start-up and
# the micro-VM that runs it are. xvtrace carries the image of its own $(RING) inside.

ifeq ($(shell $(CC) -dumpmachine | cut -d- -f1),x86_64)
BARE_IMAGES = $(BUILD)/guest/bare/cas.bin $(BUILD)/guest/bare/xadd.bin
BARE_IMAGE_OBJ = $(BUILD)/guest/bare/image.o
endif

# No red zone, because interrupts use the stack below; no vector registers, because
# interrupts do not save them. Addresses are small and fixed.
BARE_CFLAGS = -std=gnu11 -O2 -g $(XVT_WARN) -MMD -MP -ffreestanding -fno-pic -fno-stack-protector \
	      -mno-red-zone -mgeneral-regs-only -Ishared -Iguest/bare
BARE_OBJ = start.o cpu.o mem.o event.o main.o xvt_region.o xvt_check.o

$(BUILD)/guest/bare/cas/%: BARE_RING =
$(BUILD)/guest/bare/xadd/%: BARE_RING = -DXVT_RING_XADD

# Rules for one back-end: $(1) is its name.
define bare_rules
$(BUILD)/guest/bare/$(1)/%.o: guest/bare/%.c
	$$(call say,BARE,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(BARE_CFLAGS) $$(BARE_RING) -c -o $$@ $$<

$(BUILD)/guest/bare/$(1)/%.o: shared/%.c
	$$(call say,BARE,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(BARE_CFLAGS) $$(BARE_RING) -c -o $$@ $$<

$(BUILD)/guest/bare/$(1)/%.o: guest/bare/%.S
	$$(call say,BARE,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) -c -o $$@ $$<

$(BUILD)/guest/bare/$(1).elf: guest/bare/link.ld $(BARE_OBJ:%=$(BUILD)/guest/bare/$(1)/%)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -nostdlib -static -Wl,--build-id=none -Wl,-T,guest/bare/link.ld -o $$@ \
		$$(filter %.o,$$^)

$(BUILD)/guest/bare/$(1).bin: $(BUILD)/guest/bare/$(1).elf
	$$(Q)objcopy -O binary $$< $$@
endef
$(eval $(call bare_rules,cas))
$(eval $(call bare_rules,xadd))

# The image as an object that a program links: symbols xvt_bare_image and xvt_bare_image_end.
$(BARE_IMAGE_OBJ): guest/bare/image.S $(BUILD)/guest/bare/$(RING).bin
	$(call say,CC,$<)
	$(Q)$(CC) -DIMAGE='"$(BUILD)/guest/bare/$(RING).bin"' -c -o $@ $<

-include $(wildcard $(BUILD)/guest/bare/*/*.d)
