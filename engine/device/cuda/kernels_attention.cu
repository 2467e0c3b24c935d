/*
 * engine/device/cuda/kernels_attention.cu - scaled dot product attention and its gradients.
 *
 * For:            the table.
 * Must not know:  autograd.
 * Invariant:      backward recomputes the probabilities with the arithmetic of forward. In a row whose elements are
 *                 all masked the probabilities are 0. Dropout keeps element ((b*H + h)*L + l)*S + s if the number
 *                 with this index in the key's stream is at least p.
 *
 * The scores of a bounded number of rows are kept in scratch, so that memory does not grow with the square of the
 * length. If the rows of all operands are contiguous (the usual case), cuBLAS multiplies a head's queries with its
 * keys, a team turns each row's scores into probabilities, and cuBLAS multiplies again; half types use tensor cores,
 * with probabilities rounded as in PyTorch's fused kernels. Operands with other strides use plain loops, with one
 * team for each query row.
 */
#include "engine/device/cuda/cuda_columns.cuh"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

#include "engine/device/cpu/cpu_random.h"

struct attention {
    cuda_view q, k, v, mask, g, out, lse, gq, gk, gv;
    int64_t heads, share, l, s, d, dv;
    int64_t chunk; /* query rows (in backward: key heads) that fit in scratch */
    bool causal, has_lse;
    double scale, dropout_p;
    uint64_t stream;
};

/* A query row: sample, head and row. */
struct query {
    int64_t b, h, l;
};

VS_GPU static query query_of(const attention &a, int64_t row)
{
    query t = {row / a.l / a.heads, row / a.l % a.heads, row % a.l};

    return t;
}

VS_GPU static int64_t at(const cuda_view &v, int64_t b, int64_t h, int64_t row, int64_t col)
{
    return b * v.strides[0] + h * v.strides[1] + row * v.strides[2] + col * v.strides[3];
}

/* 1/(1-p) if the element is kept, else 0. */
VS_GPU static double keep(const attention &a, const query &t, int64_t s)
{
    uint64_t i = (uint64_t)(((t.b * a.heads + t.h) * a.l + t.l) * a.s + s);

    if (a.dropout_p == 0.0)
        return 1.0;
    if (a.dropout_p >= 1.0 || cpu_rng_f64(a.stream, i) < a.dropout_p)
        return 0.0;
    return 1.0 / (1.0 - a.dropout_p);
}

/* p[0 … s-1] = softmax of the row's scores. Returns lse. */
template <class T>
VS_GPU static double probabilities(const attention &a, cuda_team &team, const query &t, T *p)
{
    int64_t hk = t.h / a.share;
    T max;
    double sum;

    team.each(a.s, [&](int64_t s) {
        double dot = 0.0;
        T score;

        if (a.causal && s > t.l) {
            p[s] = (T)-INFINITY;
            return;
        }
        for (int64_t i = 0; i < a.d; i++)
            dot += (double)cuda_get<T>(a.q, at(a.q, t.b, t.h, t.l, i)) *
                   (double)cuda_get<T>(a.k, at(a.k, t.b, hk, s, i));
        score = (T)(dot * a.scale);
        if (a.mask.ndim >= 0 && a.mask.dtype == VS_BOOL)
            score = cuda_get<int64_t>(a.mask, at(a.mask, t.b, t.h, t.l, s)) ? score : (T)-INFINITY;
        else if (a.mask.ndim >= 0)
            score += cuda_get<T>(a.mask, at(a.mask, t.b, t.h, t.l, s));
        p[s] = score;
    });
    max = team.fold(
        a.s, (T)-INFINITY, [&](int64_t s) { return p[s]; },
        [](T x, T y) { return x != x || x > y ? x : y; });
    if (max == (T)-INFINITY) {
        team.each(a.s, [&](int64_t s) { p[s] = (T)0; });
        return -INFINITY;
    }
    team.each(a.s, [&](int64_t s) { p[s] = exp(p[s] - max); });
    sum = team.sum(a.s, [&](int64_t s) { return (double)p[s]; });
    team.each(a.s, [&](int64_t s) { p[s] = (T)((double)p[s] / sum); });
    return (double)max + log(sum);
}

