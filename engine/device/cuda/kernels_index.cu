/*
 * engine/device/cuda/kernels_index.cu - reading and writing by index: gather, scatter, index_select, index_add,
 * embedding, advanced indexing.
 *
 * For:            the table.
 * Must not know:  losses.
 * Invariant:      indices are checked before anything is written; several contributions to one element are added by
 *                 one thread in the order of their positions.
 */
#include "engine/device/cuda/cuda_columns.cuh"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

/* Whether all indices are in [low, high). */
static bool indices_fit(const struct eng_view *index, int64_t low, int64_t high)
{
    if (cuda_numel(index) == 0)
        return true;
    {
        cuda_call call;
        cuda_view v = call.in(index);
        int *flag = cuda_flag();

        cuda_each(cuda_numel(index), VS_BODY(int64_t i) {
            int64_t at = cuda_at<int64_t>(v, i);

            if (at < low || at >= high)
                *flag = 1;
        });
    }
    return !cuda_flag_raised();
}

struct along_job {
    cuda_view index, src, dst;
    uint32_t across;
    int64_t n; /* indices along the dim */
    int64_t step_index, step_src, step_dst;
};

/* dst[…i…] = src[…index[…i…]…]: one thread for each element of index. */
template <class U> static void run_gather(const along_job &j, int64_t lines)
{
    cuda_each(lines * j.n, VS_BODY(int64_t at) {
        int64_t line = at / j.n;
        int64_t i = at % j.n;
        int64_t idx = cuda_get<int64_t>(
            j.index, cuda_place_in(j.index, j.index, j.across, line) + i * j.step_index);
        int64_t from = cuda_place_in(j.index, j.src, j.across, line) + idx * j.step_src;
        int64_t to = cuda_place_in(j.index, j.dst, j.across, line) + i * j.step_dst;

        ((U *)j.dst.data)[to] = ((const U *)j.src.data)[from];
    });
}

bool cuda_gather(const struct eng_view *x, int dim, const struct eng_view *index,
                 const struct eng_view *out)
{
    if (cuda_all_host(x, index, out))
        return cuda_host()->gather(x, dim, index, out);
    if (!indices_fit(index, 0, cuda_length(x, dim)))
        return false;
    if (cuda_numel(out) == 0)
        return true;
    cuda_call call;
    along_job j;
    int64_t lines = cuda_count(index, cuda_across(index, dim));

    j.index = call.in(index, true);
    j.src = call.in(x, true);
    j.dst = call.out(out, true);
    j.across = cuda_across(index, dim);
    j.n = cuda_length(index, dim);
    j.step_index = cuda_step(index, dim);
    j.step_src = cuda_step(x, dim);
    j.step_dst = cuda_step(out, dim);
    /* a single index on the host is passed as a number, and so may be the values */
    if (!j.index.data)
        j.step_index = 0;
    if (!j.src.data) {
        CUDA_FOR(cuda_kind_of(x->dtype), cuda_each(lines * j.n, VS_BODY(int64_t at) {
            int64_t to = cuda_place_in(j.index, j.dst, j.across, at / j.n) + at % j.n * j.step_dst;

            cuda_put<T>(j.dst, to, cuda_get<T>(j.src, 0));
        }));
        return true;
    }
    switch (vs_dtype_bytes(x->dtype)) {
    case 1:
        run_gather<uint8_t>(j, lines);
        break;
    case 2:
        run_gather<uint16_t>(j, lines);
        break;
    case 4:
        run_gather<uint32_t>(j, lines);
        break;
    default:
        run_gather<uint64_t>(j, lines);
        break;
    }
    return true;
}

VS_GPU static float add(float a, float b)
{
    return a + b;
}
VS_GPU static double add(double a, double b)
{
    return a + b;
}
VS_GPU static int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* One thread for each line: all contributions to one element are in the same line. */
template <class T> static void run_scatter(const along_job &j, int64_t lines, bool accumulate)
{
    cuda_each(lines, VS_BODY(int64_t line) {
        int64_t index = cuda_place_in(j.index, j.index, j.across, line);
        int64_t src = cuda_place_in(j.index, j.src, j.across, line);
        int64_t dst = cuda_place_in(j.index, j.dst, j.across, line);

        for (int64_t i = 0; i < j.n; i++) {
            int64_t at = dst + cuda_get<int64_t>(j.index, index + i * j.step_index) * j.step_dst;
            T v = cuda_get<T>(j.src, src + i * j.step_src);

            cuda_put<T>(j.dst, at, accumulate ? add(cuda_get<T>(j.dst, at), v) : v);
        }
    });
}

