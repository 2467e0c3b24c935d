/*
 * tests/engine/device/twin/cuda_twin.c - a simulated GPU in host memory: everything that the kernels of
 * engine/device/cuda need to run on a machine without a GPU.
 *
 * For:            the tests of the CPU's kernels, run a second time over the table of the CUDA device, and whole runs
 *                 through the plug-in of twin_plugin.c. Kernel launches are loops (cuda_launch.cuh) that start at
 *                 varying iterations.
 * Must not know:  any kernel. Products and convolutions, which libraries compute on a GPU, are those of the host.
 * Invariant:      before a device is opened, all host memory counts as device memory; afterwards only its segments and
 *                 scratch memory do, and all other operands must be copied first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/target.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/workspace_sizes.h"
#include "tests/engine/device/twin/cuda_twin.h"
#include "tests/engine/device/twin/twin_device.h"
#include "tests/engine/device/twin/twin_turn.h"

#define MOST 16
#define MOST_SEGMENTS 4096
#define SOILED ((uint64_t)1 << 20)

struct piece {
    const char *memory;
    uint64_t bytes;
};

static struct {
    const struct eng_kernels *host;
    struct piece scratch[MOST];
    int count;
    int depth;
    int flag;
    bool is_open;
    struct piece segments[MOST_SEGMENTS];
    size_t segment_count;
    bool is_strict; /* what a kernel works in has to be brought */
    struct eng_device_workspace workspace;
    uint64_t workspace_used;
    uint64_t products;
    uint64_t convolutions;
} twin;

const struct eng_kernels *twin_kernels_over(const struct eng_kernels *host)
{
    twin.host = host;
    return eng_kernels_cuda();
}

void twin_open(void)
{
    twin.is_open = true;
    twin.is_strict = getenv("VRAMSCOPE_TWIN_STRICT") != NULL;
    if (getenv("VRAMSCOPE_TWIN_ORDER"))
        twin_turns_begin(strtoull(getenv("VRAMSCOPE_TWIN_ORDER"), NULL, 10));
}

/* Writes the numbers of launches, products and convolutions of a run to the file VRAMSCOPE_TWIN_LAUNCHES. */
static void say_launches(void)
{
    const char *path = getenv("VRAMSCOPE_TWIN_LAUNCHES");
    FILE *f = path ? fopen(path, "w") : NULL;

    if (!f)
        return;
    fprintf(f, "launches %" PRIu64 " products %" PRIu64 " convolutions %" PRIu64 "\n",
            twin_launches(), twin.products, twin.convolutions);
    fclose(f);
}

void twin_close(void)
{
    say_launches();
    VS_ASSERT(!twin.workspace.scratch && !twin.workspace.library && !twin.workspace.way);
    VS_ASSERT(twin.segment_count == 0 && twin.depth == 0 && twin.flag == 0);
    twin.is_open = false;
}

const struct eng_kernels *cuda_host(void)
{
    return twin.host;
}

static bool is_in(const struct piece *p, const void *memory)
{
    return (const char *)memory >= p->memory && (const char *)memory < p->memory + p->bytes;
}

bool cuda_is_device(const void *memory)
{
    if (!memory)
        return false;
    if (!twin.is_open)
        return true;
    for (int i = 0; i < twin.count; i++)
        if (is_in(&twin.scratch[i], memory))
            return true;
    for (size_t i = 0; i < twin.segment_count; i++)
        if (is_in(&twin.segments[i], memory))
            return true;
    return false;
}

/* An expandable segment is mapped in pieces, and a workspace may extend over several. */
static bool is_in_segment(const void *memory, uint64_t bytes)
{
    const char *at = memory;
    const char *end = at + bytes;

    for (size_t i = 0; i < twin.segment_count && at < end; i++) {
        if (is_in(&twin.segments[i], at)) {
            at = twin.segments[i].memory + twin.segments[i].bytes;
            i = SIZE_MAX; /* from the first one again */
        }
    }
    return at >= end;
}

/* The initial contents of a workspace are arbitrary: no kernel may rely on them. */
static void soil(void *memory, uint64_t bytes)
{
    memset(memory, 0xA5, bytes < SOILED ? bytes : SOILED);
}

