/*
 * engine/device/cuda/kernels_batch_norm.cu - batch normalisation and its gradients.
 *
 * For:            the table.
 * Must not know:  modules.
 * Invariant:      statistics of a piece are computed in two passes (mean, then squares of differences); those of
 *                 several pieces are combined in double.
 *
 * x is [N,C,L]. The N*L elements of a channel are divided into pieces, so that few large channels also use all
 * multiprocessors: one launch computes the statistics of pieces, the next one combines those of each channel and
 * writes the result. If a channel is one piece, one launch does both. Channels-last images are a matrix of N*L rows
 * and use cuda_columns.cuh. Statistics of pieces are stored in the device's own buffer, at most 2 MiB.
 */
#include "engine/device/cuda/cuda_columns.cuh"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

enum { PIECE = 8192 }; /* elements of a piece, at least */

struct channels {
    cuda_view x, g, out, w, b, mean, invstd, running_mean, running_var, gw, gb;
    int64_t count; /* number of channels */
    int64_t n;     /* elements of each channel */
    int64_t pieces, size;
    cuda_divisor length;
    double momentum, eps;
    bool train;
};

VS_GPU static int64_t place(const channels &j, const cuda_view &v, int64_t c, int64_t i)
{
    int64_t sample = cuda_divide(j.length, i);

    return sample * v.strides[0] + c * v.strides[1] + (i - sample * j.length.by) * v.strides[2];
}

template <class T> VS_GPU static T vec(const cuda_view &v, int64_t i, T absent)
{
    return v.ndim >= 0 ? cuda_get<T>(v, i * v.strides[0]) : absent;
}

/* Elements [begin, end) of a channel. */
struct piece {
    int64_t c, begin, n;
};

VS_GPU static piece piece_of(const channels &j, int64_t line)
{
    piece p = {line / j.pieces, line % j.pieces * j.size, 0};

    p.n = p.begin + j.size < j.n ? j.size : j.n - p.begin;
    return p;
}

/* Mean, and sum of squared differences from it. */
typedef cuda_pair<double> mean_sq;

template <class T, class E>
VS_GPU static mean_sq measure(const channels &j, cuda_team &team, const piece &p)
{
    auto add = [](T a, T b) { return a + b; };
    T mean =
        team.fold(
            p.n, (T)0,
            [&](int64_t i) { return E::template get<T>(j.x, place(j, j.x, p.c, p.begin + i)); },
            add) /
        (T)p.n;
    T sq = team.fold(
        p.n, (T)0,
        [&](int64_t i) {
            T d = E::template get<T>(j.x, place(j, j.x, p.c, p.begin + i)) - mean;

            return d * d;
        },
        add);
    mean_sq m = {(double)mean, (double)sq};

    return m;
}

/*
 * Combines the pieces of channel c; the statistics of piece k are at parts[k*step + offset], and it has size(k)
 * elements.
 */
template <class Team>
VS_GPU static mean_sq join(Team &team, const mean_sq *parts, int64_t step, int64_t pieces,
                           int64_t size, int64_t n)
{
    auto count = [&](int64_t k) { return (double)(k * size + size < n ? size : n - k * size); };
    mean_sq all;

    all.a = team.sum(pieces, [&](int64_t k) { return count(k) * parts[k * step].a; }) / (double)n;
    all.b = team.sum(pieces, [&](int64_t k) {
        double d = parts[k * step].a - all.a;

        return parts[k * step].b + count(k) * d * d;
    });
    return all;
}

/* Stores the statistics of a channel. */
VS_GPU static void keep(const channels &j, int64_t c, const mean_sq &m)
{
    double n = (double)j.n;

    cuda_put<double>(j.mean, c * j.mean.strides[0], m.a);
    cuda_put<double>(j.invstd, c * j.invstd.strides[0], 1.0 / sqrt(m.b / n + j.eps));
    if (j.running_mean.data)
        cuda_put<double>(j.running_mean, c * j.running_mean.strides[0],
                         (1.0 - j.momentum) * vec(j.running_mean, c, 0.0) + j.momentum * m.a);
    if (j.running_var.data)
        cuda_put<double>(j.running_var, c * j.running_var.strides[0],
                         (1.0 - j.momentum) * vec(j.running_var, c, 0.0) +
                             j.momentum * m.b / (n - 1.0));
}

template <class T> struct line_of {
    T mean, slope, shift; /* y = (x - mean)*slope + shift */
};

template <class T>
VS_GPU static line_of<T> line_through(const channels &j, int64_t c, double mean, double invstd)
{
    line_of<T> l = {(T)mean, (T)(invstd * vec(j.w, c, 1.0)), vec<T>(j.b, c, 0)};

    return l;
}

