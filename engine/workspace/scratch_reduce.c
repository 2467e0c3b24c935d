/*
 * engine/workspace/scratch_reduce.c - decides whether a reduction kernel splits one output over several blocks, and how
 * much memory it then needs.
 *
 * Must not know:  ops.
 * Invariant:      dims are ordered, joined and split as TensorIterator does it, and the launch is configured as
 *                 Reduce.cuh does it (2.15; unchanged since 2.1), because both decide the sizes.
 *
 * Here a dim's index 0 is the fastest; strides are in bytes; a reduced dim has output stride 0.
 */
#include <string.h>

#include "engine/workspace/scratch_internal.h"

struct dims {
    int n;
    int64_t size[VS_MAX_DIMS];
    int64_t in[VS_MAX_DIMS];
    int64_t out[VS_MAX_DIMS];
    int64_t offset; /* of the input's first element, in elements */
    int64_t element_bytes;
};

/*
 * What differs between kernels: bytes carried, the largest output element, and elements per load along a reduced dim.
 */
struct kernel {
    int64_t carried_bytes;
    int64_t result_bytes;
    int64_t load;
    bool
        accumulates_apart; /* the output cannot hold what is carried from part to part of a huge input */
};

static int64_t bytes_of(enum vs_dtype dtype)
{
    return (int64_t)vs_dtype_bytes(dtype);
}

static struct kernel kernel_of(enum eng_scratch_reduce kind, enum vs_dtype in, enum vs_dtype out)
{
    int64_t bytes = bytes_of(in), wide = bytes < 4 ? 4 : bytes;
    bool is_half = bytes == 2;
    struct kernel k = {.result_bytes = bytes_of(out), .load = 4};

    switch (kind) {
    case ENG_SR_SUM:
        k.carried_bytes = wide;
        k.load = is_half ? 8 : 4;
        k.accumulates_apart = is_half && vs_dtype_bytes(out) == 2;
        break;
    case ENG_SR_VALUE:
        k.carried_bytes = bytes;
        k.accumulates_apart = is_half && vs_dtype_bytes(out) == 2;
        break;
    case ENG_SR_INDEXED:
        k.carried_bytes = 16;
        k.result_bytes = 8;
        k.accumulates_apart = true;
        break;
    case ENG_SR_WELFORD: /* mean, sum of squares, two counts */
        k.carried_bytes = wide == 8 ? 32 : 16;
        k.load = 2;
        k.accumulates_apart = true;
        break;
    }
    return k;
}

/* ---- TensorIterator: order and number of dims ---- */

/* The dims fastest first, the iterator's initial order: the last dim of the tensors becomes index 0. */
static void dims_of(struct dims *d, const struct eng_tensor *x, const struct eng_tensor *out,
                    uint32_t mask, bool keepdim, int64_t result_bytes)
{
    int k = out->ndim;

    d->n = x->ndim;
    d->offset = (int64_t)x->offset;
    d->element_bytes = bytes_of((enum vs_dtype)x->dtype);
    for (int i = 0; i < x->ndim; i++) {
        int dim = x->ndim - 1 - i;
        bool is_reduced = mask >> dim & 1;

        d->size[i] = x->sizes[dim];
        d->in[i] = x->strides[dim] * d->element_bytes;
        if (is_reduced && !keepdim) {
            d->out[i] = 0;
            continue;
        }
        k--;
        d->out[i] = is_reduced && x->sizes[dim] != 1 ? 0 : out->strides[k] * result_bytes;
    }
}

/* > 0: `b` must come before `a`; < 0: they are in order; 0: undecided. */
static int compare(const struct dims *d, int a, int b)
{
    const int64_t *const strides[] = {d->out, d->in};

    for (int i = 0; i < 2; i++) {
        int64_t sa = strides[i][a], sb = strides[i][b];

        if (i == 0 && (sa == 0) != (sb == 0))
            return sb == 0 ? 1 : -1; /* reduced dims to the front */
        if (sa == 0 || sb == 0)
            continue;
        if (sa != sb)
            return sa < sb ? -1 : 1;
        if (d->size[a] > d->size[b])
            return 1;
    }
    return 0;
}

static void swap(int64_t *a, int i, int k)
{
    int64_t was = a[i];

    a[i] = a[k];
    a[k] = was;
}

