# vramscope: one Makefile, output under $(B). `make help` lists the targets.
#
# Knobs: B=dir  CC=gcc|clang  DEBUG=1  SAN=address,undefined|thread  STRESS=1  V=1  PREFIX=/usr/local
# On a bare Debian machine `make demo`, `make test` and `make check` first install what is missing (tools/setup.sh).
B       ?= build
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
PREFIX  ?= /usr/local
DESTDIR ?=

FOLDERS := base engine lang planner ranks recording store tracer import replay whatif export tui standin
WARN := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
        -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wundef -Wvla -Wformat=2 \
        -Wpointer-arith -Wdouble-promotion -Wcast-qual -fno-common -Werror
OPT  := $(if $(DEBUG),-O0 -g -DVS_DEBUG,-O2 -g) $(if $(STRESS),-DVS_STRESS) \
        $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# The kernels of the CPU device are compiled for a few instruction sets and picked at run time; see engine/device/cpu/.
# Asked for at the first compilation, not before: set-up may have to come first.
BLAS_CFLAGS = $(eval BLAS_CFLAGS := $$(shell pkg-config --cflags openblas 2>/dev/null))$(BLAS_CFLAGS)
CPPFLAGS += -I. -I$(B)/gen $(patsubst -I%,-isystem %,$(BLAS_CFLAGS))
CFLAGS   += $(WARN) $(OPT) -pthread
# Packed snapshots and indexes are read faster with libdeflate, where there is one; linked in whole, if it can be.
HAS_DEFLATE = $(eval HAS_DEFLATE := $$(shell pkg-config --exists libdeflate 2>/dev/null && echo yes))$(HAS_DEFLATE)
DEFLATE_A   = $(filter /%,$(shell $(CC) -print-file-name=libdeflate.a))
DEFLATE_LIB = $(if $(HAS_DEFLATE),$(if $(DEFLATE_A),-l:libdeflate.a,-ldeflate))
LDLIBS   += $(DEFLATE_LIB) -lsqlite3 -lz -llz4 -lzstd -lm -ldl $(if $(wildcard tui/*.c),-lncursesw -ltinfo)
LDFLAGS  += -pthread $(if $(SAN),-fsanitize=$(SAN))

# What the compiler makes programs for; EMULATOR runs those that this machine cannot (`make test-aarch64`).
MACHINE  := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))
EMULATOR ?=

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# CUDA is optional. NVCC is only printed by `make help`; where CUPTI's headers are, the injection library is built.
NVCC := $(firstword $(wildcard $(addsuffix /nvcc,$(subst :, ,$(PATH)) $(CUDA_HOME)/bin /usr/local/cuda/bin)))
CUDA_DIR := $(patsubst %/bin/nvcc,%,$(NVCC))
INJECT_SO := $(if $(wildcard $(CUDA_DIR)/include/cupti.h),$(B)/vramscope_inject.so)
# A GPU is simulated on x86-64 alone.
STANDIN_SO := $(if $(filter x86_64,$(MACHINE)),$(B)/vramscope_standin.so)
# What knows NVIDIA's headers is in the injection library alone.
INJECT_ONLY := $(addprefix tracer/inject/,inject.c nvtx.c subscribe.c)
LIB_SRC  := $(sort $(foreach d,$(FOLDERS),$(shell find $(d) -name '*.c' ! -path 'engine/device/cuda/*' \
              ! -path 'standin/runtime/*' ! -path 'ranks/mpi/*' 2>/dev/null)))
LIB_SRC  := $(filter-out $(INJECT_ONLY) store/extension/%,$(LIB_SRC))
CLI_SRC  := $(sort $(shell find cli -name '*.c'))
BASE_SRC := $(sort $(shell find base -name '*.c'))
TEST_SRC := $(sort $(shell find tests -name 'test_*.c' ! -path '*/device/cuda/*' \
              $(if $(INJECT_SO),,! -path '*/inject/test_inject_*.c')))
HELP_SRC := $(sort $(shell find tests -name '*.c' ! -name 'test_*.c' ! -path 'tests/fuzz/*' ! -path 'tests/gpu/*' \
              ! -path '*/twin/*' ! -path '*/device/cuda/*' ! -path '*/fake/*'))
BENCH_SRC:= $(sort $(wildcard bench/bench_*.c))
BENCH_OBJ:= $(patsubst %.c,$(B)/%.o,$(filter-out $(BENCH_SRC),$(wildcard bench/*.c)))
# What trains in several processes needs an MPI, where there is one.
MPICC  := $(firstword $(wildcard $(addsuffix /mpicc,$(subst :, ,$(PATH)))))
MPI_SO := $(if $(MPICC),$(B)/vramscope_mpi.so)
LOADED_SO := $(B)/vramscope_sqlite.so $(INJECT_SO) $(STANDIN_SO) $(MPI_SO)
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(B)/%.o)
HELP_OBJ := $(HELP_SRC:%.c=$(B)/%.o)
# What reads strangers' bytes is run on a fixed number of them by `make test`, and at length by `make fuzz`.
FUZZ_TESTS := $(patsubst %,$(B)/tests/fuzz/test_%,arguments chunk import keys pickle report snapshot trace)
# What needs large packages of Python is built with the others, and run by `make test-programs`.
PROGRAM_TESTS := $(patsubst %.c,$(B)/%,$(filter tests/programs/frameworks/%,$(TEST_SRC)))
# All toggles of all scripts are run there, too, and all programs with a mistake; `make test` runs some of each.
TOGGLE_TESTS := $(addprefix $(B)/tests/programs/,toggles/test_toggles faults/test_faults)
TESTS    := $(filter-out $(PROGRAM_TESTS),$(TEST_SRC:%.c=$(B)/%)) $(FUZZ_TESTS)
BENCHES  := $(BENCH_SRC:%.c=$(B)/%)
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
PRELUDE  := $(sort $(wildcard lang/prelude/*.py lang/prelude/*/*.py))
HEADERS  := $(sort $(shell find $(FOLDERS) cli tests -name '*.h' 2>/dev/null))
FORMATTED:= $(sort $(shell find $(FOLDERS) cli tests bench tools -name '*.[ch]' ! -path 'tests/oracle/*' 2>/dev/null))

# Goals for a machine that may lack the tools bring them in before the first compilation.
SETUP := $(if $(filter demo test check setup,$(MAKECMDGOALS)),$(B)/setup.done)

.PHONY: all demo test tests check help install setup clean format format-check hdr-check layer-check \
        docs-check words-check files-check globals-check bench benches everything everything-but-the-check \
        golden golden-counts techniques wheel wheel-check \
        fuzz fuzzers print-tests print-libs test-everywhere test-threads test-cuda test-programs mcp-check cuda \
        gpu-tests doubles \
        test-aarch64 arm-tests coverage
.SECONDARY:

all: $(B)/vramscope $(LOADED_SO) ## build the program; the injection library, where CUPTI is

$(B)/vramscope: $(CLI_OBJ) $(B)/libvramscope.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(CLI_OBJ) $(B)/libvramscope.a $(LDLIBS)

$(B)/libvramscope.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/%.o: %.c | $(SETUP)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/recording/file_bytes.o $(B)/store/derived.o: CPPFLAGS += $(if $(HAS_DEFLATE),-DVS_DEFLATE)

# Loops over columns of events.
$(B)/store/codec/%.o $(B)/store/old/%.o: CFLAGS += $(if $(DEBUG),,-O3)

# The loop over budgets.
$(B)/planner/solve.o: CFLAGS += $(if $(DEBUG),,-O3)

# Kernels of the CPU device: -O3 for the loops; the row functions once more for AVX2 and AVX-512, picked at run time.
# The last three keep IEEE arithmetic and its values (no -ffast-math): nobody reads errno or traps, nothing is
# contracted.
CPU_DIR := $(B)/engine/device/cpu
$(CPU_DIR)/%.o: CFLAGS += $(if $(DEBUG),,-O3) -fno-math-errno -fno-trapping-math -ffp-contract=off
# Blocks of products may fuse: the order of their operations is written out, and they are the same wherever they stand.
$(CPU_DIR)/products/cpu_tile_%.o: CFLAGS += -ffp-contract=fast
ifeq ($(MACHINE),x86_64)
$(CPU_DIR)/rows/cpu_rows_v3.o $(CPU_DIR)/products/cpu_tile_v3.o: CFLAGS += -mavx2 -mfma -mf16c
$(CPU_DIR)/rows/cpu_rows_v4.o $(CPU_DIR)/products/cpu_tile_v4.o: CFLAGS += -mavx512f -mavx512bw -mavx512dq -mavx512vl \
    -mfma -mf16c -mprefer-vector-width=512
endif

# The standard library of the net language is written in the net language and compiled in as text.
$(B)/gen/prelude.inc: $(PRELUDE) tools/embed.sh
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sh tools/embed.sh $(PRELUDE) > $@.tmp && mv $@.tmp $@
$(B)/lang/prelude/prelude.o: $(B)/gen/prelude.inc

# So is what a recorded Python program is given.
PYTHON_FILES := $(sort $(wildcard tracer/python/*.py))
$(B)/gen/python_files.inc: $(PYTHON_FILES) tools/embed.sh
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sh tools/embed.sh $(PYTHON_FILES) > $@.tmp && mv $@.tmp $@
$(B)/tracer/python_files.o: $(B)/gen/python_files.inc

# So is the page of an HTML report.
HTML_FILES := $(sort $(wildcard export/html/page.* export/html/*.js))
$(B)/gen/html_files.inc: $(HTML_FILES) tools/embed.sh
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sh tools/embed.sh $(HTML_FILES) > $@.tmp && mv $@.tmp $@
$(B)/export/html/html.o: $(B)/gen/html_files.inc

# Names of the arguments of ops, made from engine/core/op.def by the reader of its signatures that the engine itself
# has.
OP_ARGS := $(B)/gen/engine/core/op_args.h
OP_ARGS_TOOL := $(B)/tools/op_args
OP_ARGS_FREE := $(OP_ARGS_TOOL).o $(patsubst %.c,$(B)/%.o,$(BASE_SRC) engine/ops/signature.c engine/ops/literal.c)
$(OP_ARGS_TOOL): $(OP_ARGS_FREE)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lm
$(OP_ARGS): $(OP_ARGS_TOOL)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(EMULATOR) $< > $@.tmp && mv $@.tmp $@
$(filter-out $(OP_ARGS_FREE),$(LIB_OBJ) $(CLI_OBJ) $(HELP_OBJ) $(TEST_SRC:%.c=$(B)/%.o) $(BENCH_OBJ)): | $(OP_ARGS)

# What a new trace begins as: the schema's own C run once here, its result compiled in.
EMPTY_TRACE := $(B)/tools/empty_trace
EMPTY_TRACE_OBJ := $(EMPTY_TRACE).o $(BASE_SRC:%.c=$(B)/%.o) \
                   $(patsubst %,$(B)/store/%.o,db migrate schema view old/columns)
$(EMPTY_TRACE): $(EMPTY_TRACE_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lsqlite3 -lm -ldl
$(B)/gen/empty_trace.inc: $(EMPTY_TRACE)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(EMULATOR) $< > $@.tmp && mv $@.tmp $@
$(B)/store/create.o $(B)/pic/store/create.o: $(B)/gen/empty_trace.inc

# Archives, so that a test takes from them only what it uses.
$(B)/libcli.a: $(filter-out $(B)/cli/main.o,$(CLI_OBJ))
$(B)/libhelp.a: $(HELP_OBJ)
$(B)/libcli.a $(B)/libhelp.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

TEST_LIBS := $(B)/tests/filter.o $(B)/libhelp.a $(B)/libcli.a $(B)/libvramscope.a
$(B)/tests/%: $(B)/tests/%.o $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(TEST_LIBS) -lcmocka $(LDLIBS)

$(B)/tests/fuzz/test_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/driver.o $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(TEST_LIBS) -lcmocka $(LDLIBS)

$(B)/bench/%: $(B)/bench/%.o $(BENCH_OBJ) $(B)/libvramscope.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(BENCH_OBJ) $(B)/libvramscope.a $(LDLIBS)

# CUPTI is opened at run time; of the toolkit only its headers are wanted, and without them the program says what it
# lacks.
CUPTI_FLAGS = $(if $(wildcard $(CUDA_DIR)/include/cupti.h),-DVS_CUPTI -isystem $(CUDA_DIR)/include)
$(B)/tracer/cupti/%.o $(B)/tracer/inject/%.o: CPPFLAGS += $(CUPTI_FLAGS)
$(B)/tests/tracer/cupti/%.o $(B)/tests/tracer/inject/%.o: CPPFLAGS += $(CUPTI_FLAGS)
$(B)/pic/tracer/cupti/%.o $(B)/pic/tracer/inject/%.o $(B)/pic/tests/tracer/cupti/%.o: CPPFLAGS += $(CUPTI_FLAGS)

# The injection library goes into programs of others: SQLite is linked into it and hidden, so that the program's own is
# another one.
INJECT_SRC := $(sort $(wildcard tracer/inject/*.c)) tracer/cupti/cupti_api.c
INJECT_LIB := $(BASE_SRC) $(sort $(wildcard store/*.c store/codec/*.c store/old/*.c)) \
              $(addprefix tracer/,in_force.c intern.c keep.c recorder.c renumber.c ring.c)
$(B)/vramscope_inject.so: $(INJECT_SRC:%.c=$(B)/pic/%.o) $(B)/pic/libinject.a
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,-z,defs -o $@ $^ \
	  $(SQLITE_STATIC) $(ZSTD_STATIC) -lm -ldl
$(B)/pic/libinject.a: $(INJECT_LIB:%.c=$(B)/pic/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
# So does SQLite's extension, which uses the SQLite of the program that loads it.
EXTENSION_SRC := $(BASE_SRC) $(addprefix store/,cell.c chunk.c chunk_load.c db.c codec/decode.c old/columns.c)
$(B)/sqlite/%.o: %.c | $(SETUP)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -include store/extension/sqlite_api.h $(CFLAGS) -fPIC -MMD -MP -c -o $@ $<
$(B)/sqlite/store/codec/%.o $(B)/sqlite/store/old/%.o: CFLAGS += $(if $(DEBUG),,-O3)
$(B)/sqlite/libextension.a: $(EXTENSION_SRC:%.c=$(B)/sqlite/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
$(B)/vramscope_sqlite.so: $(B)/sqlite/store/extension/extension.o $(B)/sqlite/libextension.a
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,-z,defs -o $@ $^ $(ZSTD_STATIC) -lm -ldl
-include $(EXTENSION_SRC:%.c=$(B)/sqlite/%.d) $(B)/sqlite/store/extension/extension.d
$(B)/tests/e2e/test_sql_extension: $(B)/vramscope_sqlite.so
$(B)/tests/e2e/test_record_ranks $(B)/tests/e2e/test_sweep_ranks: $(MPI_SO)
# The stand-in for CUDA's libraries goes into programs of others, too. Its functions have CUDA's parameters, whatever
# they use of them.
STANDIN_SRC := $(sort $(wildcard standin/*.c standin/runtime/*.c standin/runtime/ranks/*.c)) $(BASE_SRC)
$(B)/pic/standin/runtime/%.o: CFLAGS += -Wno-unused-parameter
$(B)/vramscope_standin.so: $(STANDIN_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,-z,defs -o $@ $^ -lm -ldl
-include $(STANDIN_SRC:%.c=$(B)/pic/%.d)

# A driver and a CUPTI that need no GPU, and programs that use them.
FAKE     := $(if $(INJECT_SO),$(addprefix $(B)/fake/,libcuda.so.1 cupti/libcupti.so.13 programs))
FAKE_DIR := tests/tracer/inject/fake
FAKE_OBJ := $(patsubst $(FAKE_DIR)/%.c,$(B)/fake/%.o,$(wildcard $(FAKE_DIR)/*.c))
$(FAKE_OBJ): $(B)/fake/%.o: $(FAKE_DIR)/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CUPTI_FLAGS) $(CFLAGS) -Wno-unused-parameter -fPIC -MMD -MP -c -o $@ $<
$(B)/fake/libcuda.so.1: $(B)/fake/fake_cuda.o
$(B)/fake/cupti/libcupti.so.13: $(B)/fake/fake_cupti.o $(B)/fake/fake_cupti_rest.o
$(filter %.so.1 %.so.13,$(FAKE)):
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-soname,$(@F) -o $@ $^ -ldl
$(B)/fake/programs: $(B)/fake/programs.o $(B)/fake/libcuda.so.1
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -rdynamic -o $@ $^ -ldl
# These load them beside the injection library, and the program.
INJECT_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/tracer/inject/test_inject_*.c)) $(B)/tests/e2e/test_record_driver
$(INJECT_TESTS): $(FAKE) $(INJECT_SO) $(B)/vramscope
# And a library of NVIDIA's management, which needs no header of theirs.
FAKE_NVML := $(B)/fake/libnvidia-ml.so.1
$(FAKE_NVML): tests/tracer/nvml/fake/fake_nvml.c tracer/nvml/nvml_api.h tracer/nvml/nvml_api.def
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
$(B)/tests/tracer/nvml/test_smi $(B)/tests/e2e/test_account: $(FAKE_NVML)
# A PyTorch that is one small library, linked with libraries that have the names and versions of CUDA's. What is in
# torch/lib is what an installation has; the libraries of CUDA lie beside it, and only the linker sees them.
STANDIN_FAKE := tests/standin/fake
STANDIN_CUDA := $(addprefix $(B)/fake/standin/cuda/,libcudart.so.13 libnccl.so.2 libplain.so.1)
FAKE_TORCH   := $(B)/fake/standin/torch/lib/libtorch_cuda.so
FAKE_FLAGS    = $(CPPFLAGS) $(WARN) -O1 -fPIC -shared -Wl,-soname,$(@F)
$(B)/fake/standin/cuda/libcudart.so.13: FAKE_FLAGS += -DFAKE_CUDART -Wl,--version-script=$(STANDIN_FAKE)/cudart.versions
$(B)/fake/standin/cuda/libnccl.so.2: FAKE_FLAGS += -DFAKE_NCCL
$(B)/fake/standin/cuda/libplain.so.1: FAKE_FLAGS += -DFAKE_PLAIN
$(B)/fake/standin/more/libcudart.so.13: FAKE_FLAGS += -DFAKE_MORE -Wl,--version-script=$(STANDIN_FAKE)/cudart.versions
$(B)/fake/standin/more/libnvfake.so.1: FAKE_FLAGS += -DFAKE_NVFAKE -Wl,--version-script=$(STANDIN_FAKE)/nvfake.versions
STANDIN_MORE := $(addprefix $(B)/fake/standin/more/,libcudart.so.13 libnvfake.so.1)
$(STANDIN_CUDA) $(STANDIN_MORE): $(STANDIN_FAKE)/fake_cuda.c $(STANDIN_FAKE)/cudart.versions
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FAKE_FLAGS) -o $@ $<
$(FAKE_TORCH): $(STANDIN_FAKE)/fake_torch.c $(STANDIN_CUDA)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FAKE_FLAGS) -o $@ $^
$(B)/fake/standin/extension.so: $(STANDIN_FAKE)/fake_extension.c $(STANDIN_MORE)
	$(call say,LINK,$@)
	$(Q)$(CC) $(FAKE_FLAGS) -o $@ $^
$(patsubst %,$(B)/tests/standin/test_%,elf needs torch cache): $(FAKE_TORCH)
STANDIN_TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard $(addprefix tests/standin/runtime/,\
                   test_*.c ranks/test_*.c)))
$(STANDIN_TESTS): $(FAKE_TORCH) $(B)/fake/standin/extension.so $(STANDIN_SO)
$(B)/tests/e2e/test_record_standin: $(FAKE_TORCH) $(STANDIN_SO)
# And a device's library that says of itself what the test wants.
$(B)/fake/vramscope_old.so: tests/engine/device/fake/plugin.c engine/device/plugin.h
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) -fPIC -shared -o $@ $<
$(B)/tests/engine/device/test_plugin $(B)/tests/e2e/test_device: $(B)/fake/vramscope_old.so
# And a malloc that fails.
$(B)/fake/fail_malloc.so: tests/e2e/fake/fail_malloc.c
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) -fPIC -shared -o $@ $<
$(B)/tests/e2e/test_host_memory: $(B)/fake/fail_malloc.so
# The connection of processes that mpirun has started.
MPI_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(wildcard ranks/mpi/*.c) base/error.c)
$(B)/pic/ranks/mpi/%.o: CPPFLAGS += $(patsubst -I%,-isystem %,$(filter -I%,$(shell $(MPICC) --showme:compile)))
$(B)/vramscope_mpi.so: $(MPI_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-Bsymbolic -o $@ $^ $(shell $(MPICC) --showme:link)
-include $(MPI_OBJ:.o=.d)
SQLITE_STATIC = $(if $(filter /%,$(shell $(CC) -print-file-name=libsqlite3.a)),-l:libsqlite3.a,-lsqlite3)
ZSTD_STATIC = $(if $(filter /%,$(shell $(CC) -print-file-name=libzstd.a)),-l:libzstd.a,-lzstd)

# The CUDA device, a plug-in: `make cuda` builds it where there is a toolkit. Nothing else needs one. PTX of the oldest
# architecture is for GPUs newer than the list.
CUDA_SRC := $(sort $(wildcard engine/device/cuda/*.cu))
CUDA_C   := $(sort $(wildcard engine/device/cuda/*.c))
CUDA_ARCH ?= 80 90
CUDA_GEN := $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a),code=sm_$(a)) -gencode arch=compute_75,code=compute_75
CUDA_OBJ := $(CUDA_SRC:%.cu=$(B)/cuda/%.o) $(CUDA_C:%.c=$(B)/cuda/%.o) $(BASE_SRC:%.c=$(B)/pic/%.o)
$(B)/pic/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(B)/cuda/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -isystem $(CUDA_DIR)/include $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(B)/cuda/%.o: %.cu
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCC_FLAGS) -std=c++17 --extended-lambda -O2 -I. -D_GNU_SOURCE $(CUDA_GEN) \
	  -Xcompiler -fPIC,-fvisibility=hidden -MMD -MP -c -o $@ $<
$(B)/vramscope_cuda.so: $(CUDA_OBJ)
	$(call say,LINK,$@)
	$(Q)$(NVCC) $(NVCC_FLAGS) -shared -cudart static -Xlinker -Bsymbolic,--exclude-libs=ALL $(CUDA_GEN) -o $@ $^ -ldl
	$(Q)test "$$(nm -D --defined-only $@ | awk '{ print $$3 }')" = eng_device_plugin || \
	    { echo "$@ shows more than eng_device_plugin:"; nm -D --defined-only $@; rm -f $@; exit 1; }

cuda: $(B)/vramscope ## build the CUDA device, where the CUDA toolkit is found
ifeq ($(NVCC),)
	@echo "make cuda: there is no nvcc in PATH, CUDA_HOME or /usr/local/cuda: the CUDA device is left out"
else
	@$(MAKE) --no-print-directory B=$(B) $(B)/vramscope_cuda.so
endif

# Its kernels once more, as loops of the host (engine/device/cuda/cuda_launch.cuh): a plug-in that needs no GPU, and the
# tests of the CPU's kernels over its table.
CXX      := $(if $(filter clang%,$(CC)),clang++,g++)
TWIN_C   := $(sort $(wildcard tests/engine/device/twin/*.c))
TWIN_OBJ := $(CUDA_SRC:%.cu=$(B)/twin/%.o) $(TWIN_C:%.c=$(B)/pic/%.o) $(B)/pic/engine/device/cuda/cuda_table.o
TWIN_OF  := attention binary copy index norm pool random reduce ternary unary
TWIN_TESTS := $(TWIN_OF:%=$(B)/tests/engine/device/twin/test_cuda_%)
TWIN_SO  := $(B)/twin/vramscope_cuda.so
$(B)/twin/%.o: %.cu
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -x c++ -std=c++17 -DVS_CUDA_TWIN -D_GNU_SOURCE -I. -Wall -Wextra -Werror -Wno-unused-function $(OPT) \
	  -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(B)/twin/vramscope_cuda.so: $(filter-out %/twin_tests.o,$(TWIN_OBJ)) $(BASE_SRC:%.c=$(B)/pic/%.o) \
                             $(B)/pic/engine/alloc/driver.o $(B)/pic/engine/alloc/set.o
	$(call say,LINK,$@)
	$(Q)$(CXX) -shared -Wl,-Bsymbolic $(LDFLAGS) -o $@ $^
$(TWIN_TESTS:%=%.o): $(B)/tests/engine/device/twin/test_cuda_%.o: tests/engine/device/test_cpu_%.c
	$(call say,CC,$< over the CUDA device)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Deng_kernels_cpu=twin_kernels -MMD -MP -c -o $@ $<
$(TWIN_TESTS): %: %.o $(filter-out %/twin_plugin.o,$(TWIN_OBJ)) $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(filter-out %.a,$^) $(TEST_LIBS) -lcmocka $(LDLIBS)
TESTS += $(TWIN_TESTS)
# cuda_launch.cuh of the GPU, compiled for simulated threads. They switch stacks, which sanitizers cannot follow.
$(B)/tests/engine/device/twin/test_launch: tests/engine/device/twin/test_launch.cc engine/device/cuda/cuda_launch.cuh
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -D_GNU_SOURCE -I. -Wall -Werror -Wno-unused-function -O1 -o $@ $< -lcmocka
TESTS += $(if $(SAN),,$(B)/tests/engine/device/twin/test_launch)

# The same tests over a plug-in as it is loaded (VRAMSCOPE_PLUGINS), operands moved to its memory and back: what
# tests/gpu/run.sh runs on a GPU. Two of them, and the programs beside them on a few rows, run everywhere over the
# plug-in made of host memory.
GPU_OF    := attention binary conv copy index matmul norm pool random reduce ternary unary
GPU_TESTS := $(GPU_OF:%=$(B)/tests/gpu/test_gpu_%)
GPU_LIB   := $(patsubst %,$(B)/tests/gpu/%.o,gpu gpu_kernels gpu_move)
$(GPU_TESTS:%=%.o): $(B)/tests/gpu/test_gpu_%.o: tests/engine/device/test_cpu_%.c
	$(call say,CC,$< over a plug-in)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Deng_kernels_cpu=gpu_kernels -MMD -MP -c -o $@ $<
$(GPU_TESTS): %: %.o $(GPU_LIB) $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter-out %.a,$^) $(TEST_LIBS) -lcmocka $(LDLIBS)
# Ops, nets, events and steps of a plug-in against the CPU and meta.
GPU_CHECK := $(B)/tests/gpu/check
GPU_CHECK_OBJ := $(patsubst %,$(B)/tests/gpu/%.o,gpu check check_ops check_nets check_events check_steps)
$(GPU_CHECK): $(GPU_CHECK_OBJ) $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(TEST_LIBS) -lcmocka $(LDLIBS)
# A program that is not ours, to be recorded.
$(B)/tests/gpu/plain: tests/gpu/plain.cu
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -std=c++17 -O2 -cudart static $(CUDA_GEN) -o $@ $<
TESTS += $(B)/tests/gpu/test_gpu_copy $(B)/tests/gpu/test_gpu_index
$(B)/tests/gpu/test_run: $(GPU_CHECK) $(B)/tests/gpu/test_gpu_copy $(B)/tests/gpu/test_gpu_index
$(B)/tests/gpu/test_run: $(TWIN_SO) $(FAKE) $(INJECT_SO)
$(GPU_CHECK_OBJ) $(GPU_LIB): | $(OP_ARGS)
gpu-tests: $(GPU_TESTS) $(GPU_CHECK) $(if $(NVCC),$(B)/tests/gpu/plain) ## build what tests/gpu/run.sh runs


# What the device asks of CUDA's libraries, over a table of the test's own: needs their headers, not them.
CUDA_TEST := $(B)/tests/engine/device/cuda/test_api
CUDA_TEST_OBJ := $(patsubst %.c,$(B)/cuda/%.o,$(wildcard tests/engine/device/cuda/*.c) \
                                              $(filter-out %/cuda_api.c %/cuda_plugin.c,$(CUDA_C)))
$(CUDA_TEST): $(CUDA_TEST_OBJ) $(CUDA_SRC:%.cu=$(B)/twin/%.o) $(B)/pic/tests/engine/device/twin/twin_turn.o $(TEST_LIBS)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(filter-out %.a,$^) $(TEST_LIBS) -lcmocka $(LDLIBS)
TESTS += $(if $(wildcard $(CUDA_DIR)/include/cudnn.h),$(CUDA_TEST))

# A simulated CUPTI, as a library that a whole run on the twin finds in place of the real one.
TWIN_CUPTI_SRC := tests/tracer/cupti/fake_cupti.c tests/tracer/cupti/twin/cupti_library.c
FAKE_CUPTI := $(if $(wildcard $(CUDA_DIR)/include/cupti.h),$(B)/twin/libcupti.so.13)
$(B)/twin/libcupti.so.13: $(TWIN_CUPTI_SRC:%.c=$(B)/pic/%.o) $(BASE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-Bsymbolic -Wl,-soname,$(@F) $(LDFLAGS) -o $@ $^
TWIN_SO += $(FAKE_CUPTI)

-include $(INJECT_SRC:%.c=$(B)/pic/%.d) $(FAKE_OBJ:.o=.d) $(TWIN_CUPTI_SRC:%.c=$(B)/pic/%.d)
-include $(INJECT_LIB:%.c=$(B)/pic/%.d)
-include $(CUDA_OBJ:.o=.d) $(TWIN_OBJ:.o=.d) $(TWIN_TESTS:%=%.d) $(CUDA_TEST_OBJ:.o=.d)
-include $(GPU_TESTS:%=%.d) $(GPU_LIB:.o=.d) $(GPU_CHECK_OBJ:.o=.d)
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(HELP_OBJ:.o=.d) $(TEST_SRC:%.c=$(B)/%.d)
-include $(patsubst %.c,$(B)/%.d,$(wildcard tests/fuzz/*.c)) $(BENCH_SRC:%.c=$(B)/%.d) $(BENCH_OBJ:.o=.d)
-include $(EMPTY_TRACE).d $(OP_ARGS_TOOL).d

tests: $(TESTS) $(PROGRAM_TESTS) $(TWIN_SO)
doubles: $(TWIN_SO) $(FAKE) # what stands in the place of a GPU

# What Python scripts of tools/ compile for themselves is compiled here for its warnings.
SCRIPT_TOOLS := $(B)/tools/kill_at.o $(B)/tools/pickle_dump.o

# Every C, C++ and CUDA source that this machine can compile; tools/built-check.sh then names the ones that no rule
# knew. old_math.o is a part of the wheel alone, which is linked with an older glibc.
everything-but-the-check: all tests doubles benches gpu-tests fuzzers cuda $(B)/tools/wheel/old_math.o $(SCRIPT_TOOLS)
everything: everything-but-the-check ## build all that is in the tree: tests, benchmarks, fuzzers, the CUDA device
	@sh tools/built-check.sh $(MAKE) $(B)

demo: $(B)/vramscope ## set up, build, train a small net on the CPU and show where its memory went
	@mkdir -p $(B)/demo
	$(B)/vramscope record sample_nets/lenet.py -o $(B)/demo/lenet.db --device cpu --force
	$(B)/vramscope report $(B)/demo/lenet.db
	$(B)/vramscope whatif $(B)/demo/lenet.db --each

# Under a sanitizer one cell in nine of what is a grid (tests/share.h): they reach the same code. All of them with
# STRESS=1 or GRID_SHARE=1, which `make check` sets.
test: $(B)/vramscope $(TESTS) $(TWIN_SO) ## set up, build and run every test
	@GRID_SHARE=$(or $(GRID_SHARE),$(if $(SAN),$(if $(STRESS),1,9))) VRAMSCOPE=$(abspath $(B))/vramscope \
	  sh tools/run-tests.sh $(B) $(TESTS)

# Where threads meet: the recorder's two, the kernels' pool, and both at once in the program. Under SAN=thread these are
# the ones that matter, and the others would take long.
THREAD_TESTS := $(filter $(B)/tests/tracer/% $(B)/tests/engine/device/% $(B)/tests/e2e/test_record,$(TESTS))
test-threads: $(B)/vramscope $(THREAD_TESTS)
	@VRAMSCOPE=$(abspath $(B))/vramscope sh tools/run-tests.sh $(B) $(THREAD_TESTS)

# Not part of any gate: it needs a compiler, an emulator and libraries for arm64 (docs/guide/install.md). What a test
# starts goes through a script, as the kernel does not know of the emulator.
ARM_TESTS ?= base engine/alloc planner recording store
ARM_LIST  := $(filter $(ARM_TESTS:%=$(B)/tests/%/%),$(TESTS))
test-aarch64: ## cross-compile for arm64 and run tests, those of ARM_TESTS, under qemu-user
	@PKG_CONFIG_PATH=/usr/lib/aarch64-linux-gnu/pkgconfig $(MAKE) --no-print-directory B=build/aarch64 \
	  CC=aarch64-linux-gnu-gcc EMULATOR=qemu-aarch64 MPICC= NVCC= arm-tests

arm-tests: $(B)/vramscope $(ARM_LIST)
	@mkdir -p $(B)/run
	@printf '#!/bin/sh\nexec $(EMULATOR) %s "$$@"\n' $(abspath $(B))/vramscope > $(B)/run/vramscope
	@chmod +x $(B)/run/vramscope
	@EMULATOR=$(EMULATOR) VRAMSCOPE=$(abspath $(B))/run/vramscope TEST_TIMEOUT=$${TEST_TIMEOUT:-3600} \
	  sh tools/run-tests.sh $(B) $(ARM_LIST)

# Not part of any gate: a build of its own, and minutes. Of the grids one cell in nine runs: they reach the same code.
# What fails there fails in `make test`, too.
coverage: ## run the tests, and print which lines and branches they ran, folder by folder
	@command -v gcov >/dev/null && command -v python3 >/dev/null || \
	  { echo 'make coverage: gcov (of gcc) and python3 are needed'; exit 1; }
	@find build/coverage -name '*.gcda' -delete 2>/dev/null || true
	-@$(MAKE) --no-print-directory B=build/coverage CC=gcc DEBUG=1 OPT='-O1 --coverage' \
	  LDFLAGS='-pthread --coverage -Wl,-S' GRID_SHARE=9 test
	@python3 tools/coverage.py --build build/coverage

# Not part of any gate: it needs a GPU, PyTorch and minutes.
test-cuda: ## all that this machine's GPU can tell (tests/gpu/run.sh)
	@sh tests/gpu/run.sh

# Nor is this: it needs packages of Python (tests/programs/frameworks/README.md) and minutes.
ALL_PROGRAMS := $(PROGRAM_TESTS) $(TOGGLE_TESTS)
test-programs: $(B)/vramscope $(STANDIN_SO) $(ALL_PROGRAMS) ## record programs that use transformers and others
	@VRAMSCOPE=$(abspath $(B))/vramscope VRAMSCOPE_ALL_TOGGLES=1 VRAMSCOPE_ALL_FAULTS=1 \
	  TEST_TIMEOUT=$${TEST_TIMEOUT:-7200} sh tools/run-tests.sh $(B) $(ALL_PROGRAMS)

# Nor is this: it needs the package `mcp` of Python.
MCP_PYTHON ?= python3
mcp-check: $(B)/vramscope ## ask `vramscope mcp` with the protocol's own SDK, that of MCP_PYTHON
	@$(B)/vramscope record sample_nets/lenet.py --device meta -f -o $(B)/mcp.db >/dev/null
	@$(MCP_PYTHON) tools/mcp/sdk_check.py $(abspath $(B))/vramscope $(abspath $(B))/mcp.db

# For tools/test-everywhere.sh and tools/mutate.py.
print-tests:
	@printf '%s\n' $(TESTS)
print-libs:
	@echo '$(LDLIBS)'

test-everywhere: ## the tests as another user, with other kernels, clocks, locales, orders
	@sh tools/test-everywhere.sh "$(MAKE)" $(B) $(WORDS)

check: ## the gate: gcc, clang, tests, sanitizers, layers, headers, globals, format
	@sh tools/check.sh "$(MAKE)" $(B)

setup: $(B)/setup.done ## install what building and checking need (Debian; as root or with sudo)

# Touched anew when the list of needs changes.
$(B)/setup.done: tools/setup.sh
	@sh tools/setup.sh
	@mkdir -p $(@D) && touch $@

# Those that include CUDA's own headers are left out.
CUDA_HEADERS := engine/device/cuda/cuda_api.h engine/device/cuda/cuda_internal.h tests/engine/device/cuda/%
hdr-check: $(patsubst %,$(B)/hdr/%.ok,$(filter-out $(CUDA_HEADERS),$(HEADERS))) ## each header compiles alone

$(B)/hdr/%.ok: % | $(SETUP) $(OP_ARGS)
	@mkdir -p $(@D)
	$(Q)printf '#include "%s"\n#include "%s"\ntypedef int not_empty;\n' $< $< | \
	  $(CC) $(CPPFLAGS) $(WARN) -MMD -MP -MT $@ -MF $(@:.ok=.d) -x c -fsyntax-only - && touch $@
-include $(HEADERS:%=$(B)/hdr/%.d)

layer-check: ## the list of allowed includes in docs/internals/architecture.md
	@sh tools/layer-check.sh

docs-check: ## links, paths and form of the pages
	@sh tools/docs-check.sh

words-check: ## words of docs/glossary.md that are not used; V=1 prints each place
	@V=$(V) sh tools/words-check.sh

files-check: ## first comments of sources, their lines
	@sh tools/files-check.sh

globals-check: $(LIB_OBJ) $(CLI_OBJ) $(B)/vramscope_sqlite.so $(B)/libvramscope.a ## the known globals, each once
	@! nm --defined-only $(B)/libvramscope.a | \
	  awk '$$2 ~ /^[TDBR]$$/ { print "globals-check: defined in two files of the library: " $$3 }' | \
	  sort | uniq -d | grep .
	@sh tools/globals-check.sh $(B) $(filter %.o,$^) $(INJECT_SRC:%.c=$(B)/pic/%.o) $(CUDA_OBJ) \
	  $(CUDA_SRC:%.cu=$(B)/twin/%.o) \
	  $(B)/sqlite/store/extension/extension.o $(MPI_OBJ)

format: ## lay the C files out
	clang-format-14 -i $(if $(FILES),$(FILES),$(FORMATTED))

format-check: ## is every C file laid out?
	@clang-format-14 --dry-run -Werror $(FORMATTED)

benches: $(BENCHES) # the benchmarks, built and not run

bench: benches $(B)/vramscope $(STANDIN_SO) ## run the benchmarks beside peers, and write docs/guide/performance.md
	@sh tools/bench.sh $(B) $(filter-out %/bench_kernels,$(BENCHES))

golden: $(B)/vramscope $(TESTS) ## rewrite expected screens, reports, man page, page of commands, completions, peaks
	@mkdir -p tests/golden/tui tests/golden/export completions
	@VRAMSCOPE=$(abspath $(B))/vramscope VRAMSCOPE_GOLDEN=write \
	  sh tools/run-tests.sh $(B) $(B)/tests/tui/test_screens $(B)/tests/cli/test_pages $(B)/tests/export/html/test_html \
	  $(B)/tests/e2e/test_published_nets

techniques: $(B)/vramscope ## rewrite docs/guide/techniques.md from lessons/; review the difference
	@$(B)/vramscope lesson --page > $(B)/techniques.md && mv $(B)/techniques.md docs/guide/techniques.md

# Programs that count what is equal to PyTorch, and the page that has the counts.
COUNTING := $(addprefix $(B)/tests/,$(addprefix golden_check/test_golden_,ops scratch events random grid numbers) \
            engine/test_ops engine/core/test_op_policies engine/core/test_op_flops engine/alloc_history/test_replay \
            facts/test_recorded facts/test_recorded_gpu)
golden-counts: $(COUNTING) ## rewrite the counts of docs/internals/fidelity.md
	@VRAMSCOPE_GOLDEN=write sh tools/run-tests.sh $(B) $(COUNTING)

# The fuzzers need clang; each runs for FUZZ_SECONDS on a copy of its seeds, crashing inputs stay in $(B)/fuzz.
FUZZ_SECONDS ?= 60
FUZZERS := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
# The machine of fuzz_net keeps memory from one input to the next, so that libFuzzer would search leaks after each: half
# of the time.
FUZZ_KEEPS := net
fuzzers: $(FUZZERS) # built and not run
fuzz: $(FUZZERS) ## fuzz what reads strangers' bytes, FUZZ_SECONDS=60 each
	@for f in $^; do name=$${f##*/fuzz_}; mkdir -p $$f.corpus; echo "== $$name"; \
	  (cd $(B)/fuzz && $(abspath $(B))/fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 \
	    $$(case " $(FUZZ_KEEPS) " in *" $$name "*) echo -detect_leaks=0;; esac) \
	    $(abspath $(B))/fuzz/fuzz_$$name.corpus $$(ls -d $(CURDIR)/tests/fuzz/seeds/$$name 2>/dev/null)) || exit 1; done

FUZZ_OBJS := $(B)/fuzz/objs
# Whether they are up to date is known to the other make alone: it has the headers each object was made of. One other
# make makes both: two at once would write the same files.
FUZZ_LIBS := $(FUZZ_OBJS)/libcli.a $(FUZZ_OBJS)/libvramscope.a
.PHONY: fuzz-libs $(FUZZ_LIBS)
fuzz-libs:
	@$(MAKE) --no-print-directory B=$(FUZZ_OBJS) CC=clang SAN=address,undefined,fuzzer-no-link $(FUZZ_LIBS)
$(FUZZ_LIBS): fuzz-libs ;
$(B)/fuzz/%: tests/fuzz/%.c $(FUZZ_LIBS)
	$(call say,FUZZ,$@)
	$(Q)clang $(CPPFLAGS) $(WARN) -O1 -g -pthread -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	  -o $@ $< $(FUZZ_LIBS) $(LDLIBS)

SHARE = $(DESTDIR)$(PREFIX)/share
install: $(B)/vramscope $(LOADED_SO) ## copy the program and what belongs to it to DESTDIR and PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/vramscope/sample_nets $(SHARE)/man/man1 \
	  $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(B)/vramscope $(DESTDIR)$(PREFIX)/bin/vramscope
	for f in $(wildcard $(LOADED_SO) $(B)/vramscope_cuda.so $(B)/vramscope_blas.so); do \
	  install -D -m 755 $$f $(DESTDIR)$(PREFIX)/lib/vramscope/$$(basename $$f); done
	install -m 644 sample_nets/*.py $(SHARE)/vramscope/sample_nets
	install -d $(SHARE)/vramscope/sample_nets/tools/netwriter
	install -m 755 sample_nets/tools/torch2net.py $(SHARE)/vramscope/sample_nets/tools
	install -m 644 sample_nets/tools/netwriter/*.py sample_nets/tools/netwriter/known.txt \
	  $(SHARE)/vramscope/sample_nets/tools/netwriter
	install -d $(SHARE)/vramscope/lessons && install -m 644 lessons/*.py $(SHARE)/vramscope/lessons
	install -m 644 docs/vramscope.1 $(SHARE)/man/man1
	for d in . guide formats internals; do \
	  install -d $(SHARE)/doc/vramscope/docs/$$d && \
	  install -m 644 docs/$$d/*.md $(SHARE)/doc/vramscope/docs/$$d || exit 1; done
	install -m 644 completions/vramscope.bash $(SHARE)/bash-completion/completions/vramscope
	install -m 644 completions/_vramscope $(SHARE)/zsh/site-functions
	install -m 644 completions/vramscope.fish $(SHARE)/fish/vendor_completions.d

wheel: ## a wheel for pip: all that `make install` has, for glibc 2.28, into $(B)/wheel
	@sh tools/wheel/build.sh "$(MAKE)" $(B)/wheel

# What depends on where the program's libraries, its Python code and its pages are.
WHEEL_TESTS := $(addprefix $(B)/tests/e2e/,$(addprefix test_,doctor lesson readme record record_program \
                 record_standin) python/test_record_python python/test_record_killed)
wheel-check: wheel $(WHEEL_TESTS) ## install the wheel, and run what of the tests depends on that
	@sh tools/wheel/check.sh $(B) $(WHEEL_TESTS)

clean: ## remove what was built
	rm -rf $(B)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t16
	@echo
	@echo 'Knobs: B=dir CC=gcc|clang DEBUG=1 SAN=address,undefined|thread STRESS=1 V=1 PREFIX=/usr/local DESTDIR='
	@echo 'CUDA:  $(if $(NVCC),compiler found ($(NVCC)): make cuda builds the device,not found; nothing needs it)'
