# SPDX-License-Identifier: GPL-2.0
# Hostile guests, one kind after the other, beside an honest one: tests/hostile/run.sh.

HOSTILE = $(BUILD)/tests/hostile
HOSTILE_OBJ = $(patsubst %,$(HOSTILE)/%.o,main guest kinds_ring kinds_clock kinds_meta kinds_size kinds_file kinds_bell kinds_relayed)

$(HOSTILE)/%.o: tests/hostile/%.c $(FOUND)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -Itests/hostile -c -o $@ $<

$(HOSTILE)/xvt-hostile: $(HOSTILE_OBJ) $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS)

$(HOSTILE)/xvt-hostile-judge: $(HOSTILE)/judge.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS)

-include $(wildcard $(HOSTILE)/*.d)

HOSTILE_PROGRAMS = $(HOSTILE)/xvt-hostile $(HOSTILE)/xvt-hostile-judge
TEST_TOOLS += $(HOSTILE_PROGRAMS)

# A minute of each kind, with either memory; then a while under AddressSanitizer.
PROOFS += proof-hostile
.PHONY: proof-hostile
proof-hostile: all $(HOSTILE_PROGRAMS)
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan ASAN=1 $(BUILD)/asan/xvtrace
	$(Q)tests/hostile/run.sh --seconds 60
	$(Q)tests/hostile/run.sh --seconds 10 --memory 64M --xvtrace $(BUILD)/asan/xvtrace
