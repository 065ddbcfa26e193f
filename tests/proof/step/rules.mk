# SPDX-License-Identifier: GPL-2.0
# The compiled writer, interrupted and killed at every instruction. What is stepped (target.c
# and shared/) is built by each compiler at each level, for each way to reserve; the harness
# around it once for each way. No sanitizer: their code would be stepped too.

STEP = $(BUILD)/tests/proof/step
STEP_RINGS = cas xadd
STEP_CCS = gcc clang
STEP_LEVELS = O0 O2 O3
STEP_CFLAGS = -std=gnu11 -g $(XVT_WARN) -MMD -MP -Ishared -Itests/step
STEP_RING_cas =
STEP_RING_xadd = -DXVT_RING_XADD
STEP_HARNESS = step scenario world oracle crash vcpu
STEP_SHARED = $(notdir $(basename $(wildcard shared/*.c)))
STEP_PROGRAMS = $(foreach r,$(STEP_RINGS),$(foreach c,$(STEP_CCS),$(STEP)/step-$(r)-$(c)-$(1)))

# step_harness RING
define step_harness
$(STEP)/$(1)/%.o: tests/proof/step/%.c
	$$(call say,CC,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(STEP_CFLAGS) -O2 $$(STEP_RING_$(1)) -c -o $$@ $$<
endef

# step_target RING COMPILER LEVEL. Bound at once (-z now): the first call of memcpy() would
# else step through the dynamic linker.
define step_target
$(STEP)/$(1)-$(2)-$(3)/%.o: tests/proof/step/%.c
	$$(call say,CC,$$< ($(1), $(2) -$(3)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2) $$(STEP_CFLAGS) -$(3) $$(STEP_RING_$(1)) -c -o $$@ $$<

$(STEP)/$(1)-$(2)-$(3)/%.o: shared/%.c
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2) $$(STEP_CFLAGS) -$(3) $$(STEP_RING_$(1)) -c -o $$@ $$<

$(STEP)/step-$(1)-$(2)-$(3): $(STEP_HARNESS:%=$(STEP)/$(1)/%.o) \
		$(patsubst %,$(STEP)/$(1)-$(2)-$(3)/%.o,target $(STEP_SHARED))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -Wl,-z,now -o $$@ $$^
endef

$(foreach r,$(STEP_RINGS),$(eval $(call step_harness,$(r))) \
	$(foreach c,$(STEP_CCS),$(foreach l,$(STEP_LEVELS),$(eval $(call step_target,$(r),$(c),$(l))))))

$(STEP)/judge: tests/proof/step/judge.c $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -MF $@.d -o $@ $< $(HOST_LIB_OBJ) $(HOST_LIBS)

-include $(wildcard $(STEP)/*.d $(STEP)/*/*.d)

TEST_TOOLS += $(call STEP_PROGRAMS,O2) $(STEP)/judge

# Every level, both clocks, a storm at each address: some minutes.
PROOFS += proof-step
.PHONY: proof-step
proof-step: $(foreach l,$(STEP_LEVELS),$(call STEP_PROGRAMS,$(l))) $(STEP)/judge $(BUILD)/xvtrace
	$(Q)STEP_LEVELS="$(STEP_LEVELS)" STEP_EVERY=1 bash tests/proof/step/t_step.sh
