/*
 * engine/device/cuda/kernels_norm.cu - group, layer and RMS normalisation and their gradients; batch normalisation is
 * in kernels_batch_norm.cu.
 *
 * For:            the table.
 * Must not know:  modules.
 * Invariant:      statistics are computed in two passes (mean, then squares of differences), in double.
 *
 * All use one formula over sets of elements: y = (x - mean)*rstd*w + b. One team processes a set: a channel, a group
 * of one sample, or a row.
 */
#include "engine/device/cuda/cuda_columns.cuh"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

/* x as [N,C,L]; a set is channels [c0, c0+channels) of sample n, or of all samples where n is -1. */
struct sets {
    cuda_view x;
    int64_t samples, channels, length;
};

struct set {
    int64_t n, c0, channels, count;
};

VS_GPU static set channel_set(const sets &s, int64_t c)
{
    set t = {-1, c, 1, s.samples * s.length};

    return t;
}

VS_GPU static set group_set(const sets &s, int64_t line, int64_t groups)
{
    int64_t channels = s.channels / groups;
    set t = {line / groups, line % groups * channels, channels, channels * s.length};

    return t;
}

/* Element i of a set: its sample, its channel and its offset in v. */
struct spot {
    int64_t n, c, l;
};

VS_GPU static spot spot_of(const sets &s, const set &t, int64_t i)
{
    spot p;

    p.l = i % s.length;
    p.c = t.c0 + i / s.length % t.channels;
    p.n = t.n >= 0 ? t.n : i / s.length / t.channels;
    return p;
}

VS_GPU static int64_t at(const cuda_view &v, const spot &p)
{
    return p.n * v.strides[0] + p.c * v.strides[1] + p.l * v.strides[2];
}

/* Element i of a vector, or `absent` if there is no vector. */
template <class T> VS_GPU static T vec(const cuda_view &v, int64_t i, T absent)
{
    return v.ndim >= 0 ? cuda_get<T>(v, i * v.strides[0]) : absent;
}

VS_GPU static double read(const cuda_view &v, const spot &p)
{
    return cuda_get<double>(v, at(v, p));
}

struct mean_sq {
    double mean, sq; /* sq: the sum of squared differences */
};

VS_GPU static mean_sq measure(cuda_team &team, const sets &s, const set &t)
{
    mean_sq m;
    double mean =
        team.sum(t.count, [&](int64_t i) { return read(s.x, spot_of(s, t, i)); }) / (double)t.count;

    m.mean = mean;
    m.sq = team.sum(t.count, [&](int64_t i) {
        double d = read(s.x, spot_of(s, t, i)) - mean;

        return d * d;
    });
    return m;
}

/* out = (x - mean)*rstd*w + b over a set, in T. */
template <class T>
VS_GPU static void apply(cuda_team &team, const sets &s, const set &t, const cuda_view &out,
                         const cuda_view &w, const cuda_view &b, double mean, double rstd)
{
    team.each(t.count, [&](int64_t i) {
        spot p = spot_of(s, t, i);
        double a = rstd * vec(w, p.c, 1.0);
        double c = vec(b, p.c, 0.0) - mean * a;

        cuda_put<T>(out, at(out, p), (T)(read(s.x, p) * a + c));
    });
}

static sets sets_of(cuda_call &call, const struct eng_view *x)
{
    sets s;

    s.x = call.in(x, true);
    s.samples = x->sizes[0];
    s.channels = x->sizes[1];
    s.length = x->sizes[2];
    return s;
}

/*
 * gx over a set whose parameters depend on the channel: (g*w - gsum/count - (x-mean)*rstd^2*gdot/count) * rstd, where
 * gsum is the sum of g*w and gdot that of g*w*(x-mean); if the statistics are not those of the batch, g*w*rstd.
 */
template <class T>
VS_GPU static void apply_backward(cuda_team &team, const sets &s, const set &t, const cuda_view &g,
                                  const cuda_view &w, const cuda_view &gx, double mean, double rstd,
                                  double gsum, double gdot, bool train)
{
    double shift = train ? gsum / (double)t.count : 0.0;
    double slope = train ? gdot * rstd * rstd / (double)t.count : 0.0;

    team.each(t.count, [&](int64_t i) {
        spot p = spot_of(s, t, i);
        double v = read(g, p) * vec(w, p.c, 1.0) - shift - (read(s.x, p) - mean) * slope;

        cuda_put<T>(gx, at(gx, p), (T)(v * rstd));
    });
}

