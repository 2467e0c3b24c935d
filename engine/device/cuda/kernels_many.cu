/*
 * engine/device/cuda/kernels_many.cu - one elementwise op for a list of tensors in one launch, for optimizers.
 *
 * For:            the table.
 * Must not know:  optimizers.
 * Invariant:      the values are those of the single calls, bit for bit; an item with another layout than the first
 *                 one is computed by a single call.
 *
 * The list is passed with the launch. A thread has PACK neighbouring elements of one item, which it finds by
 * bisection.
 */
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_lanes.cuh"
#include "engine/device/many.h"

struct item {
    char *x, *a, *b, *out;
    int64_t n;
    int64_t first; /* number of its first pack, counted over all items */
    double p;
    double a_value; /* value of a, if it is a number on the host */
};

/* The layout of the operands of all items. */
struct form {
    int dtype_x, dtype_a, dtype_b, dtype_out;
    int round_x, round_a, round_b;
    int lie_a;
};

struct batch {
    item items[ENG_MANY_MAX];
    form f;
    int count;
    int kind, op;
    int64_t packs;
};

static_assert(sizeof(batch) + 16 <= 4096, "what a launch of any GPU takes along");

VS_GPU static cuda_lanes lanes(char *data, int dtype, int lie, int round_to)
{
    cuda_lanes l;

    l.v.data = data;
    l.v.dtype = (uint8_t)dtype;
    l.v.ndim = lie == LIE_ONE ? 0 : 1;
    l.v.is_plain = true;
    l.lie = lie;
    l.round_to = round_to;
    return l;
}

VS_GPU static const item &item_of(const batch &b, int64_t pack)
{
    int lo = 0;
    int hi = b.count;

    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;

        if (b.items[mid].first <= pack)
            lo = mid;
        else
            hi = mid;
    }
    return b.items[lo];
}

/* Loads an operand whose elements are all the same: from memory, or the number that was passed. */
VS_GPU static void load_one(const cuda_lanes &l, double value, float *out)
{
    float x = cuda_rounded<float>(l.v.data ? cuda_get<float>(l.v, 0) : (float)value, l.round_to);

    for (int k = 0; k < cuda_width<float>::n; k++)
        out[k] = x;
}

VS_GPU static void run_unscale(const batch &b, const item &t, int64_t first, int count)
{
    typedef float T;
    cuda_lanes x = lanes(t.x, b.f.dtype_x, LIE_TOGETHER, VS_DTYPE_COUNT);
    float v[PACK];
    float scale = *(const float *)t.a;

    cuda_load<float>(x, first, count, v);
    for (int k = 0; k < PACK; k++) {
        if (!(v[k] - v[k] == 0.0f)) /* inf or NaN: all threads that find one write the same value */
            *(float *)t.b = 1.0f;
        v[k] *= scale;
    }
    cuda_store<float>(x, first, count, v);
}

VS_GPU static void run_pack(const batch &b, int64_t pack)
{
    typedef float T;
    const item &t = item_of(b, pack);
    int64_t first = (pack - t.first) * PACK;
    int count = t.n - first < PACK ? (int)(t.n - first) : PACK;
    double p[4] = {t.p, 0, 0, 0};
    float x[PACK], a[PACK], c[PACK], y[PACK];

    if (b.kind == ENG_MANY_UNSCALE) {
        run_unscale(b, t, first, count);
        return;
    }
    cuda_load<float>(lanes(t.x, b.f.dtype_x, LIE_TOGETHER, b.f.round_x), first, count, x);
    if (b.f.lie_a == LIE_ONE)
        load_one(lanes(t.a, b.f.dtype_a, LIE_ONE, b.f.round_a), t.a_value, a);
    else if (b.kind != ENG_MANY_UNARY)
        cuda_load<float>(lanes(t.a, b.f.dtype_a, LIE_TOGETHER, b.f.round_a), first, count, a);
    if (b.kind == ENG_MANY_TERNARY)
        cuda_load<float>(lanes(t.b, b.f.dtype_b, LIE_TOGETHER, b.f.round_b), first, count, c);
    if (b.kind == ENG_MANY_UNARY)
        cuda_unary_row(b.op, x, y, p);
    else if (b.kind == ENG_MANY_BINARY)
        cuda_binary_row(b.op, x, a, y, p);
    else
        cuda_ternary_row(b.op, x, a, c, y, p);
    cuda_store<float>(lanes(t.out, b.f.dtype_out, LIE_TOGETHER, VS_DTYPE_COUNT), first, count, y);
}

