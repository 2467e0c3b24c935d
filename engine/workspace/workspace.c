/*
 * engine/workspace/workspace.c - opens and closes workspaces, and calls kernels in them, see workspace.h.
 * The table of measured convolutions is in workspace_measured.c.
 *
 * Must not know:  ops.
 * Invariant:      the device is given a workspace exactly while it is open here.
 */
#include "engine/workspace/workspace.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/device/workspace_sizes.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace_internal.h"

bool eng_workspaces_in_force(const struct eng *e)
{
    return e->workspaces && !e->target;
}

int eng_workspaces_capability(const struct eng *e)
{
    return e->target ? e->target->capability : e->workspaces ? e->workspaces->capability : 0;
}

/* ---- workspaces ---- */

/* Passes the memory for the next kernel to the device; all NULL: none. */
static void emit_device(const struct eng *e, const struct eng_storage *scratch,
                        const struct eng_storage *library, const struct eng_conv_way *way)
{
    struct eng_device_workspace available = {.way = way};

    if (!e->device)
        return;
    if (scratch) {
        available.scratch = scratch->data;
        available.scratch_bytes = scratch->bytes;
    }
    if (library) {
        available.library = library->data;
        available.library_bytes = library->bytes;
    }
    e->device->set_workspace(&available);
}

struct eng_workspace eng_workspace_open(struct eng *e, bool on_host, uint64_t bytes)
{
    struct eng_workspace workspace = {NULL, NULL, NULL};

    if (!eng_workspaces_in_force(e) || on_host || e->failed)
        return workspace;
    workspace.e = e;
    workspace.scratch = eng_scratch_new(e, bytes);
    emit_device(e, workspace.scratch, NULL, NULL);
    return workspace;
}

struct eng_workspace eng_workspace_open_product(struct eng *e, bool on_host, bool is_fused,
                                                uint64_t bytes)
{
    struct eng_workspace workspace = {NULL, NULL, NULL};
    struct eng_storage *library = NULL;

    if (on_host || e->failed || !eng_workspaces_capability(e))
        return workspace;
    workspace.e = e;
    workspace.library = eng_scratch_gemm(e, is_fused && e->target, &library);
    if (!eng_workspaces_in_force(e))
        return workspace;
    workspace.scratch = eng_scratch_new(e, bytes);
    emit_device(e, workspace.scratch, library, NULL);
    return workspace;
}

void eng_workspace_close(struct eng_workspace *workspace)
{
    if (!workspace->e)
        return;
    eng_storage_unref(workspace->scratch);
    eng_storage_unref(workspace->library);
    if (eng_workspaces_in_force(workspace->e))
        emit_device(workspace->e, NULL, NULL, NULL);
}

/* ---- convolutions ---- */

static uint32_t location_here(struct eng *e)
{
    if (e->location_dirty)
        eng_location_id_find(e);
    return e->location_id;
}

static void note_unmeasured(struct eng *e)
{
    struct eng_workspaces *r = e->workspaces;
    uint32_t location;

    if (!e->observer)
        return;
    location = location_here(e);
    for (size_t i = r->unmeasured_count; i > 0; i--)
        if (r->unmeasured[i - 1] == location)
            return;
    r->unmeasured =
        vs_grow(r->unmeasured, r->unmeasured_count, &r->unmeasured_cap, sizeof(*r->unmeasured));
    r->unmeasured[r->unmeasured_count++] = location;
}

void eng_workspace_unmeasured(struct eng *e)
{
    if (eng_workspaces_in_force(e))
        note_unmeasured(e);
}

/* Notes a shortage, once per location and algorithm. */
static void note_shortage(struct eng *e, const struct eng_measured *m, int way)
{
    struct eng_workspaces *r = e->workspaces;
    char text[ENG_LOCATION_TEXT_MAX];
    uint32_t location;

    if (!e->observer)
        return;
    location = location_here(e);
    for (size_t i = 0; i < r->shortage_count; i++)
        if (r->shortages[i].location == location && r->shortages[i].way == way)
            return;
    r->shortages =
        vs_grow(r->shortages, r->shortage_count, &r->shortage_cap, sizeof(*r->shortages));
    r->shortages[r->shortage_count++] = (struct eng_shortage){location, way};
    vs_text_addf(&r->shortage_text,
                 "%s%s of %s: %" PRIu64
                 " bytes to work in were not to be had, so a slower way took %" PRIu64,
                 r->shortage_count > 1 ? "\n" : "", e->op ? e->op : "a convolution",
                 eng_location_text(e->line, NULL, text), m->ways[0].bytes, m->ways[way].bytes);
}

/* The measurement of a call, made now if there is a device. NULL: not measured, or the device failed. */
static struct eng_measured *measured_of(struct eng *e, const struct eng_conv_call *call)
{
    struct eng_measured *m = eng_measured_find(e->workspaces, call);
    struct eng_conv_way ways[ENG_CONV_WAYS];
    int n;

    if (m)
        return m;
    if (!e->device) {
        note_unmeasured(e);
        return NULL;
    }
    n = e->device->conv_ways(call->kind, call->x, call->w, call->y, call->p, ways);
    if (n <= 0)
        return NULL;
    m = eng_measured_add(e->workspaces, call);
    memcpy(m->ways, ways, sizeof(*ways) * (size_t)n);
    m->count = n;
    return m;
}

