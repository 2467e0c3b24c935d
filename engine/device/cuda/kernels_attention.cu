/*
 * engine/device/cuda/kernels_attention.cu - scaled dot product attention and its gradients.
 *
 * For:            the table.
 * Must not know:  autograd.
 * Invariant:      the backward pass makes the probabilities again with the arithmetic of the forward pass. A row in which nothing may
 *                 take part has probabilities 0. Dropout keeps element ((b*H + h)*L + l)*S + s where number of that index of the key's
 *                 stream is at least p.
 *
 * A team has a query row; scores of a bounded number of rows lie in scratch, so that memory does not grow with the square of the length.
 */
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

#include "engine/device/cpu/cpu_random.h"


struct attention {
    cuda_view q, k, v, mask, g, out, lse, gq, gk, gv;
    int64_t heads, share, l, s, d, dv;
    bool causal, has_lse;
    double scale, dropout_p;
    uint64_t stream;
};

/* Query row: which head of which sample, and which of its rows. */
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

/* 1/(1-p) where the element stays, else 0. */
VS_GPU static double keep(const attention &a, const query &t, int64_t s)
{
    uint64_t i = (uint64_t)(((t.b * a.heads + t.h) * a.l + t.l) * a.s + s);

    if (a.dropout_p == 0.0)
        return 1.0;
    if (a.dropout_p >= 1.0 || cpu_rng_f64(a.stream, i) < a.dropout_p)
        return 0.0;
    return 1.0 / (1.0 - a.dropout_p);
}

/* p[0 … s-1] = softmax of the row's scores; returns lse. */
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
    int64_t chunk = eng_room_at_a_time(rows, a.s * (int64_t)sizeof(T));
    T *room = (T *)cuda_scratch((uint64_t)(chunk * a.s) * sizeof(T));

    for (int64_t first = 0; first < rows; first += chunk) {
        int64_t n = rows - first < chunk ? rows - first : chunk;

        cuda_lines(n, VS_BODY(int64_t line, cuda_team & team) {
            query t = query_of(a, first + line);
            T *p = room + line * a.s;
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
    CUDA_FOR_REAL(cuda_kind_of(q->dtype), run_forward<T>(a, q->sizes[0] * a.heads * a.l));
}

/*
 * dp = keep * (g v^T); ds = p * (dp - sum(dp*p)); gq = scale ds k; then over all rows gv = (p*keep)^T g and gk = scale ds^T q.
 * Key heads [first, first+count), counted over samples.
 */
template <class T>
static void backward_heads(const attention &a, int64_t first, int64_t count, T *p_room, T *ds_room)
{
    int64_t key_heads = a.heads / a.share;

    cuda_lines(count * a.share * a.l, VS_BODY(int64_t line, cuda_team & team) {
        int64_t head = first + line / (a.share * a.l);
        query t = {head / key_heads, head % key_heads * a.share + line / a.l % a.share,
                   line % a.l};
        int64_t hk = t.h / a.share;
        T *p = p_room + line * a.s;
        T *ds = ds_room + line * a.s;
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
    cuda_each(count * a.s * (a.d > a.dv ? a.d : a.dv), VS_BODY(int64_t i) {
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
                gk += (double)ds_room[line * a.s + s] *
                      (double)cuda_get<T>(a.q, at(a.q, b, t.h, t.l, c));
            if (c < a.dv)
                gv += (double)p_room[line * a.s + s] * keep(a, t, s) *
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
    int64_t scores = a.share * a.l * a.s; /* of a key head */
    int64_t chunk = eng_room_at_a_time(key_heads, 2 * scores * (int64_t)sizeof(T));
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
    CUDA_FOR_REAL(cuda_kind_of(q->dtype), run_backward<T>(a, q->sizes[0] * (a.heads / a.share)));
}
