/*
 * engine/device/cuda/kernels_lines.cu - kernels along one dim: softmax, maxima with their indices, cumulative sums,
 * sorting.
 *
 * For:            the table.
 * Must not know:  losses, attention.
 * Invariant:      lines are independent and each is processed by one team. NaN is greater than everything; equal
 *                 values are ordered by index.
 */
#include "engine/device/cuda/cuda_columns.cuh"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

struct line_job {
    cuda_view a, b, c;
    uint32_t across;
    int64_t n, step_a, step_b, step_c;
};

static line_job job_of(cuda_call &call, int dim, const struct eng_view *a, const struct eng_view *b,
                       const struct eng_view *c_out)
{
    line_job j;

    j.a = call.in(a, true);
    j.b = call.out(b, true);
    j.c = c_out ? call.out(c_out, true) : j.b;
    j.across = cuda_across(a, dim);
    j.n = cuda_length(a, dim);
    j.step_a = cuda_step(a, dim);
    j.step_b = cuda_step(b, dim);
    j.step_c = c_out ? cuda_step(c_out, dim) : 0;
    return j;
}

static int64_t lines_of(const struct eng_view *v, int dim)
{
    return cuda_count(v, cuda_across(v, dim));
}

template <class T, class E, int N>
static void run_softmax(const line_job &j, int64_t lines, bool is_log)
{
    cuda_teams<N>(
        lines, VS_BODY(int64_t line, cuda_team_of<N> & team) {
            int64_t from = cuda_place_in(j.a, j.a, j.across, line);
            int64_t to = cuda_place_in(j.a, j.b, j.across, line);
            cuda_pair<T> none = {(T)-INFINITY, 0};
            cuda_pair<T> all = team.fold(
                j.n, none,
                [&](int64_t i) {
                    cuda_pair<T> one = {E::template get<T>(j.a, from + i * j.step_a), 1};

                    return one;
                },
                [](cuda_pair<T> x, cuda_pair<T> y) { return cuda_join_exp(x, y); });
            T factor = is_log ? (T)log(all.b) : (T)1 / all.b;

            team.each(j.n, [&](int64_t i) {
                T d = E::template get<T>(j.a, from + i * j.step_a) - all.a;

                E::template put<T>(j.b, to + i * j.step_b, is_log ? d - factor : exp(d) * factor);
            });
        });
}

template <class T, class E> static void softmax_lines(const line_job &j, int64_t lines, bool is_log)
{
    if (j.n <= SHORT_LINE)
        run_softmax<T, E, WARP>(j, lines, is_log);
    else
        run_softmax<T, E, TEAM>(j, lines, is_log);
}

void cuda_softmax(const struct eng_view *x, int dim, bool is_log, const struct eng_view *out)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->softmax(x, dim, is_log, out);
        return;
    }
    if (cuda_numel(out) == 0)
        return;
    cuda_call call;
    line_job j = job_of(call, dim, x, out, NULL);

    const cuda_view *same[] = {&j.a, &j.b};

    CUDA_FOR_CELL(cuda_common(same, 2),
                  x->dtype == VS_F64 || out->dtype == VS_F64 ? CUDA_DOUBLE : CUDA_FLOAT,
                  (softmax_lines<T, E>(j, lines_of(x, dim), is_log)));
}

template <class T, class E, int N>
static void run_softmax_backward(const line_job &j, int64_t lines, bool is_log)
{
    cuda_teams<N>(
        lines, VS_BODY(int64_t line, cuda_team_of<N> & team) {
            int64_t g = cuda_place_in(j.a, j.a, j.across, line);
            int64_t y = cuda_place_in(j.a, j.b, j.across, line);
            int64_t to = cuda_place_in(j.a, j.c, j.across, line);
            T sum = team.fold(
                j.n, (T)0,
                [&](int64_t i) {
                    T v = E::template get<T>(j.a, g + i * j.step_a);

                    return is_log ? v : v * E::template get<T>(j.b, y + i * j.step_b);
                },
                [](T a, T b) { return a + b; });

            team.each(j.n, [&](int64_t i) {
                T v = E::template get<T>(j.a, g + i * j.step_a);
                T o = E::template get<T>(j.b, y + i * j.step_b);

                E::template put<T>(j.c, to + i * j.step_c,
                                   is_log ? v - exp(o) * sum : o * (v - sum));
            });
        });
}