void twin_set_workspace(const struct eng_device_workspace *workspace)
{
    VS_ASSERT(!workspace->scratch || is_in_segment(workspace->scratch, workspace->scratch_bytes));
    VS_ASSERT(!workspace->library || is_in_segment(workspace->library, workspace->library_bytes));
    twin.workspace = *workspace;
    twin.workspace_used = 0;
    if (workspace->scratch)
        soil(workspace->scratch, workspace->scratch_bytes);
    if (workspace->library)
        soil(workspace->library, workspace->library_bytes);
}

bool twin_memory_add(uint64_t address, uint64_t bytes)
{
    void *wanted = (void *)(uintptr_t)address;
    void *memory = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    VS_ASSERT(twin.segment_count < MOST_SEGMENTS);
    if (memory != wanted)
        return false;
    twin.segments[twin.segment_count++] = (struct piece){memory, bytes};
    return true;
}

void twin_memory_remove(uint64_t address, uint64_t bytes)
{
    size_t i = 0;

    while (i < twin.segment_count && (uint64_t)(uintptr_t)twin.segments[i].memory != address)
        i++;
    VS_ASSERT(i < twin.segment_count && twin.segments[i].bytes == bytes);
    munmap((void *)(uintptr_t)address, bytes);
    twin.segments[i] = twin.segments[--twin.segment_count];
}

void *cuda_scratch(uint64_t bytes)
{
    char *out = (char *)twin.workspace.scratch + twin.workspace_used;

    if (!twin.workspace.scratch) {
        VS_ASSERT(!twin.is_strict || !bytes);
        return cuda_stage(bytes);
    }
    VS_ASSERT(twin.workspace_used + bytes <= twin.workspace.scratch_bytes);
    twin.workspace_used += eng_workspace_part(bytes);
    return out;
}

void *cuda_stage(uint64_t bytes)
{
    VS_ASSERT(twin.count < MOST);
    char *memory = vs_calloc(1, bytes + 1);

    twin.scratch[twin.count++] = (struct piece){memory, bytes + 1};
    return memory;
}

void cuda_scratch_begin(void)
{
    twin.depth++;
}

void cuda_scratch_end(void)
{
    if (--twin.depth > 0)
        return;
    while (twin.count > 0)
        vs_free((void *)(uintptr_t)twin.scratch[--twin.count].memory);
}

void cuda_copy_in(void *device, const void *host, uint64_t bytes)
{
    memcpy(device, host, bytes);
}

void cuda_copy_out(void *host, const void *device, uint64_t bytes)
{
    memcpy(host, device, bytes);
}

int *cuda_flag(void)
{
    return &twin.flag;
}

bool cuda_flag_raised(void)
{
    bool raised = twin.flag != 0;

    twin.flag = 0;
    return raised;
}

void *cuda_mem_get(uint64_t bytes)
{
    return cuda_host()->mem_get(bytes);
}

void cuda_mem_put(void *data, uint64_t bytes)
{
    cuda_host()->mem_put(data, bytes);
}

/* ---- what libraries do on a GPU ---- */

void cuda_matmul(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                 double alpha, double beta)
{
    if (twin.is_open && cuda_is_device(a->data) && cuda_is_device(b->data) &&
        cuda_is_device(c->data) && eng_workspace_numel(c)) {
        VS_ASSERT(!twin.is_strict ||
                  twin.workspace.library_bytes == vs_cublas_workspace(TWIN_CAPABILITY, true));
        VS_ASSERT(twin.workspace_used + eng_workspace_matmul(a, b, c) <=
                      twin.workspace.scratch_bytes ||
                  !twin.is_strict);
    }
    twin.products++;
    cuda_host()->matmul(a, b, c, alpha, beta);
}

/* A dense copy in f32, where c is f32 and what is multiplied is not. */
static struct eng_view widened(const struct eng_view *v)
{
    struct eng_view w = *v;

    w.dtype = VS_F32;
    w.strides[2] = 1;
    w.strides[1] = v->sizes[2];
    w.strides[0] = v->sizes[1] * v->sizes[2];
    w.data = vs_calloc((size_t)eng_workspace_numel(v) + 1, sizeof(float));
    cuda_host()->copy(v, &w);
    return w;
}

