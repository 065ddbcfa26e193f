# SPDX-License-Identifier: GPL-2.0
# What is installed, by hand or by a package: the same set. DESTDIR, PREFIX and LIBDIR as usual.
#
#   install        the tools, their completion and unit, libraries, headers, manual pages and
#                  documents; xvt-guest with its unit, udev rule and configuration, if `make guest-tools`
#                  has built it
#   install-dkms   the sources of the kernel module as dkms wants them, in SRCDIR/xvtrace-VERSION
#   uninstall      removes what `install` with the same variables puts there

BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/xvtrace
SRCDIR ?= $(PREFIX)/src
# As this user libvirt of this system runs QEMU: Debian's name, or that of others.
QEMU_USER ?= $(if $(wildcard /etc/debian_version),libvirt-qemu,qemu)
UNITDIR ?= $(PREFIX)/lib/systemd/system
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
# Where xvt-guest looks; an installation into another folder leaves the system's files alone.
GUEST_CONF = $(if $(filter /usr /usr/local,$(PREFIX)),,$(PREFIX))/etc/xvtrace/guest.conf
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

# $(1): sources, $(2): folder
install_data = install -d $(DESTDIR)$(2) && install -m 644 $(1) $(DESTDIR)$(2)

.PHONY: install-tools install-libxvt install-man install-docs install-guest install-dkms

install: install-tools install-libxvtrace install-sqlite install-libxvt install-man install-docs install-guest

install-tools: all
	install -D -m 755 $(BUILD)/xvtrace $(DESTDIR)$(BINDIR)/xvtrace
	install -D -m 644 packaging/completion.bash $(DESTDIR)$(COMPLETIONDIR)/xvtrace
	install -d $(DESTDIR)$(UNITDIR)
	sed 's|@BINDIR@|$(BINDIR)|g' packaging/xvtrace.service >$(DESTDIR)$(UNITDIR)/xvtrace.service
	sed 's|@BINDIR@|$(BINDIR)|; s|@QEMU_USER@|$(QEMU_USER)|' packaging/xvtrace-doorbell@.service \
		>$(DESTDIR)$(UNITDIR)/xvtrace-doorbell@.service

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

