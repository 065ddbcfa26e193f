# SPDX-License-Identifier: GPL-2.0
# xvtrace_sqlite.so: the tables of `xvtrace query` in any program that has SQLite. It is made where
# SQLite is installed, of query/ and what that needs, and has the reader library in it.

SQLITE_SO = $(if $(SQLITE_PKG),$(BUILD)/xvtrace_sqlite.so)
SQLITE_OBJ = $(patsubst %.c,$(PIC)/%.o,$(wildcard host/query/*.c host/analyze/*.c) host/export/once.c)

$(BUILD)/xvtrace_sqlite.so: $(SQLITE_OBJ) $(LIBXVTRACE_OBJ) $(PIC)/more.a host/query/xvtrace_sqlite.map
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -shared $(if $(XVT_SAN),,-Wl,-z,defs) -Wl,--version-script,host/query/xvtrace_sqlite.map \
		-o $@ $(SQLITE_OBJ) $(LIBXVTRACE_OBJ) $(PIC)/more.a $(shell pkg-config --libs $(LIBXVTRACE_PKGS) 2>/dev/null) -ldl
	$(Q)chmod a-x $@

.PHONY: install-sqlite
install-sqlite: $(SQLITE_SO)
	$(if $(SQLITE_SO),install -D -m 644 $(SQLITE_SO) $(DESTDIR)$(LIBDIR)/xvtrace/xvtrace_sqlite.so)

-include $(SQLITE_OBJ:.o=.d)
