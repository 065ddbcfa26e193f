# SPDX-License-Identifier: GPL-2.0
# Simulated guests with crooked clocks, and the judge of their recordings: of the program, the judge
# has the reader library and the structs of the file, and the guests have shared/.

CLOCKS = $(BUILD)/tests/clocks
CLOCKS_PROGRAMS = $(CLOCKS)/guests $(CLOCKS)/judge $(CLOCKS)/offset $(CLOCKS)/starve

$(CLOCKS)/%.o: tests/clocks/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(XVT_CFLAGS) -Ishared -Ihost -Itests/clocks -c -o $@ $<

$(CLOCKS)/guests: $(patsubst %,$(CLOCKS)/%.o,guests clock clock_kinds) $(SHARED_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ -lm

CLOCKS_JUDGE = $(patsubst %,$(CLOCKS)/%.o,judge facts reference clock clock_kinds)
$(CLOCKS)/judge: $(CLOCKS_JUDGE) $(BUILD)/libxvtrace.a
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ -lzstd -lm

$(CLOCKS)/offset: $(patsubst %,$(CLOCKS)/%.o,offset facts) $(BUILD)/libxvtrace.a
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ -lzstd -lm

$(CLOCKS)/starve: $(CLOCKS)/starve.o
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^

-include $(wildcard $(CLOCKS)/*.d)

TEST_TOOLS += $(CLOCKS_PROGRAMS)

PROOFS += proof-histories
.PHONY: proof-histories
proof-histories: $(CLOCKS_PROGRAMS)
	$(Q)XVT_HISTORIES=100000 bash tests/clocks/t_histories.sh

# How mutants.sh compiles a file of host/ and links host-check, as variables of the shell.
.PHONY: clock-mutants-build
clock-mutants-build:
	@echo 'compile="$(CC) $(filter-out -MMD -MP,$(HOST_CFLAGS))"'
	@echo 'link="$(CC) $(XVT_LDFLAGS) $(HOSTT_WRAP)"'
	@echo 'host_check_objects="$(HOSTT_OBJ) $(HOST_LIB_OBJ)"'
	@echo 'libraries="$(HOST_LIBS) $(HOSTT_LIBS) $(CHECK_LIBS)"'

PROOFS += proof-clock-mutants
.PHONY: proof-clock-mutants
proof-clock-mutants: $(BUILD)/tests/host-check
	$(Q)bash tests/clocks/mutants.sh

# Of the code that says where the guests' time went.
PROOFS += proof-analyze-mutants
.PHONY: proof-analyze-mutants
proof-analyze-mutants: $(BUILD)/tests/host-check
	$(Q)TABLE=tests/unit/analyze/mutants.txt bash tests/clocks/mutants.sh

# Of libxvtrace.
PROOFS += proof-reader-mutants
.PHONY: proof-reader-mutants
proof-reader-mutants: $(BUILD)/tests/host-check
	$(Q)TABLE=tests/unit/lib/mutants.txt bash tests/clocks/mutants.sh

# Of what a recorder does beside its session and with relays.
PROOFS += proof-recorder-mutants
.PHONY: proof-recorder-mutants
proof-recorder-mutants: $(BUILD)/tests/host-check
	$(Q)for part in record flight control session; do \
		TABLE=tests/unit/$$part/mutants.txt bash tests/clocks/mutants.sh || exit 1; done
