# SPDX-License-Identifier: GPL-2.0
# The clock page: one Check program for what it says and how it is read; and writer and readers at the
# same time, in processes and, under ThreadSanitizer, in threads.

PAGE = $(BUILD)/tests/page
PAGE_HOST = $(BUILD)/host/clock/page.o $(BUILD)/host/clock/host_clock.o $(BUILD)/host/trace/lines.o

$(PAGE)/%.o: tests/page/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CHECK_CFLAGS) -c -o $@ $<

$(BUILD)/tests/page-check: $(PAGE)/test_page.o $(PAGE_HOST)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(CHECK_LIBS)

$(PAGE)/stress: $(PAGE)/stress.o $(PAGE_HOST)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ -lpthread

$(PAGE)/stress-tsan: tests/page/stress.c host/clock/page.c host/clock/host_clock.c host/trace/lines.c
	$(call say,CC,$< (tsan))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g $(XVT_WARN) -MMD -MP -fsanitize=thread -Ishared -Ihost -o $@ $(filter %.c,$^) -lpthread

-include $(wildcard $(PAGE)/*.d)

PROOFS += proof-page
.PHONY: proof-page
proof-page: test-programs
	$(Q)PAGE_READS=100000000 PAGE_THREADS=10000000 bash tests/page/t_page.sh

TEST_TOOLS += $(PAGE)/stress $(PAGE)/stress-tsan $(BUILD)/tests/page-check
