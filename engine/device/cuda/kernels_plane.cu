/*
 * engine/device/cuda/kernels_plane.cu - pooling and upsampling of the [H,W] planes of [N,C,H,W], and their gradients.
 *
 * For:            the table.
 * Must not know:  modules.
 * Invariant:      gradients are gathered and not scattered: one thread adds all contributions to one element, in the
 *                 order of the outputs.
 */
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

#include "engine/device/cpu/cpu_taps.h"


struct planes {
    cuda_view x;   /* the larger tensor: the input or its gradient */
    cuda_view y;   /* the smaller tensor: the output or its gradient */
    cuda_view idx; /* positions in x's planes, or absent */
    int64_t channels, h, w, ho, wo;
    cuda_divisor by_h, by_w;
    struct eng_pool2d p;
    bool is_adaptive;
};

static planes planes_of(const struct eng_view *x, const struct eng_view *y)
{
    planes j;

    memset(&j, 0, sizeof(j));
    j.channels = x->sizes[1];
    j.h = x->sizes[2];
    j.w = x->sizes[3];
    j.by_h = cuda_divisor_of(j.h);
    j.by_w = cuda_divisor_of(j.w);
    j.ho = y->sizes[2];
    j.wo = y->sizes[3];
    return j;
}

VS_GPU static int64_t place(const cuda_view &v, int64_t plane, int64_t channels, int64_t row,
                            int64_t col)
{
    return plane / channels * v.strides[0] + plane % channels * v.strides[1] + row * v.strides[2] +
           col * v.strides[3];
}

/* The window of output o along axis d: [lo, hi) of the input, in steps of the dilation. */
struct window {
    int64_t lo, hi;
};

VS_GPU static window window_of(const planes &j, int d, int64_t o)
{
    int64_t size = d == 0 ? j.h : j.w;
    int64_t out = d == 0 ? j.ho : j.wo;
    int64_t start;
    window k;

    if (j.is_adaptive) {
        k.lo = o * size / out;
        k.hi = ((o + 1) * size + out - 1) / out;
        return k;
    }
    start = o * j.p.stride[d] - j.p.padding[d];
    k.hi = start + (j.p.kernel[d] - 1) * j.p.dilation[d] + 1;
    k.hi = k.hi < size ? k.hi : size;
    if (start < 0)
        start += (-start + j.p.dilation[d] - 1) / j.p.dilation[d] * j.p.dilation[d];
    k.lo = start;
    return k;
}

template <class T> static void run_max(const planes &j, int64_t n)
{
    cuda_each(n, VS_BODY(int64_t i) {
        int64_t ox = i % j.wo;
        int64_t oy = i / j.wo % j.ho;
        int64_t plane = i / j.wo / j.ho;
        int64_t dy = j.is_adaptive ? 1 : j.p.dilation[0];
        int64_t dx = j.is_adaptive ? 1 : j.p.dilation[1];
        window r = window_of(j, 0, oy);
        window c = window_of(j, 1, ox);
        /* remains the result if nothing is greater than -infinity */
        int64_t best = r.lo * j.w + c.lo;
        T max = (T)-INFINITY;

        for (int64_t y = r.lo; y < r.hi; y += dy)
            for (int64_t x = c.lo; x < c.hi; x += dx) {
                T v = cuda_get<T>(j.x, place(j.x, plane, j.channels, y, x));

                if (v > max || v != v) {
                    max = v;
                    best = y * j.w + x;
                }
            }
        cuda_put<T>(j.y, place(j.y, plane, j.channels, oy, ox), max);
        cuda_put<int64_t>(j.idx, place(j.idx, plane, j.channels, oy, ox), best);
    });
}

static void max_forward(const struct eng_view *x, const struct eng_view *out,
                        const struct eng_view *indices, const struct eng_pool2d *p)
{
    cuda_call call;
    planes j = planes_of(x, out);

    if (cuda_numel(out) == 0)
        return;
    j.x = call.in(x, true);
    j.y = call.out(out, true);
    j.idx = call.out(indices, true);
    j.is_adaptive = p == NULL;
    if (p)
        j.p = *p;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype), run_max<T>(j, cuda_numel(out)));
}

void cuda_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                     const struct eng_view *indices, const struct eng_pool2d *p)
{
    if (cuda_all_host(x, out, indices))
        cuda_host()->max_pool2d(x, out, indices, p);
    else
        max_forward(x, out, indices, p);
}