template <class T, class E>
VS_GPU static void apply(const channels &j, cuda_team &team, const piece &p, const line_of<T> &l)
{
    team.each(p.n, [&](int64_t i) {
        T x = E::template get<T>(j.x, place(j, j.x, p.c, p.begin + i));

        E::template put<T>(j.out, place(j, j.out, p.c, p.begin + i),
                           (x - l.mean) * l.slope + l.shift);
    });
}

template <class T, class E> static void train_pieces(const channels &j)
{
    mean_sq *parts = NULL;

    if (j.pieces > 1) {
        parts = (mean_sq *)cuda_stage((uint64_t)(j.count * j.pieces) * sizeof(mean_sq));
        cuda_lines(
            j.count * j.pieces, VS_BODY(int64_t line, cuda_team & team) {
                mean_sq m = measure<T, E>(j, team, piece_of(j, line));

                team.each(1, [&](int64_t) { parts[line] = m; });
            });
    }
    cuda_lines(
        j.count * j.pieces, VS_BODY(int64_t line, cuda_team & team) {
            piece p = piece_of(j, line);
            mean_sq m = parts ? join(team, parts + p.c * j.pieces, 1, j.pieces, j.size, j.n)
                              : measure<T, E>(j, team, p);

            if (p.begin == 0)
                team.each(1, [&](int64_t) { keep(j, p.c, m); });
            apply<T, E>(j, team, p,
                        line_through<T>(j, p.c, m.a, 1.0 / sqrt(m.b / (double)j.n + j.eps)));
        });
}

/* Calls f(c, row) for all elements, channels fastest. */
template <class F> static void each_across(const channels &j, F f)
{
    int64_t count = j.count;

    cuda_each(
        j.count * j.n, VS_BODY(int64_t i) { f(i % count, i / count); });
}

template <class T, class E> static void apply_across(const channels &j)
{
    each_across(
        j, VS_BODY(int64_t c, int64_t r) {
            double invstd =
                j.train ? vec(j.invstd, c, 1.0) : 1.0 / sqrt(vec(j.running_var, c, 1.0) + j.eps);
            line_of<T> l =
                line_through<T>(j, c, vec(j.train ? j.mean : j.running_mean, c, 0.0), invstd);
            T x = E::template get<T>(j.x, place(j, j.x, c, r));

            E::template put<T>(j.out, place(j, j.out, c, r), (x - l.mean) * l.slope + l.shift);
        });
}

/* One thread sums a column of a piece of rows. */
template <class T, class E> static void train_across(const channels &j)
{
    int64_t size = cuda_column_rows(j.n, j.count, sizeof(mean_sq));
    int64_t pieces = (j.n + size - 1) / size;
    mean_sq *parts = (mean_sq *)cuda_stage((uint64_t)(j.count * pieces) * sizeof(mean_sq));

    cuda_each(
        j.count * pieces, VS_BODY(int64_t i) {
            int64_t c = i % j.count;
            int64_t k = i / j.count;
            int64_t begin = k * size;
            int64_t end = begin + size < j.n ? begin + size : j.n;
            T mean = 0;
            T sq = 0;

            for (int64_t r = begin; r < end; r++)
                mean += E::template get<T>(j.x, place(j, j.x, c, r));
            mean /= (T)(end - begin);
            for (int64_t r = begin; r < end; r++) {
                T d = E::template get<T>(j.x, place(j, j.x, c, r)) - mean;

                sq += d * d;
            }
            parts[k * j.count + c].a = (double)mean;
            parts[k * j.count + c].b = (double)sq;
        });
    cuda_teams<WARP>(
        j.count, VS_BODY(int64_t c, cuda_warp & team) {
            mean_sq m = join(team, parts + c, j.count, pieces, size, j.n);

            team.each(1, [&](int64_t) { keep(j, c, m); });
        });
    apply_across<T, E>(j);
}

template <class T, class E> static void run_train(const channels &j, bool across)
{
    if (across)
        train_across<T, E>(j);
    else
        train_pieces<T, E>(j);
}

template <class T, class E> static void run_eval(const channels &j, bool across)
{
    if (across) {
        apply_across<T, E>(j);
        return;
    }
    cuda_lines(
        j.count * j.pieces, VS_BODY(int64_t line, cuda_team & team) {
            piece p = piece_of(j, line);

            apply<T, E>(j, team, p,
                        line_through<T>(j, p.c, vec(j.running_mean, p.c, 0.0),
                                        1.0 / sqrt(vec(j.running_var, p.c, 1.0) + j.eps)));
        });
}

/* ---- gradients ---- */

