/*
 * standin/runtime/calls.c - see runtime.h and calls.h: the simulated functions, by name.
 */
#include "standin/runtime/calls.h"

#include <string.h>

#include "base/mem.h"
#include "standin/family.h"
#include "standin/runtime/simple.def"

static const struct sti_call *const TABLES[] = {
    sti_calls_device, sti_calls_copy,   sti_calls_pool,          sti_calls_stream, sti_calls_graph,
    sti_calls_kernel, sti_calls_driver, sti_calls_driver_memory, sti_calls_blas,   sti_calls_cudnn,
    sti_calls_nccl,   sti_calls_nvml,   sti_calls_nvrtc,
};
#define TABLE_COUNT (sizeof(TABLES) / sizeof(TABLES[0]))

static int nothing(void)
{
    return STI_SUCCESS;
}

static int handle(void **out)
{
    *out = sti_handle();
    return STI_SUCCESS;
}

static int launch(void)
{
    sti_values_age();
    sti_work();
    return STI_SUCCESS;
}

static int compute(void)
{
    sti_work();
    return STI_SUCCESS;
}

static int unsupported(void)
{
    return sti_family_info(STI_NVML)->refusal;
}

#define NOTHING nothing
#define LAUNCH launch
#define UNSUPPORTED unsupported
#define NOT_SIMULATED NULL
#define HANDLE handle
static const struct sti_call SIMPLE[] = {
#define SIMPLE_ROW(name, behaviour) {#name, (sti_function *)(behaviour)},
    STI_SIMPLE(SIMPLE_ROW)
#undef SIMPLE_ROW
        STI_CALLS_END,
};

sti_function *sti_call_find(const char *name)
{
    for (size_t i = 0; i <= TABLE_COUNT; i++)
        for (const struct sti_call *call = i < TABLE_COUNT ? TABLES[i] : SIMPLE; call->name; call++)
            if (strcmp(call->name, name) == 0)
                return call->function;
    return NULL;
}

const char **sti_call_names(void)
{
    size_t count = 0;
    const char **names;

    for (size_t i = 0; i <= TABLE_COUNT; i++)
        for (const struct sti_call *call = i < TABLE_COUNT ? TABLES[i] : SIMPLE; call->name; call++)
            count++;
    names = vs_calloc(count + 1, sizeof(*names));
    count = 0;
    for (size_t i = 0; i <= TABLE_COUNT; i++)
        for (const struct sti_call *call = i < TABLE_COUNT ? TABLES[i] : SIMPLE; call->name; call++)
            names[count++] = call->name;
    return names;
}

/* Do functions of this family only put work into a stream, except for those with certain names? */
static bool computes(enum sti_family family)
{
    return family == STI_CUBLAS || family == STI_CUBLASLT || family == STI_CUDNN ||
           family == STI_CUSPARSE || family == STI_CUSPARSELT || family == STI_CUSOLVER ||
           family == STI_CUFFT || family == STI_CURAND || family == STI_NCCL ||
           family == STI_NVSHMEM || family == STI_NVTX;
}

sti_function *sti_call_default(const char *name)
{
    static const char *const ANSWERS[] = {"Get",  "Query", "Create", "Alloc",   "Size",
                                          "size", "Nnz",   "nnz",    "Estimat", "Find",
                                          "Init", "Plan",  "Pivot",  "create",  "estimate"};

    if (!computes(sti_family_of(name)))
        return NULL;
    if (sti_size_find(name))
        return sti_size_find(name);
    for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++)
        if (strstr(name, ANSWERS[i]))
            return NULL;
    return (sti_function *)compute;
}