template <class T> static void run_forward(const attention &a, int64_t rows)
{
    int64_t chunk = a.chunk;
    T *workspace = (T *)cuda_scratch((uint64_t)(chunk * a.s) * sizeof(T));

    for (int64_t first = 0; first < rows; first += chunk) {
        int64_t n = rows - first < chunk ? rows - first : chunk;

        cuda_lines(
            n, VS_BODY(int64_t line, cuda_team & team) {
                query t = query_of(a, first + line);
                T *p = workspace + line * a.s;
                double lse = probabilities<T>(a, team, t, p);

                team.each(1, [&](int64_t) {
                    if (a.has_lse)
                        cuda_put<double>(a.lse, at(a.lse, t.b, t.h, t.l, 0), lse);
                });
                team.each(a.dv, [&](int64_t c) {
                    double sum = 0.0;

                    for (int64_t s = 0; s < a.s; s++)
                        sum += (double)p[s] * keep(a, t, s) *
                               (double)cuda_get<T>(a.v, at(a.v, t.b, t.h / a.share, s, c));
                    cuda_put<T>(a.out, at(a.out, t.b, t.h, t.l, c), (T)sum);
                });
            });
    }
}

/* ---- with matrix products ---- */

struct attention_views {
    eng_view q, k, v, out, g, gq, gk, gv;
};

/* Whether rows are contiguous and sizes fit cuBLAS's 32-bit integers. */
static bool products_fit(const struct eng_view *v)
{
    int64_t row = v->strides[2];

    return cuda_is_device(v->data) && (v->strides[3] == 1 || v->sizes[3] == 1) &&
           (v->sizes[2] == 1 || (row >= v->sizes[3] && row <= INT32_MAX)) &&
           v->sizes[2] <= INT32_MAX && v->sizes[3] <= INT32_MAX;
}

/* `count` heads from h on, rows [row, row+rows), of sample b; `step` elements between heads. */
static eng_view heads_of(const eng_view &v, int64_t b, int64_t h, int64_t count, int64_t step,
                         int64_t row, int64_t rows)
{
    eng_view m = v;
    int64_t at = b * v.strides[0] + h * v.strides[1] + row * v.strides[2];

    m.data = (char *)v.data + at * (int64_t)vs_dtype_bytes(v.dtype);
    m.ndim = 3;
    m.sizes[0] = count;
    m.sizes[1] = rows;
    m.sizes[2] = v.sizes[3];
    m.strides[0] = step;
    m.strides[1] = rows == 1 ? v.sizes[3] : v.strides[2];
    m.strides[2] = 1;
    return m;
}

static eng_view turned(const eng_view &v)
{
    eng_view t = v;

    t.sizes[1] = v.sizes[2];
    t.sizes[2] = v.sizes[1];
    t.strides[1] = v.strides[2];
    t.strides[2] = v.strides[1];
    return t;
}

/* A contiguous matrix in scratch. */
static eng_view matrix_in(void *data, enum vs_dtype dtype, int64_t count, int64_t rows,
                          int64_t cols)
{
    eng_view m;

    memset(&m, 0, sizeof(m));
    m.data = data;
    m.dtype = dtype;
    m.ndim = 3;
    m.sizes[0] = count;
    m.sizes[1] = rows;
    m.sizes[2] = cols;
    m.strides[0] = rows * cols;
    m.strides[1] = cols;
    m.strides[2] = 1;
    return m;
}

/* Scratch: scores in T, and rounded for the matrix product; for f32 and f64 both are the same. */
template <class T> struct scores_of {
    T *exact;
    void *rounded;
};

template <class T> static scores_of<T> scores_in(enum vs_dtype dtype, int64_t count)
{
    scores_of<T> s;

    s.exact = (T *)cuda_scratch((uint64_t)count * sizeof(T));
    s.rounded = eng_workspace_half(dtype) ? cuda_scratch((uint64_t)(count * eng_workspace_half(dtype)))
                                     : (void *)s.exact;
    return s;
}

/* Score s of a query, which the matrix product has stored in row, after the mask. */
template <class T>
VS_GPU static T masked(const attention &a, const query &t, int64_t s, const T *row)
{
    if (a.causal && s > t.l)
        return (T)-INFINITY;
    if (a.mask.ndim >= 0 && a.mask.dtype == VS_BOOL)
        return cuda_get<int64_t>(a.mask, at(a.mask, t.b, t.h, t.l, s)) ? row[s] : (T)-INFINITY;
    if (a.mask.ndim >= 0)
        return row[s] + cuda_get<T>(a.mask, at(a.mask, t.b, t.h, t.l, s));
    return row[s];
}

