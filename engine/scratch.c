/*
 * engine/scratch.c - workspaces of cuBLAS and cuBLASLt: see scratch.h. Reductions are in scratch_reduce.c.
 *
 * Must not know:  ops.
 * Invariant:      a workspace that is kept belongs to a thread: forward's, or that of autograd.
 */
#include "engine/scratch.h"

#include "engine/scratch_internal.h"

#define KIB UINT64_C(1024)

/* at::cuda::getChosenWorkspaceSize: 8 x 4 MiB on Hopper and, from 2.11 on, on Blackwell; else 2 x 4 MiB and 8 x 16 KiB. */
static uint64_t cublas_bytes(const struct eng *e)
{
    int capability = e->target->capability;
    bool is_large =
        capability == 90 || (capability >= 100 && e->workspace_manner == ENG_WORKSPACE_A_CALL);

    return is_large ? 8 * 4096 * KIB : 2 * 4096 * KIB + 8 * 16 * KIB;
}

#define CUBLASLT_BYTES (1024 * KIB)

void eng_scratch_once(struct eng *e, uint64_t bytes)
{
    eng_storage_unref(eng_scratch_new(e, bytes));
}

#define MEASURED_PROCESSORS 108

int eng_scratch_processors(const struct eng *e)
{
    return e->target ? e->target->processors : MEASURED_PROCESSORS;
}

/* The handle of cuBLAS belongs to a thread, and backward runs on autograd's own. */
static void kept_workspace(struct eng *e)
{
    struct eng_storage **slot = &e->workspaces[e->task_id ? 1 : 0];

    if (!*slot)
        *slot = eng_scratch_new(e, cublas_bytes(e));
}

void eng_scratch_gemm(struct eng *e)
{
    if (!e->target)
        return;
    if (e->workspace_manner == ENG_WORKSPACE_A_CALL)
        eng_scratch_once(e, cublas_bytes(e));
    else
        kept_workspace(e);
}

void eng_scratch_gemm_lt(struct eng *e)
{
    struct eng_storage *own;

    if (!e->target)
        return;
    switch (e->workspace_manner) {
    case ENG_WORKSPACE_A_CALL:
        eng_scratch_once(e, CUBLASLT_BYTES);
        break;
    case ENG_WORKSPACE_KEPT:
        kept_workspace(e);
        break;
    case ENG_WORKSPACE_KEPT_AND_LT:
        own = eng_scratch_new(e, CUBLASLT_BYTES);
        kept_workspace(e); /* asking for the handle brings it */
        eng_storage_unref(own);
        break;
    }
}

void eng_scratch_release(struct eng *e)
{
    for (int i = 0; i < 2; i++) {
        eng_storage_unref(e->workspaces[i]);
        e->workspaces[i] = NULL;
    }
}
