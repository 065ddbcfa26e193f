# SPDX-License-Identifier: GPL-2.0
# Benchmarks print tables and store what they measured; no test depends on them.

$(BUILD)/bench/writer: bench/bench_writer.c $(SHARED_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -MF $@.d -o $@ $^

-include $(BUILD)/bench/writer.d

bench: $(BUILD)/bench/writer
	$(Q)$(BUILD)/bench/writer $(BUILD)/bench/writer.json
