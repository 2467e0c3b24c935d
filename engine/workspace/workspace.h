/*
 * engine/workspace/workspace.h - what kernels and libraries of our own GPU work in, taken from the caching allocator around each call.
 *
 * For:            ops that call such a kernel: they open a room, call it, close the room. Also the one way to call these kernels.
 * Must not know:  autograd, which op asks.
 * Invariant:      in force on a device of its own, and on a run without data that repeats one; never with a target, whose workspaces are
 *                 those PyTorch would take (scratch.h). Elsewhere a room is nothing. Same operands, same bytes, device or not.
 *
 * Most sizes follow from the operands' (engine/device/workspace_sizes.h). What cuDNN works in only the device can tell: it is asked once for each
 * convolution, and its answers are written down as text, a line each, which a later run without data is given:
 *
 *     gpu 90
 *     forward float32 8,3,32,32 16,3,3,3 8,16,32,32 stride 1,1 padding 1,1 dilation 1,1 groups 1 contiguous xwy: 20480 0
 *
 * The numbers after the colon are bytes, best way first; the next one is taken where memory for it is not to be had, as PyTorch does.
 * A convolution that the text does not have is taken to work in nothing, and its place is noted.
 */
#ifndef ENG_WORKSPACE_H
#define ENG_WORKSPACE_H

#include "engine/core/engine_internal.h"

/* capability: of the device that is measured; 0: `measured` says it. */
struct eng_workspaces *eng_workspaces_new(int capability, const char *measured);
void eng_workspaces_free(struct eng_workspaces *rooms);
bool eng_workspaces_in_force(const struct eng *e);
/* Compute capability of the GPU whose products are multiplied. */
int eng_workspaces_capability(const struct eng *e);

/* An open room. Zeroed: none. */
struct eng_workspace {
    struct eng *e;
    struct eng_storage *scratch;
    struct eng_storage *library; /* to be given back */
};

/*
 * A room for the next kernel call. on_host: its result lies there, and there is none. Where memory is not to be had the context fails
 * with VS_E_OOM, and the kernel must not be called: the eng_run_ functions below see to all of it.
 */
struct eng_workspace eng_workspace_open(struct eng *e, bool on_host, uint64_t bytes);
/* Of a product, with the workspace of cuBLAS; with a target that of cuBLASLt where is_fused, and nothing beside. */
struct eng_workspace eng_workspace_open_product(struct eng *e, bool on_host, bool is_fused,
                                                uint64_t bytes);
void eng_workspace_close(struct eng_workspace *room);

/* Is there anything to do for a kernel that may need a room: are there data, or a room to be taken? */
static inline bool eng_runs(const struct eng *e)
{
    return !e->failed && (e->kernels || e->rooms);
}

/* The kernels of engine/device/kernels.h of these names, in their rooms; without data the rooms alone. on_host: where the result lies. */
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
