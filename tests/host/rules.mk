# SPDX-License-Identifier: GPL-2.0
# One Check program for the trace file, the decoders and the exports, and two tools that make
# traces for the tests of the command line.

HOSTT_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/host/*.c))
# Between the host's code and these stands tests/host/faults.c.
HOSTT_WRAP = -Wl,--wrap=xvt_loop_write,--wrap=xvt_loop_run,--wrap=xvt_loop_run_only,--wrap=malloc,--wrap=realloc,--wrap=xvt_packer_new,--wrap=fallocate
HOSTT_TOOLS = $(BUILD)/tests/tools/xvt-mktrace $(BUILD)/tests/tools/xvt-shift
TEST_TOOLS += $(HOSTT_TOOLS)

$(BUILD)/tests/host/%.o: tests/host/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CHECK_CFLAGS) -Itests/host -c -o $@ $<

$(BUILD)/tests/host-check: $(HOSTT_OBJ) $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) $(HOSTT_WRAP) -o $@ $^ $(HOST_LIBS) $(CHECK_LIBS)

$(BUILD)/tests/tools/xvt-mktrace.o $(BUILD)/tests/tools/xvt-shift.o: $(BUILD)/tests/tools/%.o: tests/tools/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -Itests/host -c -o $@ $<

$(HOSTT_TOOLS): %: %.o $(BUILD)/tests/host/synth.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS)

-include $(HOSTT_OBJ:.o=.d) $(HOSTT_TOOLS:=.d)

# Traces of 100 MiB that are meant to hurt: tests/cli has them small. Not compressed: what a compressed
# one unpacks to, and so its time, is not bounded by its size.
.PHONY: proof-bad-traces
proof-bad-traces: test-programs
	$(Q)MIB=100 ZSTD_PLANS= tests/cli/t_bad_trace_cost.sh
PROOFS += proof-bad-traces