/* The gradient of an element, and the gradient times the normalised value. */
template <class T, class E>
VS_GPU static cuda_pair<T> terms(const channels &j, int64_t c, int64_t i, T mean, T invstd)
{
    T g = E::template get<T>(j.g, place(j, j.g, c, i));
    cuda_pair<T> p = {g, g * ((E::template get<T>(j.x, place(j, j.x, c, i)) - mean) * invstd)};

    return p;
}

VS_GPU static void keep_sums(const channels &j, int64_t c, const cuda_pair<double> &sum)
{
    if (j.gb.data)
        cuda_put<double>(j.gb, c * j.gb.strides[0], sum.a);
    if (j.gw.data)
        cuda_put<double>(j.gw, c * j.gw.strides[0], sum.b);
}

/* gx = w*invstd*(g - sum.a/n - normalised*sum.b/n); if the statistics are constants, w*invstd*g. */
template <class T, class E>
VS_GPU static void gradient(const channels &j, int64_t c, int64_t i, T mean, T invstd, T scale,
                            T shift, T slope)
{
    cuda_pair<T> p = terms<T, E>(j, c, i, mean, invstd);

    if (j.train)
        p.a -= shift + (E::template get<T>(j.x, place(j, j.x, c, i)) - mean) * invstd * slope;
    E::template put<T>(j.out, place(j, j.out, c, i), p.a * scale);
}

template <class T, class E>
VS_GPU static cuda_pair<T> sum_piece(const channels &j, cuda_team &team, const piece &p)
{
    T mean = vec<T>(j.mean, p.c, 0);
    T invstd = vec<T>(j.invstd, p.c, 1);
    cuda_pair<T> none = {0, 0};

    return team.fold(
        p.n, none, [&](int64_t i) { return terms<T, E>(j, p.c, p.begin + i, mean, invstd); },
        [](cuda_pair<T> a, cuda_pair<T> b) { return cuda_add_pairs(a, b); });
}

template <class T>
VS_GPU static cuda_pair<double> sum_parts(cuda_team &team, const cuda_pair<T> *parts, int64_t n)
{
    cuda_pair<double> none = {0, 0};

    return team.fold(
        n, none,
        [&](int64_t k) {
            cuda_pair<double> wide = {(double)parts[k].a, (double)parts[k].b};

            return wide;
        },
        [](cuda_pair<double> a, cuda_pair<double> b) { return cuda_add_pairs(a, b); });
}

template <class T, class E> static void backward_pieces(const channels &j)
{
    cuda_pair<T> *parts = NULL;

    if (j.pieces > 1) {
        parts = (cuda_pair<T> *)cuda_stage((uint64_t)(j.count * j.pieces) * sizeof(cuda_pair<T>));
        cuda_lines(
            j.count * j.pieces, VS_BODY(int64_t line, cuda_team & team) {
                cuda_pair<T> sum = sum_piece<T, E>(j, team, piece_of(j, line));

                team.each(1, [&](int64_t) { parts[line] = sum; });
            });
    }
    cuda_lines(
        j.count * j.pieces, VS_BODY(int64_t line, cuda_team & team) {
            piece p = piece_of(j, line);
            T mean = vec<T>(j.mean, p.c, 0);
            T invstd = vec<T>(j.invstd, p.c, 1);
            T scale = invstd * vec<T>(j.w, p.c, 1);
            cuda_pair<double> sum;

            if (parts) {
                sum = sum_parts<T>(team, parts + p.c * j.pieces, j.pieces);
            } else {
                cuda_pair<T> own = sum_piece<T, E>(j, team, p);

                sum.a = (double)own.a;
                sum.b = (double)own.b;
            }
            T shift = (T)(sum.a / (double)j.n);
            T slope = (T)(sum.b / (double)j.n);

            if (p.begin == 0)
                team.each(1, [&](int64_t) { keep_sums(j, p.c, sum); });
            if (j.out.data)
                team.each(p.n, [&](int64_t i) {
                    gradient<T, E>(j, p.c, p.begin + i, mean, invstd, scale, shift, slope);
                });
        });
}

template <class T, class E> static void backward_across(const channels &j)
{
    cuda_pair<double> *sums =
        (cuda_pair<double> *)cuda_stage((uint64_t)j.count * sizeof(cuda_pair<double>));

    cuda_column_sums<T>(
        j.n, j.count,
        VS_BODY(int64_t r, int64_t c) {
            return terms<T, E>(j, c, r, vec<T>(j.mean, c, 0), vec<T>(j.invstd, c, 1));
        },
        VS_BODY(int64_t c, cuda_pair<double> sum) {
            sums[c] = sum;
            keep_sums(j, c, sum);
        });
    if (!j.out.data)
        return;
    each_across(
        j, VS_BODY(int64_t c, int64_t r) {
            T invstd = vec<T>(j.invstd, c, 1);

            gradient<T, E>(j, c, r, vec<T>(j.mean, c, 0), invstd, invstd * vec<T>(j.w, c, 1),
                           (T)(sums[c].a / (double)j.n), (T)(sums[c].b / (double)j.n));
        });
}

