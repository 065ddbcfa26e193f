# SPDX-License-Identifier: GPL-2.0
# Fuzz targets: each fuzz_NAME.c, with the host's real sources, built for three drivers:
#   libfuzzer   clang -fsanitize=fuzzer
#   afl         afl-clang-fast, whose own driver calls the same function in persistent mode
#   plain       no fuzzer: a main() that runs the inputs named; any compiler
# All with AddressSanitizer and UndefinedBehaviorSanitizer. Not part of the programs that `make
# check` builds; tests/fuzz/t_fuzz.sh and `make fuzz` build them.

FUZZ_TARGETS = region relayed trace formats text doorbell ftrace kernels
FUZZ_SECONDS ?= 600
export FUZZ_TARGETS FUZZ_SECONDS

# What reads regions and traces. loop_memory.c replaces the loops.
FUZZ_HOST = $(filter-out host/base/loop.c host/base/loop_uring.c host/base/loop_epoll.c host/cli/main.c host/cli/cmd_doctor.c host/cli/cmd_formats.c host/formats/boot.c host/cli/doctor_guest.c host/doctor/%, \
	$(HOST_SRC)) $(SHARED_SRC)
FUZZ_OWN = $(addprefix tests/fuzz/,fuzz.c guest_memory.c loop_memory.c) tests/unit/ftrace_pages.c

FUZZ_SAN = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FUZZ_CFLAGS = -std=gnu11 -O1 -g $(XVT_WARN) -MMD -MP $(XVT_RING) $(FUZZ_SAN) $(HOST_DEFS) -Ishared -Ihost -Itests/fuzz -Itests/unit \
	$(HOST_PKG_CFLAGS) -include tests/fuzz/guest_memory.h
FUZZ_WRAP = -Wl,--wrap=xvt_host_region_check,--wrap=xvt_ring_attach,--wrap=xvt_relayed_init_ring,--wrap=xvt_vm_wake_ring,--wrap=xvt_vm_wake_used,--wrap=xvt_ring_snapshot_begin,--wrap=xvt_vm_read_metadata,--wrap=xvt_session_snapshot_copying,--wrap=xvt_drain_resync,--wrap=xvt_drain_release,--wrap=xvt_ring_set_phase,--wrap=xvt_vm_set_state

FUZZ_CC_libfuzzer = clang
FUZZ_FLAGS_libfuzzer = -fsanitize=fuzzer-no-link -DXVT_FUZZ_LIBFUZZER
FUZZ_LINK_libfuzzer = -fsanitize=fuzzer
FUZZ_CC_afl = AFL_QUIET=1 afl-clang-fast
FUZZ_FLAGS_afl =
FUZZ_LINK_afl = -fsanitize=fuzzer
FUZZ_CC_plain = $(CC)
FUZZ_MAIN_plain = tests/fuzz/fuzz_main.c
# Which lines do the inputs reach? For people: make fuzz-report.
FUZZ_CC_coverage = clang
FUZZ_FLAGS_coverage = -fprofile-instr-generate -fcoverage-mapping
FUZZ_LINK_coverage = $(FUZZ_FLAGS_coverage)
FUZZ_MAIN_coverage = tests/fuzz/fuzz_main.c

# The known inputs. A folder of them that has changed becomes the archive by `make fuzz-pack`; the
# earlier findings lie in regress/ as files.
FUZZ_KNOWN = $(BUILD)/fuzz/known
CORPUS ?= $(FUZZ_KNOWN)

$(FUZZ_KNOWN): tests/fuzz/corpus.tar.xz
	$(call say,TAR,$@)
	$(Q)rm -rf $@ && mkdir -p $@
	$(Q)tar -C $@ -xf $< && touch $@

.PHONY: fuzz-pack
fuzz-pack:
	$(Q)tests/fuzz/pack.sh '$(CORPUS)' | xz -9e -T1 >tests/fuzz/corpus.tar.xz.new
	$(Q)mv tests/fuzz/corpus.tar.xz.new tests/fuzz/corpus.tar.xz

# fuzz_driver DRIVER
define fuzz_driver
FUZZ_OBJ_$(1) = $$(patsubst %.c,$$(BUILD)/fuzz/$(1)/%.o,$$(FUZZ_HOST) $$(FUZZ_OWN) $$(FUZZ_MAIN_$(1)))

$$(BUILD)/fuzz/$(1)/%.o: %.c $$(FOUND)
	$$(call say,FUZZ,$$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(FUZZ_CC_$(1)) $$(FUZZ_CFLAGS) $$(FUZZ_FLAGS_$(1)) -c -o $$@ $$<

# Does the accesses that the others are made to ask for.
$$(BUILD)/fuzz/$(1)/tests/fuzz/guest_memory.o: FUZZ_CFLAGS += -DXVT_FUZZ_PLAIN

# fuzz_text.c includes vmm/libvirt.c.
$$(BUILD)/fuzz/$(1)/text: $$(BUILD)/fuzz/$(1)/tests/fuzz/fuzz_text.o $$(filter-out %/vmm/libvirt.o,$$(FUZZ_OBJ_$(1)))
# So does fuzz_doorbell.c, vmm/doorbell.c.
$$(BUILD)/fuzz/$(1)/doorbell: $$(BUILD)/fuzz/$(1)/tests/fuzz/fuzz_doorbell.o $$(filter-out %/vmm/doorbell.o,$$(FUZZ_OBJ_$(1)))
# And fuzz_ftrace.c, vmm/ftrace_map.c.
$$(BUILD)/fuzz/$(1)/ftrace: $$(BUILD)/fuzz/$(1)/tests/fuzz/fuzz_ftrace.o $$(filter-out %/vmm/ftrace_map.o,$$(FUZZ_OBJ_$(1)))
$$(BUILD)/fuzz/$(1)/region $$(BUILD)/fuzz/$(1)/relayed $$(BUILD)/fuzz/$(1)/trace $$(BUILD)/fuzz/$(1)/formats $$(BUILD)/fuzz/$(1)/kernels: $$(BUILD)/fuzz/$(1)/%: \
		$$(BUILD)/fuzz/$(1)/tests/fuzz/fuzz_%.o $$(FUZZ_OBJ_$(1))
$$(addprefix $$(BUILD)/fuzz/$(1)/,$$(FUZZ_TARGETS)):
	$$(call say,LD,$$@)
	$$(Q)$$(FUZZ_CC_$(1)) $$(FUZZ_SAN) $$(FUZZ_LINK_$(1)) $$(if $$(filter region relayed,$$(@F)),$$(FUZZ_WRAP)) -o $$@ $$^ $$(HOST_LIBS)

.PHONY: fuzz-$(1)
fuzz-$(1): $$(addprefix $$(BUILD)/fuzz/$(1)/,$$(FUZZ_TARGETS)) $$(FUZZ_KNOWN)
-include $$(FUZZ_OBJ_$(1):.o=.d) $$(wildcard $$(BUILD)/fuzz/$(1)/tests/fuzz/*.d)
endef
$(foreach driver,libfuzzer afl plain coverage,$(eval $(call fuzz_driver,$(driver))))

# Each target that long with each fuzzer there is; fails on a finding.
.PHONY: fuzz fuzz-report fuzz-hour
fuzz:
	$(Q)tests/fuzz/run.sh $(FUZZ_TARGETS)

fuzz-report: fuzz-coverage
	$(Q)tests/fuzz/coverage.sh

fuzz-hour:
	$(Q)FUZZ_SECONDS=3600 tests/fuzz/run.sh $(FUZZ_TARGETS)
PROOFS += fuzz-hour
