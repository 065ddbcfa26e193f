# SPDX-License-Identifier: GPL-2.0
# Manual pages, made of docs/ by lowdown (Debian package lowdown). Without it none are made or
# installed, and the build says so once.

MAN = $(BUILD)/man
MAN_WRITTEN = $(patsubst docs/%.md,$(MAN)/%,$(wildcard docs/*.[1-8].md))
# Documents that are pages of the manual, too.
MAN_OTHERS = $(addprefix $(MAN)/,xvtrace-guest.7 xvtrace-tutorial.7 xvtrace-quickstart.7 xvtrace-operations.7) \
	     $(MAN)/xvt-region.5 $(MAN)/xvt-guest.8
MAN_PAGES = $(MAN_WRITTEN) $(MAN_OTHERS)
MAN_MAKER = docs/man/page.sh docs/man/page.awk docs/README.md
MAN_HERE := $(shell command -v lowdown 2>/dev/null)

.PHONY: man
man: $(if $(MAN_HERE),$(MAN_PAGES),man-missing)

.PHONY: man-missing
man-missing:
	@echo 'man: no manual pages are made: lowdown is missing (apt-get install lowdown)' >&2

# $(1): arguments of page.sh
make_page = $(Q)mkdir -p $(@D) && XVT_VERSION=$(XVT_VERSION) docs/man/page.sh $(1) >$@.new && mv $@.new $@

$(MAN_WRITTEN): $(MAN)/%: docs/%.md $(MAN_MAKER)
	$(call say,MAN,$@)
	$(call make_page,$<)

$(MAN)/xvtrace-guest.7: docs/guest.md
$(MAN)/xvtrace-quickstart.7: docs/quickstart.md
$(MAN)/xvtrace-operations.7: docs/operations.md
$(MAN)/xvtrace-tutorial.7: docs/tutorial.md
$(MAN)/xvt-region.5: docs/writing-a-writer.md
$(filter-out %/xvt-guest.8,$(MAN_OTHERS)): $(MAN_MAKER)
	$(call say,MAN,$@)
	$(call make_page,$(filter-out $(MAN_MAKER),$^) $(@F))

$(MAN)/xvt-guest.8: docs/guest.md $(MAN_MAKER)
	$(call say,MAN,$@)
	$(call make_page,$< $(@F) 'switch on the events of a guest and send names to the host' xvt-guest)