template <class T, class E> static void run_backward(const channels &j, bool across)
{
    if (across)
        backward_across<T, E>(j);
    else
        backward_pieces<T, E>(j);
}

/* ---- entries of the table ---- */

/* Absent views have -1 dims; the caller sets the views that it has. */
static channels channels_of(cuda_call &call, const struct eng_view *x)
{
    channels j;

    j.x = call.in(x, true);
    j.g = j.out = j.w = j.b = j.mean = j.invstd = call.in(NULL);
    j.running_mean = j.running_var = j.gw = j.gb = j.g;
    j.count = x->sizes[1];
    j.n = x->sizes[0] * x->sizes[2];
    j.length = cuda_divisor_of(x->sizes[2]);
    j.pieces = (j.n + PIECE - 1) / PIECE;
    if (j.pieces > COLUMN_BYTES / (j.count * (int64_t)sizeof(mean_sq)))
        j.pieces = COLUMN_BYTES / (j.count * (int64_t)sizeof(mean_sq));
    j.pieces = j.pieces < 1 ? 1 : j.pieces;
    j.size = (j.n + j.pieces - 1) / j.pieces;
    j.pieces = j.size > 0 ? (j.n + j.size - 1) / j.size : 1;
    j.momentum = j.eps = 0.0;
    j.train = true;
    return j;
}

/* Whether neighbouring elements belong to different channels (channels-last). */
static bool is_across(const cuda_view &v)
{
    return v.ndim == 3 && v.sizes[1] >= WARP && v.strides[1] == 1 && v.strides[2] != 1;
}

void cuda_batch_norm_train(const struct eng_view *x, const struct eng_view *w,
                           const struct eng_view *b, const struct eng_view *running_mean,
                           const struct eng_view *running_var, double momentum, double eps,
                           const struct eng_view *out, const struct eng_view *save_mean,
                           const struct eng_view *save_invstd)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->batch_norm_train(x, w, b, running_mean, running_var, momentum, eps, out,
                                      save_mean, save_invstd);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    cuda_call call;
    channels j = channels_of(call, x);
    const cuda_view *same[] = {&j.x, &j.out};

    j.w = call.in(w, true);
    j.b = call.in(b, true);
    j.running_mean = call.out(running_mean, true);
    j.running_var = call.out(running_var, true);
    j.out = call.out(out, true);
    j.mean = call.out(save_mean, true);
    j.invstd = call.out(save_invstd, true);
    j.momentum = momentum;
    j.eps = eps;
    CUDA_FOR_CELL(cuda_common(same, 2), cuda_kind_of(x->dtype),
                  (run_train<T, E>(j, is_across(j.x))));
}

void cuda_batch_norm_eval(const struct eng_view *x, const struct eng_view *w,
                          const struct eng_view *b, const struct eng_view *running_mean,
                          const struct eng_view *running_var, double eps,
                          const struct eng_view *out)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->batch_norm_eval(x, w, b, running_mean, running_var, eps, out);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    cuda_call call;
    channels j = channels_of(call, x);
    const cuda_view *same[] = {&j.x, &j.out};

    j.w = call.in(w, true);
    j.b = call.in(b, true);
    j.running_mean = call.in(running_mean, true);
    j.running_var = call.in(running_var, true);
    j.out = call.out(out, true);
    j.eps = eps;
    j.train = false;
    CUDA_FOR_CELL(cuda_common(same, 2), cuda_kind_of(x->dtype),
                  (run_eval<T, E>(j, is_across(j.x))));
}

void cuda_batch_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *invstd, bool train, const struct eng_view *gx,
                              const struct eng_view *gw, const struct eng_view *gb)
{
    if (cuda_all_host(g, x)) {
        cuda_host()->batch_norm_backward(g, x, w, mean, invstd, train, gx, gw, gb);
        return;
    }
    if (x->sizes[1] == 0) /* pieces are counted for each channel */
        return;
    cuda_call call;
    channels j = channels_of(call, x);
    const cuda_view *same[] = {&j.x, &j.g, &j.out};

    j.g = call.in(g, true);
    j.w = call.in(w, true);
    j.mean = call.in(mean, true);
    j.invstd = call.in(invstd, true);
    j.out = call.out(gx, true);
    j.gw = call.out(gw, true);
    j.gb = call.out(gb, true);
    j.train = train;
    CUDA_FOR_CELL(cuda_common(same, 3), cuda_kind_of(x->dtype),
                  (run_backward<T, E>(j, is_across(j.x))));
}