VS_GPU static int64_t at2(const cuda_view &v, int64_t n, int64_t group)
{
    return n * v.strides[0] + group * v.strides[1];
}

template <class T>
static void run_gn(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                   int64_t groups, double eps, const struct eng_view *out,
                   const struct eng_view *mean, const struct eng_view *rstd)
{
    cuda_call call;
    sets s = sets_of(call, x);
    cuda_view vw = call.in(w, true), vb = call.in(b, true), vo = call.out(out, true);
    cuda_view vm = call.out(mean, true), vr = call.out(rstd, true);

    cuda_lines(
        s.samples * groups, VS_BODY(int64_t line, cuda_team & team) {
            set t = group_set(s, line, groups);
            mean_sq m = measure(team, s, t);
            double r = 1.0 / sqrt(m.sq / (double)t.count + eps);

            team.each(1, [&](int64_t) {
                cuda_put<double>(vm, at2(vm, line / groups, line % groups), m.mean);
                cuda_put<double>(vr, at2(vr, line / groups, line % groups), r);
            });
            apply<T>(team, s, t, vo, vw, vb, m.mean, r);
        });
}

void cuda_group_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                     int64_t groups, double eps, const struct eng_view *out,
                     const struct eng_view *mean, const struct eng_view *rstd)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->group_norm(x, w, b, groups, eps, out, mean, rstd);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype), run_gn<T>(x, w, b, groups, eps, out, mean, rstd));
}

template <class T>
static void run_gn_backward(const struct eng_view *g, const struct eng_view *x,
                            const struct eng_view *w, const struct eng_view *mean,
                            const struct eng_view *rstd, int64_t groups, const struct eng_view *gx,
                            const struct eng_view *gw, const struct eng_view *gb)
{
    cuda_call call;
    sets s = sets_of(call, x);
    cuda_view vg = call.in(g, true), vw = call.in(w, true);
    cuda_view vm = call.in(mean, true), vr = call.in(rstd, true);
    cuda_view ox = call.out(gx, true), ow = call.out(gw, true), ob = call.out(gb, true);

    if (ox.data)
        cuda_lines(
            s.samples * groups, VS_BODY(int64_t line, cuda_team & team) {
                set t = group_set(s, line, groups);
                double m = cuda_get<double>(vm, at2(vm, line / groups, line % groups));
                double r = cuda_get<double>(vr, at2(vr, line / groups, line % groups));
                double sum = team.sum(t.count, [&](int64_t i) {
                    spot p = spot_of(s, t, i);

                    return read(vg, p) * vec(vw, p.c, 1.0);
                });
                double dot = team.sum(t.count, [&](int64_t i) {
                    spot p = spot_of(s, t, i);

                    return read(vg, p) * vec(vw, p.c, 1.0) * (read(s.x, p) - m);
                });

                apply_backward<T>(team, s, t, vg, vw, ox, m, r, sum, dot, true);
            });
    if (!ow.data && !ob.data)
        return;
    cuda_lines(
        s.channels, VS_BODY(int64_t c, cuda_team & team) {
            set t = channel_set(s, c);
            int64_t group = c / (s.channels / groups);
            double sum = team.sum(t.count, [&](int64_t i) { return read(vg, spot_of(s, t, i)); });
            double dot = team.sum(t.count, [&](int64_t i) {
                spot p = spot_of(s, t, i);
                double d = read(s.x, p) - cuda_get<double>(vm, at2(vm, p.n, group));

                return read(vg, p) * d * cuda_get<double>(vr, at2(vr, p.n, group));
            });

            team.each(1, [&](int64_t) {
                if (ow.data)
                    cuda_put<double>(ow, c * ow.strides[0], dot);
                if (ob.data)
                    cuda_put<double>(ob, c * ob.strides[0], sum);
            });
        });
}

