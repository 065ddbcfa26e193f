# SPDX-License-Identifier: GPL-2.0
# Benchmarks print tables and store what they measured; no test depends on them.

# One program with the writer in it four times: each back-end, with the CPU's clock and with a
# counter in its place. See bench/writer_loops.h.
BENCH_CAS = $(BUILD)/bench/loops-cas-tsc.o $(BUILD)/bench/loops-cas-counter.o
BENCH_XADD = $(BUILD)/bench/loops-xadd-tsc.o $(BUILD)/bench/loops-xadd-counter.o

$(BENCH_CAS): XVT_RING =
$(BENCH_XADD): XVT_RING = -DXVT_RING_XADD
$(BUILD)/bench/loops-%-counter.o: BENCH_CLOCK = -DLOOPS_COUNTER

$(BENCH_CAS) $(BENCH_XADD): bench/writer_loops.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) $(BENCH_CLOCK) -Ishared -Ibench -c -o $@ $<

$(BUILD)/bench/%.o: bench/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -Ibench -c -o $@ $<

BENCH_OBJ = $(BUILD)/bench/bench_writer.o $(BUILD)/bench/writer_peers.o $(BENCH_CAS) $(BENCH_XADD)

$(BUILD)/bench/writer: $(BENCH_OBJ) $(SHARED_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ -lpthread

-include $(BENCH_OBJ:.o=.d)

bench: $(BUILD)/bench/writer $(BUILD)/bench/microvm $(BUILD)/bench/clock $(BUILD)/bench/stamp $(BUILD)/bench/move $(BUILD)/bench/engine $(BUILD)/tests/tools/xvt-bell $(BUILD)/tests/tools/xvt-say bench-reader
	$(Q)bench/writer.sh $(BUILD)
	$(Q)$(BUILD)/bench/microvm $(BUILD)/bench/microvm.json
	$(Q)$(BUILD)/bench/clock $(BUILD)/bench/clock.json
	$(Q)$(BUILD)/bench/stamp $(BUILD)/bench/stamp.json
	$(Q)$(BUILD)/bench/move $(BUILD)/bench/move.bytes $(BUILD)/bench/move.json
	$(Q)$(BUILD)/bench/engine $(BUILD)/bench/engine.xvt $(BUILD)/bench/engine.json
	$(Q)bench/host.sh $(BUILD)
	$(Q)bench/idle.sh $(BUILD)
	$(Q)bench/trigger.sh $(BUILD)

# The same event at CPL 3 of a micro-VM; and how well its clock can be known.
$(BUILD)/bench/microvm $(BUILD)/bench/clock $(BUILD)/bench/stamp $(BUILD)/bench/move: $(BUILD)/bench/%: bench/bench_%.c $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -MF $@.d -o $@ $< $(HOST_LIB_OBJ) $(HOST_LIBS)

-include $(wildcard $(BUILD)/bench/microvm.d $(BUILD)/bench/clock.d $(BUILD)/bench/stamp.d $(BUILD)/bench/move.d)

# The engine over machines that are not there, see bench/guests.h.
$(BUILD)/bench/engine: bench/bench_engine.c bench/guests.c bench/merge_limit.c $(wildcard bench/*.h) $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(XVT_LDFLAGS) -Ibench -MF $@.d -o $@ $(filter %.c,$^) $(HOST_LIB_OBJ) $(HOST_LIBS)

# The reading side beside babeltrace2 and trace-cmd.
.PHONY: bench-reader
bench-reader: $(BUILD)/xvtrace $(BUILD)/tests/tools/xvt-bigtrace $(BUILD)/tests/tools/xvt-ftrace-pages $(BUILD)/tests/tools/xvt-story $(BUILD)/tests/tools/xvt-read
	$(Q)bench/reader.sh $(BUILD)