void cuda_adaptive_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                              const struct eng_view *indices)
{
    if (cuda_all_host(x, out, indices))
        cuda_host()->adaptive_max_pool2d(x, out, indices);
    else
        max_forward(x, out, indices, NULL);
}

/* The first output along an axis whose window may contain position i. */
VS_GPU static int64_t first_output(const planes &j, int d, int64_t i)
{
    int64_t size = d == 0 ? j.h : j.w;
    int64_t out = d == 0 ? j.ho : j.wo;
    int64_t o;

    if (j.is_adaptive) {
        o = i * out / size - 1;
    } else { /* the last position of window o is o*stride - padding + reach */
        int64_t reach = (j.p.kernel[d] - 1) * j.p.dilation[d];

        o = (i + j.p.padding[d] - reach + j.p.stride[d] - 1) / j.p.stride[d];
    }
    return o > 0 ? o : 0;
}

/*
 * Whether the window of output o may begin at or before position i. (With dilation the first position inside the
 * input is not monotonic in o.)
 */
VS_GPU static bool is_begun(const planes &j, int d, int64_t o, int64_t i)
{
    return (j.is_adaptive ? window_of(j, d, o).lo : o * j.p.stride[d] - j.p.padding[d]) <= i;
}

/* A position adds the gradients of the outputs around it whose index is this position. */
template <class T> static void run_max_backward(const planes &j, int64_t n)
{
    cuda_each(n, VS_BODY(int64_t i) {
        int64_t row = cuda_divide(j.by_w, i);
        int64_t plane = cuda_divide(j.by_h, row);
        int64_t x = i - row * j.w;
        int64_t y = row - plane * j.h;
        int64_t mine = y * j.w + x;
        T sum = (T)0;

        for (int64_t oy = first_output(j, 0, y); oy < j.ho && is_begun(j, 0, oy, y); oy++)
            for (int64_t ox = first_output(j, 1, x); ox < j.wo && is_begun(j, 1, ox, x); ox++)
                if (cuda_get<int64_t>(j.idx, place(j.idx, plane, j.channels, oy, ox)) == mine)
                    sum += cuda_get<T>(j.y, place(j.y, plane, j.channels, oy, ox));
        cuda_put<T>(j.x, place(j.x, plane, j.channels, y, x), sum);
    });
}

void cuda_max_pool2d_backward(const struct eng_view *g, const struct eng_view *indices,
                              const struct eng_view *gx, const struct eng_pool2d *p)
{
    if (cuda_all_host(g, indices, gx)) {
        cuda_host()->max_pool2d_backward(g, indices, gx, p);
        return;
    }
    if (cuda_numel(gx) == 0)
        return;
    cuda_call call;
    planes j = planes_of(gx, g);

    j.y = call.in(g, true);
    j.idx = call.in(indices, true);
    j.x = call.out(gx, true);
    j.is_adaptive = p == NULL;
    if (p)
        j.p = *p;
    CUDA_FOR_REAL(cuda_kind_of(gx->dtype), run_max_backward<T>(j, cuda_numel(gx)));
}

VS_GPU static double divisor(const planes &j, int64_t oy, int64_t ox, const window &r,
                             const window &c)
{
    int64_t inside = (r.hi - r.lo) * (c.hi - c.lo);
    int64_t y0, x0, y1, x1;

    if (j.is_adaptive)
        return (double)inside;
    if (j.p.divisor_override != 0)
        return (double)j.p.divisor_override;
    if (!j.p.count_include_pad)
        return (double)inside;
    y0 = oy * j.p.stride[0] - j.p.padding[0];
    x0 = ox * j.p.stride[1] - j.p.padding[1];
    y1 = y0 + j.p.kernel[0] < j.h + j.p.padding[0] ? y0 + j.p.kernel[0] : j.h + j.p.padding[0];
    x1 = x0 + j.p.kernel[1] < j.w + j.p.padding[1] ? x0 + j.p.kernel[1] : j.w + j.p.padding[1];
    return (double)((y1 - y0) * (x1 - x0));
}

template <class T> static void run_avg(const planes &j, int64_t n)
{
    cuda_each(n, VS_BODY(int64_t i) {
        int64_t ox = i % j.wo;
        int64_t oy = i / j.wo % j.ho;
        int64_t plane = i / j.wo / j.ho;
        window r = window_of(j, 0, oy);
        window c = window_of(j, 1, ox);
        double sum = 0.0;
        bool is_empty = r.hi <= r.lo || c.hi <= c.lo;

        for (int64_t y = r.lo; y < r.hi; y++)
            for (int64_t x = c.lo; x < c.hi; x++)
                sum += cuda_get<double>(j.x, place(j.x, plane, j.channels, y, x));
        cuda_put<T>(j.y, place(j.y, plane, j.channels, oy, ox),
                    is_empty ? (T)0 : (T)(sum / divisor(j, oy, ox, r, c)));
    });
}

