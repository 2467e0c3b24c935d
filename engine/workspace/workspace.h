/*
 * engine/workspace/workspace.h - workspaces of this program's own kernels and of the libraries they call on a real GPU,
 * allocated from the caching allocator around each call.
 *
 * For:            ops that call such a kernel: open a workspace, call the kernel, close the workspace; and functions
 *                 that do this for the kernels that need one.
 * Must not know:  autograd, which op calls.
 * Invariant:      in force on a real device, and in a run without data that repeats one; never with a target, whose
 *                 workspaces are those that PyTorch takes (scratch.h). Otherwise an open workspace is empty. The same
 *                 operands give the same bytes, with a device or without.
 *
 * Most sizes follow from those of the operands (engine/device/workspace_sizes.h). cuDNN's are known to the device only:
 * it is queried once per convolution, and the results are kept as text, one line each, for later runs without data:
 *
 *     gpu 90
 *     forward float32 8,3,32,32 16,3,3,3 8,16,32,32 stride 1,1 padding 1,1 dilation 1,1 groups 1 contiguous xwy: 20480
 *     0
 *
 * The numbers after the colon are bytes per algorithm, fastest first. If the memory for one cannot be allocated, the
 * next is used, as PyTorch does. A convolution that is not in the text gets no workspace, and its location is noted.
 */
#ifndef ENG_WORKSPACE_H
#define ENG_WORKSPACE_H

#include "engine/core/engine_internal.h"

/* capability: compute capability of the device to be measured; 0: it is in `measured`. Freed by eng_workspaces_free. */
struct eng_workspaces *eng_workspaces_new(int capability, const char *measured);
void eng_workspaces_free(struct eng_workspaces *workspaces);
/* Whether this context allocates such workspaces: see the invariant above. */
bool eng_workspaces_in_force(const struct eng *e);
/* Compute capability (90 for 9.0) of the real or simulated GPU; 0: none. */
int eng_workspaces_capability(const struct eng *e);

/* An open workspace. Zeroed: empty. */
struct eng_workspace {
    struct eng *e;
    struct eng_storage *scratch;
    struct eng_storage *library; /* of cuBLAS; released when the workspace is closed */
};

/*
 * Opens a workspace of `bytes` for the next kernel call. on_host: the kernel's result is on the host, so none is
 * needed. If memory cannot be allocated the context fails with VS_E_OOM, and the kernel must not be called. The
 * eng_run_ functions below do all of this.
 */
struct eng_workspace eng_workspace_open(struct eng *e, bool on_host, uint64_t bytes);
/* The same for a matrix product, with cuBLAS's workspace; with a target only that, or cuBLASLt's where is_fused. */
struct eng_workspace eng_workspace_open_product(struct eng *e, bool on_host, bool is_fused,
                                                uint64_t bytes);
void eng_workspace_close(struct eng_workspace *workspace);

/* Notes the current location as one at which a library's workspace is missing; nothing where none are allocated. */
void eng_workspace_unmeasured(struct eng *e);

/* Whether a kernel has to be called, or a workspace allocated for it. */
static inline bool eng_runs(const struct eng *e)
{
    return !e->failed && (e->kernels || e->workspaces);
}

/*
 * The kernels of these names in engine/device/kernels.h, called in their workspaces; without data only the workspaces
 * are allocated. on_host: the result is on the host.
 */
void eng_run_reduce(struct eng *e, bool on_host, enum eng_reduce op, const struct eng_view *x,
                    const struct eng_view *out, uint32_t dims, const double *p);
void eng_run_sort(struct eng *e, bool on_host, const struct eng_view *x, int dim, bool descending,
                  const struct eng_view *values, const struct eng_view *indices);
void eng_run_matmul(struct eng *e, bool on_host, bool is_fused, const struct eng_view *a,
                    const struct eng_view *b, const struct eng_view *c, double alpha, double beta);
void eng_run_conv2d(struct eng *e, bool on_host, const struct eng_view *x, const struct eng_view *w,
                    const struct eng_view *bias, const struct eng_view *out,
                    const struct eng_conv2d *p);
void eng_run_conv2d_backward_input(struct eng *e, bool on_host, const struct eng_view *g,
                                   const struct eng_view *w, const struct eng_view *gx,
                                   const struct eng_conv2d *p);
void eng_run_conv2d_backward_weight(struct eng *e, bool on_host, const struct eng_view *g,
                                    const struct eng_view *x, const struct eng_view *gw,
                                    const struct eng_conv2d *p);
void eng_run_embedding_backward(struct eng *e, bool on_host, const struct eng_view *g,
                                const struct eng_view *idx, int64_t padding_idx,
                                const struct eng_view *gtable);

#endif
