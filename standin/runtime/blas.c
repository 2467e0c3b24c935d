/*
 * standin/runtime/blas.c - cuBLAS, cuBLASLt and the other libraries of linear algebra: what answers. What only
 * computes is in standin/runtime/simple.def or does nothing by its name.
 */
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"

static int cublasGetMathMode(void *handle, int *mode)
{
    *mode = 0;
    return STI_SUCCESS;
}

static int cublasGetVersion_v2(void *handle, int *version)
{
    *version = sti_versions()->cuda * 10;
    return STI_SUCCESS;
}

static size_t cublasLtGetVersion(void)
{
    return (size_t)sti_versions()->cuda * 10;
}

static int cublasGetProperty(int type, int *value)
{
    const int version = sti_versions()->cuda;

    *value = type == 0 ? version / 1000 : type == 1 ? version % 1000 / 10 : 0;
    return STI_SUCCESS;
}

static int cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
    *out = sti_handle();
    return STI_SUCCESS;
}

/* One algorithm: 64 bytes of it, workspace 0, status 0, waves 1. */
static int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c,
                                          void *d, void *preference, int requested, void *results,
                                          int *returned)
{
    struct {
        uint64_t algorithm[8];
        size_t workspace;
        int state;
        float waves;
        int reserved[4];
    } r;

    memset(&r, 0, sizeof(r));
    r.waves = 1.0f;
    if (requested > 0)
        memcpy(results, &r, sizeof(r));
    *returned = requested > 0;
    return STI_SUCCESS;
}

static int cublasLtMatmulAlgoGetIds(void *handle, int compute, int scale, int a, int b, int c,
                                    int d, int requested, int *ids, int *returned)
{
    if (requested > 0)
        ids[0] = 0;
    *returned = requested > 0;
    return STI_SUCCESS;
}

static int cublasLtMatmulAlgoCheck(void *handle, void *operation, void *a, void *b, void *c,
                                   void *d, const void *algorithm, void *result)
{
    int returned;

    return cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, c, d, NULL, 1, result,
                                          &returned);
}

/* Handles of all libraries have the stream that this thread gave to one of them last. */
static _Thread_local void *stream;

static int stream_set(void *handle, void *to)
{
    stream = to;
    return STI_SUCCESS;
}

static int stream_get(void *handle, void **out)
{
    *out = stream;
    return STI_SUCCESS;
}

/* A plan is an int, not a pointer. */
static int cufftCreate(int *plan)
{
    *plan = (int)(uintptr_t)sti_handle();
    return STI_SUCCESS;
}

static const char *cublasGetStatusString(int status)
{
    return status ? "refused by vramscope's stand-in for a GPU" : "success";
}

const struct sti_call sti_calls_blas[] = {
    STI_CALL(cublasGetMathMode),
    {"cublasGetPointerMode_v2", (sti_function *)cublasGetMathMode},
    {"cublasGetAtomicsMode", (sti_function *)cublasGetMathMode},
    {"cublasGetSmCountTarget", (sti_function *)cublasGetMathMode},
    STI_CALL(cublasGetVersion_v2),
    STI_CALL(cublasLtGetVersion),
    {"cublasLtGetCudartVersion", (sti_function *)cublasLtGetVersion},
    STI_CALL(cublasGetProperty),
    {"cusparseGetProperty", (sti_function *)cublasGetProperty},
    {"cusolverGetProperty", (sti_function *)cublasGetProperty},
    {"cufftGetProperty", (sti_function *)cublasGetProperty},
    STI_CALL(cublasLtMatmulDescCreate),
    {"cublasLtMatrixLayoutCreate", (sti_function *)cublasLtMatmulDescCreate},
    {"cublasLtMatrixTransformDescCreate", (sti_function *)cublasLtMatmulDescCreate},
    STI_CALL(cublasLtMatmulAlgoGetHeuristic),
    STI_CALL(cublasLtMatmulAlgoGetIds),
    STI_CALL(cublasLtMatmulAlgoCheck),
    {"cublasSetStream_v2", (sti_function *)stream_set},
    {"cublasGetStream_v2", (sti_function *)stream_get},
    {"cudnnSetStream", (sti_function *)stream_set},
    {"cudnnGetStream", (sti_function *)stream_get},
    {"cusparseSetStream", (sti_function *)stream_set},
    {"cusparseGetStream", (sti_function *)stream_get},
    {"cusolverDnSetStream", (sti_function *)stream_set},
    {"cusolverDnGetStream", (sti_function *)stream_get},
    STI_CALL(cufftCreate),
    STI_CALL(cublasGetStatusString),
    {"cublasLtGetStatusString", (sti_function *)cublasGetStatusString},
    {"cublasLtGetStatusName", (sti_function *)cublasGetStatusString},
    {"cusparseGetErrorString", (sti_function *)cublasGetStatusString},
    {"cusparseGetErrorName", (sti_function *)cublasGetStatusString},
    STI_CALLS_END,
};
