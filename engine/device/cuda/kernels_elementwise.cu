/*
 * engine/device/cuda/kernels_elementwise.cu - elementwise kernels with PACK elements in each thread: unary, binary,
 * ternary, copies, fills, triangles, unscale.
 *
 * For:            the table.
 * Must not know:  the formulas (cuda_rows.cuh), how elements are read (cuda_lanes.cuh).
 * Invariant:      an element is read before the same thread writes it, so every call may be in place.
 */
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_lanes.cuh"

/* How many parameters in p an op uses: the caller's array may be that short. */
static int unary_params(enum eng_unary op)
{
    if (op == ENG_U_ELU)
        return 3;
    return op == ENG_U_HARDTANH || op == ENG_U_CLAMP || op == ENG_U_SOFTPLUS ? 2 : 1;
}

static int binary_params(enum eng_binary op)
{
    if (op == ENG_B_ELU_BACKWARD)
        return 4;
    return op == ENG_B_HARDTANH_BACKWARD || op == ENG_B_SOFTPLUS_BACKWARD ? 2 : 1;
}

static int ternary_params(enum eng_ternary op)
{
    return op == ENG_T_SMOOTH_L1_BACKWARD || op == ENG_T_HUBER_BACKWARD ? 2 : 1;
}

/* Calls f(first, count) for all packs of `out`. */
template <class T, class F> static void packs(const struct eng_view *out, F f)
{
    int64_t n = cuda_numel(out);

    cuda_each((n + PACK - 1) / PACK, VS_BODY(int64_t i) {
        int64_t left = n - i * PACK;

        f(i * PACK, left < PACK ? (int)left : PACK);
    });
}

template <class T>
static void run_unary(int op, const struct eng_view *x, const struct eng_view *out, params par)
{
    cuda_call call;
    cuda_lanes lx = cuda_lanes_of<T>(call.in(x));
    cuda_lanes lo = cuda_lanes_of<T>(call.out(out));

    packs<T>(
        out, VS_BODY(int64_t first, int count) {
            T v[PACK];
            T y[PACK];

            cuda_load<T>(lx, first, count, v);
            cuda_unary_row(op, v, y, par.is_given ? par.p : (const double *)NULL);
            cuda_store<T>(lo, first, count, y);
        });
}

template <class T>
static void run_binary(int op, enum vs_dtype compute, const struct eng_view *a,
                       const struct eng_view *b, const struct eng_view *out, params par)
{
    cuda_call call;
    cuda_lanes la = cuda_lanes_of<T>(call.in(a), cuda_rounding(compute, a->dtype));
    cuda_lanes lb = cuda_lanes_of<T>(call.in(b), cuda_rounding(compute, b->dtype));
    cuda_lanes lo = cuda_lanes_of<T>(call.out(out));

    packs<T>(
        out, VS_BODY(int64_t first, int count) {
            T s[PACK];
            T t[PACK];
            T y[PACK];

            cuda_load<T>(la, first, count, s);
            cuda_load<T>(lb, first, count, t);
            cuda_binary_row(op, s, t, y, par.is_given ? par.p : (const double *)NULL);
            cuda_store<T>(lo, first, count, y);
        });
}

template <class T>
static void run_ternary(int op, enum vs_dtype compute, const struct eng_view *a,
                        const struct eng_view *b, const struct eng_view *c,
                        const struct eng_view *out, params par)
{
    cuda_call call;
    cuda_lanes la = cuda_lanes_of<T>(call.in(a), cuda_rounding(compute, a->dtype));
    cuda_lanes lb = cuda_lanes_of<T>(call.in(b), cuda_rounding(compute, b->dtype));
    cuda_lanes lc = cuda_lanes_of<T>(call.in(c), cuda_rounding(compute, c->dtype));
    cuda_lanes lo = cuda_lanes_of<T>(call.out(out));

    packs<T>(
        out, VS_BODY(int64_t first, int count) {
            T s[PACK];
            T t[PACK];
            T u[PACK];
            T y[PACK];

            cuda_load<T>(la, first, count, s);
            cuda_load<T>(lb, first, count, t);
            cuda_load<T>(lc, first, count, u);
            cuda_ternary_row(op, s, t, u, y, par.is_given ? par.p : (const double *)NULL);
            cuda_store<T>(lo, first, count, y);
        });
}

