# SPDX-License-Identifier: GPL-2.0
# Writer and reader at the same time: two processes (the host's own drain code reads), and two
# threads under ThreadSanitizer; for each way to reserve. And the recorder, killed again and again, and for long.

STRESS = $(BUILD)/tests/stress
STRESS_RINGS = cas xadd
STRESS_CFLAGS = -std=gnu11 -O2 -g $(XVT_WARN) -MMD -MP -Ishared -Itests/stress
STRESS_RING_cas =
STRESS_RING_xadd = -DXVT_RING_XADD
STRESS_SHARED = $(notdir $(basename $(wildcard shared/*.c)))

# stress_objects DIRECTORY RING FLAGS
define stress_objects
$(STRESS)/$(1)/%.o: tests/stress/%.c
	$$(call say,CC,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(STRESS_CFLAGS) $(3) $$(STRESS_RING_$(2)) -c -o $$@ $$<

$(STRESS)/$(1)/%.o: shared/%.c
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(STRESS_CFLAGS) $(3) $$(STRESS_RING_$(2)) -c -o $$@ $$<
endef

define stress_programs
$(call stress_objects,$(1),$(1),)
$(call stress_objects,tsan-$(1),$(1),-fsanitize=thread)
$(STRESS)/writer-$(1): $(patsubst %,$(STRESS)/$(1)/%.o,writer load $(STRESS_SHARED))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -o $$@ $$^ -lrt
$(STRESS)/threads-$(1): $(patsubst %,$(STRESS)/tsan-$(1)/%.o,threads load tally $(STRESS_SHARED))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -fsanitize=thread -o $$@ $$^ -lpthread
endef

$(foreach r,$(STRESS_RINGS),$(eval $(call stress_programs,$(r))))

$(STRESS)/host/%.o: tests/stress/%.c $(FOUND)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -Itests/stress -c -o $@ $<

$(STRESS)/reader: $(patsubst %,$(STRESS)/host/%.o,reader tally load) $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS)

$(STRESS)/follow: $(STRESS)/host/follow.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS)

# A library that the dynamic linker puts before the C library's malloc.
$(STRESS)/heap.so: tests/stress/heap.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STRESS_CFLAGS) -Ihost -fPIC -shared -o $@ $<

-include $(wildcard $(STRESS)/*.d $(STRESS)/*/*.d)

STRESS_PROGRAMS = $(STRESS)/reader $(STRESS)/follow $(STRESS)/heap.so $(foreach r,$(STRESS_RINGS),$(STRESS)/writer-$(r) $(STRESS)/threads-$(r))
TEST_TOOLS += $(STRESS_PROGRAMS)

PROOFS += proof-stress
.PHONY: proof-stress
proof-stress: $(STRESS_PROGRAMS)
	$(Q)RECORDER_KILLS=1000 bash tests/stress/t_kill_recorder.sh
	$(Q)STRESS_EVENTS=100000000 STRESS_KILLS=5000 STRESS_THREADS=20000000 bash tests/stress/t_stress.sh

# Each process of a recorder, one in each round, killed or stopped.
PROOFS += proof-kills
.PHONY: proof-kills
proof-kills: test-programs
	$(Q)PROCESS_ROUNDS=500 bash tests/stress/t_kill_processes.sh

PROOFS += proof-soak
.PHONY: proof-soak
proof-soak: test-programs
	$(Q)SOAK_SECONDS=1800 bash tests/stress/t_soak.sh