/* The largest of a row's scores, and the sum of exp(score - largest). */
template <class T, int N>
VS_GPU static cuda_pair<T> row_sum(const attention &a, cuda_team_of<N> &team, const query &t,
                                   const T *row)
{
    cuda_pair<T> none = {(T)-INFINITY, 0};

    return team.fold(
        a.s, none,
        [&](int64_t s) {
            cuda_pair<T> one = {masked(a, t, s, row), 1};

            return one;
        },
        [](cuda_pair<T> x, cuda_pair<T> y) { return cuda_join_exp(x, y); });
}

/* Probability of a score; 0 if no score of the row takes part. */
template <class T> VS_GPU static T probability(const cuda_pair<T> &all, T score)
{
    return all.a == (T)-INFINITY ? (T)0 : exp(score - all.a) / all.b;
}

/* Rows of heads [h, …) of sample b, from row l on. */
struct rows_at {
    int64_t b, h, l, rows;
};

VS_GPU static query query_at(const rows_at &r, int64_t line)
{
    query t = {r.b, r.h + line / r.rows, r.l + line % r.rows};

    return t;
}

template <class T, int N>
static void softmax_rows(const attention &a, const rows_at &r, int64_t lines, const scores_of<T> &p,
                         const cuda_view &to)
{
    cuda_teams<N>(
        lines, VS_BODY(int64_t line, cuda_team_of<N> & team) {
            query t = query_at(r, line);
            T *row = p.exact + line * a.s;
            cuda_pair<T> all = row_sum<T, N>(a, team, t, row);

            team.each(1, [&](int64_t) {
                if (a.has_lse)
                    cuda_put<T>(a.lse, at(a.lse, t.b, t.h, t.l, 0),
                                all.a == (T)-INFINITY ? all.a : all.a + log(all.b));
            });
            team.each(a.s, [&](int64_t s) {
                cuda_put<T>(to, line * a.s + s,
                            probability(all, masked(a, t, s, row)) * (T)keep(a, t, s));
            });
        });
}

/* A contiguous view of scratch. */
static cuda_view plain_view(void *data, enum vs_dtype dtype)
{
    cuda_view v;

    memset(&v, 0, sizeof(v));
    v.data = (char *)data;
    v.dtype = (uint8_t)dtype;
    v.is_plain = true;
    return v;
}

/*
 * How many heads from h on go into one product of the keys: all query heads of one key head, or one query head for
 * each of several key heads.
 */
static int64_t heads_together(const attention &a, int64_t h, int64_t most)
{
    int64_t left = a.share == 1 ? a.heads - h : a.share - h % a.share;

    return most < left ? most : left;
}

template <class T> static void multiply_forward(const attention &a, const attention_views &io)
{
    enum vs_dtype dtype = io.q.dtype;
    enum vs_dtype exact = sizeof(T) == 8 ? VS_F64 : VS_F32;
    scores_of<T> p = scores_in<T>(dtype, a.chunk * a.s);
    int64_t rows = a.chunk < a.l ? a.chunk : a.l;
    int64_t key_step = a.share == 1 ? io.k.strides[1] : 0;
    int64_t value_step = a.share == 1 ? io.v.strides[1] : 0;

    for (int64_t b = 0; b < io.q.sizes[0]; b++)
        for (int64_t h = 0, n; h < a.heads; h += n) {
            n = heads_together(a, h, a.chunk / rows);
            for (int64_t l = 0; l < a.l; l += rows) {
                rows_at r = {b, h, l, a.l - l < rows ? a.l - l : rows};
                eng_view q = heads_of(io.q, b, h, n, io.q.strides[1], l, r.rows);
                eng_view k = turned(heads_of(io.k, b, h / a.share, n, key_step, 0, a.s));
                eng_view v = heads_of(io.v, b, h / a.share, n, value_step, 0, a.s);
                eng_view out = heads_of(io.out, b, h, n, io.out.strides[1], l, r.rows);
                eng_view scores = matrix_in(p.exact, exact, n, r.rows, a.s);
                eng_view taken = matrix_in(p.rounded, dtype, n, r.rows, a.s);

                cuda_product(&q, &k, &scores, a.scale, 0.0);
                if (a.s <= SHORT_LINE)
                    softmax_rows<T, WARP>(a, r, n * r.rows, p, plain_view(p.rounded, dtype));
                else
                    softmax_rows<T, TEAM>(a, r, n * r.rows, p, plain_view(p.rounded, dtype));
                cuda_product(&taken, &v, &out, 1.0, 0.0);
            }
        }
}