void cuda_unary(enum eng_unary op, const struct eng_view *x, const struct eng_view *out,
                const double *p)
{
    enum vs_dtype compute = x->dtype;
    params par = params_of(p, unary_params(op));

    if (cuda_all_host(x, out)) {
        cuda_host()->unary(op, x, out, p);
        return;
    }
    if (!vs_dtype_is_floating(compute) && vs_dtype_is_floating(out->dtype))
        compute = out->dtype;
    if (op == ENG_U_BITWISE_NOT && x->dtype == VS_BOOL)
        op = ENG_U_LOGICAL_NOT;
    CUDA_FOR(cuda_kind_of(compute), run_unary<T>((int)op, x, out, par));
}

void cuda_binary(enum eng_binary op, enum vs_dtype compute, const struct eng_view *a,
                 const struct eng_view *b, const struct eng_view *out, const double *p)
{
    params par = params_of(p, binary_params(op));

    if (cuda_all_host(a, b, out)) {
        cuda_host()->binary(op, compute, a, b, out, p);
        return;
    }
    CUDA_FOR(cuda_kind_of(compute), run_binary<T>((int)op, compute, a, b, out, par));
}

void cuda_ternary(enum eng_ternary op, enum vs_dtype compute, const struct eng_view *a,
                  const struct eng_view *b, const struct eng_view *c, const struct eng_view *out,
                  const double *p)
{
    params par = params_of(p, ternary_params(op));

    if (cuda_all_host(a, b, c, out)) {
        cuda_host()->ternary(op, compute, a, b, c, out, p);
        return;
    }
    CUDA_FOR(cuda_kind_of(compute), run_ternary<T>((int)op, compute, a, b, c, out, par));
}

/* Copies elements of one dtype as they are: NaN payloads and -0 are preserved. */
template <class U> static void move(const struct eng_view *src, const struct eng_view *dst)
{
    typedef float T; /* a type of the same width */
    cuda_call call;
    cuda_lanes from = cuda_lanes_of<T>(call.in(src));
    cuda_lanes to = cuda_lanes_of<T>(call.out(dst));

    if (from.lie == LIE_TOGETHER && to.lie == LIE_TOGETHER && cuda_numel(dst) % PACK == 0) {
        cuda_each(
            cuda_numel(dst) / PACK, VS_BODY(int64_t i) {
                *(cuda_pack<U, PACK> *)((U *)to.v.data + cuda_place(to.v, i * PACK)) =
                    *(const cuda_pack<U, PACK> *)((const U *)from.v.data +
                                                  cuda_place(from.v, i * PACK));
            });
        return;
    }
    cuda_each(
        cuda_numel(dst), VS_BODY(int64_t i) {
            ((U *)to.v.data)[cuda_place(to.v, i)] = ((const U *)from.v.data)[cuda_place(from.v, i)];
        });
}

template <class T> static void convert(const struct eng_view *src, const struct eng_view *dst)
{
    cuda_call call;
    cuda_lanes from = cuda_lanes_of<T>(call.in(src));
    cuda_lanes to = cuda_lanes_of<T>(call.out(dst));

    packs<T>(
        dst, VS_BODY(int64_t first, int count) {
            T v[PACK];

            cuda_load<T>(from, first, count, v);
            cuda_store<T>(to, first, count, v);
        });
}

static bool is_contiguous(const struct eng_view *v)
{
    int64_t expected = 1;

    for (int d = v->ndim - 1; d >= 0; d--) {
        if (v->sizes[d] != 1 && v->strides[d] != expected)
            return false;
        expected *= v->sizes[d];
    }
    return true;
}

/* Copies bytes between host and device if both views have the same layout. */
static bool copy_bytes(const struct eng_view *src, const struct eng_view *dst)
{
    uint64_t bytes = (uint64_t)cuda_numel(dst) * vs_dtype_bytes(dst->dtype);
    bool to_device = cuda_is_device(dst->data);

    if (src->dtype != dst->dtype || cuda_is_device(src->data) == to_device || !is_contiguous(src) ||
        !is_contiguous(dst))
        return false;
    if (to_device)
        cuda_copy_in(dst->data, src->data, bytes);
    else
        cuda_copy_out(dst->data, src->data, bytes);
    return true;
}

