/*
 * engine/device/cuda/kernels_reduce.cu - reductions over any set of dims.
 *
 * For:            the table.
 * Must not know:  which op calls them.
 * Invariant:      floating values are accumulated in double, the others in int64_t; the order of additions depends on
 *                 sizes alone.
 *
 * Three strategies: one thread for each output if few elements are reduced, one team for each output, and, for few
 * outputs of many elements each, several teams for each output, whose results a second launch combines.
 */
#include "engine/device/cuda/cuda_columns.cuh"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

struct job {
    cuda_view x, out;
    uint32_t gone, kept;
    int64_t n; /* elements that are reduced to one */
    int op;
    double p0;
};

/* One thread with the interface of a team. */
struct alone {
    template <class T, class F, class J> VS_GPU T fold(int64_t n, T first, F f, J join)
    {
        T all = first;

        for (int64_t i = 0; i < n; i++)
            all = join(all, f(i));
        return all;
    }
};

VS_GPU static double neutral(int op, double)
{
    switch (op) {
    case ENG_R_PROD:
    case ENG_R_ALL:
        return 1.0;
    case ENG_R_AMAX:
        return -INFINITY;
    case ENG_R_AMIN:
        return INFINITY;
    default:
        return 0.0;
    }
}

VS_GPU static int64_t neutral(int op, int64_t)
{
    switch (op) {
    case ENG_R_PROD:
    case ENG_R_ALL:
        return 1;
    case ENG_R_AMAX:
        return INT64_MIN;
    case ENG_R_AMIN:
        return INT64_MAX;
    default:
        return 0;
    }
}

VS_GPU static double times(double a, double b)
{
    return a * b;
}
VS_GPU static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
VS_GPU static double plus(double a, double b)
{
    return a + b;
}
VS_GPU static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* NaN wins over every number. */
template <class A> VS_GPU static A join_two(int op, A a, A b)
{
    switch (op) {
    case ENG_R_PROD:
        return times(a, b);
    case ENG_R_AMAX:
        return a != a || a > b ? a : b;
    case ENG_R_AMIN:
        return a != a || a < b ? a : b;
    case ENG_R_ANY:
        return (A)(a != (A)0 || b != (A)0);
    case ENG_R_ALL:
        return (A)(a != (A)0 && b != (A)0);
    default:
        return plus(a, b);
    }
}

template <class A> VS_GPU static A element(const job &j, int64_t from, int64_t i)
{
    return cuda_get<A>(j.x, from + cuda_place_in(j.x, j.x, j.gone, i));
}

VS_GPU static double finish(const job &j, double a)
{
    if (j.op == ENG_R_MEAN)
        return a / (double)j.n;
    return j.op == ENG_R_NORM2 ? sqrt(a) : a;
}
VS_GPU static int64_t finish(const job &, int64_t a)
{
    return a;
}

/* Reduces elements [begin, end) of output o, without the final step. */
template <class A, class Team>
VS_GPU static A partial(const job &j, Team &team, int64_t from, int64_t begin, int64_t end)
{
    return team.fold(
        end - begin, neutral(j.op, (A)0),
        [&](int64_t i) {
            A v = element<A>(j, from, begin + i);

            return j.op == ENG_R_NORM2 ? times(v, v) : v;
        },
        [&](A a, A b) { return join_two<A>(j.op, a, b); });
}

/* Reductions that need two passes over the elements. */
template <class Team> VS_GPU static double two_passes(const job &j, Team &team, int64_t from)
{
    auto add = [](double a, double b) { return a + b; };

    if (j.op == ENG_R_LOGSUMEXP) {
        double max = team.fold(
            j.n, (double)-INFINITY, [&](int64_t i) { return element<double>(j, from, i); },
            [](double a, double b) { return a != a || a > b ? a : b; });
        double base = fabs(max) == INFINITY ? 0.0 : max;

        return log(team.fold(
                   j.n, 0.0, [&](int64_t i) { return exp(element<double>(j, from, i) - base); },
                   add)) +
               base;
    }
    double mean = team.fold(
                      j.n, 0.0, [&](int64_t i) { return element<double>(j, from, i); }, add) /
                  (double)j.n;
    double sq = team.fold(
        j.n, 0.0,
        [&](int64_t i) {
            double d = element<double>(j, from, i) - mean;

            return d * d;
        },
        add);

    sq /= fmax((double)j.n - j.p0, 0.0);
    return j.op == ENG_R_STD ? sqrt(sq) : sq;
}

VS_GPU static bool takes_two(int op)
{
    return op == ENG_R_VAR || op == ENG_R_STD || op == ENG_R_LOGSUMEXP;
}