void cuda_group_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *rstd, int64_t groups,
                              const struct eng_view *gx, const struct eng_view *gw,
                              const struct eng_view *gb)
{
    if (cuda_all_host(g, x)) {
        cuda_host()->group_norm_backward(g, x, w, mean, rstd, groups, gx, gw, gb);
        return;
    }
    CUDA_FOR_REAL(cuda_kind_of(x->dtype),
                  run_gn_backward<T>(g, x, w, mean, rstd, groups, gx, gw, gb));
}

/* Rows of [M,N]. Without means (RMS) they count as 0. */
struct rows {
    cuda_view x, g, w, b, mean, rstd, out, gw, gb;
    int64_t m, n;
    bool has_mean;
};

VS_GPU static int64_t in_row(const cuda_view &v, int64_t r, int64_t i)
{
    return r * v.strides[0] + i * v.strides[1];
}

/*
 * Sums of a row are in T: each thread adds at most n/N elements, then the threads' sums are added.
 */
template <class T, class E, int N> static void run_rows(const rows &s, double eps)
{
    cuda_teams<N>(
        s.m, VS_BODY(int64_t r, cuda_team_of<N> & team) {
            auto add = [](T a, T b) { return a + b; };
            T n = (T)s.n;
            T mean = 0;
            T sq, rstd;

            if (s.has_mean)
                mean = team.fold(
                           s.n, (T)0,
                           [&](int64_t i) { return E::template get<T>(s.x, in_row(s.x, r, i)); },
                           add) /
                       n;
            sq = team.fold(
                s.n, (T)0,
                [&](int64_t i) {
                    T d = E::template get<T>(s.x, in_row(s.x, r, i)) - mean;

                    return d * d;
                },
                add);
            rstd = (T)1 / (T)sqrt(sq / n + (T)eps);
            team.each(1, [&](int64_t) {
                if (s.has_mean)
                    cuda_put<T>(s.mean, r * s.mean.strides[0], mean);
                cuda_put<T>(s.rstd, r * s.rstd.strides[0], rstd);
            });
            team.each(s.n, [&](int64_t i) {
                T y = (E::template get<T>(s.x, in_row(s.x, r, i)) - mean) * rstd;

                E::template put<T>(s.out, in_row(s.out, r, i),
                                   y * vec<T>(s.w, i, 1) + vec<T>(s.b, i, 0));
            });
        });
}

template <class T, class E, int N> static void run_rows_backward(const rows &s)
{
    cuda_teams<N>(
        s.m, VS_BODY(int64_t r, cuda_team_of<N> & team) {
            T mean = s.has_mean ? vec<T>(s.mean, r, 0) : (T)0;
            T rstd = vec<T>(s.rstd, r, 1);
            cuda_pair<T> none = {0, 0};
            cuda_pair<T> sum = team.fold(
                s.n, none,
                [&](int64_t i) {
                    T v = E::template get<T>(s.g, in_row(s.g, r, i)) * vec<T>(s.w, i, 1);
                    T d = (E::template get<T>(s.x, in_row(s.x, r, i)) - mean) * rstd;
                    cuda_pair<T> p = {v, v * d};

                    return p;
                },
                [](cuda_pair<T> a, cuda_pair<T> b) { return cuda_add_pairs(a, b); });
            T shift = s.has_mean ? sum.a / (T)s.n : (T)0;
            T slope = sum.b / (T)s.n;

            team.each(s.n, [&](int64_t i) {
                T v = E::template get<T>(s.g, in_row(s.g, r, i)) * vec<T>(s.w, i, 1);
                T d = (E::template get<T>(s.x, in_row(s.x, r, i)) - mean) * rstd;

                E::template put<T>(s.out, in_row(s.out, r, i), (v - shift - d * slope) * rstd);
            });
        });
}

/* gw and gb: sums over rows. */
template <class T, class E> static void run_rows_weights(const rows &s)
{
    cuda_column_sums<T>(
        s.m, s.n,
        VS_BODY(int64_t r, int64_t c) {
            T mean = s.has_mean ? vec<T>(s.mean, r, 0) : (T)0;
            T g = E::template get<T>(s.g, in_row(s.g, r, c));
            T d = (E::template get<T>(s.x, in_row(s.x, r, c)) - mean) * vec<T>(s.rstd, r, 1);
            cuda_pair<T> p = {g * d, g};

            return p;
        },
        VS_BODY(int64_t c, cuda_pair<double> sum) {
            if (s.gw.data)
                cuda_put<double>(s.gw, c * s.gw.strides[0], sum.a);
            if (s.gb.data)
                cuda_put<double>(s.gb, c * s.gb.strides[0], sum.b);
        });
}

