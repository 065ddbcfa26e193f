# SPDX-License-Identifier: GPL-2.0
# Kinds of suites: Check programs (unit), shell tests of the command line (cli), proofs of the ring
# (proof, one folder each), system tests with real guests (vm) and under real KVM (vm/lab).
# tests/run.sh runs them, times them, counts them. A folder's rules.mk adds what it builds to
# TEST_TOOLS, and its long run, a phony target, to PROOFS.

include $(wildcard tests/*/rules.mk tests/*/*/rules.mk)

CHECK_CFLAGS = $(HOST_CFLAGS) $(shell pkg-config --cflags check 2>/dev/null)
CHECK_LIBS = $(shell pkg-config --libs check 2>/dev/null) -lm -lrt -lpthread

# Programs that tests call: they read or make traces, so they are built from the host's parts.
# xvt-stop is a library.
TEST_TOOLS += $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(filter-out %/xvt-stop.c,$(wildcard tests/tools/*.c)))
TEST_TOOLS += $(BUILD)/tests/tools/xvt-stop.so

$(BUILD)/tests/tools/%: tests/tools/%.c $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -MF $@.d -o $@ $< $(HOST_LIB_OBJ) $(HOST_LIBS)

# These make the traces of the unit tests.
SYNTH_TOOLS = $(BUILD)/tests/tools/xvt-mktrace $(BUILD)/tests/tools/xvt-shift $(BUILD)/tests/tools/xvt-scene \
	      $(BUILD)/tests/tools/xvt-story $(BUILD)/tests/tools/xvt-parts

$(SYNTH_TOOLS:=.o): $(BUILD)/tests/tools/%.o: tests/tools/%.c $(FOUND)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -Itests/unit -c -o $@ $<

$(SYNTH_TOOLS): %: %.o $(BUILD)/tests/unit/synth.o $(BUILD)/tests/unit/story.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) $(SYNTH_WRAP) -o $@ $^ $(HOST_LIBS)

$(BUILD)/tests/tools/xvt-parts: $(BUILD)/tests/unit/counted.o
$(BUILD)/tests/tools/xvt-parts: SYNTH_WRAP = -Wl,--wrap=xvt_counting_walk

# The memory of a guest, of the unit tests' kernel.
$(BUILD)/tests/tools/xvt-stock-guest: tests/tools/xvt-stock-guest.c $(BUILD)/tests/unit/ftrace_ring.o $(FOUND)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -Itests/unit -MF $@.d -o $@ $< $(BUILD)/tests/unit/ftrace_ring.o

# Two read a trace.dat as others do, where the libraries are installed. libkshark needs json-c, which
# has functions of the same names as jansson.
packages = $(if $(shell pkg-config --exists $(1) 2>/dev/null && echo yes),-D$(2) \
	   $(patsubst -I%,-isystem%,$(shell pkg-config --cflags --libs $(1) 2>/dev/null)))
DAT_TOOLS = $(BUILD)/tests/tools/xvt-dat-judge $(BUILD)/tests/tools/xvt-kshark

$(DAT_TOOLS): $(BUILD)/tests/tools/%: tests/tools/%.c $(FOUND)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -MF $@.d -o $@ $< $(DAT_LIBS)

TRACECMD := $(call packages,libtracecmd jansson,XVT_TRACECMD)
KSHARK := $(call packages,libkshark libtraceevent json-c,XVT_KSHARK)
FOUND_NOW += $(TRACECMD) $(KSHARK)
$(BUILD)/tests/tools/xvt-dat-judge: DAT_LIBS = $(TRACECMD)
$(BUILD)/tests/tools/xvt-kshark: DAT_LIBS = $(KSHARK)

# Writers, so of the guest's parts alone.
$(addprefix $(BUILD)/tests/tools/,xvt-relay xvt-say xvt-many): $(BUILD)/tests/tools/%: tests/tools/%.c $(BUILD)/libxvt.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) $(XVT_LDFLAGS) -Ishared -Iguest/user -MF $@.d -o $@ $< $(BUILD)/libxvt.a -lpthread

# The writer that docs/writing-a-writer.md shows: made from the ABI alone.
TEST_TOOLS += $(BUILD)/tests/tools/xvt-example-writer

$(BUILD)/tests/tools/xvt-example-writer: docs/examples/writer.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) $(XVT_LDFLAGS) -Ishared -MF $@.d -o $@ $<

-include $(wildcard $(BUILD)/tests/tools/*.d)

FAST_SUITES = $(addprefix $(BUILD)/tests/,host-check shared-check shared-xadd-check)
TEST_TOOLS += $(USER_TARGETS)

.PHONY: test-programs
test-programs: all $(FAST_SUITES) $(TEST_TOOLS)

# Traces of 100 MiB that are meant to hurt: tests/cli has them small. Not compressed: what a compressed
# one unpacks to, and so its time, is not bounded by its size.
.PHONY: proof-bad-traces
proof-bad-traces: test-programs
	$(Q)MIB=100 ZSTD_PLANS= tests/cli/t_bad_trace_cost.sh
PROOFS += proof-bad-traces

# 2,000 machines come and go while a recorder rotates its files.
.PHONY: proof-joins
proof-joins: test-programs
	$(Q)JOINS=2000 tests/cli/t_follow.sh
PROOFS += proof-joins

# Each allocation of a recording fails once: tests/cli has one in fifteen.
.PHONY: proof-no-memory
proof-no-memory: test-programs
	$(Q)STEP=1 tests/cli/t_no_memory.sh
PROOFS += proof-no-memory

# Each system call of a recording of two guests fails once: tests/cli has six of each kind.
.PHONY: proof-no-syscall
proof-no-syscall: test-programs
	$(Q)CALLS=0 tests/cli/t_no_syscall.sh
PROOFS += proof-no-syscall

# No root, no guests, no network, a few minutes: three parts at the same time.
.PHONY: check-programs check-others check-quick
check: test-programs check-freestanding
	$(Q)$(MAKE) --no-print-directory -j3 -Otarget check-programs check-others check-quick

check-programs check-others check-quick:
	$(Q)env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tests/run.sh $(@:check-%=%)

# Kernel module (with either back-end), guest tools and guest image.
.PHONY: guest
guest:
	$(Q)qemu/guest-packages.sh
	$(Q)eval "$$(qemu/guest-packages.sh --print)" && $(MAKE) --no-print-directory KDIR="$$KDIR" guest-module guest-test-module guest-tools && \
		$(MAKE) --no-print-directory KDIR="$$KDIR" RING=xadd GUEST_LINUX=$(BUILD)/guest/linux-xadd$(GUEST_SUFFIX) guest-module
	$(Q)qemu/build-image.sh

# What make test builds: by as many jobs as there are CPUs, where no -j says another number.
ALL_CPUS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# make test SUITE=name runs that alone: any name that tests/run.sh knows. CASE=name with it: one case.
ifeq ($(origin SUITE),command line)
test:
	$(Q)$(MAKE) --no-print-directory test-programs
	$(if $(filter vm vm/% lab lab/%,$(SUITE)),$(Q)$(MAKE) --no-print-directory guest)
	$(if $(filter lab lab/% vm/lab vm/lab/%,$(SUITE)),$(Q)qemu/lab-image.sh)
	$(Q)tests/run.sh $(SUITE:%=%$(CASE:%=:%))
else
test: setup
	$(Q)$(MAKE) --no-print-directory $(ALL_CPUS) compile-both test-programs check-freestanding man
	$(Q)$(MAKE) --no-print-directory $(ALL_CPUS) BUILD=$(BUILD)/asan ASAN=1 all
	$(Q)$(MAKE) --no-print-directory $(ALL_CPUS) guest
	$(Q)tests/run.sh --lanes proofs whole vm
endif

# One suite or case of a Check program under gdb: see tests/debug.sh.
debug: test-programs
	$(Q)GDB='$(or $(GDB),gdb)' PROGRAM='$(PROGRAM)' tests/debug.sh "$(SUITE)" "$(CASE)"

# The guests have real KVM beneath them, in a machine that make lab builds. Not part of make test:
# where the CPUs are emulated it takes longer than all the rest of it.
lab: setup
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/tests/clocks/starve \
		$(addprefix $(BUILD)/tests/tools/,xvt-samples xvt-raw xvt-shift xvt-watch xvt-watch-judge)
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

# The program itself, whose parser tries to leave the sandbox.
$(BUILD)/tests/tools/xvt-escape: tests/tools/xvt-escape.c $(BUILD)/host/cli/main.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -Wl,--wrap=xvt_crc32c,--wrap=xvt_sandbox_enter,--wrap=io_uring_queue_init_params -MF $@.d -o $@ $< $(BUILD)/host/cli/main.o $(HOST_LIB_OBJ) $(HOST_LIBS)

# The same without one of its walls.
BREAKOUT = xvt_crc32c xvt_sandbox_enter xvt_library_load xvt_rules_find xvt_place_open xvt_public_open \
	   xvt_public_place xvt_capabilities_keep xvt_limit_memory xvt_limit_files \
	   xvt_limit_files_to_open xvt_isolate xvt_own_user_become unshare chroot

$(BUILD)/tests/tools/xvt-breakout: tests/tools/xvt-breakout.c $(BUILD)/host/cli/main.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) $(BREAKOUT:%=-Wl,--wrap=%) -MF $@.d -o $@ $< $(BUILD)/host/cli/main.o $(HOST_LIB_OBJ) $(HOST_LIBS)

# A library that the dynamic linker puts before the C library.
$(BUILD)/tests/tools/xvt-stop.so: tests/tools/xvt-stop.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -fPIC -shared -MF $@.d -o $@ $< -ldl

# The program itself, one of whose allocations fails.
NO_MEMORY = malloc calloc realloc aligned_alloc strdup strndup open_memstream asprintf mmap

$(BUILD)/tests/tools/xvt-no-memory: tests/tools/xvt-no-memory.c $(BUILD)/host/cli/main.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) $(NO_MEMORY:%=-Wl,--wrap=%) -MF $@.d -o $@ $< $(BUILD)/host/cli/main.o $(HOST_LIB_OBJ) $(HOST_LIBS)