/* p becomes p*keep; dp becomes the gradient of the scores before scaling. */
template <class T, int N>
static void gradient_rows(const attention &a, const rows_at &r, int64_t lines,
                          const scores_of<T> &p, const scores_of<T> &dp, const cuda_view &p_to,
                          const cuda_view &dp_to)
{
    cuda_teams<N>(
        lines, VS_BODY(int64_t line, cuda_team_of<N> & team) {
            query t = query_at(r, line);
            T *row = p.exact + line * a.s;
            T *d = dp.exact + line * a.s;
            cuda_pair<T> all = row_sum<T, N>(a, team, t, row);
            T sum = team.fold(
                a.s, (T)0,
                [&](int64_t s) {
                    return d[s] * (T)keep(a, t, s) * probability(all, masked(a, t, s, row));
                },
                [](T x, T y) { return x + y; });

            team.each(a.s, [&](int64_t s) {
                T own = probability(all, masked(a, t, s, row));
                T kept = (T)keep(a, t, s);
                T ds = own * (d[s] * kept - sum);

                cuda_put<T>(p_to, line * a.s + s, own * kept);
                cuda_put<T>(dp_to, line * a.s + s, ds);
            });
        });
}

/*
 * gk and gv of key heads with one query head each, or of one key head that several query heads share (their
 * contributions are added).
 */
template <class T>
static void multiply_keys(const attention &a, const attention_views &io, int64_t b, int64_t h,
                          int64_t n, const eng_view &p, const eng_view &ds)
{
    int64_t batch = a.share == 1 ? n : 1;

    for (int64_t i = 0; i < n; i += batch) {
        eng_view q = heads_of(io.q, b, h + i, batch, io.q.strides[1], 0, a.l);
        eng_view g = heads_of(io.g, b, h + i, batch, io.g.strides[1], 0, a.l);
        eng_view gk = heads_of(io.gk, b, h / a.share, batch, io.gk.strides[1], 0, a.s);
        eng_view gv = heads_of(io.gv, b, h / a.share, batch, io.gv.strides[1], 0, a.s);
        int64_t off = i * a.l * a.s * (int64_t)vs_dtype_bytes(p.dtype);
        eng_view pt = turned(matrix_in((char *)p.data + off, p.dtype, batch, a.l, a.s));
        eng_view dt = turned(matrix_in((char *)ds.data + off, ds.dtype, batch, a.l, a.s));
        double beta = i % a.share ? 1.0 : 0.0;

        if (a.gk.data)
            cuda_product(&dt, &q, &gk, a.scale, beta);
        if (a.gv.data)
            cuda_product(&pt, &g, &gv, 1.0, beta);
    }
}

template <class T> static void multiply_backward(const attention &a, const attention_views &io)
{
    enum vs_dtype dtype = io.q.dtype;
    enum vs_dtype exact = sizeof(T) == 8 ? VS_F64 : VS_F32;
    int64_t workspace = a.chunk * a.share * a.l * a.s;
    scores_of<T> p, dp;
    int64_t key_step = a.share == 1 ? io.k.strides[1] : 0;
    int64_t value_step = a.share == 1 ? io.v.strides[1] : 0;

    p = scores_in<T>(dtype, workspace);
    dp = scores_in<T>(dtype, workspace);
    for (int64_t b = 0; b < io.q.sizes[0]; b++)
        for (int64_t h = 0, n; h < a.heads; h += n) {
            n = heads_together(a, h, a.chunk * a.share);
            rows_at r = {b, h, 0, a.l};
            eng_view q = heads_of(io.q, b, h, n, io.q.strides[1], 0, a.l);
            eng_view g = heads_of(io.g, b, h, n, io.g.strides[1], 0, a.l);
            eng_view gq = heads_of(io.gq, b, h, n, io.gq.strides[1], 0, a.l);
            eng_view k = heads_of(io.k, b, h / a.share, n, key_step, 0, a.s);
            eng_view kt = turned(k);
            eng_view vt = turned(heads_of(io.v, b, h / a.share, n, value_step, 0, a.s));
            eng_view scores = matrix_in(p.exact, exact, n, a.l, a.s);
            eng_view grads = matrix_in(dp.exact, exact, n, a.l, a.s);
            eng_view taken = matrix_in(p.rounded, dtype, n, a.l, a.s);
            eng_view ds = matrix_in(dp.rounded, dtype, n, a.l, a.s);

            cuda_product(&q, &kt, &scores, a.scale, 0.0);
            cuda_product(&g, &vt, &grads, 1.0, 0.0);
            if (a.s <= SHORT_LINE)
                gradient_rows<T, WARP>(a, r, n * a.l, p, dp, plain_view(p.rounded, dtype),
                                       plain_view(dp.rounded, dtype));
            else
                gradient_rows<T, TEAM>(a, r, n * a.l, p, dp, plain_view(p.rounded, dtype),
                                       plain_view(dp.rounded, dtype));
            if (a.gq.data)
                cuda_product(&ds, &k, &gq, a.scale, 0.0);
            multiply_keys<T>(a, io, b, h, n, taken, ds);
        }
}