template <class T, class E> static void run_rows_all(const rows &s, double eps, bool backward)
{
    if (!backward && s.n <= SHORT_LINE)
        run_rows<T, E, WARP>(s, eps);
    else if (!backward)
        run_rows<T, E, TEAM>(s, eps);
    else if (s.out.data && s.n <= SHORT_LINE)
        run_rows_backward<T, E, WARP>(s);
    else if (s.out.data)
        run_rows_backward<T, E, TEAM>(s);
    if (backward && (s.gw.data || s.gb.data))
        run_rows_weights<T, E>(s);
}

static void forward_rows(const struct eng_view *x, const struct eng_view *w,
                         const struct eng_view *b, double eps, const struct eng_view *out,
                         const struct eng_view *mean, const struct eng_view *rstd)
{
    cuda_call call;
    rows s;

    if (cuda_numel(x) == 0)
        return;
    s.x = call.in(x, true);
    s.g = call.in(NULL);
    s.w = call.in(w, true);
    s.b = call.in(b, true);
    s.mean = call.out(mean, true);
    s.rstd = call.out(rstd, true);
    s.out = call.out(out, true);
    s.gw = s.gb = s.g;
    s.m = x->sizes[0];
    s.n = x->sizes[1];
    s.has_mean = mean != NULL;
    const cuda_view *same[] = {&s.x, &s.out};

    CUDA_FOR_CELL(cuda_common(same, 2), cuda_kind_of(x->dtype),
                  (run_rows_all<T, E>(s, eps, false)));
}

static void backward_rows(const struct eng_view *g, const struct eng_view *x,
                          const struct eng_view *w, const struct eng_view *mean,
                          const struct eng_view *rstd, const struct eng_view *gx,
                          const struct eng_view *gw, const struct eng_view *gb)
{
    cuda_call call;
    rows s;

    s.x = call.in(x, true);
    s.g = call.in(g, true);
    s.w = call.in(w, true);
    s.b = call.in(NULL);
    s.mean = call.in(mean, true);
    s.rstd = call.in(rstd, true);
    s.out = call.out(gx, true);
    s.gw = call.out(gw, true);
    s.gb = call.out(gb, true);
    s.m = x->sizes[0];
    s.n = x->sizes[1];
    s.has_mean = mean != NULL;
    const cuda_view *same[] = {&s.x, &s.g, &s.out};

    CUDA_FOR_CELL(cuda_common(same, 3), cuda_kind_of(x->dtype), (run_rows_all<T, E>(s, 0.0, true)));
}

void cuda_layer_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                     double eps, const struct eng_view *out, const struct eng_view *mean,
                     const struct eng_view *rstd)
{
    if (cuda_all_host(x, out))
        cuda_host()->layer_norm(x, w, b, eps, out, mean, rstd);
    else
        forward_rows(x, w, b, eps, out, mean, rstd);
}

void cuda_layer_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *rstd, const struct eng_view *gx,
                              const struct eng_view *gw, const struct eng_view *gb)
{
    if (cuda_all_host(g, x))
        cuda_host()->layer_norm_backward(g, x, w, mean, rstd, gx, gw, gb);
    else
        backward_rows(g, x, w, mean, rstd, gx, gw, gb);
}

void cuda_rms_norm(const struct eng_view *x, const struct eng_view *w, double eps,
                   const struct eng_view *out, const struct eng_view *rstd)
{
    if (cuda_all_host(x, out))
        cuda_host()->rms_norm(x, w, eps, out, rstd);
    else
        forward_rows(x, w, NULL, eps, out, NULL, rstd);
}

void cuda_rms_norm_backward(const struct eng_view *g, const struct eng_view *x,
                            const struct eng_view *w, const struct eng_view *rstd,
                            const struct eng_view *gx, const struct eng_view *gw)
{
    if (cuda_all_host(g, x))
        cuda_host()->rms_norm_backward(g, x, w, rstd, gx, gw);
    else
        backward_rows(g, x, w, NULL, rstd, gx, gw, NULL);
}
