# SPDX-License-Identifier: GPL-2.0
# Kinds of suites: Check programs (unit, host, engine), shell tests of the command line
# (cli), proofs of the ring (one folder each), system tests with real guests (vm) and under real KVM (lab).
# tests/run.sh runs them, times them, counts them. A folder's rules.mk adds what it builds to
# TEST_TOOLS, and its long run, a phony target, to PROOFS.

include $(wildcard tests/*/rules.mk)

CHECK_CFLAGS = $(HOST_CFLAGS) $(shell pkg-config --cflags check 2>/dev/null)
CHECK_LIBS = $(shell pkg-config --libs check 2>/dev/null) -lm -lrt -lpthread

ENGINE_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/engine/*.c))

$(BUILD)/tests/engine/%.o: tests/engine/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CHECK_CFLAGS) -Itests/engine -c -o $@ $<

$(BUILD)/tests/engine-check: $(ENGINE_OBJ) $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS) $(CHECK_LIBS)

-include $(ENGINE_OBJ:.o=.d)

# Programs that tests call: they read or make traces, so they are built from the host's parts.
TEST_TOOLS += $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/tools/*.c))

$(BUILD)/tests/tools/%: tests/tools/%.c $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -MF $@.d -o $@ $< $(HOST_LIB_OBJ) $(HOST_LIBS)

# A writer, so of the guest's parts alone.
$(BUILD)/tests/tools/xvt-relay: tests/tools/xvt-relay.c $(BUILD)/libxvt.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) $(XVT_LDFLAGS) -Ishared -Iguest/user -MF $@.d -o $@ $^ -lpthread

# The writer that docs/writing-a-writer.md shows: made from the ABI alone.
TEST_TOOLS += $(BUILD)/tests/tools/xvt-example-writer

$(BUILD)/tests/tools/xvt-example-writer: docs/examples/writer.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) $(XVT_LDFLAGS) -Ishared -MF $@.d -o $@ $<

-include $(wildcard $(BUILD)/tests/tools/*.d)

FAST_SUITES = $(BUILD)/tests/unit-check $(BUILD)/tests/host-check $(BUILD)/tests/engine-check
TEST_TOOLS += $(USER_TARGETS)

.PHONY: test-programs
test-programs: all $(FAST_SUITES) $(TEST_TOOLS)

# No root, no guests, no network, under a minute.
check: test-programs check-freestanding
	$(Q)tests/run.sh fast

# Kernel module (with either back-end), guest tools and guest image.
.PHONY: guest
guest:
	$(Q)qemu/guest-packages.sh
	$(Q)eval "$$(qemu/guest-packages.sh --print)" && $(MAKE) --no-print-directory KDIR="$$KDIR" guest-module guest-test-module guest-tools && \
		$(MAKE) --no-print-directory KDIR="$$KDIR" RING=xadd GUEST_LINUX=$(BUILD)/guest/linux-xadd$(GUEST_SUFFIX) guest-module
	$(Q)qemu/build-image.sh

# make test SUITE=name runs that alone: any name that tests/run.sh knows. CASE=name with it: one case.
ifeq ($(origin SUITE),command line)
test:
	$(Q)$(MAKE) --no-print-directory test-programs
	$(if $(filter vm vm/% lab lab/%,$(SUITE)),$(Q)$(MAKE) --no-print-directory guest)
	$(if $(filter lab lab/%,$(SUITE)),$(Q)qemu/lab-image.sh)
	$(Q)tests/run.sh $(SUITE:%=%$(CASE:%=:%))
else
test: setup
	$(Q)$(MAKE) --no-print-directory compile-both test-programs check-freestanding
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan ASAN=1 all
	$(Q)$(MAKE) --no-print-directory guest
	$(Q)tests/run.sh fast proofs vm
endif

# One suite or case of a Check program under gdb: see tests/debug.sh.
debug: test-programs
	$(Q)GDB='$(or $(GDB),gdb)' PROGRAM='$(PROGRAM)' tests/debug.sh "$(SUITE)" "$(CASE)"

# The guests have real KVM beneath them, in a machine that make lab builds. Not part of make test:
# where the CPUs are emulated it takes longer than all the rest of it.
lab: setup
	$(Q)$(MAKE) --no-print-directory all $(addprefix $(BUILD)/tests/tools/,xvt-samples xvt-raw xvt-shift)
	$(Q)$(MAKE) --no-print-directory guest
	$(Q)qemu/lab-image.sh
	$(Q)tests/run.sh lab

# Everything that takes long. Not part of make test.
proof: setup
	$(Q)$(MAKE) --no-print-directory all test-programs
	$(Q)$(MAKE) --no-print-directory $(PROOFS)

demo: setup
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(MAKE) --no-print-directory guest
	$(Q)tests/demo.sh