static void attention_init(attention *a, cuda_call &call, const struct eng_view *q,
                           const struct eng_view *k, const struct eng_view *v,
                           const struct eng_view *mask, bool causal, double scale, double dropout_p,
                           struct eng_rng_key key)
{
    memset(a, 0, sizeof(*a));
    a->q = call.in(q, true);
    a->k = call.in(k, true);
    a->v = call.in(v, true);
    a->mask = call.in(mask, true);
    a->heads = q->sizes[1];
    a->share = q->sizes[1] / k->sizes[1];
    a->l = q->sizes[2];
    a->s = k->sizes[2];
    a->d = q->sizes[3];
    a->dv = v->sizes[3];
    a->causal = causal;
    a->scale = scale;
    a->dropout_p = dropout_p;
    a->stream = cpu_rng_start(key);
}

void cuda_sdpa(const struct eng_view *q, const struct eng_view *k, const struct eng_view *v,
               const struct eng_view *mask, bool causal, double scale, double dropout_p,
               struct eng_rng_key key, const struct eng_view *out, const struct eng_view *lse)
{
    struct eng_scalar zero = {false, 0, 0.0};
    attention a;

    if (cuda_all_host(q, k, v, out)) {
        cuda_host()->sdpa(q, k, v, mask, causal, scale, dropout_p, key, out, lse);
        return;
    }
    if (cuda_numel(out) == 0)
        return;
    if (k->sizes[2] == 0) {
        cuda_fill(out, zero);
        return;
    }
    cuda_call call;

    attention_init(&a, call, q, k, v, mask, causal, scale, dropout_p, key);
    a.out = call.out(out, true);
    a.lse = call.out(lse, true);
    a.lse.strides[3] = 0;
    a.has_lse = lse != NULL;
    a.chunk = eng_workspace_sdpa_rows(q, k);
    if (products_fit(q) && products_fit(k) && products_fit(v) && products_fit(out)) {
        attention_views io = {*q, *k, *v, *out, *out, *q, *k, *v};

        CUDA_FOR_REAL(cuda_kind_of(q->dtype), multiply_forward<T>(a, io));
        return;
    }
    CUDA_FOR_REAL(cuda_kind_of(q->dtype), run_forward<T>(a, q->sizes[0] * a.heads * a.l));
}

/*
 * dp = keep * (g v^T); ds = p * (dp - sum(dp*p)); gq = scale ds k; then over all rows gv = (p*keep)^T g and gk =
 * scale ds^T q. For key heads [first, first+count), counted over all samples.
 */
