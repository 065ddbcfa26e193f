# SPDX-License-Identifier: GPL-2.0
# What is installed, by hand or by a package: the same set. DESTDIR, PREFIX and LIBDIR as usual.
#
#   install        the tools, their completion, libraries, headers, manual pages and documents;
#                  xvt-guest, if `make guest-tools` has built it
#   uninstall      removes what `install` with the same variables puts there

BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/xvtrace
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

# $(1): sources, $(2): folder
install_data = install -d $(DESTDIR)$(2) && install -m 644 $(1) $(DESTDIR)$(2)

.PHONY: install-tools install-libxvt install-man install-docs install-guest

install: install-tools install-libxvtrace install-libxvt install-man install-docs install-guest

install-tools: all
	install -D -m 755 $(BUILD)/xvtrace $(DESTDIR)$(BINDIR)/xvtrace
	install -D -m 644 packaging/completion.bash $(DESTDIR)$(COMPLETIONDIR)/xvtrace

install-libxvt: all
	$(call install_data,$(BUILD)/libxvt.a,$(LIBDIR))
	$(call install_data,guest/user/xvt.h,$(PREFIX)/include)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(XVT_VERSION)|' \
		guest/user/libxvt.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/libxvt.pc

install-man: man
	$(if $(MAN_HERE),$(foreach s,1 3 5 7 8,$(call install_section,$(s),$(filter %.$(s),$(MAN_PAGES)))))

# $(1): section, $(2): its pages; ends in an empty line, which parts the commands of a recipe
define install_section
$(if $(2),$(call install_data,$(2),$(MANDIR)/man$(1)))

endef

install-docs:
	$(call install_data,$(filter-out docs/README.md,$(wildcard docs/*.md)),$(DOCDIR))
	$(call install_data,$(wildcard docs/examples/*.c),$(DOCDIR)/examples)

install-guest:
	$(if $(wildcard $(BUILD)/guest/bin/xvt-guest),install -D -m 755 $(BUILD)/guest/bin/xvt-guest $(DESTDIR)$(SBINDIR)/xvt-guest)

# Into an empty folder first: what is there then is what has to go. Only folders of ours are removed.
UNINSTALL = $(abspath $(BUILD))/uninstall
uninstall:
	rm -rf $(UNINSTALL)
	$(Q)$(MAKE) -s install DESTDIR=$(UNINSTALL)
	cd $(UNINSTALL) && find . ! -type d -printf '$(DESTDIR)/%P\0' | xargs -0 rm -f
	rm -rf $(UNINSTALL)
	rmdir --ignore-fail-on-non-empty $(wildcard $(DESTDIR)$(DOCDIR)/examples $(DESTDIR)$(DOCDIR))