/* src NULL: value. The sizes of src are at least those of index in each dim. */
static bool scatter(const struct eng_view *out, int dim, const struct eng_view *index,
                    const struct eng_view *src, struct eng_scalar value, bool accumulate)
{
    if (!indices_fit(index, 0, cuda_length(out, dim)))
        return false;
    if (cuda_numel(index) == 0)
        return true;
    cuda_call call;
    along_job j;
    int64_t lines = cuda_count(index, cuda_across(index, dim));

    j.index = call.in(index, true);
    j.dst = call.out(out, true);
    j.src = call.in(src, true);
    if (!src) {
        j.src = j.index;
        j.src.data = NULL;
        j.src.dtype = value.is_int && !vs_dtype_is_floating(out->dtype) ? VS_I64 : VS_F64;
        j.src.value_f = value.f;
        j.src.value_i = value.i;
    }
    j.across = cuda_across(index, dim);
    j.n = cuda_length(index, dim);
    j.step_index = cuda_step(index, dim);
    j.step_src = src ? cuda_step(src, dim) : 0;
    j.step_dst = cuda_step(out, dim);
    CUDA_FOR(cuda_kind_of(out->dtype), run_scatter<T>(j, lines, accumulate));
    return true;
}

bool cuda_scatter(const struct eng_view *out, int dim, const struct eng_view *index,
                  const struct eng_view *src, struct eng_scalar value, bool accumulate)
{
    if (cuda_all_host(out, index, src))
        return cuda_host()->scatter(out, dim, index, src, value, accumulate);
    return scatter(out, dim, index, src, value, accumulate);
}

/* index (one dim, or none) expanded to the sizes of `like` along dim. */
static struct eng_view spread(const struct eng_view *index, const struct eng_view *like, int dim)
{
    struct eng_view r = *like;

    r.data = index->data;
    r.dtype = index->dtype;
    for (int d = 0; d < r.ndim; d++)
        r.strides[d] = 0;
    if (r.ndim > 0 && index->ndim == 1)
        r.strides[dim] = index->strides[0];
    return r;
}

bool cuda_index_select(const struct eng_view *x, int dim, const struct eng_view *index,
                       const struct eng_view *out)
{
    struct eng_view idx = spread(index, out, dim);

    return cuda_gather(x, dim, &idx, out);
}

bool cuda_index_add(const struct eng_view *out, int dim, const struct eng_view *index,
                    const struct eng_view *src)
{
    struct eng_view idx = spread(index, src, dim);
    struct eng_scalar none = {true, 0, 0.0};

    return cuda_scatter(out, dim, &idx, src, none, true);
}

bool cuda_embedding(const struct eng_view *table, const struct eng_view *idx,
                    const struct eng_view *out)
{
    struct eng_view wide = *out;

    if (cuda_all_host(table, idx, out))
        return cuda_host()->embedding(table, idx, out);
    wide.data = idx->data;
    wide.dtype = idx->dtype;
    wide.strides[0] = idx->strides[0];
    wide.strides[1] = 0;
    return cuda_gather(table, 0, &wide, out);
}

/*
 * Indices are sorted by row, equal rows in the order of their positions, and one thread sums a column of all
 * gradients of one row. The rank of an index is counted by a warp that compares it with all others: n*n/32 steps,
 * less than the launches of a sort would cost for a batch.
 */
template <class T>
static void run_embedding_backward(const cuda_view &g, const cuda_view &idx, const cuda_view &table,
                                   int64_t n, int64_t width, int64_t padding)
{
    int64_t *order = (int64_t *)cuda_scratch((uint64_t)n * sizeof(int64_t));
    uint8_t *is_first = (uint8_t *)cuda_scratch((uint64_t)n);

    cuda_teams<WARP>(
        n, VS_BODY(int64_t i, cuda_warp & team) {
            int64_t row = cuda_get<int64_t>(idx, i * idx.strides[0]);
            cuda_pair<int64_t> none = {0,
                                       /* indices of smaller rows, and earlier ones of this row */
                                       0};
            cuda_pair<int64_t> before = team.fold(
                n, none,
                [&](int64_t k) {
                    int64_t other = cuda_get<int64_t>(idx, k * idx.strides[0]);
                    cuda_pair<int64_t> one = {other < row, other == row && k < i};

                    return one;
                },
                [](cuda_pair<int64_t> x, cuda_pair<int64_t> y) { return cuda_add_pairs(x, y); });

            team.each(1, [&](int64_t) {
                order[before.a + before.b] = i;
                is_first[before.a + before.b] = before.b == 0 && row != padding;
            });
        });
    cuda_each(
        n * width, VS_BODY(int64_t at) {
            int64_t r = at / width;
            int64_t c = at % width;

            if (!is_first[r])
                return;
            int64_t row = cuda_get<int64_t>(idx, order[r] * idx.strides[0]);
            int64_t to = row * table.strides[0] + c * table.strides[1];
            T sum = cuda_get<T>(table, to);

            for (; r < n && cuda_get<int64_t>(idx, order[r] * idx.strides[0]) == row; r++)
                sum += cuda_get<T>(g, order[r] * g.strides[0] + c * g.strides[1]);
            cuda_put<T>(table, to, sum);
        });
}