/*
 * Allocates for the fastest algorithm for which memory suffices. If that is none, the request of the last one fails the
 * run.
 */
static struct eng_storage *best_way(struct eng *e, const struct eng_measured *m, int *way)
{
    for (*way = 0; *way < m->count - 1; ++*way) {
        struct eng_storage *s = eng_scratch_try(e, m->ways[*way].bytes);

        if (s || !m->ways[*way].bytes)
            return s;
    }
    return eng_scratch_new(e, m->ways[*way].bytes);
}

static struct eng_workspace open_conv(struct eng *e, bool on_host, const struct eng_conv_call *call)
{
    struct eng_workspace workspace = {NULL, NULL, NULL};
    struct eng_measured *m;
    int way = 0;

    if (!eng_workspaces_in_force(e) || on_host || e->failed || !eng_workspace_numel(call->x) ||
        !eng_workspace_numel(call->w) || !eng_workspace_numel(call->y))
        return workspace;
    m = measured_of(e, call);
    if (!m)
        return workspace;
    workspace.e = e;
    workspace.scratch = best_way(e, m, &way);
    if (way && !e->failed)
        note_shortage(e, m, way);
    emit_device(e, workspace.scratch, NULL, &m->ways[way]);
    return workspace;
}

void eng_run_conv2d(struct eng *e, bool on_host, const struct eng_view *x, const struct eng_view *w,
                    const struct eng_view *bias, const struct eng_view *out,
                    const struct eng_conv2d *p)
{
    struct eng_workspace workspace =
        open_conv(e, on_host, &(struct eng_conv_call){ENG_CONV_FORWARD, x, w, out, p});

    if (e->kernels && !e->failed)
        e->kernels->conv2d(x, w, bias, out, p);
    eng_workspace_close(&workspace);
}

void eng_run_conv2d_backward_input(struct eng *e, bool on_host, const struct eng_view *g,
                                   const struct eng_view *w, const struct eng_view *gx,
                                   const struct eng_conv2d *p)
{
    struct eng_workspace workspace =
        open_conv(e, on_host, &(struct eng_conv_call){ENG_CONV_INPUT, gx, w, g, p});

    if (e->kernels && !e->failed)
        e->kernels->conv2d_backward_input(g, w, gx, p);
    eng_workspace_close(&workspace);
}

void eng_run_conv2d_backward_weight(struct eng *e, bool on_host, const struct eng_view *g,
                                    const struct eng_view *x, const struct eng_view *gw,
                                    const struct eng_conv2d *p)
{
    struct eng_workspace workspace =
        open_conv(e, on_host, &(struct eng_conv_call){ENG_CONV_WEIGHT, x, gw, g, p});

    if (e->kernels && !e->failed)
        e->kernels->conv2d_backward_weight(g, x, gw, p);
    eng_workspace_close(&workspace);
}

/* ---- kernels whose workspaces follow from the operands' sizes ---- */

void eng_run_reduce(struct eng *e, bool on_host, enum eng_reduce op, const struct eng_view *x,
                    const struct eng_view *out, uint32_t dims, const double *p)
{
    struct eng_workspace workspace =
        eng_workspace_open(e, on_host, eng_workspace_reduce((int)op, x, out));

    if (e->kernels && !e->failed)
        e->kernels->reduce(op, x, out, dims, p);
    eng_workspace_close(&workspace);
}

void eng_run_sort(struct eng *e, bool on_host, const struct eng_view *x, int dim, bool descending,
                  const struct eng_view *values, const struct eng_view *indices)
{
    struct eng_workspace workspace = eng_workspace_open(e, on_host, eng_workspace_sort(x));

    if (e->kernels && !e->failed)
        e->kernels->sort(x, dim, descending, values, indices);
    eng_workspace_close(&workspace);
}

void eng_run_matmul(struct eng *e, bool on_host, bool is_fused, const struct eng_view *a,
                    const struct eng_view *b, const struct eng_view *c, double alpha, double beta)
{
    struct eng_workspace workspace = {NULL, NULL, NULL};

    if (eng_workspace_numel(c)) /* no library call is made for an empty product */
        workspace = eng_workspace_open_product(e, on_host, is_fused, eng_workspace_matmul(a, b, c));
    if (e->kernels && !e->failed)
        e->kernels->matmul(a, b, c, alpha, beta);
    eng_workspace_close(&workspace);
}

void eng_run_embedding_backward(struct eng *e, bool on_host, const struct eng_view *g,
                                const struct eng_view *idx, int64_t padding_idx,
                                const struct eng_view *gtable)
{
    uint64_t bytes =
        eng_workspace_numel(g) ? eng_workspace_embedding_backward(idx->sizes[idx->ndim - 1]) : 0;
    struct eng_workspace workspace = eng_workspace_open(e, on_host, bytes);

    if (e->kernels && !e->failed)
        e->kernels->embedding_backward(g, idx, padding_idx, gtable);
    eng_workspace_close(&workspace);
}