template <class T> static void run_avg_backward(const planes &j, int64_t n)
{
    cuda_each(n, VS_BODY(int64_t i) {
        int64_t x = i % j.w;
        int64_t y = i / j.w % j.h;
        int64_t plane = i / j.w / j.h;
        T sum = (T)0;

        for (int64_t oy = first_output(j, 0, y); oy < j.ho; oy++) {
            window r = window_of(j, 0, oy);

            if (r.lo > y)
                break;
            if (y >= r.hi)
                continue;
            for (int64_t ox = first_output(j, 1, x); ox < j.wo; ox++) {
                window c = window_of(j, 1, ox);

                if (c.lo > x)
                    break;
                if (x < c.hi)
                    sum += (T)(cuda_get<double>(j.y, place(j.y, plane, j.channels, oy, ox)) /
                               divisor(j, oy, ox, r, c));
            }
        }
        cuda_put<T>(j.x, place(j.x, plane, j.channels, y, x), sum);
    });
}

static void average(const struct eng_view *x, const struct eng_view *y, const struct eng_pool2d *p,
                    bool backward)
{
    cuda_call call;
    planes j = planes_of(x, y);

    if (cuda_numel(backward ? x : y) == 0)
        return;
    j.x = backward ? call.out(x, true) : call.in(x, true);
    j.y = backward ? call.in(y, true) : call.out(y, true);
    j.is_adaptive = p == NULL;
    if (p)
        j.p = *p;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype), if (backward) run_avg_backward<T>(j, cuda_numel(x));
                  else run_avg<T>(j, cuda_numel(y)));
}

void cuda_avg_pool2d(const struct eng_view *x, const struct eng_view *out,
                     const struct eng_pool2d *p)
{
    if (cuda_all_host(x, out))
        cuda_host()->avg_pool2d(x, out, p);
    else
        average(x, out, p, false);
}

void cuda_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx,
                              const struct eng_pool2d *p)
{
    if (cuda_all_host(g, gx))
        cuda_host()->avg_pool2d_backward(g, gx, p);
    else
        average(gx, g, p, true);
}

void cuda_adaptive_avg_pool2d(const struct eng_view *x, const struct eng_view *out)
{
    if (cuda_all_host(x, out))
        cuda_host()->adaptive_avg_pool2d(x, out);
    else
        average(x, out, NULL, false);
}

void cuda_adaptive_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx)
{
    if (cuda_all_host(g, gx))
        cuda_host()->adaptive_avg_pool2d_backward(g, gx);
    else
        average(gx, g, NULL, true);
}

/* The taps of both axes, rows first, copied to the device. */
static const struct cpu_tap *taps_in(const struct eng_view *x, const struct eng_view *y,
                                     bool is_linear, bool align_corners, double scale_h,
                                     double scale_w)
{
    int64_t ho = y->sizes[2];
    int64_t wo = y->sizes[3];
    uint64_t bytes = (uint64_t)(ho + wo) * sizeof(struct cpu_tap);
    struct cpu_tap *taps = new cpu_tap[(size_t)(ho + wo)];
    struct cpu_tap *there = (struct cpu_tap *)cuda_stage(bytes);
    bool is_double = x->dtype == VS_F64;

    if (is_linear) {
        cpu_linear_taps(taps, x->sizes[2], ho, align_corners, scale_h, is_double);
        cpu_linear_taps(taps + ho, x->sizes[3], wo, align_corners, scale_w, is_double);
    } else {
        cpu_nearest_taps(taps, x->sizes[2], ho);
        cpu_nearest_taps(taps + ho, x->sizes[3], wo);
    }
    cuda_copy_in(there, taps, bytes);
    delete[] taps;
    return there;
}