template <class T>
static void backward_heads(const attention &a, int64_t first, int64_t count, T *p_workspace, T *ds_workspace)
{
    int64_t key_heads = a.heads / a.share;

    cuda_lines(
        count * a.share * a.l, VS_BODY(int64_t line, cuda_team & team) {
            int64_t head = first + line / (a.share * a.l);
            query t = {head / key_heads, head % key_heads * a.share + line / a.l % a.share,
                       line % a.l};
            int64_t hk = t.h / a.share;
            T *p = p_workspace + line * a.s;
            T *ds = ds_workspace + line * a.s;
            double sum;

            probabilities<T>(a, team, t, p);
            team.each(a.s, [&](int64_t s) {
                double dp = 0.0;

                for (int64_t c = 0; c < a.dv; c++)
                    dp += (double)cuda_get<T>(a.g, at(a.g, t.b, t.h, t.l, c)) *
                          (double)cuda_get<T>(a.v, at(a.v, t.b, hk, s, c));
                ds[s] = (T)(dp * keep(a, t, s));
            });
            sum = team.sum(a.s, [&](int64_t s) { return (double)ds[s] * (double)p[s]; });
            team.each(a.s, [&](int64_t s) { ds[s] = (T)((double)p[s] * ((double)ds[s] - sum)); });
            if (a.gq.data)
                team.each(a.d, [&](int64_t c) {
                    double gq = 0.0;

                    for (int64_t s = 0; s < a.s; s++)
                        gq += (double)ds[s] * (double)cuda_get<T>(a.k, at(a.k, t.b, hk, s, c));
                    cuda_put<T>(a.gq, at(a.gq, t.b, t.h, t.l, c), (T)(gq * a.scale));
                });
        });
    cuda_each(
        count * a.s * (a.d > a.dv ? a.d : a.dv), VS_BODY(int64_t i) {
            int64_t wide = a.d > a.dv ? a.d : a.dv;
            int64_t c = i % wide;
            int64_t s = i / wide % a.s;
            int64_t own = i / wide / a.s;
            int64_t b = (first + own) / key_heads;
            int64_t hk = (first + own) % key_heads;
            double gk = 0.0;
            double gv = 0.0;

            for (int64_t r = 0; r < a.share * a.l; r++) {
                int64_t line = own * a.share * a.l + r;
                query t = {b, hk * a.share + r / a.l, r % a.l};

                if (c < a.d)
                    gk += (double)ds_workspace[line * a.s + s] *
                          (double)cuda_get<T>(a.q, at(a.q, b, t.h, t.l, c));
                if (c < a.dv)
                    gv += (double)p_workspace[line * a.s + s] * keep(a, t, s) *
                          (double)cuda_get<T>(a.g, at(a.g, b, t.h, t.l, c));
            }
            if (c < a.d && a.gk.data)
                cuda_put<T>(a.gk, at(a.gk, b, hk, s, c), (T)(gk * a.scale));
            if (c < a.dv && a.gv.data)
                cuda_put<T>(a.gv, at(a.gv, b, hk, s, c), (T)gv);
        });
}

template <class T> static void run_backward(const attention &a, int64_t key_heads)
{
    int64_t scores = a.share * a.l * a.s; /* scores of a key head */
    int64_t chunk = a.chunk;
    T *p = (T *)cuda_scratch((uint64_t)(chunk * scores) * sizeof(T));
    T *ds = (T *)cuda_scratch((uint64_t)(chunk * scores) * sizeof(T));

    for (int64_t first = 0; first < key_heads; first += chunk)
        backward_heads<T>(a, first, key_heads - first < chunk ? key_heads - first : chunk, p, ds);
}

void cuda_sdpa_backward(const struct eng_view *g, const struct eng_view *q,
                        const struct eng_view *k, const struct eng_view *v,
                        const struct eng_view *mask, bool causal, double scale, double dropout_p,
                        struct eng_rng_key key, const struct eng_view *out,
                        const struct eng_view *lse, const struct eng_view *gq,
                        const struct eng_view *gk, const struct eng_view *gv)
{
    attention a;

    if (cuda_all_host(g, q, k, v)) {
        cuda_host()->sdpa_backward(g, q, k, v, mask, causal, scale, dropout_p, key, out, lse, gq,
                                   gk, gv);
        return;
    }
    if (cuda_numel(k) == 0 && cuda_numel(q) == 0)
        return;
    cuda_call call;

    attention_init(&a, call, q, k, v, mask, causal, scale, dropout_p, key);
    a.g = call.in(g, true);
    a.gq = call.out(gq, true);
    a.gk = call.out(gk, true);
    a.gv = call.out(gv, true);
    a.chunk = eng_workspace_sdpa_heads(q, k);
    if (cuda_numel(q) && cuda_numel(k) && products_fit(q) && products_fit(k) && products_fit(v) &&
        products_fit(g) && (!gq || products_fit(gq)) && (!gk || products_fit(gk)) &&
        (!gv || products_fit(gv))) {
        attention_views io = {*q, *k, *v, *out, *g, *(gq ? gq : q), *(gk ? gk : k), *(gv ? gv : v)};

        CUDA_FOR_REAL(cuda_kind_of(q->dtype), multiply_backward<T>(a, io));
        return;
    }
    CUDA_FOR_REAL(cuda_kind_of(q->dtype), run_backward<T>(a, q->sizes[0] * (a.heads / a.share)));
}