template <class T, class E>
static void softmax_backward_lines(const line_job &j, int64_t lines, bool is_log)
{
    if (j.n <= SHORT_LINE)
        run_softmax_backward<T, E, WARP>(j, lines, is_log);
    else
        run_softmax_backward<T, E, TEAM>(j, lines, is_log);
}

void cuda_softmax_backward(const struct eng_view *g, const struct eng_view *y, int dim, bool is_log,
                           const struct eng_view *gx)
{
    if (cuda_all_host(g, y, gx)) {
        cuda_host()->softmax_backward(g, y, dim, is_log, gx);
        return;
    }
    if (cuda_numel(gx) == 0)
        return;
    cuda_call call;
    line_job j;

    j.a = call.in(g, true);
    j.b = call.in(y, true);
    j.c = call.out(gx, true);
    j.across = cuda_across(g, dim);
    j.n = cuda_length(g, dim);
    j.step_a = cuda_step(g, dim);
    j.step_b = cuda_step(y, dim);
    j.step_c = cuda_step(gx, dim);
    const cuda_view *same[] = {&j.a, &j.b, &j.c};
    bool is_double = g->dtype == VS_F64 || y->dtype == VS_F64 || gx->dtype == VS_F64;

    CUDA_FOR_CELL(cuda_common(same, 3), is_double ? CUDA_DOUBLE : CUDA_FLOAT,
                  (softmax_backward_lines<T, E>(j, lines_of(g, dim), is_log)));
}

VS_GPU static bool is_less(double a, double b)
{
    return a < b || (b != b && a == a);
}
VS_GPU static bool is_less(int64_t a, int64_t b)
{
    return a < b;
}

template <class T> struct placed {
    T value;
    int64_t index;
};

template <class T> static void run_max(const line_job &j, int64_t lines, bool is_max)
{
    cuda_lines(
        lines, VS_BODY(int64_t line, cuda_team & team) {
            int64_t from = cuda_place_in(j.a, j.a, j.across, line);
            placed<T> none = {(T)0, -1};
            placed<T> best = team.fold(
                j.n, none,
                [&](int64_t i) {
                    placed<T> p = {cuda_get<T>(j.a, from + i * j.step_a), i};

                    return p;
                },
                [&](placed<T> a, placed<T> b) {
                    if (a.index < 0 || b.index < 0)
                        return a.index < 0 ? b : a;
                    bool a_nan = a.value != a.value;
                    bool b_nan = b.value != b.value;
                    if (a_nan || b_nan)
                        return a_nan && (!b_nan || a.index < b.index) ? a : b;
                    if (is_max ? a.value > b.value : a.value < b.value)
                        return a;
                    if (is_max ? b.value > a.value : b.value < a.value)
                        return b;
                    return a.index < b.index ? a : b;
                });

            team.each(1, [&](int64_t) {
                cuda_put<T>(j.b, cuda_place_in(j.a, j.b, j.across, line), best.value);
                cuda_put<int64_t>(j.c, cuda_place_in(j.a, j.c, j.across, line), best.index);
            });
        });
}