template <class T> static void run_up(const planes &j, const struct cpu_tap *taps, int64_t n)
{
    cuda_each(n, VS_BODY(int64_t i) {
        int64_t ox = i % j.wo;
        int64_t oy = i / j.wo % j.ho;
        int64_t plane = i / j.wo / j.ho;
        struct cpu_tap r = taps[oy];
        struct cpu_tap c = taps[j.ho + ox];
        T v1 = (T)r.weight, v0 = (T)1 - v1;
        T u1 = (T)c.weight, u0 = (T)1 - u1;
        T a = cuda_get<T>(j.x, place(j.x, plane, j.channels, r.first, c.first));
        T out = a;

        /* else only one input: 0 times infinity of the other one would give NaN */
        if (v1 != (T)0 || u1 != (T)0) {
            T b = cuda_get<T>(j.x, place(j.x, plane, j.channels, r.first, c.second));
            T d = cuda_get<T>(j.x, place(j.x, plane, j.channels, r.second, c.first));
            T e = cuda_get<T>(j.x, place(j.x, plane, j.channels, r.second, c.second));

            out = v0 * (u0 * a + u1 * b) + v1 * (u0 * d + u1 * e);
        }
        cuda_put<T>(j.y, place(j.y, plane, j.channels, oy, ox), out);
    });
}

/* The first of n taps that may use input i; their positions never decrease. */
VS_GPU static int64_t first_tap(const struct cpu_tap *taps, int64_t n, int64_t i)
{
    int64_t lo = 0;
    int64_t hi = n;

    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;

        if (taps[mid].second < i)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The weight that input i has in a tap. */
template <class T> VS_GPU static T share(const struct cpu_tap &t, int64_t i)
{
    T w = (T)t.weight;

    return (t.first == i ? (T)1 - w : (T)0) + (t.second == i ? w : (T)0);
}

template <class T> static void run_up_backward(const planes &j, const struct cpu_tap *taps, int64_t n)
{
    cuda_each(n, VS_BODY(int64_t i) {
        int64_t x = i % j.w;
        int64_t y = i / j.w % j.h;
        int64_t plane = i / j.w / j.h;
        T sum = (T)0;

        for (int64_t oy = first_tap(taps, j.ho, y); oy < j.ho && taps[oy].first <= y; oy++) {
            T r = share<T>(taps[oy], y);

            for (int64_t ox = first_tap(taps + j.ho, j.wo, x);
                 ox < j.wo && taps[j.ho + ox].first <= x; ox++) {
                T c = share<T>(taps[j.ho + ox], x);

                if (r != (T)0 && c != (T)0)
                    sum += r * c * cuda_get<T>(j.y, place(j.y, plane, j.channels, oy, ox));
            }
        }
        cuda_put<T>(j.x, place(j.x, plane, j.channels, y, x), sum);
    });
}

static void upsample(const struct eng_view *x, const struct eng_view *y, bool is_linear,
                     bool align_corners, double scale_h, double scale_w, bool backward)
{
    cuda_call call;
    planes j = planes_of(x, y);
    const struct cpu_tap *taps;

    if (cuda_numel(backward ? x : y) == 0)
        return;
    j.x = backward ? call.out(x, true) : call.in(x, true);
    j.y = backward ? call.in(y, true) : call.out(y, true);
    taps = taps_in(x, y, is_linear, align_corners, scale_h, scale_w);
    CUDA_FOR_REAL(cuda_kind_of(x->dtype), if (backward) run_up_backward<T>(j, taps, cuda_numel(x));
                  else run_up<T>(j, taps, cuda_numel(y)));
}

void cuda_upsample_nearest2d(const struct eng_view *x, const struct eng_view *out)
{
    if (cuda_all_host(x, out))
        cuda_host()->upsample_nearest2d(x, out);
    else
        upsample(x, out, false, false, 0.0, 0.0, false);
}

void cuda_upsample_nearest2d_backward(const struct eng_view *g, const struct eng_view *gx)
{
    if (cuda_all_host(g, gx))
        cuda_host()->upsample_nearest2d_backward(g, gx);
    else
        upsample(gx, g, false, false, 0.0, 0.0, true);
}

void cuda_upsample_bilinear2d(const struct eng_view *x, const struct eng_view *out,
                              bool align_corners, double scale_h, double scale_w)
{
    if (cuda_all_host(x, out))
        cuda_host()->upsample_bilinear2d(x, out, align_corners, scale_h, scale_w);
    else
        upsample(x, out, true, align_corners, scale_h, scale_w, false);
}

void cuda_upsample_bilinear2d_backward(const struct eng_view *g, const struct eng_view *gx,
                                       bool align_corners, double scale_h, double scale_w)
{
    if (cuda_all_host(g, gx))
        cuda_host()->upsample_bilinear2d_backward(g, gx, align_corners, scale_h, scale_w);
    else
        upsample(gx, g, true, align_corners, scale_h, scale_w, true);
}