void cuda_product(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                  double alpha, double beta)
{
    const struct eng_view *all[] = {a, b, c};
    struct eng_view wa = *a, wb = *b;

    for (int i = 0; i < 3; i++) {
        int64_t lead;
        bool is_across;

        VS_ASSERT(cuda_is_device(all[i]->data) && eng_workspace_lies(all[i], &lead, &is_across));
        VS_ASSERT(i < 2 || !is_across);
    }
    VS_ASSERT(a->dtype == b->dtype && (c->dtype == a->dtype || c->dtype == VS_F32));
    if (c->dtype != a->dtype) {
        wa = widened(a);
        wb = widened(b);
    }
    twin.products++;
    cuda_host()->matmul(&wa, &wb, c, alpha, beta);
    if (c->dtype != a->dtype) {
        vs_free(wa.data);
        vs_free(wb.data);
    }
}

/* Sizes that a formula of the engine's would not find: it has to ask. Half of it is enough, and so is nothing. */
static uint64_t conv_bytes(enum eng_conv_kind kind, const struct eng_view *x,
                           const struct eng_view *w, const struct eng_view *y,
                           const struct eng_conv2d *p)
{
    uint64_t n = (uint64_t)eng_workspace_numel(x) * 3 + (uint64_t)eng_workspace_numel(w) * 5 +
                 (uint64_t)eng_workspace_numel(y) * 7;

    if (w->sizes[2] == 1 && w->sizes[3] == 1 && kind == ENG_CONV_FORWARD)
        return 0; /* a product: nothing is unfolded */
    return n * (uint64_t)(kind + 1) + (uint64_t)p->stride[0] * 1000 +
           (uint64_t)p->padding[0] * 100 + vs_dtype_bytes(x->dtype) * 10 +
           (eng_workspace_is_plain(x) ? 0 : 4096);
}

int twin_conv_ways(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                   const struct eng_view *y, const struct eng_conv2d *p, struct eng_conv_way *out)
{
    uint64_t bytes = conv_bytes(kind, x, w, y, p);
    int n = 0;

    if (bytes) {
        out[n++] = (struct eng_conv_way){bytes, 10};
        out[n++] = (struct eng_conv_way){bytes / 2, 11};
    }
    out[n++] = (struct eng_conv_way){0, 12};
    return n;
}

/* The workspace is that of one of the ways. */
static void check_conv(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                       const struct eng_view *y, const struct eng_conv2d *p)
{
    struct eng_conv_way ways[ENG_CONV_WAYS];
    const struct eng_conv_way *chosen = twin.workspace.way;
    int n, i = 0;

    if (!twin.is_open || !twin.is_strict || !eng_workspace_numel(x) || !eng_workspace_numel(w) ||
        !eng_workspace_numel(y))
        return;
    n = twin_conv_ways(kind, x, w, y, p, ways);
    VS_ASSERT(chosen);
    while (i < n && ways[i].number != chosen->number)
        i++;
    VS_ASSERT(i < n && chosen->bytes == ways[i].bytes &&
              twin.workspace.scratch_bytes == chosen->bytes);
}

void cuda_conv2d(const struct eng_view *x, const struct eng_view *w, const struct eng_view *bias,
                 const struct eng_view *out, const struct eng_conv2d *p)
{
    if (cuda_is_device(out->data))
        check_conv(ENG_CONV_FORWARD, x, w, out, p);
    twin.convolutions++;
    cuda_host()->conv2d(x, w, bias, out, p);
}

void cuda_conv2d_backward_input(const struct eng_view *g, const struct eng_view *w,
                                const struct eng_view *gx, const struct eng_conv2d *p)
{
    if (cuda_is_device(gx->data))
        check_conv(ENG_CONV_INPUT, gx, w, g, p);
    twin.convolutions++;
    cuda_host()->conv2d_backward_input(g, w, gx, p);
}

void cuda_conv2d_backward_weight(const struct eng_view *g, const struct eng_view *x,
                                 const struct eng_view *gw, const struct eng_conv2d *p)
{
    if (cuda_is_device(gw->data))
        check_conv(ENG_CONV_WEIGHT, x, gw, g, p);
    twin.convolutions++;
    cuda_host()->conv2d_backward_weight(g, x, gw, p);
}
