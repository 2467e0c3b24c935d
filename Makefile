# vramscope: one Makefile, output under $(B). `make help` lists the targets.
#
# Knobs: B=dir  CC=gcc|clang  DEBUG=1  SAN=address,undefined|thread  STRESS=1  V=1  PREFIX=/usr/local
B       ?= build
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
PREFIX  ?= /usr/local
DESTDIR ?=

FOLDERS := base engine lang store tracer replay tui
WARN := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
        -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wundef -Wvla -Wformat=2 \
        -Wpointer-arith -Wdouble-promotion -Wcast-qual -fno-common -Werror
OPT  := $(if $(DEBUG),-O0 -g -DVS_DEBUG,-O2 -g) $(if $(STRESS),-DVS_STRESS) \
        $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# The kernels of the CPU device are compiled for a few instruction sets and picked at run time; see engine/device/cpu/.
BLAS_CFLAGS := $(shell pkg-config --cflags openblas 2>/dev/null)
BLAS_LIBS   := $(shell pkg-config --libs openblas 2>/dev/null || echo -lopenblas)
CPPFLAGS += -I. -I$(B)/gen $(patsubst -I%,-isystem %,$(BLAS_CFLAGS))
CFLAGS   += $(WARN) $(OPT) -pthread
LDLIBS   += $(BLAS_LIBS) -lsqlite3 -lm
LDFLAGS  += -pthread $(if $(SAN),-fsanitize=$(SAN))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

LIB_SRC  := $(sort $(foreach d,$(FOLDERS),$(shell find $(d) -name '*.c' 2>/dev/null)))
CLI_SRC  := $(sort $(wildcard cli/*.c))
TEST_SRC := $(sort $(shell find tests -name 'test_*.c'))
HELP_SRC := $(sort $(shell find tests -name '*.c' ! -name 'test_*.c' ! -path 'tests/fuzz/*' ! -path 'tests/gpu/*'))
BENCH_SRC:= $(sort $(wildcard bench/*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(B)/%.o)
HELP_OBJ := $(HELP_SRC:%.c=$(B)/%.o)
TESTS    := $(TEST_SRC:%.c=$(B)/%)
BENCHES  := $(BENCH_SRC:%.c=$(B)/%)
PRELUDE  := $(sort $(wildcard lang/prelude/*.py))

.PHONY: all demo test tests check help install setup clean format format-check hdr-check layer-check \
        globals-check bench golden
.SECONDARY:

all: $(B)/vramscope ## build the program

$(B)/vramscope: $(CLI_OBJ) $(B)/libvramscope.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(CLI_OBJ) $(B)/libvramscope.a $(LDLIBS)

$(B)/libvramscope.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The standard library of the net language is written in the net language and compiled in as text.
$(B)/gen/prelude.inc: $(PRELUDE) lang/prelude/embed.sh
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sh lang/prelude/embed.sh $(PRELUDE) > $@.tmp && mv $@.tmp $@
$(B)/lang/prelude.o: $(B)/gen/prelude.inc

$(B)/tests/%: $(B)/tests/%.o $(HELP_OBJ) $(B)/libvramscope.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(HELP_OBJ) $(B)/libvramscope.a -lcmocka $(LDLIBS)

$(B)/bench/%: $(B)/bench/%.o $(B)/libvramscope.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(B)/libvramscope.a $(LDLIBS)

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(HELP_OBJ:.o=.d) $(TEST_SRC:%.c=$(B)/%.d) $(BENCH_SRC:%.c=$(B)/%.d)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t16
