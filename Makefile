# SPDX-License-Identifier: GPL-2.0
# xvtrace: one Makefile, one fragment (rules.mk) in each folder, objects only below $(BUILD).
#
#   make             the host tools, the reader library and the user-space writer, in build/
#   make help        everything else

BUILD    ?= build
CC       ?= gcc
PREFIX   ?= /usr/local
DESTDIR  ?=
LIBDIR   ?= $(PREFIX)/lib
XVT_RELEASE = 0.2.0
ifndef XVT_VERSION
XVT_VERSION := $(shell packaging/version.sh $(XVT_RELEASE))
endif
V        ?= 0
# How a writer takes its place in a ring: cas or xadd. One format; see docs/architecture.md.
RING     ?= cas

ifeq ($(origin CC),default)
CC = gcc
endif

XVT_WARN   = -Wall -Wextra -Werror
XVT_CFLAGS = -std=gnu11 -O2 -g $(XVT_WARN) -MMD -MP $(XVT_RING) $(XVT_SAN) $(CPPFLAGS) $(CFLAGS)
XVT_LDFLAGS = $(XVT_SAN) $(LDFLAGS)
ifeq ($(ASAN),1)
XVT_SAN = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
XVT_RING = $(if $(filter xadd,$(RING)),-DXVT_RING_XADD)
ifeq ($(filter cas xadd,$(RING)),)
$(error RING=$(RING): use cas or xadd)
endif
export BUILD CC RING

ifeq ($(V),0)
Q = @
say = @printf '  %-7s %s\n' '$(1)' '$(2)'
else
Q =
say = @:
endif

.DEFAULT_GOAL = all
.PHONY: all help check test debug demo bench proof lab fuzz install uninstall clean setup compile-both

# One file with all packages; also what a fresh machine installs.
setup:
	$(Q)tests/setup.sh

# Which libraries were found, and where: what is compiled by that depends on this file, which is
# written again when one appears, moves or goes. Each rules.mk adds to FOUND_NOW.
FOUND = $(BUILD)/found
FOUND_NOW :=

include shared/rules.mk
include guest/bare/rules.mk
include guest/formats/rules.mk
include host/rules.mk
include host/lib/rules.mk
include host/query/rules.mk
include guest/user/rules.mk
include guest/linux/rules.mk
include tests/rules.mk
include bench/rules.mk
include docs/rules.mk
include packaging/rules.mk

ifneq ($(strip $(FOUND_NOW)),$(file <$(FOUND)))
.PHONY: $(FOUND)
endif
$(FOUND):
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s' '$(strip $(FOUND_NOW))' >$@

# How each C file is compiled, for clangd and its like: what make itself would run, by a dry run of
# a second, made again when a Makefile, a variable or the list of sources has changed.
COMMANDS = $(BUILD)/compile_commands.json
COMMANDS_OF := $(CC) $(RING) $(ASAN) $(sort $(foreach d,host shared guest tests bench docs,\
	       $(wildcard $d/*.c $d/*/*.c $d/*/*/*.c)))
COMMANDS_GOALS = all test-programs fuzz-plain $(addprefix $(BUILD)/bench/,writer microvm clock stamp move engine)
# Not by $(MAKE) itself: a dry run of this Makefile must not write the file. A goal that cannot be
# made is reported, and its own rule fails on it; here it costs only its lines.
COMMANDS_MAKE = $(MAKE)

ifneq ($(COMMANDS_OF),$(file <$(BUILD)/commands-of))
.PHONY: $(COMMANDS)
endif
$(COMMANDS): $(filter Makefile %.mk,$(MAKEFILE_LIST)) tests/compile-commands.awk $(FOUND)
	$(call say,MAKE,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MAKEFLAGS= $(COMMANDS_MAKE) --no-print-directory -nkB V=1 COMMANDS= BUILD='$(BUILD)' CC='$(CC)' \
		RING='$(RING)' ASAN='$(ASAN)' $(COMMANDS_GOALS) >$@.dry || :
	$(Q)awk -v root="$(CURDIR)" -f tests/compile-commands.awk $@.dry >$@.new
	$(Q)rm $@.dry && mv $@.new $@
	$(Q)$(if $(filter build,$(BUILD)),ln -sfn $@ compile_commands.json)
	$(Q)printf '%s' '$(COMMANDS_OF)' >$(BUILD)/commands-of

all: $(BUILD)/xvtrace $(LIBXVTRACE_TARGETS) $(SQLITE_SO) $(USER_TARGETS) $(COMMANDS)

help:
	@echo 'make            build xvtrace and the user-space library into build/'
	@echo '                also compile_commands.json, for clangd and the like'
	@echo 'make demo       two guests, one merged timeline (sets everything up by itself)'
	@echo 'make test       all tests, real guests included (sets everything up by itself)'
	@echo 'make test SUITE=name [CASE=name]   one suite: cli/t_qmp, hostile, vm/t03, host, order, ...; see tests/README.md'
	@echo 'make debug SUITE=name [CASE=name]  one suite or case of a Check program under gdb'
	@echo 'make check      the fast tests: no root, no guests, a few minutes'
	@echo 'make bench      tables, and build/bench/*.json'
	@echo 'make lab        guests under real KVM, in an emulated machine of its own where this one has none (root, once)'
	@echo 'make proof      what takes long (hours): every proof of the ring in full, long fuzzing, long stress'
	@echo 'make fuzz       fuzz every parser, FUZZ_SECONDS=600 each (make fuzz-report: the lines that they reach)'
	@echo 'make guest      kernel module, guest tools and guest image, from Debian packages'
	@echo 'make man        manual pages, in build/man (needs lowdown)'
	@echo 'make install    DESTDIR= PREFIX=/usr/local LIBDIR=PREFIX/lib; make uninstall takes the same'
	@echo 'make deb        Debian packages, in build/deb; make rpm: RPMs, in build/rpm'
	@echo 'make modules-deb FLAVOUR=...   the kernel module for one kernel as a Debian package'
	@echo 'make setup      install the packages that are missing (root; make demo and test do it)'
	@echo 'make clean      remove build/'
	@echo
	@echo 'Variables: V=1 show commands, BUILD=dir, CC=clang, ASAN=1, RING=cas|xadd, FLAVOUR=amd64|cloud-amd64|rt-amd64|6.12-amd64|...'

clean:
	rm -rf $(BUILD)
	$(if $(filter build,$(BUILD)),rm -f compile_commands.json)

# Both compilers, warnings as errors: this one's objects are in $(BUILD), which tests use, and the
# other one's in a tree of their own.
OTHER_CC = $(if $(findstring clang,$(CC)),gcc,clang)
compile-both: all
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/$(OTHER_CC) CC=$(OTHER_CC) all