static void dims_sort(struct dims *d)
{
    for (int i = 1; i < d->n; i++) {
        int moving = i;

        for (int k = i - 1; k >= 0; k--) {
            int order = compare(d, k, moving);

            if (order < 0)
                break;
            if (order > 0) {
                swap(d->size, k, moving);
                swap(d->in, k, moving);
                swap(d->out, k, moving);
                moving = k;
            }
        }
    }
}

static bool can_join(const struct dims *d, int a, int b)
{
    return d->size[a] == 1 || d->size[b] == 1 ||
           (d->size[a] * d->in[a] == d->in[b] && d->size[a] * d->out[a] == d->out[b]);
}

static void dims_join(struct dims *d)
{
    int last = 0;

    if (d->n <= 1)
        return;
    for (int i = 1; i < d->n; i++) {
        if (can_join(d, last, i)) {
            if (d->size[last] == 1) {
                d->in[last] = d->in[i];
                d->out[last] = d->out[i];
            }
            d->size[last] *= d->size[i];
        } else {
            last++;
            d->size[last] = d->size[i];
            d->in[last] = d->in[i];
            d->out[last] = d->out[i];
        }
    }
    d->n = last + 1;
}

/* ---- Reduce.cuh: the launch configuration ---- */

struct launch {
    int64_t inputs, outputs;
    int64_t step_input, step_output;
    int64_t width, height;
    int64_t vector; /* outputs per thread */
    int64_t blocks; /* blocks per output */
    bool reduces_x; /* reduces along the block's x dimension */
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t low_power(int64_t n)
{
    int64_t p = 1;

    while (p * 2 <= n)
        p *= 2;
    return p;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t values_a_thread(const struct launch *l)
{
    return ceil_div(l->inputs, l->step_input);
}

static int64_t grid_x(const struct launch *l)
{
    return ceil_div(l->outputs / l->vector, l->step_output);
}

/* How many neighbouring outputs can be loaded in one access: 4, 2 or 1. */
static int64_t output_vector(const struct dims *d, int reduced)
{
    int64_t vector = 4;

    while (d->offset % vector)
        vector /= 2;
    while (d->size[reduced] % vector)
        vector /= 2;
    for (int i = 0; i < d->n; i++) {
        while (i != reduced && d->in[i] / d->element_bytes % vector)
            vector /= 2;
    }
    return vector;
}

#define MAX_THREADS 512
#define WARP 32

static void block_set(struct launch *l, int64_t dim0, int64_t dim1)
{
    int64_t most = MAX_THREADS / l->vector;
    int64_t x = dim0 < most ? low_power(dim0) : most;
    int64_t y = dim1 < most ? low_power(dim1) : most;

    l->width = min64(x, WARP);
    l->height = min64(y, most / l->width);
    l->width = min64(x, most / l->height);
}

#define FEWEST_VALUES 16
#define MOST_VALUES 256

static void split_over_blocks(struct launch *l, const struct vs_target *target)
{
    int64_t wanted = target->processors * (target->threads / (l->width * l->height));
    int64_t least, most;

    if (values_a_thread(l) < MOST_VALUES || grid_x(l) > wanted)
        return;
    least = ceil_div(values_a_thread(l), MOST_VALUES);
    most = ceil_div(values_a_thread(l), FEWEST_VALUES);
    l->blocks = ceil_div(wanted, grid_x(l));
    l->blocks = l->blocks < least ? least : l->blocks > most ? most : l->blocks;
}

static void launch_configure(struct launch *l, const struct dims *d, const struct kernel *k,
                             const struct vs_target *target)
{
    int64_t dim0 = 1, dim1 = 1, fastest = d->element_bytes;
    int reduced = 0;

    memset(l, 0, sizeof(*l));
    l->inputs = l->outputs = l->step_input = l->step_output = l->vector = l->blocks = 1;
    for (int i = 0; i < d->n; i++) {
        *(d->out[i] ? &l->outputs : &l->inputs) *= d->size[i];
        reduced += !d->out[i];
    }
    l->reduces_x = !d->n || reduced == d->n || d->in[0] < d->in[reduced];
    if (d->n) {
        dim0 = l->reduces_x ? l->inputs : l->outputs;
        dim1 = l->reduces_x ? l->outputs : l->inputs;
        fastest = l->reduces_x ? d->in[0] : d->in[reduced];
    }
    if (fastest == d->element_bytes) {
        if (l->reduces_x && dim0 >= 128 && reduced == 1) {
            dim0 /= k->load;
        } else if (!l->reduces_x) {
            l->vector = output_vector(d, reduced);
            dim0 /= l->vector;
        }
    }
    block_set(l, dim0, dim1);
    *(l->reduces_x ? &l->step_input : &l->step_output) *= l->width;
    if (values_a_thread(l) >= min64(l->height * FEWEST_VALUES, MOST_VALUES)) {
        l->step_input *= l->height;
        split_over_blocks(l, target);
    } else {
        l->step_output *= l->height;
    }
}

static void one_launch(struct eng *e, const struct dims *d, const struct kernel *k)
{
    struct eng_storage *buffer, *semaphores;
    struct launch l;
    int64_t bytes;

    launch_configure(&l, d, k, e->target);
    if (l.blocks <= 1)
        return;
    bytes = k->carried_bytes * l.outputs * l.blocks;
    if (!l.reduces_x)
        bytes *= l.width * l.vector;
    buffer = eng_scratch_new(e, (uint64_t)bytes);
    semaphores = eng_scratch_new(e, (uint64_t)(4 * grid_x(&l)));
    eng_storage_unref(semaphores);
    eng_storage_unref(buffer);
}

/* ---- inputs that 32-bit offsets cannot address are halved until they can ---- */

static int64_t reach(const struct dims *d, const int64_t *strides)
{
    int64_t bytes = 1;

    for (int i = 0; i < d->n; i++)
        bytes += (d->size[i] - 1) * strides[i];
    return bytes;
}

static bool fits_32_bits(const struct dims *d)
{
    int64_t elements = 1;

    for (int i = 0; i < d->n; i++)
        elements *= d->size[i];
    return elements <= INT32_MAX && reach(d, d->in) <= INT32_MAX && reach(d, d->out) <= INT32_MAX;
}

/* The dim with the largest extent in bytes; of equal ones, the slowest. */
static int dim_to_split(const struct dims *d)
{
    int64_t longest = -1;
    int found = 0;

    for (int i = d->n - 1; i >= 0; i--) {
        int64_t in = (d->size[i] - 1) * d->in[i], out = (d->size[i] - 1) * d->out[i];

        if (d->size[i] == 0)
            continue;
        if (in > longest || out > longest) {
            longest = in > out ? in : out;
            found = i;
        }
    }
    return found;
}

static void launches(struct eng *e, const struct dims *d, const struct kernel *k)
{
    struct dims half;
    int at;

    if (fits_32_bits(d)) {
        one_launch(e, d, k);
        return;
    }
    at = dim_to_split(d);
    half = *d;
    half.size[at] = d->size[at] / 2;
    launches(e, &half, k);
    half = *d;
    half.size[at] = d->size[at] - d->size[at] / 2;
    half.offset += d->size[at] / 2 * d->in[at] / d->element_bytes;
    launches(e, &half, k);
}

/* Number of elements from the first to the last one of the output, including gaps. */
static int64_t output_elements(const struct dims *d, int64_t result_bytes)
{
    int64_t bytes = result_bytes;

    for (int i = 0; i < d->n; i++) {
        int64_t span = d->size[i] * d->out[i];

        bytes = span > bytes ? span : bytes;
    }
    return bytes / result_bytes;
}

void eng_scratch_reduce(struct eng *e, enum eng_scratch_reduce kind, const struct eng_tensor *x,
                        const struct eng_tensor *out, uint32_t mask, bool keepdim)
{
    struct eng_storage *apart = NULL;
    struct kernel k;
    struct dims d;

    if (!e->target || e->failed || !x || !out || x->storage->on_host || !eng_numel(x))
        return;
    k = kernel_of(kind, (enum vs_dtype)x->dtype, (enum vs_dtype)out->dtype);
    dims_of(&d, x, out, mask, keepdim, k.result_bytes);
    dims_sort(&d);
    dims_join(&d);
    if (k.accumulates_apart && !fits_32_bits(&d) && k.carried_bytes > k.result_bytes)
        apart =
            eng_scratch_new(e, (uint64_t)(output_elements(&d, k.result_bytes) * k.carried_bytes));
    launches(e, &d, &k);
    eng_storage_unref(apart);
}