void cuda_copy(const struct eng_view *src, const struct eng_view *dst)
{
    enum vs_dtype to = dst->dtype;

    if (cuda_numel(dst) == 0)
        return;
    if (cuda_all_host(src, dst)) {
        cuda_host()->copy(src, dst);
        return;
    }
    if (copy_bytes(src, dst))
        return;
    if (src->dtype == to && cuda_is_device(src->data)) {
        switch (vs_dtype_bytes(to)) {
        case 1:
            move<uint8_t>(src, dst);
            break;
        case 2:
            move<uint16_t>(src, dst);
            break;
        case 4:
            move<uint32_t>(src, dst);
            break;
        default:
            move<uint64_t>(src, dst);
            break;
        }
        return;
    }
    if (vs_dtype_is_floating(to) && to != VS_F64)
        convert<float>(src, dst);
    else if (vs_dtype_is_floating(to) || vs_dtype_is_floating(src->dtype))
        convert<double>(src, dst);
    else
        convert<int64_t>(src, dst);
}

template <class T> static void run_fill(const struct eng_view *dst, T value)
{
    cuda_call call;
    cuda_lanes to = cuda_lanes_of<T>(call.out(dst));

    packs<T>(
        dst, VS_BODY(int64_t first, int count) {
            T y[PACK];

            for (int k = 0; k < PACK; k++)
                y[k] = value;
            cuda_store<T>(to, first, count, y);
        });
}

void cuda_fill(const struct eng_view *dst, struct eng_scalar value)
{
    if (cuda_numel(dst) == 0)
        return;
    if (cuda_all_host(dst))
        cuda_host()->fill(dst, value);
    else if (vs_dtype_is_floating(dst->dtype) && dst->dtype != VS_F64)
        run_fill<float>(dst, (float)value.f);
    else if (value.is_int && !vs_dtype_is_floating(dst->dtype))
        run_fill<int64_t>(dst, value.i);
    else
        run_fill<double>(dst, value.f);
}

struct eng_scalar cuda_item(const struct eng_view *x)
{
    struct eng_view here = *x;
    uint64_t bits[1] = {0};

    if (cuda_all_host(x))
        return cuda_host()->item(x);
    cuda_copy_out(bits, x->data, vs_dtype_bytes(x->dtype));
    here.data = bits;
    here.ndim = 0;
    return cuda_host()->item(&here);
}

void cuda_triangle(const struct eng_view *x, const struct eng_view *out, int64_t diagonal,
                   bool is_upper)
{
    if (cuda_numel(out) == 0)
        return;
    if (cuda_all_host(x, out)) {
        cuda_host()->triangle(x, out, diagonal, is_upper);
        return;
    }
    cuda_call call;
    cuda_view from = call.in(x);
    cuda_view to = call.out(out);
    int64_t cols = out->sizes[out->ndim - 1];
    int64_t rows = out->sizes[out->ndim - 2];

    CUDA_FOR(cuda_kind_of(out->dtype),
             cuda_each(
                 cuda_numel(out), VS_BODY(int64_t i) {
                     int64_t across = i % cols - i / cols % rows;
                     bool stays = is_upper ? across >= diagonal : across <= diagonal;

                     cuda_set<T>(to, i, stays ? cuda_at<T>(from, i) : (T)0);
                 }));
}

void cuda_arange(const struct eng_view *out, double start, double step)
{
    if (cuda_numel(out) == 0)
        return;
    if (cuda_all_host(out)) {
        cuda_host()->arange(out, start, step);
        return;
    }
    cuda_call call;
    cuda_view to = call.out(out);

    cuda_each(
        cuda_numel(out), VS_BODY(int64_t i) { cuda_set<double>(to, i, start + (double)i * step); });
}

template <class T>
static void run_unscale(const struct eng_view *g, const struct eng_view *inv_scale,
                        const struct eng_view *found_inf)
{
    cuda_call call;
    cuda_view vg = call.out(g);
    cuda_view inv = call.in(inv_scale);
    cuda_view found = call.out(found_inf);

    cuda_each(
        cuda_numel(g), VS_BODY(int64_t i) {
            T v = cuda_at<T>(vg, i);

            if (!(v - v == (T)0)) /* inf or NaN: all threads that find one write the same value */
                cuda_set<float>(found, 0, 1.0f);
            cuda_set<T>(vg, i, v * (T)cuda_at<float>(inv, 0));
        });
}

void cuda_unscale(const struct eng_view *g, const struct eng_view *inv_scale,
                  const struct eng_view *found_inf)
{
    if (cuda_all_host(g, inv_scale, found_inf)) {
        cuda_host()->unscale(g, inv_scale, found_inf);
        return;
    }
    CUDA_FOR_REAL(cuda_kind_of(g->dtype), run_unscale<T>(g, inv_scale, found_inf));
}
