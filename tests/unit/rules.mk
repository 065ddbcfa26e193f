# SPDX-License-Identifier: GPL-2.0
# Check programs. host-check has the suites of host/, in a folder for each of its folders.
# shared-check has those of shared/ and guest/user, with the writer that reserves by cas;
# shared-xadd-check has them with the other one, whatever RING says.

# --- host/

HOSTT_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/unit/shared_main.c tests/unit/shared/% tests/unit/guest/%,\
	    $(wildcard tests/unit/*.c tests/unit/*/*.c)))
# Between the host's code and these stand tests/unit/faults.c, phase.c, counted.c and
# record/test_compress_idle.c.
HOSTT_WRAPPED = xvt_loop_write xvt_loop_read xvt_loop_run xvt_loop_run_only malloc realloc xvt_packer_new \
	fallocate xvt_ring_set_phase xvt_vm_set_state xvt_counting_walk xvt_compressor_new xvt_compressor_free xvt_compressor_helper \
	xvt_compressor_ask xvt_compressor_answer
HOSTT_WRAP = $(HOSTT_WRAPPED:%=-Wl,--wrap=%)
# test_vm_libvirt.c does things to libvirt's "test" domain.
HOSTT_LIBS = $(shell pkg-config --libs libvirt 2>/dev/null)

$(BUILD)/tests/unit/%.o: tests/unit/%.c $(FOUND)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CHECK_CFLAGS) -Itests/unit -c -o $@ $<

$(BUILD)/tests/host-check: $(HOSTT_OBJ) $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) $(HOSTT_WRAP) -o $@ $^ $(HOST_LIBS) $(HOSTT_LIBS) $(CHECK_LIBS)

-include $(HOSTT_OBJ:.o=.d)

# The long runs of two properties: the order of events, and the bounds of their times. A million
# schedules in ten runs: Check counts the time of a test in 31 bits of microseconds.
PROOFS += proof-order proof-bounds
.PHONY: proof-order
proof-order: $(BUILD)/tests/host-check
	$(Q)for i in 1 2 3 4 5 6 7 8 9 10; do CK_RUN_SUITE=schedules CK_TIMEOUT_MULTIPLIER=100 XVT_SCHEDULES=100000 \
		XVT_SEED_BASE=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')00 $< || exit 1; done

.PHONY: proof-bounds
proof-bounds: $(BUILD)/tests/host-check
	$(Q)CK_RUN_SUITE=bounds CK_TIMEOUT_MULTIPLIER=100 XVT_BOUNDS=1000000 \
		XVT_SEED_BASE=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')00 $<

# --- shared/ and guest/user

SHAREDT_SRC = tests/unit/shared_main.c $(wildcard tests/unit/shared/*.c tests/unit/guest/*.c) guest/user/xvt_user.c \
	   shared/xvt_region.c shared/xvt_check.c shared/xvt_reader.c
SHAREDT_CAS_OBJ = $(SHAREDT_SRC:%.c=$(BUILD)/tests/shared-cas/%.o)
SHAREDT_XADD_OBJ = $(SHAREDT_SRC:%.c=$(BUILD)/tests/shared-xadd/%.o)

$(SHAREDT_CAS_OBJ): XVT_RING =
$(SHAREDT_XADD_OBJ): XVT_RING = -DXVT_RING_XADD

define SHAREDT_CC
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -Iguest/user -Itests/unit/shared $(shell pkg-config --cflags check) -c -o $@ $<
endef

$(BUILD)/tests/shared-cas/%.o: %.c
	$(SHAREDT_CC)

$(BUILD)/tests/shared-xadd/%.o: %.c
	$(SHAREDT_CC)

$(BUILD)/tests/shared-check: $(SHAREDT_CAS_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(CHECK_LIBS)

$(BUILD)/tests/shared-xadd-check: $(SHAREDT_XADD_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(CHECK_LIBS)

-include $(SHAREDT_CAS_OBJ:.o=.d) $(SHAREDT_XADD_OBJ:.o=.d)