void cuda_max_dim(const struct eng_view *x, int dim, bool is_max, const struct eng_view *values,
                  const struct eng_view *indices)
{
    if (cuda_all_host(x, values, indices)) {
        cuda_host()->max_dim(x, dim, is_max, values, indices);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    cuda_call call;
    line_job j = job_of(call, dim, x, values, indices);

    if (vs_dtype_is_floating(x->dtype))
        run_max<double>(j, lines_of(x, dim), is_max);
    else
        run_max<int64_t>(j, lines_of(x, dim), is_max);
}

VS_GPU static double add_up(double a, double b)
{
    return a + b;
}
VS_GPU static int64_t add_up(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

template <class T> static void run_cumsum(const line_job &j, int64_t lines)
{
    cuda_each(
        lines, VS_BODY(int64_t line) {
            int64_t from = cuda_place_in(j.a, j.a, j.across, line);
            int64_t to = cuda_place_in(j.a, j.b, j.across, line);
            T all = (T)0;

            for (int64_t i = 0; i < j.n; i++) {
                all = add_up(all, cuda_get<T>(j.a, from + i * j.step_a));
                cuda_put<T>(j.b, to + i * j.step_b, all);
            }
        });
}

void cuda_cumsum(const struct eng_view *x, int dim, const struct eng_view *out)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->cumsum(x, dim, out);
        return;
    }
    if (cuda_numel(out) == 0)
        return;
    cuda_call call;
    line_job j = job_of(call, dim, x, out, NULL);

    if (vs_dtype_is_floating(x->dtype) || vs_dtype_is_floating(out->dtype))
        run_cumsum<double>(j, lines_of(x, dim));
    else
        run_cumsum<int64_t>(j, lines_of(x, dim));
}

/*
 * The position of `v`, which is in the run beginning at `own`, after merging with the neighbouring run [lo, hi):
 * counts the elements there that come before it.
 */
template <class T>
VS_GPU static int64_t rank_of(const placed<T> *a, int64_t lo, int64_t hi, T v, bool after_equal,
                              bool descending)
{
    int64_t first = lo;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        T m = a[mid].value;
        bool before = descending ? is_less(v, m) : is_less(m, v);
        bool equal = !before && !(descending ? is_less(m, v) : is_less(v, m));

        if (before || (equal && after_equal))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - first;
}

/*
 * Merge sort with doubling runs: each element finds its position by a binary search in the neighbouring run, so all
 * elements move at the same time.
 */
template <class T> static void run_sort(const line_job &j, int64_t lines, bool descending)
{
    placed<T> *workspace = (placed<T> *)cuda_scratch((uint64_t)(2 * lines * j.n) * sizeof(placed<T>));

    cuda_lines(
        lines, VS_BODY(int64_t line, cuda_team & team) {
            int64_t from = cuda_place_in(j.a, j.a, j.across, line);
            int64_t values = cuda_place_in(j.a, j.b, j.across, line);
            int64_t indices = cuda_place_in(j.a, j.c, j.across, line);
            placed<T> *a = workspace + 2 * line * j.n;
            placed<T> *b = a + j.n;

            team.each(j.n, [&](int64_t i) {
                a[i].value = cuda_get<T>(j.a, from + i * j.step_a);
                a[i].index = i;
            });
            for (int64_t w = 1; w < j.n; w *= 2) {
                team.each(j.n, [&](int64_t i) {
                    int64_t run = i / w;
                    int64_t pair = run / 2 * 2 * w;
                    bool is_left = run % 2 == 0;
                    int64_t lo = is_left ? pair + w : pair;
                    int64_t hi = lo + w < j.n ? lo + w : j.n;
                    int64_t rank =
                        lo < hi ? rank_of<T>(a, lo, hi, a[i].value, !is_left, descending) : 0;

                    b[pair + (i - run * w) + rank] = a[i];
                });
                placed<T> *t = a;

                a = b;
                b = t;
            }
            team.each(j.n, [&](int64_t i) {
                cuda_put<T>(j.b, values + i * j.step_b, a[i].value);
                cuda_put<int64_t>(j.c, indices + i * j.step_c, a[i].index);
            });
        });
}

void cuda_sort(const struct eng_view *x, int dim, bool descending, const struct eng_view *values,
               const struct eng_view *indices)
{
    if (cuda_all_host(x, values, indices)) {
        cuda_host()->sort(x, dim, descending, values, indices);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    cuda_call call;
    line_job j = job_of(call, dim, x, values, indices);

    if (vs_dtype_is_floating(x->dtype))
        run_sort<double>(j, lines_of(x, dim), descending);
    else
        run_sort<int64_t>(j, lines_of(x, dim), descending);
}
