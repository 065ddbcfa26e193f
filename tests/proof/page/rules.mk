# SPDX-License-Identifier: GPL-2.0
# The clock page: writer and readers at the same time, in processes and, under ThreadSanitizer, in
# threads; and the suite of tests/unit/clock/test_page.c alone, in which t_page.sh puts mutants.

PAGE = $(BUILD)/tests/proof/page
PAGE_SRC = host/clock/page.c host/clock/host_clock.c host/trace/lines.c host/base/vec.c host/base/lock.c host/base/user.c \
	   host/base/time.c
PAGE_HOST = $(PAGE_SRC:%.c=$(BUILD)/%.o)

$(PAGE)/%.o: tests/proof/page/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CHECK_CFLAGS) -Itests/unit -c -o $@ $<

$(PAGE)/page-check: $(PAGE)/main.o $(BUILD)/tests/unit/clock/test_page.o $(PAGE_HOST)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(CHECK_LIBS)

$(PAGE)/stress: $(PAGE)/stress.o $(PAGE_HOST)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ -lpthread

$(PAGE)/stress-tsan: tests/proof/page/stress.c $(PAGE_SRC)
	$(call say,CC,$< (tsan))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g $(XVT_WARN) -MMD -MP -fsanitize=thread -Ishared -Ihost -o $@ $(filter %.c,$^) -lpthread

-include $(wildcard $(PAGE)/*.d)

# What t_page.sh links a mutant of page.c with.
.PHONY: page-others
page-others:
	@echo $(filter-out %/page.o,$(PAGE_HOST))

PROOFS += proof-page
.PHONY: proof-page
proof-page: test-programs
	$(Q)PAGE_READS=100000000 PAGE_THREADS=10000000 bash tests/proof/page/t_page.sh

TEST_TOOLS += $(PAGE)/stress $(PAGE)/stress-tsan $(PAGE)/page-check
