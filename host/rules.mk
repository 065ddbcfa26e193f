# SPDX-License-Identifier: GPL-2.0
# The tools. One file per outside dependency names its library; here they are only linked.

# Where it is installed: compressed traces.
ZSTD_PKG := $(shell pkg-config --exists libzstd 2>/dev/null && echo libzstd)
HOST_PKGS = liburing libtraceevent libtracefs jansson $(ZSTD_PKG)
# host/vmm/libvirt.c loads these two when a domain is asked for, by the names that the development
# packages' libraries have.
HOST_LOADED_PKGS = libvirt libxml-2.0
soname = $(shell readelf -d "$$($(CC) $(shell pkg-config --libs-only-L $(1) 2>/dev/null) -print-file-name=$(2))" 2>/dev/null | \
	   sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
HOST_SONAMES := -DXVT_LIBVIRT_SONAME=$(call soname,libvirt,libvirt.so) -DXVT_LIBXML_SONAME=$(call soname,libxml-2.0,libxml2.so)
# host/rights/sandbox.c loads this one, where it is installed.
SECCOMP_PKG := $(shell pkg-config --exists libseccomp 2>/dev/null && echo libseccomp)
HOST_LOADED_PKGS += $(SECCOMP_PKG)
ifneq ($(SECCOMP_PKG),)
HOST_SONAMES += -DXVT_SECCOMP_SONAME=$(call soname,libseccomp,libseccomp.so)
endif
# host/top/screen.c loads this one, where it is installed.
NCURSES_PKG := $(shell pkg-config --exists ncursesw 2>/dev/null && echo ncursesw)
ifneq ($(NCURSES_PKG),)
HOST_SONAMES += -DXVT_NCURSES_SONAME=$(call soname,ncursesw,libncursesw.so.6)
endif
# host/query/sqlite.c loads this one, where it is installed.
SQLITE_PKG := $(shell pkg-config --exists 'sqlite3 >= 3.38' 2>/dev/null && echo sqlite3)
ifneq ($(SQLITE_PKG),)
HOST_LOADED_PKGS += $(SQLITE_PKG)
HOST_SONAMES += -DXVT_SQLITE_SONAME=$(call soname,sqlite3,libsqlite3.so)
endif
HOST_DEFS = $(if $(ZSTD_PKG),-DXVT_ZSTD) $(HOST_SONAMES)
HOST_SRC  = $(wildcard host/*/*.c)
HOST_OBJ  = $(HOST_SRC:%.c=$(BUILD)/%.o)
# Everything but main(), for the tests and benchmarks.
HOST_LIB_OBJ = $(filter-out $(BUILD)/host/cli/main.o,$(HOST_OBJ)) $(SHARED_OBJ) $(BARE_IMAGE_OBJ) $(FORMATS_INIT_OBJ)
HOST_PKG_CFLAGS := $(shell pkg-config --cflags $(HOST_PKGS) $(HOST_LOADED_PKGS) 2>/dev/null)
HOST_CFLAGS = $(XVT_CFLAGS) $(HOST_DEFS) -Ishared -Ihost $(HOST_PKG_CFLAGS)
HOST_LIBS := $(shell pkg-config --libs $(HOST_PKGS) 2>/dev/null) -lpthread -ldl
FOUND_NOW += $(HOST_DEFS) $(HOST_PKG_CFLAGS) $(HOST_LIBS)

# Without one of these nothing links, and the compiler would name one header after the other.
HOST_MISSING := $(shell for p in liburing libtraceevent libtracefs jansson; do pkg-config --exists $$p 2>/dev/null || echo $$p; done)
.PHONY: host-libraries
host-libraries:
	@echo 'make: these libraries are missing: $(HOST_MISSING); `make setup` (as root) installs all that this takes' >&2; exit 1

$(BUILD)/host/%.o: host/%.c $(FOUND) $(if $(HOST_MISSING),host-libraries)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -c -o $@ $<

$(BUILD)/host/options/version.o: HOST_DEFS += -DXVT_VERSION=$(XVT_VERSION)
$(BUILD)/host/options/version.o: $(BUILD)/version

# Written again with each commit.
ifneq ($(XVT_VERSION),$(file <$(BUILD)/version))
.PHONY: $(BUILD)/version
endif
$(BUILD)/version:
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s' '$(XVT_VERSION)' >$@

$(BUILD)/xvtrace: $(BUILD)/host/cli/main.o $(HOST_LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -o $@ $^ $(HOST_LIBS)

-include $(HOST_OBJ:.o=.d)