template <class A, class Team> VS_GPU static void one_output(const job &j, Team &team, int64_t o)
{
    int64_t from = cuda_place_in(j.x, j.x, j.kept, o);
    A all = takes_two(j.op) ? (A)two_passes(j, team, from)
                            : finish(j, partial<A>(j, team, from, 0, j.n));

    cuda_put<A>(j.out, cuda_place_in(j.x, j.out, j.kept, o), all);
}

template <class A> static void run_pieces(const job &j, int64_t outputs, int64_t pieces)
{
    A *parts = (A *)cuda_scratch((uint64_t)(outputs * pieces) * sizeof(A));
    int64_t size = (j.n + pieces - 1) / pieces;

    cuda_lines(
        outputs * pieces, VS_BODY(int64_t line, cuda_team & team) {
            int64_t begin = line % pieces * size;
            int64_t end = begin + size < j.n ? begin + size : j.n;
            int64_t from = cuda_place_in(j.x, j.x, j.kept, line / pieces);
            A part = partial<A>(j, team, from, begin, end);

            parts[line] = part;
        });
    cuda_lines(
        outputs, VS_BODY(int64_t o, cuda_team & team) {
            A all = team.fold(
                pieces, neutral(j.op, (A)0), [&](int64_t i) { return parts[o * pieces + i]; },
                [&](A a, A b) { return join_two<A>(j.op, a, b); });

            cuda_put<A>(j.out, cuda_place_in(j.x, j.out, j.kept, o), finish(j, all));
        });
}

/* Whether the outputs are contiguous in memory and the elements of each output far apart. */
static bool is_columns(const job &j, int64_t outputs)
{
    int last = j.x.ndim - 1;

    return (j.op == ENG_R_SUM || j.op == ENG_R_MEAN) && j.x.data && last > 0 &&
           (j.kept >> last & 1u) && j.x.strides[last] == 1 && j.x.sizes[last] >= WARP &&
           outputs >= ENG_REDUCE_FEW;
}

/* Sums a column of a piece of rows in float (in double for f64); the pieces are added in double. */
template <class T, class E> static void run_columns(const job &j, int64_t outputs)
{
    cuda_column_sums<T>(
        j.n, outputs,
        VS_BODY(int64_t row, int64_t col) {
            int64_t at =
                cuda_place_in(j.x, j.x, j.gone, row) + cuda_place_in(j.x, j.x, j.kept, col);
            cuda_pair<T> p = {E::template get<T>(j.x, at), 0};

            return p;
        },
        VS_BODY(int64_t col, cuda_pair<double> sum) {
            cuda_put<double>(j.out, cuda_place_in(j.x, j.out, j.kept, col), finish(j, sum.a));
        });
}

template <class A> static void run(const job &j, int64_t outputs)
{
    int64_t pieces = eng_workspace_reduce_pieces(j.op, outputs, j.n);

    if (j.n <= ENG_REDUCE_ALONE) {
        cuda_each(
            outputs, VS_BODY(int64_t o) {
                alone me;

                one_output<A>(j, me, o);
            });
    } else if (pieces) {
        run_pieces<A>(j, outputs, pieces);
    } else if (j.n <= SHORT_LINE) {
        cuda_teams<WARP>(
            outputs, VS_BODY(int64_t o, cuda_warp & team) { one_output<A>(j, team, o); });
    } else {
        cuda_lines(
            outputs, VS_BODY(int64_t o, cuda_team & team) { one_output<A>(j, team, o); });
    }
}

void cuda_reduce(enum eng_reduce op, const struct eng_view *x, const struct eng_view *out,
                 uint32_t dims, const double *p)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->reduce(op, x, out, dims, p);
        return;
    }
    cuda_call call;
    job j;

    j.x = call.in(x, true);
    j.out = call.out(out, true);
    /* an empty view has only sizes, and a number on the host needs no iteration */
    for (int d = 0; d < x->ndim; d++)
        j.x.sizes[d] = x->sizes[d];
    j.x.ndim = (int8_t)x->ndim;
    j.gone = dims & ((1u << x->ndim) - 1u);
    j.kept = ~dims & ((1u << x->ndim) - 1u);
    j.n = cuda_count(x, j.gone);
    j.op = (int)op;
    j.p0 = (op == ENG_R_VAR || op == ENG_R_STD) && p ? p[0] : 0.0;
    if (cuda_numel(out) == 0)
        return;
    if (vs_dtype_is_floating(x->dtype) && j.n > ENG_REDUCE_ALONE && is_columns(j, cuda_numel(out)))
        CUDA_FOR_CELL(x->dtype, cuda_kind_of(x->dtype), (run_columns<T, E>(j, cuda_numel(out))))
    else if (vs_dtype_is_floating(x->dtype) || vs_dtype_is_floating(out->dtype))
        run<double>(j, cuda_numel(out));
    else
        run<int64_t>(j, cuda_numel(out));
}