install-docs: all
	$(call install_data,$(filter-out docs/README.md,$(wildcard docs/*.md)),$(DOCDIR))
	$(call install_data,$(wildcard docs/examples/*.c),$(DOCDIR)/examples)
	$(BUILD)/xvtrace daemon -c /dev/null --show-config | sed 's/^[a-z]/#&/' >$(DESTDIR)$(DOCDIR)/examples/xvtrace.conf

install-guest:
	$(if $(wildcard $(BUILD)/guest/bin/xvt-guest),$(install_guest))

# What somebody wrote into a configuration stays.
define install_guest
install -D -m 755 $(BUILD)/guest/bin/xvt-guest $(DESTDIR)$(SBINDIR)/xvt-guest
	install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)$(UDEVDIR)
	sed 's|@SBINDIR@|$(SBINDIR)|' packaging/xvtrace-guest.service >$(DESTDIR)$(UNITDIR)/xvtrace-guest.service
	sed 's|@SBINDIR@|$(SBINDIR)|' packaging/xvtrace-relay.service >$(DESTDIR)$(UNITDIR)/xvtrace-relay.service
	sed 's|@SBINDIR@|$(SBINDIR)|' packaging/xvtrace-guest.rules >$(DESTDIR)$(UDEVDIR)/70-xvtrace-guest.rules
	test -e $(DESTDIR)$(GUEST_CONF) || install -D -m 644 packaging/guest.conf $(DESTDIR)$(GUEST_CONF)
endef

# Into an empty folder first: what is there then is what has to go. Only folders of ours are removed.
UNINSTALL = $(abspath $(BUILD))/uninstall
uninstall:
	rm -rf $(UNINSTALL)
	$(Q)$(MAKE) -s install DESTDIR=$(UNINSTALL)
	cd $(UNINSTALL) && find . ! -type d -printf '$(DESTDIR)/%P\0' | xargs -0 rm -f
	rm -rf $(UNINSTALL)
	rmdir --ignore-fail-on-non-empty $(wildcard $(DESTDIR)$(LIBDIR)/xvtrace $(DESTDIR)$(DOCDIR)/examples $(DESTDIR)$(DOCDIR) $(dir $(DESTDIR)$(GUEST_CONF)))

DKMSDIR = $(SRCDIR)/xvtrace-$(XVT_VERSION)
install-dkms:
	$(call install_data,$(GUEST_MODULE_SRC),$(DKMSDIR))
	sed 's|@VERSION@|$(XVT_VERSION)|' packaging/dkms.conf >$(DESTDIR)$(DKMSDIR)/dkms.conf

# $(1): a folder, which gets what git would commit; outside of git, all but build/
copy_sources = rm -rf $(1) && mkdir -p $(1) && \
	{ git ls-files -co --exclude-standard 2>/dev/null || find . -path ./build -prune -o -type f -print; } | \
	tar -cf - --ignore-failed-read -T - | tar -xf - -C $(1)
# Programs that build packages choose the flags themselves.
CLEAN_ENV = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD -u CC -u RING -u CFLAGS -u LDFLAGS

# Debian packages, built from a copy of the sources, where packaging/debian is in the place that
# dpkg-buildpackage wants. A second run makes the same files: their times are that of
# debian/changelog, which is that of the commit.
DEB = $(BUILD)/deb
DEB_SOURCE = $(DEB)/xvtrace-$(XVT_VERSION)
.PHONY: deb
deb:
	$(Q)command -v dpkg-buildpackage dh >/dev/null || { echo 'deb: dpkg-buildpackage or dh is missing: apt-get install debhelper' >&2; exit 1; }
	$(Q)rm -rf $(DEB)
	$(Q)$(call copy_sources,$(DEB_SOURCE))
	$(Q)cp -r packaging/debian $(DEB_SOURCE)/
	$(Q)packaging/deb-changelog.sh $(XVT_VERSION) packaging/debian/changelog >$(DEB_SOURCE)/debian/changelog
	$(Q)cd $(DEB_SOURCE) && $(CLEAN_ENV) \
		DEB_BUILD_OPTIONS='$(or $(DEB_BUILD_OPTIONS),nocheck parallel=2)' dpkg-buildpackage -b -us -uc >../log 2>&1 || \
		{ tail -n 30 ../log >&2; exit 1; }
	$(Q)ls $(DEB)/*.deb

# The module for one kernel as a package, for guests without a compiler: FLAVOUR, of Debian's kernels,
# or KDIR, the headers of another one. SIGN='sign-file sha256 KEY CERT' signs it.
.PHONY: modules-deb
ifeq ($(origin KDIR),command line)
modules-deb: guest-module
	$(Q)packaging/modules-deb.sh $(GUEST_LINUX)/xvtrace.ko $(XVT_VERSION) $(BUILD)/modules-deb
else
modules-deb:
	$(Q)qemu/guest-packages.sh
	$(Q)eval "$$(qemu/guest-packages.sh --print)" && $(MAKE) --no-print-directory KDIR="$$KDIR" modules-deb
endif

# The same set as RPMs. On a system of another kind than those the packages are for, the names of
# build dependencies mean nothing to rpmbuild, so RPMBUILD_FLAGS is --nodeps there.
RPM = $(BUILD)/rpm
RPM_SOURCE = $(RPM)/xvtrace-$(XVT_VERSION)
RPMBUILD_FLAGS ?= $(if $(wildcard /etc/debian_version),--nodeps)
RPM_MAKE = BUILD=build XVT_VERSION=$(XVT_VERSION) QEMU_USER=qemu XVT_WARN='-Wall -Wextra' GUEST_TOOLS_LINK= PREFIX=%{_prefix} LIBDIR=%{_libdir} MANDIR=%{_mandir} \
	   SBINDIR=%{_sbindir} SRCDIR=%{_usrsrc} DOCDIR=%{_docdir}/xvtrace
.PHONY: rpm
rpm:
	$(Q)command -v rpmbuild >/dev/null || { echo 'rpm: rpmbuild is missing: install rpm-build, or Debian package rpm' >&2; exit 1; }
	$(Q)rm -rf $(RPM)
	$(Q)$(call copy_sources,$(RPM_SOURCE))
	$(Q)cd $(RPM_SOURCE) && $(CLEAN_ENV) rpmbuild -bb --build-in-place $(RPMBUILD_FLAGS) --define '_topdir $(abspath $(RPM))/top' \
		--define 'xvt_version $(XVT_VERSION)' --define "xvt_make $(RPM_MAKE)" packaging/xvtrace.spec >../log 2>&1 || \
		{ tail -n 30 ../log >&2; exit 1; }
	$(Q)find $(RPM)/top/RPMS -name '*.rpm' -exec mv {} $(RPM) \;
	$(Q)ls $(RPM)/*.rpm

# The packages in a fresh system, with the module built by dkms for kernels of two series; and, built
# again in another folder and at another time, the same to the last byte. RPMs, where rpmbuild is.
.PHONY: proof-packages
proof-packages: all deb $(if $(shell command -v rpmbuild 2>/dev/null),rpm)
	$(Q)if [ -d $(RPM) ]; then tests/cli/rpm_files.sh; else echo 'skip - RPMs: rpmbuild is missing'; fi
	$(Q)tests/cli/packages_fresh.sh
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/again deb
	$(Q)for deb in $(DEB)/*.deb; do cmp "$$deb" "$(BUILD)/again/deb/$${deb##*/}" || exit; done
	$(Q)echo 'ok - packages that are built again are the same'
PROOFS += proof-packages
