/*
 * engine/workspace/scratch.c - workspaces of cuBLAS and cuBLASLt, see scratch.h. Reductions are in scratch_reduce.c.
 *
 * Must not know:  ops.
 * Invariant:      a workspace that is kept belongs to one thread: the main thread, or that of autograd.
 */
#include "engine/workspace/scratch.h"

#include "engine/workspace/scratch_internal.h"
#include "engine/workspace/workspace.h"

static uint64_t cublas_bytes(const struct eng *e)
{
    return vs_cublas_workspace(eng_workspaces_capability(e),
                               e->workspace_policy == ENG_WORKSPACE_PER_CALL);
}

#define CUBLASLT_BYTES (UINT64_C(1) << 20)

void eng_scratch_once(struct eng *e, uint64_t bytes)
{
    eng_storage_unref(eng_scratch_new(e, bytes));
}

#define MEASURED_PROCESSORS 108

int eng_scratch_processors(const struct eng *e)
{
    return e->target ? e->target->processors : MEASURED_PROCESSORS;
}

/* PyTorch keeps one cuBLAS handle, with its workspace, per thread, and backward runs on autograd's own thread. */
static struct eng_storage *kept(struct eng *e, struct eng_storage **of_threads, uint64_t bytes)
{
    struct eng_storage **slot = &of_threads[e->task_id ? 1 : 0];

    if (!*slot)
        *slot = eng_scratch_new(e, bytes);
    return *slot;
}

static struct eng_storage *kept_workspace(struct eng *e)
{
    return kept(e, e->cublas_workspaces, cublas_bytes(e));
}

struct eng_storage *eng_scratch_gemm(struct eng *e, bool is_lt, struct eng_storage **out)
{
    struct eng_storage *own = NULL;

    switch ((enum eng_workspace_policy)e->workspace_policy) {
    case ENG_WORKSPACE_PER_CALL:
        own = eng_scratch_new(e, is_lt ? CUBLASLT_BYTES : cublas_bytes(e));
        *out = own;
        break;
    case ENG_WORKSPACE_KEPT:
        *out = kept_workspace(e);
        break;
    case ENG_WORKSPACE_KEPT_BOTH:
        *out = kept_workspace(e); /* getting the cuBLAS handle allocates it */
        if (is_lt)
            *out = kept(e, e->cublaslt_workspaces, CUBLASLT_BYTES);
        break;
    case ENG_WORKSPACE_KEPT_AND_LT:
        own = is_lt ? eng_scratch_new(e, CUBLASLT_BYTES) : NULL;
        *out = kept_workspace(e);
        break;
    }
    return own;
}

void eng_scratch_release(struct eng *e)
{
    for (int i = 0; i < 2; i++) {
        eng_storage_unref(e->cublas_workspaces[i]);
        eng_storage_unref(e->cublaslt_workspaces[i]);
        e->cublas_workspaces[i] = NULL;
        e->cublaslt_workspaces[i] = NULL;
    }
}