void cuda_embedding_backward(const struct eng_view *g, const struct eng_view *idx,
                             int64_t padding_idx, const struct eng_view *gtable)
{
    if (cuda_all_host(g, idx, gtable)) {
        cuda_host()->embedding_backward(g, idx, padding_idx, gtable);
        return;
    }
    if (cuda_numel(g) == 0)
        return;
    cuda_call call;
    cuda_view vg = call.in(g, true);
    cuda_view vi = call.in(idx, true);
    cuda_view vt = call.out(gtable, true);

    CUDA_FOR_REAL(cuda_kind_of(gtable->dtype),
                  run_embedding_backward<T>(vg, vi, vt, idx->sizes[0], g->sizes[1], padding_idx));
}

struct adv_job {
    cuda_view x, other;
    cuda_view idx[VS_MAX_DIMS];
    int n;
    int64_t positions, item; /* number of positions, and elements of x at each */
    uint32_t rest_x, head_other, rest_other;
};

VS_GPU static int64_t adv_target(const adv_job &j, int64_t position)
{
    int64_t at = 0;

    for (int k = 0; k < j.n; k++) {
        int64_t i = cuda_at<int64_t>(j.idx[k], position);

        at += (i < 0 ? i + j.x.sizes[k] : i) * j.x.strides[k];
    }
    return at;
}

template <class T> static void run_index_get(const adv_job &j)
{
    cuda_each(j.positions * j.item, VS_BODY(int64_t at) {
        int64_t position = at / j.item;
        int64_t i = at % j.item;
        int64_t from = adv_target(j, position) + cuda_place_in(j.x, j.x, j.rest_x, i);
        int64_t to = cuda_place_in(j.other, j.other, j.head_other, position) +
                     cuda_place_in(j.other, j.other, j.rest_other, i);

        cuda_put<T>(j.other, to, cuda_get<T>(j.x, from));
    });
}

/* One thread processes one element of the items at all positions, in order. */
template <class T> static void run_index_put(const adv_job &j, bool accumulate)
{
    cuda_each(j.item, VS_BODY(int64_t i) {
        int64_t in_x = cuda_place_in(j.x, j.x, j.rest_x, i);
        int64_t in_src = cuda_place_in(j.other, j.other, j.rest_other, i);

        for (int64_t position = 0; position < j.positions; position++) {
            int64_t to = adv_target(j, position) + in_x;
            T v = cuda_get<T>(j.other,
                              cuda_place_in(j.other, j.other, j.head_other, position) + in_src);

            cuda_put<T>(j.x, to, accumulate ? add(cuda_get<T>(j.x, to), v) : v);
        }
    });
}

static bool adv_check(const struct eng_view *x, const struct eng_view *idx, int n)
{
    for (int k = 0; k < n; k++)
        if (!indices_fit(&idx[k], -x->sizes[k], x->sizes[k]))
            return false;
    return true;
}

static bool adv_all_host(const struct eng_view *x, const struct eng_view *idx, int n,
                         const struct eng_view *other)
{
    bool all = cuda_all_host(x, other);

    for (int k = 0; k < n; k++)
        all = all && cuda_all_host(&idx[k]);
    return all;
}

/* x and other are added by the caller, as it needs them. */
static void adv_fill(adv_job *j, cuda_call &call, const struct eng_view *x,
                     const struct eng_view *idx, int n, const struct eng_view *other)
{
    for (int k = 0; k < n; k++)
        j->idx[k] = call.in(&idx[k]);
    j->n = n;
    j->positions = cuda_numel(&idx[0]);
    j->rest_x = ((1u << x->ndim) - 1u) & ~((1u << n) - 1u);
    j->head_other = (1u << idx[0].ndim) - 1u;
    j->rest_other = ((1u << other->ndim) - 1u) & ~j->head_other;
    j->item = cuda_count(x, j->rest_x);
}

bool cuda_index_get(const struct eng_view *x, const struct eng_view *idx, int n,
                    const struct eng_view *out)
{
    if (adv_all_host(x, idx, n, out))
        return cuda_host()->index_get(x, idx, n, out);
    if (!adv_check(x, idx, n))
        return false;
    if (cuda_numel(out) == 0)
        return true;
    cuda_call call;
    adv_job j;

    j.x = call.in(x, true);
    j.other = call.out(out, true);
    adv_fill(&j, call, x, idx, n, out);
    CUDA_FOR(cuda_kind_of(x->dtype), run_index_get<T>(j));
    return true;
}

bool cuda_index_put(const struct eng_view *x, const struct eng_view *idx, int n,
                    const struct eng_view *src, bool accumulate)
{
    if (adv_all_host(x, idx, n, src))
        return cuda_host()->index_put(x, idx, n, src, accumulate);
    if (!adv_check(x, idx, n))
        return false;
    if (cuda_numel(src) == 0 || cuda_numel(x) == 0)
        return true;
    cuda_call call;
    adv_job j;

    j.x = call.out(x, true);
    j.other = call.in(src, true);
    adv_fill(&j, call, x, idx, n, src);
    CUDA_FOR(cuda_kind_of(x->dtype), run_index_put<T>(j, accumulate));
    return true;
}
