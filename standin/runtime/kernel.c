/*
 * standin/runtime/kernel.c - kernels: registered, configured, launched, and never run.
 *
 * Registers, shared memory and limits of a kernel are in its code, which is not read: every kernel counts as one with
 * 32 registers that may have the largest block. So occupancy depends on the number of threads only.
 */
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"

#define REGISTERS 32

/* ---- what compiled programs call when they are loaded, and at <<<…>>> ---- */

static void **__cudaRegisterFatBinary(void *image)
{
    return sti_handle();
}

struct dim3 {
    unsigned x, y, z;
};

static _Thread_local struct {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
} configuration;

static unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                            void *stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared = shared;
    configuration.stream = stream;
    return STI_SUCCESS;
}

static int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared,
                                      void **stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *stream = configuration.stream;
    return STI_SUCCESS;
}

static int __cudaGetKernel(void **kernel, const void *function)
{
    *kernel = sti_handle();
    return STI_SUCCESS;
}

/* ---- attributes ---- */

static int cudaFuncGetAttributes(void *out, const void *function)
{
    struct {
        size_t shared, constant, local;
        int threads, registers, ptx, binary, cache, dynamic_shared, carveout, rest[23];
    } a;

    _Static_assert(sizeof(a) == 144, "as cudaFuncAttributes");
    memset(&a, 0, sizeof(a));
    a.threads = sti_attribute(1);
    a.registers = REGISTERS;
    a.ptx = a.binary = sti_gpu()->capability;
    a.dynamic_shared = sti_attribute(8);
    memcpy(out, &a, sizeof(a));
    return STI_SUCCESS;
}

/* By the numbers of enum CUfunction_attribute. */
static int cuFuncGetAttribute(int *value, int attribute, const void *function)
{
    const int values[] = {
        sti_attribute(1), 0, 0, 0, REGISTERS, sti_gpu()->capability, sti_gpu()->capability, 0,
        sti_attribute(8)};

    *value = attribute >= 0 && attribute < (int)(sizeof(values) / sizeof(values[0]))
                 ? values[attribute]
                 : 0;
    return STI_SUCCESS;
}

static int cuKernelGetAttribute(int *value, int attribute, const void *kernel, int device)
{
    return cuFuncGetAttribute(value, attribute, kernel);
}

static int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                         int threads, size_t shared)
{
    const int most = sti_gpu()->threads;
    const int limit = sti_attribute(106);

    *blocks = threads > 0 && threads <= most ? most / threads : 1;
    if (shared && *blocks > 1 && (uint64_t)*blocks * shared > (uint64_t)sti_attribute(81))
        *blocks = (int)((uint64_t)sti_attribute(81) / shared);
    if (*blocks > limit)
        *blocks = limit;
    return STI_SUCCESS;
}

static int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                  int threads, size_t shared,
                                                                  unsigned flags)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

static int cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const void *config)
{
    *clusters = sti_gpu()->processors;
    return STI_SUCCESS;
}

static int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function,
                                            const void *shared_of, size_t shared, int limit)
{
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = sti_gpu()->processors * (sti_gpu()->threads / *block);
    return STI_SUCCESS;
}

/* ---- modules and libraries ---- */

static int cuModuleLoad(void **module, const void *what)
{
    *module = sti_handle();
    return STI_SUCCESS;
}

static int cuModuleLoadDataEx(void **module, const void *image, unsigned count, const void *options,
                              const void *values)
{
    return cuModuleLoad(module, image);
}

static int cuModuleGetFunction(void **function, const void *module, const char *name)
{
    *function = sti_handle();
    return STI_SUCCESS;
}

static int cuModuleGetGlobal(void **address, size_t *bytes, const void *module, const char *name)
{
    if (bytes)
        *bytes = 1;
    return address ? sti_memory_reserve(1, address) : STI_SUCCESS;
}

static int cudaLibraryLoadData(void **library, const void *code, const void *jit,
                               const void *jit_values, unsigned jit_count, const void *options,
                               const void *values, unsigned count)
{
    return cuModuleLoad(library, code);
}

static int cudaLibraryGetKernelCount(unsigned *count, const void *library)
{
    *count = 0;
    return STI_SUCCESS;
}

static int cuKernelGetFunction(void **function, const void *kernel)
{
    *function = sti_handle();
    return STI_SUCCESS;
}

static int cuLinkCreate(unsigned count, const void *options, const void *values, void **state)
{
    *state = sti_handle();
    return STI_SUCCESS;
}

static int cuLinkComplete(const void *state, const void **image, size_t *bytes)
{
    static const char NOTHING[8];

    *image = NOTHING;
    if (bytes)
        *bytes = sizeof(NOTHING);
    return STI_SUCCESS;
}

const struct sti_call sti_calls_kernel[] = {
    STI_CALL(__cudaRegisterFatBinary),
    STI_CALL(__cudaPushCallConfiguration),
    STI_CALL(__cudaPopCallConfiguration),
    STI_CALL(__cudaGetKernel),
    {"cudaGetKernel", (sti_function *)__cudaGetKernel},
    {"cudaGetFuncBySymbol", (sti_function *)__cudaGetKernel},
    STI_CALL(cudaFuncGetAttributes),
    STI_CALL(cuFuncGetAttribute),
    STI_CALL(cuKernelGetAttribute),
    STI_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor),
    STI_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
    STI_CALL(cudaOccupancyMaxActiveClusters),
    {"cuOccupancyMaxActiveClusters", (sti_function *)cudaOccupancyMaxActiveClusters},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor",
     (sti_function *)cudaOccupancyMaxActiveBlocksPerMultiprocessor},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
     (sti_function *)cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags},
    STI_CALL(cuOccupancyMaxPotentialBlockSize),
    STI_CALL(cuModuleLoad),
    {"cuModuleLoadData", (sti_function *)cuModuleLoad},
    {"cuModuleLoadFatBinary", (sti_function *)cuModuleLoad},
    STI_CALL(cuModuleLoadDataEx),
    STI_CALL(cuModuleGetFunction),
    {"cuModuleGetGlobal_v2", (sti_function *)cuModuleGetGlobal},
    STI_CALL(cudaLibraryLoadData),
    {"cudaLibraryLoadFromFile", (sti_function *)cudaLibraryLoadData},
    {"cuLibraryLoadData", (sti_function *)cudaLibraryLoadData},
    {"cuLibraryLoadFromFile", (sti_function *)cudaLibraryLoadData},
    {"cudaLibraryGetKernel", (sti_function *)cuModuleGetFunction},
    {"cuLibraryGetKernel", (sti_function *)cuModuleGetFunction},
    {"cuLibraryGetModule", (sti_function *)cuKernelGetFunction},
    {"cudaLibraryGetUnifiedFunction", (sti_function *)cuModuleGetFunction},
    {"cudaLibraryGetGlobal", (sti_function *)cuModuleGetGlobal},
    {"cudaLibraryGetManaged", (sti_function *)cuModuleGetGlobal},
    {"cuLibraryGetGlobal", (sti_function *)cuModuleGetGlobal},
    STI_CALL(cudaLibraryGetKernelCount),
    {"cuLibraryGetKernelCount", (sti_function *)cudaLibraryGetKernelCount},
    STI_CALL(cuKernelGetFunction),
    {"cuLinkCreate_v2", (sti_function *)cuLinkCreate},
    STI_CALL(cuLinkComplete),
    STI_CALLS_END,
};
