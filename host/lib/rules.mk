# SPDX-License-Identifier: GPL-2.0
# libxvtrace, the reader library, shared and static. It is made of lib/ and what that needs of base/,
# formats/, trace/, decode/, view/ and shared/. Only the functions in libxvtrace.map can be seen from
# outside.

# MAJOR changes when a program must be built again; MINOR when functions are added.
OBJCOPY ?= objcopy
LIBXVTRACE_MAJOR = 0
LIBXVTRACE_MINOR = 4
LIBXVTRACE_SONAME = libxvtrace.so.$(LIBXVTRACE_MAJOR)
LIBXVTRACE_SO = $(BUILD)/libxvtrace.so.$(LIBXVTRACE_MAJOR).$(LIBXVTRACE_MINOR)
LIBXVTRACE_A = $(BUILD)/libxvtrace.a
LIBXVTRACE_PC = $(BUILD)/libxvtrace.pc
LIBXVTRACE_TARGETS = $(LIBXVTRACE_SO) $(LIBXVTRACE_A) $(LIBXVTRACE_PC)
LIBXVTRACE_PKGS = $(ZSTD_PKG)
LIBXVTRACE_MAP = host/lib/libxvtrace.map

PIC = $(BUILD)/pic
LIBXVTRACE_OBJ = $(patsubst %.c,$(PIC)/%.o,$(wildcard host/lib/*.c))
LIBXVTRACE_MORE = $(patsubst %.c,$(PIC)/%.o,$(wildcard $(foreach d,base formats trace decode view,host/$d/*.c))) \
		  $(PIC)/shared/xvt_check.o

$(PIC)/host/%.o: host/%.c $(FOUND)
	$(call say,PIC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -fPIC -c -o $@ $<

$(PIC)/shared/%.o: shared/%.c $(FOUND)
	$(call say,PIC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -fPIC -c -o $@ $<

# An archive, from which the linker takes only what is needed: no event loop, no JSON.
$(PIC)/more.a: $(LIBXVTRACE_MORE)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(LIBXVTRACE_SO): $(LIBXVTRACE_OBJ) $(PIC)/more.a $(LIBXVTRACE_MAP)
	$(call say,LD,$@)
	$(Q)$(CC) $(XVT_LDFLAGS) -shared $(if $(XVT_SAN),,-Wl,-z,defs) -Wl,-soname,$(LIBXVTRACE_SONAME) \
		-Wl,--version-script,$(LIBXVTRACE_MAP) -o $@ $(LIBXVTRACE_OBJ) $(PIC)/more.a \
		$(shell pkg-config --libs $(LIBXVTRACE_PKGS) 2>/dev/null)
	$(Q)ln -sfn $(@F) $(BUILD)/$(LIBXVTRACE_SONAME)
	$(Q)ln -sfn $(LIBXVTRACE_SONAME) $(BUILD)/libxvtrace.so

# One object, in which all other names are local.
$(LIBXVTRACE_A): $(LIBXVTRACE_OBJ) $(PIC)/more.a $(LIBXVTRACE_MAP)
	$(call say,AR,$@)
	$(Q)sed -n 's/^\t\(xvtrace_[a-z_]*\);$$/\1/p' $(LIBXVTRACE_MAP) >$(PIC)/names
	$(Q)$(LD) -r -o $(PIC)/libxvtrace.o $(LIBXVTRACE_OBJ) $(PIC)/more.a
	$(Q)$(OBJCOPY) --keep-global-symbols=$(PIC)/names $(PIC)/libxvtrace.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(PIC)/libxvtrace.o

libxvtrace_pc = sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@PKGS@|$(LIBXVTRACE_PKGS)|' \
		    -e 's|@VERSION@|$(LIBXVTRACE_MAJOR).$(LIBXVTRACE_MINOR)|' host/lib/libxvtrace.pc.in

$(LIBXVTRACE_PC): host/lib/libxvtrace.pc.in host/lib/rules.mk Makefile $(FOUND)
	$(Q)$(libxvtrace_pc) >$@

.PHONY: install-libxvtrace
install-libxvtrace: $(LIBXVTRACE_TARGETS)
	install -D -m 644 $(LIBXVTRACE_SO) $(DESTDIR)$(LIBDIR)/$(notdir $(LIBXVTRACE_SO))
	ln -sfn $(notdir $(LIBXVTRACE_SO)) $(DESTDIR)$(LIBDIR)/$(LIBXVTRACE_SONAME)
	ln -sfn $(LIBXVTRACE_SONAME) $(DESTDIR)$(LIBDIR)/libxvtrace.so
	install -D -m 644 $(LIBXVTRACE_A) $(DESTDIR)$(LIBDIR)/libxvtrace.a
	install -D -m 644 host/lib/xvtrace.h $(DESTDIR)$(PREFIX)/include/xvtrace.h
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	$(libxvtrace_pc) >$(DESTDIR)$(LIBDIR)/pkgconfig/libxvtrace.pc

-include $(LIBXVTRACE_OBJ:.o=.d) $(LIBXVTRACE_MORE:.o=.d)