/* Whether v is contiguous, on the device and aligned for packs. */
static bool is_dense(const cuda_view &v, int64_t n)
{
    return v.data && v.ndim == 1 && v.is_plain && v.sizes[0] == n &&
           cuda_lie_of<float>(v) == LIE_TOGETHER;
}

/* Adds the item to the batch if its layout is that of the items before it. */
static bool take(batch *b, cuda_call &call, const struct eng_many *m, const struct eng_many_item *t)
{
    bool has_a = m->kind != ENG_MANY_UNARY;
    bool has_b = m->kind > ENG_MANY_BINARY;
    bool has_out = m->kind != ENG_MANY_UNSCALE;
    const struct eng_view *out = has_out ? &t->out : &t->x;
    int64_t n = cuda_numel(out);
    item own = {NULL, NULL, NULL, NULL, n, b->packs, t->p, 0.0};
    cuda_view x, a, c, o;
    form like;

    if (n == 0 || cuda_kind_of(out->dtype) != CUDA_FLOAT || !cuda_is_device(out->data) ||
        !cuda_is_device(t->x.data) || (has_b && !cuda_is_device(t->b.data)))
        return false;
    x = call.in(&t->x);
    a = has_a ? call.in(&t->a) : x;
    c = has_b ? call.in(&t->b) : x;
    o = call.out(out);
    if (!is_dense(x, n) || !is_dense(o, n))
        return false;
    like.dtype_x = x.dtype;
    like.dtype_a = a.dtype;
    like.dtype_b = c.dtype;
    like.dtype_out = o.dtype;
    like.round_x = cuda_rounding(out->dtype, t->x.dtype);
    like.round_a = has_a ? cuda_rounding(out->dtype, t->a.dtype) : (int)VS_DTYPE_COUNT;
    like.round_b = has_b ? cuda_rounding(out->dtype, t->b.dtype) : (int)VS_DTYPE_COUNT;
    like.lie_a = has_a && cuda_lie_of<float>(a) == LIE_ONE ? LIE_ONE : LIE_TOGETHER;
    if (m->kind == ENG_MANY_UNSCALE) {
        if (a.ndim != 0 || c.ndim != 0 || !a.data || a.dtype != VS_F32 || c.dtype != VS_F32)
            return false;
        like.lie_a = LIE_ONE;
    } else if ((has_b && !is_dense(c, n)) ||
               (has_a && like.lie_a == LIE_TOGETHER && !is_dense(a, n))) {
        return false;
    }
    if (b->count > 0 && memcmp(&like, &b->f, sizeof(like)) != 0)
        return false;
    b->f = like;
    own.x = x.data;
    own.a = has_a ? a.data : NULL;
    own.a_value = a.dtype == VS_F64 ? a.value_f : (double)a.value_i;
    own.b = has_b ? c.data : NULL;
    own.out = o.data;
    b->items[b->count++] = own;
    b->packs += (n + cuda_width<float>::n - 1) / cuda_width<float>::n;
    return true;
}

void cuda_many(const struct eng_many *m)
{
    cuda_call call;
    batch b;

    memset(&b, 0, sizeof(b));
    b.kind = (int)m->kind;
    b.op = m->op;
    for (int i = 0; i < m->count; i++)
        if (!take(&b, call, m, &m->items[i]))
            eng_many_item_run(eng_kernels_cuda(), m, &m->items[i]);
    if (b.count)
        cuda_each(
            b.packs, VS_BODY(int64_t i) { run_pack(b, i); });
}
